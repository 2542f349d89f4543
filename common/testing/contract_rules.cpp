#include <testing/contract_rules.h>

#include <host/device_buffer.h>
#include <host/launch_window.h>
#include <testing/large_launch.h>
#include <testing/run.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

namespace testing::contract {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr double u = 0x1p-24;

/// Widths around the vector (4), the warp (32) and the block (256, 1024).
constexpr std::int64_t widths[] = {1,  2,   3,   4,   5,   7,   8,   15,  16,  17,  31,   32,   33,   63,  64,
                                   65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 1023, 1024, 1025};

bool all_poison(const DeviceBuffer<float>& buffer) {
  const std::vector<float> values = buffer.download();
  return std::all_of(values.begin(), values.end(), DeviceBuffer<float>::is_poison);
}

std::string shape(const NormCase& input) { return std::to_string(input.rows) + "×" + std::to_string(input.cols); }

/// The rows [first, first + count) of a case, as a case of their own.
NormCase rows_of(const NormCase& input, std::int64_t first, std::int64_t count) {
  NormCase part = input;
  part.rows = count;
  part.x.assign(input.x.begin() + first * input.cols, input.x.begin() + (first + count) * input.cols);
  return part;
}
std::span<const float> row_of(const std::vector<float>& matrix, std::int64_t row, std::int64_t cols) {
  return std::span(matrix).subspan(static_cast<std::size_t>(row * cols), static_cast<std::size_t>(cols));
}
NormResult rows_of(const NormResult& result, std::int64_t row, std::int64_t cols) {
  const auto values = row_of(result.y, row, cols);
  const auto r = static_cast<std::size_t>(row);
  const auto statistic = [r](const std::vector<float>& of) {  // RMSNorm has no mean
    return of.empty() ? of : std::vector<float>{of[r]};
  };
  return {{values.begin(), values.end()}, statistic(result.mean), statistic(result.rstd)};
}

/// What the kernel wrote of mean: nothing if it is RMSNorm's.
std::vector<float> mean_of(const NormContract& kernel, const DeviceBuffer<float>& buffer, std::int64_t first,
                           std::int64_t count) {
  return kernel.launcher.norm() == Norm::rms_norm ? std::vector<float>() : buffer.download(first, count);
}

}  // namespace

// LayerNorm and RMSNorm

Violations no_rows(const NormContract& kernel) {
  Report report;
  DeviceBuffer<float> x("x", 4), y("y", 4), mean("mean", 1), rstd("rstd", 1);
  LayerNormArgs args;
  args.cols = 4;
  report.step("rows = 0 with null pointers", [&] { kernel.launcher(args, nullptr); });
  args.x = x.data();
  args.y = y.data();
  args.mean = mean.data();
  args.rstd = rstd.data();
  report.step("rows = 0", [&] { kernel.launcher(args, nullptr); });
  report.require_no_pending_error();
  check_cuda(cudaDeviceSynchronize(), "the launch with rows = 0");
  for (const auto* output : {&y, &mean, &rstd}) {
    report.require(all_poison(*output), "rows = 0: '" + output->name() + "' was written");
  }
  return report.take();
}

