#include <testing/backward_contract.h>

#include <host/device_buffer.h>
#include <host/launch_window.h>
#include <testing/large_launch.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace testing::contract {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr double u = 0x1p-24;

/// Widths around the vector (4), the warp (32), the block (256, 1024), and what a warp holds of a row in 16 floats a
/// lane (512); then one that takes more than 512 threads, and one that does not fit in a block.
constexpr std::int64_t widths[] = {1,  2,   3,   4,   5,   7,   8,   15,  16,  17,   31,   32,   33,   63,   64,
                                   65, 127, 128, 129, 255, 256, 257, 512, 513, 1000, 1024, 1025, 8196, 16388};

bool is_rms_norm(const BackwardContract& kernel) { return kernel.launcher.norm() == Norm::rms_norm; }

bool all_poison(const DeviceBuffer<float>& buffer) {
  const std::vector<float> values = buffer.download();
  return std::all_of(values.begin(), values.end(), DeviceBuffer<float>::is_poison);
}
bool all_are(const std::vector<float>& values, float value) {
  return std::all_of(values.begin(), values.end(), [value](float got) { return got == value; });
}
/// NaN that somebody wrote.
bool all_nan(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](float got) { return std::isnan(got) && !DeviceBuffer<float>::is_poison(got); });
}

BackwardCase make(const BackwardContract& kernel, std::int64_t rows, std::int64_t cols, Data data, std::uint64_t seed) {
  return make_backward_case(kernel.launcher.norm(), make_case(rows, cols, data, seed), seed);
}

/// The rows [first, first + count) of a case, with their statistics, as a case of their own.
BackwardCase rows_of(const BackwardCase& input, std::int64_t first, std::int64_t count) {
  const auto cut = [](std::vector<float>& values, std::int64_t from, std::int64_t to) {
    values = std::vector<float>(values.begin() + from, values.begin() + to);
  };
  const std::int64_t cols = input.forward.cols;
  BackwardCase part = input;
  part.forward.rows = count;
  cut(part.forward.x, first * cols, (first + count) * cols);
  cut(part.dy, first * cols, (first + count) * cols);
  cut(part.rstd, first, first + count);
  if (!part.mean.empty()) cut(part.mean, first, first + count);
  return part;
}
std::span<const float> row_of(const std::vector<float>& matrix, std::int64_t row, std::int64_t cols) {
  return std::span(matrix).subspan(static_cast<std::size_t>(row * cols), static_cast<std::size_t>(cols));
}

void require_same(Report& report, const std::string& what, const BackwardResult& got, const BackwardResult& expected,
                  std::int64_t cols) {
  report.require_same(what + ", dx", got.dx, expected.dx, cols);
  report.require_same(what + ", dgamma", got.dgamma, expected.dgamma, cols);
  report.require_same(what + ", dbeta", got.dbeta, expected.dbeta, cols);
}

void require_right(Report& report, const BackwardContract& kernel, const std::string& what,
                   const BackwardResult& result, const BackwardCase& input, BackwardRunOptions options = {}) {
  const BackwardVerdict verdict =
      judge_backward(result, input, kernel.summation(input.forward.rows, input.forward.cols), options);
  report.require(verdict.passed(), what + ": " + verdict.text());
}
void require_right(Report& report, const BackwardContract& kernel, const BackwardCase& input,
                   BackwardRunOptions options = {}) {
  report.step(input.forward.name, [&] {
    require_right(report, kernel, "judged", run_backward(kernel.launcher, input, options), input, options);
  });
}

}  // namespace

Violations no_rows(const BackwardContract& kernel) {
  Report report;
  for (const bool accumulate : {false, true}) {
    const std::vector<float> before(4, 7.0f);
    const DeviceBuffer<float> x("x", 4), dy("dy", 4), statistics("mean and rstd", 2), dx("dx", 4);
    const DeviceBuffer<float> dgamma("dgamma", before), dbeta("dbeta", before), workspace("workspace", 8);
    const std::string what = std::string("rows = 0") + (accumulate ? ", accumulate" : "");
    LayerNormBackwardArgs args;
    args.cols = 4;
    args.accumulate = accumulate;
    report.step(what + " with null pointers", [&] { kernel.launcher(args, nullptr); });
    args.x = x.data();
    args.dy = dy.data();
    args.mean = statistics.data();
    args.rstd = statistics.data() + 1;
    args.dx = dx.data();
    args.dgamma = dgamma.data();
    args.dbeta = dbeta.data();
    args.workspace = workspace.data();
    report.step(what, [&] { kernel.launcher(args, nullptr); });
    report.require_no_pending_error();
    check_cuda(cudaDeviceSynchronize(), "the launch with rows = 0");
    for (const auto* buffer : {&dx, &workspace}) {
      report.require(all_poison(*buffer), what + ": '" + buffer->name() + "' was written");
    }
    const float expected = accumulate ? 7.0f : 0.0f;
    report.require(all_are(dgamma.download(), expected), what + ": dgamma must be " + std::to_string(expected));
    const float expected_dbeta = is_rms_norm(kernel) ? 7.0f : expected;  // no argument of RMSNorm
    report.require(all_are(dbeta.download(), expected_dbeta),
                   what + ": dbeta must be " + std::to_string(expected_dbeta));
  }
  return report.take();
}

