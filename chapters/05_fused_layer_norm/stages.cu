// The kernel of this chapter in ./learn tour.
#include "fused_layer_norm.cuh"

#include <learn/stage.h>

static const learn::Stages stages{
    "05_fused_layer_norm", {{"fused_layer_norm::layer_norm", fused_layer_norm::layer_norm, [](std::int64_t cols) {
                               return testing::dealt_in_fours(cols, shape_for(cols).threads);
                             }}}};
