/// The report: what the numbers were measured on, and a table that a person can read.
#pragma once

#include <benchmark/results_file.h>

#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <string>

namespace benchmarking {

/// Backend, card, driver, toolkit, compiler and commit, by these names.
std::map<std::string, std::string> context();
/// Clocks, temperature and power of the card, now; "unknown" if nvidia-smi does not say.
std::string clocks();

/// A table with a line for each benchmark.
std::unique_ptr<benchmark::BenchmarkReporter> make_table();
/// Keeps each benchmark in a file as it ends, and prints a line for it with the time that is left; count: of benchmarks
/// to come. file must outlive it.
std::unique_ptr<benchmark::BenchmarkReporter> make_keeper(ResultsFile& file, int count);

}  // namespace benchmarking
