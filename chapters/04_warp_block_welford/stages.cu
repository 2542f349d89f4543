// The kernel of this chapter in ./learn tour.
#include "warp_block_welford.cuh"

#include <learn/stage.h>

static const learn::Stages stages{"04_warp_block_welford",
                                  {{"warp_block_welford::layer_norm", warp_block_welford::layer_norm,
                                    testing::block_per_row<warp_block_welford::block_threads>}}};
