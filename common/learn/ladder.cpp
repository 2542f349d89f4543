#include <learn/ladder.h>

#include <fmt/format.h>
#include <host/device_buffer.h>
#include <simt/counts.h>
#include <simt/finding.h>
#include <testing/cases.h>
#include <testing/run.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace learn {
namespace {

constexpr std::uint64_t seed = 1;

/// Published cases are named by their report, and those of several rows by a number behind it.
bool is_case(const testing::NormCase& input, const std::string& report) { return input.name.starts_with(report); }

testing::NormCase treacherous_row() {
  const std::vector<testing::NormCase> cases = testing::published_cases();
  const auto found =
      std::find_if(cases.begin(), cases.end(), [](const auto& c) { return is_case(c, treacherous_case); });
  if (found == cases.end())
    throw std::runtime_error(std::string("The published cases have no row ") + treacherous_case + ".");
  return *found;
}

Accuracy accuracy(CopyLauncher copy, const testing::NormCase& input) {
  const auto count = static_cast<std::int64_t>(input.x.size());
  const DeviceBuffer<float> x("x", input.x);
  DeviceBuffer<float> y("y", count);
  copy({x.data(), y.data(), count}, nullptr);
  y.check_guards();
  const std::vector<float> got = y.download();
  const auto same_bits = [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  };
  if (std::equal(got.begin(), got.end(), input.x.begin(), same_bits)) return {input.name, exact_digits, 0};
  return {input.name, 0, std::numeric_limits<double>::infinity()};
}

Accuracy accuracy(const Stage& stage, const testing::NormCase& input) {
  if (const auto* copy = std::get_if<CopyLauncher>(&stage.launcher)) return accuracy(*copy, input);
  if (const auto* backward = std::get_if<NormBackwardLauncher>(&stage.launcher)) {
    const testing::BackwardVerdict verdict = testing::judge_backward(
        *backward, testing::make_backward_case(backward->norm(), input, seed), stage.backward_summation);
    return {input.name, verdict.digits, verdict.ratio()};
  }
  const testing::NormVerdict verdict =
      testing::judge(std::get<NormLauncher>(stage.launcher), input, stage.summation(input.cols));
  return {input.name, verdict.digits, verdict.ratio()};
}

/// What any kernel for the stage's task must move: each input once, each output once.
std::uint64_t bytes_minimum(const Stage& stage, std::int64_t rows, std::int64_t cols) {
  std::int64_t matrices = 2, vectors_of_cols = 0, vectors_of_rows = 0;  // a copy
  if (const auto* norm = std::get_if<NormLauncher>(&stage.launcher)) {
    // gamma and rstd, and for LayerNorm beta and mean as well
    vectors_of_cols = vectors_of_rows = norm->norm() == Norm::rms_norm ? 1 : 2;
  } else if (const auto* backward = std::get_if<NormBackwardLauncher>(&stage.launcher)) {
    matrices = 3;
    // gamma, dgamma and rstd, and for LayerNorm dbeta and mean as well
    vectors_of_rows = backward->norm() == Norm::rms_norm ? 1 : 2;
    vectors_of_cols = vectors_of_rows + 1;
  }
  return static_cast<std::uint64_t>(matrices * rows * cols + vectors_of_cols * cols + vectors_of_rows * rows) *
         sizeof(float);
}

}  // namespace

bool Rung::passes() const {
  const auto within = [](const Accuracy& accuracy) { return accuracy.error_over_bound <= 1; };
  return findings.empty() && within(centred) && within(treacherous) &&
         std::all_of(published.begin(), published.end(), within);
}

Rung measure(const Stage& stage, std::int64_t rows, std::int64_t cols) {
  Rung rung;
  rung.chapter = stage.chapter;
  rung.kernel = stage.kernel;
  rung.bytes_minimum = bytes_minimum(stage, rows, cols);
  const simt::FindingScope finding_scope;
  {
    const simt::CountScope counts;
    rung.centred = accuracy(stage, testing::make_case(rows, cols, testing::Data::centred, seed));
    const simt::LaunchCounts& total = counts.total();
    const simt::AccessCounts x_loads = total.buffer("x").loads;
    rung.passes_over_x = static_cast<double>(x_loads.bytes) / static_cast<double>(rows * cols * 4);
    rung.load_requests = total.global_loads().requests;
    rung.request_bytes = static_cast<double>(x_loads.bytes) / static_cast<double>(x_loads.requests);
    rung.request_sectors = static_cast<double>(x_loads.sectors) / static_cast<double>(x_loads.requests);
    rung.bytes_requested = total.bytes_requested();
    rung.bytes_touched = total.bytes_touched();
    const auto touched = [&](const char* buffer) {
      const simt::BufferCounts of = total.buffer(buffer);
      return of.bytes_touched_by_loads + of.bytes_touched_by_stores;
    };
    rung.matrices_touched = static_cast<double>(touched("x") + touched("y") + touched("dy") + touched("dx")) /
                            static_cast<double>(rows * cols * 4);
    rung.workspace_bytes = touched("workspace");
    rung.barriers = total.barriers;
    rung.shuffles = total.shuffles;
  }
  rung.treacherous = accuracy(stage, treacherous_row());
  std::vector<testing::NormCase> published = testing::published_cases();
  const auto* norm = std::get_if<NormLauncher>(&stage.launcher);
  if (norm != nullptr && norm->norm() == Norm::layer_norm) {  // a copy and RMSNorm can be judged on every row
    published = testing::judgeable(published, stage.summation).judged;
  }
  for (const testing::NormCase& input : published) rung.published.push_back(accuracy(stage, input));
  for (const simt::Finding& finding : finding_scope.findings()) rung.findings.push_back(finding.text());
  return rung;
}

