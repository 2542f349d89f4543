/// dx: the gradient by x, a row from that row alone.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/norm_backward.h>
#include <host/shape.h>
#include <device/dynamic_shared.cuh>
#include <device/reduce.cuh>
#include <device/vector.cuh>

#include <cstddef>
#include <cstdint>

#include "row_sums.cuh"

namespace backward {

/// dx[r][c] = rstd[r] · (g − mean(g) − x̂ · mean(g · x̂)),  g = dy · gamma              one thread per row
///
/// x, dy, dx [rows][cols] row-major, dx may be dy;  gamma [cols];  mean, rstd [rows]
/// launch ⌈rows/256⌉ blocks of 256 threads, no shared memory
/// bytes  requested 7 · rows · cols · sizeof(float): x, dy and gamma twice, dx once
///        touched   (3 · rows · cols + cols + 2 · rows) · sizeof(float)
/// error  as testing/backward.h bounds it, m = cols
// [thread_per_row]
constexpr int rows_per_block = 256;

__global__ void dx_thread_per_row_kernel(LayerNormBackwardArgs args) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= args.rows) return;
  const float* x = args.x + row * args.cols;
  const float* dy = args.dy + row * args.cols;
  float* dx = args.dx + row * args.cols;
  const float mean = args.mean[row];
  const float rstd = args.rstd[row];

  float sum_g = 0;
  float sum_gx = 0;
  for (std::int64_t c = 0; c < args.cols; ++c) {
    const float g = __fmul_rn(dy[c], args.gamma == nullptr ? 1.0f : args.gamma[c]);
    sum_g += g;
    sum_gx += g * ((x[c] - mean) * rstd);
  }
  const float mean_g = sum_g / static_cast<float>(args.cols);
  const float mean_gx = sum_gx / static_cast<float>(args.cols);
  for (std::int64_t c = 0; c < args.cols; ++c) {
    const float g = __fmul_rn(dy[c], args.gamma == nullptr ? 1.0f : args.gamma[c]);
    dx[c] = rstd * (g - mean_g - (x[c] - mean) * rstd * mean_gx);
  }
}
// [/thread_per_row]

/// The part of a row's Σg and Σg·x̂ that this thread reads: fours `blockDim.x` apart.
// [thread_sums]
template <Norm norm, Access access>
__device__ RowSums<norm> thread_sums(const LayerNormBackwardArgs& args, std::int64_t row, std::int64_t cols,
                                     Statistics statistics) {
  const float* x = args.x + row * args.cols;
  const float* dy = args.dy + row * args.cols;
  RowSums<norm> sums{};
  for (std::int64_t c = 4 * threadIdx.x; c < cols; c += 4 * blockDim.x) {
    const float4 g = g_of<access>(args, load_up_to_four<access>(dy + c, cols - c), c);
    sums = merge(sums, sums_of<norm>(load_up_to_four<access>(x + c, cols - c, statistics.mean), g, statistics));
  }
  return sums;
}
// [/thread_sums]

/// The same, and RMSNorm's without mean(g)                                  T threads per row, R rows per block
///
/// x, dy, dx [rows][cols] row-major, dx may be dy;  gamma [cols];  mean, rstd [rows];  RMSNorm: mean is null
///        for Access::vector cols is a multiple of 4, and x, dy, dx and gamma start at multiples of 16 bytes
/// launch ⌈rows/R⌉ blocks of (T, R) threads as in chapter 05; shared memory for the sums of each warp if T > 32
/// bytes  requested 7 · rows · cols · sizeof(float): x, dy and gamma twice, dx once
///        touched   (3 · rows · cols + cols + 2 · rows) · sizeof(float)
/// error  as testing/backward.h bounds it, m = 4 · ⌈cols/4T⌉: the same for both kinds of access, bit for bit
// [kernel]
template <Norm norm, Access access>
__global__ void __launch_bounds__(most_threads) dx_kernel(LayerNormBackwardArgs args) {
  DYNAMIC_SHARED(RowSums<norm>, partial);
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const std::int64_t cols = row < args.rows ? args.cols : 0;  // no row, no work, but the barrier waits for all
  const float* x = args.x + row * args.cols;
  const float* dy = args.dy + row * args.cols;
  float* dx = args.dx + row * args.cols;
  const Statistics statistics = cols == 0 ? Statistics{} : statistics_of<norm>(args, row);

  const RowSums<norm> sums = thread_sums<norm, access>(args, row, cols, statistics);
  const RowSums<norm> mean = divided<norm>(block_reduce(sums, partial), args.cols);
  for (std::int64_t c = 4 * threadIdx.x; c < cols; c += 4 * blockDim.x) {
    const float4 g = g_of<access>(args, load_up_to_four<access>(dy + c, cols - c), c);
    const float4 in = load_up_to_four<access>(x + c, cols - c, statistics.mean);
    store_up_to_four<access>(dx + c, cols - c, dx_of<norm>(in, g, statistics, mean));
  }
}
// [/kernel]

// [launcher]
inline void launch_dx_thread_per_row(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  launch(dx_thread_per_row_kernel, {blocks_for(args.rows, rows_per_block), rows_per_block, 0, stream}, args);
}

template <Norm norm>
void launch_dx(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  const Shape shape = shape_for(args.cols);
  const bool vector = args.cols % 4 == 0 && aligned_for_vectors(args.x, args.dy, args.dx, args.gamma);
  const auto kernel = vector ? dx_kernel<norm, Access::vector> : dx_kernel<norm, Access::scalar>;
  const int warps = shape.threads / warp_lanes;
  const std::size_t shared_bytes = warps > 1 ? shape.rows * warps * sizeof(RowSums<norm>) : 0;
  launch(kernel, {blocks_for(args.rows, shape.rows), dim3(shape.threads, shape.rows), shared_bytes, stream}, args);
}
// [/launcher]

}  // namespace backward