Violations bad_arguments(const BackwardContract& kernel) {
  Report report;
  const std::vector<float> values(8, 1.0f);
  const DeviceBuffer<float> x("x", values), dy("dy", values), mean("mean", std::span(values).first(2)),
      rstd("rstd", std::span(values).first(2));
  const DeviceBuffer<float> dx("dx", 8), dgamma("dgamma", 4), dbeta("dbeta", 4),
      workspace("workspace", workspace_floats(2, 4));
  LayerNormBackwardArgs good;
  good.x = x.data();
  good.mean = mean.data();
  good.rstd = rstd.data();
  good.dy = dy.data();
  good.dx = dx.data();
  good.dgamma = dgamma.data();
  good.dbeta = dbeta.data();
  good.workspace = workspace.data();
  good.rows = 2;
  good.cols = 4;
  using Change = std::function<void(LayerNormBackwardArgs&)>;
  const auto changed = [&](const Change& change) {
    LayerNormBackwardArgs args = good;
    change(args);
    return args;
  };
  const auto refused = [&](const std::string& what, const Change& spoil, const std::vector<std::string>& parts) {
    report.require_refused(
        what, [&] { kernel.launcher(changed(spoil), nullptr); }, parts);
  };
  refused("rows = -1", [](auto& args) { args.rows = -1; }, {"rows is -1", "at least 0"});
  refused("cols = 0", [](auto& args) { args.cols = 0; }, {"cols is 0", "at least 1"});
  refused("cols = 0 with rows = 0", [](auto& args) { args.rows = args.cols = 0; }, {"cols is 0", "at least 1"});
  refused("cols = -7", [](auto& args) { args.cols = -7; }, {"cols is -7", "at least 1"});
  refused("x = null", [](auto& args) { args.x = nullptr; }, {"x is null"});
  refused("dy = null", [](auto& args) { args.dy = nullptr; }, {"dy is null"});
  refused("rstd = null", [](auto& args) { args.rstd = nullptr; }, {"rstd is null"});
  if (!is_rms_norm(kernel)) refused("mean = null", [](auto& args) { args.mean = nullptr; }, {"mean is null"});
  refused("rows · cols = 2⁶⁴", [](auto& args) { args.rows = args.cols = std::int64_t{1} << 32; },
          {"rows · cols is 4294967296 · 4294967296", "at most"});
  const Change without_workspace = [](auto& args) { args.workspace = nullptr; };
  if (kernel.workspace == Workspace::needed) {
    refused("workspace = null", without_workspace,
            {"workspace is null", std::to_string(workspace.size()) + " floats of device memory"});
  }
  report.require_no_pending_error();
  check_cuda(cudaDeviceSynchronize(), "a launch with bad arguments");
  for (const auto* output : {&dx, &dgamma, &dbeta, &workspace}) {
    report.require(all_poison(*output), "bad arguments: '" + output->name() + "' was written all the same");
  }

  // Where no workspace is used, none is asked for.
  report.step("workspace = null where it is not used", [&] {
    kernel.launcher(changed([&](auto& args) {
                      args.workspace = nullptr;
                      if (kernel.workspace == Workspace::needed) args.dgamma = args.dbeta = nullptr;
                    }),
                    nullptr);
    check_cuda(cudaDeviceSynchronize(), "the launch without workspace");
    report.require(!all_poison(dx), "workspace = null where it is not used: 'dx' was not written");
  });
  return report.take();
}

