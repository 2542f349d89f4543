/// Exercise 05.1, write: both passes over a row, with loads and stores of 16 bytes.
///
/// The task, the hints and the commands are in exercises/05_fused_layer_norm/README.md.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/layer_norm.h>
#include <device/not_written_yet.cuh>
#include <device/reduce.cuh>
#include <device/vector.cuh>
#include <device/welford.cuh>

#include <cstdint>
#include <stdexcept>

namespace exercise {

constexpr int block_threads = 256;

/// The state of this thread's part of a row. Thread t of T has the fours that begin at the columns 4t, 4t + 4T, 4t + 8T
/// and so on. x is the row; it starts at a multiple of 16 bytes, and cols is a multiple of 4.
__device__ inline Welford statistics(const float* x, std::int64_t cols) {
  // [solution] load each four in one access, make a state of it with of_four, and merge that into this thread's state
  // [statistics]
  Welford state{};
  for (std::int64_t c = 4 * threadIdx.x; c < cols; c += 4 * blockDim.x) {
    state = merge(state, of_four(load_four<Access::vector>(x + c)));
  }
  return state;
  // [/statistics]
  // [stub]
  // const float missing = not_written_yet(x, cols);
  // return {1, missing, missing};
  // [/solution]
}

/// Writes (x − mean) · rstd · gamma + beta to this thread's part of the row y: the same fours as in statistics().
__device__ inline void write_result(const LayerNormArgs& args, const float* x, float* y, float mean, float rstd) {
  // [solution] load each four of x once more, and gamma and beta with four_or; store the four results in one access
  // [result]
  for (std::int64_t c = 4 * threadIdx.x; c < args.cols; c += 4 * blockDim.x) {
    const float4 in = load_four<Access::vector>(x + c);
    const float4 gamma = four_or<Access::vector>(args.gamma, c, 1.0f);
    const float4 beta = four_or<Access::vector>(args.beta, c, 0.0f);
    store_four<Access::vector>(y + c,
                               {(in.x - mean) * rstd * gamma.x + beta.x, (in.y - mean) * rstd * gamma.y + beta.y,
                                (in.z - mean) * rstd * gamma.z + beta.z, (in.w - mean) * rstd * gamma.w + beta.w});
  }
  // [/result]
  // [stub]
  // for (std::int64_t c = threadIdx.x; c < args.cols; c += blockDim.x) y[c] = not_written_yet(x, mean, rstd);
  // [/solution]
}

/// LayerNorm with one block per row. It is complete, and calls your two functions.
__global__ void layer_norm_kernel(LayerNormArgs args) {
  __shared__ Welford partial[block_threads / warp_lanes];
  const std::int64_t row = blockIdx.x;
  const float* x = args.x + row * args.cols;
  float* y = args.y + row * args.cols;

  const Welford state = block_reduce(statistics(x, args.cols), partial);
  const float rstd = 1.0f / sqrtf(variance(state) + args.eps);
  write_result(args, x, y, state.mean, rstd);

  if (threadIdx.x == 0) {
    if (args.mean != nullptr) args.mean[row] = state.mean;
    if (args.rstd != nullptr) args.rstd[row] = rstd;
  }
}

/// Throws std::invalid_argument where 16-byte accesses are not allowed; that case is exercise 05.2.
inline void layer_norm(const LayerNormArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed);
  if (args.cols % 4 != 0 || !aligned_for_vectors(args.x, args.y, args.gamma, args.beta)) {
    throw std::invalid_argument(
        "exercise 05.1 takes cols that are a multiple of 4, and pointers to multiples of 16 bytes");
  }
  if (args.rows == 0) return;
  launch(layer_norm_kernel, {blocks_for(args.rows, 1), block_threads, 0, stream}, args);
}

}  // namespace exercise
