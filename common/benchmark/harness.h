/// A kernel's benchmark in one line. A chapter's benchmark.cu is
///
///   #include <benchmark/harness.h>
///   #include <three_pass.cuh>
///
///   LAYER_NORM_BENCHMARK("one thread per row", three_pass::layer_norm_thread_per_row);
///   LAYER_NORM_BENCHMARK("one block per row", three_pass::layer_norm);
///
/// and links the library `benchmarking`, which holds main(). Sizes, data, warm-ups, verification and report are the
/// same for every kernel (README.md beside this file). Google Benchmark's own flags work: --benchmark_filter,
/// --benchmark_format=json.
#pragma once

#include <benchmark/workload.h>
#include <host/copy.h>
#include <host/norm_backward.h>
#include <host/norm_launcher.h>
#include <testing/subject.h>

#include <string>

namespace benchmarking {

/// Adds a kernel to this program's benchmarks; main() runs it on every size. subject: whose code it is, as in
/// testing/subject.h. Returns true, so that a static variable can call it.
bool add(const std::string& subject, const std::string& name, CopyLauncher launcher);
bool add(const std::string& subject, const std::string& name, NormLauncher launcher);
bool add(const std::string& subject, const std::string& name, NormBackwardLauncher launcher,
         Gradients gradients = Gradients::all);
/// The same for what a chapter tries beside its kernels: it is measured on the large sizes alone. So is a backward that
/// is not asked for all gradients.
bool add_variant(const std::string& subject, const std::string& name, NormLauncher launcher);

}  // namespace benchmarking

#define LNH_JOIN_(a, b) a##b
#define LNH_JOIN(a, b) LNH_JOIN_(a, b)
#define LNH_BENCHMARK(name, ...)                                              \
  [[maybe_unused]] static const bool LNH_JOIN(benchmark_on_line_, __LINE__) = \
      benchmarking::add(LNH_SUBJECT, name, __VA_ARGS__)

/// launcher: a CopyLauncher.
#define COPY_BENCHMARK(name, launcher) LNH_BENCHMARK(name, static_cast<CopyLauncher>(launcher))
/// launcher: a LayerNormLauncher.
#define LAYER_NORM_BENCHMARK(name, launcher) LNH_BENCHMARK(name, static_cast<LayerNormLauncher>(launcher))
/// launcher: an RmsNormLauncher.
#define RMS_NORM_BENCHMARK(name, launcher) LNH_BENCHMARK(name, static_cast<RmsNormLauncher>(launcher))
/// launcher: a backward launcher of either norm; behind it, where not all are wanted, which gradients.
#define BACKWARD_BENCHMARK(name, ...) LNH_BENCHMARK(name, __VA_ARGS__)
