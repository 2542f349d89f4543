/// The digits that each kernel keeps of mean and variance on the data sets of NIST's Statistical Reference Datasets.
#pragma once

#include <learn/stage.h>

#include <optional>
#include <string>
#include <vector>

namespace learn {

/// Correct decimal digits: −log10 of the relative error, from 0 to digits_of_float; nothing where the kernel gave NaN.
using Digits = std::optional<double>;
inline constexpr double digits_of_float = 7.2;  // −log10 of 2⁻²⁴: a float can do no better than by chance

Digits digits(double got, double expected);

struct NistDigits {
  std::string set;
  Digits mean, variance;
};

/// One row for each of the nine sets, rounded to binary32, with eps = 0; the variance is 1 ÷ rstd². Compared with the
/// exact values of the rounded data. The stage is a LayerNorm.
std::vector<NistDigits> nist_digits(const Stage& stage);

/// The table for all LayerNorm kernels among the stages, up to 100 columns wide.
std::string nist_text(const std::vector<Stage>& stages);

}  // namespace learn
