// The kernels of this chapter in ./learn tour.
#include "backward.cuh"

#include <learn/stage.h>

#include "summations.h"

static const learn::Stages stages{
    "07_backward",
    {{"backward::layer_norm_naive", backward::layer_norm_naive, backward::naive_sums},
     {"backward::layer_norm_coalesced", backward::layer_norm_coalesced, backward::coalesced_sums},
     {"backward::layer_norm_separate", backward::layer_norm_separate, backward::separate_sums},
     {"backward::layer_norm", backward::layer_norm, backward::fused_sums<Norm::layer_norm>},
     {"backward::rms_norm", backward::rms_norm, backward::fused_sums<Norm::rms_norm>}}};
