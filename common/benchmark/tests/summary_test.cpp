#include <benchmark/summary.h>

#include <doctest/doctest.h>

#include <stdexcept>

using benchmarking::summarise;

TEST_CASE("the median is the middle one, or the mean of the two in the middle, in any order") {
  CHECK(summarise({3, 1, 2}).median == 2);
  CHECK(summarise({4, 1, 3, 2}).median == 2.5);
  CHECK(summarise({7}).median == 7);
}

TEST_CASE("one outlier among many does not move the median or the spread") {
  const auto summary = summarise({10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 900});
  CHECK(summary.median == 10);
  CHECK(summary.spread == 0);
}

TEST_CASE("the spread runs from the 10th to the 90th percentile, in parts of the median") {
  // 0, 10, …, 100: the percentiles are the elements themselves.
  CHECK(summarise({0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}).spread == doctest::Approx((90.0 - 10.0) / 50.0));
}

TEST_CASE("no timings have no median") { CHECK_THROWS_AS(summarise({}), std::invalid_argument); }
