/// LayerNorm and RMSNorm in double precision on the host: the truth that every kernel of the course is judged against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace testing {

/// Mean and variance of one row: two passes in double, the variance with the correction term
/// Σ(x−mean)² − (Σ(x−mean))²/n, divided by n. Source: Chan, Golub & LeVeque 1983.
struct Moments {
  double mean;
  double variance;
};
Moments moments(std::span<const float> row);
Moments moments(std::span<const double> row);

struct LayerNormReference {
  std::vector<double> y;         // [rows][cols]
  std::vector<double> mean;      // [rows]
  std::vector<double> variance;  // [rows]
  std::vector<double> rstd;      // [rows]
};

/// x [rows][cols]; gamma, beta [cols] or empty (1 and 0).
LayerNormReference layer_norm_reference(std::span<const float> x, std::span<const float> gamma,
                                        std::span<const float> beta, std::int64_t rows, std::int64_t cols, double eps);

struct RmsNormReference {
  std::vector<double> y;            // [rows][cols]
  std::vector<double> mean_square;  // [rows] Σx²/cols
  std::vector<double> rstd;         // [rows]
};

/// x [rows][cols]; gamma [cols] or empty (1).
RmsNormReference rms_norm_reference(std::span<const float> x, std::span<const float> gamma, std::int64_t rows,
                                    std::int64_t cols, double eps);

}  // namespace testing
