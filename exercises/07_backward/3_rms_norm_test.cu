// Exercise 07.3: RMSNorm's dx and dγ from one launcher.
#include <3_rms_norm.cuh>

#include <host/device_buffer.h>
#include <testing/backward.h>
#include <testing/cases.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <host/launch_window.h>
#include <simt/counts.h>
#endif

using testing::BackwardCase;
using testing::BackwardResult;
using testing::BackwardRunOptions;
using testing::Data;
using testing::NormCase;

namespace {

/// gamma and dy are random: where either is constant, half of the mistakes that one can make give the right values.
BackwardCase random_case(std::int64_t rows, std::int64_t cols, Data data, std::uint64_t seed) {
  return testing::make_backward_case(Norm::rms_norm, testing::make_case(rows, cols, data, seed), seed + 1000);
}
BackwardCase small_case() { return random_case(10, 100, Data::offset_10, 7); }

testing::BackwardSummation summation(std::int64_t rows, std::int64_t cols) {
  const Slabs slabs = slabs_for(rows, cols);
  return {testing::dealt_in_fours(cols, shape_for(cols).threads), {slabs.rows_per_slab + (slabs.slabs + 31) / 32, 32}};
}

BackwardResult run(const BackwardCase& input, BackwardRunOptions options = {}) {
  return testing::run_backward(exercise::rms_norm, input, options);
}

bool is_untouched(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), DeviceBuffer<float>::is_poison);
}
void require_dx() {
  static const bool written = [] { return !is_untouched(run(small_case(), {.dgamma = false}).dx); }();
  REQUIRE_MESSAGE(written, LNH_SUBJECT ", dx, is not written yet: after the launch dx holds what it held before");
}
void require_dgamma() {
  static const bool written = [] { return !is_untouched(run(small_case(), {.dx = false}).dgamma); }();
  REQUIRE_MESSAGE(written,
                  LNH_SUBJECT ", dgamma, is not written yet: after the launch dgamma holds what it held before");
}

void check_case(const BackwardCase& input, BackwardRunOptions options = {}) {
  const auto verdict = testing::judge_backward(exercise::rms_norm, input, summation, options);
  REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on " << verdict.text());
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": dx is right within the bound on rows of every length and kind") {
  require_dx();
  std::uint64_t seed = 1;
  const auto check_dx = [&](std::int64_t rows, std::int64_t cols, Data data) {
    check_case(random_case(rows, cols, data, seed++), {.dgamma = false});
  };
  // The ordinary first: it is what a reader sees. Then no multiple of 4, and every line of the table of shapes.
  for (const std::int64_t cols : {100, 64, 257, 1000, 31, 4, 3, 2, 1, 500, 1025, 2048, 2051, 8192, 16387}) {
    const std::vector<Data> kinds =
        cols <= 1000 ? testing::all_data() : std::vector<Data>{Data::centred, Data::offset_100};
    for (const Data data : kinds) check_dx(2, cols, data);
  }
  // More rows than a block has, and a last block that is not full: of 8 rows, and of 4 and of 2 with a barrier.
  check_dx(21, 5, Data::offset_10);
  check_dx(6, 600, Data::offset_10);
  check_dx(5, 1500, Data::offset_10);
}

TEST_CASE(LNH_SUBJECT ": dgamma is right within the bound for every number of rows and columns and kind of data") {
  require_dgamma();
  std::uint64_t seed = 101;
  const auto check_dgamma = [&](std::int64_t rows, std::int64_t cols, Data data) {
    check_case(random_case(rows, cols, data, seed++), {.dx = false});
  };
  for (const Data data : testing::all_data()) check_dgamma(10, 70, data);
  // Slabs of four rows and of fewer; one slab; more slabs than a warp has lanes.
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 8, 31, 131, 517}) check_dgamma(rows, 33, Data::offset_10);
  // Columns for a part of a warp, a part of a block, several blocks.
  for (const std::int64_t cols : {1, 2, 31, 32, 255, 256, 257, 2051}) check_dgamma(9, cols, Data::offset_100);
  // As many slabs as there may be: they have five rows, the last of them four.
  check_dgamma(16387, 2, Data::offset_10);
}

