// What a block per row costs whose threads merge by shuffles and two barriers.
#include "warp_block_welford.cuh"

#include <benchmark/harness.h>

LAYER_NORM_BENCHMARK("warp_block_welford::layer_norm", warp_block_welford::layer_norm);
