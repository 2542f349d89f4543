// The reference is right: against NIST's certified values, exact integers, and the textbook of small rows.
#include <testing/cases.h>
#include <testing/random.h>
#include <testing/reference.h>
#include <testing/strd.h>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// Correct digits, at most 15: NIST certifies no more.
double digits(double got, double expected) {
  if (got == expected) return 15;
  return std::min(15.0, -std::log10(std::abs(got - expected) / std::abs(expected)));
}

std::vector<float> rounded(const std::vector<double>& values) { return {values.begin(), values.end()}; }

// A 128-bit integer: enough for n·Σk² of integers k below 2⁴⁰.
__extension__ using Integer = __int128;

}  // namespace

TEST_CASE("the nine NIST sets are complete") {
  const std::map<std::string, std::size_t> sizes = {{"Lew", 200},      {"Lottery", 218},  {"Mavro", 50},
                                                    {"Michelso", 100}, {"NumAcc1", 3},    {"NumAcc2", 1001},
                                                    {"NumAcc3", 1001}, {"NumAcc4", 1001}, {"PiDigits", 5000}};
  const std::vector<testing::StrdSet> sets = testing::strd_sets();
  CHECK(sets.size() == sizes.size());
  for (const testing::StrdSet& set : sets) {
    CAPTURE(set.name);
    CHECK(set.values.size() == sizes.at(set.name));
  }
}

TEST_CASE(
    "mean and standard deviation have the digits that two passes in double can have against NIST's certified values") {
  // Where the decimals are not binary fractions, rounding them to double costs digits before the first addition.
  const std::map<std::string, double> deviation_digits = {
      {"Mavro", 13.1}, {"Michelso", 13.8}, {"NumAcc3", 9.4}, {"NumAcc4", 8.2}};
  for (const testing::StrdSet& set : testing::strd_sets()) {
    CAPTURE(set.name);
    const auto n = static_cast<double>(set.values.size());
    const auto [mean, variance] = testing::moments(set.values);
    CHECK(digits(mean, set.certified_mean) >= 14.5);
    const auto expected = deviation_digits.find(set.name);
    CHECK(digits(std::sqrt(variance * n / (n - 1)), set.certified_sd) >=
          (expected == deviation_digits.end() ? 14.9 : expected->second));
  }
}

TEST_CASE("on the binary32-rounded NIST sets the reference agrees with exact arithmetic to 14 digits") {
  for (const testing::StrdSet& set : testing::strd_sets()) {
    CAPTURE(set.name);
    const auto [mean, variance] = testing::moments(rounded(set.values));
    CHECK(digits(mean, set.binary32_mean) >= 14);
    CHECK(digits(variance, set.binary32_variance) >= 14);
  }
}

TEST_CASE("NumAcc4 is a constant row in binary32: its variance is exactly 0") {
  CHECK(testing::moments(rounded(testing::strd_sets()[7].values)).variance == 0);
}

TEST_CASE("the variance agrees with exact integer arithmetic, whatever the offset") {
  for (const testing::Data data :
       {testing::Data::offset_10, testing::Data::offset_1000, testing::Data::offset_10000, testing::Data::one_off}) {
    for (const std::int64_t cols : {2, 33, 1000, 4096}) {
      const testing::NormCase input = testing::make_case(1, cols, data, 3);
      CAPTURE(input.name);
      Integer sum = 0;
      Integer squares = 0;
      for (const float x : input.x) {
        const double scaled = std::ldexp(static_cast<double>(x),
                                         20);  // |x| ≥ 2⁻³ here, so 2²⁰·x … has at most a few bits behind the point
        const auto k = static_cast<std::int64_t>(scaled * 128);
        REQUIRE(static_cast<double>(k) == scaled * 128);
        sum += k;
        squares += Integer{k} * k;
      }
      const Integer n = cols;
      const double exact = std::ldexp(
          static_cast<double>(static_cast<long double>(n * squares - sum * sum) / (static_cast<long double>(n) * n)),
          -54);
      const double exact_mean = std::ldexp(static_cast<double>(static_cast<long double>(sum) / n), -27);
      const auto [mean, variance] = testing::moments(input.x);
      CHECK(std::abs(variance - exact) <= 1e-14 * exact);
      CHECK(std::abs(mean - exact_mean) <= 1e-14 * std::abs(exact_mean));
    }
  }
}

TEST_CASE("moments of short rows, by hand") {
  CHECK(testing::moments(std::vector<float>{5}).mean == 5);
  CHECK(testing::moments(std::vector<float>{5}).variance == 0);
  CHECK(testing::moments(std::vector<float>{1, 3}).mean == 2);
  CHECK(testing::moments(std::vector<float>{1, 3}).variance == 1);  // divided by n, not n − 1
  CHECK(testing::moments(std::vector<float>{40000, 40001, 40002, 40003}).variance == 1.25);
}

TEST_CASE("the worked example has the variance of its binary32 values, not of its decimals") {
  std::vector<float> row;
  for (int i = 1; i <= 10; ++i) row.push_back(static_cast<float>(1000 + 0.001 * i));
  const auto [mean, variance] = testing::moments(row);
  CHECK(std::abs(mean - 1000.0054992676) < 1e-9);
  CHECK(std::abs(variance - 8.2481279969e-6) < 1e-15);  // the decimals' is 8.25e-6
}

