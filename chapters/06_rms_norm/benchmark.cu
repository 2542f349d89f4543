// RMSNorm and LayerNorm from one kernel, side by side.
#include "rms_norm.cuh"

#include <benchmark/harness.h>

RMS_NORM_BENCHMARK("rms_norm::rms_norm", rms_norm::rms_norm);
LAYER_NORM_BENCHMARK("rms_norm::layer_norm", rms_norm::layer_norm);