Violations bad_arguments(const NormContract& kernel) {
  Report report;
  const std::vector<float> values(8, 1.0f);
  const DeviceBuffer<float> x("x", values), y("y", 8), mean("mean", 2), rstd("rstd", 2);
  LayerNormArgs good;
  good.x = x.data();
  good.y = y.data();
  good.mean = mean.data();
  good.rstd = rstd.data();
  good.rows = 2;
  good.cols = 4;
  const auto refused = [&](const std::string& what, const std::function<void(LayerNormArgs&)>& spoil,
                           const std::vector<std::string>& parts) {
    LayerNormArgs args = good;
    spoil(args);
    report.require_refused(
        what, [&] { kernel.launcher(args, nullptr); }, parts);
  };
  refused("rows = -1", [](LayerNormArgs& args) { args.rows = -1; }, {"rows is -1", "at least 0"});
  refused("cols = 0", [](LayerNormArgs& args) { args.cols = 0; }, {"cols is 0", "at least 1"});
  refused("cols = 0 with rows = 0", [](LayerNormArgs& args) { args.rows = args.cols = 0; },
          {"cols is 0", "at least 1"});
  refused("cols = -7", [](LayerNormArgs& args) { args.cols = -7; }, {"cols is -7", "at least 1"});
  refused("x = null", [](LayerNormArgs& args) { args.x = nullptr; }, {"x is null"});
  refused("y = null", [](LayerNormArgs& args) { args.y = nullptr; }, {"y is null"});
  refused("eps = -1e-05", [](LayerNormArgs& args) { args.eps = -1e-5f; }, {"eps is -1e-05", "at least 0"});
  refused("eps = NaN", [](LayerNormArgs& args) { args.eps = nan; }, {"eps is nan", "at least 0"});
  refused("rows · cols = 2⁶⁴", [](LayerNormArgs& args) { args.rows = args.cols = std::int64_t{1} << 32; },
          {"rows · cols is 4294967296 · 4294967296", "at most"});
  report.require_no_pending_error();
  check_cuda(cudaDeviceSynchronize(), "a launch with bad arguments");
  for (const auto* output : {&y, &mean, &rstd}) {
    report.require(all_poison(*output), "bad arguments: '" + output->name() + "' was written all the same");
  }
  return report.take();
}

namespace {
void require_within_bound(Report& report, const NormContract& kernel, const NormCase& input) {
  report.step(input.name, [&] {
    const NormVerdict verdict = judge(kernel.launcher, input, kernel.summation(input.cols));
    report.require(verdict.passed(), verdict.text());
  });
}
}  // namespace

Violations gamma_or_beta_null(const NormContract& kernel) {
  Report report;
  for (const std::int64_t cols : {37, 1024}) {
    for (const bool has_gamma : {true, false}) {
      for (const bool has_beta : {true, false}) {
        NormCase input = make_case(3, cols, Data::centred, 11);
        if (!has_gamma) input.gamma.clear();
        if (!has_beta) input.beta.clear();
        input.name += std::string(has_gamma ? "" : ", γ null") + (has_beta ? "" : ", β null");
        require_within_bound(report, kernel, input);
      }
    }
  }
  return report.take();
}

Violations mean_or_rstd_null(const NormContract& kernel) {
  Report report;
  const NormCase input = make_case(3, 100, Data::offset_10, 12);
  const NormResult both = run(kernel.launcher, input);
  for (const bool has_mean : {true, false}) {
    for (const bool has_rstd : {true, false}) {
      const std::string what = std::string(has_mean ? "" : "mean null ") + (has_rstd ? "" : "rstd null ");
      report.step(what, [&] {
        const NormResult result = run(kernel.launcher, input, {.mean = has_mean, .rstd = has_rstd});
        report.require_same(what + "y", result.y, both.y, input.cols);
        if (has_mean) report.require_same(what + "mean", result.mean, both.mean, 1);
        if (has_rstd) report.require_same(what + "rstd", result.rstd, both.rstd, 1);
      });
    }
  }
  return report.take();
}

