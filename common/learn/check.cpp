#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/course.h>
#include <learn/marks.h>
#include <learn/process.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <regex>

namespace learn {
namespace {

/// Seconds after which a test counts as one that does not end; the tests of exercises take a few seconds.
constexpr int limit_seconds = 60;
/// common/legal_cuda/check.sh returns it where it cannot check.
constexpr int gate_has_no_clang = 77;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

bool is_diagnostic(const std::string& line) {
  static const std::regex diagnostic(R"(^[^ ]+:\d+:\d+: (fatal )?(error|warning).*)");
  return std::regex_match(line, diagnostic);
}

bool is_error(const std::string& line) {
  return line.find(": error: ") != std::string::npos || line.find(": fatal error: ") != std::string::npos;
}

/// The compiler's first error in this file (else its first error at all), with the lines that belong to it.
std::vector<std::string> first_error(const std::vector<std::string>& lines, const std::string& file) {
  auto start = std::find_if(lines.begin(), lines.end(),
                            [&](const std::string& line) { return line.starts_with(file) && is_error(line); });
  if (start == lines.end()) start = std::find_if(lines.begin(), lines.end(), is_error);
  if (start == lines.end()) return {lines.begin(), lines.end()};
  const auto is_end = [](const std::string& line) { return is_diagnostic(line) || line.starts_with("ninja:"); };
  auto end = std::find_if(start + 1, lines.end(), is_end);
  return {start, std::min(end, start + 6)};
}

/// doctest's report in parts: each failing test case with its lines, without doctest's own headings.
struct Report {
  std::vector<std::vector<std::string>> failures;
  std::string counts;  // "3 of 5 tests failed"; empty if the program did not reach its end
};

Report read_report(const std::string& output) {
  static const std::regex summary(R"(^\[doctest\] test cases: +(\d+) \| +(\d+) passed \| +(\d+) failed.*)");
  Report report;
  std::vector<std::string> part;
  const auto end_part = [&] {
    while (!part.empty() && part.back().empty()) part.pop_back();
    if (!part.empty()) report.failures.push_back(part);
    part.clear();
  };
  for (const std::string& line : lines_of(output)) {
    std::smatch found;
    if (std::regex_match(line, found, summary)) {
      report.counts = fmt::format("{} of {} tests failed", found[3].str(), found[1].str());
    } else if (line.starts_with("=====")) {
      end_part();
    } else if (!line.starts_with("[doctest]") && !(part.empty() && line.empty())) {
      part.push_back(line);
    }
  }
  end_part();
  return report;
}

void print_indented(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) fmt::print("{}{}\n", line.empty() ? "" : "  ", line);
}

}  // namespace

std::string with_short_paths(std::string text, const Place& place) {
  replace_all(text, (place.build / "stubs/").string(), "exercises/");
  replace_all(text, place.root.string() + "/", "");
  replace_all(text, place.build.lexically_relative(place.root).string() + "/stubs/", "exercises/");
  return text;
}

ExitCode check(const Place& place, const CheckOptions& options) {
  const Exercise exercise = find_exercise(chapters(place.root), options.exercise);
  const std::string file = exercise.file.string();
  const std::string target = exercise.target + (options.pristine ? "_stub" : "_exercise");
  const std::string next_hint =
      fmt::format("read the task and its hints in {}.", (exercise.file.parent_path() / "README.md").string());
  fmt::print("Exercise {}: {}\nYOUR CODE: {}\n\n", exercise.id, exercise.title, file);
  if (!std::filesystem::exists(place.root / exercise.file)) {
    throw UsageError(
        fmt::format("The file {} is missing. ./learn sync --exercises writes every stub afresh, over what stands in "
                    "exercises/ now; git restore {} brings this one back.",
                    file, file));
  }
  std::fflush(stdout);

  const Finished build = run({"cmake", "--build", place.build.string(), "--target", target});
  if (build.exit_code != 0) {
    const std::vector<std::string> lines = lines_of(with_short_paths(build.output, place));
    const auto errors = std::count_if(lines.begin(), lines.end(), is_error);
    print_indented(first_error(lines, file));
    fmt::print("\nYOUR CODE does not compile{}.\n",
               errors > 1 ? fmt::format(": this is the first of {} errors", errors) : "");
    fmt::print("To see all that the compiler says: cmake --build --preset simt --target {}\n", target);
    return failure;
  }

  const std::string source =
      options.pristine ? (place.build / "stubs" / exercise.file.lexically_relative("exercises")).string() : file;
  const Finished gate = run({"common/legal_cuda/check.sh", source});
  const bool gate_ran = gate.exit_code != gate_has_no_clang;
  if (gate_ran && gate.exit_code != 0) {
    print_indented(lines_of(with_short_paths(gate.output, place)));
    fmt::print("\nYOUR CODE is not legal CUDA, so it was not run. Next: {}\n", next_hint);
    return failure;
  }

  const std::filesystem::path program = place.build / "chapters" / target;
  const Finished tested =
      run({"timeout", "--kill-after=5", std::to_string(limit_seconds), program.string(), "--no-colors"});
  std::string words = with_short_paths(tested.output, place);
  if (options.pristine) replace_all(words, "STUB", "YOUR CODE");  // as the reader sees it, who starts from it
  const Report report = read_report(words);
  if (!gate_ran && !options.pristine) {
    fmt::print("clang++ is not installed, so whether this is legal CUDA was not checked: apt install clang.\n");
  }
  if (tested.exit_code == 0) {
    fmt::print("YOUR CODE passes: right values, and no finding of the executor's checks.\n");
    fmt::print("Next: compare yours with {}, or pick another exercise with ./learn list.\n",
               exercise.solution.string());
    return success;
  }

  const std::size_t shown = options.verbose ? report.failures.size() : std::min<std::size_t>(1, report.failures.size());
  for (std::size_t i = 0; i < shown; ++i) {
    print_indented(report.failures[i]);
    fmt::print("\n");
  }
  if (tested.exit_code == 124 || tested.exit_code == 137) {
    fmt::print("YOUR CODE does not end: its test was stopped after {} s. Look for a loop whose condition stays true.\n",
               limit_seconds);
  } else if (tested.exit_code > 128) {
    fmt::print("YOUR CODE crashed its test: {}.\n", strsignal(tested.exit_code - 128));
  } else {
    fmt::print("YOUR CODE does not pass yet{}.\n", report.counts.empty() ? "" : ": " + report.counts);
  }
  if (shown < report.failures.size()) {
    fmt::print("The first failure is shown; ./learn check {} -v shows all.\n", exercise.id);
  }
  fmt::print("Next: {}\n", next_hint);
  return failure;
}

}  // namespace learn
