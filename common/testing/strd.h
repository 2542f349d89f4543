/// The nine univariate data sets of NIST's Statistical Reference Datasets, with their certified values.
#pragma once

#include <string>
#include <vector>

namespace testing {

struct StrdSet {
  std::string name;
  std::vector<double> values;  // the decimals, rounded to double
  double certified_mean;       // NIST's, 15 digits
  double certified_sd;         // NIST's, 15 digits; divisor n − 1
  double exact_variance;       // of the decimals, in exact arithmetic; divisor n
  double binary32_mean;        // of the values rounded to binary32, in exact arithmetic
  double binary32_variance;    // the same; divisor n
};
std::vector<StrdSet> strd_sets();

}  // namespace testing
