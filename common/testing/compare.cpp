#include <testing/compare.h>

#include <host/device_buffer.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

namespace testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// 0 where NaN or an infinity is expected and met, infinite where it is missed or where nothing was written.
double error_of(float got, double expected) {
  if (DeviceBuffer<float>::is_poison(got)) return infinity;
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected) ? 0 : infinity;
  if (got == expected) return 0;  // the same infinity as well
  return std::abs(got - expected);
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string place(std::int64_t index, std::int64_t cols) {
  if (cols == 1) return "row " + std::to_string(index);
  return "row " + std::to_string(index / cols) + ", column " + std::to_string(index % cols);
}

void require(bool fits, const std::string& what, std::size_t got, std::size_t expected, std::size_t tolerance,
             std::int64_t cols) {
  if (fits) return;
  throw std::invalid_argument("compare: '" + what + "' has " + std::to_string(got) + " elements, " +
                              std::to_string(expected) + " expected values and " + std::to_string(tolerance) +
                              " tolerances; all must be the same number of rows of " + std::to_string(cols) +
                              " columns");
}

}  // namespace

Comparison compare(std::string what, std::span<const float> got, std::span<const double> expected,
                   std::span<const double> tolerance, std::int64_t cols) {
  require(got.size() == expected.size() && got.size() == tolerance.size() && cols >= 1 &&
              got.size() % static_cast<std::size_t>(cols) == 0,
          what, got.size(), expected.size(), tolerance.size(), cols);
  Comparison result;
  result.what = std::move(what);
  result.count = static_cast<std::int64_t>(got.size());
  result.cols = cols;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = error_of(got[i], expected[i]);
    const double ratio = error == 0 ? 0 : error / tolerance[i];
    if (DeviceBuffer<float>::is_poison(got[i])) {
      ++result.poison;
    } else if (std::isnan(got[i]) && !std::isnan(expected[i])) {
      ++result.nan;
    } else if (std::isinf(got[i]) && std::isfinite(expected[i])) {
      ++result.inf;
    }
    if (!(error <= tolerance[i])) {
      ++result.bad;
      if (result.first_bad < 0) result.first_bad = static_cast<std::int64_t>(i);
    }
    if (result.worst < 0 || ratio > result.ratio) {
      result.worst = static_cast<std::int64_t>(i);
      result.ratio = ratio;
      result.expected = expected[i];
      result.got = got[i];
      result.tolerance = tolerance[i];
    }
  }
  return result;
}

std::string Comparison::text() const {
  if (passed())
    return what + ": all " + std::to_string(count) + " elements are within the bound; the largest error/bound is " +
           number(ratio);
  if (poison == count)
    return what + ": not written yet: all " + std::to_string(count) + " elements are as they were before the launch";
  std::string text = what + ": " + std::to_string(bad) + " of " + std::to_string(count) + " elements are wrong";
  if (poison > 0) text += "; " + std::to_string(poison) + " were never written";
  if (nan > 0) text += "; " + std::to_string(nan) + " are NaN";
  if (inf > 0) text += "; " + std::to_string(inf) + " are infinite";
  text += "\n  first: " + place(first_bad, cols);
  text += "\n  worst: " + place(worst, cols) + ": expected " + number(expected) + ", got " + number(got);
  if (std::isfinite(got) && std::isfinite(expected)) {
    text += ", off by " + number(std::abs(got - expected)) + " where " + number(tolerance) +
            " is allowed (error/bound " + number(ratio) + ")";
    if (!reason.empty()) text += "\n  bound: " + reason;
  }
  return text;
}

std::string reason_of(double bound, const std::string& formula,
                      const std::vector<std::pair<std::string, double>>& numbers, const std::string& file) {
  const auto short_number = [](double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3g", value);
    return std::string(text);
  };
  std::string text = short_number(bound) + " = " + formula + ", with ";
  for (const auto& [letter, value] : numbers) {
    if (letter != numbers.front().first) text += ", ";
    text += letter + " = " + short_number(value);
  }
  return text + "; " + file;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

double correct_digits(std::span<const float> got, std::span<const double> expected, std::int64_t cols) {
  require(got.size() == expected.size() && cols >= 1 && got.size() % static_cast<std::size_t>(cols) == 0, "got",
          got.size(), expected.size(), expected.size(), cols);
  const auto width = static_cast<std::size_t>(cols);
  double worst = 0;  // relative error
  for (std::size_t begin = 0; begin < got.size(); begin += width) {
    double largest = 0;
    double error = 0;
    for (std::size_t i = begin; i < begin + width; ++i) {
      if (!std::isfinite(got[i])) return 0;
      largest = std::max(largest, std::abs(expected[i]));
      error = std::max(error, std::abs(got[i] - expected[i]));
    }
    worst = std::max(worst, largest > 0 ? error / largest : error);
  }
  return std::clamp(-std::log10(worst), 0.0, 15.95) + 0.0;  // which makes 0 of −0
}

}  // namespace testing
