/// Runs a launcher on a case the way every test does: named buffers, poisoned outputs, guards checked afterwards.
#pragma once

#include <host/norm_launcher.h>
#include <testing/cases.h>
#include <testing/compare.h>
#include <testing/tolerance.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace testing {

struct NormResult {
  std::vector<float> y;     // [rows][cols]; a kernel of the statistics alone has none
  std::vector<float> mean;  // [rows], or empty if it was not asked for; RMSNorm has none
  std::vector<float> rstd;  // [rows], or empty if it was not asked for
};

/// How a test calls a kernel, beyond the case itself.
struct RunOptions {
  bool in_place = false;          // y is x
  bool mean = true;               // mean is asked for
  bool rstd = true;               // rstd is asked for
  std::int64_t x_offset = 0;      // elements by which the pointer is moved from 256-byte alignment
  std::int64_t y_offset = 0;      // the same
  std::int64_t gamma_offset = 0;  // the same
  std::int64_t beta_offset = 0;   // the same
};

/// RMSNorm is run on the case without its beta. Throws std::runtime_error if a kernel wrote outside a buffer or to an
/// input; whatever the launcher throws passes through.
NormResult run(NormLauncher launcher, const NormCase& input, RunOptions options = {});

/// The verdict on y, mean and rstd together.
struct NormVerdict {
  std::string name;  // of the case
  Comparison y, mean, rstd;
  double digits = 0;        // correct_digits() of y
  LikelyMistakes mistakes;  // where it failed
  bool passed() const { return y.passed() && mean.passed() && rstd.passed(); }
  double ratio() const;      // largest error/bound of the three
  std::string text() const;  // case name, then each comparison that failed, and what mistake it looks like
};

/// Judges a result against the double-precision reference. Throws std::invalid_argument if the case has a row that says
/// nothing about a kernel that sums in this way: judgeable() takes such rows out.
NormVerdict judge(const NormResult& result, const NormCase& input, Summation summation, Norm norm = Norm::layer_norm);
/// Runs the launcher and judges what it gave. A launcher that fails is run again, on a probe: see diagnosis.h.
NormVerdict judge(NormLauncher launcher, const NormCase& input, Summation summation, RunOptions options = {});

}  // namespace testing
