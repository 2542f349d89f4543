// The data that kernels are tested on: the same everywhere, and what they claim to be.
#include <testing/cases.h>
#include <testing/data_file.h>
#include <testing/random.h>
#include <testing/reference.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using testing::Data;
using testing::NormCase;
using testing::Random;

namespace {

std::uint64_t hash(const std::vector<NormCase>& cases) {
  std::uint64_t h = 0xCBF29CE484222325u;  // FNV-1a, over the bits of every float
  for (const NormCase& input : cases) {
    for (const auto* values : {&input.x, &input.gamma, &input.beta}) {
      for (const float value : *values) h = (h ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001B3u;
    }
  }
  return h;
}

void check_shape(const NormCase& input) {
  CAPTURE(input.name);
  CHECK(input.rows >= 1);
  CHECK(input.cols >= 1);
  CHECK(static_cast<std::int64_t>(input.x.size()) == input.rows * input.cols);
  for (const auto* vector : {&input.gamma, &input.beta}) {
    CHECK((vector->empty() || static_cast<std::int64_t>(vector->size()) == input.cols));
  }
}

double kappa(const std::vector<float>& row) {
  const auto [mean, variance] = testing::moments(row);
  return std::sqrt(1 + mean * mean / variance);
}

}  // namespace

TEST_CASE("the generator is SplitMix64") {
  // The first numbers of its reference implementation for this seed.
  Random random(1234567);
  for (const std::uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                       4593380528125082431u, 16408922859458223821u}) {
    CHECK(random.bits() == expected);
  }
}

TEST_CASE("normal() has mean 0, variance 1 and the kurtosis of twelve uniform numbers") {
  Random random(1);
  constexpr int count = 200000;
  double sum = 0, squares = 0, fourth = 0, largest = 0;
  for (int i = 0; i < count; ++i) {
    const double z = random.normal();
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
    largest = std::max(largest, std::abs(z));
  }
  CHECK(std::abs(sum / count) < 0.01);
  CHECK(std::abs(squares / count - 1) < 0.01);
  CHECK(std::abs(fourth / count - (3 - 1.2 / 12)) < 0.1);
  CHECK(largest > 4);
  CHECK(largest < 6);
}

