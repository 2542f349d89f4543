// What one pass for both sums saves, and what the shift costs.
#include "one_pass.cuh"

#include <benchmark/harness.h>

LAYER_NORM_BENCHMARK("one_pass::layer_norm_thread_per_row", one_pass::layer_norm_thread_per_row);
LAYER_NORM_BENCHMARK("one_pass::layer_norm", one_pass::layer_norm);
LAYER_NORM_BENCHMARK("one_pass::layer_norm_shifted", one_pass::layer_norm_shifted);
