/// Whether the checks see that a barrier is missing: each barrier is taken out in turn, and a test of its kernel must
/// then have a finding of the race or sync check.
#pragma once

#include "barriers.h"

#include <rebuild/rebuild.h>

#include <filesystem>
#include <string>
#include <vector>

namespace barrier_deletion {

/// After which a test counts as one that does not end.
inline constexpr int limit_seconds = 600;

/// What became of a kernel without one of its barriers.
struct Verdict {
  std::string killed_by;  // "race" or "sync"; empty for a survivor
  std::string sentence;   // for a survivor: what happened, and what to do
};

/// The check that the first finding in the output of a test comes from, if it is "race" or "sync"; else empty. A
/// failure by value alone, or a finding of another check, is none.
std::string check_that_found(const std::string& output);

/// Runs the tests that compile file without this barrier, one after the other, until one of them has a finding.
Verdict judge(const std::vector<rebuild::Test>& tests, const std::filesystem::path& build,
              const std::filesystem::path& file, const std::string& source, const Barrier& barrier);

}  // namespace barrier_deletion
