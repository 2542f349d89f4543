#include <testing/backward.h>

#include <host/device_buffer.h>
#include <testing/diagnosis.h>
#include <testing/input.h>
#include <testing/pairwise_sum.h>
#include <testing/random.h>
#include <testing/reference.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace testing {
namespace {

constexpr double u = 0x1p-24;

std::vector<double> widened(std::span<const float> values) { return {values.begin(), values.end()}; }
std::vector<float> rounded(const std::vector<double>& values) {
  std::vector<float> result;
  for (const double value : values) result.push_back(static_cast<float>(value));
  return result;
}

/// The parts of the formulas that the truth and the bounds share, in double precision. mean empty: RMSNorm.
class Terms {
public:
  Terms(std::span<const double> x, std::span<const double> gamma, std::span<const double> mean,
        std::span<const double> rstd, std::span<const double> dy, std::int64_t rows, std::int64_t cols)
      : x_(x),
        gamma_(gamma),
        mean_(mean),
        rstd_(rstd),
        dy_(dy),
        rows(static_cast<std::size_t>(rows)),
        cols(static_cast<std::size_t>(cols)) {
    const bool fit = x.size() == this->rows * this->cols && dy.size() == x.size() && rstd.size() == this->rows &&
                     (gamma.empty() || gamma.size() == this->cols) && (mean.empty() || mean.size() == this->rows);
    if (!fit) {
      throw std::invalid_argument(
          "x, gamma, mean, rstd, dy have " + std::to_string(x.size()) + ", " + std::to_string(gamma.size()) + ", " +
          std::to_string(mean.size()) + ", " + std::to_string(rstd.size()) + ", " + std::to_string(dy.size()) +
          " elements, which do not fit " + std::to_string(rows) + " rows of " + std::to_string(cols) + " columns");
    }
  }

  double dy(std::size_t r, std::size_t c) const { return dy_[r * cols + c]; }
  double g(std::size_t r, std::size_t c) const { return dy(r, c) * (gamma_.empty() ? 1.0 : gamma_[c]); }
  double normalised(std::size_t r, std::size_t c) const {  // x̂
    return (x_[r * cols + c] - (mean_.empty() ? 0.0 : mean_[r])) * rstd_[r];
  }
  double rstd(std::size_t r) const { return rstd_[r]; }
  bool centred() const { return !mean_.empty(); }

  /// The mean of term(c) over a row's columns.
  template <class Term>
  double mean_over_row(const Term& term) const {
    return pairwise_sum(0, cols, term) / static_cast<double>(cols);
  }
  /// The sum of term(r) over a column's rows.
  template <class Term>
  double sum_over_column(const Term& term) const {
    return pairwise_sum(0, rows, term);
  }

private:
  std::span<const double> x_, gamma_, mean_, rstd_, dy_;

public:
  const std::size_t rows, cols;
};

BackwardReference reference_of(const Terms& terms) {
  BackwardReference result;
  result.dx.reserve(terms.rows * terms.cols);
  for (std::size_t r = 0; r < terms.rows; ++r) {
    const double mean_g = terms.centred() ? terms.mean_over_row([&](std::size_t c) { return terms.g(r, c); }) : 0;
    const double mean_gx = terms.mean_over_row([&](std::size_t c) { return terms.g(r, c) * terms.normalised(r, c); });
    for (std::size_t c = 0; c < terms.cols; ++c) {
      result.dx.push_back(terms.rstd(r) * (terms.g(r, c) - mean_g - terms.normalised(r, c) * mean_gx));
    }
  }
  for (std::size_t c = 0; c < terms.cols; ++c) {
    result.dgamma.push_back(
        terms.sum_over_column([&](std::size_t r) { return terms.dy(r, c) * terms.normalised(r, c); }));
    if (terms.centred()) result.dbeta.push_back(terms.sum_over_column([&](std::size_t r) { return terms.dy(r, c); }));
  }
  return result;
}

/// A case in double precision, and its terms.
class Widened {
public:
  explicit Widened(const BackwardCase& input)
      : x_(widened(input.forward.x)),
        gamma_(widened(input.forward.gamma)),
        mean_(widened(input.mean)),
        rstd_(widened(input.rstd)),
        dy_(widened(input.dy)),
        terms(x_, gamma_, mean_, rstd_, dy_, input.forward.rows, input.forward.cols) {}

private:
  std::vector<double> x_, gamma_, mean_, rstd_, dy_;

public:
  const Terms terms;
};

double bound_or_zero(double bound) { return std::isfinite(bound) ? bound : 0; }

}  // namespace

