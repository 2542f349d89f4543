/// Where and how wide a kernel runs, and the check after its launch.
#pragma once

#include <host/error.h>

#include <cstddef>

#ifndef LNH_CUDA
#include <simt/dim3.h>
#endif

/// Written in braces at the call: {grid, block} or {grid, block, shared_bytes, stream}.
struct LaunchConfig {
  dim3 grid;                 // blocks
  dim3 block;                // threads per block
  std::size_t shared_bytes;  // dynamic shared memory per block
  cudaStream_t stream;
  const char* file;
  int line;

  LaunchConfig(dim3 grid, dim3 block, std::size_t shared_bytes = 0, cudaStream_t stream = nullptr,
               const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : grid(grid), block(block), shared_bytes(shared_bytes), stream(stream), file(file), line(line) {}
};

/// Throws CudaError if the launch of the kernel at this address failed.
void check_launch(const void* kernel, const LaunchConfig& config);

/// The dynamic shared memory that a block may have without being allowed more: 48 KB on every GPU.
constexpr std::size_t most_shared_bytes_unasked = 48 << 10;
/// What a block of the current device may have at most, if its kernel is allowed it: allow_shared_bytes() in launch.h.
/// 227 KB on a GPU of compute capability 9.0, and on the executor.
std::size_t most_shared_bytes();
