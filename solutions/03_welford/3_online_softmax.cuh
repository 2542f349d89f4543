/// Exercise 03.3, write: softmax in one pass for its sum, with a state and a merge as Welford has them.
///
/// The task, the hints and the commands are in exercises/03_welford/README.md.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <device/not_written_yet.cuh>
#include <device/reduce.cuh>

#include <cmath>
#include <cstdint>

namespace exercise {

constexpr int block_threads = 256;

/// What is known of some values: the largest of them, and sum = Σ exp(x − max). Softmax{} is the state of no values:
/// its sum is 0, as no other state's is, and its max says nothing.
struct Softmax {
  float max;
  float sum;
};

/// The state of one value. exp(−∞) is 0, so −∞ adds nothing to any sum: it counts as no value.
__device__ inline Softmax state_of(float x) {
  // [solution] the state of x alone, and Softmax{} where x is −∞
  // [state_of]
  if (x == -INFINITY) return Softmax{};
  return {x, expf(x - x)};
  // [/state_of]
  // [stub]
  // return {not_written_yet(x), 0};
  // [/solution]
}

/// The state of the values of a and of b together. Either may be the state of no values, and so may both.
__device__ inline Softmax merge(const Softmax& a, const Softmax& b) {
  // [solution] the larger max, and both sums as they are for that max
  // [merge]
  if (b.sum == 0) return a;
  if (a.sum == 0) return b;
  const float max = fmaxf(a.max, b.max);
  return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
  // [/merge]
  // [stub]
  // return {not_written_yet(a, b), 0};
  // [/solution]
}

/// y[r][c] = exp(x[r][c] − max[r]) ÷ Σ exp(x[r][·] − max[r])         one block per row
///
/// It is complete. block_reduce is the course's own, from device/reduce.cuh: it merges the states of the block's
/// threads, with whatever merge their type has, and gives the result to all of them.
__global__ void softmax_kernel(const float* x, float* y, std::int64_t cols) {
  __shared__ Softmax partial[block_threads / warp_lanes];
  const std::int64_t row = blockIdx.x;
  x += row * cols;
  y += row * cols;

  Softmax state{};
  for (std::int64_t c = threadIdx.x; c < cols; c += block_threads) state = merge(state, state_of(x[c]));
  state = block_reduce(state, partial);

  for (std::int64_t c = threadIdx.x; c < cols; c += block_threads) y[c] = expf(x[c] - state.max) / state.sum;
}

/// x, y [rows][cols] row-major; rows and cols at least 1.
inline void softmax(const float* x, float* y, std::int64_t rows, std::int64_t cols) {
  launch(softmax_kernel, {blocks_for(rows, 1), block_threads}, x, y, cols);
}

}  // namespace exercise
