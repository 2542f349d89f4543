// The judge of the backward: its truth is the derivative of the forward, its bounds accept what is right and nothing
// else.
#include <testing/backward.h>
#include <testing/random.h>
#include <testing/reference.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

// The forward as it is defined, and the loss Σ dy · y, whose derivatives by x, γ and β a backward computes.

struct Problem {
  Norm norm;
  std::int64_t rows, cols;
  std::vector<double> x, gamma, dy;  // gamma may be empty: 1
  double eps = 1e-5;

  double gamma_of(std::size_t c) const { return gamma.empty() ? 1.0 : gamma[c]; }
};

struct Statistics {
  double mean, rstd;
};
Statistics statistics_of(const Problem& problem, const std::vector<double>& x, std::int64_t row) {
  const auto cols = static_cast<std::size_t>(problem.cols), first = static_cast<std::size_t>(row) * cols;
  double mean = 0, spread = 0;
  if (problem.norm == Norm::layer_norm) {
    for (std::size_t c = 0; c < cols; ++c) mean += x[first + c];
    mean /= static_cast<double>(cols);
  }
  for (std::size_t c = 0; c < cols; ++c) spread += (x[first + c] - mean) * (x[first + c] - mean);
  return {mean, 1 / std::sqrt(spread / static_cast<double>(cols) + problem.eps)};
}

/// What a row adds to the loss. step: added to γ and β of this column.
double loss_of_row(const Problem& problem, const std::vector<double>& x, std::int64_t row, std::size_t column = 0,
                   double gamma_step = 0, double beta_step = 0) {
  const auto cols = static_cast<std::size_t>(problem.cols), first = static_cast<std::size_t>(row) * cols;
  const auto [mean, rstd] = statistics_of(problem, x, row);
  double loss = 0;
  for (std::size_t c = 0; c < cols; ++c) {
    const double gamma = problem.gamma_of(c) + (c == column ? gamma_step : 0);
    const double beta = c == column ? beta_step : 0;
    loss += problem.dy[first + c] * ((x[first + c] - mean) * rstd * gamma + beta);
  }
  return loss;
}

/// (loss at +step − loss at −step) / 2 step.
///
/// x: a step of ∛ε in units of 1/rstd, the length over which y bends. The error of a central difference is step²·y‴/6,
/// and the rounding of the loss divided by the step, about κε/step: both are smallest, and alike, near ∛ε = 6e-6, and
/// then some 1e-9 of rstd·max|g| for κ up to 50. γ and β: the loss is linear in them, so the step is 1 and there is
/// rounding alone.
testing::BackwardReference central_differences(const Problem& problem) {
  const auto rows = static_cast<std::size_t>(problem.rows), cols = static_cast<std::size_t>(problem.cols);
  testing::BackwardReference result;
  std::vector<double> x = problem.x;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = static_cast<std::int64_t>(r);
    const double step = std::cbrt(std::numeric_limits<double>::epsilon()) / statistics_of(problem, problem.x, row).rstd;
    for (std::size_t i = r * cols; i < (r + 1) * cols; ++i) {
      const double here = x[i];
      x[i] = here + step;
      const double above = x[i], loss_above = loss_of_row(problem, x, row);
      x[i] = here - step;
      result.dx.push_back((loss_above - loss_of_row(problem, x, row)) / (above - x[i]));
      x[i] = here;
    }
  }
  for (std::size_t c = 0; c < cols; ++c) {
    double by_gamma = 0, by_beta = 0;
    for (std::int64_t row = 0; row < problem.rows; ++row) {
      by_gamma += loss_of_row(problem, x, row, c, 1, 0) - loss_of_row(problem, x, row, c, -1, 0);
      by_beta += loss_of_row(problem, x, row, c, 0, 1) - loss_of_row(problem, x, row, c, 0, -1);
    }
    result.dgamma.push_back(by_gamma / 2);
    if (problem.norm == Norm::layer_norm) result.dbeta.push_back(by_beta / 2);
  }
  return result;
}

/// Rows of random values that are at least a quarter of their scale apart, so that κ stays below 50, with and without
/// an offset; where the scale is 0.01, eps is as large as the variance.
Problem random_problem(Norm norm, std::uint64_t seed) {
  testing::Random random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random.bits() % n); };
  Problem problem{.norm = norm, .rows = 1 + below(3), .cols = 1 + below(9), .x = {}, .gamma = {}, .dy = {}};
  const double scales[] = {0.01, 1, 100}, offsets[] = {0, 1, -10};
  for (std::int64_t r = 0; r < problem.rows; ++r) {
    const double scale = scales[below(3)], offset = offsets[below(3)];
    for (std::int64_t c = 0; c < problem.cols; ++c) {
      const auto place = static_cast<double>(c % 2 == 0 ? c : -c);
      problem.x.push_back(scale * (offset + place + random.uniform(-0.375, 0.375)));
      problem.dy.push_back(random.normal());
    }
  }
  if (below(4) != 0) {
    for (std::int64_t c = 0; c < problem.cols; ++c) problem.gamma.push_back(random.uniform(-2, 2));
  }
  return problem;
}

