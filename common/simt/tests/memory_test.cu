// Planted faults of memory access: each is found, with its line, buffer and distance; its correct twin is not.
#include "gate.h"

#include <simt/symbols.h>
#include <device/dynamic_shared.cuh>

#include <memory>

namespace {

constexpr const char* this_file = "common/simt/tests/memory_test.cu";

void check_finding(const gate::Outcome& outcome, const std::string& title, const char* mark, simt::Index thread,
                   const std::string& detail) {
  INFO(outcome.text());
  REQUIRE(outcome.findings.size() == 1);
  const simt::Finding& finding = outcome.findings.front();
  CHECK(finding.check == "memory");
  CHECK(finding.title == title);
  CHECK(finding.file == this_file);
  CHECK(finding.line == gate::line_of(this_file, mark));
  CHECK(finding.thread == thread);
  CHECK(finding.detail.find(detail) != std::string::npos);
}

__global__ void shifted_write(float* y, int shift) {
  y[static_cast<int>(threadIdx.x) + shift] = 1.0f;  // here: write
}
__global__ void shifted_read(const float* x, float* y, int shift) {
  const int i = threadIdx.x;
  y[i] = x[i + shift];  // here: read
}
__global__ void two_reads(const float* x, float* y) {
  const int i = threadIdx.x;
  y[i] = x[i + 1] + x[i + 2];  // here: two reads
}
__global__ void wide_read(const float* x, float* y, int shift) {
  const float4 v = *reinterpret_cast<const float4*>(x + shift + 4 * threadIdx.x);  // here: float4
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
__global__ void wide_write(float* y, int shift) {
  *reinterpret_cast<float4*>(y + shift + 4 * threadIdx.x) = make_float4(1, 2, 3, 4);  // here: written float4
}
__global__ void wide_shared_read(float* y, int shift) {
  __shared__ __align__(16) float values[136];
  for (int i = threadIdx.x; i < 136; i += 32) values[i] = static_cast<float>(i);
  __syncthreads();
  const float4 v = *reinterpret_cast<const float4*>(values + shift + 4 * threadIdx.x);  // here: shared float4
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}

struct Sixteen {  // bytes, and aligned to eight
  long long n;
  float mean, m2;
};
struct Slot {
  Sixteen state;
  float rstd;
};
/// Every second state of an array of Slot starts at 8 more than a multiple of 16.
__global__ void states_at_eight(Slot* out) {
  __shared__ Slot slots[32];
  const int i = threadIdx.x;
  const Sixteen state = {i, 0.5f, 0.25f};
  slots[i].state = state;
  slots[i].rstd = 2.0f;
  __syncthreads();
  out[i].state = slots[31 - i].state;
  out[i].rstd = slots[31 - i].rstd;
}
__global__ void misaligned_int(const char* x, float* y) {
  y[threadIdx.x] = static_cast<float>(*reinterpret_cast<const int*>(x + 4 * threadIdx.x + 2));  // here: int
}
__global__ void wild(const float* x, float* y) {
  y[threadIdx.x] =
      *reinterpret_cast<const float*>(reinterpret_cast<const char*>(x) + (std::size_t{1} << 45));  // here: wild
}
__global__ void atomic_outside(int* counter) {
  atomicAdd(counter + threadIdx.x, 1);  // here: atomic
}
__global__ void dynamic_shared(float* y, int shift) {
  DYNAMIC_SHARED(float, values);
  const int i = threadIdx.x;
  values[i + shift] = 1.0f;  // here: dynamic
  __syncthreads();
  y[i] = values[min(i + shift, 63)];
}
__global__ void out_of_bounds_then_null(float* y, const float* x) {
  y[threadIdx.x + 64] = 1.0f;
  if (threadIdx.x == 0) y[0] = *x;
}
__global__ void shared_overrun(float* y, int beyond) {
  __shared__ float values[32];
  values[threadIdx.x] = 1.0f;
  if (threadIdx.x == 7) values[beyond] = 2.0f;  // here: overrun
  y[threadIdx.x] = values[threadIdx.x];
}
__global__ void constants(float* y) {
  static constexpr float table[4] = {1, 2, 3, 4};
  y[threadIdx.x] = table[threadIdx.x % 4];
}

std::vector<float> ones(std::size_t count) { return std::vector<float>(count, 1.0f); }

}  // namespace

TEST_CASE("memory: a write one element past the end") {
  const DeviceBuffer<float> y("y", ones(64));
  check_finding(gate::run(shifted_write, 1, 64, 0, y.data(), 1), "write outside of buffer 'y'", "write", {63, 0, 0},
                "4 bytes at 0 bytes behind its end; the buffer has 256 bytes");
  CHECK(gate::run(shifted_write, 1, 64, 0, y.data(), 0).text() == "");
}

TEST_CASE("memory: two instructions of one line with the same fault are one finding") {
  const DeviceBuffer<float> x("x", ones(32)), y("y", ones(32));
  const auto outcome = gate::run(two_reads, 1, 32, 0, x.data(), y.data());
  check_finding(outcome, "read outside of buffer 'x'", "two reads", {30, 0, 0}, "4 bytes at 0 bytes behind its end");
  CHECK(outcome.findings[0].times == 3);  // x[32] for two threads, x[33] for one
}

TEST_CASE("memory: a read before the begin") {
  const DeviceBuffer<float> x("x", ones(64)), y("y", ones(64));
  check_finding(gate::run(shifted_read, 1, 64, 0, x.data(), y.data(), -2), "read outside of buffer 'x'", "read", {},
                "4 bytes at 8 bytes before its begin");
}

TEST_CASE("memory: a float4 that begins inside and ends outside") {
  const DeviceBuffer<float> x("x", ones(126)), y("y", ones(32));
  check_finding(gate::run(wide_read, 1, 32, 0, x.data(), y.data(), 0), "read outside of buffer 'x'", "float4",
                {31, 0, 0}, "16 bytes at offset 496, across its end");
}

TEST_CASE("memory: a read of freed memory names the buffer that it was") {
  const DeviceBuffer<float> y("y", ones(64));
  auto x = std::make_unique<DeviceBuffer<float>>("x", ones(64));
  const float* data = x->data();
  CHECK(gate::run(shifted_read, 1, 64, 0, data, y.data(), 0).text() == "");
  x.reset();
  const DeviceBuffer<float> later("later", ones(64));  // does not take the freed buffer's place
  check_finding(gate::run(shifted_read, 1, 64, 0, data, y.data(), 0), "read of freed buffer 'x'", "read", {},
                "freed before this launch");
}

TEST_CASE("memory: a float4 at a 4-byte offset ends the launch") {
  const DeviceBuffer<float> x("x", ones(256)), y("y", ones(32));
  check_finding(gate::run(wide_read, 1, 32, 0, x.data(), y.data(), 1), "misaligned read of 16 bytes", "float4", {},
                "4 bytes into buffer 'x', and 4 is not a multiple of 16");
  CHECK(gate::run(wide_read, 1, 32, 0, x.data(), y.data(), 4).text() == "");
}

TEST_CASE("memory: a float4 at an 8-byte offset ends the launch, in device memory and in shared memory") {
  const DeviceBuffer<float> x("x", ones(256)), y("y", ones(32));
  check_finding(gate::run(wide_read, 1, 32, 0, x.data(), y.data(), 2), "misaligned read of 16 bytes", "float4", {},
                "8 bytes into buffer 'x', and 8 is not a multiple of 16");
  for (const int shift : {1, 2, 3}) {
    CAPTURE(shift);
    check_finding(gate::run(wide_write, 1, 32, 0, x.data(), shift), "misaligned write of 16 bytes", "written float4",
                  {}, "");
    check_finding(gate::run(wide_shared_read, 1, 32, 0, y.data(), shift), "misaligned read of 16 bytes",
                  "shared float4", {31, 0, 0}, "");
  }
  CHECK(gate::run(wide_shared_read, 1, 32, 0, y.data(), 4).text() == "");
}

TEST_CASE("memory: a struct of 16 bytes is not misaligned where its members are not") {
  const DeviceBuffer<unsigned char> out("out", std::vector<unsigned char>(32 * sizeof(Slot)));
  CHECK(gate::run(states_at_eight, 1, 32, 0, reinterpret_cast<Slot*>(out.data())).text() == "");
  const std::vector<unsigned char> bytes = out.download();
  for (int i = 0; i < 32; ++i) {
    Slot slot;
    std::memcpy(&slot, bytes.data() + static_cast<std::size_t>(i) * sizeof(Slot), sizeof(Slot));
    CHECK(slot.state.n == 31 - i);
    CHECK(slot.rstd == 2.0f);
  }
}

TEST_CASE("memory: every type has its alignment") {
  const DeviceBuffer<unsigned char> x("x", std::vector<unsigned char>(256));
  const DeviceBuffer<float> y("y", ones(32));
  check_finding(gate::run(misaligned_int, 1, 32, 0, reinterpret_cast<const char*>(x.data()), y.data()),
                "misaligned read of 4 bytes", "int", {}, "2 bytes into buffer 'x'");
}

TEST_CASE("memory: a pointer to the host's memory") {
  const DeviceBuffer<float> y("y", ones(32));
  const std::vector<float> host = ones(64);
  check_finding(gate::run(shifted_read, 1, 32, 0, host.data(), y.data(), 0), "read of host memory", "read", {},
                "DeviceBuffer::data()");
}

TEST_CASE("memory: null and wild pointers end the launch, not the program") {
  const DeviceBuffer<float> x("x", ones(32)), y("y", ones(32));
  const float* null = nullptr;
  check_finding(gate::run(shifted_read, 1, 32, 0, null, y.data(), 0), "read through a null pointer", "read", {},
                "illegal address");
  check_finding(gate::run(wild, 1, 32, 0, x.data(), y.data()), "read through a wild pointer", "wild", {},
                "illegal address");
}

TEST_CASE("memory: an atomic outside of its buffer") {
  const DeviceBuffer<int> counter("counter", std::vector<int>(8));
  check_finding(gate::run(atomic_outside, 1, 9, 0, counter.data()), "atomic access outside of buffer 'counter'",
                "atomic", {8, 0, 0}, "4 bytes at 0 bytes behind its end");
}

TEST_CASE("memory: dynamic shared memory ends where the launch said") {
  const DeviceBuffer<float> y("y", ones(64));
  CHECK(gate::run(dynamic_shared, 1, 64, 64 * sizeof(float), y.data(), 0).text() == "");
  check_finding(gate::run(dynamic_shared, 1, 64, 64 * sizeof(float), y.data(), 1), "write outside of shared memory",
                "dynamic", {63, 0, 0}, "the launch gave the block 256 bytes");
}

TEST_CASE("memory: far beyond a shared array, the launch ends before the program's own memory is written") {
  const DeviceBuffer<float> y("y", ones(32));
  int beyond = 0;  // in elements, to the end of the last __shared__ array of this program, and a little further
  for (const simt::SharedVariable& v : simt::shared_variables())
    beyond = static_cast<int>((v.offset + v.bytes) / 4 + 16);
  const auto outcome = gate::run(shared_overrun, 1, 32, 0, y.data(), beyond);
  check_finding(outcome, "write outside of shared memory", "overrun", {7, 0, 0}, "behind the end of");
}

TEST_CASE("memory: a misaligned buffer is told from a misaligned access") {
  const DeviceBuffer<float> x("x", ones(256), /*offset=*/1), y("y", ones(32));
  check_finding(gate::run(wide_read, 1, 32, 0, x.data(), y.data(), 0), "misaligned read of 16 bytes", "float4", {},
                "Buffer 'x' begins 4 bytes behind a multiple of 16, and the address is 0 bytes into it.");
}

TEST_CASE("memory: what went wrong before the end of a launch is told as well") {
  const DeviceBuffer<float> y("y", ones(64));
  const auto outcome = gate::run(out_of_bounds_then_null, 1, 32, 0, y.data(), static_cast<const float*>(nullptr));
  INFO(outcome.text());
  REQUIRE(outcome.findings.size() == 2);
  CHECK(outcome.text().find("write outside of buffer 'y'") != std::string::npos);
  CHECK(outcome.text().find("read through a null pointer") != std::string::npos);
}

TEST_CASE("memory: an overrun by many rows does not end in the next buffer") {
  const DeviceBuffer<float> x("x", ones(64)), next("next", ones(1 << 20)), y("y", ones(64));
  check_finding(gate::run(shifted_read, 1, 64, 0, x.data(), y.data(), 1000000), "read outside of buffer 'x'", "read",
                {}, "behind its end");
}

TEST_CASE("memory: constants of the program and kernel arguments are no host memory") {
  const DeviceBuffer<float> y("y", ones(32));
  CHECK(gate::run(constants, 1, 32, 0, y.data()).text() == "");
}

TEST_CASE("memory: a narrowed allocation's guard bytes are outside") {
  const DeviceBuffer<float> y("y", 32, /*offset=*/3);
  CHECK(gate::run(shifted_write, 1, 32, 0, y.data(), 0).text() == "");
  check_finding(gate::run(shifted_write, 1, 32, 0, y.data(), -1), "write outside of buffer 'y'", "write", {},
                "4 bytes before its begin");
}
