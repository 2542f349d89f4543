// One pass for both sums asks for x twice, is right on rows near 0, and fails on rows far from 0, as it must. The shift
// by x[0] mends those, and fails where x[0] is itself far from the others.
#include "one_pass.cuh"

#include <testing/accuracy.h>
#include <testing/cases.h>
#include <testing/contract.h>
#include <testing/reference.h>
#include <testing/reports.h>
#include <testing/run.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <testing/counted.h>
#endif

using testing::check_within_bound;
using testing::Data;
using testing::NormCase;
using testing::Stage;

namespace {

const testing::SummationOf block_per_row = testing::block_per_row<one_pass::block_threads>;
const Stage cancelling_stages[] = {
    {"one_pass::layer_norm_thread_per_row", one_pass::layer_norm_thread_per_row, testing::thread_per_row},
    {"one_pass::layer_norm", one_pass::layer_norm, block_per_row}};
const Stage shifted_stage = {"one_pass::layer_norm_shifted", one_pass::layer_norm_shifted, block_per_row};

/// Largest error/bound of y, mean and rstd; infinite where the kernel gave NaN.
double error_over_bound(const Stage& stage, const NormCase& input) {
  return testing::judge(stage.launch, input, stage.summation(input.cols)).ratio();
}

std::vector<NormCase> cases_of(const std::vector<Data>& kinds) {
  std::vector<NormCase> cases;
  std::uint64_t seed = 1;
  for (const std::int64_t cols : {8, 33, 100, 256, 257, 1000, 4096}) {
    for (const Data data : kinds) cases.push_back(testing::make_case(3, cols, data, seed++));
  }
  return cases;
}

std::vector<float> worked_example() {
  std::vector<float> row;
  for (int i = 1; i <= 10; ++i) row.push_back(static_cast<float>(1000 + 0.001 * i));
  return row;
}

NormCase published(const std::string& id) {
  for (const NormCase& input : testing::published_cases()) {
    if (input.name == id) return input;
  }
  FAIL("there is no published case " << id);
  return {};
}

/// √(1 + mean²/variance) of a row after the shift by x[0]; unshifted if origin is 0.
double kappa(const std::vector<float>& row, float origin) {
  const testing::Moments moments = testing::moments(row);
  const double mean = moments.mean - static_cast<double>(origin);
  return std::sqrt(1 + mean * mean / moments.variance);
}

}  // namespace

TEST_CASE("the cancelling kernels are right on rows near 0, however large the outliers") {
  for (const Stage& stage : cancelling_stages) {
    check_within_bound(stage,
                       cases_of({Data::centred, Data::channels, Data::massive, Data::massive_first, Data::zero}));
  }
}

TEST_CASE("the cancelling kernels fail on every short row that must convict them, by 10 times the bound or with NaN") {
  for (const Stage& stage : cancelling_stages) {
    int nan = 0, rows = 0;
    double smallest = std::numeric_limits<double>::infinity();
    for (const NormCase& input : testing::trap_cases()) {
      const double ratio = error_over_bound(stage, input);
      CHECK_MESSAGE(ratio >= 10, stage.name << " on " << input.name << ": error/bound is " << ratio);
      ++rows;
      if (std::isinf(ratio)) ++nan;
      smallest = std::min(smallest, ratio);
    }
    CHECK(rows >= 10);
    MESSAGE(stage.name << ": NaN on " << nan << " of " << rows << " rows, and at least " << smallest
                       << " times the bound on the others");
  }
}

TEST_CASE("the cancelling kernels fail on the rows that failed in public projects") {
  for (const Stage& stage : cancelling_stages) {
    const testing::Selection selection = testing::judgeable(testing::published_cases(), stage.summation);
    REQUIRE(selection.judged.size() >= 5);
    for (const NormCase& input : selection.judged) {
      const double ratio = error_over_bound(stage, input);
      CHECK_MESSAGE(ratio > 1, stage.name << " on " << input.name << ": error/bound is " << ratio);
      MESSAGE(stage.name << " on " << input.name << ": " << ratio << " times the bound");
    }
  }
}

TEST_CASE("on 1000.001 … 1000.010 the mean is right, and the variance is 0.25 by one thread and negative by the tree") {
  NormCase input;
  input.name = "1000.001 … 1000.010";
  input.rows = 1;
  input.cols = 10;
  input.x = worked_example();
  const testing::Moments exact = testing::moments(input.x);
  const auto variance = [&](const Stage& stage) {
    const testing::NormResult result = testing::run(stage.launch, input);
    CHECK(std::abs(result.mean[0] - exact.mean) <= 11 * 0x1p-24 * exact.mean);  // ten additions and a division
    const double rstd = result.rstd[0], from_rstd = 1 / (rstd * rstd) - static_cast<double>(input.eps);
    MESSAGE(stage.name << ": the mean is 1000 + " << result.mean[0] - 1000 << ", the variance " << from_rstd);
    return from_rstd;
  };
  CHECK(std::abs(variance(cancelling_stages[0]) - 0.25) < 0.01);  // 0.2578 where an FMA is used
  CHECK(std::isnan(variance(cancelling_stages[1])));              // −0.125, or −0.108
  CHECK(std::abs(variance(shifted_stage) / exact.variance - 1) < 1e-5);
}

