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

/// A kernel's summation for rows of cols columns.
using SummationOf = Summation (*)(std::int64_t cols);
/// One thread adds up the whole row.
Summation thread_per_row(std::int64_t cols);
/// The row is dealt out to this many threads.
template <std::int64_t threads>
Summation block_per_row(std::int64_t cols) {
  return {(cols + threads - 1) / threads, threads};
}

/// The bounds on |kernel − reference|. With u = 2⁻²⁴, D = m + ⌈log₂T⌉, D' = max(4, m) + 8 and κ = max(1,
/// |mean|/√(variance + eps)):
///
///   x̂     D'·κ·u·(1 + |x̂|/2) + 4u·|x̂|
///   y     |γ|·(bound of x̂) + 2u·(|γ·x̂| + |β|)
///   mean  (D + 1)·u·(Σ|x|/n)
///   rstd  relative ½·v·variance/(variance + eps) + 4u, where v bounds the variance: with κ₀ = √(1 + mean²/variance)
///   the larger
///         of D·κ₀·u (Welford, Chan's merge) and D·u + (D·κ₀·u)² (two passes)
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
LayerNormTolerance layer_norm_tolerance(const LayerNormCase& input, const LayerNormReference& reference,
                                        Summation summation);

/// A row says nothing about a kernel when D'·κ·u, what the bound allows for an element at the mean, is more than this.
inline constexpr double largest_useful_bound = 0.1;

struct Selection {
  std::vector<LayerNormCase> judged;  // the cases, without the rows that say nothing; a case without rows is left out
  std::vector<std::string> refused;   // one sentence for each row left out
};
/// Takes out the rows that say nothing about a kernel that adds up in this way.
Selection judgeable(const std::vector<LayerNormCase>& cases, SummationOf summation);

}  // namespace testing
