// The bounds: they hold for sound algorithms at every condition, and they convict the cancelling one.
#include <testing/cases.h>
#include <testing/random.h>
#include <testing/reference.h>
#include <testing/run.h>
#include <testing/tolerance.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

using testing::NormCase;
using testing::NormResult;
using testing::Summation;

namespace {

constexpr double u = 0x1p-24;

// Kernels, emulated in binary32 on the host: three algorithms, each with one lane or with several and a tree.

/// A running state (n, mean, M2) and Chan's merge.
struct Welford {
  float n = 0, mean = 0, m2 = 0;
  void add(float x) {
    n += 1;
    const float delta = x - mean;
    mean += delta / n;
    m2 += delta * (x - mean);
  }
  void merge(const Welford& other) {
    if (other.n == 0) return;
    const float count = n + other.n;
    const float delta = other.mean - mean;
    mean += delta * (other.n / count);
    m2 += other.m2 + delta * delta * (n * other.n / count);
    n = count;
  }
};

struct Sum {
  float value = 0;
  void add(float x) { value += x; }
  void merge(const Sum& other) { value += other.value; }
};

/// Element c goes to lane c % lanes; then a tree over the lanes. lanes is a power of two.
template <class State>
State reduce(std::size_t count, std::size_t lanes, const std::function<float(std::size_t)>& element) {
  std::vector<State> state(lanes);
  for (std::size_t c = 0; c < count; ++c) state[c % lanes].add(element(c));
  for (std::size_t half = lanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) state[lane].merge(state[lane + half]);
  }
  return state[0];
}

struct Statistics {
  float mean, variance;
};
using Algorithm = Statistics (*)(std::span<const float> row, std::size_t lanes);

Statistics textbook(std::span<const float> row, std::size_t lanes) {
  const auto n = static_cast<float>(row.size());
  const float mean = reduce<Sum>(row.size(), lanes, [&](std::size_t c) { return row[c]; }).value / n;
  const float squares = reduce<Sum>(row.size(), lanes, [&](std::size_t c) { return row[c] * row[c]; }).value / n;
  return {mean, squares - mean * mean};
}

Statistics two_pass(std::span<const float> row, std::size_t lanes) {
  const auto n = static_cast<float>(row.size());
  const float mean = reduce<Sum>(row.size(), lanes, [&](std::size_t c) { return row[c]; }).value / n;
  const float squares =
      reduce<Sum>(row.size(), lanes, [&](std::size_t c) { return (row[c] - mean) * (row[c] - mean); }).value;
  return {mean, squares / n};
}

Statistics welford(std::span<const float> row, std::size_t lanes) {
  const auto state = reduce<Welford>(row.size(), lanes, [&](std::size_t c) { return row[c]; });
  return {state.mean, state.m2 / state.n};
}

NormResult emulate(Algorithm algorithm, const NormCase& input, std::size_t lanes) {
  NormResult result;
  const auto cols = static_cast<std::size_t>(input.cols);
  for (std::size_t r = 0; r < static_cast<std::size_t>(input.rows); ++r) {
    const auto row = std::span(input.x).subspan(r * cols, cols);
    const auto [mean, variance] = algorithm(row, lanes);
    const float rstd = 1.0f / std::sqrt(variance + input.eps);
    for (std::size_t c = 0; c < cols; ++c) {
      const float gamma = input.gamma.empty() ? 1.0f : input.gamma[c];
      const float beta = input.beta.empty() ? 0.0f : input.beta[c];
      result.y.push_back((row[c] - mean) * rstd * gamma + beta);
    }
    result.mean.push_back(mean);
    result.rstd.push_back(rstd);
  }
  return result;
}

template <std::size_t lanes>
Summation dealt_to(std::int64_t cols) {
  return testing::block_per_row<static_cast<std::int64_t>(lanes)>(cols);
}
struct Form {
  std::size_t lanes;
  testing::SummationOf summation;
};
constexpr Form forms[] = {{1, testing::thread_per_row}, {32, dealt_to<32>}, {256, dealt_to<256>}};

