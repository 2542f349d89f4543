/// How far a binary32 kernel may be from the double-precision reference: bounds from the error analysis, not guesses.
#pragma once

#include <testing/cases.h>
#include <testing/reference.h>

#include <cstdint>
#include <string>
#include <vector>

namespace testing {

/// How a kernel adds up a row: m elements one after the other in each of T threads, then a tree over the threads.
struct Summation {
  std::int64_t serial;   // m, elements per thread
  std::int64_t threads;  // T, threads per row
};

/// D = m + ⌈log₂T⌉: the roundings on the longest way into a sum.
double longest_chain(Summation summation);
/// D' = max(4, m) + 8.
double roundings_of_normalised(Summation summation);

/// A kernel's summation for rows of cols columns.
using SummationOf = Summation (*)(std::int64_t cols);
/// One thread adds up the whole row.
Summation thread_per_row(std::int64_t cols);
/// The row is dealt out to this many threads.
template <std::int64_t threads>
Summation block_per_row(std::int64_t cols) {
  return {(cols + threads - 1) / threads, threads};
}
/// The row is dealt out to this many threads, four neighbours at a time.
inline Summation dealt_in_fours(std::int64_t cols, std::int64_t threads) {
  return {4 * ((cols + 4 * threads - 1) / (4 * threads)), threads};
}

/// The bounds on |kernel − reference|. With u = 2⁻²⁴, D = m + ⌈log₂T⌉, D' = max(4, m) + 8 and κ = max(1,
/// |mean|/√(variance + eps)):
///
///   x̂     D'·κ·u·(1 + |x̂|/2) + 4u·|x̂|
///   y     |γ|·(bound of x̂) + 2u·(|γ·x̂| + |β|)
///   mean  (D + 1)·u·(Σ|x|/n)
///   rstd  relative ½·v·w + 4u, where w = variance/(variance + eps), and v bounds the variance: with κ₀ = √(1 +
///   mean²/variance) the larger of D·κ₀·u (Welford, Chan's merge) and D·u + (D·κ₀·u)² (two passes)
///
/// The statistics come from the reference, so from the inputs as rounded to binary32. Where the reference is not finite
/// the bound is 0, and compare() asks for the same NaN or infinity. Sources: Chan, Golub & LeVeque 1983; Higham,
/// Accuracy and Stability of Numerical Algorithms; the form for lanes and a tree is the course's own, and its tests
/// measure it.
struct LayerNormTolerance {
  std::vector<double> y;      // [rows][cols]
  std::vector<double> mean;   // [rows]
  std::vector<double> rstd;   // [rows]
  std::vector<double> kappa;  // [rows] κ
};

/// Throws std::invalid_argument if some row's bound says nothing: see judgeable().
LayerNormTolerance layer_norm_tolerance(const NormCase& input, const LayerNormReference& reference,
                                        Summation summation);

/// The bounds on RMSNorm, with u and D as above and w = s/(s + eps), where s = Σx²/n:
///
///   rstd  relative ½·D·u·w + 4u
///   y     |γ·x̂|·(½·D·u·w + 6u), where x̂ = x·rstd
///
/// No κ: nothing is subtracted, so nothing cancels. The bounds are derived, to first order in u. An x² passes through
/// at most D roundings on its way into Σx²: its own, and one for each of at most m − 1 + ⌈log₂T⌉ additions. All terms
/// are positive, so the sum is right to D·u relative. The division by n adds 2u (n is rounded to binary32, then the
/// quotient is), which makes (D + 2)·u of s and w times that of s + eps; the addition of eps rounds once more. The root
/// halves all of it, and root and reciprocal round once each: ½·(D + 2)·u·w + ½u + 2u, and w is at most 1. Then y
/// multiplies twice. They hold where no square overflows or is lost below the normal numbers: 1.1e-19 < |x| < 1.8e19,
/// or x = 0, or eps is large beside the squares that are lost. Where the reference is not finite the bound is 0.
struct RmsNormTolerance {
  std::vector<double> y;     // [rows][cols]
  std::vector<double> rstd;  // [rows]
};

/// beta of the case plays no part. No row says nothing: the bound does not grow with the row's offset.
RmsNormTolerance rms_norm_tolerance(const NormCase& input, const RmsNormReference& reference, Summation summation);

/// A row says nothing about a kernel when D'·κ·u, what the bound allows for an element at the mean, is more than this.
inline constexpr double largest_useful_bound = 0.1;

struct Selection {
  std::vector<NormCase> judged;      // the cases, without the rows that say nothing; a case without rows is left out
  std::vector<std::string> refused;  // one sentence for each row left out
};
/// Takes out the rows that say nothing about a kernel that adds up in this way.
Selection judgeable(const std::vector<NormCase>& cases, SummationOf summation);

}  // namespace testing
