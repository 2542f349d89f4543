/// Copy kernels: the least that a kernel can do with a row is to read it once and write it once.
#pragma once

#include <host/copy.h>
#include <host/grid.h>
#include <host/launch.h>

#include <cstdint>

namespace copy {

constexpr int block_threads = 256;

/// y[i] = x[i]                                                          one float per thread
///
/// x, y   [count]
/// launch ⌈count/256⌉ blocks of 256 threads, no shared memory
/// bytes  2 · count · sizeof(float), in requests of 32 lanes × 4 bytes
/// error  none: a copy keeps every bit
/// source chapter 00
// [scalar]
__global__ void scalar_kernel(CopyArgs args) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (i < args.count) args.y[i] = args.x[i];
}
// [/scalar]

inline void scalar(const CopyArgs& args, cudaStream_t stream) {
  check(args);
  if (args.count == 0) return;
  launch(scalar_kernel, {blocks_for(args.count, block_threads), block_threads, 0, stream}, args);
}

/// y[i] = x[i]                                                          four floats per thread, in one access
///
/// x, y   [count]
/// launch ⌈(quads + rest)/256⌉ blocks of 256 threads, no shared memory; quads = ⌊count/4⌋, rest = count − 4 · quads
/// bytes  2 · count · sizeof(float), in requests of 32 lanes × 16 bytes
/// error  none: a copy keeps every bit
/// source chapter 00
// [kernel]
__global__ void vectorized_kernel(CopyArgs args, std::int64_t quads) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (i < quads) {
    reinterpret_cast<float4*>(args.y)[i] = reinterpret_cast<const float4*>(args.x)[i];
  } else {
    // The threads after the last quad copy what is left, one float each.
    const std::int64_t rest = 4 * quads + (i - quads);
    if (rest < args.count) args.y[rest] = args.x[rest];
  }
}
// [/kernel]

// [launcher]
inline void vectorized(const CopyArgs& args, cudaStream_t stream) {
  check(args);
  if (args.count == 0) return;
  // A 16-byte access needs an address that is a multiple of 16. Without it there are no quads: every float is left.
  const auto addresses = reinterpret_cast<std::uintptr_t>(args.x) | reinterpret_cast<std::uintptr_t>(args.y);
  const std::int64_t quads = addresses % sizeof(float4) == 0 ? args.count / 4 : 0;
  const std::int64_t threads = args.count - 3 * quads;
  launch(vectorized_kernel, {blocks_for(threads, block_threads), block_threads, 0, stream}, args, quads);
}
// [/launcher]

}  // namespace copy
