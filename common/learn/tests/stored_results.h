/// Made-up results of a GPU, as the benchmarks write them.
#pragma once

#include <learn/files.h>

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

/// One benchmark: its name up to the cache, its median and its fraction of a copy.
inline std::string timed(const std::string& name, double median_ms, double of_copy) {
  return fmt::format(
      R"({{"name": "{}/iterations:20/manual_time", "median_ms": {}, "GB/s": {}, "of_copy": {}, "spread": 0.01}})", name,
      median_ms, 4000 * of_copy, of_copy);
}

/// One without a time. key: "wrong" or "refused".
inline std::string untimed(const std::string& name, const std::string& key, const std::string& why) {
  return fmt::format(R"({{"name": "{}", "{}": "{}"}})", name, key, why);
}

/// A file of benchmarks. context: further members, with a comma in front.
inline std::string stored(const std::vector<std::string>& benchmarks, const std::string& date = "2031-02-03",
                          const std::string& context = "", const std::string& backend = "cuda") {
  return fmt::format(R"({{"context": {{"backend": "{}", "card": "Card 7", "commit": "abc123",
      "date": "{}T04:05:06+00:00", "driver": "1.2, up to CUDA 9.9", "toolkit": "CUDA 9.8"{}}}, "benchmarks": [{}]}})",
                     backend, date, context, fmt::join(benchmarks, ",\n"));
}

/// A folder of results, gone at the end of the test.
struct ResultsFolder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("lnh_results_" + std::to_string(getpid()));

  ~ResultsFolder() { std::filesystem::remove_all(path); }
  void write(const std::string& file, const std::string& json) const { learn::write_text(path / file, json); }
};
