/// LayerNorm by Welford's method: one pass over the row for its mean and variance together, one for the result.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/layer_norm.h>
#include <device/welford.cuh>

#include <cstdint>

namespace welford {

constexpr int block_threads = 256;

/// y[r][c] = (x[r][c] − mean[r]) · rstd[r] · gamma[c] + beta[c]         one thread per row
///
/// x, y   [rows][cols] row-major, y may be x;  gamma, beta [cols];  mean, rstd [rows]
/// launch ⌈rows/256⌉ blocks of 256 threads, no shared memory
/// bytes  requested 5 · rows · cols · sizeof(float): x twice, gamma, beta and y once a row
///        touched   (2 · rows · cols + 2 · cols) · sizeof(float)
/// error  as testing/tolerance.h bounds it, m = cols and T = 1: one long chain of updates
/// source Welford 1962
// [thread_per_row]
__global__ void thread_per_row_kernel(LayerNormArgs args) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (row >= args.rows) return;
  const std::int64_t cols = args.cols;
  const float* x = args.x + row * cols;
  float* y = args.y + row * cols;

  Welford state{};
  for (std::int64_t c = 0; c < cols; ++c) state = update(state, x[c]);
  const float mean = state.mean;
  const float rstd = 1.0f / sqrtf(variance(state) + args.eps);

  for (std::int64_t c = 0; c < cols; ++c) {
    const float gamma = args.gamma == nullptr ? 1.0f : args.gamma[c];
    const float beta = args.beta == nullptr ? 0.0f : args.beta[c];
    y[c] = (x[c] - mean) * rstd * gamma + beta;
  }

  if (args.mean != nullptr) args.mean[row] = mean;
  if (args.rstd != nullptr) args.rstd[row] = rstd;
}
// [/thread_per_row]

inline void layer_norm_thread_per_row(const LayerNormArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed);
  if (args.rows == 0) return;
  launch(thread_per_row_kernel, {blocks_for(args.rows, block_threads), block_threads, 0, stream}, args);
}

/// The state of all values that the block's threads have seen, given to every thread of it: block_sum of chapter 01
/// with merge in the place of +.
///
/// partial is shared memory for blockDim.x states, which must be a power of two. It belongs to this one merge.
// [block_merge]
__device__ inline Welford block_merge(const Welford& state, Welford* partial) {
  partial[threadIdx.x] = state;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] = merge(partial[threadIdx.x], partial[threadIdx.x + half]);
    __syncthreads();
  }
  return partial[0];
}
// [/block_merge]

/// y[r][c] = (x[r][c] − mean[r]) · rstd[r] · gamma[c] + beta[c]         one block per row
///
/// x, y   [rows][cols] row-major, y may be x;  gamma, beta [cols];  mean, rstd [rows]
/// launch rows blocks of 256 threads, 4 KB of shared memory; rows at most 2³¹ − 1
/// bytes  requested 5 · rows · cols · sizeof(float): x twice, gamma, beta and y once a row
///        touched   (2 · rows · cols + 2 · cols) · sizeof(float)
/// error  as testing/tolerance.h bounds it, m = ⌈cols/256⌉ and T = 256: 256 short chains and a tree
/// source Welford 1962 (update); Chan, Golub & LeVeque 1983 (merge)
// [kernel]
__global__ void layer_norm_kernel(LayerNormArgs args) {
  __shared__ Welford partial[block_threads];
  const std::int64_t row = blockIdx.x;
  const std::int64_t cols = args.cols;
  const float* x = args.x + row * cols;
  float* y = args.y + row * cols;

  Welford state{};
  for (std::int64_t c = threadIdx.x; c < cols; c += block_threads) state = update(state, x[c]);
  state = block_merge(state, partial);
  const float mean = state.mean;
  const float rstd = 1.0f / sqrtf(variance(state) + args.eps);

  for (std::int64_t c = threadIdx.x; c < cols; c += block_threads) {
    const float gamma = args.gamma == nullptr ? 1.0f : args.gamma[c];
    const float beta = args.beta == nullptr ? 0.0f : args.beta[c];
    y[c] = (x[c] - mean) * rstd * gamma + beta;
  }

  if (threadIdx.x == 0) {
    if (args.mean != nullptr) args.mean[row] = mean;
    if (args.rstd != nullptr) args.rstd[row] = rstd;
  }
}
// [/kernel]

inline void layer_norm(const LayerNormArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed);
  if (args.rows == 0) return;
  launch(layer_norm_kernel, {blocks_for(args.rows, 1), block_threads, 0, stream}, args);
}

}  // namespace welford