void add_speeds(std::vector<Rung>& ladder, const Measurements& results) {
  for (Rung& rung : ladder) {
    std::int64_t largest = 0;
    for (const Measurement& point : results.points) {
      if (point.kernel != rung.kernel || point.cache != "cold" || (point.cols != 4096 && point.count == 0)) continue;
      if (point.elements() <= largest) continue;
      largest = point.elements();
      rung.gpu = Speed{point.gigabytes_per_second, point.of_copy};
    }
  }
}

std::string ladder_json(const std::vector<Rung>& ladder, std::int64_t rows, std::int64_t cols) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const Rung& rung : ladder) {
    nlohmann::ordered_json published = nlohmann::ordered_json::array();
    for (const Accuracy& row : rung.published) {
      published.push_back({{"rows", row.rows}, {"digits", row.digits}, {"error_over_bound", row.error_over_bound}});
    }
    nlohmann::ordered_json stage = {
        {"chapter", rung.chapter},
        {"kernel", rung.kernel},
        {"passes_over_x", rung.passes_over_x},
        {"load_requests", rung.load_requests},
        {"request_bytes", rung.request_bytes},
        {"request_sectors", rung.request_sectors},
        {"bytes_requested", rung.bytes_requested},
        {"bytes_touched", rung.bytes_touched},
        {"bytes_minimum", rung.bytes_minimum},
        {"matrices_touched", rung.matrices_touched},
        {"workspace_bytes", rung.workspace_bytes},
        {"barriers", rung.barriers},
        {"shuffles", rung.shuffles},
        {"digits", {{"centred", rung.centred.digits}, {"treacherous", rung.treacherous.digits}}},
        {"error_over_bound",
         {{"centred", rung.centred.error_over_bound}, {"treacherous", rung.treacherous.error_over_bound}}},
        {"published", published},
        {"verdict", rung.passes() ? "passes" : "fails"},
        {"findings", rung.findings.size()}};
    if (rung.gpu)
      stage["gpu"] = {{"gigabytes_per_second", rung.gpu->gigabytes_per_second},
                      {"of_copy", rung.gpu->fraction_of_copy}};
    stages.push_back(stage);
  }
  // An infinite error/bound, where a kernel gave NaN, becomes null: JSON has no infinity.
  return nlohmann::ordered_json{{"backend", "simt"}, {"rows", rows}, {"cols", cols}, {"stages", stages}}.dump(2) + "\n";
}

namespace {

std::string digits_text(const Accuracy& accuracy) {
  return accuracy.digits >= exact_digits ? "exact" : fmt::format("{:.1f}", accuracy.digits);
}

/// "three_pass::layer_norm" -> "layer_norm": the table's headings name the chapter.
std::string without_namespace(const std::string& kernel) { return kernel.substr(kernel.rfind(':') + 1); }

std::string megabytes(std::uint64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e6); }

std::string accuracy_lines(const Rung& rung) {
  std::string text = fmt::format("\n{}\n  {:<42} {:>6} {:>12}\n", rung.kernel, "rows", "digits", "error/bound");
  std::vector<Accuracy> all = rung.published;
  all.insert(all.begin(), rung.centred);
  for (const Accuracy& row : all) {
    text += fmt::format("  {:<42} {:>6} {:>12.3f}\n", row.rows, digits_text(row), row.error_over_bound);
  }
  return text;
}

