/// dγ and dβ: sums over the rows, a number for each column.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/norm_backward.h>
#include <device/reduce.cuh>

#include <algorithm>
#include <cstdint>

#include "row_sums.cuh"

namespace backward {

// [column_sums]
/// Σdy·x̂ and Σdy of some rows of a column.
struct ColumnSums {
  float dgamma;
  float dbeta;
};
__host__ __device__ inline ColumnSums merge(ColumnSums a, ColumnSums b) {
  return {a.dgamma + b.dgamma, a.dbeta + b.dbeta};
}

/// The state after one more row.
__device__ inline ColumnSums update(ColumnSums sums, float dy, float normalised) {
  return {sums.dgamma + dy * normalised, sums.dbeta + dy};
}
template <Norm norm>
__device__ ColumnSums update(ColumnSums sums, const LayerNormBackwardArgs& args, std::int64_t row, std::int64_t c) {
  const float x = args.x[row * args.cols + c];
  return update(sums, args.dy[row * args.cols + c], normalised(x, statistics_of<norm>(args, row)));
}

/// Writes a sum where it is wanted: over what is there, or added to it.
__device__ inline void write_sum(float* sums, std::int64_t c, float sum, bool accumulate) {
  if (sums == nullptr) return;
  sums[c] = accumulate ? sums[c] + sum : sum;
}
// [/column_sums]

/// dgamma[c] = Σ dy · x̂, dbeta[c] = Σ dy over the rows                                   one warp per column
///
/// x, dy  [rows][cols] row-major;  mean, rstd [rows];  dgamma, dbeta [cols], each may be null
/// launch ⌈cols/8⌉ blocks of 8 warps; the lanes of a warp stand on neighbouring rows, cols floats apart
/// bytes  requested 4 · rows · cols · sizeof(float): x and dy, mean and rstd once a column; 32 sectors a request of x
/// error  as testing/backward.h bounds it, m = ⌈rows/32⌉ and T = 32
// [warp_per_column]
constexpr int column_threads = 256;  // of a block

template <Norm norm>
__global__ void warp_per_column_kernel(LayerNormBackwardArgs args) {
  const int lane = threadIdx.x % warp_lanes;
  const std::int64_t c = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / warp_lanes;
  if (c >= args.cols) return;
  ColumnSums sums{};
  for (std::int64_t row = lane; row < args.rows; row += warp_lanes) sums = update<norm>(sums, args, row, c);
  sums = warp_reduce(sums);
  if (lane != 0) return;
  write_sum(args.dgamma, c, sums.dgamma, args.accumulate);
  write_sum(args.dbeta, c, sums.dbeta, args.accumulate);
}
// [/warp_per_column]

/// The same                                                                            one thread per column
///
/// launch ⌈cols/256⌉ blocks of 256 threads; the lanes of a warp stand on neighbouring columns
/// bytes  requested 4 · rows · cols · sizeof(float), mean and rstd one number for a warp; 4 sectors a request of x
/// error  as testing/backward.h bounds it, m = rows
// [thread_per_column]
template <Norm norm>
__global__ void thread_per_column_kernel(LayerNormBackwardArgs args) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= args.cols) return;
  ColumnSums sums{};
  for (std::int64_t row = 0; row < args.rows; ++row) sums = update<norm>(sums, args, row, c);
  write_sum(args.dgamma, c, sums.dgamma, args.accumulate);
  write_sum(args.dbeta, c, sums.dbeta, args.accumulate);
}
// [/thread_per_column]

// [write_slab_sums]
template <Norm norm>
__device__ void write_slab_sums(const LayerNormBackwardArgs& args, std::int64_t slab, std::int64_t c, ColumnSums sums) {
  float* const out = args.workspace + 2 * slab * args.cols;
  out[c] = sums.dgamma;
  if constexpr (norm == Norm::layer_norm) out[args.cols + c] = sums.dbeta;
}
// [/write_slab_sums]

/// First stage: the sums of each slab of rows                                 one thread per column of a slab
///
/// workspace [slabs][2][cols]: dgamma's sums of a slab, then dbeta's
/// launch (⌈cols/256⌉, slabs) blocks of 256 threads
/// error  as testing/backward.h bounds it, with both stages m = rows_per_slab + ⌈slabs/32⌉ and T = 32
// [slab_sums]
template <Norm norm>
__global__ void slab_sums_kernel(LayerNormBackwardArgs args, Slabs slabs) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= args.cols) return;
  const std::int64_t slab = blockIdx.y;
  ColumnSums sums{};
  for (std::int64_t row = slab; row < args.rows; row += slabs.slabs) sums = update<norm>(sums, args, row, c);
  write_slab_sums<norm>(args, slab, c, sums);
}
// [/slab_sums]

/// Second stage: the sums of the slabs' sums            a warp per column, after a turn in shared memory
///
/// launch ⌈2 · cols/32⌉ blocks of (32, H) threads, ⌈cols/32⌉ without dbeta, H = 32 or as many as there are slabs;
///        block b has the columns from 32 · b on of the matrix [slabs][2 · cols]
// [total_sums]
struct Sum {
  float value;
};
__host__ __device__ inline Sum merge(Sum a, Sum b) { return {a.value + b.value}; }

__global__ void total_sums_kernel(LayerNormBackwardArgs args, Slabs slabs) {
  __shared__ float tile[warp_lanes][warp_lanes + 1];  // one float more a row: its columns lie in 32 different banks
  const int lane = threadIdx.x;
  const int height = blockDim.y;
  const std::int64_t stride = 2 * args.cols;
  const std::int64_t columns = args.dbeta == nullptr ? args.cols : stride;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * warp_lanes;
  float sum = 0;  // lanes on neighbouring columns, of every slab that is this warp's
  for (std::int64_t slab = threadIdx.y; slab < slabs.slabs && first + lane < columns; slab += height) {
    sum += args.workspace[slab * stride + first + lane];
  }
  tile[threadIdx.y][lane] = sum;
  __syncthreads();
  for (int i = threadIdx.y; i < warp_lanes && first + i < columns; i += height) {
    const Sum total = warp_reduce(lane < height ? Sum{tile[lane][i]} : Sum{});  // now lanes on the sums of one column
    if (lane != 0) continue;
    const bool is_dgamma = first + i < args.cols;
    write_sum(is_dgamma ? args.dgamma : args.dbeta, first + i - (is_dgamma ? 0 : args.cols), total.value,
              args.accumulate);
  }
}
// [/total_sums]

// [launcher]
inline void launch_total_sums(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  const Slabs slabs = slabs_for(args.rows, args.cols);
  const std::int64_t columns = args.dbeta == nullptr ? args.cols : 2 * args.cols;
  const dim3 block(warp_lanes, static_cast<unsigned>(std::min<std::int64_t>(warp_lanes, slabs.slabs)));
  launch(total_sums_kernel, {blocks_for(columns, warp_lanes), block, 0, stream}, args, slabs);
}

template <Norm norm>
void launch_two_stages(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  const Slabs slabs = slabs_for(args.rows, args.cols);
  const dim3 grid(blocks_for(args.cols, column_threads), static_cast<unsigned>(slabs.slabs));
  launch(slab_sums_kernel<norm>, {grid, column_threads, 0, stream}, args, slabs);
  launch_total_sums(args, stream);
}
// [/launcher]

}  // namespace backward