Violations overlap(const NormContract& kernel) {
  Report report;
  const NormCase input = make_case(4, 8, Data::offset_10, 13);
  const NormResult expected = run(kernel.launcher, input);

  // One buffer in which everything is a neighbour and nothing overlaps: x | y | gamma | beta | mean | rstd.
  DeviceBuffer<float> memory("x, y, gamma, beta, mean and rstd", 88);
  memory.upload(input.x, 0);
  memory.upload(input.gamma, 64);
  memory.upload(input.beta, 72);
  LayerNormArgs good;
  good.x = memory.data();
  good.y = memory.data() + 32;
  good.gamma = memory.data() + 64;
  good.beta = memory.data() + 72;
  good.mean = memory.data() + 80;
  good.rstd = memory.data() + 84;
  good.rows = input.rows;
  good.cols = input.cols;
  report.step("y right behind x", [&] {
    kernel.launcher(good, nullptr);
    check_cuda(cudaDeviceSynchronize(), "the kernel");
    report.require_same("y right behind x",
                        {memory.download(32, 32), mean_of(kernel, memory, 80, 4), memory.download(84, 4)}, expected,
                        input.cols);
  });
  const std::vector<float> before = memory.download();

  const auto refused = [&](const std::string& what, const std::function<void(LayerNormArgs&)>& spoil,
                           const std::vector<std::string>& parts) {
    LayerNormArgs args = good;
    spoil(args);
    report.require_refused(
        what, [&] { kernel.launcher(args, nullptr); }, parts);
  };
  refused("y = x + 1", [](LayerNormArgs& args) { args.y = const_cast<float*>(args.x) + 1; }, {"y is", "overlap x"});
  refused("y = x + 31", [](LayerNormArgs& args) { args.y = const_cast<float*>(args.x) + 31; }, {"y is", "overlap x"});
  refused("x = y + 1", [](LayerNormArgs& args) { args.x = args.y + 1; }, {"y is", "overlap x"});
  refused("gamma in y", [](LayerNormArgs& args) { args.gamma = args.y + 24; }, {"y is", "overlap gamma"});
  refused("rstd in x", [](LayerNormArgs& args) { args.rstd = const_cast<float*>(args.x); }, {"rstd is", "overlap x"});
  refused("rstd in y", [](LayerNormArgs& args) { args.rstd = args.y + 29; }, {"rstd is", "overlap y"});
  refused("rstd in gamma", [](LayerNormArgs& args) { args.rstd = const_cast<float*>(args.gamma); },
          {"rstd is", "overlap gamma"});
  if (kernel.launcher.norm() == Norm::layer_norm) {
    refused("beta in y", [](LayerNormArgs& args) { args.beta = args.y; }, {"y is", "overlap beta"});
    refused("mean in x", [](LayerNormArgs& args) { args.mean = const_cast<float*>(args.x) + 31; },
            {"mean is", "overlap x"});
    refused("mean in y", [](LayerNormArgs& args) { args.mean = args.y; }, {"mean is", "overlap y"});
    refused("mean in gamma", [](LayerNormArgs& args) { args.mean = const_cast<float*>(args.gamma) + 7; },
            {"mean is", "overlap gamma"});
    refused("mean in beta", [](LayerNormArgs& args) { args.mean = const_cast<float*>(args.beta); },
            {"mean is", "overlap beta"});
    refused("rstd in beta", [](LayerNormArgs& args) { args.rstd = const_cast<float*>(args.beta); },
            {"rstd is", "overlap beta"});
    refused("rstd = mean", [](LayerNormArgs& args) { args.rstd = args.mean; }, {"rstd is", "overlap mean"});
    refused("rstd = mean + 3", [](LayerNormArgs& args) { args.rstd = args.mean + 3; }, {"rstd is", "overlap mean"});
  }
  if (kernel.in_place == InPlace::refused) {
    refused("y = x", [](LayerNormArgs& args) { args.y = const_cast<float*>(args.x); }, {"y is", "overlap x"});
  }
  check_cuda(cudaDeviceSynchronize(), "a launch with overlapping arguments");
  report.require_same("after the refusals", memory.download(), before, memory.size());

  if (kernel.in_place == InPlace::allowed) {
    for (const std::int64_t cols : {8, 37, 1024}) {
      const NormCase wide = make_case(3, cols, Data::offset_10, 14);
      report.step("y = x", [&] {
        report.require_same("y = x on " + shape(wide), run(kernel.launcher, wide, {.in_place = true}),
                            run(kernel.launcher, wide), cols);
      });
    }
  }
  return report.take();
}

Violations large_offsets(const NormContract& kernel) {
  Report report;
  constexpr std::int64_t limit = std::int64_t{1} << 32;  // behind it a 32-bit offset is wrong, signed or unsigned
  for (const std::int64_t cols : {std::int64_t{4096}, std::int64_t{4}}) {
    const NormCase last = make_case(3, cols, Data::offset_10, 15);
    const std::int64_t rows = limit / cols + last.rows;
    const std::string what = "the last rows of " + std::to_string(rows) + "×" + std::to_string(cols);
    report.step(what, [&] {
      report.require_same(what + ", against the same rows alone",
                          run_last_rows(kernel.launcher, kernel.rows_per_block(cols), rows, last),
                          run(kernel.launcher, last), cols);
    });
  }
  return report.take();
}

