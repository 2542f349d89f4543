/// Stored measurements: Google Benchmark's JSON, as the benchmarks of the chapters and the program for the peers write
/// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace learn {

/// One kernel on one size.
struct Measurement {
  std::string kernel;               // "three_pass::layer_norm", "shape 32×1", "PyTorch eager: rms_norm"
  std::int64_t rows = 0, cols = 0;  // 0 where only elements are counted
  std::int64_t count = 0;           // of elements, for a copy; 0 otherwise
  std::string cache;                // the L2 before each launch: "cold" or "warm"
  double median_ms = 0, gigabytes_per_second = 0;
  double of_copy = 0;  // the rate over that of a copy of as many elements
  bool noisy = false;  // a second run says something else

  std::int64_t elements() const { return count != 0 ? count : rows * cols; }
  std::string size() const;  // "65 536 × 4 096"
};

/// What has no time, and the reason: "wrong: element 3 is …", "refused: takes no fp32".
struct LeftOut {
  Measurement point;
  std::string reason;
};

/// The points of a kernel without a time for the same reason.
struct Gap {
  std::string kernel;
  std::string where;  // "65 536 × 4 096", or "3 sizes"
  std::string reason;
};
/// The points put together, in their order.
std::vector<Gap> gaps(const std::vector<LeftOut>& left_out);

/// One file.
struct Measurements {
  std::string file;
  std::string card;
  std::string machine;  // "one NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-11-30, commit 7b36af5"
  std::vector<Measurement> points;
  std::vector<LeftOut> left_out;
  std::map<std::string, std::string> versions;  // of the peers that were there: "Liger" → "0.8.5"
  std::vector<std::string> absent;              // peers that were not installed: "Liger (no module liger_kernel)"
};

/// The most elements that any of some points has, for each cache and number of columns (a copy's is 0).
class Largest {
public:
  void add(const Measurement& point);
  /// Whether point, which was added, has as many.
  bool has(const Measurement& point) const;

private:
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> elements_;
};

/// Throws std::runtime_error, with a sentence that names the file, for what is no such JSON and for a run on a CPU.
Measurements measurements(const std::string& json, const std::string& file);

/// The file; if the folder second/ beside it holds one of that name, the noisy points of this one are marked.
Measurements stored_measurements(const std::filesystem::path& file);

/// A point that was measured in two runs.
struct Repeated {
  Measurement first, second;

  double difference() const { return second.median_ms / first.median_ms - 1; }
  bool noisy() const;
};
/// Medians that differ by more are noisy.
inline constexpr double most_difference = 0.03;
/// Shorter ones are not compared: a clock tick more or less is too much of them.
inline constexpr double least_compared_ms = 0.1;
/// The points of both runs that take longer than least_compared_ms in both.
std::vector<Repeated> repeated(const Measurements& first, const Measurements& second);

/// "layer_norm", "rms_norm", "layer_norm_backward", "rms_norm_backward", "copy"; empty for a part of one, for a shape
/// and for an exercise.
std::string operation_of(const std::string& kernel);
/// "Liger" of "Liger: rms_norm"; empty for a kernel of the course.
std::string peer_of(const std::string& kernel);

/// 268435456 → "268 435 456"
std::string grouped(std::int64_t number);
/// Two digits, however small it is.
std::string fraction(double of_copy);

}  // namespace learn
