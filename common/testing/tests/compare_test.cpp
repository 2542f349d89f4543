// The comparer: what passes, what never passes, and what a person is told.
#include <testing/compare.h>

#include <host/device_buffer.h>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

using testing::compare;
using testing::Comparison;
using testing::correct_digits;

namespace {

constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();
const float poison = DeviceBuffer<float>("poison", 1).download()[0];

/// One element.
Comparison one(float got, double expected, double tolerance) {
  return compare("y", std::vector{got}, std::vector{expected}, std::vector{tolerance}, 1);
}

}  // namespace

TEST_CASE("an error up to the tolerance passes, a larger one does not") {
  CHECK(one(1.5f, 1.0, 0.5).passed());
  CHECK(one(1.5f, 1.0, 0.5).ratio == 1);
  CHECK(one(0.5f, 1.0, 0.5).passed());
  CHECK_FALSE(one(1.5f, 1.0, 0.499).passed());
  CHECK(one(3.0f, 1.0, 0.5).ratio == 4);
  CHECK(one(1.0f, 1.0, 0).passed());
  CHECK(one(1.0f, 1.0, 0).ratio == 0);
  CHECK_FALSE(one(1.0f, 1.0 + 1e-15, 0).passed());
}

TEST_CASE("NaN never passes for a number, and infinity only for the same infinity") {
  CHECK_FALSE(one(quiet_nan, 1, 1e300).passed());
  CHECK(one(quiet_nan, 1, 1e300).nan == 1);
  CHECK(one(quiet_nan, 1, 1).ratio == inf);
  CHECK_FALSE(one(2, 1, std::nan("")).passed());
  CHECK_FALSE(one(inf, 1, 1e300).passed());
  CHECK(one(inf, 1, 1e300).inf == 1);
  CHECK_FALSE(one(-inf, 1, 1e300).passed());
  CHECK(one(inf, inf, 0).passed());
  CHECK(one(-inf, -inf, 0).passed());
  CHECK_FALSE(one(inf, -inf, 1e300).passed());
  CHECK_FALSE(one(quiet_nan, inf, 1e300).passed());
  CHECK_FALSE(one(1, inf, 1e300).passed());
  CHECK(one(quiet_nan, std::nan(""), 0).passed());
  CHECK_FALSE(one(1, std::nan(""), 1e300).passed());
  CHECK_FALSE(one(inf, std::nan(""), 1e300).passed());
  CHECK(one(quiet_nan, std::nan(""), 0).nan == 0);  // it was expected
}

TEST_CASE("an element that was never written fails, even where NaN is expected") {
  for (const double expected : {0.0, 1.0, std::nan("")}) {
    const Comparison comparison = one(poison, expected, 1e300);
    CHECK_FALSE(comparison.passed());
    CHECK(comparison.poison == 1);
    CHECK(comparison.nan == 0);
  }
}

TEST_CASE("counts, the first bad element and the worst") {
  const std::vector<float> got = {1, 2.5f, quiet_nan, 4, 5, poison, 7, 108, inf};
  const std::vector<double> expected = {1, 2, 3, 4, 5.125, 6, 7, 8, 9};
  const std::vector<double> tolerance(9, 0.25);
  const Comparison comparison = compare("y", got, expected, tolerance, 3);
  CHECK(comparison.count == 9);
  CHECK(comparison.bad == 5);
  CHECK(comparison.nan == 1);
  CHECK(comparison.poison == 1);
  CHECK(comparison.inf == 1);
  CHECK(comparison.first_bad == 1);
  CHECK(comparison.worst == 2);
  CHECK(comparison.ratio == inf);

  const Comparison finite = compare("y", std::vector<float>{1, 2.5f, 3, 108}, std::vector<double>{1, 2, 3, 8},
                                    std::vector<double>(4, 0.25), 2);
  CHECK(finite.bad == 2);
  CHECK(finite.first_bad == 1);
  CHECK(finite.worst == 3);
  CHECK(finite.expected == 8);
  CHECK(finite.got == 108);
  CHECK(finite.tolerance == 0.25);
  CHECK(finite.ratio == 400);
}

