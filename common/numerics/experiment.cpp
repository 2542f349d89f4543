#include <numerics/experiment.h>

#include <testing/random.h>
#include <testing/reference.h>

#include <algorithm>
#include <cmath>

namespace numerics {
namespace {

// Half-decades, with √10 as a literal: no library's pow() decides the rows.
constexpr double root_10 = 3.1622776601683795;
constexpr double kappas[] = {1,   root_10,       1e1, 1e1 * root_10, 1e2, 1e2 * root_10,
                             1e3, 1e3 * root_10, 1e4, 1e4 * root_10, 1e5};

std::vector<float> random_row(std::int64_t n, double kappa, testing::Random& random) {
  const double mean = kappa == 1 ? 0 : 1;
  const double sigma = kappa == 1 ? 1 : 1 / std::sqrt(kappa * kappa - 1);
  std::vector<float> row;
  for (std::int64_t i = 0; i < n; ++i) row.push_back(static_cast<float>(mean + sigma * random.normal()));
  return row;
}

}  // namespace

std::optional<double> MethodErrors::slope() const {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Measured& point : by_kappa) {
    if (point.error < 10 * by_kappa.front().error || point.error > 0.3) continue;
    const double log_kappa = std::log10(point.kappa), log_error = std::log10(point.error);
    n += 1, x += log_kappa, y += log_error, xx += log_kappa * log_kappa, xy += log_kappa * log_error;
  }
  if (n < 3) return std::nullopt;
  return (n * xy - x * y) / (n * xx - x * x);
}

Experiment experiment(std::int64_t n, int lanes, std::int64_t rows) {
  Experiment result{n, lanes, rows, {}};
  for (const Method& method : methods()) result.methods.push_back({&method, {}});
  testing::Random random(static_cast<std::uint64_t>(n));
  for (const double kappa : kappas) {
    for (MethodErrors& errors : result.methods) errors.by_kappa.push_back({kappa, 0, 0, 0});
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::vector<float> row = random_row(n, kappa, random);
      const double exact = testing::moments(Row(row)).variance;
      const RowFacts row_facts = facts(row, lanes);
      for (MethodErrors& errors : result.methods) {
        const double error = std::abs(errors.method->variance(row, lanes) - exact) / exact;
        const double bound = errors.method->bound(row_facts);
        Measured& measured = errors.by_kappa.back();
        measured.error = std::max(measured.error, error);
        measured.bound = std::max(measured.bound, bound);
        measured.error_over_bound = std::max(measured.error_over_bound, error / bound);
      }
    }
  }
  return result;
}

std::vector<Experiment> experiments() { return {experiment(64, 32, 400), experiment(4096, 256, 100)}; }

}  // namespace numerics
