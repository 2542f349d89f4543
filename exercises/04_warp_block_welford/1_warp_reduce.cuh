/// Exercise 04.1, write: the state of a warp, by shuffles.
///
/// The task, the hints and the commands are in exercises/04_warp_block_welford/README.md.
#pragma once

#include <device/not_written_yet.cuh>

#include <cstdint>

namespace exercise {

constexpr int warp_lanes = 32;
constexpr unsigned full_warp = 0xffffffffu;  // the mask of a shuffle in which all 32 lanes take part

/// What is known of n values: their mean, and m2 = Σ(x − mean)². Welford{} is the state of no values. The members have
/// no initialisers, so that shared memory can hold the state.
struct Welford {
  std::int64_t n;  // an integer: a float stays at 2²⁴ when 1 is added
  float mean;
  float m2;
};

/// Σ(x − mean)² ÷ n: never negative, and exactly 0 where all values are equal. n is at least 1.
__host__ __device__ inline float variance(const Welford& state) { return state.m2 / static_cast<float>(state.n); }

/// The state of the values of a and b together.
__host__ __device__ inline Welford merge(const Welford& a, const Welford& b) {
  if (b.n == 0) return a;  // without values there is no mean: 0 ÷ 0, or a difference to a 0 that nobody measured
  if (a.n == 0) return b;
  const std::int64_t n = a.n + b.n;
  const float delta = b.mean - a.mean;
  const float share = static_cast<float>(b.n) / static_cast<float>(n);
  const float mean = a.mean + delta * share;
  return {n, mean, a.m2 + b.m2 + delta * delta * static_cast<float>(a.n) * share};
}

/// Merges the states of the 32 lanes of a full warp. The result is lane 0's; what the other lanes return does not
/// matter.
__device__ inline Welford warp_reduce(Welford state) {
  // TODO: in five steps, merge what a lane at some distance holds; every member of the state has to travel
  return {0, not_written_yet(state), 0.0f};
}

}  // namespace exercise
