/// One measurement: on a GPU the time of a launch by device events, on the executor what the launch asked of memory.
#pragma once

#include <benchmark/workload.h>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace benchmarking {

/// What the L2 cache holds of the data when a launch begins. The executor has no cache: `none`.
enum class Cache { none, cold, warm };
/// As in a benchmark's name.
const char* text(Cache cache);

struct Size {
  std::int64_t elements;  // of x
  std::int64_t cols;      // of a norm; rows = elements / cols
  Cache cache;
};
struct Sizes {
  std::vector<Size> copies;
  std::vector<Size> norms;      // LayerNorm and RMSNorm
  std::vector<Size> backwards;  // of either
};
/// The sizes that suit this backend and, on a GPU, this card's memory and cache.
Sizes default_sizes();

/// Registers every kernel that add() was given, on every size.
void register_all(const Sizes& sizes);

/// Launches that are timed for a median; 1 on the executor, whose counts are the same every time.
extern const int launches_timed;

using Maker = std::function<std::unique_ptr<Workload>()>;

/// Warm-ups, timed launches, verification; fills state's manual times and counters. A wrong result, a finding or a CUDA
/// error marks the benchmark as failed: see failures(), where name tells it from the others.
void measure(benchmark::State& state, const std::string& name, const Maker& make, Cache cache);

/// The name of each benchmark that failed, and what is wrong.
const std::vector<std::string>& failures();

}  // namespace benchmarking
