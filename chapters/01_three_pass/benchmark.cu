// What three passes over x cost, by one thread per row and by one block per row.
#include "three_pass.cuh"

#include <benchmark/harness.h>

LAYER_NORM_BENCHMARK("three_pass::layer_norm_thread_per_row", three_pass::layer_norm_thread_per_row);
LAYER_NORM_BENCHMARK("three_pass::layer_norm", three_pass::layer_norm);
