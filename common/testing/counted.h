/// What a kernel asks of memory on a case. On the executor alone: a GPU program cannot count its own requests, that is
/// what a profiler is for.
#pragma once

#include <host/norm_launcher.h>
#include <simt/counts.h>
#include <testing/cases.h>
#include <testing/run.h>

namespace testing {

inline simt::LaunchCounts counts_of(NormLauncher launch, const NormCase& input, RunOptions options = {}) {
  const simt::CountScope counts;
  run(launch, input, options);
  return counts.total();
}

}  // namespace testing