Violations any_cols_any_alignment(const NormContract& kernel) {
  Report report;
  std::vector<RunOptions> misalignments;
  for (const std::int64_t offset : {1, 2, 3}) {
    misalignments.push_back({.x_offset = offset});
    misalignments.push_back({.y_offset = offset});
    misalignments.push_back({.gamma_offset = offset, .beta_offset = 4 - offset});
    misalignments.push_back({.x_offset = offset, .y_offset = offset, .gamma_offset = offset, .beta_offset = offset});
  }
  const bool cancels = kernel.constant_row == ConstantRow::wrong;
  const Data data = cancels ? Data::centred : Data::offset_10;
  for (const std::int64_t cols : widths) {
    const NormCase input = make_case(3, cols, data, static_cast<std::uint64_t>(cols));
    report.step(input.name, [&] {
      const NormResult aligned = run(kernel.launcher, input);
      // A few random values may lie closer to each other than to 0, and a single one always does: then the row is not
      // centred, however it was drawn.
      if (!cancels || cols >= 8) {
        const NormVerdict verdict = judge(aligned, input, kernel.summation(cols), kernel.launcher.norm());
        report.require(verdict.passed(), verdict.text());
      }
      for (const RunOptions& options : misalignments) {
        const std::string what = shape(input) + ", x, y, γ, β moved by " + std::to_string(options.x_offset) + ", " +
                                 std::to_string(options.y_offset) + ", " + std::to_string(options.gamma_offset) + ", " +
                                 std::to_string(options.beta_offset) + " elements";
        report.step(what, [&] { report.require_same(what, run(kernel.launcher, input, options), aligned, cols); });
      }
    });
  }
  return report.take();
}

Violations nan_or_inf(const NormContract& kernel) {
  Report report;
  const auto is_nan = [](float value) { return std::isnan(value) && !DeviceBuffer<float>::is_poison(value); };
  for (const std::int64_t cols : {5, 37, 1024}) {
    const NormCase clean = make_case(5, cols, Data::centred, 16);
    const NormResult expected = run(kernel.launcher, clean);
    for (const std::int64_t row : {0, 2, 4}) {
      for (const float value : {nan, infinity, -infinity}) {
        for (const std::int64_t column : {std::int64_t{0}, cols / 2, cols - 1}) {
          NormCase input = clean;
          input.x[static_cast<std::size_t>(row * cols + column)] = value;
          const std::string what = shape(input) + " with " + std::to_string(value) + " in row " + std::to_string(row) +
                                   ", column " + std::to_string(column);
          report.step(what, [&] {
            const NormResult result = run(kernel.launcher, input);
            for (std::int64_t r = 0; r < input.rows; ++r) {
              if (r != row) {
                report.require_same(what + ", row " + std::to_string(r), rows_of(result, r, cols),
                                    rows_of(expected, r, cols), cols);
                continue;
              }
              const auto y = row_of(result.y, r, cols);
              if (kernel.launcher.norm() == Norm::rms_norm && std::isinf(value)) {
                // Σx² is ∞, so rstd is 0: 0·∞ = NaN in the column of the ∞, and 0 in every other one.
                for (std::int64_t c = 0; c < cols; ++c) {
                  const float got = y[static_cast<std::size_t>(c)];
                  report.require(c == column ? is_nan(got) : got == 0,
                                 what + ": y in column " + std::to_string(c) + " is " + std::to_string(got) +
                                     "; it must be " + (c == column ? "NaN" : "0"));
                }
                report.require(result.rstd[static_cast<std::size_t>(r)] == 0, what + ": rstd must be 0");
                continue;
              }
              // Some sum is NaN, and so is everything that follows from it. LayerNorm comes here with ∞, too: x − mean
              // is not finite in any column then.
              report.require(std::all_of(y.begin(), y.end(), is_nan), what + ": y must be NaN in all of this row");
              report.require(is_nan(result.rstd[static_cast<std::size_t>(r)]), what + ": rstd must be NaN");
              if (result.mean.empty()) continue;  // RMSNorm
              const float mean = result.mean[static_cast<std::size_t>(r)];
              report.require(std::isnan(value) ? is_nan(mean) : is_nan(mean) || std::isinf(mean),
                             what + ": mean is " + std::to_string(mean) + "; it must not be finite");
            }
          });
        }
      }
    }
  }
  return report.take();
}