TEST_CASE("on 1000.001 … 1000.010 three orders agree on the mean of the squares, and not on the square of the mean") {
  const std::vector<float> x = worked_example();
  double exact_sum = 0, exact_squares = 0;
  for (const double value : x) exact_sum += value, exact_squares += value * value;

  const auto serial = [](std::vector<float> values) {
    float sum = 0;
    for (const float value : values) sum += value;
    return sum;
  };
  const auto reversed = [&](std::vector<float> values) {
    std::reverse(values.begin(), values.end());
    return serial(values);
  };
  const auto tree = [](std::vector<float> values) {
    values.resize(32);
    for (std::size_t half = 16; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) values[i] += values[i + half];
    }
    return values[0];
  };
  const auto check_order = [&](const std::string& name, const auto& sum, float expected_square_of_mean) {
    std::vector<float> squares = x;
    for (float& value : squares) value *= value;
    const float mean_of_squares = sum(squares) / 10, mean = sum(x) / 10, square_of_mean = mean * mean;
    // As near to the exact value as a float can be.
    CHECK(mean_of_squares == static_cast<float>(exact_squares / 10));
    CHECK(std::abs(mean - exact_sum / 10) < 3 * 0x1p-14);  // floats near 1000 are 2⁻¹⁴ apart
    CHECK(square_of_mean == expected_square_of_mean);
    char line[100];
    std::snprintf(line, sizeof line, "mean %.6f, its square %.4f, mean of the squares %.4f", mean, square_of_mean,
                  mean_of_squares);
    MESSAGE(name << ": " << line);
  };
  // 1000011 less 0.25, 0 and −0.125.
  check_order("first to last", serial, 1000010.75f);
  check_order("last to first", reversed, 1000011.0f);
  check_order("32 lanes, tree", tree, 1000011.125f);
}

TEST_CASE("a constant row gives a negative variance, where its sums round") {
  // 1234² · 2⁸ needs 29 bits, a float has 24: 256 equal squares, added one by one, round again and again. Their tree
  // adds equal numbers, which is exact.
  const NormCase all_1234 = published("ORT-21935");
  for (const float y : testing::run(one_pass::layer_norm_thread_per_row, all_1234).y) CHECK(std::isnan(y));
  for (const float y : testing::run(one_pass::layer_norm, all_1234).y) CHECK(y == 0);

  // 255.1² needs 48 bits. It rounds before anything is added, and 12 squares do not fill a tree.
  NormCase all_255;
  all_255.name = "12 × 255.1";
  all_255.rows = 1;
  all_255.cols = 12;
  all_255.x.assign(12, 255.1f);
  for (const Stage& stage : cancelling_stages) {
    for (const float y : testing::run(stage.launch, all_255).y) CHECK(std::isnan(y));
  }
  for (const float y : testing::run(one_pass::layer_norm_shifted, all_255).y) CHECK(y == 0);
}

TEST_CASE("shifted by x[0], it is right within the bound on rows far from 0") {
  check_within_bound(shifted_stage, cases_of({Data::offset_10, Data::offset_100, Data::offset_1000, Data::offset_10000,
                                              Data::constant, Data::zero, Data::one_off}));
}

TEST_CASE("shifted by x[0], it is right within the bound on rows that failed in public projects") {
  check_within_bound(shifted_stage, testing::published_cases());
}

TEST_CASE("shifted by x[0], it is right within the bound on the short rows that convict a cancelling variance") {
  CHECK(testing::judgeable(testing::trap_cases(), shifted_stage.summation).refused.empty());
  check_within_bound(shifted_stage, testing::trap_cases());
}

TEST_CASE("shifted by x[0], it fails where x[0] is far from the others, and the kernel without the shift does not") {
  // −2600 at x[0], 1500 at another place, the rest near 0. The shift moves 4094 small values to about 2600.
  for (const std::int64_t cols : {1000, 4096}) {
    const NormCase input = testing::make_case(1, cols, Data::massive_first, 1);
    const double ratio = error_over_bound(shifted_stage, input);
    const double before = kappa(input.x, 0), after = kappa(input.x, input.x[0]);
    CHECK(ratio >= 10);
    CHECK(error_over_bound(cancelling_stages[1], input) <= 1);
    CHECK(before < 1.1);
    CHECK(after > 0.8 * std::sqrt(cols));  // √(2600² ÷ (2600² + 1500²)) = 0.87
    CHECK(after <= std::sqrt(cols));       // the most that a shift by an element of the row can do
    MESSAGE("1×" << cols << ": κ is " << before << ", after the shift " << after << "; error/bound is " << ratio);
  }
}

