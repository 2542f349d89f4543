// Exercise 07.3: what kernels of their own for dx and for dγ cost beside a fused one.
#include <3_rms_norm.cuh>

#include <benchmark/harness.h>
#include <backward.cuh>

BACKWARD_BENCHMARK("exercise::rms_norm", exercise::rms_norm);

[[maybe_unused]] static const bool fused_added = benchmarking::add("COURSE", "backward::rms_norm", backward::rms_norm);