namespace {
/// To RMSNorm a constant row is one like any other: y = γ·c/√(c² + eps). Where c is 0 the bound is 0, so y must be
/// exactly 0, and with eps = 0 it must be 0·∞ = NaN.
Violations rms_norm_of_constant_row(const NormContract& kernel) {
  Report report;
  for (const std::int64_t cols : {1, 2, 3, 7, 32, 33, 256, 257, 1000, 1024}) {
    for (const float constant : {0.0f, 1.0f, -3.0f, 0.1f, -1000.001f}) {
      for (const float eps : {1e-5f, 0.0f}) {
        NormCase input = make_case(2, cols, Data::zero, 17);
        std::fill(input.x.begin(), input.x.end(), constant);
        input.eps = eps;
        input.name = shape(input) + ", all " + std::to_string(constant) + ", eps " + std::to_string(eps);
        require_within_bound(report, kernel, input);
      }
    }
  }
  return report.take();
}
}  // namespace

Violations constant_row(const NormContract& kernel) {
  if (kernel.launcher.norm() == Norm::rms_norm) return rms_norm_of_constant_row(kernel);
  Report report;
  // Small integers: every partial sum is an integer below 2²⁴, so Σx is exact, and so is Σx/n.
  std::vector<float> constants = {0, 1, -3, 100};
  if (kernel.constant_row == ConstantRow::exact) constants.insert(constants.end(), {0.1f, 123.4f, -1000.001f, 1e20f});
  for (const std::int64_t cols : {1, 2, 3, 7, 32, 33, 256, 257, 1000, 1024}) {
    for (const float constant : constants) {
      NormCase input = make_case(2, cols, Data::zero, 17);
      std::fill(input.x.begin(), input.x.end(), constant);
      const std::string what = shape(input) + ", all " + std::to_string(constant);
      report.step(what, [&] {
        const NormResult result = run(kernel.launcher, input);
        const double rstd = 1 / std::sqrt(static_cast<double>(input.eps));
        for (std::size_t i = 0; i < result.y.size(); ++i) {
          const float beta = input.beta[i % static_cast<std::size_t>(cols)];
          report.require(result.y[i] == beta,
                         what + ": y is " + std::to_string(result.y[i]) + " where β is " + std::to_string(beta));
        }
        for (std::size_t r = 0; r < 2; ++r) {
          report.require(result.mean[r] == constant, what + ": mean is " + std::to_string(result.mean[r]));
          // 1/√eps to within rounding: the variance was exactly 0.
          report.require(
              std::abs(result.rstd[r] - rstd) <= 4 * u * rstd,
              what + ": rstd is " + std::to_string(result.rstd[r]) + ", but 1/√eps is " + std::to_string(rstd));
        }
        input.eps = 0;
        const NormResult without_eps = run(kernel.launcher, input);
        report.require(std::all_of(without_eps.y.begin(), without_eps.y.end(), [](float y) { return std::isnan(y); }) &&
                           !std::any_of(without_eps.y.begin(), without_eps.y.end(), DeviceBuffer<float>::is_poison),
                       what + ", eps = 0: y must be 0·∞ = NaN");
        report.require(
            std::all_of(without_eps.rstd.begin(), without_eps.rstd.end(), [](float r) { return r == infinity; }),
            what + ", eps = 0: rstd must be ∞");
      });
    }
    const NormCase other = make_case(2, cols, Data::constant, 18);
    for (const NormCase& input : judgeable({other}, kernel.summation).judged) {
      require_within_bound(report, kernel, input);
    }
  }
  return report.take();
}

