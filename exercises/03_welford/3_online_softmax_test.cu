// Exercise 03.3: softmax in one pass for its sum, with a state and a merge as Welford has them.
#include <3_online_softmax.cuh>

#include <host/device_buffer.h>
#include <testing/diagnosis_states.h>
#include <testing/random.h>
#include <testing/subject.h>
#include <device/not_written_yet.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

using exercise::Softmax;

namespace {

constexpr double u = 0x1p-24;
constexpr float infinity = std::numeric_limits<float>::infinity();

// ---- the functions themselves ---------------------------------------------------------------------------------------

__global__ void merge_kernel(Softmax a, Softmax b, float* max, float* sum) {
  const Softmax state = exercise::merge(a, b);
  *max = state.max;
  *sum = state.sum;
}

__global__ void state_kernel(float x, float* max, float* sum) {
  const Softmax state = exercise::state_of(x);
  *max = state.max;
  *sum = state.sum;
}

Softmax merged(Softmax a, Softmax b) {
  const DeviceBuffer<float> max("max", 1), sum("sum", 1);
  launch(merge_kernel, {1, 1}, a, b, max.data(), sum.data());
  return {max.download()[0], sum.download()[0]};
}

Softmax state_of(float x) {
  const DeviceBuffer<float> max("max", 1), sum("sum", 1);
  launch(state_kernel, {1, 1}, x, max.data(), sum.data());
  return {max.download()[0], sum.download()[0]};
}

void require_written() {
  static const bool state_written = !is_not_written_yet(state_of(1).max);
  static const bool merge_written = !is_not_written_yet(merged({1, 1}, {2, 1}).max);
  REQUIRE_MESSAGE(state_written, LNH_SUBJECT " is not written yet: state_of returns what the stub returns");
  REQUIRE_MESSAGE(merge_written, LNH_SUBJECT " is not written yet: merge returns what the stub returns");
}

/// Which known mistake the reader's two functions show on some values and states of the diagnosis.
std::string diagnosis() {
  return testing::likely_softmax_mistake(
      [](float x) {
        const Softmax state = state_of(x);
        return testing::SoftmaxState{state.max, state.sum};
      },
      [](testing::SoftmaxState a, testing::SoftmaxState b) {
        const Softmax state = merged({a.max, a.sum}, {b.max, b.sum});
        return testing::SoftmaxState{state.max, state.sum};
      });
}

// ---- rows -----------------------------------------------------------------------------------------------------------

struct Rows {
  std::string name;
  std::int64_t cols;
  std::vector<float> x;  // [rows][cols]
};

std::vector<float> softmax(const Rows& input) {
  const DeviceBuffer<float> x("x", input.x);
  const DeviceBuffer<float> y("y", x.size());
  exercise::softmax(x.data(), y.data(), x.size() / input.cols, input.cols);
  return y.download();
}

/// exp(x − max) ÷ Σ exp(x − max) in double, and how far a kernel may be from it.
///
/// An element d = max − x below the maximum is multiplied by exp of the steps that lead from x to max. Each step is
/// rounded, and its exp is off by as much, so together by d·u. Each of the D merges on the way adds an exp (2 ulp on a
/// GPU, 4u), a product and a sum, 6u. The sum is off by the average of that, each element with its share of the sum;
/// the numerator by d·u and 4u; and the division by u. The last term is for results near the least float.
struct Expected {
  std::vector<double> y, bound;
};
Expected expected(std::span<const float> row) {
  const double max = *std::max_element(row.begin(), row.end());
  double sum = 0, weighted = 0;
  for (const float x : row) {
    const double term = x == -infinity ? 0 : std::exp(x - max);
    sum += term;
    if (term > 0) weighted += term * (max - x);
  }
  const double depth = std::ceil(static_cast<double>(row.size()) / exercise::block_threads) + 8;
  Expected result;
  for (const float x : row) {
    const double y = x == -infinity ? 0 : std::exp(x - max) / sum;
    const double distance = y == 0 ? 0 : max - x;
    result.y.push_back(y);
    result.bound.push_back(y * u * (distance + 5 + weighted / sum + 6 * depth) + 0x1p-146);
  }
  return result;
}

/// Whether the row's softmax is NaN by definition: 0 ÷ 0 where all values are −∞, exp(∞ − ∞) where one is ∞.
bool is_nan_by_definition(std::span<const float> row) {
  const float max = *std::max_element(row.begin(), row.end());
  return std::isinf(max) || std::any_of(row.begin(), row.end(), [](float x) { return std::isnan(x); });
}

void check_rows(const Rows& input) {
  const std::vector<float> y = softmax(input);
  const auto cols = static_cast<std::size_t>(input.cols);
  for (std::size_t r = 0; r < y.size() / cols; ++r) {
    const std::span<const float> row = std::span(input.x).subspan(r * cols, cols);
    const bool nan = is_nan_by_definition(row);
    const Expected right = nan ? Expected{} : expected(row);
    for (std::size_t c = 0; c < cols; ++c) {
      const float got = y[r * cols + c];
      if (nan ? std::isnan(got) : std::abs(got - right.y[c]) <= right.bound[c]) continue;
      std::ostringstream sentence;
      sentence.precision(9);
      sentence << LNH_SUBJECT " gives y[" << r << "][" << c << "] = " << got << " for x = " << row[c] << " in "
               << input.name << ", rows of " << cols << "; expected ";
      nan ? sentence << "NaN" : sentence << right.y[c] << " ± " << right.bound[c];
      sentence << diagnosis();
      REQUIRE_MESSAGE(false, sentence.str());
    }
  }
}

/// Shorter than a warp, than the block, as long as it, and longer.
const std::int64_t all_cols[] = {1000, 257, 256, 255, 100, 33, 32, 3, 1};

Rows normal_rows(std::string name, std::int64_t cols, double offset, double spread, std::uint64_t seed) {
  testing::Random random(seed);
  Rows rows{std::move(name), cols, std::vector<float>(static_cast<std::size_t>(3 * cols))};
  for (float& x : rows.x) x = static_cast<float>(offset + spread * random.normal());
  return rows;
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": softmax is right within the bound on rows of every length") {
  require_written();
  std::uint64_t seed = 1;
  for (const std::int64_t cols : all_cols) {
    check_rows(normal_rows("rows near 0", cols, 0, 1, seed++));
    check_rows(normal_rows("rows that spread widely", cols, 0, 30, seed++));
  }
}

TEST_CASE(LNH_SUBJECT ": exp does not overflow where x is huge, nor does every term vanish where x is far below 0") {
  require_written();
  std::uint64_t seed = 100;
  for (const std::int64_t cols : all_cols) {
    check_rows(normal_rows("rows near 1000", cols, 1000, 1, seed++));
    check_rows(normal_rows("rows near -1000", cols, -1000, 1, seed++));
    check_rows(normal_rows("rows between -30000 and 30000", cols, 0, 10000, seed++));
    Rows rising{"a row that rises by 100 with every column", cols, {}};
    for (std::int64_t c = 0; c < cols; ++c) rising.x.push_back(static_cast<float>(100 * c));
    check_rows(rising);
    std::reverse(rising.x.begin(), rising.x.end());
    rising.name = "a row that falls by 100 with every column";
    check_rows(rising);
  }
  check_rows({"a row of the largest floats", 3, {3e38f, -3e38f, 3e38f}});
  // A row that is masked altogether, by a number in place of −∞, is a row like others: all its y are equal.
  for (const std::int64_t cols : all_cols) check_rows({"a row of -1e9", cols, std::vector<float>(cols, -1e9f)});
  check_rows({"a row of the lowest float", 3, std::vector<float>(3, std::numeric_limits<float>::lowest())});
}

TEST_CASE(LNH_SUBJECT ": the state of no value changes nothing, on either side") {
  require_written();
  CHECK(merged(Softmax{}, Softmax{}).sum == 0);
  for (const Softmax state : {Softmax{5, 1}, Softmax{-1000, 3}, Softmax{1000, 2.5f}}) {
    for (const Softmax got : {merged(state, Softmax{}), merged(Softmax{}, state)}) {
      REQUIRE_MESSAGE((got.max == state.max && got.sum == state.sum),
                      LNH_SUBJECT " merges (max " << state.max << ", sum " << state.sum << ") with no value to (max "
                                                  << got.max << ", sum " << got.sum << ")" << diagnosis());
    }
  }
}

TEST_CASE(LNH_SUBJECT ": -inf adds nothing to the sum, wherever it stands") {
  require_written();
  std::uint64_t seed = 200;
  for (const std::int64_t cols : all_cols) {
    for (const std::int64_t masked : {cols / 3, cols - 1}) {
      Rows first = normal_rows("rows that begin with -inf", cols, -50, 1, seed++);
      Rows last = first;
      last.name = "rows that end with -inf";
      for (std::size_t i = 0; i < first.x.size(); ++i) {
        const auto c = static_cast<std::int64_t>(i) % cols;
        if (c < masked) first.x[i] = -infinity;
        if (c >= cols - masked) last.x[i] = -infinity;
      }
      check_rows(first);
      check_rows(last);
    }
  }
}

TEST_CASE(LNH_SUBJECT ": a row of -inf alone, with +inf or with NaN is NaN, and no other row changes") {
  require_written();
  for (const std::int64_t cols : all_cols) {
    const Rows clean = normal_rows("rows beside rows of -inf, +inf and NaN", cols, 0, 1, 300);
    Rows mixed = clean;
    std::fill_n(mixed.x.begin() + static_cast<std::ptrdiff_t>(cols), cols, -infinity);  // the row in the middle
    check_rows(mixed);
    for (const float bad : {infinity, std::numeric_limits<float>::quiet_NaN()}) {
      for (const bool masked : {false, true}) {  // the other values of that row are −∞
        mixed = clean;
        if (masked) std::fill_n(mixed.x.begin() + static_cast<std::ptrdiff_t>(cols), cols, -infinity);
        mixed.x[static_cast<std::size_t>(cols + cols / 2)] = bad;
        check_rows(mixed);
      }
    }
  }
}

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

#include <span>

COMPARISON_TEST_CASE {
  const testing::NormCase input = testing::compared_rows();
  std::vector<double> truth;
  for (auto row = input.x.begin(); row != input.x.end(); row += input.cols) {
    const std::vector<double> y = expected(std::span(row, row + input.cols)).y;
    truth.insert(truth.end(), y.begin(), y.end());
  }
  const simt::CountScope counts;
  const std::vector<float> got = softmax({input.name, input.cols, input.x});
  const std::int64_t elements = input.rows * input.cols;
  testing::print_comparison({.name = testing::compared_rows_name,
                             .got = got,
                             .truth = truth,
                             .cols = input.cols,
                             .counts = counts.total(),
                             .floor = testing::floor_of({elements}, {elements})});
}

#endif
