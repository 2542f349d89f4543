// Exercise 07.1: what dx costs.
#include <1_dx.cuh>

#include <benchmark/harness.h>

BACKWARD_BENCHMARK("exercise::layer_norm_dx", exercise::layer_norm_dx, benchmarking::Gradients::dx);