TEST_CASE(LNH_SUBJECT ": dx and dgamma are right together, and dx may be written over dy") {
  require_dx();
  require_dgamma();
  for (const std::int64_t cols : {100, 37, 1500}) {
    const BackwardCase input = random_case(10, cols, Data::offset_10, 9);
    check_case(input);
    INFO("Here dx is written over dy: is dgamma made of the dy that was given?");
    check_case(input, {.in_place = true});
  }
}

TEST_CASE(LNH_SUBJECT ": rstd is taken as it is given") {
  require_dx();
  require_dgamma();
  BackwardCase input = small_case();  // with an rstd that is not that of x: Σx̂² = cols does not hold
  for (float& rstd : input.rstd) rstd *= 3;
  check_case(input);
}

TEST_CASE(LNH_SUBJECT ": a null gamma is 1") {
  require_dx();
  require_dgamma();
  for (const std::int64_t cols : {100, 37, 1500}) {
    NormCase forward = testing::make_case(3, cols, Data::offset_10, 14);
    forward.gamma.clear();
    check_case(testing::make_backward_case(Norm::rms_norm, forward, 15));
  }
}

TEST_CASE(LNH_SUBJECT ": accumulate adds to dgamma, and dx is written in any case") {
  require_dx();
  require_dgamma();
  check_case(small_case(), {.accumulate = true});
  check_case(small_case(), {.accumulate = true, .before = -0.5f});
}

TEST_CASE(LNH_SUBJECT ": a misaligned buffer gives the same bits, and so does every run") {
  require_dx();
  require_dgamma();
  for (const std::int64_t cols : {5, 100, 1500, 4096}) {
    const BackwardCase input = random_case(10, cols, Data::offset_10, 11);
    const BackwardResult aligned = run(input);
    for (const BackwardRunOptions& misaligned :
         {BackwardRunOptions{}, BackwardRunOptions{.x_offset = 1}, BackwardRunOptions{.dy_offset = 2},
          BackwardRunOptions{.dx_offset = 3}, BackwardRunOptions{.gamma_offset = 1}}) {
      const BackwardResult result = run(input, misaligned);
      CHECK_MESSAGE(testing::same_bits(result.dx, aligned.dx),
                    LNH_SUBJECT " adds up a row in another order when a buffer is misaligned, so dx has other bits");
      CHECK_MESSAGE(testing::same_bits(result.dgamma, aligned.dgamma),
                    LNH_SUBJECT " adds up a column in an order that changes from run to run");
    }
  }
}

TEST_CASE(LNH_SUBJECT ": a NaN in x or dy spoils its own row of dx, as IEEE says, and no other") {
  require_dx();
  const std::size_t cols = 100;
  const BackwardCase clean = random_case(3, 100, Data::centred, 12);
  const std::vector<float> expected = run(clean, {.dgamma = false}).dx;
  for (const bool in_dy : {false, true}) {
    NormCase forward = clean.forward;
    std::vector<float> dy = clean.dy;
    (in_dy ? dy : forward.x)[cols + 17] = std::numeric_limits<float>::quiet_NaN();  // row 1
    const BackwardCase input = testing::make_backward_case(Norm::rms_norm, forward, dy);
    check_case(input, {.dgamma = false});
    const std::vector<float> dx = run(input, {.dgamma = false}).dx;
    for (const std::size_t row : {0, 2}) {
      CHECK_MESSAGE(
          testing::same_bits(std::span(dx).subspan(row * cols, cols), std::span(expected).subspan(row * cols, cols)),
          LNH_SUBJECT " lets one row change another");
    }
  }
}

#ifndef LNH_CUDA  // only the executor can count, and run a part of a launch alone