BackwardCase make_backward_case(Norm norm, NormCase forward, std::vector<float> dy) {
  BackwardCase result{.norm = norm, .forward = std::move(forward), .mean = {}, .rstd = {}, .dy = std::move(dy)};
  const NormCase& input = result.forward;
  if (norm == Norm::layer_norm) {
    const LayerNormReference statistics =
        layer_norm_reference(input.x, input.gamma, input.beta, input.rows, input.cols, input.eps);
    result.mean = rounded(statistics.mean);
    result.rstd = rounded(statistics.rstd);
  } else {
    result.rstd = rounded(rms_norm_reference(input.x, input.gamma, input.rows, input.cols, input.eps).rstd);
  }
  return result;
}

BackwardCase make_backward_case(Norm norm, NormCase forward, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> dy(forward.x.size());
  for (float& value : dy) value = static_cast<float>(random.normal() + 0.25);
  return make_backward_case(norm, std::move(forward), std::move(dy));
}

namespace {
std::vector<BackwardCase> with_random_dy(Norm norm, std::vector<NormCase> cases) {
  std::vector<BackwardCase> result;
  std::uint64_t seed = 1;
  for (NormCase& input : cases) result.push_back(make_backward_case(norm, std::move(input), seed++));
  return result;
}
}  // namespace

std::vector<BackwardCase> standard_backward_cases(Norm norm) { return with_random_dy(norm, standard_cases()); }
std::vector<BackwardCase> published_backward_cases(Norm norm) { return with_random_dy(norm, published_cases()); }

BackwardReference norm_backward_reference(std::span<const double> x, std::span<const double> gamma,
                                          std::span<const double> mean, std::span<const double> rstd,
                                          std::span<const double> dy, std::int64_t rows, std::int64_t cols) {
  return reference_of(Terms(x, gamma, mean, rstd, dy, rows, cols));
}

BackwardReference norm_backward_reference(const BackwardCase& input) { return reference_of(Widened(input).terms); }

BackwardTolerance norm_backward_tolerance(const BackwardCase& input, BackwardSummation summation) {
  const Widened widened(input);
  const Terms& terms = widened.terms;
  const double d = longest_chain(summation.row);
  const double l = longest_chain(summation.column);
  BackwardTolerance result;
  result.dx.reserve(terms.rows * terms.cols);
  for (std::size_t r = 0; r < terms.rows; ++r) {
    const double a1 = terms.centred() ? terms.mean_over_row([&](std::size_t c) { return std::abs(terms.g(r, c)); }) : 0;
    const double a2 =
        terms.mean_over_row([&](std::size_t c) { return std::abs(terms.g(r, c) * terms.normalised(r, c)); });
    for (std::size_t c = 0; c < terms.cols; ++c) {
      result.dx.push_back(bound_or_zero(
          u * terms.rstd(r) *
          (4 * std::abs(terms.g(r, c)) + (d + 5) * a1 + (d + 10) * a2 * std::abs(terms.normalised(r, c)))));
    }
  }
  for (std::size_t c = 0; c < terms.cols; ++c) {
    const double products =
        terms.sum_over_column([&](std::size_t r) { return std::abs(terms.dy(r, c) * terms.normalised(r, c)); });
    result.dgamma.push_back(bound_or_zero(u * (l + 2) * products));
    if (!terms.centred()) continue;
    const double sizes = terms.sum_over_column([&](std::size_t r) { return std::abs(terms.dy(r, c)); });
    result.dbeta.push_back(bound_or_zero(u * l * sizes));
  }
  return result;
}

