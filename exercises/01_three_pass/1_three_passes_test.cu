// Exercise 01.1: LayerNorm in three passes, one thread per row.
#include <1_three_passes.cuh>

#include <host/device_buffer.h>
#include <testing/cases.h>
#include <testing/run.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#ifndef LNH_CUDA
#include <host/launch_window.h>
#endif

using testing::Data;
using testing::NormCase;

namespace {

NormCase small_case() { return testing::make_case(3, 100, Data::offset_10, 7); }

void require_written() {
  static const bool written = [] {
    const std::vector<float> y = testing::run(exercise::layer_norm, small_case()).y;
    return !std::all_of(y.begin(), y.end(), DeviceBuffer<float>::is_poison);
  }();
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: after the launch y holds what it held before");
}

void check_case(const NormCase& input, testing::RunOptions options = {}) {
  const auto verdict = testing::judge(exercise::layer_norm, input, testing::thread_per_row(input.cols), options);
  REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on " << verdict.text());
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": right within the bound on rows of every length and kind") {
  require_written();
  std::vector<NormCase> cases;
  std::uint64_t seed = 1;
  for (const std::int64_t cols : {100, 64, 257, 1000, 31, 3, 2, 1}) {  // the ordinary first: it is what a reader sees
    for (const Data data : testing::all_data()) cases.push_back(testing::make_case(3, cols, data, seed++));
  }
  // More rows than a block has threads, and a last block that is not full.
  cases.push_back(testing::make_case(300, 5, Data::offset_10, seed++));
  for (const NormCase& input : testing::judgeable(cases, testing::thread_per_row).judged) check_case(input);
}

TEST_CASE(LNH_SUBJECT ": a null gamma is 1, a null beta is 0, each on its own") {
  require_written();
  NormCase no_gamma = small_case(), no_beta = small_case(), neither = small_case();
  no_gamma.gamma.clear();
  no_beta.beta.clear();
  neither.gamma.clear();
  neither.beta.clear();
  for (const NormCase& input : {no_gamma, no_beta, neither}) check_case(input);
}

TEST_CASE(LNH_SUBJECT ": a null mean or rstd is not written, each on its own") {
  require_written();
  check_case(small_case(), {.mean = false});
  check_case(small_case(), {.rstd = false});
  check_case(small_case(), {.mean = false, .rstd = false});
}

TEST_CASE(LNH_SUBJECT ": right within the bound on rows that convict a cancelling variance") {
  require_written();
  for (const NormCase& input : testing::trap_cases()) check_case(input);
}

TEST_CASE(LNH_SUBJECT ": eps stands inside the root, whatever its size") {
  require_written();
  for (const float eps : {0.0f, 1e-12f, 1e-3f, 1.0f}) {
    NormCase input = small_case();
    input.eps = eps;
    check_case(input);
  }
}

TEST_CASE(LNH_SUBJECT ": y may be written over x") {
  require_written();
  check_case(small_case(), {.in_place = true});
}

#ifndef LNH_CUDA  // only the executor can run the last block of a launch alone

TEST_CASE(LNH_SUBJECT ": rows behind the 2^32nd element are right") {
  require_written();
  const std::int64_t cols = 256, rows = (std::int64_t{1} << 24) + 3, last = 3;  // 2³² elements, and three rows more
  const NormCase input = testing::make_case(last, cols, Data::offset_10, 8);
  auto x = DeviceBuffer<float>::untouched("x", rows * cols);
  auto y = DeviceBuffer<float>::untouched("y", rows * cols);
  const DeviceBuffer<float> gamma("gamma", input.gamma), beta("beta", input.beta);
  x.upload(input.x, (rows - last) * cols);
  INFO("These rows lie behind the 2^32nd element of the matrix: is a row's offset computed in 32 bits?");
  {
    const LaunchWindow last_block(rows / exercise::block_threads, 1);
    exercise::layer_norm({.x = x.data(),
                          .gamma = gamma.data(),
                          .beta = beta.data(),
                          .y = y.data(),
                          .rows = rows,
                          .cols = cols,
                          .eps = input.eps},
                         nullptr);
  }
  CHECK_MESSAGE(
      testing::same_bits(y.download((rows - last) * cols, last * cols), testing::run(exercise::layer_norm, input).y),
      LNH_SUBJECT " gives other values to the last rows of a large batch than to the same rows alone");
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE { testing::print_comparison(testing::norm_workload(exercise::layer_norm)); }

#endif