/// One row N(mean, σ²), with γ and β.
NormCase row_with(double mean, double sigma, std::int64_t cols, float eps, std::uint64_t seed) {
  testing::Random random(seed);
  NormCase input = testing::make_case(1, cols, testing::Data::zero, seed);
  for (float& x : input.x) x = static_cast<float>(mean + sigma * random.normal());
  input.eps = eps;
  input.name = "mean " + std::to_string(mean) + ", σ " + std::to_string(sigma) + ", " + std::to_string(cols) +
               " columns, eps " + std::to_string(eps);
  return input;
}

testing::LayerNormTolerance tolerance_of(const NormCase& input, Summation summation) {
  return testing::layer_norm_tolerance(
      input, testing::layer_norm_reference(input.x, input.gamma, input.beta, input.rows, input.cols, input.eps),
      summation);
}

double worst_ratio(Algorithm algorithm, const std::vector<NormCase>& cases, const Form& form) {
  double worst = 0;
  for (const NormCase& input : testing::judgeable(cases, form.summation).judged) {
    const auto verdict = testing::judge(emulate(algorithm, input, form.lanes), input, form.summation(input.cols));
    CHECK_MESSAGE(verdict.passed(), form.lanes << " lanes, " << verdict.text());
    worst = std::max(worst, verdict.ratio());
  }
  return worst;
}

}  // namespace

TEST_CASE("the bounds are the formulas of their table") {
  // mean 3, variance 1, eps 0: κ = 3; m = 5, T = 32: D = 10, D' = 13. x̂ = −1 and 1.
  const NormCase input{
      .name = "by hand", .rows = 1, .cols = 2, .x = {2, 4}, .gamma = {-2, 0.5f}, .beta = {0.25f, -1}, .eps = 0};
  const auto tolerance = tolerance_of(input, {.serial = 5, .threads = 32});
  CHECK(tolerance.kappa[0] == 3);
  const double normalised = 13 * 3 * u * 1.5 + 4 * u;
  CHECK(tolerance.y[0] == doctest::Approx(2 * normalised + 2 * u * (2 + 0.25)).epsilon(1e-12));
  CHECK(tolerance.y[1] == doctest::Approx(0.5 * normalised + 2 * u * (0.5 + 1)).epsilon(1e-12));
  CHECK(tolerance.mean[0] == doctest::Approx(11 * u * 3).epsilon(1e-12));
  CHECK(tolerance.rstd[0] == doctest::Approx(10 * std::sqrt(10.0) * u / 2 + 4 * u).epsilon(1e-12));  // κ₀ = √(1 + 9)
}

TEST_CASE("m below 4 counts as 4, and T need not be a power of two") {
  const NormCase input{.name = "by hand", .rows = 1, .cols = 2, .x = {-1, 1}, .gamma = {}, .beta = {}, .eps = 0};
  for (const std::int64_t serial : {1, 2, 4}) {
    CHECK(tolerance_of(input, {serial, 1}).y[0] == doctest::Approx(12 * u * 1.5 + 6 * u).epsilon(1e-12));
  }
  CHECK(tolerance_of(input, {1, 33}).mean[0] == doctest::Approx((1 + 6 + 1) * u).epsilon(1e-12));
  CHECK(tolerance_of(input, {1, 32}).mean[0] == doctest::Approx((1 + 5 + 1) * u).epsilon(1e-12));
  CHECK(tolerance_of(input, {1, 1}).mean[0] == doctest::Approx((1 + 0 + 1) * u).epsilon(1e-12));
}

TEST_CASE("κ comes from the rounded inputs and from eps, and the bound of y grows with it") {
  // In decimals the variance is 8.25e-6 and κ 3.48e5 would not change by much; in binary32 1e7 + 0.1 is 1e7.
  const NormCase collapsed{
      .name = "collapsed", .rows = 1, .cols = 2, .x = {1e7f, 1e7f + 0.1f}, .gamma = {}, .beta = {}, .eps = 1e10f};
  CHECK(tolerance_of(collapsed, {2, 1}).kappa[0] == doctest::Approx(1e7 / std::sqrt(1e10)).epsilon(1e-9));
  const NormCase centred{.name = "centred", .rows = 1, .cols = 2, .x = {-1, 1}, .gamma = {}, .beta = {}, .eps = 1};
  CHECK(tolerance_of(centred, {2, 1}).kappa[0] == 1);

  double smaller = 0;
  for (const double mean : {10, 100, 1000, 10000}) {
    const double bound = tolerance_of(row_with(mean, 1, 64, 0, 1), {2, 32}).y[0];
    CHECK(bound > 5 * smaller);
    smaller = bound;
  }
}

