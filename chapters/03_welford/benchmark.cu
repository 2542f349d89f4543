// What Welford's method costs, by one thread per row and by one block per row.
#include "welford.cuh"

#include <benchmark/harness.h>

LAYER_NORM_BENCHMARK("welford::layer_norm_thread_per_row", welford::layer_norm_thread_per_row);
LAYER_NORM_BENCHMARK("welford::layer_norm", welford::layer_norm);
