#include <testing/backward_reports.h>

#include <host/device_buffer.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace testing::reports {
namespace {

bool is_rms_norm(const BackwardContract& kernel) { return kernel.launcher.norm() == Norm::rms_norm; }

/// The reports' eps unless one says another: 1e-5 for LayerNorm, 1e-6 for RMSNorm.
float usual_eps(const BackwardContract& kernel) { return is_rms_norm(kernel) ? 1e-6f : 1e-5f; }

BackwardCase rows_of(const BackwardContract& kernel, std::int64_t rows, std::vector<float> x, std::vector<float> gamma,
                     std::vector<float> dy, float eps) {
  NormCase forward;
  forward.name = "the row of the report";
  forward.rows = rows;
  forward.cols = static_cast<std::int64_t>(x.size()) / rows;
  forward.x = std::move(x);
  forward.gamma = std::move(gamma);
  forward.eps = eps;
  return make_backward_case(kernel.launcher.norm(), std::move(forward), std::move(dy));
}

/// The row that several reports share.
BackwardCase shared_row(const BackwardContract& kernel, std::vector<float> gamma) {
  return rows_of(kernel, 1, {0, 1, 2, 5}, std::move(gamma), {1, -1, 2, 0.5f}, usual_eps(kernel));
}

/// What a report says is right, to some digits; empty: it says nothing.
struct Given {
  BackwardCase input;
  std::vector<double> dx, dgamma, dbeta;
  double rounding = 5e-7;  // half a unit of the last digit
};

/// The result and the course's own reference are near the report's values, and the result is within its bound.
void require_right(Report& report, const BackwardContract& kernel, const Given& given) {
  const BackwardCase& input = given.input;
  report.step(input.forward.name, [&] {
    const BackwardReference reference = norm_backward_reference(input);
    const BackwardSummation summation = kernel.summation(input.forward.rows, input.forward.cols);
    const BackwardTolerance tolerance = norm_backward_tolerance(input, summation);
    const BackwardResult result = run_backward(kernel.launcher, input);
    const auto require_near = [&](const std::string& what, const std::vector<double>& right,
                                  const std::vector<float>& got, const std::vector<double>& truth,
                                  const std::vector<double>& bound) {
      if (got.empty()) return;  // RMSNorm has no dbeta
      for (std::size_t i = 0; i < right.size(); ++i) {
        // The given statistics are rounded to binary32, which moves the truth by some 2⁻²⁴ of what it is made of.
        const double allowed = given.rounding + bound[i];
        const std::string where = input.forward.name + ", " + what + "[" + std::to_string(i) +
                                  "]: the right value is " + std::to_string(right[i]);
        report.require(std::abs(truth[i] - right[i]) <= allowed,
                       where + ", but the course's own reference gives " + std::to_string(truth[i]));
        report.require(std::abs(got[i] - right[i]) <= given.rounding + 2 * bound[i],
                       where + ", got " + std::to_string(got[i]));
      }
    };
    require_near("dx", given.dx, result.dx, reference.dx, tolerance.dx);
    require_near("dgamma", given.dgamma, result.dgamma, reference.dgamma, tolerance.dgamma);
    require_near("dbeta", given.dbeta, result.dbeta, reference.dbeta, tolerance.dbeta);
    const BackwardVerdict verdict = judge_backward(result, input, summation);
    report.require(verdict.passed(), verdict.text());
  });
}

Violations right(const BackwardContract& kernel, const Given& given) {
  Report report;
  require_right(report, kernel, given);
  return report.take();
}

void require_all(Report& report, const std::string& what, const std::vector<float>& got, float expected) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    report.require(got[i] == expected, what + "[" + std::to_string(i) + "] is " + std::to_string(got[i]) +
                                           "; it must be exactly " + std::to_string(expected));
  }
}

