// Launches: limits, windows, workers, sparse buffers, and the runtime calls around them.
#include "gate.h"

#include "hooked_twice.h"

#include <simt/executor.h>
#include <simt/memory.h>
#include <simt/symbols.h>
#include <device/dynamic_shared.cuh>

namespace {

__global__ void mark_block(int* y) {
  if (threadIdx.x == 0) y[blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
}

__global__ void write_far(float* y, std::int64_t stride) {
  y[blockIdx.x * stride + threadIdx.x] = static_cast<float>(blockIdx.x);
}

__global__ void read_one(const float* x, float* y) { *y = hooked_twice::read(x); }

}  // namespace

namespace named {
template <int N>
__global__ void kernel(float* y) {
  y[threadIdx.x] = N;
}
}  // namespace named

TEST_CASE("launch: a window runs its blocks alone, with their own numbers") {
  const DeviceBuffer<int> y("y", std::vector<int>(100));
  {
    const simt::LaunchWindow window(40, 3);
    gate::run(mark_block, 100, 32, 0, y.data());
    const auto values = y.download();
    for (int b = 0; b < 100; ++b) CHECK(values[b] == (b >= 40 && b < 43 ? b + 1 : 0));
  }
  gate::run(mark_block, 100, 32, 0, y.data());
  CHECK(y.download()[99] == 100);
}

TEST_CASE("launch: a window beyond the grid runs nothing") {
  const DeviceBuffer<int> y("y", std::vector<int>(10));
  const simt::LaunchWindow window(10, 5);
  const auto outcome = gate::run(mark_block, 10, 32, 0, y.data());
  CHECK(outcome.counts.blocks == 0);
}

TEST_CASE("launch: offsets beyond 2^31 elements, in a buffer of which little is touched") {
  const std::int64_t stride = std::int64_t{1} << 30, blocks = 5;
  const auto y = DeviceBuffer<float>::untouched("y", stride * blocks);  // 20 GiB, two pages of it used
  const auto outcome = gate::run(write_far, static_cast<unsigned>(blocks), 32, 0, y.data(), stride);
  CHECK(outcome.text() == "");
  CHECK(y.download(4 * stride, 32) == std::vector<float>(32, 4.0f));
  CHECK(outcome.counts.buffer("y").bytes_touched_by_stores == 5 * 128);
}

TEST_CASE("launch: every number of workers gives the same") {
  const unsigned before = simt::workers();
  for (const unsigned workers : {1u, 2u, 7u, 16u}) {
    simt::set_workers(workers);
    CHECK(simt::workers() == workers);
    const DeviceBuffer<int> y("y", std::vector<int>(1000));
    const auto outcome = gate::run(mark_block, 1000, 64, 0, y.data());
    CHECK(outcome.counts.blocks == 1000);
    CHECK(outcome.counts.buffer("y").stores.requests == 1000);
    const auto values = y.download();
    for (int b = 0; b < 1000; ++b) REQUIRE(values[b] == b + 1);
  }
  simt::set_workers(before);
}

TEST_CASE("launch: a configuration that no GPU takes is an error that names the kernel") {
  const DeviceBuffer<int> y("y", std::vector<int>(8));
  for (const LaunchConfig& config :
       {LaunchConfig(1, 1025), LaunchConfig(1, dim3(32, 33)), LaunchConfig(0, 32), LaunchConfig(1, 0),
        LaunchConfig(dim3(1, 65536), 32), LaunchConfig(1, dim3(1, 1, 65)), LaunchConfig(1, 32, (48 << 10) + 1)}) {
    CHECK_THROWS_WITH_AS(launch(mark_block, config, y.data()), doctest::Contains("mark_block"), CudaError);
    CHECK(cudaPeekAtLastError() == cudaSuccess);  // the exception has taken it
  }
}

namespace {
/// Each thread writes the last float of the block's shared memory that is its own, and y[i] gets it.
template <int floats>
__global__ void last_floats(float* y) {
  DYNAMIC_SHARED(float, values);
  values[floats - 1 - threadIdx.x] = static_cast<float>(threadIdx.x);
  y[threadIdx.x] = values[floats - 1 - threadIdx.x];
}
}  // namespace

TEST_CASE("launch: more than 48 KB of shared memory is an error until the kernel is allowed it") {
  constexpr int most = 227 << 10;
  const DeviceBuffer<float> y("y", 32);
  CHECK(most_shared_bytes() == most);
  CHECK_THROWS_AS(launch(last_floats<most / 4>, {1, 32, most}, y.data()), CudaError);
  CHECK(DeviceBuffer<float>::is_poison(y.download()[0]));

  allow_shared_bytes(last_floats<most / 4>, most);
  launch(last_floats<most / 4>, {1, 32, most}, y.data());
  for (int i = 0; i < 32; ++i) CHECK(y.download()[static_cast<std::size_t>(i)] == static_cast<float>(i));

  // Of this kernel alone, and not beyond what it was allowed.
  CHECK_THROWS_AS(launch(last_floats<(60 << 8)>, {1, 32, 60 << 10}, y.data()), CudaError);
  allow_shared_bytes(last_floats<(60 << 8)>, 60 << 10);
  CHECK_THROWS_AS(launch(last_floats<(60 << 8)>, {1, 32, (60 << 10) + 4}, y.data()), CudaError);
  launch(last_floats<(60 << 8)>, {1, 32, 60 << 10}, y.data());

  CHECK_THROWS_WITH_AS(allow_shared_bytes(last_floats<most / 4>, most + 1),
                       doctest::Contains("asking for 232449 bytes of shared memory"), CudaError);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}

TEST_CASE("launch: the runtime calls refuse what a GPU would refuse") {
  void* p = nullptr;
  CHECK(cudaMalloc(&p, simt::device_memory_bytes * 2) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaSuccess);
  float host[4] = {1, 2, 3, 4};
  CHECK(cudaFree(host) == cudaErrorInvalidValue);
  REQUIRE(cudaMalloc(&p, sizeof host) == cudaSuccess);
  CHECK(reinterpret_cast<std::uintptr_t>(p) % 256 == 0);
  CHECK(cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(p, host, sizeof host + 1, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(host, p, sizeof host, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaFree(p) == cudaSuccess);
  CHECK(cudaFree(p) == cudaErrorInvalidValue);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("launch: kernels are known by name") {
  CHECK(simt::kernel_name(reinterpret_cast<const void*>(&named::kernel<3>)) == "named::kernel<3>");
  CHECK(simt::kernel_name(reinterpret_cast<const void*>(&mark_block)) == "(anonymous namespace)::mark_block");
}

TEST_CASE("launch: a fault in a header is reported in the header") {
  const DeviceBuffer<float> x("x", std::vector<float>{5}), y("y", 1);
  const auto outcome = gate::run(read_one, 1, 1, 0, x.data() + 1, y.data());
  REQUIRE(outcome.findings.size() == 1);
  CHECK(outcome.findings[0].file == "common/simt/tests/hooked_twice.h");
  CHECK(outcome.findings[0].line == gate::line_of("common/simt/tests/hooked_twice.h", "read"));
}

TEST_CASE("launch: an inline function that two files share is counted, whichever copy the linker kept") {
  // tests/hooked_twice.cu has the same inline function. Both files are compiled with hooks: common/simt/cuda.h refuses
  // to be compiled without, so there is no unhooked copy that the linker could prefer.
  const DeviceBuffer<float> x("x", std::vector<float>{5}), y("y", 1);
  CHECK(gate::run(read_one, 1, 1, 0, x.data(), y.data()).counts.buffer("x").loads.requests == 1);
  simt::CountScope counts;
  hooked_twice::launch_from_the_other_file(x.data(), y.data());
  CHECK(counts.total().buffer("x").loads.requests == 1);
}