Violations gamma_null(const BackwardContract& kernel) {
  Report report;
  for (const std::int64_t cols : {37, 1024}) {
    BackwardCase input = make(kernel, 9, cols, Data::centred, 11);
    require_right(report, kernel, input);
    input.forward.beta.clear();
    input.forward.gamma.clear();
    input.forward.name += ", γ null";
    require_right(report, kernel, input);
    BackwardCase ones = input;
    ones.forward.gamma.assign(static_cast<std::size_t>(cols), 1.0f);
    report.step(input.forward.name, [&] {
      require_same(report, input.forward.name + ", against γ of ones", run_backward(kernel.launcher, input),
                   run_backward(kernel.launcher, ones), cols);
    });
  }
  return report.take();
}

Violations outputs_null(const BackwardContract& kernel) {
  Report report;
  for (const std::int64_t cols : {37, 1024}) {
    const BackwardCase input = make(kernel, 9, cols, Data::offset_10, 12);
    report.step(input.forward.name, [&] {
      const BackwardResult all = run_backward(kernel.launcher, input);
      for (const bool dx : {false, true}) {
        for (const bool dgamma : {false, true}) {
          for (const bool dbeta : {false, true}) {
            const BackwardRunOptions options{.dx = dx, .dgamma = dgamma, .dbeta = dbeta};
            const std::string what = input.forward.name + (dx ? "" : ", dx null") + (dgamma ? "" : ", dgamma null") +
                                     (dbeta ? "" : ", dbeta null");
            report.step(what, [&] {
              const BackwardResult part = run_backward(kernel.launcher, input, options);
              require_right(report, kernel, what, part, input, options);
              // dx alone may come from another kernel; everything else has the bits that it has beside the others.
              if (!part.dx.empty() && (dgamma || dbeta)) report.require_same(what + ", dx", part.dx, all.dx, cols);
              if (!part.dgamma.empty()) report.require_same(what + ", dgamma", part.dgamma, all.dgamma, cols);
              if (!part.dbeta.empty()) report.require_same(what + ", dbeta", part.dbeta, all.dbeta, cols);
            });
          }
        }
      }
    });
  }
  return report.take();
}

namespace {

/// One buffer in which every argument is a neighbour of another and nothing overlaps: 4 rows of 8 columns.
struct Neighbours {
  BackwardCase input;
  DeviceBuffer<float> memory{"all arguments", 152};
  LayerNormBackwardArgs args;

  explicit Neighbours(const BackwardContract& kernel) : input(make(kernel, 4, 8, Data::offset_10, 13)) {
    float* const data = memory.data();
    memory.upload(input.forward.x, 0);
    memory.upload(input.dy, 32);
    memory.upload(input.forward.gamma, 96);
    memory.upload(input.mean.empty() ? input.rstd : input.mean, 104);  // RMSNorm's is never looked at
    memory.upload(input.rstd, 108);
    args.x = data;
    args.dy = data + 32;
    args.dx = data + 64;
    args.gamma = data + 96;
    args.mean = data + 104;
    args.rstd = data + 108;
    args.dgamma = data + 112;
    args.dbeta = data + 120;
    args.workspace = data + 128;  // workspace_floats(4, 8) = 16, and 8 that nobody owns
    args.rows = 4;
    args.cols = 8;
  }

  BackwardResult result() const {
    return {memory.download(64, 32), memory.download(112, 8),
            input.mean.empty() ? std::vector<float>() : memory.download(120, 8)};
  }
};

}  // namespace

