/// Exercise 01.2, write: the sum over a block, by a tree in shared memory.
///
/// The task, the hints and the commands are in exercises/01_three_pass/README.md.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/layer_norm.h>
#include <device/not_written_yet.cuh>

#include <cstdint>

namespace exercise {

constexpr int block_threads = 256;

/// The sum of value over the block, given to every thread of it.
///
/// partial is shared memory for blockDim.x floats, which is a power of two up to 1024. It belongs to this one sum.
__device__ inline float block_sum(float value, float* partial) {
  // TODO: put value into partial, add the upper half to the lower half until one is left, and return it
  return not_written_yet(value, partial);
}

/// LayerNorm with one block per row, as in the chapter. It is complete, and calls your block_sum twice.
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

inline void layer_norm(const LayerNormArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed);
  if (args.rows == 0) return;
  launch(layer_norm_kernel, {blocks_for(args.rows, 1), block_threads, 0, stream}, args);
}

}  // namespace exercise
