// One kernel gives both norms: LayerNorm with the bits of chapter 05, and RMSNorm with a state of one float.
#include "rms_norm.cuh"

#include <host/device_buffer.h>
#include <testing/accuracy.h>
#include <testing/cases.h>
#include <testing/contract.h>
#include <testing/reports.h>
#include <testing/run.h>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "../05_fused_layer_norm/fused_layer_norm.cuh"

#ifndef LNH_CUDA
#include <testing/counted.h>
#endif

namespace {

testing::Summation summation(std::int64_t cols) { return testing::dealt_in_fours(cols, shape_for(cols).threads); }
std::int64_t rows_per_block(std::int64_t cols) { return shape_for(cols).rows; }

const testing::Stage stage{"rms_norm::rms_norm", rms_norm::rms_norm, summation};

/// x and what RMSNorm must make of it, to six digits, with γ = 1.
struct Example {
  std::string name;
  std::vector<float> x;
  float eps;
  std::vector<double> y;
};

}  // namespace

TEST_CASE("RMSNorm is right within the bound on every shape and kind of data") {
  testing::check_within_bound(stage, testing::standard_cases());
}

TEST_CASE("RMSNorm is right within the bound on rows that failed in public projects") {
  testing::check_within_bound(stage, testing::published_cases());
}

TEST_CASE("the rows that convict a cancelling variance are easy for RMSNorm") {
  for (const testing::NormCase& input : testing::trap_cases()) {
    const testing::NormVerdict verdict = testing::judge(rms_norm::rms_norm, input, summation(input.cols));
    CHECK_MESSAGE(verdict.passed(), verdict.text());
    CHECK(verdict.digits >= 6.2);  // 16 values by 32 threads: D = 4 + 5, and (½·D + 6)·u = 10.5·2⁻²⁴ is 6.2 digits
  }
}

TEST_CASE("RMSNorm's values are those of its definition") {
  const Example examples[] = {// Σx²/2 = 25/2, so rstd = √2/5.
                              {"3, 4", {3, 4}, 0, {3 * std::sqrt(2.0) / 5, 4 * std::sqrt(2.0) / 5}},
                              {"a constant row gives ±1, not 0", {-7, -7, -7}, 0, {-1, -1, -1}},
                              {"eps stands inside the root", {0.001f, 0.001f}, 1.0f, {0.000999999500, 0.000999999500}},
                              {"a row of zeros stays a row of zeros", {0, 0, 0, 0, 0}, 1e-5f, {0, 0, 0, 0, 0}}};
  for (const Example& example : examples) {
    CAPTURE(example.name);
    const auto cols = static_cast<std::int64_t>(example.x.size());
    const testing::NormCase input{
        .name = example.name, .rows = 1, .cols = cols, .x = example.x, .gamma = {}, .beta = {}, .eps = example.eps};
    const testing::NormResult result = testing::run(rms_norm::rms_norm, input);
    for (std::size_t c = 0; c < example.x.size(); ++c) {
      CHECK(std::abs(result.y[c] - example.y[c]) <= 1e-6 * std::abs(example.y[c]));
    }
  }
}

TEST_CASE("LayerNorm from this kernel has the bits of chapter 05") {
  std::vector<testing::NormCase> cases = testing::standard_cases();
  for (const testing::NormCase& input : testing::trap_cases()) cases.push_back(input);
  for (const std::int64_t cols : {2048, 5120, 8192, 16384, 16388, 16389}) {  // every line of the table of shapes
    cases.push_back(testing::make_case(2, cols, testing::Data::offset_10, static_cast<std::uint64_t>(cols)));
  }
  for (const testing::NormCase& input : cases) {
    CAPTURE(input.name);
    const testing::NormResult expected = testing::run(fused_layer_norm::layer_norm, input);
    const testing::NormResult got = testing::run(rms_norm::layer_norm, input);
    CHECK(testing::same_bits(got.y, expected.y));
    CHECK(testing::same_bits(got.mean, expected.mean));
    CHECK(testing::same_bits(got.rstd, expected.rstd));
  }
}

TEST_CASE("RMSNorm of a row and LayerNorm of it are the same where the mean is 0") {
  // ±1, ±2, … in pairs: every sum of them is exact in any order, and the mean is 0. The variance is then the mean
  // square.
  for (const std::int64_t cols : {2, 10, 64, 256}) {
    testing::NormCase input = testing::make_case(1, cols, testing::Data::zero, 5);
    input.beta.clear();
    for (std::size_t c = 0; c < input.x.size(); ++c) {
      input.x[c] = static_cast<float>(c / 2 + 1) * (c % 2 == 0 ? 1.0f : -1.0f);
    }
    CAPTURE(cols);
    const testing::NormVerdict verdict =
        testing::judge(testing::run(rms_norm::layer_norm, input), input, summation(cols), Norm::rms_norm);
    CHECK(verdict.y.ratio <= 2);  // another order of roundings: Welford's means are not 0 on the way
  }
}

