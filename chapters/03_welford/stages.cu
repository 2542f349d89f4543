// The kernels of this chapter in ./learn tour.
#include "welford.cuh"

#include <learn/stage.h>

static const learn::Stages stages{
    "03_welford",
    {{"welford::layer_norm_thread_per_row", welford::layer_norm_thread_per_row, testing::thread_per_row},
     {"welford::layer_norm", welford::layer_norm, testing::block_per_row<welford::block_threads>}}};
