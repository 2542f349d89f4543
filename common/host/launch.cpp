#include <host/launch_config.h>

#include <string>

#ifdef LNH_CUDA
#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#else
#include <simt/runtime_api.h>
#include <simt/symbols.h>
#endif

namespace {

#ifdef LNH_CUDA
std::string kernel_name(const void* kernel) {
#if CUDART_VERSION >= 12030
  const char* mangled = nullptr;
  if (cudaFuncGetName(&mangled, kernel) != cudaSuccess) {
    cudaGetLastError();
    return "a kernel whose name CUDA does not know";
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                              &std::free);
  return status == 0 ? demangled.get() : mangled;
#else
  (void)kernel;
  return "a kernel";  // CUDA gives names from 12.3 on
#endif
}
#else
using simt::kernel_name;
#endif

std::string text(dim3 size) {
  return "(" + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " + std::to_string(size.z) + ")";
}

}  // namespace

void check_launch(const void* kernel, const LaunchConfig& config) {
  const cudaError_t code = cudaGetLastError();
  if (code == cudaSuccess) return;
  throw CudaError(code,
                  "the launch of " + kernel_name(kernel) + " with grid " + text(config.grid) + ", block " +
                      text(config.block) + " and " + std::to_string(config.shared_bytes) + " bytes of shared memory",
                  config.file, config.line);
}

std::size_t most_shared_bytes() {
#ifdef LNH_CUDA
  int device = 0;
  int bytes = 0;
  check_cuda(cudaGetDevice(&device), "asking for the current device");
  check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "asking how much shared memory a block may have");
  return static_cast<std::size_t>(bytes);
#else
  return simt::most_shared_bytes;
#endif
}