TEST_CASE("more rows than the grid's blocks have places are refused with a sentence, before anything is launched") {
  const DeviceBuffer<float> x("x", 1);  // never looked at
  const std::int64_t rows = (std::int64_t{1} << 31) * rows_per_block(1);
  CHECK_THROWS_WITH_AS(rms_norm::rms_norm({.x = x.data(), .y = x.data(), .rows = rows, .cols = 1}, nullptr),
                       doctest::Contains("2147483648 blocks, but gridDim.x takes at most 2147483647"),
                       std::invalid_argument);
  CHECK(DeviceBuffer<float>::is_poison(x.download()[0]));
}

RMS_NORM_CONTRACT(rms_norm::rms_norm, .in_place = InPlace::allowed, .summation = summation,
                  .rows_per_block = rows_per_block)
LAYER_NORM_CONTRACT(rms_norm::layer_norm, .in_place = InPlace::allowed, .summation = summation,
                    .rows_per_block = rows_per_block, .constant_row = testing::ConstantRow::exact)

RMS_NORM_REPORTS(rms_norm::rms_norm, .in_place = InPlace::allowed, .summation = summation,
                 .rows_per_block = rows_per_block)
LAYER_NORM_REPORTS(rms_norm::layer_norm, .in_place = InPlace::allowed, .summation = summation,
                   .rows_per_block = rows_per_block, .constant_row = testing::ConstantRow::exact)

TEST_SUITE("long"){
    RMS_NORM_CONTRACT_LONG(rms_norm::rms_norm, .in_place = InPlace::allowed, .summation = summation,
                           .rows_per_block = rows_per_block)
        LAYER_NORM_CONTRACT_LONG(rms_norm::layer_norm, .in_place = InPlace::allowed, .summation = summation,
                                 .rows_per_block = rows_per_block, .constant_row = testing::ConstantRow::exact)}
#ifndef LNH_CUDA  // a GPU program cannot count its own requests: that is what a profiler is for

TEST_CASE("RMSNorm asks for x twice and for gamma once, and for neither beta nor mean") {
  const std::int64_t rows = 3, cols = 4096;
  const testing::NormCase input = testing::make_case(rows, cols, testing::Data::centred, 3);
  const simt::LaunchCounts rms = testing::counts_of(rms_norm::rms_norm, input);
  const simt::LaunchCounts layer = testing::counts_of(rms_norm::layer_norm, input);

  CHECK(rms.buffer("x").loads.requests == 2 * rows * cols / 128);
  CHECK(rms.buffer("gamma").loads.requests == rows * cols / 128);
  CHECK(rms.buffer("rstd").stores.lanes == rows);
  CHECK(rms.bytes_requested() == (4 * rows * cols + rows) * sizeof(float));
  CHECK(rms.bytes_touched() == (2 * rows * cols + cols) * sizeof(float) + rms.buffer("rstd").bytes_touched_by_stores);

  // LayerNorm: the same, and beta and mean.
  CHECK(layer.bytes_requested() - rms.bytes_requested() == (rows * cols + rows) * sizeof(float));
  CHECK(layer.buffer("beta").loads.requests == rows * cols / 128);
}

TEST_CASE("a state of one word takes a quarter of the shuffles and of the shared memory of one of four") {
  static_assert(sizeof(rms_norm::SumOfSquares) == 4 && sizeof(Welford) == 16);
  for (const std::int64_t cols : {256, 4096}) {
    const std::int64_t rows = 8, warps = shape_for(cols).threads / 32;  // of a row
    const testing::NormCase input = testing::make_case(rows, cols, testing::Data::centred, 3);
    const simt::LaunchCounts rms = testing::counts_of(rms_norm::rms_norm, input);
    const simt::LaunchCounts layer = testing::counts_of(rms_norm::layer_norm, input);
    CAPTURE(cols);
    // A warp takes five steps. Alone it takes one more to give the result to its lanes; eight are merged in three.
    REQUIRE((warps == 1 || warps == 8));
    CHECK(rms.shuffles == rows * (warps == 1 ? 5 + 1 : 8 * 5 + 3));
    CHECK(layer.shuffles == 4 * rms.shuffles);
    // One state of each warp, and the row's.
    CHECK(rms.shared_stores.bytes == (warps == 1 ? 0 : rows * (warps + 1) * sizeof(float)));
    CHECK(layer.shared_stores.bytes == 4 * rms.shared_stores.bytes);
    CHECK(layer.barriers == rms.barriers);
  }
}

#endif