testing::BackwardReference reference_of(const Problem& problem) {
  std::vector<double> mean, rstd;
  for (std::int64_t row = 0; row < problem.rows; ++row) {
    const Statistics statistics = statistics_of(problem, problem.x, row);
    if (problem.norm == Norm::layer_norm) mean.push_back(statistics.mean);
    rstd.push_back(statistics.rstd);
  }
  return testing::norm_backward_reference(problem.x, problem.gamma, mean, rstd, problem.dy, problem.rows, problem.cols);
}

/// Whether dx is the derivative: the largest |difference| in units of rstd · max|g| of its row is at most 1e-7.
bool is_derivative(const Problem& problem, const std::vector<double>& dx, const std::vector<double>& differences) {
  const auto cols = static_cast<std::size_t>(problem.cols);
  for (std::int64_t row = 0; row < problem.rows; ++row) {
    const std::size_t first = static_cast<std::size_t>(row) * cols;
    double largest_g = 0;
    for (std::size_t c = 0; c < cols; ++c)
      largest_g = std::max(largest_g, std::abs(problem.dy[first + c] * problem.gamma_of(c)));
    const double tolerance = 1e-7 * statistics_of(problem, problem.x, row).rstd * largest_g;
    for (std::size_t c = 0; c < cols; ++c) {
      if (!(std::abs(dx[first + c] - differences[first + c]) <= tolerance)) return false;
    }
  }
  return true;
}

/// Wrong in a known way.
enum class Mistake { gamma_pulled_out, without_mean_g, without_mean_gx };
std::vector<double> wrong_dx(const Problem& problem, Mistake mistake) {
  const auto cols = static_cast<std::size_t>(problem.cols);
  const bool centred = problem.norm == Norm::layer_norm;
  std::vector<double> dx;
  for (std::int64_t row = 0; row < problem.rows; ++row) {
    const std::size_t first = static_cast<std::size_t>(row) * cols;
    const auto [mean, rstd] = statistics_of(problem, problem.x, row);
    double mean_g = 0, mean_gx = 0;
    const bool out = mistake == Mistake::gamma_pulled_out;
    const auto g = [&](std::size_t c) { return problem.dy[first + c] * (out ? 1.0 : problem.gamma_of(c)); };
    const auto normalised = [&, m = mean, s = rstd](std::size_t c) { return (problem.x[first + c] - m) * s; };
    for (std::size_t c = 0; c < cols; ++c) {
      mean_g += g(c) / static_cast<double>(cols);
      mean_gx += g(c) * normalised(c) / static_cast<double>(cols);
    }
    if (!centred || mistake == Mistake::without_mean_g) mean_g = 0;
    if (mistake == Mistake::without_mean_gx) mean_gx = 0;
    for (std::size_t c = 0; c < cols; ++c) {
      dx.push_back(rstd * (out ? problem.gamma_of(c) : 1.0) * (g(c) - mean_g - normalised(c) * mean_gx));
    }
  }
  return dx;
}

constexpr std::uint64_t problems = 1000;  // of each norm

/// What a kernel in double precision would give.
testing::BackwardResult rounded(const testing::BackwardReference& reference) {
  return {{reference.dx.begin(), reference.dx.end()},
          {reference.dgamma.begin(), reference.dgamma.end()},
          {reference.dbeta.begin(), reference.dbeta.end()}};
}

/// The shortest chain that a kernel can have: the narrowest bound.
constexpr testing::BackwardSummation shortest{{1, 1}, {1, 1}};

testing::BackwardCase offset_case(Norm norm, testing::Data data = testing::Data::offset_10) {
  return testing::make_backward_case(norm, testing::make_case(9, 40, data, 51), 51);
}

}  // namespace

TEST_CASE("the truth is the derivative of the forward, by x, γ and β") {
  for (const Norm norm : {Norm::layer_norm, Norm::rms_norm}) {
    for (std::uint64_t seed = 1; seed <= problems; ++seed) {
      const Problem problem = random_problem(norm, seed);
      const testing::BackwardReference reference = reference_of(problem), differences = central_differences(problem);
      CAPTURE(seed);
      CHECK(is_derivative(problem, reference.dx, differences.dx));
      // Rounding alone, beside the sizes of what the loss adds up.
      double sizes = 0;
      for (std::size_t i = 0; i < problem.dy.size(); ++i) sizes += std::abs(problem.dy[i]);
      const double tolerance = 1e-12 * sizes * static_cast<double>(problem.cols);
      for (std::size_t c = 0; c < reference.dgamma.size(); ++c)
        CHECK(std::abs(reference.dgamma[c] - differences.dgamma[c]) <= tolerance);
      REQUIRE(reference.dbeta.size() == differences.dbeta.size());
      for (std::size_t c = 0; c < reference.dbeta.size(); ++c)
        CHECK(std::abs(reference.dbeta[c] - differences.dbeta[c]) <= tolerance);
    }
  }
}

