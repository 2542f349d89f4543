// Planted faults of synchronisation: each is found, with its kernel, line, block and thread; its correct twin is not.
#include "gate.h"

namespace {

constexpr const char* this_file = "common/simt/tests/sync_test.cu";

DeviceBuffer<float> floats(const char* name, std::int64_t count) {
  return DeviceBuffer<float>(name, std::vector<float>(count, 1.0f));
}

void check_finding(const gate::Outcome& outcome, const std::string& title, const char* mark, simt::Index block,
                   simt::Index thread) {
  INFO(outcome.text());
  REQUIRE(outcome.findings.size() == 1);
  const simt::Finding& finding = outcome.findings.front();
  CHECK(finding.check == "sync");
  CHECK(finding.title.find(title) != std::string::npos);
  CHECK(finding.file == this_file);
  CHECK(finding.line == gate::line_of(this_file, mark));
  CHECK(finding.block == block);
  CHECK(finding.thread == thread);
}

__global__ void barrier_for_some(float* y) {
  if (threadIdx.x < 16) __syncthreads();  // here: barrier for some
  y[threadIdx.x] = 1;
}
__global__ void barrier_for_all(float* y) {
  __syncthreads();
  if (threadIdx.x < 16) y[threadIdx.x] = 1;
}

__global__ void two_barriers(float* y) {
  if (threadIdx.x < 32) {
    __syncthreads();  // here: first of two barriers
  } else {
    __syncthreads();
  }
  y[threadIdx.x] = 1;
}

__global__ void barrier_after_return(float* y, int count) {
  const int i = threadIdx.x;
  if (i >= count) return;
  __syncthreads();  // here: barrier after return
  y[i] = 1;
}

__global__ void shuffle_after_return(float* y) {
  const int lane = threadIdx.x % 32;
  if (lane >= 16) return;
  y[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1.0f, 8);  // here: shuffle after return
}
__global__ void shuffle_among_those_left(float* y) {
  const int lane = threadIdx.x % 32;
  if (lane >= 16) return;
  y[threadIdx.x] = __shfl_down_sync(0x0000ffffu, 1.0f, 8, 16);
}

__global__ void lanes_return_while_others_wait(float* y) {
  const int lane = threadIdx.x % 32;
  if (lane < 16) y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);  // here: others return
}

__global__ void mask_without_caller(float* y) {
  y[threadIdx.x] = __shfl_xor_sync(threadIdx.x < 16 ? 0x0000ffffu : 0x0000ffffu, 1.0f, 1);  // here: mask without caller
}

__global__ void barrier_and_shuffle(float* y) {
  if (threadIdx.x % 2 == 1)
    __syncthreads();
  else
    y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);  // here: deadlock
}

__global__ void two_operations(float* y) {
  if (threadIdx.x < 16)
    y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);  // here: two operations
  else
    y[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1.0f, 1);
}

__global__ void source_outside_mask(float* y) {
  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, 1.0f, 16);  // here: source outside mask
}

__global__ void odd_width(float* y) {
  y[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1.0f, 1, 12);  // here: odd width
}

__global__ void partial_mask(float* y) {
  const unsigned lane = threadIdx.x % 32;
  float value = static_cast<float>(lane);
  if (lane < 8) {
    for (int offset = 4; offset > 0; offset /= 2) value += __shfl_xor_sync(0x000000ffu, value, offset);
  } else {
    for (int offset = 4; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffff00u, value, offset);
  }
  y[threadIdx.x] = value;
}

__global__ void masks_that_overlap(float* y) {
  const unsigned lane = threadIdx.x;
  y[lane] = __shfl_xor_sync(lane < 4 ? 0x000000ffu : 0xffffffffu, 1.0f, 1);  // here: masks that overlap
}

__global__ void one_fault_in_a_late_block(float* y) {
  if (blockIdx.x == 5 && blockIdx.y == 2) {
    if (threadIdx.x >= 40) return;
    __syncthreads();  // here: late block
  }
  y[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = 1;
}

}  // namespace

TEST_CASE("sync: a barrier that only some threads reach") {
  const auto y = floats("y", 64);
  const auto outcome = gate::run(barrier_for_some, 1, 64, 0, y.data());
  check_finding(outcome, "not all threads of the block reach this __syncthreads()", "barrier for some", {}, {});
  CHECK(outcome.findings[0].kernel == "(anonymous namespace)::barrier_for_some");
  CHECK(outcome.findings[0].detail.find("threads 0–15 wait") != std::string::npos);
  CHECK(outcome.findings[0].detail.find("threads 16–63 have exited") != std::string::npos);
  CHECK(gate::run(barrier_for_all, 1, 64, 0, y.data()).text() == "");
}