Violations many_columns(const NormContract& kernel) {
  Report report;
  // Zeros and then ±1 … ±8. Every sum over the zeros is exact, in any order, so the bound is that of 16 elements. A
  // count kept in binary32 sticks at 2²⁴, where adding 1 does nothing: it would make the variance half as large again.
  NormCase input;
  input.rows = 1;
  input.cols = 3 * (std::int64_t{1} << 23);
  input.x.assign(static_cast<std::size_t>(input.cols), 0.0f);
  const auto first_value = static_cast<std::size_t>(input.cols - 16);
  double squares = 0;
  for (std::size_t k = 0; k < 16; ++k) {
    const std::size_t size = k / 2 + 1;
    const float value = static_cast<float>(size) * (k % 2 == 0 ? 1.0f : -1.0f);
    input.x[first_value + k] = value;
    squares += static_cast<double>(value) * value;
  }
  const double rstd = 1 / std::sqrt(squares / static_cast<double>(input.cols) + static_cast<double>(input.eps));
  report.step("one row of " + std::to_string(input.cols) + " columns", [&] {
    const NormResult result = run(kernel.launcher, input);
    std::int64_t bad = 0;
    std::size_t first_bad = 0;
    for (std::size_t c = 0; c < result.y.size(); ++c) {
      const double normalised = input.x[c] * rstd;
      const double bound = u * ((16 + 8) * (1 + std::abs(normalised) / 2) + 4 * std::abs(normalised));
      if (std::abs(result.y[c] - normalised) <= bound) continue;
      if (bad++ == 0) first_bad = c;
    }
    report.require(bad == 0, "one row of " + std::to_string(input.cols) + " columns: " + std::to_string(bad) +
                                 " elements are wrong, first column " + std::to_string(first_bad) + ": expected " +
                                 std::to_string(input.x[first_bad] * rstd) + ", got " +
                                 std::to_string(result.y[first_bad]));
    report.require(std::abs(result.rstd[0] - rstd) <= 16 * u * rstd,
                   "rstd is " + std::to_string(result.rstd[0]) + "; it must be " + std::to_string(rstd));
  });
  return report.take();
}

Violations same_bits_again(const NormContract& kernel) {
  Report report;
  for (const std::int64_t cols : {37, 1000, 1024}) {
    const NormCase input = make_case(5, cols, Data::offset_1000, 19);
    report.step(input.name, [&] {
      report.require_same(input.name + ", run again", run(kernel.launcher, input), run(kernel.launcher, input), cols);
    });
  }
  return report.take();
}

Violations rows_are_independent(const NormContract& kernel) {
  Report report;
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{7, 37}, {5, 1024}, {300, 5}};
  for (const auto& [rows, cols] : shapes) {
    const NormCase input = make_case(rows, cols, Data::offset_100, 20);
    report.step(input.name, [&, rows = rows, cols = cols] {  // clang 14 cannot capture bindings
      const NormResult together = run(kernel.launcher, input);
      for (const std::int64_t row : {std::int64_t{0}, std::int64_t{1}, rows / 2, rows - 2, rows - 1}) {
        const std::string what = "row " + std::to_string(row) + " of " + input.name + ", alone";
        report.require_same(what, run(kernel.launcher, rows_of(input, row, 1)), rows_of(together, row, cols), cols);
      }
    });
  }
  return report.take();
}

// Copy

namespace {

std::vector<float> copy_values(std::int64_t count) {
  std::vector<float> values = make_case(1, std::max<std::int64_t>(count, 1), Data::centred, 21).x;
  values.resize(static_cast<std::size_t>(count));
  return values;
}

std::vector<float> run_copy(const CopyContract& kernel, const std::vector<float>& values, std::int64_t x_offset = 0,
                            std::int64_t y_offset = 0) {
  const DeviceBuffer<float> x("x", values, x_offset);
  const DeviceBuffer<float> y("y", x.size(), y_offset);
  kernel.launcher({.x = x.data(), .y = y.data(), .count = x.size()}, nullptr);
  check_cuda(cudaDeviceSynchronize(), "the copy");
  x.check_guards();
  y.check_guards();
  if (!same_bits(x.download(), values))
    throw std::runtime_error("'x' was changed; a kernel must not write to its inputs");
  return y.download();
}

}  // namespace

Violations no_rows(const CopyContract& kernel) {
  Report report;
  const DeviceBuffer<float> x("x", 4), y("y", 4);
  report.step("count = 0 with null pointers", [&] { kernel.launcher({}, nullptr); });
  report.step("count = 0", [&] { kernel.launcher({.x = x.data(), .y = y.data(), .count = 0}, nullptr); });
  report.require_no_pending_error();
  check_cuda(cudaDeviceSynchronize(), "the launch with count = 0");
  report.require(all_poison(y), "count = 0: 'y' was written");
  return report.take();
}