TEST_CASE("central differences convict γ outside the means, and a mean that is missing") {
  for (const Norm norm : {Norm::layer_norm, Norm::rms_norm}) {
    int tried = 0;
    for (std::uint64_t seed = 1; seed <= problems; ++seed) {
      const Problem problem = random_problem(norm, seed);
      if (problem.cols < 3 || problem.gamma.empty()) continue;  // there some mistakes are none
      ++tried;
      CAPTURE(seed);
      const std::vector<double> differences = central_differences(problem).dx;
      CHECK(!is_derivative(problem, wrong_dx(problem, Mistake::gamma_pulled_out), differences));
      CHECK(!is_derivative(problem, wrong_dx(problem, Mistake::without_mean_gx), differences));
      if (norm == Norm::layer_norm)
        CHECK(!is_derivative(problem, wrong_dx(problem, Mistake::without_mean_g), differences));
    }
    CHECK(tried > 500);
  }
}

TEST_CASE("LayerNorm of a single column does not depend on it: dx and dgamma are exactly 0") {
  for (const double x : {0.0, 1.0, -3.7, 1e6}) {
    const Problem problem{.norm = Norm::layer_norm, .rows = 2, .cols = 1, .x = {x, -x}, .gamma = {1.7}, .dy = {3, 0.3}};
    const testing::BackwardReference reference = reference_of(problem), differences = central_differences(problem);
    CHECK(reference.dx == std::vector<double>{0, 0});
    CHECK(reference.dgamma == std::vector<double>{0});
    CHECK(reference.dbeta == std::vector<double>{3 + 0.3});
    CHECK(differences.dx == std::vector<double>{0, 0});
  }
}

TEST_CASE("sizes that do not fit are refused") {
  const std::vector<double> two(2, 1.0), one(1, 1.0);
  CHECK_THROWS_WITH(testing::norm_backward_reference(two, {}, one, one, one, 1, 2),
                    "x, gamma, mean, rstd, dy have 2, 0, 1, 1, 1 elements, which do not fit 1 rows of 2 columns");
}

TEST_CASE("a kernel in double precision, rounded to binary32, is within the narrowest bound") {
  for (const Norm norm : {Norm::layer_norm, Norm::rms_norm}) {
    for (const testing::BackwardCase& input : testing::standard_backward_cases(norm)) {
      const testing::BackwardVerdict verdict =
          testing::judge_backward(rounded(testing::norm_backward_reference(input)), input, shortest);
      CHECK_MESSAGE(verdict.passed(), verdict.text());
      CHECK(verdict.ratio() <= 1);
    }
  }
}

TEST_CASE("known-wrong results are rejected, each for the output that is wrong") {
  const testing::BackwardCase input = offset_case(Norm::layer_norm);
  const testing::BackwardResult right = rounded(testing::norm_backward_reference(input));
  const testing::BackwardSummation widest{{40, 1}, {9, 1}};  // one thread adds up everything

  testing::BackwardCase with_x = input;  // dγ = Σ dy · x
  std::fill(with_x.mean.begin(), with_x.mean.end(), 0.0f);
  std::fill(with_x.rstd.begin(), with_x.rstd.end(), 1.0f);
  testing::BackwardResult result = right;
  result.dgamma = rounded(testing::norm_backward_reference(with_x)).dgamma;
  testing::BackwardVerdict verdict = testing::judge_backward(result, input, widest);
  CHECK(verdict.dgamma.bad == 40);
  CHECK((verdict.dx.passed() && verdict.dbeta.passed()));

  result = right;
  std::swap(result.dgamma, result.dbeta);
  verdict = testing::judge_backward(result, input, widest);
  CHECK((verdict.dx.passed() && !verdict.dgamma.passed() && !verdict.dbeta.passed()));

  const testing::BackwardCase rms = offset_case(Norm::rms_norm);
  testing::BackwardCase centred = rms;  // RMSNorm's dx less mean(g) · rstd
  centred.mean.assign(rms.rstd.size(), 0.0f);
  result = rounded(testing::norm_backward_reference(rms));
  result.dx = rounded(testing::norm_backward_reference(centred)).dx;
  verdict = testing::judge_backward(result, rms, widest);
  CHECK((verdict.dx.bad > 300 && verdict.dgamma.passed()));

  result = right;  // accumulate where it was not asked for
  for (float& sum : result.dbeta) sum += 7;
  CHECK(!testing::judge_backward(result, input, widest).passed());
  result = right;
  CHECK(!testing::judge_backward(result, input, widest, {.accumulate = true}).passed());
  for (float& sum : result.dgamma) sum += 7;
  for (float& sum : result.dbeta) sum += 7;
  CHECK(testing::judge_backward(result, input, widest, {.accumulate = true, .before = 7}).passed());
}