/// Where the kernels that fail are wrong, a line for each; empty if all are right.
std::string failures_text(const std::vector<Rung>& ladder) {
  std::string lines;
  for (const Rung& rung : ladder) {
    const auto count = [&](bool (*kind)(const Accuracy&)) {
      return std::count_if(rung.published.begin(), rung.published.end(), kind);
    };
    const auto wrong = count([](const Accuracy& rows) { return !(rows.error_over_bound <= 1); });
    const auto nan = count([](const Accuracy& rows) { return std::isinf(rows.error_over_bound); });
    const bool wrong_on_easy_rows = !(rung.centred.error_over_bound <= 1);
    if (wrong == 0 && !wrong_on_easy_rows) continue;
    lines += fmt::format("  {:<38}{} on {} of {} rows of public bug reports", rung.kernel,
                         wrong_on_easy_rows ? "on the easy rows, and" : "", wrong, rung.published.size());
    if (nan > 0) lines += fmt::format(", with NaN on {}", nan);
    lines += "\n";
  }
  return lines.empty() ? "" : "\nOutside the error bound (./learn tour -v shows by how much):\n" + lines;
}

/// How often the backwards go through memory: what the columns above hide behind the workspace.
std::string matrices_text(const std::vector<Rung>& ladder) {
  std::string lines;
  for (const Rung& rung : ladder) {
    if (rung.matrices_touched < 2.5) continue;  // a forward or a copy: one in, one out
    lines +=
        fmt::format("  {:<38}{:>6.2f}{:>12}\n", rung.kernel, rung.matrices_touched, megabytes(rung.workspace_bytes));
  }
  if (lines.empty()) return "";
  return fmt::format(
      "\nMatrices of the size of x that a backward touches: x, dy and dx make 3; and megabytes of workspace:\n{}",
      lines);
}

}  // namespace

std::string ladder_text(const std::vector<Rung>& ladder, std::int64_t rows, std::int64_t cols, bool verbose) {
  std::string text =
      fmt::format("Every kernel of the course on the same {} rows of {} floats, run by the CPU executor.\n"
                  "The counts are a model of what a GPU would be asked for; nothing here is a time.\n\n"
                  "{:<27}{:>12}{:>8}{:>9}{:>14}{:>18}\n"
                  "{:<27}{:>6}{:>6}{:>8}{:>9}{:>6}{:>8}{:>7}{:>8}{:>6}  {}\n",
                  rows, cols, "", "right digits", "passes", "load", "a load of x", "megabytes", "kernel", "easy",
                  "hard", "over x", "requests", "bytes", "sectors", "asked", "touched", "least", "verdict");
  std::string chapter;
  for (const Rung& rung : ladder) {
    if (rung.chapter != chapter) text += rung.chapter + "\n";
    chapter = rung.chapter;
    text += fmt::format("  {:<25}{:>6}{:>6}{:>8.2f}{:>9}{:>6.0f}{:>8.1f}{:>7}{:>8}{:>6}  {}\n",
                        without_namespace(rung.kernel), digits_text(rung.centred), digits_text(rung.treacherous),
                        rung.passes_over_x, rung.load_requests, rung.request_bytes, rung.request_sectors,
                        megabytes(rung.bytes_requested), megabytes(rung.bytes_touched), megabytes(rung.bytes_minimum),
                        rung.passes() ? "passes" : "FAILS");
  }
  text += fmt::format(
      "\n"
      "  easy      correct decimal digits of y on rows whose mean is about 0\n"
      "  hard      the same on the row of a public bug report ({}): 16 values near 1449\n"
      "  passes    how often the kernel asks for each element of x, as counted\n"
      "  requests  load instructions, of γ and β too, one for a warp of 32 threads\n"
      "  bytes     what one load of x asks for: 128 where each thread loads 4 bytes, 512 where it loads 16\n"
      "  sectors   of 32 bytes that it touches; more of them than bytes/32 is memory fetched and not used\n"
      "  asked     what all loads and stores ask for\n"
      "  touched   distinct 32-byte sectors among them: what even a perfect cache must move\n"
      "  least     what no kernel for this task can go below: x in once, y out once, the vectors once\n"
      "  verdict   every value within its error bound, here and on all published rows; no finding\n",
      treacherous_case);
  text += matrices_text(ladder);
  text += failures_text(ladder);
  for (const Rung& rung : ladder) {
    for (const std::string& finding : rung.findings) text += fmt::format("\n{}: {}\n", rung.kernel, finding);
    if (verbose) text += accuracy_lines(rung);
  }
  return text;
}

std::string speed_text(const std::vector<Rung>& ladder, const std::string& card) {
  std::string lines;
  for (const Rung& rung : ladder) {
    if (!rung.gpu) continue;
    lines += fmt::format("  {:<44}{:>8.0f}{:>10.2f}\n", rung.kernel, rung.gpu->gigabytes_per_second,
                         rung.gpu->fraction_of_copy);
  }
  if (lines.empty()) return "";
  return fmt::format("Measured on this machine's {}, cold L2, rows of 4096 floats\n  {:<44}{:>8}{:>10}\n{}\n"
                     "  GB/s      the least bytes of the task over the median time by device events\n"
                     "  of copy   that rate over the rate of a plain copy, measured in the same run\n",
                     card, "kernel", "GB/s", "of copy", lines);
}

}  // namespace learn
