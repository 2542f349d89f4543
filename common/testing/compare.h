/// The comparer: NaN never passes, and a failure says where, what was expected and how far off it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace testing {

struct Comparison {
  std::string what;  // "y", "mean", …
  std::int64_t count = 0;
  std::int64_t bad = 0;     // elements with !(error <= tolerance)
  std::int64_t nan = 0;     // NaN where the reference has none
  std::int64_t inf = 0;     // infinite where the reference is finite
  std::int64_t poison = 0;  // never written
  std::int64_t cols = 1;
  std::int64_t first_bad = -1;                  // index of the first bad element
  std::int64_t worst = -1;                      // index of the largest error/tolerance
  double expected = 0, got = 0, tolerance = 0;  // at the worst element
  double ratio = 0;                             // largest error/tolerance; infinity if NaN was met
  std::string reason;                           // how the tolerance at the worst element comes about; may be empty

  bool passed() const { return bad == 0; }
  /// Some lines for a person: number of bad elements, first bad row, worst element with expected, got, bound.
  std::string text() const;
};

/// Judges got against expected element by element with !(|got − expected| <= tolerance). Where expected is NaN, got
/// must be NaN; where it is infinite, got must be the same infinity. Throws std::invalid_argument if the sizes differ.
Comparison compare(std::string what, std::span<const float> got, std::span<const double> expected,
                   std::span<const double> tolerance, std::int64_t cols);

/// "2.1e-06 = u·L·Σ|dy|, with L = 9; common/testing/backward.h": a bound, its formula with the numbers of its row, and
/// the file that explains it.
std::string reason_of(double bound, const std::string& formula,
                      const std::vector<std::pair<std::string, double>>& numbers, const std::string& file);

/// Names of mistakes in diagnosis.h that a wrong result looks like: one or two; empty where no known mistake fits.
using LikelyMistakes = std::vector<std::string>;

/// Whether both hold the same floats, bit for bit: NaN equals the same NaN, and −0 is not 0.
bool same_bits(std::span<const float> a, std::span<const float> b);

/// −log10 of the largest error relative to the largest |expected| of its row; 0 for NaN, at most 15.95.
double correct_digits(std::span<const float> got, std::span<const double> expected, std::int64_t cols);

}  // namespace testing
