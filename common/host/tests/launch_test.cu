// launch(): arguments arrive, a failed launch says which kernel and where, a window runs chosen blocks.
#include <host/device_buffer.h>
#include <host/launch.h>
#include <host/launch_window.h>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace launch_test {

__global__ void write_kernel(int* out, int count, int value) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = value + i;
}

}  // namespace launch_test

TEST_CASE("a kernel gets its arguments, converted to its parameters' types") {
  const DeviceBuffer<int> out("out", 5);
  const short value = 10;
  launch(launch_test::write_kernel, {2, 4}, out.data(), 5, value);
  check_cuda(cudaDeviceSynchronize(), "write_kernel");
  CHECK(out.download() == std::vector<int>{10, 11, 12, 13, 14});
  out.check_guards();
}

TEST_CASE("a launch that CUDA refuses throws with the kernel's name, the configuration, the file and the line") {
  const DeviceBuffer<int> out("out", 1);
  try {
    launch(launch_test::write_kernel, {3, 2048}, out.data(), 1, 1);
    FAIL("2048 threads a block were accepted");
  } catch (const CudaError& error) {
    const std::string line = std::to_string(__LINE__ - 3);
    const std::string message = error.what();
    CAPTURE(message);
    // CUDA 13 says invalid value where CUDA 12 and the executor say invalid configuration.
    const bool refused = error.code() == cudaErrorInvalidConfiguration || error.code() == cudaErrorInvalidValue;
    CHECK(refused);
    CHECK(message.find("launch_test::write_kernel") != std::string::npos);
    CHECK(message.find("with grid (3, 1, 1), block (2048, 1, 1) and 0 bytes of shared memory failed at ") !=
          std::string::npos);
    CHECK(message.find("launch_test.cu:" + line) != std::string::npos);
    CHECK(message.find(cudaGetErrorName(error.code())) != std::string::npos);
  }
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("a runtime call that fails throws with what was being done, the file and the line") {
  check_cuda(cudaSuccess, "nothing");
  const std::string place = std::string(__FILE__) + ":" + std::to_string(__LINE__ + 2);
  try {
    check_cuda(cudaErrorInvalidValue, "upload of 'x'");
    FAIL("no exception");
  } catch (const CudaError& error) {
    CHECK(std::string(error.what()).starts_with("upload of 'x' failed at " + place + " with cudaErrorInvalidValue: "));
  }
}

TEST_CASE("a launch window runs its blocks, with the whole grid's indices") {
  const DeviceBuffer<int> out("out", 12);
  {
    const LaunchWindow window(1, 2);  // of the blocks 0, 1, 2, 3
    launch(launch_test::write_kernel, {4, 3}, out.data(), 12, 0);
  }
  check_cuda(cudaDeviceSynchronize(), "write_kernel");
  CHECK(out.download(3, 6) == std::vector<int>{3, 4, 5, 6, 7, 8});
  if (backend::is_simt) {
    CHECK(DeviceBuffer<int>::is_poison(out.download()[2]));
    CHECK(DeviceBuffer<int>::is_poison(out.download()[9]));
  }
  launch(launch_test::write_kernel, {4, 3}, out.data(), 12, 100);  // the window is closed
  check_cuda(cudaDeviceSynchronize(), "write_kernel");
  CHECK(out.download()[0] == 100);
  CHECK(out.download()[11] == 111);
}
