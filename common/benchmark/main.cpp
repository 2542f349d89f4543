#include <benchmark/measure.h>
#include <benchmark/report.h>

#include <exception>
#include <iostream>
#include <memory>
#include <string_view>

// Exit codes: 0 measured; 1 a benchmark failed; 2 the flags are wrong; 77 there is no GPU.
int main(int argc, char** argv) {
  // Without a format the report is a table for a person; with one it is Google Benchmark's own.
  bool table = true;
  for (int i = 1; i < argc; ++i) table = table && !std::string_view(argv[i]).starts_with("--benchmark_format=");

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
    benchmarking::add_context();
    benchmarking::register_all(benchmarking::default_sizes());
  } catch (const std::exception& error) {
    std::cerr << "The benchmarks could not be prepared: " << error.what() << '\n';
    return 1;
  }
  const std::unique_ptr<benchmark::BenchmarkReporter> reporter = table ? benchmarking::make_table() : nullptr;
  benchmark::RunSpecifiedBenchmarks(reporter.get());
  benchmark::Shutdown();

  for (const std::string& failure : benchmarking::failures()) std::cerr << "This benchmark failed: " << failure << '\n';
  return benchmarking::failures().empty() ? 0 : 1;
}
