#include <host/norm_backward.h>

#include <host/argument_check.h>
#include <host/error.h>

#include <algorithm>
#include <initializer_list>
#include <string>

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// mean is null for RMSNorm, where it is no argument.
void check(const ArgumentCheck& check, const LayerNormBackwardArgs& args, Norm norm, InPlace in_place,
           Workspace workspace) {
  check.at_least("rows", args.rows, 0);
  check.at_least("cols", args.cols, 1);
  check.addressable(args.rows, args.cols);
  if (args.rows == 0) return;

  check.not_null("x", args.x);
  if (norm == Norm::layer_norm) check.not_null("mean", args.mean);
  check.not_null("rstd", args.rstd);
  check.not_null("dy", args.dy);
  const bool sums = args.dgamma != nullptr || args.dbeta != nullptr;
  const std::int64_t floats = workspace == Workspace::needed && sums ? workspace_floats(args.rows, args.cols) : 0;
  if (floats > 0 && args.workspace == nullptr) {
    check.refuse("workspace", "null", "it must point to " + std::to_string(floats) + " floats of device memory");
  }

  const std::int64_t count = args.rows * args.cols;
  const ArgumentCheck::Range inputs[] = {{"x", args.x, count},
                                         {"gamma", args.gamma, args.cols},
                                         {"mean", args.mean, args.rows},
                                         {"rstd", args.rstd, args.rows},
                                         {"dy", args.dy, count}};
  const ArgumentCheck::Range outputs[] = {{"dx", args.dx, count},
                                          {"dgamma", args.dgamma, args.cols},
                                          {"dbeta", args.dbeta, args.cols},
                                          {"workspace", floats > 0 ? args.workspace : nullptr, floats}};
  for (const ArgumentCheck::Range& output : outputs) {
    for (const ArgumentCheck::Range& input : inputs) {
      const bool over_dy = output.name == "dx" && input.name == "dy" && output.data == input.data;
      if (!over_dy || in_place == InPlace::refused) check.disjoint(output, input);
    }
  }
  for (const ArgumentCheck::Range* output = std::begin(outputs); output != std::end(outputs); ++output) {
    std::for_each(std::begin(outputs), output, [&](const auto& other) { check.disjoint(*output, other); });
  }
}

/// The arguments of one norm in those of the other; what only To has keeps its default.
template <class To, class From>
To what_both_have(const From& args) {
  To result;
  result.x = args.x;
  result.gamma = args.gamma;
  result.rstd = args.rstd;
  result.dy = args.dy;
  result.dx = args.dx;
  result.dgamma = args.dgamma;
  result.workspace = args.workspace;
  result.rows = args.rows;
  result.cols = args.cols;
  result.accumulate = args.accumulate;
  return result;
}

}  // namespace

LayerNormBackwardArgs layer_norm_backward_args(const RmsNormBackwardArgs& args) {
  return what_both_have<LayerNormBackwardArgs>(args);
}
RmsNormBackwardArgs rms_norm_backward_args(const LayerNormBackwardArgs& args) {
  return what_both_have<RmsNormBackwardArgs>(args);
}

Slabs slabs_for(std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t warps = (1 << 17) / 32;
  const std::int64_t most = std::max<std::int64_t>(1, warps / ceil_div(cols, 512));
  const std::int64_t rows_per_slab = std::max<std::int64_t>(4, ceil_div(rows, most));
  return {ceil_div(rows, rows_per_slab), rows_per_slab};
}

std::int64_t workspace_floats(std::int64_t rows, std::int64_t cols) {
  return 2 * cols * slabs_for(rows, cols).slabs + (cols > most_held_columns ? 2 * rows : 0);
}

void check(const LayerNormBackwardArgs& args, InPlace in_place, Workspace workspace, const char* function,
           const char* file, int line) {
  check(ArgumentCheck(function, file, line), args, Norm::layer_norm, in_place, workspace);
}

void check(const RmsNormBackwardArgs& args, InPlace in_place, Workspace workspace, const char* function,
           const char* file, int line) {
  check(ArgumentCheck(function, file, line), layer_norm_backward_args(args), Norm::rms_norm, in_place, workspace);
}

void sums_of_no_rows(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  if (args.accumulate) return;
  for (float* sums : {args.dgamma, args.dbeta}) {
    if (sums == nullptr) continue;
    check_cuda(cudaMemsetAsync(sums, 0, sizeof(float) * static_cast<std::size_t>(args.cols), stream),
               "setting the sums over no rows to 0");
  }
}
