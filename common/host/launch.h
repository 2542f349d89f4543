/// launch(kernel, {grid, block}, arguments…): the one spelling of a kernel launch that both backends understand.
///
/// nvcc writes kernel<<<grid, block, shared_bytes, stream>>>(arguments…), which a C++ compiler cannot parse; this
/// helper writes it for the cuda backend and starts the CPU executor for simt. In both it checks for errors and throws
/// CudaError with the kernel's name and the caller's file and line. On simt a kernel with a finding throws
/// simt::FindingError. For files that hold kernels: .cu and .cuh.
#pragma once

#include <host/launch_config.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#ifndef LNH_CUDA
#include <simt/launch.h>
#endif

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchConfig& config, Arguments&&... arguments) {
  static_assert((!std::is_reference_v<Parameters> && ...),
                "a kernel takes its arguments by value: a reference would refer to host memory");
#ifdef LNH_CUDA
  kernel<<<config.grid, config.block, config.shared_bytes, config.stream>>>(std::forward<Arguments>(arguments)...);
#else
  simt::launch(kernel, config.grid, config.block, config.shared_bytes, static_cast<Parameters>(arguments)...);
#endif
  check_launch(reinterpret_cast<const void*>(kernel), config);
}

/// More than 48 KB of dynamic shared memory a kernel must be allowed once before its launch. Throws CudaError above
/// most_shared_bytes().
template <class... Parameters>
void allow_shared_bytes(void (*kernel)(Parameters...), std::size_t bytes) {
  if (bytes <= most_shared_bytes_unasked) return;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
             "asking for " + std::to_string(bytes) + " bytes of shared memory");
}