Violations overlap(const BackwardContract& kernel) {
  Report report;
  const Neighbours side_by_side(kernel);
  const LayerNormBackwardArgs& good = side_by_side.args;
  report.step("arguments side by side", [&] {
    kernel.launcher(good, nullptr);
    check_cuda(cudaDeviceSynchronize(), "the kernels");
    require_same(report, "arguments side by side", side_by_side.result(),
                 run_backward(kernel.launcher, side_by_side.input), 8);
  });
  const std::vector<float> before = side_by_side.memory.download();

  using Change = std::function<void(LayerNormBackwardArgs&)>;
  const auto refused = [&](const std::string& what, const char* output, const char* other, const Change& spoil) {
    LayerNormBackwardArgs args = good;
    spoil(args);
    report.require_refused(what, [&] { kernel.launcher(args, nullptr); },
                           {std::string(output) + " is 0x", "must not overlap " + std::string(other) + ","});
  };
  const auto writable = [](const float* input) { return const_cast<float*>(input); };
  refused("dx = dy + 1", "dx", "dy", [&](auto& args) { args.dx = writable(args.dy) + 1; });
  refused("dx = dy − 31", "dx", "dy", [&](auto& args) { args.dy = args.dx + 31; });
  refused("dx = x", "dx", "x", [&](auto& args) { args.dx = writable(args.x); });
  refused("dx = x + 31", "dx", "x", [&](auto& args) {
    args.dx = writable(args.x) + 31;
    args.dy = args.dx + 33;
  });
  refused("gamma in dx", "dx", "gamma", [](auto& args) { args.gamma = args.dx + 24; });
  refused("rstd in dx", "dx", "rstd", [](auto& args) { args.rstd = args.dx; });
  refused("dgamma in x", "dgamma", "x", [&](auto& args) { args.dgamma = writable(args.x) + 24; });
  refused("dgamma in dy", "dgamma", "dy", [&](auto& args) { args.dgamma = writable(args.dy); });
  refused("dgamma = gamma", "dgamma", "gamma", [&](auto& args) { args.dgamma = writable(args.gamma); });
  refused("dgamma = rstd", "dgamma", "rstd", [&](auto& args) { args.dgamma = writable(args.rstd); });
  refused("dgamma in dx", "dgamma", "dx", [](auto& args) { args.dgamma = args.dx + 24; });
  if (!is_rms_norm(kernel)) {
    refused("mean in dx", "dx", "mean", [](auto& args) { args.mean = args.dx + 28; });
    refused("dgamma = mean − 7", "dgamma", "mean", [](auto& args) { args.mean = args.dgamma + 7; });
    refused("dbeta in x", "dbeta", "x", [&](auto& args) { args.dbeta = writable(args.x); });
    refused("dbeta in dy", "dbeta", "dy", [&](auto& args) { args.dbeta = writable(args.dy) + 24; });
    refused("dbeta = gamma", "dbeta", "gamma", [&](auto& args) { args.dbeta = writable(args.gamma); });
    refused("dbeta in dx", "dbeta", "dx", [](auto& args) { args.dbeta = args.dx; });
    refused("dbeta = dgamma", "dbeta", "dgamma", [](auto& args) { args.dbeta = args.dgamma; });
    refused("dbeta = dgamma + 7", "dbeta", "dgamma", [](auto& args) { args.dbeta = args.dgamma + 7; });
  }
  if (kernel.workspace == Workspace::needed) {
    refused("workspace in x", "workspace", "x", [&](auto& args) { args.workspace = writable(args.x); });
    refused("workspace in dy", "workspace", "dy", [&](auto& args) { args.workspace = writable(args.dy) + 16; });
    refused("workspace = gamma − 15", "workspace", "gamma", [](auto& args) { args.gamma = args.workspace + 15; });
    refused("workspace = rstd − 15", "workspace", "rstd", [](auto& args) { args.rstd = args.workspace + 15; });
    refused("workspace in dx", "workspace", "dx", [](auto& args) { args.workspace = args.dx + 16; });
    refused("workspace = dgamma", "workspace", "dgamma", [](auto& args) { args.workspace = args.dgamma; });
  }
  if (kernel.in_place == InPlace::refused) {
    refused("dx = dy", "dx", "dy", [&](auto& args) { args.dx = writable(args.dy); });
  }
  check_cuda(cudaDeviceSynchronize(), "a launch with overlapping arguments");
  report.require_same("after the refusals", side_by_side.memory.download(), before, side_by_side.memory.size());

  if (kernel.in_place == InPlace::allowed) {
    for (const std::int64_t cols : {8, 37, 1024}) {
      const BackwardCase input = make(kernel, 9, cols, Data::offset_10, 14);
      for (const bool sums : {false, true}) {
        const std::string what = "dx = dy on " + input.forward.name + (sums ? "" : ", dx alone");
        report.step(what, [&] {
          const auto run = [&](bool in_place) {
            return run_backward(kernel.launcher, input, {.dgamma = sums, .dbeta = sums, .in_place = in_place});
          };
          require_same(report, what, run(true), run(false), cols);
        });
      }
    }
  }
  return report.take();
}