TEST_CASE(LNH_SUBJECT ": only what is wanted is launched") {
  require_dx();
  require_dgamma();
  const auto launches = [](BackwardRunOptions options) {
    const simt::CountScope counts;
    run(small_case(), options);
    return counts.total().launches;
  };
  const std::uint64_t dx = launches({.dgamma = false}), dgamma = launches({.dx = false});
  CHECK_MESSAGE(dx == 1, LNH_SUBJECT " launches " << dx << " kernels for dx alone; one is enough");
  CHECK_MESSAGE(dgamma == 2, LNH_SUBJECT " launches " << dgamma << " kernels for dgamma alone; its stages are two");
}

TEST_CASE(LNH_SUBJECT ": dx has one reduction of one float a row") {
  require_dx();
  for (const std::int64_t cols : {256, 4096}) {
    const std::uint64_t rows = 8, warps = shape_for(cols).threads / 32;  // of a row
    const std::uint64_t steps = warps == 1 ? 5 + 1 : 8 * 5 + 3;          // block_reduce on a row of 1 or 8 warps
    const std::uint64_t barriers = warps == 1 ? 0 : 2 * rows, shuffles = rows * steps;
    const simt::CountScope counts;
    run(random_case(8, cols, Data::centred, 13), {.dgamma = false});
    CHECK_MESSAGE(counts.total().barriers <= barriers,
                  LNH_SUBJECT " waits at " << counts.total().barriers << " barriers on " << rows << " rows of " << cols
                                           << " columns; one block_reduce a row has " << barriers);
    CHECK_MESSAGE(counts.total().shuffles <= shuffles,
                  LNH_SUBJECT " makes " << counts.total().shuffles << " shuffles on " << rows << " rows of " << cols
                                        << " columns; one block_reduce of one float a row makes " << shuffles);
  }
}

TEST_CASE(LNH_SUBJECT ": memory is asked by neighbouring lanes, and no more often than needed") {
  require_dx();
  require_dgamma();
  const std::int64_t rows = 12, cols = 4096;
  const std::uint64_t elements = rows * cols;
  const BackwardCase input = random_case(rows, cols, Data::centred, 13);
  const auto judge = [](const std::string& what, const simt::AccessCounts& asked, std::uint64_t requests,
                        std::uint64_t floats) {
    CHECK_MESSAGE(asked.requests <= requests, LNH_SUBJECT " asks memory " << asked.requests << " times: " << what
                                                                          << "; " << requests
                                                                          << " requests are enough");
    CHECK_MESSAGE(asked.sectors <= floats / 8, LNH_SUBJECT " spreads its requests: "
                                                   << what << " touch " << asked.sectors << " sectors, where " << floats
                                                   << " floats asked for by neighbouring lanes touch " << floats / 8);
  };
  {
    const simt::CountScope counts;
    run(input, {.dgamma = false});
    for (const char* buffer : {"x", "dy", "gamma"}) {  // twice, 16 bytes a lane
      judge(std::string("for dx the loads of ") + buffer, counts.total().buffer(buffer).loads, 2 * elements / 128,
            2 * elements);
    }
    judge("the stores of dx", counts.total().buffer("dx").stores, elements / 128, elements);
  }
  {
    const simt::CountScope counts;
    run(input, {.dx = false});
    for (const char* buffer : {"x", "dy"}) {  // once, 4 bytes a lane
      judge(std::string("for dgamma the loads of ") + buffer, counts.total().buffer(buffer).loads, elements / 32,
            elements);
    }
    const std::uint64_t sums = cols * slabs_for(rows, cols).slabs;
    judge("the stores to workspace", counts.total().buffer("workspace").stores, sums / 32, sums);
    CHECK_MESSAGE(counts.total().buffer("gamma").loads.requests == 0,
                  LNH_SUBJECT " loads gamma for dgamma, of which it is no part");
  }
}

