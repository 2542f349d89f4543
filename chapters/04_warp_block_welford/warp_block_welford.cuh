/// LayerNorm with one block per row, whose threads exchange Welford states: by shuffles within a warp, and through
/// shared memory, with two barriers, across warps.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/layer_norm.h>
#include <device/reduce.cuh>
#include <device/welford.cuh>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace warp_block_welford {

constexpr int max_warps = 32;  // CUDA allows a block at most 1024 threads
constexpr int block_threads = 256;

/// y[r][c] = (x[r][c] − mean[r]) · rstd[r] · gamma[c] + beta[c]         one block per row
///
/// x, y   [rows][cols] row-major, y may be x;  gamma, beta [cols];  mean, rstd [rows]
/// launch rows blocks of 1 to 32 full warps, 512 bytes of shared memory; rows at most 2³¹ − 1
/// bytes  requested 5 · rows · cols · sizeof(float): x twice, gamma, beta and y once a row
///        touched   (2 · rows · cols + 2 · cols) · sizeof(float)
/// error  as testing/tolerance.h bounds it, m = ⌈cols/T⌉ for T threads: T short chains of updates and a tree of merges
/// source Welford 1962 (update); Chan, Golub & LeVeque 1983 (merge); device/reduce.cuh (the tree)
// [kernel]
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
// [/kernel]

/// The kernel with blocks of any number of warps from 1 to 32, also where that is more threads than a row has columns.
/// Throws std::invalid_argument for another number.
inline void layer_norm_with_warps(const LayerNormArgs& args, int warps, cudaStream_t stream) {
  check(args, InPlace::allowed);
  if (warps < 1 || warps > max_warps) {
    throw std::invalid_argument("layer_norm_with_warps: warps is " + std::to_string(warps) +
                                ", but a block has 1 to 32 warps");
  }
  if (args.rows == 0) return;
  const unsigned threads = static_cast<unsigned>(warps * warp_lanes);
  launch(layer_norm_kernel, {blocks_for(args.rows, 1), threads, 0, stream}, args);
}

inline void layer_norm(const LayerNormArgs& args, cudaStream_t stream) {
  layer_norm_with_warps(args, block_threads / warp_lanes, stream);
}

}  // namespace warp_block_welford
