// How fast the executor is: rows a second of a block-per-row LayerNorm at H = 4096 with every default check on, on one
// worker and on two, and what a switch between two threads costs. This is the emulator's own time; it says nothing
// about a GPU.
#include <host/device_buffer.h>
#include <host/launch.h>
#include <simt/counts.h>
#include <simt/executor.h>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr int block_threads = 256;
constexpr int cols = 4096;
constexpr int rows = 1000;

struct Moments {
  float count, mean, m2;
};

__device__ __forceinline__ Moments merge(Moments a, Moments b) {
  const float count = a.count + b.count;
  const float share = count > 0 ? b.count / count : 0;
  const float delta = b.mean - a.mean;
  return {count, a.mean + delta * share, a.m2 + b.m2 + delta * delta * a.count * share};
}

__device__ __forceinline__ Moments warp_merge(Moments m) {
  for (int offset = 16; offset > 0; offset /= 2) {
    Moments other;
    other.count = __shfl_xor_sync(0xffffffffu, m.count, offset);
    other.mean = __shfl_xor_sync(0xffffffffu, m.mean, offset);
    other.m2 = __shfl_xor_sync(0xffffffffu, m.m2, offset);
    m = merge(m, other);
  }
  return m;
}

// The kernel by which the executor's speed is stated: float4 loads, Welford in each thread, warp shuffles, one exchange
// through shared memory.
__global__ void layer_norm(const float* x, const float* gamma, const float* beta, float* y) {
  __shared__ Moments of_warp[block_threads / 32];
  __shared__ float mean_and_rstd[2];
  const unsigned thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const float4* x4 = reinterpret_cast<const float4*>(x + static_cast<std::int64_t>(blockIdx.x) * cols);
  Moments m{0, 0, 0};
  for (unsigned i = thread; i < cols / 4; i += block_threads) {
    const float4 v = x4[i];
    for (int k = 0; k < 4; ++k) {
      const float value = k == 0 ? v.x : k == 1 ? v.y : k == 2 ? v.z : v.w;
      m.count += 1;
      const float delta = value - m.mean;
      m.mean += delta / m.count;
      m.m2 += delta * (value - m.mean);
    }
  }
  m = warp_merge(m);
  if (lane == 0) of_warp[warp] = m;
  __syncthreads();
  if (warp == 0) {
    m = warp_merge(lane < block_threads / 32 ? of_warp[lane] : Moments{0, 0, 0});
    if (lane == 0) {
      mean_and_rstd[0] = m.mean;
      mean_and_rstd[1] = rsqrtf(m.m2 / m.count + 1e-5f);
    }
  }
  __syncthreads();
  const float mean = mean_and_rstd[0], rstd = mean_and_rstd[1];
  float4* y4 = reinterpret_cast<float4*>(y + static_cast<std::int64_t>(blockIdx.x) * cols);
  const float4 *gamma4 = reinterpret_cast<const float4*>(gamma), *beta4 = reinterpret_cast<const float4*>(beta);
  for (unsigned i = thread; i < cols / 4; i += block_threads) {
    const float4 v = x4[i], g = gamma4[i], b = beta4[i];
    y4[i] = make_float4((v.x - mean) * rstd * g.x + b.x, (v.y - mean) * rstd * g.y + b.y,
                        (v.z - mean) * rstd * g.z + b.z, (v.w - mean) * rstd * g.w + b.w);
  }
}

__global__ void barriers(int count) {
  for (int i = 0; i < count; ++i) __syncthreads();
}

struct Setting {
  const char* name;
  simt::Checks checks;
  bool counting;
};
// What every test and the tour have is the last: all checks, and counts.
const Setting settings[] = {
    {"no check", {false, false, false, false}, false},
    {"sync", {true, false, false, false}, false},
    {"memory", {false, true, false, false}, false},
    {"init", {false, false, true, false}, false},
    {"race", {false, false, false, true}, false},
    {"counts", {false, false, false, false}, true},
    {"every check and counts", {}, true},
};

void rows_per_second(benchmark::State& state, const Setting& setting, unsigned workers) {
  const unsigned workers_before = simt::workers();
  simt::set_workers(workers);
  simt::set_checks(setting.checks);
  std::vector<float> values(std::size_t{rows} * cols);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 2654435761u % 1000) * 0.01f;
  const DeviceBuffer<float> x("x", values), gamma("gamma", std::vector<float>(cols, 1.0f)),
      beta("beta", std::vector<float>(cols, 0.0f));
  const DeviceBuffer<float> y("y", std::int64_t{rows} * cols);
  const auto run = [&] {
    std::optional<simt::CountScope> counts;
    if (setting.counting) counts.emplace();
    launch(layer_norm, {rows, block_threads}, x.data(), gamma.data(), beta.data(), y.data());
  };
  run();  // the first launch on new buffers also takes the memory that the checks keep beside them
  for (auto _ : state) run();
  state.counters["rows/s"] = benchmark::Counter(rows, benchmark::Counter::kIsIterationInvariantRate);
  simt::set_checks({});
  simt::set_workers(workers_before);
}

void switch_time(benchmark::State& state) {
  constexpr int count = 1000;
  const unsigned before = simt::workers();
  simt::set_workers(1);
  for (auto _ : state) launch(barriers, {1, block_threads}, count);
  state.counters["s/switch"] = benchmark::Counter(
      double{count} * block_threads, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  simt::set_workers(before);
}

}  // namespace

int main(int argc, char** argv) {
  const auto repeated = [](benchmark::internal::Benchmark* b) {
    b->MinWarmUpTime(0.2)->MinTime(0.2)->Repetitions(5)->ReportAggregatesOnly(true)->UseRealTime()->Unit(
        benchmark::kMillisecond);
  };
  for (const unsigned workers : {1u, 2u}) {
    for (const Setting& setting : settings) {
      if (workers == 2 && !(setting.counting && setting.checks.race)) continue;
      const std::string name =
          std::string(setting.name) + ", " + std::to_string(workers) + (workers == 1 ? " worker" : " workers");
      repeated(benchmark::RegisterBenchmark(name.c_str(), rows_per_second, setting, workers));
    }
  }
  repeated(benchmark::RegisterBenchmark("a thread at __syncthreads", switch_time));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
