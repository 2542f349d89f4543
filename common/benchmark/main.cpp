#include <benchmark/measure.h>
#include <benchmark/report.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#ifdef LNH_CUDA
#include <host/backend.h>
#endif

namespace {

using namespace benchmarking;

/// This program's own flags, beside Google Benchmark's.
struct Flags {
  Grid grid = Grid::chapter;     // --grid=chapter|quick|full
  std::string results;           // --results=FILE: keep the measurements there, and go on from those that it holds
  double seconds_per_point = 2;  // --point_seconds=S
  bool table = true;             // without a format the report is a table for a person
};

/// Takes them out of the arguments. Throws std::invalid_argument with a sentence.
Flags flags_of(int& argc, char** argv) {
  static const std::map<std::string_view, Grid> grids{
      {"chapter", Grid::chapter}, {"quick", Grid::quick}, {"full", Grid::full}};
  Flags flags;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value_of = [&](std::string_view name) -> std::optional<std::string_view> {
      if (!argument.starts_with(name)) return {};
      return argument.substr(name.size());
    };
    if (const auto grid = value_of("--grid=")) {
      if (!grids.contains(*grid)) throw std::invalid_argument("--grid= takes chapter, quick or full.");
      flags.grid = grids.at(*grid);
    } else if (const auto file = value_of("--results=")) {
      flags.results = *file;
    } else if (const auto seconds = value_of("--point_seconds=")) {
      const std::string text(*seconds);
      char* end = nullptr;
      flags.seconds_per_point = std::strtod(text.c_str(), &end);
      if (*end != '\0' || !(flags.seconds_per_point > 0))
        throw std::invalid_argument("--point_seconds= takes a positive number.");
    } else {
      flags.table = flags.table && !argument.starts_with("--benchmark_format=");
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  argv[argc] = nullptr;
  return flags;
}

int run(const Flags& flags) {
  std::map<std::string, std::string> measured_on = context();
  for (const auto& [name, value] : measured_on) benchmark::AddCustomContext(name, value);
  Plan plan{.sizes = sizes_of(flags.grid), .seconds_per_point = flags.seconds_per_point};
  if (flags.results.empty()) {
    register_all(plan);
    const std::unique_ptr<benchmark::BenchmarkReporter> reporter = flags.table ? make_table() : nullptr;
    benchmark::RunSpecifiedBenchmarks(reporter.get());
  } else {
    ResultsFile file(flags.results, measured_on);
    plan.is_measured = [&](const std::string& name) { return file.holds(name); };
    const std::size_t held = file.size();
    const int count = register_all(plan);
    if (held > 0) std::cout << held << " measurements are there already; " << count << " are left.\n";
    if (count > 0) {
      file.note("clocks at the begin", clocks());
      benchmark::RunSpecifiedBenchmarks(make_keeper(file, count).get());
      file.note("clocks at the end", clocks());
    }
  }
  for (const std::string& failure : failures()) std::cerr << "This benchmark failed: " << failure << '\n';
  return failures().empty() ? 0 : 1;
}

}  // namespace

// Exit codes: 0 measured; 1 a benchmark failed, or its result cannot be kept; 2 the flags are wrong; 77 there is no
// GPU.
int main(int argc, char** argv) {
  Flags flags;
  try {
    flags = flags_of(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
#ifdef LNH_CUDA
  int cards = 0;
  if (cudaGetDeviceCount(&cards) != cudaSuccess || cards == 0) {
    std::cerr
        << "This program measures on a GPU, and no GPU was found here. Build the simt preset to count on the CPU.\n";
    return 77;
  }
#endif
  try {
    const int code = run(flags);
    benchmark::Shutdown();
    return code;
  } catch (const std::exception& error) {
    std::cerr << "The benchmarks stopped: " << error.what() << '\n';
    return 1;
  }
}
