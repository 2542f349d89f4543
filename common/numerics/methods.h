/// The methods that docs/numerics.md compares, each with the bound on its error.
#pragma once

#include <numerics/variance.h>

#include <string>
#include <vector>

namespace numerics {

inline constexpr double u = 0x1p-24;  // the largest relative error of one binary32 rounding

/// What a bound depends on: of the row as rounded to binary32, in double precision.
struct RowFacts {
  double n;              // elements
  double depth;          // D = n/lanes + log₂ lanes: the longest chain of additions, with lanes
  double kappa;          // κ = √(1 + mean²/variance)
  double shifted_kappa;  // κ′, the same of x − x[0]
};
/// The row has a variance that is not 0.
RowFacts facts(Row row, int lanes);

/// A method with lanes is there twice, for one thread and for lanes: they have bounds of their own.
struct Method {
  std::string name;
  float (*variance)(Row row, int lanes);
  std::string formula;                   // of the bound
  double (*bound)(const RowFacts& row);  // on |variance − exact| ÷ exact
  int slope;                             // of log error over log κ where κ rules: 2, 1, or 0 where none is claimed
  bool in_plot;                          // one of the few that stand in one plot together
};

/// Sources of the bounds: Chan, Golub & LeVeque, Algorithms for Computing the Sample Variance, 1983; Higham, Accuracy
/// and Stability of Numerical Algorithms. The forms with lanes are this project's own: D stands where a serial loop has
/// N.
const std::vector<Method>& methods();

}  // namespace numerics
