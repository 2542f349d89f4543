#include <numerics/methods.h>

#include <testing/reference.h>

#include <cmath>

namespace numerics {
namespace {

double square(double value) { return value * value; }

float textbook_serial(Row row, int) {
  return textbook(sums_sequential(row, Products::rounded), static_cast<std::int64_t>(row.size()));
}
float textbook_in_lanes(Row row, int lanes) {
  return textbook(sums_lanes(row, lanes, Products::rounded), static_cast<std::int64_t>(row.size()));
}

float welford_in_lanes(Row row, int lanes) { return welford_lanes(row, lanes); }
float textbook_kahan(Row row, int) { return textbook(sums_kahan(row), static_cast<std::int64_t>(row.size())); }

/// A method without lanes, called as those with lanes are.
template <float (*method)(Row)>
float serial(Row row, int) {
  return method(row);
}

double kappa_of(double mean, double variance) { return std::sqrt(1 + square(mean) / variance); }

}  // namespace

RowFacts facts(Row row, int lanes) {
  const auto n = static_cast<double>(row.size());
  const testing::Moments exact = testing::moments(row);
  return {n, std::ceil(n / lanes) + std::ceil(std::log2(lanes)), kappa_of(exact.mean, exact.variance),
          kappa_of(exact.mean - row[0], exact.variance)};
}

const std::vector<Method>& methods() {
  using F = const RowFacts&;
  static const std::vector<Method> all = {
      {"textbook", textbook_serial, "N·κ²·u", [](F f) { return f.n * square(f.kappa) * u; }, 2, false},
      {"textbook, lanes", textbook_in_lanes, "D·κ²·u", [](F f) { return f.depth * square(f.kappa) * u; }, 2, true},
      {"textbook, Kahan's sums", textbook_kahan, "5·κ²·u", [](F f) { return 5 * square(f.kappa) * u; }, 2, true},
      {"textbook, sums in double", serial<textbook_in_double>, "N·κ²·2⁻⁵³ + u",
       [](F f) { return f.n * square(f.kappa) * 0x1p-53 + u; }, 0, true},
      {"shifted by x[0]", serial<shifted>, "N·κ′²·u", [](F f) { return f.n * square(f.shifted_kappa) * u; }, 0, false},
      {"shifted by x[0], lanes", shifted_lanes, "D·κ′²·u", [](F f) { return f.depth * square(f.shifted_kappa) * u; }, 0,
       true},
      {"two passes", serial<two_pass>, "N·u + (N·κ·u)²", [](F f) { return f.n * u + square(f.n * f.kappa * u); }, 0,
       false},
      {"two passes, lanes", two_pass_lanes, "D·u + (D·κ·u)²",
       [](F f) { return f.depth * u + square(f.depth * f.kappa * u); }, 0, true},
      {"corrected two passes", serial<corrected_two_pass>, "N·u + N³·κ²·u³",
       [](F f) { return f.n * u + f.n * u * square(f.n * f.kappa * u); }, 0, false},
      {"corrected two passes, lanes", corrected_two_pass_lanes, "D·u + D³·κ²·u³",
       [](F f) { return f.depth * u + f.depth * u * square(f.depth * f.kappa * u); }, 0, true},
      {"Welford", serial<welford>, "N·κ·u", [](F f) { return f.n * f.kappa * u; }, 1, true},
      {"Welford, times 1/n", serial<welford_reciprocal>, "N·κ·u", [](F f) { return f.n * f.kappa * u; }, 1, false},
      {"Chan's merge, pairwise", serial<pairwise>, "log₂N·κ·u", [](F f) { return std::log2(f.n) * f.kappa * u; }, 1,
       false},
      {"Welford + Chan, lanes", welford_in_lanes, "D·κ·u", [](F f) { return f.depth * f.kappa * u; }, 1, true},
  };
  return all;
}

}  // namespace numerics