TEST_CASE("a constant row has a bound of 4u on rstd, and none on a variance that is not 0") {
  const NormCase input{
      .name = "constant", .rows = 1, .cols = 4, .x = {0, 0, 0, 0}, .gamma = {}, .beta = {}, .eps = 1e-5f};
  const auto tolerance = tolerance_of(input, {4, 1});
  CHECK(tolerance.rstd[0] == doctest::Approx(4 * u / std::sqrt(1e-5)).epsilon(1e-6));
  CHECK(tolerance.mean[0] == 0);
}

TEST_CASE("a row whose bound says nothing is refused with a reason, and judgeable() takes it out") {
  NormCase input{
      .name = "two rows", .rows = 2, .cols = 2, .x = {1, 3, 1e6f, 1e6f + 1}, .gamma = {}, .beta = {}, .eps = 0};
  CHECK_THROWS_WITH_AS(tolerance_of(input, {2, 1}),
                       doctest::Contains("two rows: row 1 says nothing about this kernel: the bound allows 1.4 in x̂"),
                       std::invalid_argument);
  const testing::Selection selection = testing::judgeable({input}, testing::thread_per_row);
  REQUIRE(selection.judged.size() == 1);
  CHECK(selection.judged[0].rows == 1);
  CHECK(selection.judged[0].x == std::vector<float>{1, 3});
  REQUIRE(selection.refused.size() == 1);
  CHECK(selection.refused[0].starts_with("two rows: row 1 says nothing"));
  CHECK(tolerance_of(selection.judged[0], {2, 1}).y.size() == 2);

  input.rows = 1;
  input.x = {1e6f, 1e6f + 1};
  CHECK(testing::judgeable({input}, testing::thread_per_row).judged.empty());
}

TEST_CASE("the same row may say nothing about a long chain and something about a short one") {
  const NormCase input = row_with(1000, 1, 4096, 1e-5f, 2);
  CHECK(testing::judgeable({input}, testing::thread_per_row).judged.empty());  // 4104 · 1000 · u = 0.24
  CHECK(testing::judgeable({input}, dealt_to<256>).refused.empty());           // 24 · 1000 · u = 0.0014
}

TEST_CASE("where the reference is not finite there is no bound, and the same NaN and infinity are asked for") {
  const NormCase input{.name = "eps 0", .rows = 2, .cols = 2, .x = {7, 7, NAN, 1}, .gamma = {}, .beta = {}, .eps = 0};
  const NormResult right{.y = {NAN, NAN, NAN, NAN}, .mean = {7, NAN}, .rstd = {INFINITY, NAN}};
  CHECK(testing::judge(right, input, {2, 1}).passed());
  NormResult hidden = right;
  hidden.y[1] = 0;
  CHECK_FALSE(testing::judge(hidden, input, {2, 1}).passed());
  hidden = right;
  hidden.rstd[0] = 1e30f;
  CHECK_FALSE(testing::judge(hidden, input, {2, 1}).passed());
}

TEST_CASE("Welford and two passes keep within the bound on every standard, published and trap case") {
  for (const Form& form : forms) {
    for (const auto& cases : {testing::standard_cases(), testing::published_cases(), testing::trap_cases()}) {
      const double largest = std::max(worst_ratio(welford, cases, form), worst_ratio(two_pass, cases, form));
      MESSAGE(form.lanes << " lanes: error/bound at most " << largest);
    }
  }
}

TEST_CASE("Welford and two passes keep within the bound over a sweep of κ, width and eps") {
  std::uint64_t seed = 100;
  for (const Form& form : forms) {
    std::vector<NormCase> cases;
    for (const std::int64_t cols : {1, 2, 3, 4, 5, 8, 16, 31, 64, 257, 1000, 4096}) {
      for (const double kappa : {0.0, 1.0, 3.0, 10.0, 100.0, 1e3, 1e4, 1e5}) {
        for (const double sigma : {1e-4, 1.0, 1e3}) {  // variance far below eps, and far above
          for (const float eps : {0.0f, 1e-5f, 1.0f})
            cases.push_back(row_with(kappa * sigma, sigma, cols, eps, seed++));
        }
      }
    }
    const double largest = std::max(worst_ratio(welford, cases, form), worst_ratio(two_pass, cases, form));
    MESSAGE(form.lanes << " lanes: error/bound at most " << largest);
    CHECK(largest > 0.01);  // a bound that nothing comes near would not be worth much
  }
}

