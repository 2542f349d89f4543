// Exercise 07.1: LayerNorm's dx, T threads a row and R rows a block.
#include <1_dx.cuh>

#include <host/device_buffer.h>
#include <testing/backward.h>
#include <testing/cases.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#ifndef LNH_CUDA
#include <host/launch_window.h>
#include <simt/counts.h>
#endif

using testing::BackwardCase;
using testing::BackwardRunOptions;
using testing::Data;
using testing::NormCase;

namespace {

/// gamma and dy are random: where either is constant, half of the mistakes that one can make give the right values.
BackwardCase random_case(std::int64_t rows, std::int64_t cols, Data data, std::uint64_t seed) {
  return testing::make_backward_case(Norm::layer_norm, testing::make_case(rows, cols, data, seed), seed + 1000);
}
BackwardCase small_case() { return random_case(3, 100, Data::offset_10, 7); }

testing::BackwardSummation summation(std::int64_t rows, std::int64_t cols) {
  return {testing::dealt_in_fours(cols, shape_for(cols).threads), {rows, 1}};
}

BackwardRunOptions dx_alone(BackwardRunOptions options) {
  options.dgamma = options.dbeta = false;
  return options;
}
std::vector<float> dx_of(const BackwardCase& input, BackwardRunOptions options = {}) {
  return testing::run_backward(exercise::layer_norm_dx, input, dx_alone(options)).dx;
}

void require_written() {
  static const bool written = [] {
    const std::vector<float> dx = dx_of(small_case());
    return !std::all_of(dx.begin(), dx.end(), DeviceBuffer<float>::is_poison);
  }();
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: after the launch dx holds what it held before");
}

void check_case(const BackwardCase& input, BackwardRunOptions options = {}) {
  const auto verdict = testing::judge_backward(exercise::layer_norm_dx, input, summation, dx_alone(options));
  REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on " << verdict.text());
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": right within the bound on rows of every length and kind") {
  require_written();
  std::uint64_t seed = 1;
  // The ordinary first: it is what a reader sees. Then no multiple of 4, and every line of the table of shapes.
  for (const std::int64_t cols : {100, 64, 257, 1000, 31, 4, 3, 2, 1, 500, 1025, 2048, 2051, 8192, 16387}) {
    const std::vector<Data> kinds =
        cols <= 1000 ? testing::all_data() : std::vector<Data>{Data::centred, Data::offset_10000};
    for (const Data data : kinds) check_case(random_case(2, cols, data, seed++));
  }
  // More rows than a block has, and a last block that is not full: of 8 rows, and of 4 and of 2 with a barrier.
  check_case(random_case(21, 5, Data::offset_10, seed++));
  check_case(random_case(6, 600, Data::offset_10, seed++));
  check_case(random_case(5, 1500, Data::offset_10, seed++));
}

TEST_CASE(LNH_SUBJECT ": mean and rstd are taken as they are given") {
  require_written();
  BackwardCase input = small_case();  // with statistics that are not those of x: neither Σx̂ = 0 nor Σx̂² = cols holds
  for (float& mean : input.mean) mean += 2;
  for (float& rstd : input.rstd) rstd *= 3;
  check_case(input);
}

TEST_CASE(LNH_SUBJECT ": the columns beyond a row add nothing, however large the row's values are") {
  require_written();
  BackwardCase input = random_case(3, 101, Data::zero, 12);
  // All x are 2·10³⁶, so x̂ is 0. With 0 for x beyond the row, x̂ is infinite there, and 0 · ∞ is NaN.
  std::fill(input.forward.x.begin(), input.forward.x.end(), 2e36f);
  std::fill(input.mean.begin(), input.mean.end(), 2e36f);
  check_case(input);
}

TEST_CASE(LNH_SUBJECT ": a null gamma is 1") {
  require_written();
  for (const std::int64_t cols : {100, 37, 1500}) {
    NormCase forward = testing::make_case(3, cols, Data::offset_10, 14);
    forward.gamma.clear();
    check_case(testing::make_backward_case(Norm::layer_norm, forward, 15));
  }
}

TEST_CASE(LNH_SUBJECT ": dx may be written over dy") {
  require_written();
  check_case(small_case(), {.in_place = true});
  check_case(random_case(3, 1501, Data::offset_10, 10), {.in_place = true});
}

TEST_CASE(LNH_SUBJECT ": a misaligned buffer gives the same bits") {
  require_written();
  for (const std::int64_t cols : {5, 100, 1500, 4096}) {
    const BackwardCase input = random_case(3, cols, Data::offset_10, 11);
    const std::vector<float> aligned = dx_of(input);
    for (const BackwardRunOptions& misaligned :
         {BackwardRunOptions{.x_offset = 1}, BackwardRunOptions{.dy_offset = 2}, BackwardRunOptions{.dx_offset = 3},
          BackwardRunOptions{.gamma_offset = 1}}) {
      CHECK_MESSAGE(testing::same_bits(dx_of(input, misaligned), aligned),
                    LNH_SUBJECT " adds up a row in another order when a buffer is misaligned, so dx has other bits");
    }
  }
}

TEST_CASE(LNH_SUBJECT ": a NaN in x or dy spoils its own row, as IEEE says, and no other") {
  require_written();
  const std::size_t cols = 100;
  const BackwardCase clean = random_case(3, 100, Data::centred, 12);
  const std::vector<float> expected = dx_of(clean);
  for (const bool in_dy : {false, true}) {
    NormCase forward = clean.forward;
    std::vector<float> dy = clean.dy;
    (in_dy ? dy : forward.x)[cols + 17] = std::numeric_limits<float>::quiet_NaN();  // row 1
    const BackwardCase input = testing::make_backward_case(Norm::layer_norm, forward, dy);
    check_case(input);
    const std::vector<float> dx = dx_of(input);
    for (const std::size_t row : {0, 2}) {
      CHECK_MESSAGE(
          testing::same_bits(std::span(dx).subspan(row * cols, cols), std::span(expected).subspan(row * cols, cols)),
          LNH_SUBJECT " lets one row change another");
    }
  }
}

#ifndef LNH_CUDA  // only the executor can count, and run the last block of a launch alone

TEST_CASE(LNH_SUBJECT ": both sums go through one reduction") {
  require_written();
  for (const std::int64_t cols : {256, 4096}) {
    const std::uint64_t rows = 8, warps = shape_for(cols).threads / 32;  // of a row
    const std::uint64_t steps = warps == 1 ? 5 + 1 : 8 * 5 + 3;          // block_reduce on a row of 1 or 8 warps
    const std::uint64_t barriers = warps == 1 ? 0 : 2 * rows, shuffles = 2 * rows * steps;
    const simt::CountScope counts;
    dx_of(random_case(8, cols, Data::centred, 13));
    CHECK_MESSAGE(counts.total().barriers <= barriers,
                  LNH_SUBJECT " waits at " << counts.total().barriers << " barriers on " << rows << " rows of " << cols
                                           << " columns; one block_reduce a row has " << barriers);
    CHECK_MESSAGE(counts.total().shuffles <= shuffles,
                  LNH_SUBJECT " makes " << counts.total().shuffles << " shuffles on " << rows << " rows of " << cols
                                        << " columns; one block_reduce of two floats a row makes " << shuffles);
  }
}

TEST_CASE(LNH_SUBJECT ": x, dy and gamma are asked for at most twice, and dx is written once, 16 bytes a lane") {
  require_written();
  const std::int64_t rows = 3, cols = 4096;
  const std::uint64_t pass = rows * cols / 128;  // requests of 32 lanes, four floats each
  const simt::CountScope counts;
  dx_of(random_case(rows, cols, Data::centred, 13));
  const auto judge = [&](const std::string& what, const simt::AccessCounts& asked, std::uint64_t most) {
    CHECK_MESSAGE(asked.requests <= most, LNH_SUBJECT " asks memory " << asked.requests << " times: " << what << "; "
                                                                      << most << " requests of 512 bytes are enough");
    CHECK_MESSAGE(asked.sectors <= 16 * most, LNH_SUBJECT " spreads its requests: "
                                                  << what << " touch " << asked.sectors << " sectors, where " << most
                                                  << " requests of 32 neighbouring fours touch " << 16 * most);
  };
  judge("the loads of x", counts.total().buffer("x").loads, 2 * pass);
  judge("the loads of dy", counts.total().buffer("dy").loads, 2 * pass);
  judge("the loads of gamma", counts.total().buffer("gamma").loads, 2 * pass);
  judge("the stores of dx", counts.total().buffer("dx").stores, pass);
}

namespace {

/// Checks that the last rows of a matrix whose other rows nobody has written, run alone, have the bits that they have
/// in a matrix of their own.
void check_last_rows(std::int64_t rows, const BackwardCase& input) {
  const std::int64_t cols = input.forward.cols, last = input.forward.rows, first = rows - last;
  auto x = DeviceBuffer<float>::untouched("x", rows * cols), dy = DeviceBuffer<float>::untouched("dy", rows * cols);
  auto dx = DeviceBuffer<float>::untouched("dx", rows * cols);
  auto mean = DeviceBuffer<float>::untouched("mean", rows), rstd = DeviceBuffer<float>::untouched("rstd", rows);
  const DeviceBuffer<float> gamma("gamma", input.forward.gamma);
  x.upload(input.forward.x, first * cols);
  dy.upload(input.dy, first * cols);
  mean.upload(input.mean, first);
  rstd.upload(input.rstd, first);
  LayerNormBackwardArgs args;
  args.x = x.data();
  args.gamma = gamma.data();
  args.mean = mean.data();
  args.rstd = rstd.data();
  args.dy = dy.data();
  args.dx = dx.data();
  args.rows = rows;
  args.cols = cols;
  {
    const std::int64_t block_rows = shape_for(cols).rows;
    const LaunchWindow last_blocks(first / block_rows, (last + block_rows - 1) / block_rows);
    exercise::layer_norm_dx(args, nullptr);
  }
  CHECK_MESSAGE(testing::same_bits(dx.download(first * cols, last * cols), dx_of(input)),
                LNH_SUBJECT " gives other values to the last rows of a large matrix than to the same rows alone");
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": rows behind the 2^32nd element are right") {
  require_written();
  INFO("These rows lie behind the 2^32nd element of the matrix: is a row's offset computed in 32 bits?");
  check_last_rows((std::int64_t{1} << 20) + 3, random_case(3, 4096, Data::offset_10, 8));
}

TEST_CASE(LNH_SUBJECT ": the rows behind the 2^32nd row are right") {
  require_written();
  INFO("These rows lie behind the 2^32nd row of the matrix: is the number of a row cut to 32 bits?");
  BackwardCase input = random_case(3, 1, Data::offset_10, 8);
  for (float& mean : input.mean) mean += 1;  // else x̂ is 0, and dx as well, wherever a row begins
  check_last_rows((std::int64_t{1} << 32) + 3, input);
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE {
  testing::print_comparison(testing::backward_workload(exercise::layer_norm_dx, {.dgamma = false, .dbeta = false}));
}

#endif
