/// LayerNorm as it is written on paper: one pass over the row for the mean, one for the variance, one for the result.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/layer_norm.h>

#include <cstdint>

namespace three_pass {

constexpr int block_threads = 256;

/// y[r][c] = (x[r][c] − mean[r]) · rstd[r] · gamma[c] + beta[c]         one thread per row
///
/// x, y   [rows][cols] row-major, y may be x;  gamma, beta [cols];  mean, rstd [rows]
/// launch ⌈rows/256⌉ blocks of 256 threads, no shared memory
/// bytes  requested 6 · rows · cols · sizeof(float): x three times, gamma, beta and y once a row
///        touched   (2 · rows · cols + 2 · cols) · sizeof(float)
/// error  as testing/tolerance.h bounds it, m = cols and T = 1: one long chain of additions
/// source the definition; two passes for the moments as in Chan, Golub & LeVeque 1983
// [thread_per_row]
__global__ void thread_per_row_kernel(LayerNormArgs args) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (row >= args.rows) return;
  // [three_passes]
  const std::int64_t cols = args.cols;
  const float* x = args.x + row * cols;
  float* y = args.y + row * cols;

  float sum = 0;
  for (std::int64_t c = 0; c < cols; ++c) sum += x[c];
  const float mean = sum / static_cast<float>(cols);

  float squares = 0;
  for (std::int64_t c = 0; c < cols; ++c) {
    const float deviation = x[c] - mean;
    squares += deviation * deviation;
  }
  const float variance = squares / static_cast<float>(cols);
  const float rstd = 1.0f / sqrtf(variance + args.eps);

  for (std::int64_t c = 0; c < cols; ++c) {
    const float gamma = args.gamma == nullptr ? 1.0f : args.gamma[c];
    const float beta = args.beta == nullptr ? 0.0f : args.beta[c];
    y[c] = (x[c] - mean) * rstd * gamma + beta;
  }

  if (args.mean != nullptr) args.mean[row] = mean;
  if (args.rstd != nullptr) args.rstd[row] = rstd;
  // [/three_passes]
}
// [/thread_per_row]

inline void layer_norm_thread_per_row(const LayerNormArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed);
  if (args.rows == 0) return;
  launch(thread_per_row_kernel, {blocks_for(args.rows, block_threads), block_threads, 0, stream}, args);
}

/// The sum of value over the block, given to every thread of it.
///
/// partial is shared memory for blockDim.x floats, which must be a power of two. It belongs to this one sum: a second
/// sum needs an array of its own, because slow threads may still be reading partial[0] when fast ones begin it.
// [block_sum]
__device__ inline float block_sum(float value, float* partial) {
  // [tree]
  partial[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  return partial[0];
  // [/tree]
}
// [/block_sum]

/// y[r][c] = (x[r][c] − mean[r]) · rstd[r] · gamma[c] + beta[c]         one block per row
///
/// x, y   [rows][cols] row-major, y may be x;  gamma, beta [cols];  mean, rstd [rows]
/// launch rows blocks of 256 threads, 2 KB of shared memory; rows at most 2³¹ − 1
/// bytes  requested 6 · rows · cols · sizeof(float): x three times, gamma, beta and y once a row
///        touched   (2 · rows · cols + 2 · cols) · sizeof(float)
/// error  as testing/tolerance.h bounds it, m = ⌈cols/256⌉ and T = 256: 256 short chains and a tree
/// source as above; the tree: Harris, Optimizing Parallel Reduction in CUDA, 2007
// [kernel]
__global__ void layer_norm_kernel(LayerNormArgs args) {
  __shared__ float partial_sums[block_threads];
  __shared__ float partial_squares[block_threads];
  const std::int64_t row = blockIdx.x;
  const std::int64_t cols = args.cols;
  const float* x = args.x + row * cols;
  float* y = args.y + row * cols;

  float sum = 0;
  for (std::int64_t c = threadIdx.x; c < cols; c += block_threads) sum += x[c];
  const float mean = block_sum(sum, partial_sums) / static_cast<float>(cols);

  float squares = 0;
  for (std::int64_t c = threadIdx.x; c < cols; c += block_threads) {
    const float deviation = x[c] - mean;
    squares += deviation * deviation;
  }
  const float variance = block_sum(squares, partial_squares) / static_cast<float>(cols);
  const float rstd = 1.0f / sqrtf(variance + args.eps);  // not rsqrtf: that alone may be 2 ulp off

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

}  // namespace three_pass