TEST_CASE("uniform() stays in its range and fills it") {
  Random random(2);
  double low = 1e9, high = -1e9;
  for (int i = 0; i < 10000; ++i) {
    const double value = random.uniform(-2, 5);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  CHECK(low >= -2);
  CHECK(low < -1.99);
  CHECK(high < 5);
  CHECK(high > 4.99);
}

TEST_CASE("a case is a function of its seed alone") {
  const NormCase a = testing::make_case(3, 50, Data::massive, 7);
  CHECK(a.x == testing::make_case(3, 50, Data::massive, 7).x);
  CHECK(a.gamma == testing::make_case(3, 50, Data::massive, 7).gamma);
  CHECK(a.x != testing::make_case(3, 50, Data::massive, 8).x);
  CHECK(a.name == "3×50 massive, seed 7");
}

TEST_CASE("every compiler and library makes the same cases") {
  // A seal, not a truth: whoever changes the data on purpose writes the new number here.
  CHECK(hash(testing::standard_cases()) == 2370807572373582452u);
  CHECK(hash(testing::published_cases()) == 2447004982007690227u);
  CHECK(hash(testing::trap_cases()) == 16594804274603735008u);
}

TEST_CASE("every kind of data is what its name says") {
  constexpr std::int64_t cols = 4096;
  const auto row = [](Data data) { return testing::make_case(1, cols, data, 5).x; };
  const auto large = [](const std::vector<float>& x, float limit) {
    return std::count_if(x.begin(), x.end(), [&](float v) { return std::abs(v) > limit; });
  };

  CHECK(std::abs(std::sqrt(testing::moments(row(Data::centred)).variance) - 0.3) < 0.02);
  CHECK(kappa(row(Data::centred)) < 1.01);
  CHECK(large(row(Data::channels), 2) >= 3);
  CHECK(large(row(Data::channels), 2) <= 6);
  for (const Data data : {Data::massive, Data::massive_first}) {
    const std::vector<float> x = row(data);
    CHECK(large(x, 2) == 2);
    CHECK(std::count(x.begin(), x.end(), -2600.0f) == 1);
    CHECK(std::count(x.begin(), x.end(), 1500.0f) == 1);
    CHECK(kappa(x) < 1.1);  // outliers are not offsets
  }
  CHECK(row(Data::massive_first)[0] == -2600);
  CHECK(row(Data::massive)[0] != -2600);
  for (const auto& [data, expected] : {std::pair{Data::offset_10, 10.0},
                                       {Data::offset_100, 100.0},
                                       {Data::offset_1000, 1e3},
                                       {Data::offset_10000, 1e4}}) {
    CHECK(std::abs(kappa(row(data)) / expected - 1) < 0.05);
  }
  CHECK(testing::moments(row(Data::constant)).variance == 0);
  CHECK(row(Data::constant)[0] != 0);
  CHECK(large(row(Data::zero), 0) == 0);
  CHECK(large(row(Data::one_off), 255.5) == cols - 1);
  CHECK(row(Data::one_off).back() == 255);
}

TEST_CASE("rows of a case differ, and offsets have both signs") {
  for (const Data data : {Data::centred, Data::offset_100, Data::constant, Data::massive}) {
    const NormCase input = testing::make_case(2, 100, data, 6);
    CAPTURE(input.name);
    CHECK(!std::equal(input.x.begin(), input.x.begin() + 100, input.x.begin() + 100));
  }
  const NormCase offset = testing::make_case(2, 100, Data::offset_100, 6);
  CHECK(offset.x[0] > 0);
  CHECK(offset.x[100] < 0);
}

TEST_CASE("γ and β have both signs and no column is like another") {
  const NormCase input = testing::make_case(1, 100, Data::centred, 7);
  for (const auto* vector : {&input.gamma, &input.beta}) {
    CHECK(std::set<float>(vector->begin(), vector->end()).size() == 100);
    CHECK(*std::min_element(vector->begin(), vector->end()) < 0);
    CHECK(*std::max_element(vector->begin(), vector->end()) > 0);
  }
}

TEST_CASE("the standard cases cover every kind of data, the tails of vector, warp and block, and one row or many") {
  const std::vector<NormCase> cases = testing::standard_cases();
  std::set<std::string> names;
  std::set<std::int64_t> widths;
  std::int64_t elements = 0, most_rows = 0;
  for (const NormCase& input : cases) {
    check_shape(input);
    names.insert(input.name);
    widths.insert(input.cols);
    most_rows = std::max(most_rows, input.rows);
    elements += input.rows * input.cols;
  }
  CHECK(names.size() == cases.size());
  for (const std::int64_t width : {1, 2, 3, 4, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4096})
    CHECK(widths.contains(width));
  for (const Data data : testing::all_data()) {
    CHECK(std::any_of(names.begin(), names.end(),
                      [&](const std::string& name) { return name.find(testing::name(data)) != std::string::npos; }));
  }
  CHECK(most_rows > 256);
  CHECK(elements < 400000);  // what the executor runs in a few seconds
}

TEST_CASE("the published cases are the rows that the reports give") {
  const std::vector<NormCase> cases = testing::published_cases();
  CHECK(cases.size() == 10);
  for (const NormCase& input : cases) check_shape(input);
  CHECK(cases[0].name == "ORT-21935");
  CHECK(cases[0].x == std::vector<float>(256, 1234));
  CHECK(cases[2].x == std::vector<float>{80000, 80001, 80002, 80003});
  CHECK(cases[3].x.size() == 10240);
  CHECK(cases[3].x[10238] == 256);
  CHECK(cases[3].x[10239] == 255);
  CHECK(cases[4].x[15] == 1450.364990234375f);
  CHECK(cases[5].x[15] == static_cast<float>(100 + 0.001 * 15));
  CHECK(std::abs(kappa(cases[7].x) - 1e4) < 200);
  CHECK(cases[8].rows == 5);
  CHECK(cases[9].eps == 1e-5f);
}

TEST_CASE("the trap rows have the exact mean and variance that their table gives") {
  const std::vector<NormCase> cases = testing::trap_cases();
  const auto table = testing::data_table("traps.csv");
  REQUIRE(cases.size() == table.size());
  CHECK(cases.size() == 14);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(cases[i].name);
    check_shape(cases[i]);
    CHECK(cases[i].cols <= 16);
    const auto [mean, variance] = testing::moments(cases[i].x);
    const double exact_mean = testing::number(table[i].at("exact_mean_of_binary32_row"));
    const double exact_variance = testing::number(table[i].at("exact_var_of_binary32_row"));
    CHECK(std::abs(mean - exact_mean) <= 1e-11 * exact_mean);             // 12 digits are given
    CHECK(std::abs(variance - exact_variance) <= 1e-8 * exact_variance);  // 9 digits are given
  }
}

