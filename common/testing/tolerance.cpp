#include <testing/tolerance.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace testing {
namespace {

constexpr double u = 0x1p-24;

double bound_at_the_mean(double kappa, Summation summation) { return roundings_of_normalised(summation) * kappa * u; }

/// κ = max(1, |mean|/√(variance + eps)). Not finite where the reference is not: std::max gives its first argument if
/// that is NaN.
double condition(double mean, double rstd) { return std::max(std::abs(mean) * rstd, 1.0); }

/// The largest error of the variance, not relative: that is 0 · ∞ for a constant row.
double variance_bound(double mean, double variance, double d) {
  const double squares = variance + mean * mean;  // κ₀²·variance
  const double welford = d * u * std::sqrt(variance * squares);
  const double two_pass = d * u * variance + d * d * u * u * squares;
  return std::max(welford, two_pass);
}

std::string why_refused(const NormCase& input, std::int64_t row, double kappa, Summation summation) {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers,
                "the bound allows %.2g in x̂, more than %.1g, as κ = %.2g and each thread adds up %lld elements",
                bound_at_the_mean(kappa, summation), largest_useful_bound, kappa,
                static_cast<long long>(summation.serial));
  return input.name + ": row " + std::to_string(row) + " says nothing about this kernel: " + numbers;
}

bool says_nothing(double kappa, Summation summation) {
  return std::isfinite(kappa) && bound_at_the_mean(kappa, summation) > largest_useful_bound;
}

}  // namespace

double longest_chain(Summation summation) {
  const int tree_levels = std::bit_width(static_cast<std::uint64_t>(summation.threads) - 1);  // ⌈log₂T⌉
  return static_cast<double>(summation.serial) + tree_levels;
}

double roundings_of_normalised(Summation summation) {
  return static_cast<double>(std::max<std::int64_t>(4, summation.serial)) + 8;
}

Summation thread_per_row(std::int64_t cols) { return {cols, 1}; }

LayerNormTolerance layer_norm_tolerance(const NormCase& input, const LayerNormReference& reference,
                                        Summation summation) {
  const double d = longest_chain(summation);
  const auto cols = static_cast<std::size_t>(input.cols);
  const auto rows = static_cast<std::size_t>(input.rows);
  const double eps = input.eps;

  LayerNormTolerance result;
  result.y.reserve(rows * cols);
  for (std::size_t r = 0; r < rows; ++r) {
    const double mean = reference.mean[r];
    const double variance = reference.variance[r];
    const double rstd = reference.rstd[r];
    const double kappa = condition(mean, rstd);
    result.kappa.push_back(kappa);
    if (!std::isfinite(kappa)) {
      result.y.insert(result.y.end(), cols, 0.0);
      result.mean.push_back(0);
      result.rstd.push_back(0);
      continue;
    }
    if (says_nothing(kappa, summation)) {
      throw std::invalid_argument(why_refused(input, static_cast<std::int64_t>(r), kappa, summation));
    }
    const double at_the_mean = bound_at_the_mean(kappa, summation);
    double magnitude = 0;  // Σ|x|
    for (std::size_t c = 0; c < cols; ++c) {
      const double x = input.x[r * cols + c];
      const double normalised = (x - mean) * rstd;
      const double gamma = input.gamma.empty() ? 1.0 : input.gamma[c];
      const double beta = input.beta.empty() ? 0.0 : input.beta[c];
      const double normalised_bound = at_the_mean * (1 + std::abs(normalised) / 2) + 4 * u * std::abs(normalised);
      result.y.push_back(std::abs(gamma) * normalised_bound + 2 * u * (std::abs(gamma * normalised) + std::abs(beta)));
      magnitude += std::abs(x);
    }
    result.mean.push_back((d + 1) * u * magnitude / static_cast<double>(cols));
    result.rstd.push_back(rstd * (variance_bound(mean, variance, d) / (2 * (variance + eps)) + 4 * u));
  }
  return result;
}

RmsNormTolerance rms_norm_tolerance(const NormCase& input, const RmsNormReference& reference, Summation summation) {
  const double d = longest_chain(summation);
  const auto cols = static_cast<std::size_t>(input.cols);
  const double eps = input.eps;

  RmsNormTolerance result;
  result.y.reserve(reference.y.size());
  for (std::size_t r = 0; r < reference.rstd.size(); ++r) {
    const double mean_square = reference.mean_square[r];
    const double rstd = reference.rstd[r];
    if (!std::isfinite(mean_square) || !std::isfinite(rstd)) {
      result.y.insert(result.y.end(), cols, 0.0);
      result.rstd.push_back(0);
      continue;
    }
    const double of_sum = d * u * mean_square / (2 * (mean_square + eps));
    for (std::size_t c = 0; c < cols; ++c) {
      result.y.push_back(std::abs(reference.y[r * cols + c]) * (of_sum + 6 * u));
    }
    result.rstd.push_back(rstd * (of_sum + 4 * u));
  }
  return result;
}

Selection judgeable(const std::vector<NormCase>& cases, SummationOf summation) {
  Selection selection;
  for (const NormCase& input : cases) {
    const Summation kernel = summation(input.cols);
    NormCase kept = input;
    kept.rows = 0;
    kept.x.clear();
    for (std::int64_t r = 0; r < input.rows; ++r) {
      const std::span<const float> row =
          std::span(input.x).subspan(static_cast<std::size_t>(r * input.cols), static_cast<std::size_t>(input.cols));
      const auto [mean, variance] = moments(row);
      const double kappa = condition(mean, 1 / std::sqrt(variance + static_cast<double>(input.eps)));
      if (says_nothing(kappa, kernel)) {
        selection.refused.push_back(why_refused(input, r, kappa, kernel));
        continue;
      }
      kept.x.insert(kept.x.end(), row.begin(), row.end());
      ++kept.rows;
    }
    if (kept.rows > 0) selection.judged.push_back(std::move(kept));
  }
  return selection;
}

}  // namespace testing