TEST_CASE("NaN never passes, and one where the truth has it must be there") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const testing::BackwardCase input = offset_case(Norm::layer_norm);
  const testing::BackwardResult right = rounded(testing::norm_backward_reference(input));
  const auto rejected = [&](auto output) {
    testing::BackwardResult result = right;
    output(result)[5] = nan;
    const testing::BackwardVerdict verdict = testing::judge_backward(result, input, {{1 << 20, 1}, {1 << 20, 1}});
    return !verdict.passed() && verdict.dx.nan + verdict.dgamma.nan + verdict.dbeta.nan == 1;
  };
  CHECK(rejected([](auto& result) -> auto& { return result.dx; }));
  CHECK(rejected([](auto& result) -> auto& { return result.dgamma; }));
  CHECK(rejected([](auto& result) -> auto& { return result.dbeta; }));

  testing::BackwardCase with_nan = input;
  with_nan.dy[7] = nan;
  CHECK(!testing::judge_backward(right, with_nan, shortest).passed());
  const testing::BackwardResult followed = rounded(testing::norm_backward_reference(with_nan));
  CHECK(testing::judge_backward(followed, with_nan, shortest).passed());
  CHECK(std::isnan(followed.dx[0]));  // its row
  CHECK(!std::isnan(followed.dx[40]));
  CHECK(std::isnan(followed.dbeta[7]));  // its column
  CHECK(!std::isnan(followed.dbeta[8]));
}

TEST_CASE("the bounds grow with the number of additions, and a forward's error adds to them") {
  for (const Norm norm : {Norm::layer_norm, Norm::rms_norm}) {
    const testing::BackwardCase input = offset_case(norm);
    const auto bound = testing::norm_backward_tolerance(input, shortest);
    const auto longer_row = testing::norm_backward_tolerance(input, {{40, 1}, {1, 1}});
    const auto longer_column = testing::norm_backward_tolerance(input, {{1, 1}, {9, 1}});
    const auto through = testing::through_forward_tolerance(input, shortest, {1, 1});
    for (std::size_t i = 0; i < bound.dx.size(); ++i) {
      CHECK(longer_row.dx[i] > bound.dx[i]);
      CHECK(longer_column.dx[i] == bound.dx[i]);
      CHECK(through.dx[i] > bound.dx[i]);
    }
    for (std::size_t c = 0; c < bound.dgamma.size(); ++c) {
      CHECK(longer_row.dgamma[c] == bound.dgamma[c]);
      CHECK(longer_column.dgamma[c] > bound.dgamma[c]);
      CHECK(through.dgamma[c] > bound.dgamma[c]);
    }
    CHECK(through.dbeta == bound.dbeta);  // Σ dy: no statistic is in it
  }
}

TEST_CASE("what a forward adds to LayerNorm's bound grows with κ, and to RMSNorm's not") {
  // The same seed: the same row but for its offset. In units of rstd dx has no scale.
  const auto added = [](Norm norm, testing::Data data) {
    const testing::BackwardCase input = offset_case(norm, data);
    const auto bound = testing::norm_backward_tolerance(input, shortest);
    const auto through = testing::through_forward_tolerance(input, shortest, {40, 1});
    double dx = 0, dgamma = 0;
    for (std::size_t i = 0; i < bound.dx.size(); ++i)
      dx += (through.dx[i] - bound.dx[i]) / static_cast<double>(input.rstd[i / 40]);
    for (std::size_t c = 0; c < bound.dgamma.size(); ++c) dgamma += through.dgamma[c] - bound.dgamma[c];
    return std::pair(dx, dgamma);
  };
  const testing::Data offsets[] = {testing::Data::offset_10, testing::Data::offset_100, testing::Data::offset_1000};
  for (int i = 0; i < 2; ++i) {
    const auto [dx, dgamma] = added(Norm::layer_norm, offsets[i]);
    const auto [next_dx, next_dgamma] = added(Norm::layer_norm, offsets[i + 1]);
    CHECK((5 * dx < next_dx && next_dx < 20 * dx));  // κ is ten times as large
    CHECK((5 * dgamma < next_dgamma && next_dgamma < 20 * dgamma));
    CHECK(added(Norm::rms_norm, offsets[i + 1]).first < 2 * added(Norm::rms_norm, offsets[i]).first);
  }
}
