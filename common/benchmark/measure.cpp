#include <benchmark/measure.h>
#include <benchmark/summary.h>

#include <chrono>
#include <exception>
#include <stdexcept>

#ifdef LNH_CUDA
#include <benchmark/device_timer.h>
#include <host/error.h>
#else
#include <simt/counts.h>
#endif

namespace benchmarking {
namespace {

std::vector<std::string> failed;

#ifdef LNH_CUDA

constexpr int warm_ups = 3;

void run(benchmark::State& state, Workload& workload, Cache cache) {
  DeviceTimer timer;
  const auto seconds = [&](const auto& launch) {
    return cache == Cache::cold ? timer.cold_seconds(launch) : timer.warm_seconds(launch);
  };
  const auto yardstick_target = DeviceBuffer<float>::untouched("yardstick", workload.elements());
  const auto kernel = [&] { workload.launch(); };
  const auto copy = [&] { yardstick_copy(workload.x(), yardstick_target.data(), workload.elements()); };

  workload.poison();
  for (int i = 0; i < warm_ups; ++i) {
    copy();
    kernel();
  }
  check_cuda(cudaDeviceSynchronize(), "waiting for the warm-ups");

  // The copy is measured between the kernel's launches, so that both see the same clocks and temperature.
  std::vector<double> kernel_seconds, copy_seconds;
  for (auto _ : state) {
    copy_seconds.push_back(seconds(copy));
    kernel_seconds.push_back(seconds(kernel));
    state.SetIterationTime(kernel_seconds.back());
  }

  const Summary time = summarise(kernel_seconds);
  const Summary copy_time = summarise(copy_seconds);
  const auto bytes = static_cast<double>(workload.least_bytes());
  const double copy_bytes = 2.0 * sizeof(float) * static_cast<double>(workload.elements());
  const double rate = bytes / time.median;
  const double copy_rate = copy_bytes / copy_time.median;
  state.counters["median_ms"] = time.median * 1e3;
  state.counters["spread"] = time.spread;
  state.counters["least_bytes"] = bytes;
  state.counters["GB/s"] = rate * 1e-9;
  state.counters["copy_GB/s"] = copy_rate * 1e-9;
  state.counters["copy_spread"] = copy_time.spread;
  state.counters["of_copy"] = rate / copy_rate;
}

#else

void run(benchmark::State& state, Workload& workload, Cache) {
  workload.poison();
  for (auto _ : state) {
    const simt::CountScope scope;
    const auto start = std::chrono::steady_clock::now();
    workload.launch();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(elapsed.count());

    const simt::LaunchCounts& counts = scope.total();
    const auto model = [&](const char* name, std::uint64_t value) {
      state.counters[std::string("model_") + name] = static_cast<double>(value);
    };
    model("load_requests", counts.global_loads().requests);
    model("store_requests", counts.global_stores().requests);
    model("sectors", counts.global_loads().sectors + counts.global_stores().sectors);
    model("bytes_requested", counts.bytes_requested());
    model("bytes_touched", counts.bytes_touched());
    model("barriers", counts.barriers);
    model("shuffles", counts.shuffles);
    state.counters["least_bytes"] = static_cast<double>(workload.least_bytes());
    state.counters["emulator_ms"] = elapsed.count() * 1e3;
  }
}

#endif

}  // namespace

#ifdef LNH_CUDA

const int launches_timed = 20;

Sizes default_sizes() {
  const Card gpu = card();
  // x, y and the copy's target, and for a backward dy, each of 1 GiB where half of the free memory holds them: large
  // enough that starting and ending a launch no longer shows. Smaller by powers of two elsewhere.
  std::int64_t cold = std::int64_t{1} << 28;
  while (cold > (1 << 20) && 4 * 4 * cold > gpu.free_bytes / 2) cold /= 2;
  // The three that a launch uses in half of the cache.
  std::int64_t warm = cold;
  while (warm > (1 << 16) && 3 * 4 * warm > gpu.l2_bytes / 2) warm /= 2;

  Sizes sizes;
  sizes.copies = {{cold, 1, Cache::cold}, {warm, 1, Cache::warm}};
  for (const std::int64_t cols : {256, 1024, 4096, 8192, 16384, 65536})
    sizes.norms.push_back({cold, cols, Cache::cold});
  sizes.norms.push_back({warm, 4096, Cache::warm});
  // pytorch_backward.py measures on the same.
  for (const std::int64_t cols : {256, 1024, 2048, 4096, 8192, 16384, 65536})
    sizes.backwards.push_back({cold, cols, Cache::cold});
  sizes.backwards.push_back({warm, 4096, Cache::warm});
  return sizes;
}

#else

const int launches_timed = 1;

Sizes default_sizes() {
  return {.copies = {{65536, 1, Cache::none}, {65539, 1, Cache::none}},
          .norms = {{64LL * 256, 256, Cache::none},
                    {64LL * 1000, 1000, Cache::none},
                    {64LL * 4096, 4096, Cache::none},
                    {64LL * 8192, 8192, Cache::none}},
          .backwards = {
              {64LL * 256, 256, Cache::none}, {64LL * 1000, 1000, Cache::none}, {64LL * 4096, 4096, Cache::none}}};
}

#endif

const char* text(Cache cache) {
  switch (cache) {
    case Cache::none: return "no_cache";
    case Cache::cold: return "cold_L2";
    case Cache::warm: return "warm_L2";
  }
  throw std::invalid_argument("text() was given a Cache that does not exist");
}

void measure(benchmark::State& state, const std::string& name, const Maker& make, Cache cache) {
  std::string wrong;
  try {
    const std::unique_ptr<Workload> workload = make();
    run(state, *workload, cache);
    wrong = workload->verify();
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  if (wrong.empty()) return;
  failed.push_back(name + ": " + wrong);
  state.SkipWithError(wrong.c_str());
}

const std::vector<std::string>& failures() { return failed; }

}  // namespace benchmarking
