/// The measurements of a run, kept in a file from the first one on, so that an interrupted run goes on from there.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

namespace benchmarking {

/// {"context": {"card": …, "date": …}, "benchmarks": [{"name": …, "median_ms": …}, …]}, as Google Benchmark's own
/// files, but with this project's counters alone.
class ResultsFile {
public:
  /// context: what the numbers were measured on, as names and values. If the file is there already, its measurements
  /// are kept and its date stays. Throws std::runtime_error with a sentence if it cannot be read, or was measured on
  /// something else.
  ResultsFile(std::filesystem::path file, const std::map<std::string, std::string>& context);

  /// Whether a benchmark of this name is among the measurements; one that failed is not.
  bool holds(const std::string& name) const;
  std::size_t size() const { return stored_.at("benchmarks").size(); }

  /// Adds a measurement in the place of one of this name, and writes the file: at every moment it holds all
  /// measurements so far, and none in part. Throws std::runtime_error if it cannot be written.
  void add(const nlohmann::ordered_json& benchmark);
  /// Adds to the context what is known at the end, and writes the file.
  void note(const std::string& name, const std::string& value);

private:
  void write() const;

  std::filesystem::path file_;
  nlohmann::ordered_json stored_;
};

}  // namespace benchmarking
