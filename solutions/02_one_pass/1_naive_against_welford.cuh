/// Exercise 02.1, write: the variance in one pass, by E[x²] − E[x]² and by Welford's update, side by side.
///
/// The task, the hints and the commands are in exercises/02_one_pass/README.md.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <device/not_written_yet.cuh>

#include <cstdint>

namespace exercise {

constexpr int block_threads = 256;

/// The variance of the row x[0] … x[cols − 1] as E[x²] − E[x]², both sums in one loop.
__device__ inline float one_pass_variance(const float* x, std::int64_t cols) {
  // [solution] Σx and Σx² in one loop over the row; then the mean of the squares less the square of the mean
  // [one_pass]
  float sum = 0;
  float squares = 0;
  for (std::int64_t c = 0; c < cols; ++c) {
    sum += x[c];
    squares += x[c] * x[c];
  }
  const float mean = sum / static_cast<float>(cols);
  return squares / static_cast<float>(cols) - mean * mean;
  // [/one_pass]
  // [stub]
  // return not_written_yet(x, cols);
  // [/solution]
}

/// What is known of n values: their mean, and m2 = Σ(x − mean)². Welford{} is the state of no values.
struct Welford {
  std::int64_t n;
  float mean;
  float m2;
};

/// The state after one more value, x:
///
///   n     = n + 1
///   delta = x − mean                   with the mean as it was
///   mean  = mean + delta ÷ n
///   m2    = m2 + delta · (x − mean)    with the mean as it is now
__device__ inline Welford update(Welford state, float x) {
  // [solution] the four lines above, and the new state
  // [update]
  const std::int64_t n = state.n + 1;
  const float delta = x - state.mean;
  const float mean = state.mean + delta / static_cast<float>(n);
  const float m2 = state.m2 + delta * (x - mean);
  return {n, mean, m2};
  // [/update]
  // [stub]
  // return {0, not_written_yet(state, x), not_written_yet()};
  // [/solution]
}

/// one_pass[r] and welford[r]: the variance of row r, in both ways.         one thread per row
///
/// x [rows][cols] row-major;  one_pass, welford [rows]
/// launch ⌈rows/256⌉ blocks of 256 threads, no shared memory
__global__ void variances_kernel(const float* x, std::int64_t rows, std::int64_t cols, float* one_pass,
                                 float* welford) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (row >= rows) return;
  x += row * cols;
  one_pass[row] = one_pass_variance(x, cols);

  Welford state = {0, 0, 0};
  for (std::int64_t c = 0; c < cols; ++c) state = update(state, x[c]);
  welford[row] = state.m2 / static_cast<float>(state.n);
}

inline void variances(const float* x, std::int64_t rows, std::int64_t cols, float* one_pass, float* welford) {
  launch(variances_kernel, {blocks_for(rows, block_threads), block_threads}, x, rows, cols, one_pass, welford);
}

}  // namespace exercise
