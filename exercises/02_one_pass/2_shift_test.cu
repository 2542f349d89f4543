// Exercise 02.2: the shift by x[0] is right on rows far from 0, and the reader's row breaks it.
#include <2_shift.cuh>

#include <host/device_buffer.h>
#include <testing/cases.h>
#include <testing/reference.h>
#include <testing/run.h>
#include <testing/subject.h>
#include <device/not_written_yet.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

using testing::Data;
using testing::NormCase;

namespace {

void require_statistics_written() {
  static const bool written = [] {
    const NormCase input = testing::make_case(1, 4, Data::centred, 7);
    return !is_not_written_yet(testing::run(exercise::layer_norm, input).mean[0]);
  }();
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: shifted_statistics returns what the stub returns");
}

void check_case(const NormCase& input) {
  const auto verdict = testing::judge(exercise::layer_norm, input, testing::thread_per_row(input.cols));
  REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on " << verdict.text());
}

/// What the reader's row is tried on: the mean and the variance from sums of x − x[0], and in two passes.
enum class Method { shifted, two_pass };

template <Method method>
__global__ void judge_kernel(LayerNormArgs args) {
  const float n = static_cast<float>(args.cols);
  const float origin = method == Method::shifted ? args.x[0] : 0.0f;
  float sum = 0, squares = 0;
  for (std::int64_t c = 0; c < args.cols; ++c) sum += args.x[c] - origin;
  const float mean = origin + sum / n;
  for (std::int64_t c = 0; c < args.cols; ++c) {
    const float value = args.x[c] - (method == Method::shifted ? origin : mean);
    squares += value * value;
  }
  const float shifted_mean = method == Method::shifted ? sum / n : 0.0f;
  const float rstd = 1.0f / sqrtf(squares / n - shifted_mean * shifted_mean + args.eps);
  for (std::int64_t c = 0; c < args.cols; ++c) args.y[c] = (args.x[c] - mean) * rstd;
  *args.mean = mean;
  *args.rstd = rstd;
}

template <Method method>
void judge_layer_norm(const LayerNormArgs& args, cudaStream_t stream) {
  launch(judge_kernel<method>, {1, 1, 0, stream}, args);
}

/// Of rstd: what the variance makes of it. Two passes with a mean from shifted sums are off in the mean alone.
double error_over_bound(LayerNormLauncher launcher, const NormCase& input) {
  return testing::judge(launcher, input, testing::thread_per_row(input.cols)).rstd.ratio;
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": right within the bound on rows near 0 and far from it") {
  require_statistics_written();
  std::vector<NormCase> cases;
  std::uint64_t seed = 1;
  for (const std::int64_t cols : {100, 64, 257, 1000, 31, 3, 2, 1}) {
    for (const Data data : {Data::offset_10, Data::offset_100, Data::offset_1000, Data::offset_10000, Data::constant,
                            Data::zero, Data::one_off, Data::centred}) {
      cases.push_back(testing::make_case(3, cols, data, seed++));
    }
  }
  cases.push_back(testing::make_case(300, 5, Data::offset_100, seed++));  // more rows than a block has threads
  for (const NormCase& input : testing::judgeable(cases, testing::thread_per_row).judged) check_case(input);
}

TEST_CASE(LNH_SUBJECT ": right within the bound on rows that convict a cancelling variance") {
  require_statistics_written();
  for (const NormCase& input : testing::trap_cases()) check_case(input);
  for (const NormCase& input : testing::judgeable(testing::published_cases(), testing::thread_per_row).judged) {
    check_case(input);
  }
}

TEST_CASE(LNH_SUBJECT ": y may be written over x") {
  require_statistics_written();
  const NormCase input = testing::make_case(3, 100, Data::offset_100, 7);
  const auto verdict =
      testing::judge(exercise::layer_norm, input, testing::thread_per_row(input.cols), {.in_place = true});
  REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on " << verdict.text());
}

TEST_CASE(LNH_SUBJECT ": the row breaks the shift by x[0], and leaves two passes unharmed") {
  NormCase input;
  input.name = "breaking_row()";
  input.x = exercise::breaking_row();
  input.rows = 1;
  input.cols = static_cast<std::int64_t>(input.x.size());
  REQUIRE_MESSAGE(!input.x.empty(), LNH_SUBJECT " is not written yet: breaking_row returns an empty row");
  REQUIRE_MESSAGE((input.cols >= 2 && input.cols <= 1024),
                  LNH_SUBJECT " gives a row of " << input.cols << " values; it may have 2 to 1024");
  for (const float x : input.x) {
    REQUIRE_MESSAGE(std::abs(x) <= 1e6f, LNH_SUBJECT " puts " << x
                                                              << " into the row; its values may go up to 1e6 in size. "
                                                                 "It should break by cancellation, not by overflow");
  }

  const auto [mean, variance] = testing::moments(input.x);
  REQUIRE_MESSAGE(variance > 0, LNH_SUBJECT " gives a row of equal values; the shift makes them 0, which is exact");
  const double distance = mean - static_cast<double>(input.x[0]);
  const double before = std::sqrt(1 + mean * mean / variance), after = std::sqrt(1 + distance * distance / variance);
  const std::vector<std::string> refused = testing::judgeable({input}, testing::thread_per_row).refused;
  REQUIRE_MESSAGE(refused.empty(), LNH_SUBJECT " gives a row that is hard for every method: " << refused[0]);

  const double shifted = error_over_bound(judge_layer_norm<Method::shifted>, input);
  const double two_pass = error_over_bound(judge_layer_norm<Method::two_pass>, input);
  std::printf("κ of breaking_row() is %.3g, and %.3g after the shift by x[0].\n"
              "Error of rstd, as a share of its bound: %.3g by the shift, %.3g by two passes.\n",
              before, after, shifted, two_pass);
  CHECK_MESSAGE(testing::judge(judge_layer_norm<Method::two_pass>, input, testing::thread_per_row(input.cols)).passed(),
                LNH_SUBJECT " gives a row on which two passes are outside their bound, too");
  // κ after the shift is √N at most. A row that is near that has done what it can; the rest is luck with the roundings.
  const double limit = std::sqrt(static_cast<double>(input.cols));
  std::ostringstream advice;
  if (after > 0.9 * limit) {
    advice << "as large as " << input.cols << " values can make it (√N is " << limit
           << "). What is left is luck with the roundings: try another outlier, or a longer row";
  } else {
    advice << "and the larger it is the more the shift loses: " << input.cols << " values can make it √N = " << limit;
  }
  REQUIRE_MESSAGE(shifted >= 10, LNH_SUBJECT " gives a row on which the shift by x[0] makes rstd wrong by "
                                     << shifted << " times its bound; 10 are asked for. Its κ after the shift is "
                                     << after << ", " << advice.str());

  require_statistics_written();
  const double yours = error_over_bound(exercise::layer_norm, input);
  // Outside the bound, and not by 10: another order of the same sums may have more luck.
  CHECK_MESSAGE(
      yours > 1,
      "The row is right: it breaks a kernel that shifts by x[0]. " LNH_SUBJECT " survives it, with an error of rstd of "
          << yours << " times the bound: does shifted_statistics sum x − x[0] and (x − x[0])²?");
}

#ifndef LNH_CUDA  // only the executor can count

TEST_CASE(LNH_SUBJECT ": the row is read once for the statistics, and once for y") {
  require_statistics_written();
  const NormCase input = testing::make_case(1, 100, Data::offset_100, 7);
  const simt::CountScope counts;
  testing::run(exercise::layer_norm, input);
  const auto loads = static_cast<std::int64_t>(counts.total().buffer("x").loads.requests);
  // x[0] may be asked for once more, to shift the mean back.
  CHECK_MESSAGE(loads <= 2 * input.cols + 2,
                LNH_SUBJECT " loads from a row of "
                    << input.cols << " values " << loads << " times, and the kernel's loop for y is " << input.cols
                    << " of these. For the statistics sum x − x[0] and its square in the same loop, and keep x[0] in a "
                       "variable before it");
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE { testing::print_comparison(testing::norm_workload(exercise::layer_norm)); }

#endif
