/// CUDA errors as exceptions that say what was being done, and where.
#pragma once

#include <host/backend.h>

#include <stdexcept>
#include <string>

/// A runtime call or a kernel launch that failed. what() names the call or the kernel, the file and line, and CUDA's
/// own words.
class CudaError : public std::runtime_error {
public:
  CudaError(cudaError_t code, const std::string& doing, const char* file, int line);
  cudaError_t code() const { return code_; }

private:
  cudaError_t code_;
};

/// Throws CudaError unless code is cudaSuccess.
void check_cuda(cudaError_t code, const std::string& doing, const char* file = __builtin_FILE(),
                int line = __builtin_LINE());