TEST_CASE("a data file that is not there is named") {
  CHECK_THROWS_WITH_AS(testing::data_lines("nothing.csv"), doctest::Contains("common/testing/data/nothing.csv"),
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(testing::number("12x"), "'12x' is not a number", std::invalid_argument);
  CHECK_THROWS_AS(testing::number(""), std::invalid_argument);
}

namespace {

/// Σx and Σx² in so many partial sums, which are then added up by a tree.
std::pair<float, float> sums(const std::vector<float>& row, std::size_t partial_sums, bool fma) {
  std::vector<float> sum(partial_sums), squares(partial_sums);
  for (std::size_t i = 0; i < row.size(); ++i) {
    float& square = squares[i % partial_sums];
    sum[i % partial_sums] += row[i];
    const float product = row[i] * row[i];
    square = fma ? std::fmaf(row[i], row[i], square) : square + product;
  }
  for (std::size_t half = partial_sums / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) {
      sum[i] += sum[i + half];
      squares[i] += squares[i + half];
    }
  }
  return {sum[0], squares[0]};
}

/// The variance from both sums, in every way to write E[x²] − E[x]².
std::vector<float> variances(float sum, float squares, float n) {
  const float mean = sum / n;
  return {squares / n - mean * mean,
          std::fmaf(-mean, mean, squares / n),
          (squares - sum * mean) / n,
          std::fmaf(-sum, mean, squares) / n,
          (squares - sum * sum / n) / n,
          squares / n - sum * sum / n / n,
          squares / n - sum * sum / (n * n),
          (n * squares - sum * sum) / (n * n),
          std::fmaf(-sum, sum, n * squares) / (n * n),
          (squares - n * mean * mean) / n,
          std::fmaf(-n * mean, mean, squares) / n,
          (squares - 2 * mean * sum + n * mean * mean) / n};
}

}  // namespace

TEST_CASE("on the rows said to convict every E[x²] − E[x]², every order and every form of it is convicted") {
  const std::vector<NormCase> cases = testing::every_order_trap_cases();
  CHECK(cases.size() == 6);
  for (const NormCase& input : cases) {
    CAPTURE(input.name);
    const double exact = testing::moments(input.x).variance;
    std::vector<float> row = input.x;
    std::sort(row.begin(), row.end());
    do {
      for (const std::size_t partial_sums : {1, 2, 4, 8}) {
        for (const bool fma : {false, true}) {
          const auto [sum, squares] = sums(row, partial_sums, fma);
          for (const float variance : variances(sum, squares, static_cast<float>(row.size()))) {
            CHECK((variance < 0 || variance > 10 * exact));
          }
        }
      }
    } while (std::next_permutation(row.begin(), row.end()));
  }
}
