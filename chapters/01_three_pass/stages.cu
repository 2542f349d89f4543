// The kernels of this chapter in ./learn tour.
#include "three_pass.cuh"

#include <learn/stage.h>

static const learn::Stages stages{
    "01_three_pass",
    {{"three_pass::layer_norm_thread_per_row", three_pass::layer_norm_thread_per_row, testing::thread_per_row},
     {"three_pass::layer_norm", three_pass::layer_norm, testing::block_per_row<three_pass::block_threads>}}};
