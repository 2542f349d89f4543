/// Exercise 07.2, write: dγ and dβ, in two stages without atomics.
///
/// The task, the hints and the commands are in exercises/07_backward/README.md.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/norm_backward.h>
#include <device/not_written_yet.cuh>
#include <device/reduce.cuh>

#include <cstdint>

namespace exercise {

constexpr int column_threads = 256;

/// First stage: Σdy·x̂ and Σdy over the rows of each slab                       one thread per column of a slab
///
/// x, dy  [rows][cols] row-major;  mean, rstd [rows]
/// workspace [slabs][2][cols]: dgamma's sums of a slab, then dbeta's
/// launch (⌈cols/256⌉, slabs) blocks of 256 threads
__global__ void slab_sums_kernel(LayerNormBackwardArgs args, Slabs slabs) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t slab = blockIdx.y;
  // TODO: both sums of column c over the rows slab, slab + slabs.slabs and so on, each to its place in workspace
  not_written_yet(args, slabs, c, slab);
}

/// One float as a state for warp_reduce.
struct Sum {
  float value;
};
__host__ __device__ inline Sum merge(Sum a, Sum b) { return {a.value + b.value}; }

/// Second stage: the sums of the slabs' sums                    32 threads per column of the matrix [slabs][2 · cols]
///
/// dgamma, dbeta [cols], each may be null; accumulate adds to what is there
/// launch ⌈2 · cols/32⌉ blocks of 32 × 32 threads, ⌈cols/32⌉ without dbeta; block b has the columns from 32 · b on
__global__ void total_sums_kernel(LayerNormBackwardArgs args, Slabs slabs) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * warp_lanes;
  // TODO: the sum of each of the block's columns over the slabs; into dgamma or dbeta, where that is wanted
  not_written_yet(args, slabs, first);
}

/// dgamma and dbeta alone: dx and gamma play no part.
inline void layer_norm_dgamma_dbeta(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed, Workspace::needed);
  if (args.rows == 0) return sums_of_no_rows(args, stream);
  if (args.dgamma == nullptr && args.dbeta == nullptr) return;
  const Slabs slabs = slabs_for(args.rows, args.cols);
  const dim3 slab_blocks(blocks_for(args.cols, column_threads), static_cast<unsigned>(slabs.slabs));
  launch(slab_sums_kernel, {slab_blocks, column_threads, 0, stream}, args, slabs);
  const std::int64_t columns = args.dbeta == nullptr ? args.cols : 2 * args.cols;
  const dim3 block(warp_lanes, warp_lanes);
  launch(total_sums_kernel, {blocks_for(columns, warp_lanes), block, 0, stream}, args, slabs);
}

}  // namespace exercise
