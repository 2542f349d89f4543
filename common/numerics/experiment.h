/// The experiment of Chan, Golub & LeVeque 1983: rows that lie further and further from 0, and how much of their
/// variance each method keeps.
#pragma once

#include <numerics/methods.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace numerics {

/// The largest numbers over the rows of one κ.
struct Measured {
  double kappa;  // nominal: σ is chosen so that a row has about this
  double error;  // |variance − exact| ÷ exact; the exact one is of the row as rounded, in double precision
  double bound;  // of the row where it is largest
  double error_over_bound;  // each row's error by its own bound
};

struct MethodErrors {
  const Method* method;
  std::vector<Measured> by_kappa;
  /// The slope of log error over log κ, by least squares, over the points where κ rules: the error is at least ten
  /// times what it is at κ = 1, and at most 0.3 of the variance. Nothing where fewer than three points are left.
  std::optional<double> slope() const;
};

struct Experiment {
  std::int64_t n;     // elements of a row
  int lanes;          // of the methods with lanes
  std::int64_t rows;  // for each κ
  std::vector<MethodErrors> methods;
};

/// Rows of N(1, σ²) in binary32 for κ = 1, √10, 10, … 10⁵; κ = 1 has mean 0. The same rows on every machine.
Experiment experiment(std::int64_t n, int lanes, std::int64_t rows);

/// The two that docs/numerics.md shows: N = 64 in the lanes of a warp, N = 4096 in those of a block of 256 threads.
std::vector<Experiment> experiments();

}  // namespace numerics