TEST_CASE("the cancelling variance is convicted on every trap row: ten times the bound, or NaN") {
  for (const Form& form : forms) {
    const testing::Selection traps = testing::judgeable(testing::trap_cases(), form.summation);
    CHECK(traps.refused.empty());
    for (const NormCase& input : traps.judged) {
      const auto verdict = testing::judge(emulate(textbook, input, form.lanes), input, form.summation(input.cols));
      CAPTURE(verdict.text());
      CHECK(verdict.y.ratio >= 10);  // infinite for NaN
      CHECK_FALSE(verdict.passed());
    }
  }
}

namespace {

/// RMSNorm in binary32, with one lane or several and a tree.
NormResult emulate_rms_norm(const NormCase& input, std::size_t lanes) {
  NormResult result;
  const auto cols = static_cast<std::size_t>(input.cols);
  for (std::size_t r = 0; r < static_cast<std::size_t>(input.rows); ++r) {
    const auto row = std::span(input.x).subspan(r * cols, cols);
    const float squares = reduce<Sum>(cols, lanes, [&](std::size_t c) { return row[c] * row[c]; }).value;
    const float rstd = 1.0f / std::sqrt(squares / static_cast<float>(cols) + input.eps);
    for (std::size_t c = 0; c < cols; ++c)
      result.y.push_back(row[c] * rstd * (input.gamma.empty() ? 1 : input.gamma[c]));
    result.rstd.push_back(rstd);
  }
  return result;
}

testing::NormVerdict judge_rms_norm(const NormResult& result, const NormCase& input, const Form& form) {
  return testing::judge(result, input, form.summation(input.cols), Norm::rms_norm);
}

}  // namespace

TEST_CASE("RMSNorm's bounds are the formulas of their table") {
  // Σx²/2 = 25, eps 15: w = 25/40, rstd = 1/√40; m = 5, T = 32: D = 10.
  const NormCase input{
      .name = "by hand", .rows = 1, .cols = 2, .x = {1, 7}, .gamma = {-2, 0.5f}, .beta = {9, 9}, .eps = 15};
  const auto tolerance = testing::rms_norm_tolerance(input, testing::rms_norm_reference(input.x, input.gamma, 1, 2, 15),
                                                     {.serial = 5, .threads = 32});
  const double of_sum = 10 * u * (25.0 / 40) / 2;
  CHECK(tolerance.rstd[0] == doctest::Approx((of_sum + 4 * u) / std::sqrt(40.0)).epsilon(1e-12));
  CHECK(tolerance.y[0] == doctest::Approx(2 / std::sqrt(40.0) * (of_sum + 6 * u)).epsilon(1e-12));
  CHECK(tolerance.y[1] == doctest::Approx(3.5 / std::sqrt(40.0) * (of_sum + 6 * u)).epsilon(1e-12));
}

TEST_CASE("RMSNorm keeps within its bound over a sweep of κ, width and eps, and κ changes nothing") {
  std::uint64_t seed = 500;
  for (const Form& form : forms) {
    double largest = 0, largest_far_from_0 = 0;
    for (const std::int64_t cols : {1, 2, 3, 4, 5, 8, 16, 31, 64, 257, 1000, 4096}) {
      for (const double kappa : {0.0, 1.0, 10.0, 1e3, 1e5, 1e7}) {
        for (const double sigma : {1e-4, 1.0, 1e3}) {
          for (const float eps : {0.0f, 1e-5f, 1.0f}) {
            const NormCase input = row_with(kappa * sigma, sigma, cols, eps, seed++);
            const auto verdict = judge_rms_norm(emulate_rms_norm(input, form.lanes), input, form);
            CHECK_MESSAGE(verdict.passed(), form.lanes << " lanes, " << verdict.text());
            largest = std::max(largest, verdict.ratio());
            if (kappa >= 1e5) largest_far_from_0 = std::max(largest_far_from_0, verdict.ratio());
          }
        }
      }
    }
    MESSAGE(form.lanes << " lanes: error/bound at most " << largest << ", with κ of 1e5 and more "
                       << largest_far_from_0);
    CHECK(largest > 0.1);  // a bound that nothing comes near would not be worth much
  }
}

