#include <benchmark/summary.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace benchmarking {
namespace {

double percentile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Summary summarise(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("summarise() was given no timings; it needs at least one");
  std::sort(values.begin(), values.end());
  const double median = percentile(values, 0.5);
  return {median, (percentile(values, 0.9) - percentile(values, 0.1)) / median};
}

}  // namespace benchmarking
