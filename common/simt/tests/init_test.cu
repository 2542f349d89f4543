// Planted reads of memory that nobody wrote: each is found, with its buffer and offset; its correct twin is not.
#include "gate.h"

#include <device/dynamic_shared.cuh>

namespace {

constexpr const char* this_file = "common/simt/tests/init_test.cu";

void check_finding(const gate::Outcome& outcome, const std::string& title, const char* mark, simt::Index thread,
                   const std::string& detail) {
  INFO(outcome.text());
  REQUIRE(outcome.findings.size() == 1);
  const simt::Finding& finding = outcome.findings.front();
  CHECK(finding.check == "init");
  CHECK(finding.title == title);
  CHECK(finding.line == gate::line_of(this_file, mark));
  CHECK(finding.thread == thread);
  CHECK(finding.detail.find(detail) != std::string::npos);
}

std::vector<float> ones(std::size_t count) { return std::vector<float>(count, 1.0f); }

__global__ void copy(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // here: copy
}
__global__ void write_then_read(float* y) {
  y[threadIdx.x] = 1.0f;
  __syncthreads();
  y[threadIdx.x] += y[blockDim.x - 1 - threadIdx.x];
}
__global__ void write_own_then_read(float* y) {
  const int i = threadIdx.x;
  if (i % 2 == 0)
    y[i] = 2.0f;
  else
    y[i] = 3.0f;
  y[i] *= 2;
}
__global__ void add_atomically(int* sum) {
  atomicAdd(sum, 1);  // here: atomic
}
__global__ void bytes(const unsigned char* x, unsigned char* y) {
  y[threadIdx.x] = x[threadIdx.x];  // here: bytes
}
__global__ void words(const unsigned* x, unsigned* y) {
  y[threadIdx.x] = x[threadIdx.x];  // here: words
}
__global__ void shared_part(float* y, int written) {
  __shared__ float before[4];
  __shared__ float values[64];
  const int i = threadIdx.x;
  if (i < 4) before[i] = 0;
  if (i < written) values[i] = 1.0f;
  __syncthreads();
  y[i] = values[i] + before[i % 4];  // here: shared
}
__global__ void dynamic_part(float* y, int written) {
  DYNAMIC_SHARED(float, values);
  const int i = threadIdx.x;
  if (i < written) values[i] = 1.0f;
  __syncthreads();
  y[i] = values[i];  // here: dynamic
}
__global__ void shared_from_the_last_block(float* y) {
  __shared__ float values[32];
  if (blockIdx.x == 0) values[threadIdx.x] = 1.0f;
  __syncthreads();
  y[blockIdx.x * 32 + threadIdx.x] = values[threadIdx.x];  // here: last block
}
__global__ void memset_idiom(float* y, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) y[i] = 0.0f;
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) y[i] += 1.0f;
}

}  // namespace

TEST_CASE("init: a buffer that nobody wrote, poisoned or not") {
  const DeviceBuffer<float> x("x", 32), y("y", 32);
  check_finding(gate::run(copy, 1, 32, 0, x.data(), y.data()), "read of uninitialised memory in buffer 'x'", "copy", {},
                "at offset 0");
  const auto z = DeviceBuffer<float>::untouched("z", 32);
  CHECK(gate::run(copy, 1, 32, 0, z.data(), y.data()).findings.size() == 1);
  CHECK(gate::run(copy, 1, 32, 0, y.data(), x.data()).text() == "");  // y has values now
}

TEST_CASE("init: the first byte without a value is named") {
  DeviceBuffer<float> x("x", 32), y("y", 32);
  x.upload(ones(31));
  check_finding(gate::run(copy, 1, 32, 0, x.data(), y.data()), "read of uninitialised memory in buffer 'x'", "copy",
                {31, 0, 0}, "at offset 124");
  x.upload(ones(1), 31);
  CHECK(gate::run(copy, 1, 32, 0, x.data(), y.data()).text() == "");
}

TEST_CASE("init: there is a bit for each byte") {
  DeviceBuffer<unsigned char> x("x", 64), y("y", 64);
  x.upload(std::vector<unsigned char>(1), 0);
  x.upload(std::vector<unsigned char>(1), 2);
  check_finding(gate::run(bytes, 1, 3, 0, x.data(), y.data()), "read of uninitialised memory in buffer 'x'", "bytes",
                {1, 0, 0}, "at offset 1");
  check_finding(
      gate::run(words, 1, 1, 0, reinterpret_cast<const unsigned*>(x.data()), reinterpret_cast<unsigned*>(y.data())),
      "read of uninitialised memory in buffer 'x'", "words", {}, "at offset 1");
}

TEST_CASE("init: a kernel's stores and cudaMemset give values") {
  const DeviceBuffer<float> y("y", 64);
  CHECK(gate::run(write_then_read, 1, 64, 0, y.data()).text() == "");
  const DeviceBuffer<float> z("z", 64);
  CHECK(gate::run(write_own_then_read, 1, 64, 0, z.data()).text() == "");
  const DeviceBuffer<float> w("w", 100);
  CHECK(gate::run(memset_idiom, 1, 32, 0, w.data(), 100).text() == "");
  const DeviceBuffer<int> sum("sum", 1);
  check_finding(gate::run(add_atomically, 1, 1, 0, sum.data()), "read of uninitialised memory in buffer 'sum'",
                "atomic", {}, "offset 0");
  DeviceBuffer<int> zero("zero", 1);
  REQUIRE(cudaMemset(zero.data(), 0, sizeof(int)) == cudaSuccess);
  CHECK(gate::run(add_atomically, 1, 1, 0, zero.data()).text() == "");
}

TEST_CASE("init: shared memory, by name and offset") {
  const DeviceBuffer<float> y("y", 64);
  check_finding(gate::run(shared_part, 1, 64, 0, y.data(), 63),
                "read of uninitialised memory in shared variable 'values'", "shared", {63, 0, 0}, "at offset 252");
  CHECK(gate::run(shared_part, 1, 64, 0, y.data(), 64).text() == "");
}

TEST_CASE("init: dynamic shared memory") {
  const DeviceBuffer<float> y("y", 64);
  check_finding(gate::run(dynamic_part, 1, 64, 256, y.data(), 60),
                "read of uninitialised memory in dynamic shared memory", "dynamic", {60, 0, 0}, "at offset 240");
  CHECK(gate::run(dynamic_part, 1, 64, 256, y.data(), 64).text() == "");
}

TEST_CASE("init: what the last block left in shared memory is no value") {
  const DeviceBuffer<float> y("y", 64);
  const unsigned before = simt::workers();
  simt::set_workers(1);
  const auto outcome = gate::run(shared_from_the_last_block, 2, 32, 0, y.data());
  simt::set_workers(before);
  check_finding(outcome, "read of uninitialised memory in shared variable 'values'", "last block", {}, "at offset 0");
  CHECK(outcome.findings[0].block == simt::Index{1, 0, 0});
}
