/// The report: what the numbers were measured on, and a table that a person can read.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>

namespace benchmarking {

/// Backend, card, driver, toolkit, compiler and commit, for the head of a report in any format.
void add_context();

/// A table with a line for each benchmark.
std::unique_ptr<benchmark::BenchmarkReporter> make_table();

}  // namespace benchmarking
