#include <testing/reference.h>

#include <testing/pairwise_sum.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace testing {
namespace {

template <class T>
Moments two_pass(std::span<const T> row) {
  const auto n = static_cast<double>(row.size());
  const double mean = pairwise_sum(0, row.size(), [&](std::size_t i) { return double{row[i]}; }) / n;
  const auto deviation = [&](std::size_t i) { return row[i] - mean; };
  const double squares = pairwise_sum(0, row.size(), [&](std::size_t i) { return deviation(i) * deviation(i); });
  const double rest = pairwise_sum(0, row.size(), deviation);  // 0 but for the rounding of mean
  return {mean, (squares - rest * rest / n) / n};
}

/// RMSNorm is LayerNorm with the mean taken as 0: its variance is then the mean of the squares.
Moments moments_about_zero(std::span<const float> row) {
  const double squares = pairwise_sum(0, row.size(), [&](std::size_t i) { return double{row[i]} * row[i]; });
  return {0, squares / static_cast<double>(row.size())};
}

/// (x − mean)·rstd·gamma + beta, with mean and variance as `of` gives them for a row.
LayerNormReference normalised(Moments (*of)(std::span<const float>), const char* function, std::span<const float> x,
                              std::span<const float> gamma, std::span<const float> beta, std::int64_t rows,
                              std::int64_t cols, double eps) {
  const auto height = static_cast<std::size_t>(rows);
  const auto width = static_cast<std::size_t>(cols);
  if (x.size() != height * width || (!gamma.empty() && gamma.size() != width) ||
      (!beta.empty() && beta.size() != width)) {
    throw std::invalid_argument(std::string(function) + ": x, gamma, beta have " + std::to_string(x.size()) + ", " +
                                std::to_string(gamma.size()) + ", " + std::to_string(beta.size()) +
                                " elements, which do not fit " + std::to_string(rows) + " rows of " +
                                std::to_string(cols) + " columns");
  }
  LayerNormReference result;
  result.y.reserve(x.size());
  for (std::size_t r = 0; r < height; ++r) {
    const std::span<const float> row = x.subspan(r * width, width);
    const auto [mean, variance] = of(row);
    const double rstd = 1 / std::sqrt(variance + eps);
    for (std::size_t c = 0; c < width; ++c) {
      const double normalised = (row[c] - mean) * rstd;
      result.y.push_back(normalised * (gamma.empty() ? 1.0 : gamma[c]) + (beta.empty() ? 0.0 : beta[c]));
    }
    result.mean.push_back(mean);
    result.variance.push_back(variance);
    result.rstd.push_back(rstd);
  }
  return result;
}

}  // namespace

Moments moments(std::span<const float> row) { return two_pass(row); }
Moments moments(std::span<const double> row) { return two_pass(row); }

LayerNormReference layer_norm_reference(std::span<const float> x, std::span<const float> gamma,
                                        std::span<const float> beta, std::int64_t rows, std::int64_t cols, double eps) {
  return normalised(moments, "layer_norm_reference", x, gamma, beta, rows, cols, eps);
}

RmsNormReference rms_norm_reference(std::span<const float> x, std::span<const float> gamma, std::int64_t rows,
                                    std::int64_t cols, double eps) {
  LayerNormReference about_zero = normalised(moments_about_zero, "rms_norm_reference", x, gamma, {}, rows, cols, eps);
  return {std::move(about_zero.y), std::move(about_zero.variance), std::move(about_zero.rstd)};
}

}  // namespace testing
