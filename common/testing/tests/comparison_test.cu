// The workloads of ./learn compare: counts that are known by hand, and a floor that no kernel is below.
#include <benchmark/byte_model.h>
#include <host/device_buffer.h>
#include <host/launch.h>
#include <testing/comparison.h>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

// One float a lane: 32 · 4 bytes a request. Each block has one barrier, each of its warps one shuffle.
__global__ void copy_kernel(const float* x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  y[i] = __shfl_sync(0xffffffffu, x[i], static_cast<int>(threadIdx.x) % 32);
}

constexpr std::int64_t count = 1024;

testing::Workload copied() {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  const DeviceBuffer<float> x("x", values), y("y", count);
  const simt::CountScope counts;
  launch(copy_kernel, {4, 256}, x.data(), y.data());
  return {"1024 floats", y.download(),   std::vector<double>(values.begin(), values.end()),
          count,         counts.total(), testing::floor_of({count}, {count})};
}

// A launcher that writes nothing, and keeps what the byte model says of its task.
std::int64_t least_bytes = 0;
template <class Args>
void note_least_bytes(const Args& args, cudaStream_t) {
  least_bytes = benchmarking::least_bytes(args);
}

}  // namespace

TEST_CASE("the line holds digits, counts and the floor") {
  // 1024 floats are 4096 bytes: 32 requests of 128 bytes where 8 of 512 would do, and 128 sectors either way. All of
  // the values are whole numbers: exact, which is 15.95 digits.
  CHECK(testing::comparison_text(copied()) ==
        R"(comparison: {"workload": "1024 floats", "digits": 15.95, "digits_best": 15.95, "load_requests": 32, )"
        R"("store_requests": 32, "sectors": 256, "bytes_asked": 8192, "bytes_touched": 8192, "barriers": 4, )"
        R"("shuffles": 32, "floor": {"load_requests": 8, "store_requests": 8, "sectors": 256, "bytes_asked": 8192, )"
        R"("bytes_touched": 8192}})"
        "\n");
}

TEST_CASE("digits are those of the values that were given, and null stands for a floor that there is not") {
  testing::Workload workload = copied();
  workload.got.back() = 0;  // in place of 1023, the largest: no digit is right
  workload.floor.reset();
  const std::string text = testing::comparison_text(workload);
  CHECK(text.find(R"("digits": 0, )") != std::string::npos);
  CHECK(text.ends_with("\"floor\": null}\n"));
}

TEST_CASE("a buffer that fills no request and no sector counts as one") {
  const testing::Floor floor = testing::floor_of({1, 129}, {9});
  CHECK(floor.load_requests == 1 + 2);
  CHECK(floor.store_requests == 1);
  CHECK(floor.sectors == 1 + 17 + 2);
  CHECK(floor.bytes_asked == 4 * (1 + 129 + 9));
  CHECK(floor.bytes_touched == 32 * (1 + 17 + 2));
}

TEST_CASE("the floor of a norm and of a backward is the byte model's") {
  const auto floor_bytes = [](const testing::Workload& workload) {
    return static_cast<std::int64_t>(workload.floor->bytes_asked);
  };
  using testing::backward_workload;
  CHECK(floor_bytes(testing::norm_workload(note_least_bytes<LayerNormArgs>)) == least_bytes);
  CHECK(floor_bytes(testing::norm_workload(note_least_bytes<RmsNormArgs>)) == least_bytes);
  for (const bool dx : {true, false}) {
    for (const bool sums : {true, false}) {
      if (!dx && !sums) continue;
      const testing::BackwardRunOptions options{.dx = dx, .dgamma = sums, .dbeta = sums};
      CHECK(floor_bytes(backward_workload(note_least_bytes<LayerNormBackwardArgs>, options)) == least_bytes);
      CHECK(floor_bytes(backward_workload(note_least_bytes<RmsNormBackwardArgs>, options)) == least_bytes);
    }
  }
}
