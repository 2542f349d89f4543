// The kernels of this chapter in ./learn tour.
#include "one_pass.cuh"

#include <learn/stage.h>

static const learn::Stages stages{
    "02_one_pass",
    {{"one_pass::layer_norm_thread_per_row", one_pass::layer_norm_thread_per_row, testing::thread_per_row},
     {"one_pass::layer_norm", one_pass::layer_norm, testing::block_per_row<one_pass::block_threads>},
     {"one_pass::layer_norm_shifted", one_pass::layer_norm_shifted, testing::block_per_row<one_pass::block_threads>}}};
