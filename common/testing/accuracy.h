/// How right a chapter's kernels are, as tests: every kernel on every row that says something about it.
#pragma once

#include <host/norm_launcher.h>
#include <testing/cases.h>
#include <testing/run.h>
#include <testing/tolerance.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace testing {

/// A kernel of a chapter, and how it adds up a row.
struct Stage {
  std::string name;
  NormLauncher launch;
  SummationOf summation;
};

/// Checks a kernel on the judgeable ones of these cases; RMSNorm has no κ, so every row judges it. Prints the largest
/// error as a share of the bound, and returns it.
inline double check_within_bound(const Stage& stage, const std::vector<NormCase>& cases) {
  const Selection selection =
      stage.launch.norm() == Norm::rms_norm ? Selection{cases, {}} : judgeable(cases, stage.summation);
  REQUIRE(!selection.judged.empty());
  double largest = 0;
  for (const NormCase& input : selection.judged) {
    const NormVerdict verdict = judge(stage.launch, input, stage.summation(input.cols));
    CHECK_MESSAGE(verdict.passed(), stage.name << " on " << verdict.text());
    largest = std::max(largest, verdict.ratio());
  }
  MESSAGE(stage.name << ": error/bound at most " << largest << " over " << selection.judged.size() << " cases; "
                     << selection.refused.size() << " rows are refused, because their bound says nothing");
  return largest;
}

}  // namespace testing

/// Three test cases for LayerNorms that are right. stages: an array of testing::Stage.
#define LAYER_NORM_ACCURACY(stages)                                                          \
  TEST_CASE("right within the bound on every shape and kind of data") {                      \
    for (const testing::Stage& stage : stages) {                                             \
      testing::check_within_bound(stage, testing::standard_cases());                         \
    }                                                                                        \
  }                                                                                          \
  TEST_CASE("right within the bound on rows that failed in public projects") {               \
    for (const testing::Stage& stage : stages) {                                             \
      testing::check_within_bound(stage, testing::published_cases());                        \
    }                                                                                        \
  }                                                                                          \
  TEST_CASE("right within the bound on the short rows that convict a cancelling variance") { \
    for (const testing::Stage& stage : stages) {                                             \
      CAPTURE(stage.name);                                                                   \
      CHECK(testing::judgeable(testing::trap_cases(), stage.summation).refused.empty());     \
      testing::check_within_bound(stage, testing::trap_cases());                             \
    }                                                                                        \
  }