BackwardTolerance through_forward_tolerance(const BackwardCase& input, BackwardSummation summation,
                                            Summation forward_summation) {
  const NormCase& forward = input.forward;
  const Widened widened(input);
  const Terms& terms = widened.terms;
  std::vector<double> mean_bound(terms.rows, 0.0), rstd_bound;
  if (input.norm == Norm::layer_norm) {
    const LayerNormReference reference =
        layer_norm_reference(forward.x, forward.gamma, forward.beta, forward.rows, forward.cols, forward.eps);
    LayerNormTolerance tolerance = layer_norm_tolerance(forward, reference, forward_summation);
    mean_bound = std::move(tolerance.mean);
    rstd_bound = std::move(tolerance.rstd);
  } else {
    const RmsNormReference reference =
        rms_norm_reference(forward.x, forward.gamma, forward.rows, forward.cols, forward.eps);
    rstd_bound = rms_norm_tolerance(forward, reference, forward_summation).rstd;
  }

  BackwardTolerance result = norm_backward_tolerance(input, summation);
  const BackwardReference reference = reference_of(terms);
  std::vector<double> error(terms.rows * terms.cols);  // e, of x̂
  for (std::size_t r = 0; r < terms.rows; ++r) {
    const double relative = rstd_bound[r] / terms.rstd(r);
    for (std::size_t c = 0; c < terms.cols; ++c) {
      error[r * terms.cols + c] = terms.rstd(r) * mean_bound[r] + relative * std::abs(terms.normalised(r, c));
    }
    const double a2 =
        terms.mean_over_row([&](std::size_t c) { return std::abs(terms.g(r, c) * terms.normalised(r, c)); });
    const double ge =
        terms.mean_over_row([&](std::size_t c) { return std::abs(terms.g(r, c)) * error[r * terms.cols + c]; });
    for (std::size_t c = 0; c < terms.cols; ++c) {
      const std::size_t i = r * terms.cols + c;
      result.dx[i] += bound_or_zero(terms.rstd(r) * (error[i] * a2 + std::abs(terms.normalised(r, c)) * ge) +
                                    relative * std::abs(reference.dx[i]));
    }
  }
  for (std::size_t c = 0; c < terms.cols; ++c) {
    result.dgamma[c] += bound_or_zero(
        terms.sum_over_column([&](std::size_t r) { return std::abs(terms.dy(r, c)) * error[r * terms.cols + c]; }));
  }
  return result;
}

BackwardResult run_backward(NormBackwardLauncher launcher, const BackwardCase& input, BackwardRunOptions options) {
  const NormCase& forward = input.forward;
  if (launcher.norm() == Norm::rms_norm) options.dbeta = false;
  std::vector<Input> inputs;
  inputs.reserve(5);
  const auto upload = [&](const char* name, std::span<const float> values, std::int64_t offset) -> const float* {
    if (values.empty() && forward.rows > 0) return nullptr;  // γ or RMSNorm's mean
    return inputs.emplace_back(name, values, offset).data();
  };
  DeviceBuffer<float> dx = options.in_place ? DeviceBuffer<float>("dy and dx", input.dy, options.dy_offset)
                                            : DeviceBuffer<float>("dx", forward.rows * forward.cols, options.dx_offset);
  DeviceBuffer<float> dgamma("dgamma", forward.cols, options.sums_offset);
  DeviceBuffer<float> dbeta("dbeta", forward.cols, options.sums_offset);
  if (options.accumulate) {
    const std::vector<float> before(static_cast<std::size_t>(forward.cols), options.before);
    dgamma.upload(before);
    dbeta.upload(before);
  }
  const DeviceBuffer<float> workspace("workspace", workspace_floats(forward.rows, forward.cols),
                                      options.workspace_offset);

  LayerNormBackwardArgs args;
  args.x = upload("x", forward.x, options.x_offset);
  args.gamma = forward.gamma.empty() ? nullptr : upload("gamma", forward.gamma, options.gamma_offset);
  args.mean = upload("mean", input.mean, options.statistics_offset);
  args.rstd = upload("rstd", input.rstd, options.statistics_offset);
  args.dy = options.in_place ? dx.data() : upload("dy", input.dy, options.dy_offset);
  args.dx = options.dx ? dx.data() : nullptr;
  args.dgamma = options.dgamma ? dgamma.data() : nullptr;
  args.dbeta = options.dbeta ? dbeta.data() : nullptr;
  args.workspace = options.dgamma || options.dbeta ? workspace.data() : nullptr;
  args.rows = forward.rows;
  args.cols = forward.cols;
  args.accumulate = options.accumulate;
  for (int call = 0; call < options.calls; ++call) launcher(args, nullptr);
  check_cuda(cudaDeviceSynchronize(), "the kernels of " + forward.name);

  for (const Input& array : inputs) array.check_unchanged();
  for (const auto* buffer : {&std::as_const(dx), &std::as_const(dgamma), &std::as_const(dbeta), &workspace})
    buffer->check_guards();
  const auto wanted = [](bool asked, const DeviceBuffer<float>& buffer) {
    return asked ? buffer.download() : std::vector<float>();
  };
  return {wanted(options.dx, dx), wanted(options.dgamma, dgamma), wanted(options.dbeta, dbeta)};
}