TEST_CASE("shifted by x[0], κ of a row is at most the root of its length") {
  for (const NormCase& input : testing::standard_cases()) {
    for (std::int64_t r = 0; r < input.rows; ++r) {
      const std::vector<float> row(input.x.begin() + r * input.cols, input.x.begin() + (r + 1) * input.cols);
      if (testing::moments(row).variance == 0) continue;  // the shift makes a constant row all zeros: exact, whatever κ
      CHECK(kappa(row, row[0]) <= std::sqrt(input.cols) * (1 + 1e-9));
    }
  }
}

CANCELLING_LAYER_NORM_CONTRACT(one_pass::layer_norm_thread_per_row, .in_place = InPlace::allowed,
                               .summation = testing::thread_per_row, .rows_per_block = one_pass::block_threads,
                               .constant_row = testing::ConstantRow::wrong)
CANCELLING_LAYER_NORM_CONTRACT(one_pass::layer_norm, .in_place = InPlace::allowed, .summation = block_per_row,
                               .rows_per_block = 1, .constant_row = testing::ConstantRow::wrong)
LAYER_NORM_CONTRACT(one_pass::layer_norm_shifted, .in_place = InPlace::allowed, .summation = block_per_row,
                    .rows_per_block = 1, .constant_row = testing::ConstantRow::exact)

CANCELLING_LAYER_NORM_REPORTS(one_pass::layer_norm_thread_per_row, .in_place = InPlace::allowed,
                              .summation = testing::thread_per_row, .rows_per_block = one_pass::block_threads,
                              .constant_row = testing::ConstantRow::wrong)
CANCELLING_LAYER_NORM_REPORTS(one_pass::layer_norm, .in_place = InPlace::allowed, .summation = block_per_row,
                              .rows_per_block = 1, .constant_row = testing::ConstantRow::wrong)
LAYER_NORM_REPORTS(one_pass::layer_norm_shifted, .in_place = InPlace::allowed, .summation = block_per_row,
                   .rows_per_block = 1, .constant_row = testing::ConstantRow::exact)

TEST_SUITE("long"){
    LAYER_NORM_CONTRACT_LONG(one_pass::layer_norm_thread_per_row, .in_place = InPlace::allowed,
                             .summation = testing::thread_per_row, .rows_per_block = one_pass::block_threads,
                             .constant_row = testing::ConstantRow::wrong)
        LAYER_NORM_CONTRACT_LONG(one_pass::layer_norm, .in_place = InPlace::allowed, .summation = block_per_row,
                                 .rows_per_block = 1, .constant_row = testing::ConstantRow::wrong)
            LAYER_NORM_CONTRACT_LONG(one_pass::layer_norm_shifted, .in_place = InPlace::allowed,
                                     .summation = block_per_row, .rows_per_block = 1,
                                     .constant_row = testing::ConstantRow::exact)}
#ifndef LNH_CUDA  // a GPU program cannot count its own requests: that is what a profiler is for

TEST_CASE("x is asked for exactly twice, and touched once") {
  const std::int64_t rows = 32, cols = 4096;
  const NormCase input = testing::make_case(rows, cols, Data::centred, 3);
  for (const Stage& stage : cancelling_stages) {
    CAPTURE(stage.name);
    const simt::BufferCounts x = testing::counts_of(stage.launch, input).buffer("x");
    CHECK(x.loads.requests == 2 * rows * cols / 32);
    CHECK(x.loads.bytes == 2 * rows * cols * sizeof(float));
    CHECK(x.bytes_touched_by_loads == rows * cols * sizeof(float));
  }
}

TEST_CASE("the shift costs one load more for each warp") {
  const std::int64_t rows = 3, cols = 4096, warps = one_pass::block_threads / 32;
  const NormCase input = testing::make_case(rows, cols, Data::centred, 3);
  const simt::BufferCounts x = testing::counts_of(one_pass::layer_norm_shifted, input).buffer("x");
  CHECK(x.loads.requests == 2 * rows * cols / 32 + rows * warps);
  CHECK(x.loads.sectors == 2 * rows * cols * sizeof(float) / 32 + rows * warps);  // all lanes read x[0]: one sector
  CHECK(x.bytes_touched_by_loads == rows * cols * sizeof(float));
}

TEST_CASE("both sums go through one tree: nine barriers a row, half of chapter 01") {
  const std::int64_t rows = 3;
  for (const LayerNormLauncher launch : {one_pass::layer_norm, one_pass::layer_norm_shifted}) {
    CHECK(testing::counts_of(launch, testing::make_case(rows, 4096, Data::centred, 3)).barriers == rows * (1 + 8));
  }
}

#endif
