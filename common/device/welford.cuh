/// Welford's update and Chan's merge: mean and variance of a row in one pass, without cancellation.
///
/// Derived in chapter 03; of_four in chapter 05. All of it runs on the host as well, where the tests try it.
#pragma once

#include <cstdint>

// [state]
/// What is known of n values: their mean, and m2 = Σ(x − mean)². Welford{} is the state of no values. The members have
/// no initialisers, so that shared memory can hold the state.
struct Welford {
  std::int64_t n;  // an integer: a float stays at 2²⁴ when 1 is added
  float mean;
  float m2;
};

/// Σ(x − mean)² ÷ n: never negative, and exactly 0 where all values are equal. n is at least 1.
__host__ __device__ inline float variance(const Welford& state) { return state.m2 / static_cast<float>(state.n); }
// [/state]

/// The state after one more value. Relative error of the variance after n updates: at most n·κ·u, where
/// κ = √(1 + mean²/variance) and u = 2⁻²⁴. Source: Welford, Note on a Method for Calculating Corrected Sums of Squares
/// and Products, 1962.
// [update]
__host__ __device__ inline Welford update(const Welford& state, float x) {
  // [one_value]
  const std::int64_t n = state.n + 1;
  const float delta = x - state.mean;
  const float mean = state.mean + delta / static_cast<float>(n);
  return {n, mean, state.m2 + delta * (x - mean)};
  // [/one_value]
}
// [/update]

/// The state of the values of a and b together. Source: Chan, Golub & LeVeque, Algorithms for Computing the Sample
/// Variance, 1983.
// [merge]
__host__ __device__ inline Welford merge(const Welford& a, const Welford& b) {
  // [two_states]
  if (b.n == 0) return a;  // without values there is no mean: 0 ÷ 0, or a difference to a 0 that nobody measured
  if (a.n == 0) return b;
  const std::int64_t n = a.n + b.n;
  const float delta = b.mean - a.mean;
  const float share = static_cast<float>(b.n) / static_cast<float>(n);
  const float mean = a.mean + delta * share;
  return {n, mean, a.m2 + b.m2 + delta * delta * static_cast<float>(a.n) * share};
  // [/two_states]
}
// [/merge]

/// The state of four values: two pairs by Chan's rule, and their states by it again. All counts are powers of two, so
/// it takes no division. Derived in chapter 05.
// [of_four]
__host__ __device__ inline Welford of_four(float4 x) {
  const float first = x.y - x.x;  // each of a pair has count 1: its mean is its value, its m2 is 0
  const float second = x.w - x.z;
  const float first_mean = x.x + 0.5f * first;
  const float second_mean = x.z + 0.5f * second;
  const float delta = second_mean - first_mean;
  const float mean = first_mean + 0.5f * delta;
  // On paper the last term is delta²; written as in update(), it gives NaN where a value is infinite.
  return {4, mean, 0.5f * (first * first + second * second) + 2.0f * delta * (second_mean - mean)};
}
// [/of_four]
