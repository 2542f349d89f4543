// Exercise 06.1: what RMSNorm costs beside LayerNorm. The rows to compare are those of 8192 columns.
#include <1_rms_norm.cuh>

#include <benchmark/harness.h>
#include <rms_norm.cuh>

RMS_NORM_BENCHMARK("exercise::rms_norm", exercise::rms_norm);

[[maybe_unused]] static const bool layer_norm_added = benchmarking::add(
    "COURSE", "rms_norm::layer_norm", static_cast<LayerNormLauncher>(rms_norm::layer_norm));  // the yardstick
