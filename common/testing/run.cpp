#include <testing/run.h>

#include <host/device_buffer.h>
#include <testing/input.h>

#include <algorithm>
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
  if (passed()) text += "; the largest error/bound is " + std::to_string(ratio());
  return text;
}

NormVerdict judge(const NormResult& result, const NormCase& input, Summation summation, Norm norm) {
  NormVerdict verdict;
  verdict.name = input.name;
  const auto judge_y_and_rstd = [&](const auto& reference, const auto& tolerance) {
    verdict.y = compare("y", result.y, reference.y, tolerance.y, input.cols);
    verdict.digits = correct_digits(result.y, reference.y, input.cols);
    if (!result.rstd.empty()) verdict.rstd = compare("rstd", result.rstd, reference.rstd, tolerance.rstd, 1);
  };
  if (norm == Norm::rms_norm) {
    const RmsNormReference reference = rms_norm_reference(input.x, input.gamma, input.rows, input.cols, input.eps);
    judge_y_and_rstd(reference, rms_norm_tolerance(input, reference, summation));
    return verdict;
  }
  const LayerNormReference reference =
      layer_norm_reference(input.x, input.gamma, input.beta, input.rows, input.cols, input.eps);
  const LayerNormTolerance tolerance = layer_norm_tolerance(input, reference, summation);
  judge_y_and_rstd(reference, tolerance);
  if (!result.mean.empty()) verdict.mean = compare("mean", result.mean, reference.mean, tolerance.mean, 1);
  return verdict;
}

NormVerdict judge(NormLauncher launcher, const NormCase& input, Summation summation, RunOptions options) {
  return judge(run(launcher, input, options), input, summation, launcher.norm());
}

}  // namespace testing
