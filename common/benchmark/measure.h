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
  std::int64_t rows;  // of a copy: its elements
  std::int64_t cols;  // of a copy: 1
  Cache cache;
  bool large = true;  // variants, too, are measured on it: see add_variant() in harness.h
};
struct Sizes {
  std::vector<Size> copies;
  std::vector<Size> norms;      // LayerNorm and RMSNorm
  std::vector<Size> backwards;  // of either
};

/// How many sizes: `chapter`, those that a chapter's table shows; `quick`, a few; `full`, those of docs/results.
enum class Grid { chapter, quick, full };
/// The sizes that suit this backend and, on a GPU, this card's memory and cache. The executor has one grid.
Sizes sizes_of(Grid grid);

struct Plan {
  Sizes sizes;
  double seconds_per_point = 2;                                   // after which no more launches are timed
  std::function<bool(const std::string& name)> is_measured = {};  // already: such a benchmark is left out
};

/// Registers every kernel that add() was given, on every size. How many benchmarks that makes.
int register_all(const Plan& plan);

using Maker = std::function<std::unique_ptr<Workload>()>;

/// Warm-ups, timed launches, verification; fills state's counters, and its one manual time with the median. At most 20
/// launches on a GPU, at least 5, and none after most_seconds; one on the executor, whose counts are the same every
/// time. A wrong result, a finding or a CUDA error marks the benchmark as failed: see failures(), where name tells it
/// from the others.
void measure(benchmark::State& state, const std::string& name, const Maker& make, Cache cache, double most_seconds);

/// The name of each benchmark that failed, and what is wrong.
const std::vector<std::string>& failures();

}  // namespace benchmarking
