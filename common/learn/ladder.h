/// The ladder: every kernel of the course on the same rows, with what it got right and what it asked of memory.
#pragma once

#include <learn/measurements.h>
#include <learn/stage.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace learn {

/// How right a kernel was on some rows.
struct Accuracy {
  std::string rows;             // name of the rows
  double digits = 0;            // correct decimal digits of y, or of dx; exact_digits if every bit is right
  double error_over_bound = 0;  // largest of all outputs; infinite where a NaN was met
};
inline constexpr double exact_digits = 15.95;  // what a double can tell apart

/// What the chapter's benchmark measured on a GPU, with device events and a cold L2 cache.
struct Speed {
  double gigabytes_per_second;  // least bytes over the median time
  double fraction_of_copy;
};

struct Rung {
  std::string chapter, kernel;
  double passes_over_x = 0;           // bytes loaded from x / bytes of x
  std::uint64_t load_requests = 0;    // load instructions of warps, of all buffers
  double request_bytes = 0;           // bytes that a load request of x asks for, on average
  double request_sectors = 0;         // 32-byte sectors that a load request of x touches, on average
  std::uint64_t bytes_requested = 0;  // loads and stores
  std::uint64_t bytes_touched = 0;    // distinct 32-byte sectors, loads and stores
  std::uint64_t bytes_minimum = 0;    // what any kernel for this task must move
  double matrices_touched = 0;        // of bytes_touched those of x, y, dy and dx, over the bytes of x
  std::uint64_t workspace_bytes = 0;  // of bytes_touched those of the workspace
  std::uint64_t barriers = 0, shuffles = 0;
  Accuracy centred, treacherous;
  std::vector<Accuracy> published;    // rows of public bug reports, as far as the bound can judge them
  std::vector<std::string> findings;  // of the executor's checks
  std::optional<Speed> gpu;           // where this machine has a GPU

  /// Every error within its bound, and nothing found.
  bool passes() const;
};

/// Runs a stage on rows × cols centred values, on the treacherous row and on the published rows.
Rung measure(const Stage& stage, std::int64_t rows, std::int64_t cols);

/// Fills gpu from stored measurements: cold L2, the largest size of 4096 columns, or of a copy. Kernels that they do
/// not hold stay as they are.
void add_speeds(std::vector<Rung>& ladder, const Measurements& results);

/// The published case whose row the ladder calls treacherous.
inline constexpr const char* treacherous_case = "MLX-2238";

/// The tour's JSON; the names of its fields are stable.
std::string ladder_json(const std::vector<Rung>& ladder, std::int64_t rows, std::int64_t cols);
/// The tour's table, up to 100 columns wide.
std::string ladder_text(const std::vector<Rung>& ladder, std::int64_t rows, std::int64_t cols, bool verbose);
/// The table of the speeds on this card; empty where nothing was measured.
std::string speed_text(const std::vector<Rung>& ladder, const std::string& card);

}  // namespace learn