TEST_CASE("RMSNorm keeps within its bound on every standard, published and trap case: it refuses no row") {
  for (const Form& form : forms) {
    for (const auto& cases : {testing::standard_cases(), testing::published_cases(), testing::trap_cases()}) {
      for (const NormCase& input : cases) {
        const auto verdict = judge_rms_norm(emulate_rms_norm(input, form.lanes), input, form);
        CHECK_MESSAGE(verdict.passed(), form.lanes << " lanes, " << verdict.text());
      }
    }
  }
}

TEST_CASE("where RMSNorm's reference is not finite there is no bound, and the same NaN, infinity and 0 are asked for") {
  const NormCase input{
      .name = "eps 0", .rows = 3, .cols = 2, .x = {0, 0, INFINITY, 1, NAN, 1}, .gamma = {}, .beta = {}, .eps = 0};
  const NormResult right{.y = {NAN, NAN, NAN, 0, NAN, NAN}, .mean = {}, .rstd = {INFINITY, 0, NAN}};
  CHECK(judge_rms_norm(right, input, forms[0]).passed());
  for (const std::size_t i : {0, 2, 3, 4}) {
    NormResult wrong = right;
    wrong.y[i] = 1e-30f;
    CAPTURE(i);
    CHECK_FALSE(judge_rms_norm(wrong, input, forms[0]).passed());
  }
}

TEST_CASE("known mistakes in RMSNorm are far outside the bound") {
  const Form form = forms[1];
  const NormCase input = testing::make_case(1, 100, testing::Data::offset_10, 31);
  const NormResult right = emulate_rms_norm(input, form.lanes);
  REQUIRE(judge_rms_norm(right, input, form).passed());
  const auto rescaled = [&](double factor) {
    NormResult wrong = right;
    for (float& y : wrong.y) y = static_cast<float>(y * factor);
    return judge_rms_norm(wrong, input, form).ratio();
  };
  CHECK(rescaled(std::sqrt(99.0 / 100)) > 10);  // over n − 1
  CHECK(rescaled(1 / std::sqrt(100.0)) > 10);   // the sum of the squares, not their mean
  CHECK(rescaled(1 + 1e-5) > 10);               // eps = 1e-5 outside the root, at a root near 1
  CHECK(judge_rms_norm(emulate(two_pass, input, form.lanes), input, form).ratio() > 10);  // LayerNorm
}

TEST_CASE("known mistakes on an ordinary row are far outside the bound") {
  const NormCase input = testing::make_case(1, 100, testing::Data::offset_10, 31);
  const NormResult right = emulate(two_pass, input, 32);
  REQUIRE(testing::judge(right, input, dealt_to<32>(100)).passed());
  const auto ratio_of = [&](const std::function<void(NormResult&)>& mistake) {
    NormResult wrong = right;
    mistake(wrong);
    return testing::judge(wrong, input, dealt_to<32>(100)).ratio();
  };
  const auto rescaled = [&](double factor) {  // another rstd
    return ratio_of([&](NormResult& result) {
      for (std::size_t c = 0; c < 100; ++c)
        result.y[c] = static_cast<float>((result.y[c] - input.beta[c]) * factor + input.beta[c]);
    });
  };
  CHECK(rescaled(std::sqrt(99.0 / 100)) > 10);  // variance over n − 1
  CHECK(rescaled(1 - 1e-3) > 10);
  CHECK(ratio_of([](NormResult& result) { result.y[99] = result.y[98]; }) > 10);
  CHECK(ratio_of([](NormResult& result) { std::fill(result.y.begin(), result.y.end(), 0.0f); }) > 10);
  CHECK(ratio_of([](NormResult& result) { result.mean[0] *= 1.001f; }) > 10);
  CHECK(ratio_of([](NormResult& result) { result.rstd[0] *= 1.001f; }) > 10);
  CHECK(ratio_of([](NormResult& result) { result.rstd[0] = 1 / result.rstd[0]; }) > 10);
}
