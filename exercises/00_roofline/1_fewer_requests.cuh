/// Exercise 00.1, mend: a copy that is right, but asks memory four times as often as it needs to.
///
/// The task, the hints and the commands are in exercises/00_roofline/README.md.
#pragma once

#include <host/copy.h>
#include <host/grid.h>
#include <host/launch.h>

#include <cstdint>

namespace exercise {

constexpr int block_threads = 256;

/// y[i] = x[i]                                                          four neighbouring floats per thread
///
/// x, y   [count], at any alignment that a float may have
/// launch ⌈count/1024⌉ blocks of 256 threads, no shared memory
__global__ void copy_kernel(CopyArgs args) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  const std::int64_t first = 4 * thread;
  for (std::int64_t i = first; i < first + 4 && i < args.count; ++i) args.y[i] = args.x[i];
}

inline void copy(const CopyArgs& args, cudaStream_t stream) {
  check(args);
  if (args.count == 0) return;
  launch(copy_kernel, {blocks_for(args.count, 4 * block_threads), block_threads, 0, stream}, args);
}

}  // namespace exercise
