// Exercise 06.1: RMSNorm, T threads a row and R rows a block.
#include <1_rms_norm.cuh>

#include <host/device_buffer.h>
#include <testing/cases.h>
#include <testing/run.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#ifndef LNH_CUDA
#include <host/launch_window.h>
#include <simt/counts.h>
#endif

using testing::Data;
using testing::NormCase;
using testing::NormResult;

namespace {

NormCase small_case() { return testing::make_case(3, 100, Data::offset_10, 7); }

void require_written() {
  static const bool written = [] {
    const std::vector<float> y = testing::run(exercise::rms_norm, small_case()).y;
    return !std::all_of(y.begin(), y.end(), DeviceBuffer<float>::is_poison);
  }();
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: after the launch y holds what it held before");
}

void check_case(const NormCase& input, testing::RunOptions options = {}) {
  const testing::Summation summation = testing::dealt_in_fours(input.cols, shape_for(input.cols).threads);
  const auto verdict = testing::judge(exercise::rms_norm, input, summation, options);
  REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on " << verdict.text());
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": right within the bound on rows of every length and kind") {
  require_written();
  std::uint64_t seed = 1;
  // The ordinary first: it is what a reader sees. Then no multiple of 4, and every line of the table of shapes.
  for (const std::int64_t cols : {100, 64, 257, 1000, 31, 4, 3, 2, 1, 1025, 2048, 2051, 8192, 8195, 16387}) {
    const std::vector<Data> kinds =
        cols <= 1000 ? testing::all_data() : std::vector<Data>{Data::centred, Data::offset_100};
    for (const Data data : kinds) check_case(testing::make_case(3, cols, data, seed++));
  }
  // More rows than a block has, and a last block that is not full: of 8 rows, and of 4 with a barrier.
  check_case(testing::make_case(21, 5, Data::offset_10, seed++));
  check_case(testing::make_case(6, 1500, Data::offset_10, seed++));
}

TEST_CASE(LNH_SUBJECT ": the rows that convict a cancelling variance are easy") {
  require_written();
  for (const NormCase& input : testing::trap_cases()) check_case(input);
}

TEST_CASE(LNH_SUBJECT ": a constant row is one like any other, and a row of zeros stays one") {
  require_written();
  for (const std::int64_t cols : {5, 64, 1500}) {
    for (const float constant : {7.0f, -0.1f, 0.0f}) {
      NormCase input = testing::make_case(2, cols, Data::zero, 9);
      std::fill(input.x.begin(), input.x.end(), constant);
      check_case(input);
    }
  }
}

TEST_CASE(LNH_SUBJECT ": eps stands inside the root, whatever its size") {
  require_written();
  for (const float eps : {0.0f, 1e-12f, 1e-3f, 1.0f}) {
    NormCase input = small_case();
    input.eps = eps;
    check_case(input);
  }
}

TEST_CASE(LNH_SUBJECT ": a null gamma is 1, and a null rstd is not written") {
  require_written();
  for (const std::int64_t cols : {100, 37}) {
    NormCase no_gamma = testing::make_case(3, cols, Data::offset_10, 14);
    no_gamma.gamma.clear();
    check_case(no_gamma);
  }
  check_case(small_case(), {.rstd = false});
}

TEST_CASE(LNH_SUBJECT ": y may be written over x") {
  require_written();
  check_case(small_case(), {.in_place = true});
  check_case(testing::make_case(3, 1500, Data::offset_10, 10), {.in_place = true});
}

TEST_CASE(LNH_SUBJECT ": a misaligned buffer gives the same bits") {
  require_written();
  for (const std::int64_t cols : {5, 100, 1500, 4096}) {
    const NormCase input = testing::make_case(3, cols, Data::offset_10, 11);
    const NormResult aligned = testing::run(exercise::rms_norm, input);
    for (const testing::RunOptions& misaligned :
         {testing::RunOptions{.x_offset = 1}, testing::RunOptions{.y_offset = 2},
          testing::RunOptions{.gamma_offset = 3}}) {
      const NormResult result = testing::run(exercise::rms_norm, input, misaligned);
      CHECK_MESSAGE(testing::same_bits(result.y, aligned.y),
                    LNH_SUBJECT " adds up a row in another order when a buffer is misaligned, so y has other bits");
    }
  }
}

TEST_CASE(LNH_SUBJECT ": a NaN or an inf spoils its own row, as IEEE says, and no other") {
  require_written();
  const std::int64_t cols = 100;
  const NormCase clean = testing::make_case(3, cols, Data::centred, 12);
  const NormResult expected = testing::run(exercise::rms_norm, clean);
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    NormCase input = clean;
    input.x[static_cast<std::size_t>(cols) + 17] = value;  // row 1
    CAPTURE(value);
    check_case(input);
    const NormResult result = testing::run(exercise::rms_norm, input);
    for (const std::int64_t row : {0, 2}) {
      const auto begin = static_cast<std::size_t>(row * cols), count = static_cast<std::size_t>(cols);
      CHECK_MESSAGE(
          testing::same_bits(std::span(result.y).subspan(begin, count), std::span(expected.y).subspan(begin, count)),
          LNH_SUBJECT " lets one row change another");
    }
  }
}

