// Exercise 03.1: Welford's update, the state after one more value.
#include <1_update.cuh>

#include <host/device_buffer.h>
#include <testing/cases.h>
#include <testing/diagnosis_states.h>
#include <testing/random.h>
#include <testing/reference.h>
#include <testing/run.h>
#include <testing/subject.h>
#include <device/not_written_yet.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <sstream>
#include <string>
#include <vector>

using exercise::Welford;
using testing::Data;
using testing::NormCase;

namespace {

constexpr double u = 0x1p-24;

/// n, mean and m2 of many states, each in an array of its own.
struct States {
  std::int64_t* n;
  float* mean;
  float* m2;
};

/// Thread t updates start with the first t + 1 values of x.
__global__ void prefixes_kernel(Welford start, const float* x, States after) {
  const unsigned t = threadIdx.x;
  Welford state = start;
  for (unsigned i = 0; i <= t; ++i) state = exercise::update(state, x[i]);
  after.n[t] = state.n;
  after.mean[t] = state.mean;
  after.m2[t] = state.m2;
}

/// The states after the first value of x, after the first two, and so on. x has at most 1024 values.
std::vector<Welford> prefixes(const std::vector<float>& x, Welford start = {}) {
  const DeviceBuffer<float> values("x", x);
  const DeviceBuffer<std::int64_t> n("n", values.size());
  const DeviceBuffer<float> mean("mean", values.size()), m2("m2", values.size());
  launch(prefixes_kernel, {1, static_cast<unsigned>(x.size())}, start, values.data(),
         States{n.data(), mean.data(), m2.data()});
  const auto counts = n.download();
  const auto means = mean.download(), squares = m2.download();
  std::vector<Welford> states(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) states[i] = {counts[i], means[i], squares[i]};
  return states;
}

void require_written() {
  static const bool written = !is_not_written_yet(prefixes({1, 2}).back().mean);
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: update returns what the stub returns");
}

/// With the nine digits that tell every float from its neighbours.
std::string text(double value) {
  std::ostringstream digits;
  digits.precision(9);
  digits << value;
  return digits.str();
}

std::string sentence(const char* what, double got, double expected, const std::vector<float>& x, std::size_t count) {
  std::ostringstream text;
  text.precision(9);
  text << LNH_SUBJECT " has " << what << " = " << got << " after the values";
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 6); ++i) text << (i ? ", " : " ") << x[i];
  text << (count > 6 ? ", … (" + std::to_string(count) + " of them)" : "") << "; expected " << expected;
  return text.str();
}

/// Which known mistake gives these states after the first of the values, after the first two, and so on, where right is
/// right: mistakes that coincide after two values differ after more. cancelled: by how much m2 may be off where it is
/// the difference of two large numbers; 0 where these are not large.
std::string diagnosis(const Welford& start, std::span<const float> values, const std::vector<Welford>& got,
                      const std::vector<testing::WelfordState>& right, double cancelled = 0) {
  std::vector<testing::Candidate> candidates =
      testing::mistaken_updates({static_cast<double>(start.n), start.mean, start.m2}, values);
  std::vector<double> states, expected;
  bool m2_alone = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double counted = static_cast<double>(got[i].n - start.n), should = right[i].n - static_cast<double>(start.n);
    m2_alone = m2_alone && counted == should && std::abs(got[i].mean - right[i].mean) <= 1e-4 * std::abs(right[i].mean);
    states.insert(states.end(), {counted, got[i].mean, got[i].m2});
    expected.insert(expected.end(), {should, right[i].mean, right[i].m2});
  }
  if (m2_alone) candidates.push_back({"one_pass_cancellation", expected, cancelled});
  return testing::likely_mistake(candidates, states, expected);
}

/// Each prefix of the row against its mean and variance in double.
void check_prefixes(const std::vector<float>& x) {
  const std::vector<Welford> states = prefixes(x);
  const auto why = [&] {
    std::vector<testing::WelfordState> right;
    for (std::size_t count = 1; count <= x.size(); ++count) {
      const auto [mean, variance] = testing::moments(std::span(x).first(count));
      right.push_back({static_cast<double>(count), mean, variance * static_cast<double>(count)});
    }
    const auto [n, mean, m2] = right.back();
    const double squares = n * mean * mean;  // n·mean² and Σx² are this large, and rounded n times
    return diagnosis({}, x, states, right, squares > 100 * m2 ? 4 * n * u * squares : 0);
  };
  double magnitude = 0;  // Σ|x|
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto n = static_cast<double>(i + 1);
    const testing::Moments expected = testing::moments(std::span(x).first(i + 1));
    magnitude += std::abs(x[i]);
    const double mean_bound = (n + 1) * u * magnitude / n;
    // n·κ·u relative, κ = √(1 + mean²/variance), and 4u more for rows of a few values
    const double variance_bound =
        u * (n * std::sqrt(expected.variance * (expected.variance + expected.mean * expected.mean)) +
             4 * expected.variance);
    const double m2 = expected.variance * n;
    const Welford& got = states[i];
    REQUIRE_MESSAGE(got.n == static_cast<std::int64_t>(i + 1), sentence("n", static_cast<double>(got.n), n, x, i + 1)
                                                                   << why());
    REQUIRE_MESSAGE(std::abs(got.mean - expected.mean) <= mean_bound,
                    sentence("mean", got.mean, expected.mean, x, i + 1) << why());
    REQUIRE_MESSAGE(std::abs(got.m2 - m2) <= n * variance_bound, sentence("m2", got.m2, m2, x, i + 1) << why());
  }
}

