/// LayerNorm with Σx and Σx² in one pass: a pass saved, and on some rows a wrong variance, even a negative one.
///
/// The first two kernels are wrong by design: read README.md before you use them. The third one mends most of it.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/layer_norm.h>

#include <cstdint>

namespace one_pass {

constexpr int block_threads = 256;

/// y[r][c] = (x[r][c] − mean[r]) · rstd[r] · gamma[c] + beta[c]         one thread per row
///
/// x, y   [rows][cols] row-major, y may be x;  gamma, beta [cols];  mean, rstd [rows]
/// launch ⌈rows/256⌉ blocks of 256 threads, no shared memory
/// bytes  requested 5 · rows · cols · sizeof(float): x twice, gamma, beta and y once a row
///        touched   (2 · rows · cols + 2 · cols) · sizeof(float)
/// error  of the variance about cols · κ² · u relative, κ = √(1 + mean²/variance): on rows far from 0 no digit is right
/// source the "textbook algorithm" of Chan, Golub & LeVeque 1983, who warn of it
// [thread_per_row]
__global__ void thread_per_row_kernel(LayerNormArgs args) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (row >= args.rows) return;
  const std::int64_t cols = args.cols;
  const float* x = args.x + row * cols;
  float* y = args.y + row * cols;

  float sum = 0;
  float squares = 0;
  for (std::int64_t c = 0; c < cols; ++c) {
    sum += x[c];
    squares += x[c] * x[c];
  }
  const float mean = sum / static_cast<float>(cols);
  const float variance = squares / static_cast<float>(cols) - mean * mean;  // the difference that cancels
  const float rstd = 1.0f / sqrtf(variance + args.eps);

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

// [sums]
/// Σx and Σx² of some of a row's elements.
struct Sums {
  float sum;
  float squares;
};

/// The sums over the block, given to every thread of it: the tree of chapter 01, for two sums at once.
///
/// partial is shared memory for blockDim.x Sums, which must be a power of two.
__device__ inline Sums block_sums(Sums sums, Sums* partial) {
  partial[threadIdx.x] = sums;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      partial[threadIdx.x].sum += partial[threadIdx.x + half].sum;
      partial[threadIdx.x].squares += partial[threadIdx.x + half].squares;
    }
    __syncthreads();
  }
  return partial[0];
}
// [/sums]

enum class Shift { none, first_element };

/// y[r][c] = (x[r][c] − mean[r]) · rstd[r] · gamma[c] + beta[c]         one block per row
///
/// Shift::first_element sums x − x[0] and (x − x[0])² in place of x and x².
///
/// x, y   [rows][cols] row-major, y may be x;  gamma, beta [cols];  mean, rstd [rows]
/// launch rows blocks of 256 threads, 2 KB of shared memory; rows at most 2³¹ − 1
/// bytes  requested 5 · rows · cols · sizeof(float): x twice, gamma, beta and y once a row; x[0] once a thread more
///        touched   (2 · rows · cols + 2 · cols) · sizeof(float)
/// error  of the variance about (⌈cols/256⌉ + 8) · κ² · u relative; shifted, with κ of the shifted row, which is at
///        most √cols
/// source as above; the shift: Chan & Lewis 1979
// [kernel]
template <Shift shift>
__global__ void layer_norm_kernel(LayerNormArgs args) {
  __shared__ Sums partial[block_threads];
  const std::int64_t row = blockIdx.x;
  const std::int64_t cols = args.cols;
  const float* x = args.x + row * cols;
  float* y = args.y + row * cols;

  const float origin = shift == Shift::first_element ? x[0] : 0.0f;
  Sums sums = {0, 0};
  for (std::int64_t c = threadIdx.x; c < cols; c += block_threads) {
    const float value = x[c] - origin;
    sums.sum += value;
    sums.squares += value * value;
  }
  sums = block_sums(sums, partial);
  const float shifted_mean = sums.sum / static_cast<float>(cols);
  const float variance = sums.squares / static_cast<float>(cols) - shifted_mean * shifted_mean;
  const float mean = origin + shifted_mean;
  const float rstd = 1.0f / sqrtf(variance + args.eps);

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
  launch(layer_norm_kernel<Shift::none>, {blocks_for(args.rows, 1), block_threads, 0, stream}, args);
}

inline void layer_norm_shifted(const LayerNormArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed);
  if (args.rows == 0) return;
  launch(layer_norm_kernel<Shift::first_element>, {blocks_for(args.rows, 1), block_threads, 0, stream}, args);
}

}  // namespace one_pass
