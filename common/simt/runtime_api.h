/// The part of the CUDA runtime's host interface that the course uses, for the CPU executor. (The legal-CUDA gate reads
/// these declarations too.)
///
/// Same names and meanings as in cuda_runtime_api.h; streams are accepted and everything is synchronous.
/// "Device memory" is an address range of its own, so that a kernel that follows a host pointer is caught.
#pragma once

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

#include <cstddef>

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidDevicePointer = 17,
};

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};

using cudaStream_t = struct CUstream_st*;

/// Reserves bytes of device memory, aligned to 256; pages that nobody touches cost nothing.
cudaError_t cudaMalloc(void** pointer, std::size_t bytes);
template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemset(void* pointer, int byte, std::size_t bytes);
cudaError_t cudaMemsetAsync(void* pointer, int byte, std::size_t bytes, cudaStream_t stream);

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
/// Allows a kernel's launches more than 48 KB of dynamic shared memory, up to simt::most_shared_bytes.
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
/// The last error of this thread; cudaGetLastError also clears it.
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

// NOLINTEND(readability-identifier-naming)

namespace simt {

/// Dynamic shared memory that a block can have, as on a GPU of compute capability 9.0.
inline constexpr std::size_t most_shared_bytes = 227 << 10;

}  // namespace simt
