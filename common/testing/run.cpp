#include <testing/run.h>

#include <host/device_buffer.h>
#include <testing/diagnosis.h>
#include <testing/input.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

namespace testing {
namespace {

/// Null for an empty γ or β.
std::optional<Input> optional_input(const char* name, const std::vector<float>& values, std::int64_t offset) {
  if (values.empty()) return std::nullopt;
  return std::optional<Input>(std::in_place, name, values, offset);
}

}  // namespace

NormResult run(NormLauncher launcher, const NormCase& input, RunOptions options) {
  if (launcher.norm() == Norm::rms_norm) options.mean = false;
  std::optional<Input> x;  // absent where y is written over x
  if (!options.in_place) x.emplace("x", input.x, options.x_offset);
  const std::optional<Input> gamma = optional_input("gamma", input.gamma, options.gamma_offset);
  const std::optional<Input> beta = optional_input("beta", input.beta, options.beta_offset);
  DeviceBuffer<float> y = options.in_place ? DeviceBuffer<float>("x and y", input.x, options.x_offset)
                                           : DeviceBuffer<float>("y", input.rows * input.cols, options.y_offset);
  DeviceBuffer<float> mean("mean", input.rows);
  DeviceBuffer<float> rstd("rstd", input.rows);

  LayerNormArgs args;
  args.x = x ? x->data() : y.data();
  args.gamma = gamma ? gamma->data() : nullptr;
  args.beta = beta ? beta->data() : nullptr;
  args.y = y.data();
  args.mean = options.mean ? mean.data() : nullptr;
  args.rstd = options.rstd ? rstd.data() : nullptr;
  args.rows = input.rows;
  args.cols = input.cols;
  args.eps = input.eps;
  launcher(args, nullptr);
  check_cuda(cudaDeviceSynchronize(), "the kernel of " + input.name);

  for (const std::optional<Input>* array : {&std::as_const(x), &gamma, &beta}) {
    if (*array) (*array)->check_unchanged();
  }
  for (const DeviceBuffer<float>* buffer : {&y, &mean, &rstd}) buffer->check_guards();
  return {y.download(), options.mean ? mean.download() : std::vector<float>(),
          options.rstd ? rstd.download() : std::vector<float>()};
}

double NormVerdict::ratio() const { return std::max({y.ratio, mean.ratio, rstd.ratio}); }

std::string NormVerdict::text() const {
  std::string text = name + (passed() ? ": within the bound" : ": outside the bound");
  for (const Comparison* comparison : {&y, &mean, &rstd}) {
    if (!comparison->passed()) text += "\n" + comparison->text();
  }
  if (passed())
    text += "; the largest error/bound is " + std::to_string(ratio());
  else
    text += "\n" + testing::text(mistakes);
  return text;
}

namespace {

NormVerdict compared(const NormResult& result, const NormCase& input, Summation summation, Norm norm) {
  const std::string file = "common/testing/tolerance.h";
  const double d = longest_chain(summation);
  NormVerdict verdict;
  verdict.name = input.name;
  const auto judge_y_and_rstd = [&](const auto& reference, const auto& tolerance) {
    verdict.y = compare("y", result.y, reference.y, tolerance.y, input.cols);
    verdict.digits = correct_digits(result.y, reference.y, input.cols);
    if (!result.rstd.empty()) verdict.rstd = compare("rstd", result.rstd, reference.rstd, tolerance.rstd, 1);
  };
  const auto row_of_worst = [&](const Comparison& comparison) {
    return static_cast<std::size_t>(std::max<std::int64_t>(comparison.worst, 0) / comparison.cols);
  };
  if (norm == Norm::rms_norm) {
    const RmsNormReference reference = rms_norm_reference(input.x, input.gamma, input.rows, input.cols, input.eps);
    judge_y_and_rstd(reference, rms_norm_tolerance(input, reference, summation));
    const auto explain = [&](Comparison& comparison, const std::string& formula) {
      if (comparison.passed()) return;
      const double squares = reference.mean_square[row_of_worst(comparison)];
      comparison.reason =
          reason_of(comparison.tolerance, formula, {{"D", d}, {"w", squares / (squares + input.eps)}}, file);
    };
    explain(verdict.y, "|γ·x̂|·(½·D·u·w + 6u)");
    explain(verdict.rstd, "rstd·(½·D·u·w + 4u)");
    return verdict;
  }
  const LayerNormReference reference =
      layer_norm_reference(input.x, input.gamma, input.beta, input.rows, input.cols, input.eps);
  const LayerNormTolerance tolerance = layer_norm_tolerance(input, reference, summation);
  judge_y_and_rstd(reference, tolerance);
  if (!result.mean.empty()) verdict.mean = compare("mean", result.mean, reference.mean, tolerance.mean, 1);
  if (!verdict.y.passed()) {
    verdict.y.reason =
        reason_of(verdict.y.tolerance, "|γ|·D'·κ·u·(1 + |x̂|/2) + …",
                  {{"D'", roundings_of_normalised(summation)}, {"κ", tolerance.kappa[row_of_worst(verdict.y)]}}, file);
  }
  if (!verdict.mean.passed()) {
    verdict.mean.reason = reason_of(verdict.mean.tolerance, "(D + 1)·u·Σ|x|/n", {{"D", d}}, file);
  }
  if (!verdict.rstd.passed()) {
    const std::size_t row = row_of_worst(verdict.rstd);
    const double mean = reference.mean[row], variance = reference.variance[row];
    verdict.rstd.reason = reason_of(
        verdict.rstd.tolerance, "rstd·(½·v·w + 4u)",
        {{"D", d}, {"κ₀", std::sqrt(1 + mean * mean / variance)}, {"w", variance / (variance + input.eps)}}, file);
  }
  return verdict;
}

NormVerdict diagnosed(const NormResult& result, const NormCase& input, Summation summation, Norm norm,
                      const RunNorm& again) {
  NormVerdict verdict = compared(result, input, summation, norm);
  if (!verdict.passed()) verdict.mistakes = likely_mistakes(result, input, summation, norm, again);
  return verdict;
}

}  // namespace

NormVerdict judge(const NormResult& result, const NormCase& input, Summation summation, Norm norm) {
  return diagnosed(result, input, summation, norm, nullptr);
}

NormVerdict judge(NormLauncher launcher, const NormCase& input, Summation summation, RunOptions options) {
  const auto run_on = [&](const NormCase& other) { return run(launcher, other, options); };
  return diagnosed(run_on(input), input, summation, launcher.norm(), run_on);
}

}  // namespace testing