#ifndef LNH_CUDA  // only the executor can count, and run the last block of a launch alone

TEST_CASE(LNH_SUBJECT ": each element is asked for twice, 16 bytes a lane, and gamma once a row") {
  require_written();
  const std::int64_t rows = 3, cols = 4096;
  const simt::CountScope counts;
  testing::run(exercise::rms_norm, testing::make_case(rows, cols, Data::centred, 13));
  CHECK_MESSAGE(counts.total().buffer("x").loads.requests == 2 * rows * cols / 128,
                LNH_SUBJECT " asks for x in " << counts.total().buffer("x").loads.requests << " requests");
  CHECK_MESSAGE(counts.total().buffer("gamma").loads.requests == rows * cols / 128,
                LNH_SUBJECT " asks for gamma in " << counts.total().buffer("gamma").loads.requests << " requests");
  CHECK_MESSAGE(counts.total().buffer("y").stores.requests == rows * cols / 128,
                LNH_SUBJECT " writes y in " << counts.total().buffer("y").stores.requests << " requests");
  CHECK_MESSAGE(counts.total().buffer("rstd").stores.lanes == rows,
                LNH_SUBJECT " stores the rstd of " << rows << " rows " << counts.total().buffer("rstd").stores.lanes
                                                   << " times; one thread of each row is enough");
}

TEST_CASE(LNH_SUBJECT ": the rows behind the 2^32nd row are right") {
  require_written();
  const int block_rows = shape_for(1).rows;
  const std::int64_t rows = (std::int64_t{1} << 32) + 3, first = rows - 3, block = first / block_rows;
  const NormCase input = testing::make_case(3, 1, Data::offset_10, 8);
  auto x = DeviceBuffer<float>::untouched("x", rows), y = DeviceBuffer<float>::untouched("y", rows);
  auto rstd = DeviceBuffer<float>::untouched("rstd", rows);
  const DeviceBuffer<float> gamma("gamma", input.gamma);
  x.upload(input.x, first);
  INFO("These rows lie behind the 2^32nd row of the matrix: is the number of a row cut to 32 bits?");
  {
    const LaunchWindow last_block(static_cast<std::uint64_t>(block), 1);
    exercise::rms_norm({.x = x.data(),
                        .gamma = gamma.data(),
                        .y = y.data(),
                        .rstd = rstd.data(),
                        .rows = rows,
                        .cols = 1,
                        .eps = input.eps},
                       nullptr);
  }
  const NormResult alone = testing::run(exercise::rms_norm, input);
  CHECK_MESSAGE(testing::same_bits(y.download(first, 3), alone.y),
                LNH_SUBJECT " gives other values to the last of many rows than to the same rows alone");
  CHECK_MESSAGE(testing::same_bits(rstd.download(first, 3), alone.rstd),
                LNH_SUBJECT " gives another rstd to the last of many rows than to the same rows alone");
}

TEST_CASE(LNH_SUBJECT ": rows behind the 2^32nd element are right") {
  require_written();
  const std::int64_t cols = 4096, rows = (std::int64_t{1} << 20) + 3, last = 3;  // 2³² elements, and three rows more
  const NormCase input = testing::make_case(last, cols, Data::offset_10, 8);
  auto x = DeviceBuffer<float>::untouched("x", rows * cols);
  auto y = DeviceBuffer<float>::untouched("y", rows * cols);
  const DeviceBuffer<float> gamma("gamma", input.gamma);
  x.upload(input.x, (rows - last) * cols);
  INFO("These rows lie behind the 2^32nd element of the matrix: is a row's offset computed in 32 bits?");
  {
    const LaunchWindow last_blocks((rows - last) / shape_for(cols).rows, last);
    exercise::rms_norm(
        {.x = x.data(), .gamma = gamma.data(), .y = y.data(), .rows = rows, .cols = cols, .eps = input.eps}, nullptr);
  }
  CHECK_MESSAGE(
      testing::same_bits(y.download((rows - last) * cols, last * cols), testing::run(exercise::rms_norm, input).y),
      LNH_SUBJECT " gives other values to the last rows of a large batch than to the same rows alone");
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE { testing::print_comparison(testing::norm_workload(exercise::rms_norm)); }

#endif