namespace {

/// Checks that the last rows of a matrix whose other rows nobody has written, run alone, have the dx that they have in
/// a matrix of their own.
void check_last_rows(std::int64_t rows, const BackwardCase& input) {
  const std::int64_t cols = input.forward.cols, last = input.forward.rows, first = rows - last;
  auto x = DeviceBuffer<float>::untouched("x", rows * cols), dy = DeviceBuffer<float>::untouched("dy", rows * cols);
  auto dx = DeviceBuffer<float>::untouched("dx", rows * cols), rstd = DeviceBuffer<float>::untouched("rstd", rows);
  const DeviceBuffer<float> gamma("gamma", input.forward.gamma);
  x.upload(input.forward.x, first * cols);
  dy.upload(input.dy, first * cols);
  rstd.upload(input.rstd, first);
  RmsNormBackwardArgs args;
  args.x = x.data();
  args.gamma = gamma.data();
  args.rstd = rstd.data();
  args.dy = dy.data();
  args.dx = dx.data();
  args.rows = rows;
  args.cols = cols;
  {
    const std::int64_t block_rows = shape_for(cols).rows;
    const LaunchWindow last_blocks(first / block_rows, (last + block_rows - 1) / block_rows);
    exercise::rms_norm(args, nullptr);
  }
  CHECK_MESSAGE(testing::same_bits(dx.download(first * cols, last * cols), run(input, {.dgamma = false}).dx),
                LNH_SUBJECT " gives other values to the last rows of a large matrix than to the same rows alone");
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": dx is right in rows behind the 2^32nd element") {
  require_dx();
  INFO("These rows lie behind the 2^32nd element of the matrix: is a row's offset computed in 32 bits?");
  check_last_rows((std::int64_t{1} << 20) + 3, random_case(3, 4096, Data::offset_10, 8));
}

TEST_CASE(LNH_SUBJECT ": dx is right in the rows behind the 2^32nd row") {
  require_dx();
  INFO("These rows lie behind the 2^32nd row of the matrix: is the number of a row cut to 32 bits?");
  BackwardCase input = random_case(3, 1, Data::offset_10, 8);
  for (float& rstd : input.rstd) rstd *= 3;  // else dx is 0, wherever a row begins
  check_last_rows((std::int64_t{1} << 32) + 3, input);
}

TEST_CASE(LNH_SUBJECT ": dgamma counts in the row behind the 2^32nd element") {
  require_dgamma();
  // Five rows of 2³⁰ columns, of which nobody has written more than the first 256 of each; the first block of either
  // stage has no need of the others.
  const std::int64_t rows = 5, cols = std::int64_t{1} << 30, block = exercise::column_threads;
  const BackwardCase input = random_case(rows, block, Data::offset_10, 8);
  auto x = DeviceBuffer<float>::untouched("x", rows * cols), dy = DeviceBuffer<float>::untouched("dy", rows * cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto begin = static_cast<std::size_t>(row * block), count = static_cast<std::size_t>(block);
    x.upload(std::span(input.forward.x).subspan(begin, count), row * cols);
    dy.upload(std::span(input.dy).subspan(begin, count), row * cols);
  }
  const DeviceBuffer<float> rstd("rstd", input.rstd);
  const auto dgamma = DeviceBuffer<float>::untouched("dgamma", cols);
  const auto workspace = DeviceBuffer<float>::untouched("workspace", workspace_floats(rows, cols));
  RmsNormBackwardArgs args;
  args.x = x.data();
  args.rstd = rstd.data();
  args.dy = dy.data();
  args.dgamma = dgamma.data();
  args.workspace = workspace.data();
  args.rows = rows;
  args.cols = cols;
  INFO("The last row lies behind the 2^32nd element of the matrix: is a row's offset computed in 32 bits?");
  {
    const LaunchWindow first_block(0, 1);
    exercise::rms_norm(args, nullptr);
  }
  const std::int64_t columns = warp_lanes;  // that the first block of the second stage has
  const auto head = [&](const std::vector<double>& values) { return std::span(values).first(columns); };
  const testing::BackwardReference reference = testing::norm_backward_reference(input);
  const testing::BackwardTolerance tolerance = testing::norm_backward_tolerance(input, summation(rows, cols));
  const testing::Comparison verdict =
      testing::compare("dgamma", dgamma.download(0, columns), head(reference.dgamma), head(tolerance.dgamma), columns);
  CHECK_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on five rows of 2^30 columns: " << verdict.text());
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE { testing::print_comparison(testing::backward_workload(exercise::rms_norm)); }

#endif
