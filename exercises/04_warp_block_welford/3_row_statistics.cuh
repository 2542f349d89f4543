/// Exercise 04.3, mend: mean and rstd of each row, right on every run that anyone has seen so far.
///
/// The task, the hints and the commands are in exercises/04_warp_block_welford/README.md.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <device/reduce.cuh>
#include <device/welford.cuh>

#include <cstdint>

namespace exercise {

constexpr int max_warps = 32;
constexpr int block_threads = 256;
constexpr int rows_per_block = 2;  // half as many blocks to start

struct StatisticsArgs {
  const float* x;     // [rows][cols]
  float* mean;        // [rows]
  float* rstd;        // [rows]
  std::int64_t rows;  // at least 1
  std::int64_t cols;  // at least 1
  float eps;          // at least 0
};

/// mean[r] = Σx[r] ÷ cols,  rstd[r] = 1/√(variance[r] + eps)            two rows per block, one after the other
///
/// x      [rows][cols] row-major;  mean, rstd [rows]
/// launch ⌈rows/2⌉ blocks of 256 threads, 512 bytes of shared memory
__global__ void row_statistics_kernel(StatisticsArgs args) {
  __shared__ Welford partial[max_warps];
  const int lane = threadIdx.x % warp_lanes;
  const int warp = threadIdx.x / warp_lanes;
  const int warps = blockDim.x / warp_lanes;

  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * rows_per_block;
  for (std::int64_t row = first; row < first + rows_per_block && row < args.rows; ++row) {
    const float* x = args.x + row * args.cols;
    Welford state{};
    for (std::int64_t c = threadIdx.x; c < args.cols; c += blockDim.x) state = update(state, x[c]);

    state = warp_reduce(state);
    if (lane == 0) partial[warp] = state;
    __syncthreads();
    if (warp == warps - 1) {  // its share of the row is the smallest, so it has the time
      state = warp_reduce(lane < warps ? partial[lane] : Welford{});
      if (lane == 0) {
        args.mean[row] = state.mean;
        args.rstd[row] = 1.0f / sqrtf(variance(state) + args.eps);
      }
    }
  }
}

inline void row_statistics(const StatisticsArgs& args, cudaStream_t stream) {
  launch(row_statistics_kernel, {blocks_for(args.rows, rows_per_block), block_threads, 0, stream}, args);
}

}  // namespace exercise
