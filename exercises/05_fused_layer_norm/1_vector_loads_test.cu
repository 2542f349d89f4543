// Exercise 05.1: LayerNorm in accesses of 16 bytes is right, and asks memory a quarter as often.
#include <1_vector_loads.cuh>

#include <testing/cases.h>
#include <testing/run.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

using testing::Data;
using testing::NormCase;

namespace {

testing::Summation summation(std::int64_t cols) { return testing::dealt_in_fours(cols, exercise::block_threads); }

NormCase small_case() { return testing::make_case(3, 2048, Data::offset_10, 7); }

void require_written() {
  static const testing::NormResult result = testing::run(exercise::layer_norm, small_case());
  REQUIRE_MESSAGE(!is_not_written_yet(result.mean[0]),
                  LNH_SUBJECT " is not written yet: statistics() returns what the stub returns");
  REQUIRE_MESSAGE(!std::any_of(result.y.begin(), result.y.end(), is_not_written_yet),
                  LNH_SUBJECT " is not written yet: write_result() stores what the stub stores");
}

void check_case(const NormCase& input, testing::RunOptions options = {}) {
  const auto verdict = testing::judge(exercise::layer_norm, input, summation(input.cols), options);
  REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on " << verdict.text());
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": right within the bound on rows of every length that is a multiple of 4, and of every kind") {
  require_written();
  std::vector<NormCase> cases;
  std::uint64_t seed = 1;
  // Less than a warp of fours, less than a block, a block and some more, and more fours than a block has threads.
  for (const std::int64_t cols : {2048, 1024, 256, 128, 1028, 3000, 12, 4}) {
    for (const Data data : testing::all_data()) cases.push_back(testing::make_case(3, cols, data, seed++));
  }
  for (const NormCase& input : testing::judgeable(cases, summation).judged) check_case(input);
}

TEST_CASE(LNH_SUBJECT ": a constant row gives beta exactly") {
  require_written();
  for (const std::int64_t cols : {4, 2048}) {
    NormCase input = testing::make_case(2, cols, Data::zero, 9);
    std::fill(input.x.begin(), input.x.end(), 123.4f);
    const std::vector<float> y = testing::run(exercise::layer_norm, input).y;
    for (std::size_t i = 0; i < y.size(); ++i) {
      REQUIRE_MESSAGE(y[i] == input.beta[i % input.beta.size()],
                      LNH_SUBJECT " gives a constant row another value than beta: the variance is not exactly 0");
    }
  }
}

TEST_CASE(LNH_SUBJECT ": a null gamma is 1, a null beta is 0, and y may be written over x") {
  require_written();
  NormCase no_gamma = small_case(), no_beta = small_case();
  no_gamma.gamma.clear();
  no_beta.beta.clear();
  for (const NormCase& input : {no_gamma, no_beta}) check_case(input);
  check_case(small_case(), {.in_place = true});
}

TEST_CASE(LNH_SUBJECT ": eps stands inside the root, whatever its size") {
  require_written();
  for (const float eps : {0.0f, 1.0f}) {
    NormCase input = small_case();
    input.eps = eps;
    check_case(input);
  }
}

#ifdef LNH_CUDA

TEST_CASE(LNH_SUBJECT ": requests are not counted here") {
  require_written();
  MESSAGE("A GPU program cannot count its own requests: on the cuda backend this test judges the values, and the simt "
          "backend counts the requests.");
}

#else

TEST_CASE(LNH_SUBJECT ": memory is asked no more often than accesses of 16 bytes ask it") {
  require_written();
  const std::int64_t rows = 3, cols = 4096;
  simt::CountScope counts;
  testing::run(exercise::layer_norm, testing::make_case(rows, cols, Data::centred, 3));

  const auto judge = [](const std::string& what, const simt::AccessCounts& asked, std::uint64_t needed) {
    REQUIRE_MESSAGE(asked.requests > 0, LNH_SUBJECT " never asks: " << what);
    CHECK_MESSAGE(asked.requests <= needed,
                  LNH_SUBJECT " asks more often than needed: " << what << " take " << asked.requests << " requests of "
                                                               << asked.bytes / asked.requests << " bytes, where "
                                                               << needed << " of 512 bytes would do");
    CHECK_MESSAGE(asked.sectors <= 16 * asked.requests,
                  LNH_SUBJECT " spreads its requests: "
                      << what << " touch " << static_cast<double>(asked.sectors) / static_cast<double>(asked.requests)
                      << " sectors a request, where the 512 bytes of 32 "
                         "neighbouring fours lie in 16");
  };
  const std::uint64_t pass = rows * cols / 128;
  const simt::LaunchCounts& total = counts.total();
  judge("the loads of x", total.buffer("x").loads, 2 * pass);
  judge("the loads of gamma", total.buffer("gamma").loads, pass);
  judge("the loads of beta", total.buffer("beta").loads, pass);
  judge("the stores of y", total.buffer("y").stores, pass);
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE { testing::print_comparison(testing::norm_workload(exercise::layer_norm)); }

#endif