Violations accumulate(const BackwardContract& kernel) {
  Report report;
  const auto plus = [](std::vector<float> sums, const std::vector<float>& more) {
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += more[c];
    return sums;
  };
  for (const std::int64_t cols : {37, 1024}) {
    const BackwardCase input = make(kernel, 70, cols, Data::offset_10, 15);
    report.step(input.forward.name, [&] {
      const BackwardResult once = run_backward(kernel.launcher, input);
      require_right(report, kernel, "written", once, input);
      require_same(report, input.forward.name + ", written twice", run_backward(kernel.launcher, input, {.calls = 2}),
                   once, cols);

      const BackwardRunOptions onto_7{.accumulate = true, .before = 7};
      const BackwardResult added = run_backward(kernel.launcher, input, onto_7);
      require_right(report, kernel, "accumulated onto 7", added, input, onto_7);
      // The sum, and then one addition: as if the caller had added.
      const std::vector<float> sevens(static_cast<std::size_t>(cols), 7.0f);
      const BackwardResult twice = run_backward(kernel.launcher, input, {.accumulate = true, .before = 7, .calls = 2});
      const auto require_sums = [&](const char* what, auto sums) {
        if (sums(once).empty()) return;
        const std::string name = input.forward.name + ", accumulated onto 7, " + what;
        const std::vector<float> expected = plus(sevens, sums(once));
        report.require_same(name, sums(added), expected, cols);
        report.require_same(name + ", twice", sums(twice), plus(expected, sums(once)), cols);
      };
      require_sums("dgamma", [](const BackwardResult& result) { return result.dgamma; });
      require_sums("dbeta", [](const BackwardResult& result) { return result.dbeta; });
      report.require_same(input.forward.name + ", accumulated, dx", added.dx, once.dx, cols);
    });
  }
  return report.take();
}

namespace {

/// What a launch over that many rows gives to dx of the last of them. On the simt backend only its block runs; the
/// other rows of that block hold the same as the last one. A GPU runs the whole grid over whatever memory held before.
std::vector<float> dx_of_last_row(const BackwardContract& kernel, std::int64_t rows, const BackwardCase& last,
                                  bool sums) {
  const std::int64_t cols = last.forward.cols;
  const auto of_every_row = [rows](const std::vector<float>& value) {
    return std::vector<float>(static_cast<std::size_t>(rows), value.at(0));
  };
  DeviceBuffer<float> x = large_buffer("x", rows * cols), dy = large_buffer("dy", rows * cols);
  const DeviceBuffer<float> dx = large_buffer("dx", rows * cols);
  const DeviceBuffer<float> gamma("gamma", last.forward.gamma), rstd("rstd", of_every_row(last.rstd));
  const DeviceBuffer<float> mean("mean", of_every_row(is_rms_norm(kernel) ? last.rstd : last.mean));
  const DeviceBuffer<float> dgamma("dgamma", cols), dbeta("dbeta", cols);
  // Zeros: the window may hold a block that adds up slabs whose blocks it does not hold.
  const DeviceBuffer<float> workspace(
      "workspace", std::vector<float>(static_cast<std::size_t>(sums ? workspace_floats(rows, cols) : 0)));
  const std::int64_t block = kernel.block_of_row(rows - 1, rows, cols, sums);
  for (std::int64_t row = 0; row < rows; ++row) {
    if (kernel.block_of_row(row, rows, cols, sums) != block) continue;
    x.upload(last.forward.x, row * cols);
    dy.upload(last.dy, row * cols);
  }

  LayerNormBackwardArgs args;
  args.x = x.data();
  args.gamma = gamma.data();
  args.mean = mean.data();
  args.rstd = rstd.data();
  args.dy = dy.data();
  args.dx = dx.data();
  args.dgamma = sums ? dgamma.data() : nullptr;
  args.dbeta = sums ? dbeta.data() : nullptr;
  args.workspace = sums ? workspace.data() : nullptr;
  args.rows = rows;
  args.cols = cols;
  {
    const LaunchWindow block_of_last(static_cast<std::uint64_t>(block), 1);
    kernel.launcher(args, nullptr);
    check_cuda(cudaDeviceSynchronize(), "the kernels");
  }
  for (const auto* buffer : {&std::as_const(x), &std::as_const(dy), &dx}) buffer->check_guards();
  return dx.download((rows - 1) * cols, cols);
}

}  // namespace

Violations large_offsets(const BackwardContract& kernel) {
  Report report;
  constexpr std::int64_t limit = std::int64_t{1} << 32;  // behind it a 32-bit offset is wrong, signed or unsigned
  for (const std::int64_t cols : {4096, 512}) {
    const BackwardCase last = make(kernel, 1, cols, Data::offset_10, 16);
    const std::int64_t rows = limit / cols + 3;
    for (const bool sums : {false, true}) {
      const std::string what = "dx of the last row of " + std::to_string(rows) + "×" + std::to_string(cols) +
                               (sums ? ", with dgamma and dbeta" : ", alone");
      report.step(what, [&] {
        const BackwardRunOptions options{.dgamma = sums, .dbeta = sums};
        report.require_same(what + ", against the same row of its own", dx_of_last_row(kernel, rows, last, sums),
                            run_backward(kernel.launcher, last, options).dx, cols);
      });
    }
  }
  return report.take();
}