TEST_CASE("sync: threads wait at different barriers") {
  const auto y = floats("y", 64);
  check_finding(gate::run(two_barriers, 1, 64, 0, y.data()), "different __syncthreads()", "first of two barriers", {},
                {});
}

TEST_CASE("sync: a barrier after some threads have returned") {
  const auto y = floats("y", 64);
  check_finding(gate::run(barrier_after_return, 1, 64, 0, y.data(), 40), "not all threads", "barrier after return", {},
                {});
  CHECK(gate::run(barrier_after_return, 1, 64, 0, y.data(), 64).text() == "");
}

TEST_CASE("sync: a shuffle that names lanes which have returned") {
  const auto y = floats("y", 64);
  const auto outcome = gate::run(shuffle_after_return, 1, 64, 0, y.data());
  check_finding(outcome, "the mask names lanes that have exited", "shuffle after return", {}, {});
  CHECK(outcome.findings[0].times == 2);  // once for each warp
  CHECK(gate::run(shuffle_among_those_left, 1, 64, 0, y.data()).text() == "");
  check_finding(gate::run(lanes_return_while_others_wait, 1, 32, 0, y.data()), "lanes that have exited",
                "others return", {}, {});
}

TEST_CASE("sync: a full mask in a block that is no whole warp") {
  const auto y = floats("y", 64);
  const auto outcome = gate::run(odd_width, 1, 20, 0, y.data());
  CHECK(outcome.text().find("lanes 20–31, which are gone or never were") != std::string::npos);
}

TEST_CASE("sync: a mask that leaves out the caller") {
  const auto y = floats("y", 32);
  check_finding(gate::run(mask_without_caller, 1, 32, 0, y.data()), "the calling lane is not in its own mask",
                "mask without caller", {}, {16, 0, 0});
}

TEST_CASE("sync: a deadlock ends with a table of who waits where") {
  const auto y = floats("y", 32);
  const auto outcome = gate::run(barrier_and_shuffle, 1, 32, 0, y.data());
  check_finding(outcome, "deadlock", "deadlock", {}, {});
  CHECK(outcome.findings[0].detail.find("wait at __shfl_xor_sync with mask 0xffffffff") != std::string::npos);
  CHECK(outcome.findings[0].detail.find("wait at __syncthreads()") != std::string::npos);
  CHECK(gate::run(barrier_for_all, 1, 32, 0, y.data()).text() == "");  // the next launch is none the worse
}

TEST_CASE("sync: lanes of one mask in different operations") {
  const auto y = floats("y", 32);
  check_finding(gate::run(two_operations, 1, 32, 0, y.data()), "different operations", "two operations", {}, {});
}

TEST_CASE("sync: a shuffle that reads from a lane outside of its mask") {
  const auto y = floats("y", 32);
  check_finding(gate::run(source_outside_mask, 1, 32, 0, y.data()), "does not take part", "source outside mask", {},
                {});
}

TEST_CASE("sync: a width that is no power of two") {
  const auto y = floats("y", 32);
  check_finding(gate::run(odd_width, 1, 32, 0, y.data()), "width", "odd width", {}, {});
}

TEST_CASE("sync: disjoint masks do not wait for each other") {
  const auto y = floats("y", 64);
  CHECK(gate::run(partial_mask, 1, 64, 0, y.data()).text() == "");
  const std::vector<float> sums = y.download();
  for (int i = 0; i < 64; ++i) {
    const int lane = i % 32, group = lane / 8;
    CHECK(sums[i] == 8 * (8 * group) + 28);  // Σ of eight neighbouring lanes
  }
}

TEST_CASE("sync: lanes that name each other in different masks wait for ever") {
  const auto y = floats("y", 32);
  check_finding(gate::run(masks_that_overlap, 1, 32, 0, y.data()), "deadlock", "masks that overlap", {}, {});
}

TEST_CASE("sync: the finding names block and thread of the first, whatever the number of workers") {
  const auto y = floats("y", 24 * 64);
  const unsigned before = simt::workers();
  for (const unsigned workers : {1u, 3u}) {
    simt::set_workers(workers);
    const auto outcome = gate::run(one_fault_in_a_late_block, dim3(6, 4), 64, 0, y.data());
    check_finding(outcome, "not all threads", "late block", {5, 2, 0}, {});
  }
  simt::set_workers(before);
}

TEST_CASE("a finding fails the launch where nobody collects it") {
  const auto y = floats("y", 64);
  CHECK_THROWS_WITH_AS(launch(barrier_for_some, {1, 64}, y.data()), doctest::Contains("barrier in divergent code"),
                       simt::FindingError);
  CHECK_THROWS_WITH_AS(launch(barrier_for_some, {1, 64}, y.data()), doctest::Contains("sync_test.cu:"),
                       simt::FindingError);
}
