/// Exercise 05.2, write: rows of any length at any address, with the same bits wherever they lie.
///
/// The task, the hints and the commands are in exercises/05_fused_layer_norm/README.md.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/layer_norm.h>
#include <device/not_written_yet.cuh>
#include <device/reduce.cuh>
#include <device/welford.cuh>

#include <cstdint>

namespace exercise {

constexpr int block_threads = 256;

enum class Access { scalar, vector };

/// The four floats at p. For Access::vector p is a multiple of 16 bytes.
template <Access access>
__device__ inline float4 load_four(const float* p) {
  if constexpr (access == Access::vector) return *reinterpret_cast<const float4*>(p);
  // [solution] the same four floats, one by one
  return {p[0], p[1], p[2], p[3]};
  // [stub]
  // const float missing = not_written_yet(p);
  // return {missing, missing, missing, missing};
  // [/solution]
}

/// Writes four floats to p. For Access::vector p is a multiple of 16 bytes.
template <Access access>
__device__ inline void store_four(float* p, float4 values) {
  if constexpr (access == Access::vector) {
    *reinterpret_cast<float4*>(p) = values;
  } else {
    // [solution] the same four floats, one by one
    p[0] = values.x, p[1] = values.y, p[2] = values.z, p[3] = values.w;
    // [stub]
    // p[0] = p[1] = p[2] = p[3] = not_written_yet(values);
    // [/solution]
  }
}

/// LayerNorm with one block per row. Both loops go over the fours that are whole; what is left of the row, the tail, is
/// yours. Behind a loop, c is where this thread would go on.
template <Access access>
__global__ void layer_norm_kernel(LayerNormArgs args) {
  __shared__ Welford partial[block_threads / warp_lanes];
  const std::int64_t row = blockIdx.x;
  const std::int64_t cols = args.cols;
  const std::int64_t whole = cols - cols % 4;
  const float* x = args.x + row * cols;
  float* y = args.y + row * cols;

  Welford state{};
  std::int64_t c = 4 * threadIdx.x;
  for (; c < whole; c += 4 * block_threads) state = merge(state, of_four(load_four<access>(x + c)));
  // [solution] the tail of the statistics: one thread updates its state with each of the 0 to 3 elements from whole on
  for (; c < cols; ++c) state = update(state, x[c]);
  // [/solution]
  state = block_reduce(state, partial);
  const float mean = state.mean;
  const float rstd = 1.0f / sqrtf(variance(state) + args.eps);

  for (c = 4 * threadIdx.x; c < whole; c += 4 * block_threads) {
    const float4 in = load_four<access>(x + c);
    const float4 one = {1, 1, 1, 1}, zero = {0, 0, 0, 0};
    const float4 gamma = args.gamma == nullptr ? one : load_four<access>(args.gamma + c);
    const float4 beta = args.beta == nullptr ? zero : load_four<access>(args.beta + c);
    store_four<access>(y + c, {(in.x - mean) * rstd * gamma.x + beta.x, (in.y - mean) * rstd * gamma.y + beta.y,
                               (in.z - mean) * rstd * gamma.z + beta.z, (in.w - mean) * rstd * gamma.w + beta.w});
  }
  // [solution] the tail of the result, by the same thread
  for (; c < cols; ++c) {
    const float gamma = args.gamma == nullptr ? 1.0f : args.gamma[c];
    const float beta = args.beta == nullptr ? 0.0f : args.beta[c];
    y[c] = (x[c] - mean) * rstd * gamma + beta;
  }
  // [/solution]

  if (threadIdx.x == 0) {
    if (args.mean != nullptr) args.mean[row] = mean;
    if (args.rstd != nullptr) args.rstd[row] = rstd;
  }
}

inline void layer_norm(const LayerNormArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed);
  if (args.rows == 0) return;
  // [solution] whether each four of each row of x and y, and of gamma and beta, starts at a multiple of 16 bytes
  // [choice]
  bool vectors = args.cols % 4 == 0;
  for (const float* start : {args.x, static_cast<const float*>(args.y), args.gamma, args.beta}) {
    vectors = vectors && reinterpret_cast<std::uintptr_t>(start) % sizeof(float4) == 0;  // null is a multiple, too
  }
  // [/choice]
  // [stub]
  // const bool vectors = false;
  // [/solution]
  const auto kernel = vectors ? layer_norm_kernel<Access::vector> : layer_norm_kernel<Access::scalar>;
  launch(kernel, {blocks_for(args.rows, 1), block_threads, 0, stream}, args);
}

}  // namespace exercise