Violations any_cols_any_alignment(const BackwardContract& kernel) {
  Report report;
  struct Misalignment {
    std::string text;
    std::int64_t elements;
    BackwardRunOptions options;
  };
  std::vector<Misalignment> misalignments;
  for (const std::int64_t k : {1, 2, 3}) {
    const auto move = [&](const std::string& what, const BackwardRunOptions& options) {
      misalignments.push_back({what + " moved by " + std::to_string(k) + " elements", k, options});
    };
    if (kernel.workspace == Workspace::needed) move("the workspace", {.workspace_offset = k});
    move("x", {.x_offset = k});
    move("dy", {.dy_offset = k});
    move("dx", {.dx_offset = k});
    move("γ", {.gamma_offset = k});
    move("everything", {.x_offset = k,
                        .dy_offset = k,
                        .dx_offset = k,
                        .gamma_offset = k,
                        .statistics_offset = k,
                        .sums_offset = k,
                        .workspace_offset = k});
  }
  for (const std::int64_t cols : widths) {
    const BackwardCase input = make(kernel, 3, cols, Data::offset_10, static_cast<std::uint64_t>(cols));
    report.step(input.forward.name, [&] {
      const BackwardResult aligned = run_backward(kernel.launcher, input);
      require_right(report, kernel, "aligned", aligned, input);
      for (const Misalignment& moved : misalignments) {
        // On long rows one is like the other, and they take long.
        if (cols > 256 && moved.elements != 1) continue;
        if (cols > 2048 && moved.options.sums_offset == 0) continue;
        const std::string what = input.forward.name + ", " + moved.text;
        report.step(what, [&] {
          require_same(report, what, run_backward(kernel.launcher, input, moved.options), aligned, cols);
        });
      }
    });
  }
  return report.take();
}

Violations any_rows(const BackwardContract& kernel) {
  Report report;
  const BackwardCase empty = make(kernel, 0, 5, Data::zero, 1);
  report.step(empty.forward.name, [&] {
    const BackwardResult result = run_backward(kernel.launcher, empty);
    report.require(all_are(result.dgamma, 0) && all_are(result.dbeta, 0), "0 rows: dgamma and dbeta must be 0");
  });
  for (const std::int64_t rows : {1, 2, 3, 31, 32, 33, 255, 257, 1000, 4099, 100003}) {
    require_right(report, kernel, make(kernel, rows, 5, Data::offset_10, static_cast<std::uint64_t>(rows + 1)));
  }
  return report.take();
}

namespace {

/// The columns of a row of sums, all but one.
std::vector<float> without(std::vector<float> sums, std::int64_t column) {
  if (!sums.empty()) sums.erase(sums.begin() + column);
  return sums;
}

}  // namespace

Violations nan_or_inf(const BackwardContract& kernel) {
  Report report;
  for (const std::int64_t cols : {5, 37, 600}) {
    const BackwardCase clean = make(kernel, 5, cols, Data::centred, 17);
    const BackwardResult expected = run_backward(kernel.launcher, clean);
    const auto try_value = [&](std::int64_t row, std::int64_t column, float value, bool in_dy) {
      const auto at = static_cast<std::size_t>(row * cols + column);
      const std::string what = clean.forward.name + " with " + std::to_string(value) + " in " + (in_dy ? "dy" : "x") +
                               ", row " + std::to_string(row) + ", column " + std::to_string(column);
      BackwardCase input = clean;
      (in_dy ? input.dy : input.forward.x)[at] = value;
      const auto require_other_rows = [&](const BackwardResult& result, const std::string& of) {
        for (std::int64_t r = 0; r < clean.forward.rows; ++r) {
          if (r == row) continue;
          report.require_same(of + ", dx of row " + std::to_string(r), row_of(result.dx, r, cols),
                              row_of(expected.dx, r, cols), cols);
        }
      };
      report.step(what, [&] {
        const BackwardResult result = run_backward(kernel.launcher, input);
        require_right(report, kernel, what, result, input);  // NaN where the reference has it
        require_other_rows(result, what);
        report.require_same(what + ", dgamma of the other columns", without(result.dgamma, column),
                            without(expected.dgamma, column), cols - 1);
        report.require_same(what + ", dbeta of the other columns", without(result.dbeta, column),
                            without(expected.dbeta, column), cols - 1);
      });
      if (in_dy) return;
      // What a forward makes of that row: its statistics are no numbers.
      const std::string through = what + ", with the forward's statistics";
      report.step(through, [&] {
        const BackwardCase given = make_backward_case(clean.norm, input.forward, clean.dy);
        const BackwardResult result = run_backward(kernel.launcher, given);
        require_right(report, kernel, through, result, given);
        require_other_rows(result, through);
        report.require_same(through + ", dbeta", result.dbeta, expected.dbeta, cols);
        // RMSNorm's rstd is 0 where Σx² is ∞, and then x̂ is 0 in the other columns.
        if (is_rms_norm(kernel) && std::isinf(value)) return;
        report.require(all_nan(result.dgamma), through + ": dgamma must be NaN in all columns");
      });
    };
    for (const std::int64_t row : {0, 3}) {
      for (const float value : {nan, infinity, -infinity}) {
        for (const std::int64_t column : {std::int64_t{0}, cols - 1}) {
          for (const bool in_dy : {false, true}) try_value(row, column, value, in_dy);
        }
      }
    }
  }
  return report.take();
}

