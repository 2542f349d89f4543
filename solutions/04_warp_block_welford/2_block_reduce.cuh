/// Exercise 04.2, write: the state of a block, through shared memory and with two barriers.
///
/// The task, the hints and the commands are in exercises/04_warp_block_welford/README.md.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/layer_norm.h>
#include <device/not_written_yet.cuh>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace exercise {

constexpr int warp_lanes = 32;
constexpr unsigned full_warp = 0xffffffffu;  // the mask of a shuffle in which all 32 lanes take part
constexpr int max_warps = 32;                // CUDA allows a block at most 1024 threads
constexpr int block_threads = 256;

// Complete: the state and its merge (chapter 03), and the reduction of a warp (this chapter).

// [from common/device/welford.cuh#state]
/// What is known of n values: their mean, and m2 = Σ(x − mean)². Welford{} is the state of no values. The members have
/// no initialisers, so that shared memory can hold the state.
struct Welford {
  std::int64_t n;  // an integer: a float stays at 2²⁴ when 1 is added
  float mean;
  float m2;
};

/// Σ(x − mean)² ÷ n: never negative, and exactly 0 where all values are equal. n is at least 1.
__host__ __device__ inline float variance(const Welford& state) { return state.m2 / static_cast<float>(state.n); }
// [/from]

// [from common/device/welford.cuh#update]
__host__ __device__ inline Welford update(const Welford& state, float x) {
  const std::int64_t n = state.n + 1;
  const float delta = x - state.mean;
  const float mean = state.mean + delta / static_cast<float>(n);
  return {n, mean, state.m2 + delta * (x - mean)};
}
// [/from]

// [from common/device/welford.cuh#merge]
__host__ __device__ inline Welford merge(const Welford& a, const Welford& b) {
  if (b.n == 0) return a;  // without values there is no mean: 0 ÷ 0, or a difference to a 0 that nobody measured
  if (a.n == 0) return b;
  const std::int64_t n = a.n + b.n;
  const float delta = b.mean - a.mean;
  const float share = static_cast<float>(b.n) / static_cast<float>(n);
  const float mean = a.mean + delta * share;
  return {n, mean, a.m2 + b.m2 + delta * delta * static_cast<float>(a.n) * share};
}
// [/from]

// [from common/device/reduce.cuh#words]
template <class State, class Shuffle>
__device__ State shuffle_words(State state, Shuffle shuffle) {
  static_assert(std::is_trivially_copyable_v<State> && sizeof(State) % sizeof(unsigned) == 0);
  unsigned words[sizeof(State) / sizeof(unsigned)];
  memcpy(words, &state, sizeof(State));
  for (unsigned& word : words) word = shuffle(word);
  memcpy(&state, words, sizeof(State));
  return state;
}
// [/from]

// [from common/device/reduce.cuh#warp_reduce]
template <class State>
__device__ State warp_reduce(State state, int lanes = warp_lanes) {
  for (int offset = 1; offset < lanes; offset *= 2) {
    const State other =
        shuffle_words(state, [offset](unsigned word) { return __shfl_down_sync(full_warp, word, offset); });
    state = merge(state, other);
  }
  return state;
}
// [/from]

/// Merges the states of the blockDim.x threads that share a threadIdx.y and gives the result to all of them. A block of
/// one dimension is one such row of threads. blockDim.x is a multiple of 32, and the block has at most 1024 threads.
///
/// partial is shared memory for one state of each warp of the block. State{} is the state of no value.
template <class State>
__device__ State block_reduce(State state, State* partial) {
  // [solution] reduce each warp, hand the warps' states over in partial, and give every thread the state of all
  // [from common/device/reduce.cuh#block]
  const int lane = threadIdx.x % warp_lanes;
  const int warp = threadIdx.x / warp_lanes;
  const int warps = blockDim.x / warp_lanes;  // of this row of threads

  state = warp_reduce(state);
  if (warps == 1) return shuffle_words(state, [](unsigned word) { return __shfl_sync(full_warp, word, 0); });

  partial += threadIdx.y * warps;
  if (lane == 0) partial[warp] = state;
  __syncthreads();
  if (warp == 0) {
    state = warp_reduce(lane < warps ? partial[lane] : State{}, warps);
    if (lane == 0) partial[0] = state;
  }
  __syncthreads();
  return partial[0];
  // [/from]
  // [stub]
  // not_written_yet(state, partial);
  // return State{};
  // [/solution]
}

/// LayerNorm with one block per row, as in the chapter. It is complete, and calls your block_reduce.
// [from warp_block_welford.cuh#kernel]
__global__ void layer_norm_kernel(LayerNormArgs args) {
  __shared__ Welford partial[max_warps];
  const std::int64_t row = blockIdx.x;
  const std::int64_t cols = args.cols;
  const float* x = args.x + row * cols;
  float* y = args.y + row * cols;

  Welford state{};
  for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) state = update(state, x[c]);
  state = block_reduce(state, partial);
  const float rstd = 1.0f / sqrtf(variance(state) + args.eps);

  for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) {
    const float gamma = args.gamma == nullptr ? 1.0f : args.gamma[c];
    const float beta = args.beta == nullptr ? 0.0f : args.beta[c];
    y[c] = (x[c] - state.mean) * rstd * gamma + beta;
  }

  if (threadIdx.x == 0) {
    if (args.mean != nullptr) args.mean[row] = state.mean;
    if (args.rstd != nullptr) args.rstd[row] = rstd;
  }
}
// [/from]

inline void layer_norm(const LayerNormArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed);
  if (args.rows == 0) return;
  launch(layer_norm_kernel, {blocks_for(args.rows, 1), block_threads, 0, stream}, args);
}

}  // namespace exercise
