// Exercise 02.1: E[x²] − E[x]² loses the rows that it must lose, and Welford's update keeps them.
#include <1_naive_against_welford.cuh>

#include <host/device_buffer.h>
#include <testing/cases.h>
#include <testing/diagnosis_states.h>
#include <testing/random.h>
#include <testing/reference.h>
#include <testing/subject.h>
#include <device/not_written_yet.cuh>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

namespace {

constexpr double u = 0x1p-24;

__global__ void update_kernel(exercise::Welford state, float x, std::int64_t* n, float* mean, float* m2) {
  const exercise::Welford next = exercise::update(state, x);
  *n = next.n;
  *mean = next.mean;
  *m2 = next.m2;
}

exercise::Welford updated(exercise::Welford state, float x) {
  const DeviceBuffer<std::int64_t> n("n", 1);
  const DeviceBuffer<float> mean("mean", 1), m2("m2", 1);
  launch(update_kernel, {1, 1}, state, x, n.data(), mean.data(), m2.data());
  return {n.download()[0], mean.download()[0], m2.download()[0]};
}

struct Variances {
  std::vector<float> one_pass, welford;  // [rows]
};
Variances variances(const std::vector<float>& x, std::int64_t rows) {
  const DeviceBuffer<float> in("x", x);
  const DeviceBuffer<float> one_pass("one_pass", rows), welford("welford", rows);
  exercise::variances(in.data(), rows, in.size() / rows, one_pass.data(), welford.data());
  check_cuda(cudaDeviceSynchronize(), "the kernel");
  return {one_pass.download(), welford.download()};
}

void require_one_pass_written() {
  static const bool written = !is_not_written_yet(variances({1, 2}, 1).one_pass[0]);
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: one_pass_variance returns what the stub returns");
}
void require_update_written() {
  static const bool written = !is_not_written_yet(updated({0, 0, 0}, 1).mean);
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: update returns what the stub returns");
}

/// What each method may be off by: its bound on a row that one thread adds up.
struct Bounds {
  double exact, one_pass, welford;
};
Bounds bounds(const std::vector<float>& row) {
  const auto [mean, variance] = testing::moments(row);
  const double n = static_cast<double>(row.size());
  const double squares = variance + mean * mean;                              // κ²·variance
  return {variance, n * u * squares, n * u * std::sqrt(variance * squares)};  // N·κ²·u and N·κ·u times the variance
}

std::vector<float> worked_example() {
  std::vector<float> row;
  for (int i = 1; i <= 10; ++i) row.push_back(static_cast<float>(1000 + 0.001 * i));
  return row;
}

/// "the row 127.5, 127.51, 127.52": a short row, with the seven digits that a float has.
std::string text(const std::vector<float>& row) {
  std::ostringstream words;
  words.precision(7);
  words << "the row";
  for (std::size_t i = 0; i < row.size(); ++i) words << (i ? ", " : " ") << row[i];
  return words.str();
}

/// Which known mistake gives this one-pass variance to a row.
std::string diagnosis(const std::vector<float>& row, double got) {
  const double n = static_cast<double>(row.size()), last = row.back();
  double sum = 0, squares = 0;
  for (const double x : row) sum += x, squares += x * x;
  const auto one_pass = [n](double s, double q) { return q / n - s / n * (s / n); };
  return testing::likely_mistake({{"variance_over_n_minus_1", {squares / (n - 1) - sum / n * (sum / n)}},
                                  {"variance_over_n_minus_1", {one_pass(sum, squares) * n / (n - 1)}},
                                  {"square_of_the_sum", {squares / n - sum * sum}},
                                  {"sums_not_divided", {squares - sum / n * (sum / n)}},
                                  {"sums_not_divided", {squares - sum * sum}},
                                  {"mean_not_squared", {squares / n - sum / n}},
                                  {"sums_not_divided", {one_pass(sum, squares) * n}},
                                  {"tail_dropped", {one_pass(sum - last, squares - last * last)}}},
                                 {got}, {one_pass(sum, squares)});
}

void check_one_pass(const std::vector<float>& row, float expected) {
  const float got = variances(row, 1).one_pass[0];
  CHECK_MESSAGE(got == expected, LNH_SUBJECT " gives the one-pass variance " << got << " to " << text(row)
                                                                             << ", whose variance is " << expected
                                                                             << diagnosis(row, got));
}

void check_update(const exercise::Welford& before, float x, const exercise::Welford& expected) {
  const exercise::Welford got = updated(before, x);
  const auto numbers = [&](const exercise::Welford& state) {
    return std::vector<double>{static_cast<double>(state.n - before.n), state.mean, state.m2};
  };
  const bool right = got.n == expected.n && got.mean == expected.mean && got.m2 == expected.m2;
  REQUIRE_MESSAGE(right,
                  LNH_SUBJECT " makes n "
                      << got.n << ", mean " << got.mean << " and m2 " << got.m2 << " of n " << before.n << ", mean "
                      << before.mean << " and m2 " << before.m2 << " and the value " << x << "; expected n "
                      << expected.n << ", mean " << expected.mean << " and m2 " << expected.m2
                      << testing::likely_mistake(testing::mistaken_updates(
                                                     {static_cast<double>(before.n), before.mean, before.m2}, {&x, 1}),
                                                 numbers(got), numbers(expected)));
}

/// Rows near 0, one behind the other, more than a block has threads.
constexpr std::int64_t centred_rows = 300, centred_cols = 40;
std::vector<float> row_of(const std::vector<float>& x, std::int64_t row) {
  return {x.begin() + row * centred_cols, x.begin() + (row + 1) * centred_cols};
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": E[x²] − E[x]² is exact where every step is") {
  require_one_pass_written();
  // Small whole numbers, and a length by which division is exact: (1 + 4 + 9 + 16) ÷ 4 − 2.5² = 1.25.
  check_one_pass({1, 2, 3, 4}, 1.25f);
  check_one_pass({-1, 2, -3, 4}, 7.25f);
  check_one_pass({0, 1, 2, 3, 4, 5, 6, 7}, 5.25f);
}

TEST_CASE(LNH_SUBJECT ": one update gives the state of one value more") {
  require_update_written();
  // 4 behind the values 1, 2, 3, whose mean is 2 and m2 is 1 + 0 + 1: the mean of all four is 2.5, and m2 is 5.
  check_update({3, 2, 2}, 4, {4, 2.5f, 5});
  check_update({0, 0, 0}, 7, {1, 7, 0});
}

TEST_CASE(LNH_SUBJECT ": the count goes on where a float stays at 2^24, and beyond 32 bits") {
  require_update_written();
  for (const std::int64_t n : {std::int64_t{1} << 24, std::int64_t{1} << 33}) {
    check_update({n, 5, 1}, 5, {n + 1, 5, 1});
  }
}

TEST_CASE(LNH_SUBJECT ": both are within their bounds on rows near 0") {
  require_one_pass_written();
  require_update_written();
  const auto x = testing::make_case(centred_rows, centred_cols, testing::Data::centred, 7).x;
  const Variances got = variances(x, centred_rows);
  for (std::int64_t row = 0; row < centred_rows; ++row) {
    const Bounds bound = bounds(row_of(x, row));
    const double one_pass = got.one_pass[row], welford = got.welford[row];
    REQUIRE_MESSAGE(std::abs(one_pass - bound.exact) <= bound.one_pass,
                    LNH_SUBJECT " gives the one-pass variance " << one_pass << " to row " << row << "; it is "
                                                                << bound.exact << ", and the bound on its error is "
                                                                << bound.one_pass);
    REQUIRE_MESSAGE(std::abs(welford - bound.exact) <= bound.welford,
                    LNH_SUBJECT " gives Welford's variance " << welford << " to row " << row << "; it is "
                                                             << bound.exact << ", and the bound on its error is "
                                                             << bound.welford);
  }
}

TEST_CASE(LNH_SUBJECT ": on 1000.001 … 1000.010 one loses every digit, and the other does not") {
  require_one_pass_written();
  require_update_written();
  const std::vector<float> row = worked_example();
  const Bounds bound = bounds(row);
  const Variances got = variances(row, 1);
  const double one_pass = got.one_pass[0], welford = got.welford[0];
  std::printf(
      "The variance of 1000.001 ... 1000.010, as floats, is %.4g\n  one pass gives  %.4g\n  Welford gives   %.4g\n",
      bound.exact, one_pass, welford);
  CHECK_MESSAGE(std::abs(one_pass - bound.exact) > 0.9 * bound.exact,
                LNH_SUBJECT " gives the one-pass variance " << one_pass << ", which is close to the right one, "
                                                            << bound.exact
                                                            << ". E[x²] − E[x]² cannot be: is this another formula?");
  CHECK_MESSAGE(std::abs(welford - bound.exact) <= bound.welford,
                LNH_SUBJECT " gives Welford's variance " << welford << "; it is " << bound.exact
                                                         << ", and the bound on its error is " << bound.welford);
}

TEST_CASE(LNH_SUBJECT ": on short rows that convict every E[x²] − E[x]², it is convicted") {
  require_one_pass_written();
  for (const testing::NormCase& input : testing::every_order_trap_cases()) {
    const Bounds bound = bounds(input.x);
    const double one_pass = variances(input.x, 1).one_pass[0];
    REQUIRE_MESSAGE((one_pass < 0 || one_pass > 10 * bound.exact),
                    LNH_SUBJECT " gives the one-pass variance "
                        << one_pass << " to " << text(input.x) << ", whose variance is " << bound.exact
                        << ". Whatever the order of the sums, E[x²] − E[x]² is negative there, or more than ten times "
                           "too large: is this another formula, or is it set to 0 where it is negative?");
  }
}

TEST_CASE(LNH_SUBJECT ": on short rows that convict E[x²] − E[x]², Welford's variance is within its bound") {
  require_update_written();
  for (const testing::NormCase& input : testing::trap_cases()) {
    const Bounds bound = bounds(input.x);
    const double welford = variances(input.x, 1).welford[0];
    REQUIRE_MESSAGE(std::abs(welford - bound.exact) <= bound.welford,
                    LNH_SUBJECT " gives Welford's variance " << welford << " to " << text(input.x) << "; it is "
                                                             << bound.exact << ", and the bound on its error is "
                                                             << bound.welford);
  }
}

#ifndef LNH_CUDA  // only the executor can count

namespace {

__global__ void one_pass_kernel(const float* x, std::int64_t cols, float* variance) {
  *variance = exercise::one_pass_variance(x, cols);
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": the one-pass variance reads each element once") {
  require_one_pass_written();
  const std::vector<float> row = worked_example();
  const DeviceBuffer<float> x("x", row), variance("variance", 1);
  const simt::CountScope counts;
  launch(one_pass_kernel, {1, 1}, x.data(), x.size(), variance.data());
  const auto loads = static_cast<std::int64_t>(counts.total().buffer("x").loads.requests);
  CHECK_MESSAGE(loads <= x.size(), LNH_SUBJECT " loads from a row of "
                                       << x.size() << " values " << loads
                                       << " times. One pass is one loop: add x[c] to one sum and its square to the "
                                          "other in the same turn");
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

#include <span>

COMPARISON_TEST_CASE {  // the digits are those of Welford's variance
  const testing::NormCase input = testing::compared_rows();
  std::vector<double> truth;
  for (auto row = input.x.begin(); row != input.x.end(); row += input.cols)
    truth.push_back(testing::moments(std::span(row, row + input.cols)).variance);
  const simt::CountScope counts;
  const std::vector<float> got = variances(input.x, input.rows).welford;
  testing::print_comparison({.name = testing::compared_rows_name,
                             .got = got,
                             .truth = truth,
                             .counts = counts.total(),
                             .floor = testing::floor_of({input.rows * input.cols}, {input.rows, input.rows})});
}

#endif
