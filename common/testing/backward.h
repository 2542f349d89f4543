/// The backward of both norms: cases, the double-precision truth, the bounds, and how a test runs and judges a
/// launcher. Derived in chapter 07.
#pragma once

#include <host/norm_backward.h>
#include <testing/cases.h>
#include <testing/compare.h>
#include <testing/tolerance.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace testing {

/// What a backward is given: the forward's input, the statistics that the forward kept, and dy.
struct BackwardCase {
  Norm norm = Norm::layer_norm;
  NormCase forward;         // beta plays no part
  std::vector<float> mean;  // [rows]; RMSNorm: empty
  std::vector<float> rstd;  // [rows]
  std::vector<float> dy;    // [rows][cols]
};

/// The statistics are those of the reference, rounded to binary32: a backward is judged as a function of what it is
/// given, whatever forward has made it. dy is drawn from N(0.25, 1) as its seed says.
BackwardCase make_backward_case(Norm norm, NormCase forward, std::uint64_t seed);
/// The same with a dy of the caller's.
BackwardCase make_backward_case(Norm norm, NormCase forward, std::vector<float> dy);
/// standard_cases() with a random dy each.
std::vector<BackwardCase> standard_backward_cases(Norm norm);
/// published_cases() with a random dy each.
std::vector<BackwardCase> published_backward_cases(Norm norm);

struct BackwardReference {
  std::vector<double> dx;      // [rows][cols]
  std::vector<double> dgamma;  // [cols]
  std::vector<double> dbeta;   // [cols]; RMSNorm: empty
};

/// The formulas of norm_backward.h in double precision, sums by halves. x, dy [rows][cols]; gamma [cols] or empty (1);
/// mean [rows] or empty (RMSNorm); rstd [rows].
BackwardReference norm_backward_reference(std::span<const double> x, std::span<const double> gamma,
                                          std::span<const double> mean, std::span<const double> rstd,
                                          std::span<const double> dy, std::int64_t rows, std::int64_t cols);
BackwardReference norm_backward_reference(const BackwardCase& input);

/// How a backward kernel adds up: a row's columns for dx, and a column's rows for dgamma and dbeta.
struct BackwardSummation {
  Summation row;
  Summation column;
};
using BackwardSummationOf = BackwardSummation (*)(std::int64_t rows, std::int64_t cols);

/// The bounds on |kernel − reference|, to first order in u = 2⁻²⁴. With D = m + ⌈log₂T⌉ for a row, L = m + ⌈log₂T⌉ for
/// a column, A₁ = Σ|g|/cols and A₂ = Σ|g·x̂|/cols:
///
///   dx      u · rstd · (4·|g| + (D + 5)·A₁ + (D + 10)·A₂·|x̂|)      RMSNorm: without A₁
///   dgamma  u · (L + 2) · Σ|dy·x̂|
///   dbeta   u · L · Σ|dy|
///
/// κ does not occur: mean and rstd are given, and x − mean has one rounding. Derived term by term in chapter 07. Where
/// the reference is not finite the bound is 0, and compare() asks for the same NaN or infinity.
struct BackwardTolerance {
  std::vector<double> dx;      // [rows][cols]
  std::vector<double> dgamma;  // [cols]
  std::vector<double> dbeta;   // [cols]; RMSNorm: empty
};
BackwardTolerance norm_backward_tolerance(const BackwardCase& input, BackwardSummation summation);

/// What a forward's error adds to these bounds. mean and rstd are wrong by at most Δmean and relatively ρ
/// (layer_norm_tolerance), so x̂ is by e = rstd·Δmean + ρ·|x̂|, and
///
///   dx      rstd · (e·A₂ + |x̂|·mean(|g|·e)) + ρ·|dx|
///   dgamma  Σ|dy|·e
///
/// Here κ comes back: rstd·Δmean grows with it.
BackwardTolerance through_forward_tolerance(const BackwardCase& input, BackwardSummation summation,
                                            Summation forward_summation);

struct BackwardResult {
  std::vector<float> dx;      // [rows][cols]; each empty if it was not asked for
  std::vector<float> dgamma;  // [cols]
  std::vector<float> dbeta;   // [cols]; RMSNorm has none
};

/// How a test calls a backward, beyond the case itself.
struct BackwardRunOptions {
  bool dx = true;           // asked for
  bool dgamma = true;       // the same
  bool dbeta = true;        // the same
  bool in_place = false;    // dx is dy
  bool accumulate = false;  // onto `before` in every element of dgamma and dbeta
  float before = 7;
  int calls = 1;                       // one after the other, with the same buffers
  std::int64_t x_offset = 0;           // elements by which the pointer is moved from 256-byte alignment
  std::int64_t dy_offset = 0;          // the same
  std::int64_t dx_offset = 0;          // the same
  std::int64_t gamma_offset = 0;       // the same
  std::int64_t statistics_offset = 0;  // the same, of mean and rstd
  std::int64_t sums_offset = 0;        // the same, of dgamma and dbeta
  std::int64_t workspace_offset = 0;   // the same
};

/// Outputs and workspace are poisoned before, guards and inputs checked afterwards. Throws std::runtime_error if a
/// kernel wrote outside a buffer or to an input; whatever the launcher throws passes through.
BackwardResult run_backward(NormBackwardLauncher launcher, const BackwardCase& input, BackwardRunOptions options = {});

/// The verdict on dx, dgamma and dbeta, each apart.
struct BackwardVerdict {
  std::string name;  // of the case
  Comparison dx, dgamma, dbeta;
  double digits = 0;        // correct_digits() of dx
  LikelyMistakes mistakes;  // where it failed
  bool passed() const { return dx.passed() && dgamma.passed() && dbeta.passed(); }
  double ratio() const;      // largest error/bound of the three
  std::string text() const;  // case name, then each comparison that failed, and what mistake it looks like
};

/// Judges what was asked for. With options.accumulate the expected sums stand on options.before.
BackwardVerdict judge_backward(const BackwardResult& result, const BackwardCase& input, BackwardSummation summation,
                               BackwardRunOptions options = {});
/// Runs the launcher and judges what it gave. A launcher that fails is run again, on a probe: see diagnosis.h.
BackwardVerdict judge_backward(NormBackwardLauncher launcher, const BackwardCase& input, BackwardSummationOf summation,
                               BackwardRunOptions options = {});

}  // namespace testing