/// dy = 1 on rows of 1, −1, 1, −1 … with eps = 0: x̂ is x for both norms, and every sum over the rows is one of ±1,
/// exact in any order. dβ[c] must be rows, and dγ[c] rows · (−1)ᶜ.
BackwardCase countable(const BackwardContract& kernel, std::int64_t rows, std::int64_t cols) {
  std::vector<float> x(static_cast<std::size_t>(rows * cols));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % static_cast<std::size_t>(cols) % 2 == 0 ? 1.0f : -1.0f;
  std::vector<float> ones(x.size(), 1.0f);
  BackwardCase input = rows_of(kernel, rows, std::move(x), {}, std::move(ones), 0);
  input.forward.name = std::to_string(rows) + " rows of " + std::to_string(cols);
  return input;
}
void require_counted(Report& report, const BackwardCase& input, const BackwardResult& result) {
  const auto rows = static_cast<float>(input.forward.rows);
  std::vector<float> dgamma = result.dgamma;
  for (std::size_t c = 1; c < dgamma.size(); c += 2) dgamma[c] = -dgamma[c];
  require_all(report, input.forward.name + ", ±dgamma", dgamma, rows);
  require_all(report, input.forward.name + ", dbeta", result.dbeta, rows);
}
Violations counted(const BackwardContract& kernel, std::int64_t rows, std::int64_t cols, int runs = 1) {
  Report report;
  const BackwardCase input = countable(kernel, rows, cols);
  report.step(input.forward.name, [&] {
    for (int run = 0; run < runs; ++run) require_counted(report, input, run_backward(kernel.launcher, input));
  });
  return report.take();
}

}  // namespace

Violations b02(const BackwardContract& kernel) {
  const BackwardCase input = shared_row(kernel, {1, 2, 0.5f, -1});
  // The faulty RMSNorm has 0.365148, −0.797241, 0.231261, −0.517293.
  if (is_rms_norm(kernel)) return right(kernel, {input, {0.365148, -0.699868, 0.426006, -0.030429}, {}, {}});
  return right(kernel, {input, {0.486797, -1.059498, 0.601337, -0.028636}, {}, {}});
}

Violations b03(const BackwardContract& kernel) {
  // The faulty kernel has 0.553612, −0.992683, 0.668152, 0.038180; with γ pulled out of the mean it is 0.238626,
  // −1.699016, 0.367484, 0.124085.
  const BackwardCase input = shared_row(kernel, {1, 2, 0.5f, -1});
  Report report;
  require_right(
      report, kernel,
      {input, {0.486797, -1.059498, 0.601337, -0.028636}, {-1.069043, 0.534522, 0, 0.801783}, {1, -1, 2, 0.5}});
  report.step("the sum of dx", [&] {
    const std::vector<float> dx = run_backward(kernel.launcher, input).dx;
    const double sum = static_cast<double>(dx[0]) + dx[1] + dx[2] + dx[3];
    // Where mean(g) is subtracted twice it is 4 · 0.066815.
    report.require(std::abs(sum) <= 1e-6, "Σdx is " + std::to_string(sum) + "; it must be 0 but for rounding");
  });
  return report.take();
}

Violations b05(const BackwardContract& kernel) {
  // A launcher knows no offset of γ: the caller adds it, once for both directions. With w = 0 γ is 1 + w = 1, and dw is
  // dγ. A backward that takes w for γ gives dx = 0.
  const BackwardCase input = shared_row(kernel, {1, 1, 1, 1});
  if (is_rms_norm(kernel)) return right(kernel, {input, {0.365148, -0.432092, 0.596409, -0.152145}, {}, {}});
  return right(kernel, {input, {0.238626, -0.849508, 0.734967, -0.124085}, {}, {}});
}

Violations b06(const BackwardContract& kernel) { return counted(kernel, 4096, 8); }

Violations b07(const BackwardContract& kernel) {
  Report report;
  const BackwardCase input = rows_of(kernel, 1, {0, 0, 0, 0}, {}, {-1, -1, -1, -1}, 1e-5f);
  if (is_rms_norm(kernel)) {
    const double rstd = 316.227766;
    require_right(report, kernel, {input, {-rstd, -rstd, -rstd, -rstd}, {0, 0, 0, 0}, {}});
  }
  report.step(input.forward.name, [&] {  // the workspace is full of NaN before
    const BackwardResult result = run_backward(kernel.launcher, input);
    require_all(report, "dgamma", result.dgamma, 0);
    if (is_rms_norm(kernel)) return;
    require_all(report, "dbeta", result.dbeta, -1);
    require_all(report, "dx", result.dx, 0);  // g is its own mean
  });
  return report.take();
}