namespace {

/// Makes one row of x constant; the statistics are those of the new rows.
BackwardCase with_constant_row(const BackwardCase& input, std::int64_t row, float constant, float eps) {
  NormCase forward = input.forward;
  std::fill_n(forward.x.begin() + row * forward.cols, forward.cols, constant);
  forward.eps = eps;
  forward.name +=
      ", all " + std::to_string(constant) + " in row " + std::to_string(row) + ", eps " + std::to_string(eps);
  return make_backward_case(input.norm, std::move(forward), input.dy);
}

}  // namespace

Violations constant_row(const BackwardContract& kernel) {
  Report report;
  for (const std::int64_t cols : {1, 2, 7, 32, 33, 257, 1000}) {
    for (const float constant : {0.0f, -3.0f, 0.1f, -1000.001f, 1e20f}) {
      const BackwardCase alone = with_constant_row(make(kernel, 1, cols, Data::centred, 18), 0, constant, 1e-5f);
      const BackwardCase among = with_constant_row(make(kernel, 3, cols, Data::centred, 19), 1, constant, 1e-5f);
      require_right(report, kernel, alone);
      require_right(report, kernel, among);
      // To RMSNorm a constant row is one like any other, but for 0.
      if (is_rms_norm(kernel) && constant != 0) continue;
      const std::string& what = alone.forward.name;
      report.step(what, [&] {
        report.require(all_are(run_backward(kernel.launcher, alone).dgamma, 0), what + ": dgamma must be exactly 0");
        // x̂ is 0, so dγ is the same whatever dy is there.
        BackwardCase other = among;
        for (std::int64_t c = 0; c < cols; ++c) other.dy[static_cast<std::size_t>(cols + c)] *= -1000;
        report.require_same(among.forward.name + ", dgamma with another dy there",
                            run_backward(kernel.launcher, other).dgamma, run_backward(kernel.launcher, among).dgamma,
                            cols);
        // rstd is ∞, and x̂ = 0·∞.
        const BackwardCase without_eps = with_constant_row(alone, 0, constant, 0);
        const BackwardResult result = run_backward(kernel.launcher, without_eps);
        require_right(report, kernel, what, result, without_eps);
        report.require(all_nan(result.dx) && all_nan(result.dgamma), what + ": with eps = 0 dx and dgamma must be NaN");
      });
    }
  }
  return report.take();
}

Violations single_column(const BackwardContract& kernel) {
  Report report;
  for (const std::int64_t rows : {1, 3, 300}) {
    const BackwardCase input = make(kernel, rows, 1, Data::offset_10, 20);
    report.step(input.forward.name, [&] {
      const BackwardResult result = run_backward(kernel.launcher, input);
      require_right(report, kernel, "a single column", result, input);
      if (is_rms_norm(kernel)) return;
      // x is the mean, so x̂ = 0, and g is its own mean.
      report.require(all_are(result.dx, 0), input.forward.name + ": dx must be exactly 0");
      report.require(all_are(result.dgamma, 0), input.forward.name + ": dgamma must be exactly 0");
    });
  }
  return report.take();
}

