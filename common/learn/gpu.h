/// The code of an exercise on the GPU of this machine.
#pragma once

#include <learn/commands.h>
#include <learn/course.h>
#include <learn/verdict.h>

#include <optional>
#include <string>

namespace learn {

/// Builds the exercise's test with nvcc and runs it on the GPU; if it passes, again under each tool of
/// compute-sanitizer, where that is installed. Throws MachineError with what is missing where there is no GPU or no
/// CUDA Toolkit.
Verdict judge_on_gpu(const Place& place, const Exercise& exercise, const CheckOptions& options);

/// The first report in what a tool of compute-sanitizer printed, without the host's calls. It names files without their
/// folders; the exercise's own, file, is named in full.
Fault sanitizer_fault(const std::string& tool, const std::string& output, const std::string& file);

/// What an exercise's kernels take on a GPU; each absent where this machine or this exercise cannot say.
struct GpuCosts {
  std::optional<double> median_ms;  // of the benchmark, where the exercise has one
  std::optional<double> of_copy;    // its rate as a fraction of a copy's
  std::optional<int> registers;     // of the kernel that takes the most
  std::optional<int> stack_bytes;   // the same: what does not fit into registers is spilled there
  std::string workload;             // what was timed
};
/// subject: "exercise" or "solution". Throws as judge_on_gpu().
GpuCosts gpu_costs(const Place& place, const Exercise& exercise, const std::string& subject);

}  // namespace learn
