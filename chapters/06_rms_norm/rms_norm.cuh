/// RMSNorm and LayerNorm from one kernel: which of the two is decided at compile time.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/rms_norm.h>
#include <host/shape.h>
#include <device/dynamic_shared.cuh>
#include <device/reduce.cuh>
#include <device/vector.cuh>
#include <device/welford.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rms_norm {

// [state]
/// What RMSNorm keeps of the values it has seen. SumOfSquares{} is the state of no values.
struct SumOfSquares {
  float sum;
};

__host__ __device__ inline SumOfSquares squares_of(float4 x) {
  return {(x.x * x.x + x.y * x.y) + (x.z * x.z + x.w * x.w)};
}
__host__ __device__ inline SumOfSquares update(SumOfSquares state, float x) { return {state.sum + x * x}; }
__host__ __device__ inline SumOfSquares merge(SumOfSquares a, SumOfSquares b) { return {a.sum + b.sum}; }

template <Norm norm>
using StateOf = std::conditional_t<norm == Norm::rms_norm, SumOfSquares, Welford>;
// [/state]

/// y[r][c] = x[r][c] · rstd[r] · gamma[c]                               RMSNorm,   rstd = 1/√(Σx²/cols + eps)
/// y[r][c] = (x[r][c] − mean[r]) · rstd[r] · gamma[c] + beta[c]         LayerNorm, rstd = 1/√(variance + eps)
///
/// x, y   [rows][cols] row-major, y may be x;  gamma, beta [cols];  mean, rstd [rows];  RMSNorm: beta and mean are null
///        for Access::vector cols is a multiple of 4, and x, y, gamma and beta start at multiples of 16 bytes
/// launch ⌈rows/R⌉ blocks of (T, R) threads as in chapter 05; shared memory for a state of each warp if T > 32
/// bytes  requested 4 · rows · cols · sizeof(float) for RMSNorm: x twice, gamma and y once a row; 5 for LayerNorm
///        touched   (2 · rows · cols + cols) · sizeof(float) for RMSNorm; 2 · cols for LayerNorm
/// error  as testing/tolerance.h bounds it, m = 4 · ⌈cols/4T⌉: for RMSNorm without κ
/// source Zhang & Sennrich 2019 (RMSNorm); chapter 05 (the kernel)
// [kernel]
template <Norm norm, Access access>
__global__ void __launch_bounds__(most_threads) norm_kernel(LayerNormArgs args) {
  // [body]
  DYNAMIC_SHARED(StateOf<norm>, partial);
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const std::int64_t cols = row < args.rows ? args.cols : 0;  // no row, no work, but the barrier waits for all
  const std::int64_t whole = cols - cols % 4;
  const int first = 4 * threadIdx.x;
  const int step = 4 * blockDim.x;
  const float* x = args.x + row * args.cols;
  float* y = args.y + row * args.cols;

  StateOf<norm> state{};
  std::int64_t c = first;
  for (; c < whole; c += step) {
    const float4 in = load_four<access>(x + c);
    if constexpr (norm == Norm::rms_norm) {
      state = merge(state, squares_of(in));
    } else {
      state = merge(state, of_four(in));
    }
  }
  for (; c < cols; ++c) state = update(state, x[c]);  // the tail: one thread has come to c == whole
  state = block_reduce(state, partial);
  if (cols == 0) return;

  float mean = 0;
  float spread;  // what stands under the root, with eps
  if constexpr (norm == Norm::rms_norm) {
    spread = state.sum / static_cast<float>(cols);
  } else {
    mean = state.mean;
    spread = variance(state);
  }
  const float rstd = 1.0f / sqrtf(spread + args.eps);

  // RMSNorm: no mean to subtract, no beta to add. What only LayerNorm needs the compiler leaves out.
  const auto result = [=](float value, float gamma, float beta) {
    if constexpr (norm == Norm::rms_norm) return value * rstd * gamma;
    return (value - mean) * rstd * gamma + beta;
  };
  for (c = first; c < whole; c += step) {
    const float4 in = load_four<access>(x + c);
    const float4 gamma = four_or<access>(args.gamma, c, 1.0f);
    const float4 beta = four_or<access>(args.beta, c, 0.0f);
    store_four<access>(y + c, {result(in.x, gamma.x, beta.x), result(in.y, gamma.y, beta.y),
                               result(in.z, gamma.z, beta.z), result(in.w, gamma.w, beta.w)});
  }
  for (; c < cols; ++c) {
    y[c] = result(x[c], args.gamma == nullptr ? 1.0f : args.gamma[c], args.beta == nullptr ? 0.0f : args.beta[c]);
  }

  if (threadIdx.x == 0) {
    if (args.mean != nullptr) args.mean[row] = mean;
    if (args.rstd != nullptr) args.rstd[row] = rstd;
  }
  // [/body]
}
// [/kernel]

// [launcher]
template <Norm norm>
void launch_norm(const LayerNormArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return;
  const Shape shape = shape_for(args.cols);
  const bool vector = args.cols % 4 == 0 && aligned_for_vectors(args.x, args.y, args.gamma, args.beta);
  const auto kernel = vector ? norm_kernel<norm, Access::vector> : norm_kernel<norm, Access::scalar>;
  const int warps = shape.threads / warp_lanes;
  const std::size_t shared_bytes = warps > 1 ? shape.rows * warps * sizeof(StateOf<norm>) : 0;
  launch(kernel, {blocks_for(args.rows, shape.rows), dim3(shape.threads, shape.rows), shared_bytes, stream}, args);
}

inline void rms_norm(const RmsNormArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed);
  launch_norm<Norm::rms_norm>(layer_norm_args(args), stream);
}

inline void layer_norm(const LayerNormArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed);
  launch_norm<Norm::layer_norm>(args, stream);
}
// [/launcher]

}  // namespace rms_norm