double BackwardVerdict::ratio() const { return std::max({dx.ratio, dgamma.ratio, dbeta.ratio}); }

std::string BackwardVerdict::text() const {
  std::string text = name + (passed() ? ": within the bound" : ": outside the bound");
  for (const Comparison* comparison : {&dx, &dgamma, &dbeta}) {
    if (!comparison->passed()) text += "\n" + comparison->text();
  }
  if (passed())
    text += "; the largest error/bound is " + std::to_string(ratio());
  else
    text += "\n" + testing::text(mistakes);
  return text;
}

namespace {

BackwardVerdict compared(const BackwardResult& result, const BackwardCase& input, BackwardSummation summation,
                         BackwardRunOptions options) {
  BackwardReference reference = norm_backward_reference(input);
  BackwardTolerance tolerance = norm_backward_tolerance(input, summation);
  if (options.accumulate) {  // one addition more, and its rounding
    const auto add = [&](std::vector<double>& expected, std::vector<double>& bound) {
      for (std::size_t c = 0; c < expected.size(); ++c) {
        expected[c] += static_cast<double>(options.before);
        bound[c] += bound_or_zero(u * std::abs(expected[c]));
      }
    };
    add(reference.dgamma, tolerance.dgamma);
    add(reference.dbeta, tolerance.dbeta);
  }
  BackwardVerdict verdict;
  verdict.name = input.forward.name;
  if (!result.dx.empty()) {
    verdict.dx = compare("dx", result.dx, reference.dx, tolerance.dx, input.forward.cols);
    verdict.digits = correct_digits(result.dx, reference.dx, input.forward.cols);
  }
  const std::int64_t cols = input.forward.cols;
  if (!result.dgamma.empty())
    verdict.dgamma = compare("dgamma", result.dgamma, reference.dgamma, tolerance.dgamma, cols);
  if (!result.dbeta.empty()) verdict.dbeta = compare("dbeta", result.dbeta, reference.dbeta, tolerance.dbeta, cols);

  const std::string file = "common/testing/backward.h";
  const double l = longest_chain(summation.column);
  if (!verdict.dx.passed()) {
    const bool centred = input.norm == Norm::layer_norm;
    verdict.dx.reason = reason_of(
        verdict.dx.tolerance, std::string("u·rstd·(4|g| + ") + (centred ? "(D + 5)·A₁ + " : "") + "(D + 10)·A₂·|x̂|)",
        {{"D", longest_chain(summation.row)}}, file);
  }
  if (!verdict.dgamma.passed()) {
    verdict.dgamma.reason = reason_of(verdict.dgamma.tolerance, "u·(L + 2)·Σ|dy·x̂|", {{"L", l}}, file);
  }
  if (!verdict.dbeta.passed()) {
    verdict.dbeta.reason = reason_of(verdict.dbeta.tolerance, "u·L·Σ|dy|", {{"L", l}}, file);
  }
  return verdict;
}

BackwardVerdict diagnosed(const BackwardResult& result, const BackwardCase& input, BackwardSummation summation,
                          BackwardRunOptions options, const RunBackward& again) {
  BackwardVerdict verdict = compared(result, input, summation, options);
  if (!verdict.passed()) verdict.mistakes = likely_mistakes(result, input, summation, options, again);
  return verdict;
}

}  // namespace

BackwardVerdict judge_backward(const BackwardResult& result, const BackwardCase& input, BackwardSummation summation,
                               BackwardRunOptions options) {
  return diagnosed(result, input, summation, options, nullptr);
}

BackwardVerdict judge_backward(NormBackwardLauncher launcher, const BackwardCase& input, BackwardSummationOf summation,
                               BackwardRunOptions options) {
  const auto run_on = [&](const BackwardCase& other) { return run_backward(launcher, other, options); };
  return diagnosed(run_on(input), input, summation(input.forward.rows, input.forward.cols), options, run_on);
}

}  // namespace testing
