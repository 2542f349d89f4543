// How fast the executor is: rows a second of a block-per-row LayerNorm at H = 4096 with every default check on, on one
// worker and on two, and what a switch between two threads costs. This is the emulator's own time; it says nothing
// about a GPU.
#include <host/device_buffer.h>
#include <host/launch.h>
#include <simt/counts.h>
#include <simt/executor.h>

#include <benchmark/benchmark.h>

#include <cstdint>
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

void rows_per_second(benchmark::State& state) {
  const unsigned before = simt::workers();
  simt::set_workers(static_cast<unsigned>(state.range(0)));
  std::vector<float> values(std::size_t{rows} * cols);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 2654435761u % 1000) * 0.01f;
  const DeviceBuffer<float> x("x", values), gamma("gamma", std::vector<float>(cols, 1.0f)),
      beta("beta", std::vector<float>(cols, 0.0f));
  const DeviceBuffer<float> y("y", std::int64_t{rows} * cols);
  for (auto _ : state) {
    const simt::CountScope counts;  // as every test and the tour have
    launch(layer_norm, {rows, block_threads}, x.data(), gamma.data(), beta.data(), y.data());
  }
  state.counters["rows/s"] = benchmark::Counter(rows, benchmark::Counter::kIsIterationInvariantRate);
  simt::set_workers(before);
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

BENCHMARK(rows_per_second)
    ->Name("block-per-row LayerNorm, H = 4096, every check on")
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->MinWarmUpTime(0.3)
    ->Repetitions(5)
    ->ReportAggregatesOnly(true)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(switch_time)
    ->Name("switch between threads at __syncthreads")
    ->MinWarmUpTime(0.1)
    ->Repetitions(5)
    ->ReportAggregatesOnly(true)
    ->UseRealTime();

BENCHMARK_MAIN();