void check_case(const NormCase& input) {
  const auto verdict = testing::judge(exercise::layer_norm, input, testing::thread_per_row(input.cols));
  REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " makes LayerNorm wrong on " << verdict.text());
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": n, mean and m2 are right after every value") {
  require_written();
  check_prefixes({3, 1, 4, 1, 5, 9, 2, 6});
  check_prefixes({-2.5f, -1.5f, 0, 7});
  testing::Random random(1);
  for (const double offset : {0.0, 1.0, -30.0, 1000.0, 100000.0}) {
    std::vector<float> x(100);
    for (float& value : x) value = static_cast<float>(offset + random.normal());
    check_prefixes(x);
  }
}

TEST_CASE(LNH_SUBJECT ": a constant row keeps its mean, and m2 stays 0, to the last bit") {
  require_written();
  testing::Random random(2);
  for (int i = 0; i < 50; ++i) {
    const auto constant = static_cast<float>(random.uniform(-1000, 1000));
    const std::vector<float> x(64, constant);
    const std::vector<Welford> states = prefixes(x);
    for (std::size_t t = 0; t < states.size(); ++t) {
      REQUIRE_MESSAGE((states[t].mean == constant), sentence("mean", states[t].mean, constant, x, t + 1));
      REQUIRE_MESSAGE((states[t].m2 == 0), sentence("m2", states[t].m2, 0, x, t + 1));
    }
  }
}

TEST_CASE(LNH_SUBJECT ": m2 never shrinks, not even where neighbouring floats alternate") {
  require_written();
  testing::Random random(3);
  for (int i = 0; i < 50; ++i) {
    const auto base = static_cast<float>(random.uniform(-1000, 1000));
    std::vector<float> x(64);
    for (float& value : x) value = random.bits() % 2 ? base : std::nextafter(base, 2000.0f);
    float before = 0;
    const std::vector<Welford> states = prefixes(x);
    for (std::size_t t = 0; t < states.size(); ++t) {
      REQUIRE_MESSAGE((states[t].m2 >= before),
                      LNH_SUBJECT " takes m2 from " << text(before) << " to " << text(states[t].m2));
      before = states[t].m2;
    }
  }
}

TEST_CASE(LNH_SUBJECT ": the count goes on where a float stays at 2^24, and beyond 32 bits") {
  require_written();
  for (const std::int64_t n : {std::int64_t{1} << 24, std::int64_t{1} << 33}) {
    const std::vector<float> x = {5, 5, 5};
    const Welford start = {n, 5, 1};
    const std::vector<Welford> after = prefixes(x, start);
    const auto right = [&](int more) { return testing::WelfordState{static_cast<double>(n + more), 5, 1}; };
    REQUIRE_MESSAGE(after.back().n == n + 3, LNH_SUBJECT " counts "
                                                 << after.back().n << " values after " << n << " and three more"
                                                 << diagnosis(start, x, after, {right(1), right(2), right(3)}));
  }
}

TEST_CASE(LNH_SUBJECT ": one more value moves mean and m2 of 2^24 values, and of more than 32 bits can count") {
  require_written();
  for (const int exponent : {24, 31, 32, 33}) {
    // The new value is n/8 away, so the mean moves by 1/8 and m2 grows by its square: exact but for the one in n + 1.
    const std::int64_t n = std::int64_t{1} << exponent;
    const auto far = static_cast<float>(n / 8);
    const Welford after = prefixes({far}, {n, 0, 1}).back();
    const double mean = static_cast<double>(far) / (static_cast<double>(n) + 1), m2 = 1 + far * (far - mean);
    REQUIRE_MESSAGE((std::abs(after.mean - mean) <= 4 * u * mean && std::abs(after.m2 - m2) <= 8 * u * m2),
                    LNH_SUBJECT " makes mean "
                        << text(after.mean) << " and m2 " << text(after.m2) << " of " << n
                        << " values with mean 0 and m2 1, and the value " << text(far) << "; expected " << text(mean)
                        << " and " << text(m2) << ". By what is delta divided where n is large?"
                        << diagnosis({n, 0, 1}, {&far, 1}, {after}, {{static_cast<double>(n + 1), mean, m2}}));
  }
}

TEST_CASE(LNH_SUBJECT ": LayerNorm with this update is right within the bound") {
  require_written();
  std::vector<NormCase> cases;
  std::uint64_t seed = 1;
  for (const std::int64_t cols : {100, 257, 31, 2, 1}) {
    for (const Data data : testing::all_data()) cases.push_back(testing::make_case(3, cols, data, seed++));
  }
  cases.push_back(testing::make_case(300, 5, Data::offset_10, seed++));  // more rows than a block has threads
  for (const NormCase& input : testing::judgeable(cases, testing::thread_per_row).judged) check_case(input);
  for (const NormCase& input : testing::trap_cases()) check_case(input);
}

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE { testing::print_comparison(testing::norm_workload(exercise::layer_norm)); }

#endif