Violations many_columns(const BackwardContract& kernel) {
  Report report;
  // Zeros, and 16 columns at the end with x = ±1 … ±8, of which the first 8 have dy = 2, 1, 2, 1 …. Every sum is one of
  // small integers, exact in any order, so the bound is that of 16 elements. mean and rstd are 0 and 1: a backward
  // takes what it is given. A count kept in binary32 sticks at 2²⁴, where adding 1 does nothing: it would make mean(g)
  // and mean(g·x̂), and with them dx where dy is 0, half as large again.
  BackwardCase input;
  input.norm = kernel.launcher.norm();
  NormCase& forward = input.forward;
  forward.rows = 1;
  forward.cols = 3 * (std::int64_t{1} << 23);
  forward.name = "one row of " + std::to_string(forward.cols) + " columns";
  const auto cols = static_cast<std::size_t>(forward.cols);
  forward.x.assign(cols, 0.0f);
  input.dy.assign(cols, 0.0f);
  if (!is_rms_norm(kernel)) input.mean = {0};
  input.rstd = {1};
  double sum_g = 0, sum_gx = 0, sum_gx_sizes = 0;
  for (std::size_t k = 0; k < 16; ++k) {
    const std::size_t c = cols - 16 + k, size = k / 2 + 1;
    forward.x[c] = static_cast<float>(size) * (k % 2 == 0 ? 1.0f : -1.0f);
    if (k < 8) input.dy[c] = k % 2 == 0 ? 2.0f : 1.0f;
    sum_g += input.dy[c];
    sum_gx += static_cast<double>(input.dy[c]) * forward.x[c];
    sum_gx_sizes += std::abs(static_cast<double>(input.dy[c]) * forward.x[c]);
  }
  const double mean_g = is_rms_norm(kernel) ? 0 : sum_g / static_cast<double>(forward.cols);
  const double mean_gx = sum_gx / static_cast<double>(forward.cols);
  const double a2 = sum_gx_sizes / static_cast<double>(forward.cols);
  report.step(forward.name, [&] {
    const std::vector<float> dx = run_backward(kernel.launcher, input, {.dgamma = false, .dbeta = false}).dx;
    std::int64_t bad = 0;
    std::string first;
    for (std::size_t c = 0; c < cols; ++c) {
      const double g = input.dy[c], x = forward.x[c];
      const double expected = g - mean_g - x * mean_gx;
      const double bound = u * (4 * g + (16 + 5) * mean_g + (16 + 10) * a2 * std::abs(x));
      if (std::abs(dx[c] - expected) <= bound || bad++ > 0) continue;
      first = "column " + std::to_string(c) + ": expected " + std::to_string(expected * 1e6) + "e-6, got " +
              std::to_string(dx[c] * 1e6f) + "e-6";
    }
    report.require(bad == 0, forward.name + ": " + std::to_string(bad) + " elements of dx are wrong, first " + first);
  });
  return report.take();
}

Violations same_bits_again(const BackwardContract& kernel) {
  Report report;
  const auto repeat = [&](const BackwardCase& input, int runs) {
    report.step(input.forward.name, [&] {
      const BackwardResult first = run_backward(kernel.launcher, input);
      for (int run = 2; run <= runs; ++run) {
        require_same(report, input.forward.name + ", run " + std::to_string(run), run_backward(kernel.launcher, input),
                     first, input.forward.cols);
      }
    });
  };
  repeat(make(kernel, 70, 40, Data::offset_1000, 21), 100);
  repeat(make(kernel, 9, 1000, Data::offset_1000, 22), 3);
  repeat(make(kernel, 9, 1024, Data::offset_1000, 23), 3);
  return report.take();
}

Violations rows_are_independent(const BackwardContract& kernel) {
  Report report;
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{7, 37}, {5, 1024}, {300, 5}};
  for (const auto& [rows, cols] : shapes) {
    const BackwardCase input = make(kernel, rows, cols, Data::offset_100, 25);
    for (const bool sums : {false, true}) {
      const BackwardRunOptions options{.dgamma = sums, .dbeta = sums};
      report.step(input.forward.name, [&, rows = rows, cols = cols] {  // clang 14 cannot capture bindings
        const std::vector<float> together = run_backward(kernel.launcher, input, options).dx;
        for (const std::int64_t row : {std::int64_t{0}, std::int64_t{1}, rows / 2, rows - 2, rows - 1}) {
          const std::string what = "dx of row " + std::to_string(row) + " of " + input.forward.name + ", alone";
          report.require_same(what, run_backward(kernel.launcher, rows_of(input, row, 1), options).dx,
                              row_of(together, row, cols), cols);
        }
      });
    }
  }
  return report.take();
}

}  // namespace testing::contract