TEST_CASE("the worst element is known when all pass") {
  const Comparison comparison =
      compare("y", std::vector<float>{1, 2.125f, 3}, std::vector<double>{1, 2, 3}, std::vector<double>(3, 0.5), 3);
  CHECK(comparison.passed());
  CHECK(comparison.worst == 1);
  CHECK(comparison.ratio == 0.25);
  CHECK(comparison.text() == "y: all 3 elements are within the bound; the largest error/bound is 0.25");
}

TEST_CASE("a failure's text says how many, where, what was expected and what came") {
  const Comparison comparison = compare("y", std::vector<float>{1, 2.5f, 3, 108}, std::vector<double>{1, 2, 3, 8},
                                        std::vector<double>(4, 0.25), 2);
  CHECK(comparison.text() ==
        "y: 2 of 4 elements are wrong\n"
        "  first: row 0, column 1\n"
        "  worst: row 1, column 1: expected 8, got 108, off by 100 where 0.25 is allowed (error/bound 400)");
  const Comparison odd = compare("mean", std::vector<float>{quiet_nan, inf, poison, 4}, std::vector<double>{1, 2, 3, 4},
                                 std::vector<double>(4, 0.25), 1);
  CHECK(odd.text() == "mean: 3 of 4 elements are wrong; 1 were never written; 1 are NaN; 1 are infinite\n"
                      "  first: row 0\n"
                      "  worst: row 0: expected 1, got nan");
  const Comparison untouched =
      compare("y", std::vector<float>(4, poison), std::vector<double>(4), std::vector<double>(4), 2);
  CHECK(untouched.text() == "y: not written yet: all 4 elements are as they were before the launch");
}

TEST_CASE("the reason of the bound stands below the worst element") {
  CHECK(testing::reason_of(2.5e-6, "u·L·Σ|dy|", {{"L", 9}, {"κ", 1.5}}, "common/testing/backward.h") ==
        "2.5e-06 = u·L·Σ|dy|, with L = 9, κ = 1.5; common/testing/backward.h");
  Comparison comparison = one(2, 1, 0.5);
  comparison.reason = "0.5 = a half";
  CHECK(comparison.text().ends_with("(error/bound 2)\n  bound: 0.5 = a half"));
}

TEST_CASE("sizes that do not fit are refused, never cut short") {
  const std::vector<float> got(4);
  const std::vector<double> four(4), three(3);
  CHECK_THROWS_WITH_AS(compare("y", got, three, four, 1),
                       "compare: 'y' has 4 elements, 3 expected values and 4 tolerances; all must be the same number "
                       "of rows of 1 columns",
                       std::invalid_argument);
  CHECK_THROWS_AS(compare("y", got, four, three, 1), std::invalid_argument);
  CHECK_THROWS_AS(compare("y", got, four, four, 3), std::invalid_argument);
  CHECK_THROWS_AS(compare("y", got, four, four, 0), std::invalid_argument);
  CHECK_THROWS_AS(correct_digits(got, three, 1), std::invalid_argument);
  CHECK(compare("y", {}, {}, {}, 5).passed());
}

TEST_CASE("correct digits are relative to the largest element of the row, and the worst row counts") {
  CHECK(correct_digits(std::vector<float>{1, 100.5f}, std::vector<double>{1, 100}, 2) ==
        doctest::Approx(2.301).epsilon(1e-3));  // 0.5 of 100
  CHECK(correct_digits(std::vector<float>{1.5f, 100}, std::vector<double>{1, 100}, 2) ==
        doctest::Approx(2.301).epsilon(1e-3));
  CHECK(correct_digits(std::vector<float>{1.5f, 100}, std::vector<double>{1, 100}, 1) ==
        doctest::Approx(0.301).epsilon(1e-2));
  CHECK(correct_digits(std::vector<float>{1, 2}, std::vector<double>{1, 2}, 2) == 15.95);
  CHECK(correct_digits(std::vector<float>{0, 0}, std::vector<double>{0, 0}, 2) == 15.95);
  CHECK(correct_digits(std::vector<float>{1, quiet_nan}, std::vector<double>{1, 2}, 2) == 0);
  CHECK(correct_digits(std::vector<float>{1, inf}, std::vector<double>{1, 2}, 2) == 0);
  CHECK(correct_digits(std::vector<float>{50, 1}, std::vector<double>{1, 1}, 2) == 0);
}
