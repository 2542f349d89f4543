// The methods give what arithmetic says they must: on rows where nothing is rounded, on constant rows, and on the
// worked example.
#include <numerics/example.h>
#include <numerics/methods.h>
#include <testing/reference.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using numerics::Products;
using numerics::Row;
using numerics::Tree;

namespace {

float of_example(numerics::Sums (*sums)(Row, Products), Products products) {
  const std::vector<float> row = numerics::example_row();
  return numerics::textbook(sums(row, products), 10, products);
}
numerics::Sums four_lanes(Row row, Products products) { return numerics::sums_lanes(row, 4, products); }
numerics::Sums far_first(Row row, Products products) {
  return numerics::sums_lanes(row, 32, products, Tree::far_first);
}
numerics::Sums near_first(Row row, Products products) {
  return numerics::sums_lanes(row, 32, products, Tree::near_first);
}

}  // namespace

TEST_CASE("where no operation rounds, every method gives the exact variance") {
  std::vector<float> row(8);
  std::iota(row.begin(), row.end(), 1.0f);  // 1 … n have the variance (n² − 1)/12
  for (const numerics::Method& method : numerics::methods()) {
    CAPTURE(method.name);
    for (const int lanes : {1, 4, 8, 32}) CHECK(method.variance(row, lanes) == 63.0f / 12);
  }
  const auto textbook = [&](const numerics::Sums& sums, Products products) {
    return numerics::textbook(sums, 8, products);
  };
  for (const Products products : {Products::rounded, Products::fused}) {
    CHECK(textbook(numerics::sums_sequential(row, products), products) == 63.0f / 12);
    CHECK(textbook(numerics::sums_reversed(row, products), products) == 63.0f / 12);
    CHECK(textbook(numerics::sums_pairwise(row, products), products) == 63.0f / 12);
  }
}

TEST_CASE("a constant row has the variance 0 by Welford and by Chan's merge, whatever the value and the length") {
  for (const float value : {1000.1f, -3e7f, 1e-20f, 0.1f}) {
    for (const std::size_t n : {1, 2, 3, 10, 31, 100, 1001}) {
      const std::vector<float> row(n, value);
      CHECK(numerics::welford(row) == 0);
      CHECK(numerics::welford_reciprocal(row) == 0);
      CHECK(numerics::pairwise(row) == 0);
      for (const int lanes : {1, 2, 32, 256}) CHECK(numerics::welford_lanes(row, lanes) == 0);
    }
  }
}

TEST_CASE("Kahan's sums keep what a plain sum drops") {
  std::vector<float> row(17, 0x1p-24f);  // half an ulp of 1: added to 1, it is gone
  row[0] = 1;
  CHECK(numerics::sums_sequential(row, Products::rounded).x == 1);
  CHECK(numerics::sums_kahan(row).x == 1 + 0x1p-20f);
}

TEST_CASE("fmaf rounds once where a product and an addition round twice") {
  const float x = 1 + 0x1p-12f;  // x² = 1 + 2⁻¹¹ + 2⁻²⁴ ends half an ulp behind a float
  const numerics::Sums minus_one{0, -1};
  CHECK(numerics::add(minus_one, x, Products::rounded).squares == 0x1p-11f);
  CHECK(numerics::add(minus_one, x, Products::fused).squares == 0x1p-11f + 0x1p-24f);
}

// The row of docs/numerics.md. Its variances were computed for this test by hand-ordered binary32 operations with exact
// rationals, outside of this program: as multiples of 1/8, and with fmaf to four digits.
TEST_CASE("a tree merges far lanes first, or near ones") {
  // 2²⁴ + 1 is rounded to 2²⁴: the 1 beside 2²⁴ is lost, the one beside −2²⁴ is not.
  const std::vector<float> row = {0x1p24f, 1, -0x1p24f, 1};
  CHECK(numerics::sums_lanes(row, 4, Products::rounded, Tree::far_first).x == 2);   // (a + c) + (b + d)
  CHECK(numerics::sums_lanes(row, 4, Products::rounded, Tree::near_first).x == 1);  // (a + b) + (c + d)
}

TEST_CASE("the worked example by every order of the sums") {
  CHECK(of_example(numerics::sums_sequential, Products::rounded) == 0.25f);
  CHECK(of_example(numerics::sums_reversed, Products::rounded) == 0);
  CHECK(of_example(numerics::sums_pairwise, Products::rounded) == 0);
  CHECK(of_example(four_lanes, Products::rounded) == 0);
  CHECK(of_example(far_first, Products::rounded) == -0.125f);
  CHECK(of_example(near_first, Products::rounded) == 0);
  const auto four_digits = [](double value) { return doctest::Approx(value).epsilon(2e-4); };
  CHECK(of_example(numerics::sums_sequential, Products::fused) == four_digits(0.2578));
  CHECK(of_example(numerics::sums_reversed, Products::fused) == four_digits(0.01364));
  CHECK(of_example(numerics::sums_pairwise, Products::fused) == four_digits(0.01364));
  CHECK(of_example(four_lanes, Products::fused) == four_digits(0.01364));
  CHECK(of_example(far_first, Products::fused) == doctest::Approx(-0.108).epsilon(5e-3));
  CHECK(of_example(near_first, Products::fused) == four_digits(0.01364));
}

TEST_CASE("all 10! sequential orders of the worked example give 0 or 0.25 without fmaf, and five values with it") {
  const std::vector<float> row = numerics::example_row();
  const auto rounded = numerics::textbook_in_all_orders(row, Products::rounded);
  REQUIRE(rounded.size() == 2);
  CHECK(rounded.at(0.0f) + rounded.at(0.25f) == 3628800);
  CHECK(static_cast<double>(rounded.at(0.0f)) / 3628800 == doctest::Approx(0.976).epsilon(6e-4));

  const auto fused = numerics::textbook_in_all_orders(row, Products::fused);
  std::int64_t orders = 0;
  std::vector<double> values;
  for (const auto& [variance, count] : fused) {
    orders += count;
    values.push_back(variance);
  }
  CHECK(orders == 3628800);
  REQUIRE(values.size() == 5);
  const double expected[] = {-0.111, 0.0136, 0.133, 0.139, 0.258};
  for (std::size_t i = 0; i < 5; ++i) CHECK(values[i] == doctest::Approx(expected[i]).epsilon(4e-3));
}

TEST_CASE("the count over all orders is that of trying each of them") {
  const std::vector<float> all = numerics::example_row();
  for (const Products products : {Products::rounded, Products::fused}) {
    std::vector<float> row(all.begin(), all.begin() + 7);
    std::map<float, std::int64_t> tried;
    do {
      ++tried[numerics::textbook(numerics::sums_sequential(row, products), 7, products)];
    } while (std::next_permutation(row.begin(), row.end()));
    CHECK(numerics::textbook_in_all_orders(row, products) == tried);
  }
}

TEST_CASE("what the other methods make of the worked example") {
  const std::vector<float> row = numerics::example_row();
  const double exact = testing::moments(Row(row)).variance;
  CHECK(exact == doctest::Approx(8.2481279969e-6).epsilon(1e-10));
  CHECK(numerics::welford(row) == doctest::Approx(8.7027e-6).epsilon(1e-5));
  CHECK(numerics::two_pass(row) == doctest::Approx(8.26456e-6).epsilon(1e-6));
  CHECK(std::abs(numerics::corrected_two_pass(row) - exact) / exact <= 5e-8);
  CHECK(numerics::textbook(numerics::sums_kahan(row), 10) == 0);  // compensation does not help the difference
}
