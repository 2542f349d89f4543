// Each way to the backward, from one thread per row to the fused kernel; and what dx and the sums cost apart.
#include "backward.cuh"

#include <benchmark/harness.h>

using benchmarking::Gradients;

BACKWARD_BENCHMARK("backward::layer_norm_naive", backward::layer_norm_naive);
BACKWARD_BENCHMARK("backward::layer_norm_coalesced", backward::layer_norm_coalesced);
BACKWARD_BENCHMARK("backward::layer_norm_separate", backward::layer_norm_separate);
BACKWARD_BENCHMARK("backward::layer_norm_separate, dx alone", backward::layer_norm_separate, Gradients::dx);
BACKWARD_BENCHMARK("backward::layer_norm_separate, dγ and dβ alone", backward::layer_norm_separate, Gradients::sums);
BACKWARD_BENCHMARK("backward::layer_norm", backward::layer_norm);
BACKWARD_BENCHMARK("backward::rms_norm", backward::rms_norm);
