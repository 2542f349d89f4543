#include <host/error.h>

namespace {

std::string sentence(cudaError_t code, const std::string& doing, const char* file, int line) {
  return doing + " failed at " + file + ":" + std::to_string(line) + " with " + cudaGetErrorName(code) + ": " +
         cudaGetErrorString(code);
}

}  // namespace

CudaError::CudaError(cudaError_t code, const std::string& doing, const char* file, int line)
    : std::runtime_error(sentence(code, doing, file, line)), code_(code) {}

void check_cuda(cudaError_t code, const std::string& doing, const char* file, int line) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // the exception reports it now; the next call shall not report it again
  throw CudaError(code, doing, file, line);
}
