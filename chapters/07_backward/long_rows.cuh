/// The whole backward of rows that no block can hold: first both means of each row, then all that is made of them.
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

#include "dgamma_dbeta.cuh"
#include "dx.cuh"
#include "row_sums.cuh"

namespace backward {

/// means[row] = mean(g) and mean(g · x̂)                                                      one block per row
///
/// x, dy  [rows][cols] row-major;  gamma [cols];  mean, rstd, means [rows];  RMSNorm: mean is null
///        for Access::vector cols is a multiple of 4, and x, dy and gamma start at multiples of 16 bytes
/// launch rows blocks of T threads, shared memory for the sums of each warp
/// bytes  requested 3 · rows · cols · sizeof(float): x, dy and gamma once
/// error  as testing/backward.h bounds it, m = 4 · ⌈cols/4T⌉
// [row_means]
template <Norm norm, Access access>
__global__ void __launch_bounds__(most_threads) row_means_kernel(LayerNormBackwardArgs args, RowSums<norm>* means) {
  DYNAMIC_SHARED(RowSums<norm>, partial);
  const std::int64_t row = blockIdx.x;
  const RowSums<norm> sums = thread_sums<norm, access>(args, row, args.cols, statistics_of<norm>(args, row));
  const RowSums<norm> mean = divided<norm>(block_reduce(sums, partial), args.cols);
  if (threadIdx.x == 0) means[row] = mean;
}
// [/row_means]

/// dx, and the sums of each slab of rows for dgamma and dbeta                 one thread per column of a slab
///
/// x, dy, dx [rows][cols] row-major, dx may be dy;  gamma [cols];  mean, rstd, means [rows];  RMSNorm: mean is null
/// workspace [slabs][2][cols]: dgamma's sums of a slab, then dbeta's
/// launch (⌈cols/256⌉, slabs) blocks of 256 threads
/// bytes  requested 3 · rows · cols · sizeof(float): x, dy and dx once; gamma, mean, rstd and means beside them
/// error  dgamma and dbeta as of slab_sums_kernel, bit for bit; dx as of dx_kernel, bit for bit
// [dx_and_slab_sums]
template <Norm norm>
__global__ void dx_and_slab_sums_kernel(LayerNormBackwardArgs args, Slabs slabs, const RowSums<norm>* means) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= args.cols) return;
  const std::int64_t slab = blockIdx.y;
  const float gamma = args.gamma == nullptr ? 1.0f : args.gamma[c];
  ColumnSums sums{};
  for (std::int64_t row = slab; row < args.rows; row += slabs.slabs) {
    const Statistics statistics = statistics_of<norm>(args, row);
    const float x = args.x[row * args.cols + c];
    const float dy = args.dy[row * args.cols + c];
    args.dx[row * args.cols + c] = dx_of<norm>(x, __fmul_rn(dy, gamma), statistics, means[row]);
    sums = update(sums, dy, normalised(x, statistics));
  }
  write_slab_sums<norm>(args, slab, c, sums);
}
// [/dx_and_slab_sums]

// [launcher]
/// For more than most_held_columns, whose workspace has room for the means behind the slabs' sums.
template <Norm norm>
void launch_long_rows(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  const Slabs slabs = slabs_for(args.rows, args.cols);
  auto* const means = reinterpret_cast<RowSums<norm>*>(args.workspace + 2 * slabs.slabs * args.cols);
  const Shape shape = shape_for(args.cols);
  const std::size_t shared_bytes = shape.threads / warp_lanes * sizeof(RowSums<norm>);
  const bool vector = args.cols % 4 == 0 && aligned_for_vectors(args.x, args.dy, args.gamma);
  const auto kernel = vector ? row_means_kernel<norm, Access::vector> : row_means_kernel<norm, Access::scalar>;
  launch(kernel, {blocks_for(args.rows, 1), dim3(shape.threads), shared_bytes, stream}, args, means);
  const dim3 grid(blocks_for(args.cols, column_threads), static_cast<unsigned>(slabs.slabs));
  launch(dx_and_slab_sums_kernel<norm>, {grid, column_threads, 0, stream}, args, slabs, means);
  launch_total_sums(args, stream);
}
// [/launcher]

}  // namespace backward