TEST_CASE("layer_norm_reference normalises each row, then applies γ and β by column") {
  const std::vector<float> x = {1, 3, 2, 2}, gamma = {2, 4}, beta = {10, 20};
  const auto result = testing::layer_norm_reference(x, gamma, beta, 2, 2, 3);  // 1/√(1 + 3) = 0.5
  CHECK(result.mean == std::vector<double>{2, 2});
  CHECK(result.variance == std::vector<double>{1, 0});
  CHECK(result.rstd == std::vector<double>{0.5, 1 / std::sqrt(3.0)});
  CHECK(result.y == std::vector<double>{9, 22, 10, 20});
  CHECK(testing::layer_norm_reference(x, {}, {}, 2, 2, 3).y == std::vector<double>{-0.5, 0.5, 0, 0});
  CHECK(testing::layer_norm_reference(x, gamma, {}, 2, 2, 3).y == std::vector<double>{-1, 2, 0, 0});
  CHECK(testing::layer_norm_reference(x, {}, beta, 2, 2, 3).y == std::vector<double>{9.5, 20.5, 10, 20});
}

TEST_CASE("values from public reports") {
  const auto y = [](std::vector<float> x, double eps) {
    return testing::layer_norm_reference(x, {}, {}, 1, static_cast<std::int64_t>(x.size()), eps).y;
  };
  // MLX-2238's published input: the variance of these 16 values is 0.216110915.
  CHECK(std::abs(testing::moments(testing::published_cases()[4].x).variance - 0.216110915) < 1e-9);
  // burn-5607: the first of 16 values 100 + 0.001 i.
  CHECK(std::abs(testing::layer_norm_reference(testing::published_cases()[5].x, {}, {}, 1, 16, 1e-5).y[0] + 1.34153) <
        1e-5);
  CHECK(std::abs(y({10, 11, 12}, 1e-5)[2] - 1.224736) < 1e-6);
  CHECK(std::abs(y({0, 0.001f}, 1e-5)[1] - 0.156174) < 1e-6);
}

TEST_CASE("NaN, inf and a constant row with eps = 0 follow IEEE") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {1, nan, 1, 2, 3, inf, 7, 7};
  const auto result = testing::layer_norm_reference(x, {}, {}, 4, 2, 0);
  for (const std::size_t i : {0, 1, 4, 5, 6, 7}) CHECK(std::isnan(result.y[i]));
  CHECK(result.y[2] == -1);
  CHECK(result.y[3] == 1);
  CHECK(result.mean[2] == inf);
  CHECK(result.rstd[3] == inf);
}

TEST_CASE("rms_norm_reference divides each row by the root of its mean square, then applies γ by column") {
  const std::vector<float> x = {1, 7, -3, -3}, gamma = {2, 4};
  const auto result = testing::rms_norm_reference(x, gamma, 2, 2, 0);  // mean squares 25 and 9
  CHECK(result.mean_square == std::vector<double>{25, 9});
  CHECK(result.rstd == std::vector<double>{1 / 5.0, 1 / 3.0});
  CHECK(result.y[0] == doctest::Approx(2 / 5.0).epsilon(1e-15));
  CHECK(result.y[1] == doctest::Approx(28 / 5.0).epsilon(1e-15));
  CHECK(result.y[2] == doctest::Approx(-2).epsilon(1e-15));  // a constant row: γ·c/|c|
  CHECK(result.y[3] == doctest::Approx(-4).epsilon(1e-15));
  CHECK(testing::rms_norm_reference(x, {}, 2, 2, 16).rstd == std::vector<double>{1 / std::sqrt(41.0), 1 / 5.0});
  CHECK(testing::rms_norm_reference(std::vector<float>(3), {}, 1, 3, 1e-5).y == std::vector<double>{0, 0, 0});
  CHECK_THROWS_WITH_AS(testing::rms_norm_reference(x, {}, 2, 3, 0), doctest::Contains("rms_norm_reference: x, gamma"),
                       std::invalid_argument);
}

TEST_CASE("RMSNorm's values from public reports") {
  const auto y = [](std::vector<float> x, double eps) {
    return testing::rms_norm_reference(x, {}, 1, static_cast<std::int64_t>(x.size()), eps).y;
  };
  // openvino-37084: one inf gives NaN in its own column and 0 in the others.
  const std::vector<double> with_inf = y({std::numeric_limits<float>::infinity(), 1, 1, 1}, 1e-6);
  CHECK(std::isnan(with_inf[0]));
  for (const std::size_t c : {1, 2, 3}) CHECK(with_inf[c] == 0);
  // TIM-VX-589: eps is the caller's.
  CHECK(std::abs(y(std::vector<float>(8, 0.001f), 1e-5)[7] - 0.3015113) < 1e-7);
  CHECK(std::abs(y(std::vector<float>(8, 0.001f), 1)[7] - 9.999995e-4) < 1e-9);
  // nntrainer-4318 and tilelang-ascend-890: the last columns count.
  CHECK(std::abs(y({2, 3, 6}, 1e-6)[2] - 1.484615) < 1e-6);
  std::vector<float> last_one(513, 1);
  last_one.back() = 32;
  CHECK(std::abs(y(last_one, 1e-6)[0] - 0.577914) < 1e-6);
  CHECK(std::abs(y(last_one, 1e-6)[512] - 18.493239) < 1e-6);
}

TEST_CASE("sizes that do not fit are refused") {
  const std::vector<float> x(6), two(2);
  CHECK_THROWS_WITH_AS(
      testing::layer_norm_reference(x, {}, {}, 2, 2, 0),
      "layer_norm_reference: x, gamma, beta have 6, 0, 0 elements, which do not fit 2 rows of 2 columns",
      std::invalid_argument);
  CHECK_THROWS_AS(testing::layer_norm_reference(x, two, {}, 2, 3, 0), std::invalid_argument);
  CHECK_THROWS_AS(testing::layer_norm_reference(x, {}, two, 2, 3, 0), std::invalid_argument);
}
