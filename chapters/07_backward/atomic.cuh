/// dγ and dβ by float atomics, for comparison. The course does not recommend it: atomics add in the order in which
/// blocks come by, and that may be another one on each run, so the same input gives other bits. A run of a training
/// cannot be repeated, and a small mistake cannot be told from this noise. What it saves is the second stage of
/// dgamma_dbeta.cuh, which reads one float for rows_per_slab of the first.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/norm_backward.h>

#include <cstdint>

#include "dgamma_dbeta.cuh"
#include "dx.cuh"

namespace backward {

/// dgamma[c] += Σ dy · x̂, dbeta[c] += Σ dy over the rows                        one thread per column of a slab
///
/// x, dy  [rows][cols] row-major;  mean, rstd [rows];  dgamma, dbeta [cols], each may be null
/// launch (⌈cols/256⌉, slabs) blocks of 256 threads
/// bytes  requested (4 · rows · cols + 2 · slabs · cols) · sizeof(float), the last of them by atomics
/// error  as testing/backward.h bounds it, m = rows_per_slab + slabs
// [kernel]
__global__ void atomic_sums_kernel(LayerNormBackwardArgs args, Slabs slabs) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= args.cols) return;
  ColumnSums sums{};
  for (std::int64_t row = blockIdx.y; row < args.rows; row += slabs.slabs) {
    sums = update<Norm::layer_norm>(sums, args, row, c);
  }
  if (args.dgamma != nullptr) atomicAdd(args.dgamma + c, sums.dgamma);
  if (args.dbeta != nullptr) atomicAdd(args.dbeta + c, sums.dbeta);
}
// [/kernel]

// [launcher]
inline void layer_norm_atomic(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed, Workspace::unused);
  sums_of_no_rows(args, stream);  // 0, unless they are to be added to
  if (args.rows == 0) return;
  if (args.dgamma != nullptr || args.dbeta != nullptr) {
    const Slabs slabs = slabs_for(args.rows, args.cols);
    const dim3 grid(blocks_for(args.cols, column_threads), static_cast<unsigned>(slabs.slabs));
    launch(atomic_sums_kernel, {grid, column_threads, 0, stream}, args, slabs);
  }
  if (args.dx != nullptr) launch_dx<Norm::layer_norm>(args, stream);
}
// [/launcher]

}  // namespace backward
