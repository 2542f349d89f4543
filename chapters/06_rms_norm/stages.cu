// The kernels of this chapter in ./learn tour.
#include "rms_norm.cuh"

#include <learn/stage.h>

namespace {

testing::Summation summation(std::int64_t cols) { return testing::dealt_in_fours(cols, shape_for(cols).threads); }

}  // namespace

static const learn::Stages stages{
    "06_rms_norm",
    {{"rms_norm::rms_norm", rms_norm::rms_norm, summation}, {"rms_norm::layer_norm", rms_norm::layer_norm, summation}}};
