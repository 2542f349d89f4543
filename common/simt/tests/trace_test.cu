// What the tracer remembers of kernels whose requests, addresses and barriers can be worked out by hand.
#include "gate.h"

#include <simt/executor.h>
#include <simt/symbols.h>
#include <simt/trace.h>

namespace {

constexpr int n = 1024;

DeviceBuffer<float> filled(const char* name, std::int64_t count, std::int64_t offset = 0) {
  return DeviceBuffer<float>(name, std::vector<float>(static_cast<std::size_t>(count), 1.0f), offset);
}

std::uintptr_t address_of(const DeviceBuffer<float>& buffer, std::int64_t element) {
  return reinterpret_cast<std::uintptr_t>(buffer.data() + element);
}

__global__ void copy(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];  // here: copy
}

__global__ void copy_strided(const float* x, float* y, int stride, int count) {
  const int i = threadIdx.x;
  if (i < count) y[i] = x[i * stride];
}

// Each warp writes a value, all wait, the first warp adds them up with two shuffles and a __syncwarp, all wait again.
__global__ void two_barriers(float* y) {
  __shared__ float of_warp[4];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = 1.0f;
  __syncthreads();  // here: first barrier
  if (threadIdx.x < 32) {
    float sum = of_warp[threadIdx.x % 4];
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    __syncwarp();
    if (threadIdx.x == 0) of_warp[0] = sum;
  }
  __syncthreads();  // here: second barrier
  y[threadIdx.x] = of_warp[0];
}

__global__ void many_loads(const float* x, float* y, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i];
  y[threadIdx.x] = sum;
}

}  // namespace

TEST_CASE("trace: a request has its line, its buffer, its lanes and their addresses") {
  const auto x = filled("x", n), y = filled("y", n);
  const simt::TraceScope scope;
  gate::run(copy, 16, 64, 0, x.data(), y.data());
  REQUIRE(scope.launches().size() == 1);
  const simt::BlockTrace& trace = scope.launches()[0];
  CHECK(trace.kernel == "(anonymous namespace)::copy");
  CHECK(trace.grid.x == 16);
  CHECK(trace.block.x == 64);
  CHECK(trace.number == 0);
  REQUIRE(trace.requests.size() == 4);  // a load and a store of each of two warps
  for (const simt::TracedRequest& request : trace.requests) {
    const DeviceBuffer<float>& buffer = request.store ? y : x;
    CHECK(request.buffer == buffer.name());
    CHECK(request.base == address_of(buffer, 0));
    CHECK(request.space == simt::Space::global);
    CHECK_FALSE(request.atomic);
    CHECK(request.lane_bytes == 4);
    CHECK(request.mask == ~0u);
    for (unsigned lane = 0; lane < 32; ++lane)
      CHECK(request.address[lane] == address_of(buffer, 32 * request.warp + lane));
    CHECK(simt::where_is(request.pc).line == gate::line_of("common/simt/tests/trace_test.cu", "copy"));
  }
  CHECK_FALSE(trace.requests[0].store);
  CHECK(trace.requests[1].store);
  CHECK(trace.barriers.empty());
  CHECK(trace.phases == std::vector<std::vector<simt::WarpPhase>>{{{2, 0, 0, 0}, {2, 0, 0, 0}}});
}

TEST_CASE("trace: a stride, a misaligned buffer and lanes that do not take part") {
  const auto x = filled("x", 32 * 20, 1), y = filled("y", 32);
  const simt::TraceScope scope;
  gate::run(copy_strided, 1, 32, 0, x.data(), y.data(), 32, 20);
  const simt::TracedRequest& load = scope.launches().at(0).requests.at(0);
  CHECK(load.mask == (1u << 20) - 1);
  CHECK(load.base % 256 == sizeof(float));
  for (unsigned lane = 0; lane < 20; ++lane) CHECK(load.address[lane] - load.base == 128 * lane);
}

TEST_CASE("trace: phases lie between barriers, warp by warp") {
  const auto y = filled("y", 128);
  const simt::TraceScope scope;
  gate::run(two_barriers, 1, 128, 0, y.data());
  const simt::BlockTrace& trace = scope.launches().at(0);
  REQUIRE(trace.barriers.size() == 2);
  CHECK(trace.barriers[0].line == gate::line_of("common/simt/tests/trace_test.cu", "first barrier"));
  CHECK(trace.barriers[1].line == gate::line_of("common/simt/tests/trace_test.cu", "second barrier"));
  const simt::WarpPhase one_store{0, 1, 0, 0}, adds_up{0, 2, 2, 1}, idle{}, result{1, 1, 0, 0};
  REQUIRE(trace.phases.size() == 3);
  CHECK(trace.phases[0] == std::vector<simt::WarpPhase>{one_store, one_store, one_store, one_store});
  CHECK(trace.phases[1] == std::vector<simt::WarpPhase>{adds_up, idle, idle, idle});
  CHECK(trace.phases[2] == std::vector<simt::WarpPhase>{result, result, result, result});
  CHECK(trace.requests.at(0).buffer == "of_warp");
  CHECK(trace.requests.at(0).space == simt::Space::shared);
  for (const simt::TracedRequest& request : trace.requests) {
    if (request.warp == 2 && request.space == simt::Space::shared && request.store) {
      CHECK(request.mask == 1);
      CHECK(request.address[0] - request.base == 2 * sizeof(float));
    }
  }
}

TEST_CASE("trace: of each warp the first requests are kept, and all are counted") {
  const auto x = filled("x", 600), y = filled("y", 64);
  const simt::TraceScope scope({.requests = 3});
  gate::run(many_loads, 1, 64, 0, x.data(), y.data(), 600);
  const simt::BlockTrace& trace = scope.launches().at(0);
  REQUIRE(trace.requests.size() == 6);
  unsigned next[2] = {};
  for (const simt::TracedRequest& request : trace.requests)
    CHECK(request.address[0] == address_of(x, next[request.warp]++));
  CHECK(trace.phases.at(0).at(0).global_requests == 601);
  CHECK(trace.phases.at(0).at(1).global_requests == 601);
}

TEST_CASE("trace: the chosen block of each launch, and only while a scope is open") {
  const auto x = filled("x", n), y = filled("y", n);
  const simt::TraceScope outer({.block = 3});
  gate::run(copy, 16, 64, 0, x.data(), y.data());
  {
    const simt::TraceScope inner({.block = 15});
    gate::run(copy, 16, 64, 0, x.data(), y.data());
    REQUIRE(inner.launches().size() == 1);
    CHECK(inner.launches()[0].requests.at(0).address[0] == address_of(x, 15 * 64));
  }
  gate::run(copy, 16, 64, 0, x.data(), y.data());
  {
    const simt::LaunchWindow window(4, 8);  // block 3 does not run
    gate::run(copy, 16, 64, 0, x.data(), y.data());
  }
  REQUIRE(outer.launches().size() == 2);
  for (const simt::BlockTrace& trace : outer.launches()) {
    CHECK(trace.number == 3);
    CHECK(trace.requests.at(0).address[0] == address_of(x, 3 * 64));
  }
}
