// The executor's own memory stays below 1 GB where a launch is long or a buffer is large. A program of its own, so that
// no other test adds to its peak, and with as many workers as there can be, since each has memory of its own.
#include "gate.h"

#include <simt/executor.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t limit_bytes = 1'000'000'000;

/// The most memory that this program has had resident. Not getrusage's ru_maxrss: that begins with the peak of whoever
/// started the program.
std::uint64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::uint64_t kib = 0; word == "VmHWM:" && status >> kib) return kib * 1024;
  throw std::runtime_error("/proc/self/status does not tell VmHWM, the peak of resident memory.");
}

__global__ void mark_block(std::uint32_t* y) {
  if (threadIdx.x == 0) y[blockIdx.x] = blockIdx.x;
}

// One warp a block; block b touches the 128 bytes at b · stride.
__global__ void write_apart(float* x, std::int64_t stride) {
  x[blockIdx.x * stride + threadIdx.x] = static_cast<float>(blockIdx.x);
}
__global__ void read_apart(const float* x, float* y, std::int64_t stride) {
  y[blockIdx.x * blockDim.x + threadIdx.x] = x[blockIdx.x * stride + threadIdx.x];
}

}  // namespace

TEST_CASE("memory: a launch of 1,000,000 blocks") {
  const unsigned blocks = 1'000'000;
  simt::set_workers(16);
  const DeviceBuffer<std::uint32_t> y("y", blocks);
  const gate::Outcome outcome = gate::run(mark_block, blocks, 32, 0, y.data());
  CHECK(outcome.text() == "");
  CHECK(outcome.counts.blocks == blocks);
  CHECK(outcome.counts.buffer("y").stores.requests == blocks);
  const std::vector<std::uint32_t> values = y.download();
  for (unsigned b = 0; b < blocks; ++b) REQUIRE(values[b] == b);
  MESSAGE("at most " << peak_bytes() / 1'000'000 << " MB resident");
  CHECK(peak_bytes() < limit_bytes);
}

TEST_CASE("memory: a buffer of 2 GB of which little is touched") {
  const std::int64_t stride = (1 << 20) / sizeof(float), blocks = 2048;
  simt::set_workers(16);
  const auto x = DeviceBuffer<float>::untouched("x", stride * blocks);
  const DeviceBuffer<float> y("y", 32 * blocks);
  const gate::Outcome written = gate::run(write_apart, blocks, 32, 0, x.data(), stride);
  CHECK(written.text() == "");
  CHECK(written.counts.buffer("x").bytes_touched_by_stores == 128 * blocks);
  const gate::Outcome read = gate::run(read_apart, blocks, 32, 0, x.data(), y.data(), stride);
  CHECK(read.text() == "");
  CHECK(read.counts.buffer("x").bytes_touched_by_loads == 128 * blocks);
  const std::vector<float> values = y.download();
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(values[i] == static_cast<float>(i / 32));
  MESSAGE("at most " << peak_bytes() / 1'000'000 << " MB resident");
  CHECK(peak_bytes() < limit_bytes);
}

// The last, because the peak never sinks.
TEST_CASE("memory: the gauge sees memory that is used") {
  const std::uint64_t before = peak_bytes();
  const std::vector<char> used(500'000'000, 1);
  CHECK(before < used.size());
  CHECK(used[before] == 1);
  CHECK(peak_bytes() >= used.size());
}
