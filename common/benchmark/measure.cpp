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
constexpr std::size_t fewest_launches = 5, most_launches = 20;

void run(benchmark::State& state, Workload& workload, Cache cache, double most_seconds) {
  DeviceTimer timer;
  const auto seconds = [&](const auto& launch) {
    return cache == Cache::cold ? timer.cold_seconds(launch) : timer.warm_seconds(launch);
  };
  const auto yardstick_target = DeviceBuffer<float>::untouched("yardstick", workload.elements());
  const auto kernel = [&] { workload.launch(); };
  const auto copy = [&] { yardstick_copy(workload.x(), yardstick_target.data(), workload.elements()); };

  const auto begin = std::chrono::steady_clock::now();
  const auto over = [&](double limit) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > limit;
  };
  workload.poison();
  for (int i = 0; i < warm_ups && !over(most_seconds / 4); ++i) {
    copy();
    kernel();
    check_cuda(cudaDeviceSynchronize(), "waiting for the warm-ups");
  }

  // The copy is measured between the kernel's launches, so that both see the same clocks and temperature.
  std::vector<double> kernel_seconds, copy_seconds;
  Summary time;
  for (auto _ : state) {
    while (kernel_seconds.size() < fewest_launches || (kernel_seconds.size() < most_launches && !over(most_seconds))) {
      copy_seconds.push_back(seconds(copy));
      kernel_seconds.push_back(seconds(kernel));
    }
    time = summarise(kernel_seconds);
    state.SetIterationTime(time.median);
  }

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
  state.counters["launches"] = static_cast<double>(kernel_seconds.size());
}

#else

void run(benchmark::State& state, Workload& workload, Cache, double) {
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

Sizes sizes_of(Grid grid) {
  const Card gpu = card();
  // x, y and the copy's target, and for a backward dy, each of 1 GiB where half of the free memory holds them: large
  // enough that starting and ending a launch no longer shows. Smaller by powers of two elsewhere.
  std::int64_t large = std::int64_t{1} << 28;
  while (large > (1 << 20) && 4 * 4 * large > gpu.free_bytes / 2) large /= 2;
  // The three that a launch uses in half of the cache.
  std::int64_t warm = large;
  while (warm > (1 << 16) && 3 * 4 * warm > gpu.l2_bytes / 2) warm /= 2;
  const std::int64_t small = large / 16;

  Sizes sizes;
  sizes.copies = {{large, 1, Cache::cold}, {warm, 1, Cache::warm}};
  const auto add = [](std::vector<Size>& list, std::int64_t elements, const std::vector<std::int64_t>& lengths,
                      bool is_large) {
    for (const std::int64_t cols : lengths) list.push_back({elements / cols, cols, Cache::cold, is_large});
  };
  if (grid == Grid::chapter) {
    add(sizes.norms, large, {256, 1024, 4096, 8192, 16384, 65536}, true);
    add(sizes.backwards, large, {256, 1024, 2048, 4096, 8192, 16384, 65536}, true);
    for (auto* list : {&sizes.norms, &sizes.backwards}) list->push_back({warm / 4096, 4096, Cache::warm});
    return sizes;
  }
  if (grid == Grid::quick) {
    add(sizes.norms, large, {1024, 4096, 16384}, true);
    for (const std::int64_t rows : {1, 128}) sizes.norms.push_back({rows, 4096, Cache::cold, false});
  } else {
    // The lengths of rows in models, and on to where a row alone is half a megabyte.
    const std::vector<std::int64_t> lengths = {128,  256,  512,   768,   1024,  2048,  4096,
                                               5120, 8192, 12288, 16384, 32768, 65536, 131072};
    sizes.copies.push_back({small, 1, Cache::cold});
    add(sizes.norms, large, lengths, true);
    add(sizes.norms, small, lengths, false);
    for (const std::int64_t cols : {4096, 8192})
      for (const std::int64_t rows : {1, 8, 32, 128}) sizes.norms.push_back({rows, cols, Cache::cold, false});
    sizes.norms.push_back({warm / 4096, 4096, Cache::warm, false});
  }
  sizes.backwards = sizes.norms;
  return sizes;
}

#else

Sizes sizes_of(Grid) {
  // 1000 columns leave some threads without work; what a chapter tries out may be for rows of whole blocks alone.
  const Size odd{64, 1000, Cache::none, false};
  return {.copies = {{65536, 1, Cache::none}, {65539, 1, Cache::none}},
          .norms = {{64, 256, Cache::none}, odd, {64, 4096, Cache::none}, {64, 8192, Cache::none}},
          .backwards = {{64, 256, Cache::none}, odd, {64, 4096, Cache::none}}};
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

void measure(benchmark::State& state, const std::string& name, const Maker& make, Cache cache, double most_seconds) {
  std::string wrong;
  try {
    const std::unique_ptr<Workload> workload = make();
    run(state, *workload, cache, most_seconds);
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
