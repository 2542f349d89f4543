/// Reductions over a warp and over a block, for every state that has a merge.
///
/// A state is a struct of 4-byte words with two properties: State{} is the state of no value, and merge(a, b), found in
/// the state's own namespace, is the state of both. Derived in chapter 04.
#pragma once

#include <cstring>
#include <type_traits>

constexpr int warp_lanes = 32;
constexpr unsigned full_warp = 0xffffffffu;  // the mask of a shuffle in which all 32 lanes take part

/// Applies a shuffle to each 4-byte word of a state: a shuffle instruction moves one.
// [words]
template <class State, class Shuffle>
__device__ State shuffle_words(State state, Shuffle shuffle) {
  static_assert(std::is_trivially_copyable_v<State> && sizeof(State) % sizeof(unsigned) == 0);
  unsigned words[sizeof(State) / sizeof(unsigned)];
  memcpy(words, &state, sizeof(State));
  for (unsigned& word : words) word = shuffle(word);
  memcpy(&state, words, sizeof(State));
  return state;
}
// [/words]

/// Merges the states of the lanes of a full warp, in the order of the lanes: first neighbours, then neighbouring pairs,
/// then fours. The result is lane 0's; the other lanes hold parts of it. lanes: how many of them, from lane 0 on, have
/// a state to give; the rest must hold State{}, and must call this, too.
// [warp_reduce]
template <class State>
__device__ State warp_reduce(State state, int lanes = warp_lanes) {
  for (int offset = 1; offset < lanes; offset *= 2) {
    const State other =
        shuffle_words(state, [offset](unsigned word) { return __shfl_down_sync(full_warp, word, offset); });
    state = merge(state, other);
  }
  return state;
}
// [/warp_reduce]

/// Merges the states of the blockDim.x threads that share a threadIdx.y and gives the result to all of them. A block of
/// one dimension is one such row of threads. blockDim.x is a multiple of 32, and the block has at most 1024 threads.
/// All threads of the block must call it: it holds two barriers, unless a warp is all that a row has.
///
/// partial is shared memory for one state of each warp of the block. It belongs to this one reduction: a second one
/// needs an array of its own, or a barrier before it.
// [block_reduce]
template <class State>
__device__ State block_reduce(State state, State* partial) {
  // [block]
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
  // [/block]
}
// [/block_reduce]
