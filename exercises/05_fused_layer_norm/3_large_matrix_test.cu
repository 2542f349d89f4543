// Exercise 05.3: rows that lie behind the 2^31st and the 2^32nd element are right, and so is the 2^32nd row.
#include <3_large_matrix.cuh>

#include <testing/cases.h>
#include <testing/run.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <host/device_buffer.h>
#include <host/launch_window.h>
#include <simt/finding.h>
#endif

using testing::Data;
using testing::NormCase;

namespace {

testing::Summation summation(std::int64_t cols) { return testing::block_per_row<warp_lanes>(cols); }

}  // namespace

TEST_CASE(LNH_SUBJECT ": right within the bound on small matrices of every shape") {
  std::vector<NormCase> cases;
  std::uint64_t seed = 1;
  for (const std::int64_t cols : {1000, 33, 31, 1}) {  // the ordinary first: it is what a reader sees
    for (const std::int64_t rows : {19, 8, 1}) {
      for (const Data data : testing::all_data()) cases.push_back(testing::make_case(rows, cols, data, seed++));
    }
  }
  for (const NormCase& input : testing::judgeable(cases, summation).judged) {
    const auto verdict = testing::judge(exercise::layer_norm, input, summation(input.cols));
    REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on " << verdict.text());
  }
}

#ifdef LNH_CUDA

TEST_CASE(LNH_SUBJECT ": large matrices are not tried here") {
  MESSAGE(
      "A wrong offset on a GPU may end every later launch of this program: on the cuda backend this exercise checks "
      "values alone, of small matrices. The simt backend runs the last blocks of the large ones.");
}

#else

namespace {

/// Runs the blocks of the last rows of a matrix of which nothing else exists, and says what is wrong with them. The
/// values must be the bits that the same rows have in a matrix of their own.
std::string wrong_in_last_rows(std::int64_t rows, std::int64_t cols) {
  const std::int64_t first_block = (rows - 3) / exercise::block_rows;
  const std::int64_t first = first_block * exercise::block_rows;
  const NormCase last = testing::make_case(rows - first, cols, Data::offset_10, 15);
  auto x = DeviceBuffer<float>::untouched("x", rows * cols), y = DeviceBuffer<float>::untouched("y", rows * cols);
  auto mean = DeviceBuffer<float>::untouched("mean", rows), rstd = DeviceBuffer<float>::untouched("rstd", rows);
  const DeviceBuffer<float> gamma("gamma", last.gamma), beta("beta", last.beta);
  x.upload(last.x, first * cols);
  try {
    const LaunchWindow last_blocks(static_cast<std::uint64_t>(first_block), 2);
    exercise::layer_norm({.x = x.data(),
                          .gamma = gamma.data(),
                          .beta = beta.data(),
                          .y = y.data(),
                          .mean = mean.data(),
                          .rstd = rstd.data(),
                          .rows = rows,
                          .cols = cols,
                          .eps = last.eps},
                         nullptr);
  } catch (const simt::FindingError& finding) {
    return finding.what();
  }
  const testing::NormResult alone = testing::run(exercise::layer_norm, last);
  if (!testing::same_bits(y.download(first * cols, last.rows * cols), alone.y)) {
    return "y of the last rows is not that of the same rows in a matrix of their own";
  }
  if (!testing::same_bits(mean.download(first, last.rows), alone.mean)) {
    return "mean of the last rows is not that of the same rows in a matrix of their own";
  }
  if (!testing::same_bits(rstd.download(first, last.rows), alone.rstd)) {
    return "rstd of the last rows is not that of the same rows in a matrix of their own";
  }
  return "";
}

void check_last_rows(std::int64_t rows, std::int64_t cols) {
  const std::string wrong = wrong_in_last_rows(rows, cols);
  CHECK_MESSAGE(wrong.empty(), LNH_SUBJECT " is wrong in the last rows of " << rows << " × " << cols << ": " << wrong);
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": rows behind the 2^32nd element are right") {
  check_last_rows((std::int64_t{1} << 20) + 3, 4096);
}

TEST_CASE(LNH_SUBJECT ": rows behind the 2^31st element are right") {
  check_last_rows((std::int64_t{1} << 19) + 3, 4096);
}

TEST_CASE(LNH_SUBJECT ": the rows behind the 2^32nd row are right") { check_last_rows((std::int64_t{1} << 32) + 3, 1); }

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE { testing::print_comparison(testing::norm_workload(exercise::layer_norm)); }

#endif
