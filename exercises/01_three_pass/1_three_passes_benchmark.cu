// Exercise 01.1: what three passes by one thread per row cost.
#include <1_three_passes.cuh>

#include <benchmark/harness.h>

LAYER_NORM_BENCHMARK("exercise::layer_norm", exercise::layer_norm);