Violations bad_arguments(const CopyContract& kernel) {
  Report report;
  const DeviceBuffer<float> x("x", copy_values(4)), y("y", 4);
  const auto refused = [&](const std::string& what, CopyArgs args, const std::vector<std::string>& parts) {
    report.require_refused(
        what, [&] { kernel.launcher(args, nullptr); }, parts);
  };
  refused("count = -1", {.x = x.data(), .y = y.data(), .count = -1}, {"count is -1", "at least 0"});
  refused("x = null", {.x = nullptr, .y = y.data(), .count = 4}, {"x is null"});
  refused("y = null", {.x = x.data(), .y = nullptr, .count = 4}, {"y is null"});
  report.require_no_pending_error();
  check_cuda(cudaDeviceSynchronize(), "a launch with bad arguments");
  report.require(all_poison(y), "bad arguments: 'y' was written all the same");
  return report.take();
}

Violations overlap(const CopyContract& kernel) {
  Report report;
  const std::vector<float> values = copy_values(8);
  DeviceBuffer<float> memory("x and y", 16);
  memory.upload(values);
  float* const data = memory.data();
  report.step("y right behind x", [&] {
    kernel.launcher({.x = data, .y = data + 8, .count = 8}, nullptr);
    report.require_same("y right behind x", memory.download(8, 8), values, 8);
  });
  const std::vector<float> before = memory.download();
  const auto refused = [&](const std::string& what, CopyArgs args) {
    report.require_refused(what, [&] { kernel.launcher(args, nullptr); }, {"y is", "overlap x"});
  };
  refused("y = x", {.x = data, .y = data, .count = 8});
  refused("y = x + 7", {.x = data, .y = data + 7, .count = 8});
  refused("x = y + 1", {.x = data + 1, .y = data, .count = 8});
  check_cuda(cudaDeviceSynchronize(), "a launch with overlapping arguments");
  report.require_same("after the refusals", memory.download(), before, 16);
  return report.take();
}

Violations large_offsets(const CopyContract& kernel) {
  Report report;
  const std::int64_t count = (std::int64_t{1} << 32) + 7;  // as for LayerNorm
  const std::int64_t first_block = (count - 7) / kernel.elements_per_block;
  const std::int64_t first = first_block * kernel.elements_per_block;
  report.step("count = 2³² + 7", [&] {
    DeviceBuffer<float> x = large_buffer("x", count);
    const DeviceBuffer<float> y = large_buffer("y", count);
    const std::vector<float> tail = copy_values(count - first);
    x.upload(tail, first);
    const LaunchWindow last_blocks(static_cast<std::uint64_t>(first_block), to_the_end);
    kernel.launcher({.x = x.data(), .y = y.data(), .count = count}, nullptr);
    check_cuda(cudaDeviceSynchronize(), "the copy");
    report.require_same("the end of 2³² + 7 elements", y.download(first, count - first), tail, count);
    x.check_guards();
    y.check_guards();
  });
  return report.take();
}

Violations any_cols_any_alignment(const CopyContract& kernel) {
  Report report;
  for (const std::int64_t count : widths) {
    const std::vector<float> values = copy_values(count);
    for (const std::int64_t x_offset : {0, 1, 2, 3}) {
      for (const std::int64_t y_offset : {0, 1, 2, 3}) {
        const std::string what = std::to_string(count) + " elements, x and y moved by " + std::to_string(x_offset) +
                                 " and " + std::to_string(y_offset);
        report.step(what,
                    [&] { report.require_same(what, run_copy(kernel, values, x_offset, y_offset), values, count); });
      }
    }
  }
  return report.take();
}

Violations nan_or_inf(const CopyContract& kernel) {
  Report report;
  std::vector<float> values = copy_values(1000);
  const std::pair<std::size_t, float> odd[] = {{0, nan},     {17, infinity}, {500, -infinity},
                                               {501, -0.0f}, {998, 1e-45f},  {999, -nan}};
  for (const auto& [index, value] : odd) values[index] = value;
  report.step("NaN, ∞, −0 and the smallest number", [&] {
    report.require_same("NaN, ∞, −0 and the smallest number", run_copy(kernel, values), values, 1000);
  });
  return report.take();
}

Violations same_bits_again(const CopyContract& kernel) {
  Report report;
  const std::vector<float> values = copy_values(1027);
  report.step("run again",
              [&] { report.require_same("run again", run_copy(kernel, values), run_copy(kernel, values), 1027); });
  return report.take();
}

}  // namespace testing::contract