Violations b10(const BackwardContract& kernel) {
  // x is at hand, and nothing is divided by γ.
  const BackwardCase input = rows_of(kernel, 1, {1, 3}, {0, 2}, {1, 1}, usual_eps(kernel));
  if (is_rms_norm(kernel)) return right(kernel, {input, {-0.268328, 0.089443}, {0.447214, 1.341641}, {}});
  return right(kernel, {input, {-1e-5, 1e-5}, {-0.999995, 0.999995}, {1, 1}});
}

Violations b12(const BackwardContract& kernel) {
  Report report;
  const DeviceBuffer<float> dgamma("dgamma", 8), dbeta("dbeta", 8);  // poison is a NaN
  LayerNormBackwardArgs args;
  args.dgamma = dgamma.data();
  args.dbeta = dbeta.data();
  args.cols = 8;
  report.step("no rows", [&] {
    kernel.launcher(args, nullptr);
    check_cuda(cudaDeviceSynchronize(), "the launch with no rows");
  });
  report.require_no_pending_error();
  require_all(report, "dgamma", dgamma.download(), 0);
  if (!is_rms_norm(kernel)) require_all(report, "dbeta", dbeta.download(), 0);
  args.cols = 0;
  report.require_refused("no columns", [&] { kernel.launcher(args, nullptr); }, {"cols is 0", "at least 1"});
  return report.take();
}

Violations b13(const BackwardContract& kernel) {
  Report report;
  BackwardCase input = rows_of(kernel, 1, {1e6f}, {2}, {1}, usual_eps(kernel));
  report.step(input.forward.name, [&] {
    const BackwardResult result = run_backward(kernel.launcher, input);
    require_all(report, "dx", result.dx, 0);
    require_all(report, "dgamma", result.dgamma, 0);
    require_all(report, "dbeta", result.dbeta, 1);
  });
  return report.take();
}

Violations b14(const BackwardContract& kernel) {
  Report report;
  const BackwardCase input = countable(kernel, 6, 4);
  report.step(input.forward.name, [&] {
    require_counted(report, input, run_backward(kernel.launcher, input, {.calls = 2}));
    const BackwardResult added = run_backward(kernel.launcher, input, {.accumulate = true, .before = 7, .calls = 2});
    for (std::size_t c = 0; c < 4; ++c) {
      const float sum = c % 2 == 0 ? 6.0f : -6.0f;
      require_all(report, "dgamma, accumulated twice onto 7, column " + std::to_string(c), {added.dgamma[c]},
                  7 + 2 * sum);
    }
    require_all(report, "dbeta, accumulated twice onto 7", added.dbeta, 7 + 2 * 6);
  });
  return report.take();
}

Violations b15(const BackwardContract& kernel) {
  // A launcher knows no rank: of an input of 2 × 3 × 4 the caller makes 2 · 3 rows.
  return counted(kernel, std::int64_t{2} * 3, 4);
}

Violations b16(const BackwardContract& kernel) {
  return right(kernel, {shared_row(kernel, {1, 2, 0.5f, -1}), {}, {-1.069043, 0.534522, 0, 0.801783}, {1, -1, 2, 0.5}});
}

Violations b17(const BackwardContract& kernel) {
  const BackwardCase input = rows_of(kernel, 1, {0, 0, 0, 0}, {}, {1, 0, 0, 0}, usual_eps(kernel));
  if (is_rms_norm(kernel)) return right(kernel, {input, {1000, 0, 0, 0}, {0, 0, 0, 0}, {}});
  return right(kernel, {input, {237.170825, -79.056942, -79.056942, -79.056942}, {0, 0, 0, 0}, {1, 0, 0, 0}});
}

Violations a10(const BackwardContract& kernel) {
  Report report;
  const BackwardCase input = make_backward_case(kernel.launcher.norm(), make_case(2, 8192, Data::offset_10, 35), 35);
  report.step(input.forward.name, [&] {
    const BackwardVerdict verdict = judge_backward(kernel.launcher, input, kernel.summation);
    report.require(verdict.passed(), verdict.text());
  });
  return report.take();
}

Violations d03(const BackwardContract& kernel) { return counted(kernel, 64, 64); }

Violations d04(const BackwardContract& kernel) {
#ifdef LNH_CUDA
  return counted(kernel, 8192, 2048, 100);
#else
  return counted(kernel, 300, 68, 3);  // the executor sees a race in any run
#endif
}

}  // namespace testing::reports
