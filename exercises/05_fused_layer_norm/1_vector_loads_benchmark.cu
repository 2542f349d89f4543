// Exercise 05.1: what accesses of 16 bytes save.
#include <1_vector_loads.cuh>

#include <benchmark/harness.h>

LAYER_NORM_BENCHMARK("exercise::layer_norm", exercise::layer_norm);
