#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/course.h>
#include <learn/exercise_program.h>
#include <learn/marks.h>
#include <learn/process.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <regex>

namespace learn {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// doctest's report in parts, without doctest's own headings.
struct Report {
  std::vector<std::vector<std::string>> failures;  // each failing test case with its lines
  std::vector<std::string> printed;  // what the code under test printed by itself, before the first of them
  std::string counts;                // "3 of 5 tests failed"; empty if the program did not reach its end
};

Report read_report(const std::string& output) {
  static const std::regex summary(R"(^\[doctest\] test cases: +(\d+) \| +(\d+) passed \| +(\d+) failed.*)");
  Report report;
  std::vector<std::string> part;
  const auto end_part = [&] {
    while (!part.empty() && part.back().empty()) part.pop_back();
    const bool names_a_test =
        std::any_of(part.begin(), part.end(), [](const std::string& line) { return line.starts_with("TEST CASE:"); });
    if (names_a_test) {
      report.failures.push_back(part);
    } else {
      report.printed.insert(report.printed.end(), part.begin(), part.end());
    }
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

/// printf is how many people look into a kernel.
void print_what_it_printed(const Report& report) {
  constexpr std::size_t shown = 40;
  if (report.printed.empty()) return;
  fmt::print("YOUR CODE printed:\n");
  print_indented({report.printed.begin(),
                  report.printed.begin() + static_cast<std::ptrdiff_t>(std::min(report.printed.size(), shown))});
  if (report.printed.size() > shown) fmt::print("  … and {} more lines\n", report.printed.size() - shown);
  fmt::print("\n");
}

/// 0 is the fixed order of lanes and warps.
Finished run_test(const ExerciseProgram& program, std::uint64_t seed) {
  return run(test_command(program, {fmt::format("SIMT_SEED={}", seed)}));
}

/// For behind a verdict: " in the order of seed 7"; nothing for the fixed order.
std::string order_text(std::uint64_t seed) {
  return seed == 0 ? "" : fmt::format(" with lanes and warps in the order of seed {}", seed);
}

}  // namespace

std::string with_short_paths(std::string text, const Place& place) {
  replace_all(text, (place.build / "stubs/").string(), "exercises/");
  replace_all(text, place.root.string() + "/", "");
  replace_all(text, place.root.lexically_relative(place.build).string() + "/", "");  // as ccache names it: "../../"
  replace_all(text, place.build.lexically_relative(place.root).string() + "/stubs/", "exercises/");
  return text;
}

ExitCode check(const Place& place, const CheckOptions& options) {
  const Exercise exercise = find_exercise(chapters(place.root), options.exercise);
  if (exercise.reading) {
    fmt::print("Exercise {}: {}\n\n{}\n", exercise.id, exercise.title, reading_note(exercise));
    return success;
  }
  fmt::print("Exercise {}: {}\nYOUR CODE: {}\n\n", exercise.id, exercise.title, exercise.file.string());
  std::fflush(stdout);

  const ExerciseProgram program = build_exercise(place, exercise, options.pristine);
  if (!program.problem.empty()) {
    fmt::print("{}", program.problem);
    return failure;
  }
  if (!program.legality_checked && !options.pristine) {
    fmt::print("clang++ is not installed, so whether this is legal CUDA was not checked: apt install clang.\n");
  }

  // The order that was asked for, by default the fixed one; then seeds 1, 2, … as many as were asked for.
  std::uint64_t seed = options.seed;
  Finished tested = run_test(program, seed);
  while (tested.exit_code == 0 && seed < options.seeds) tested = run_test(program, ++seed);
  std::string words = with_short_paths(tested.output, place);
  if (options.pristine) replace_all(words, "STUB", "YOUR CODE");  // as the reader sees it, who starts from it
  const Report report = read_report(words);
  print_what_it_printed(report);
  if (tested.exit_code == 0) {
    fmt::print("YOUR CODE passes{}: right values, and no finding of the executor's checks.\n",
               options.seeds != 0 ? fmt::format(" in the fixed order of lanes and warps and in {} other{}",
                                                options.seeds, options.seeds == 1 ? "" : "s")
                                  : order_text(seed));
    fmt::print("Next: compare yours with {}, or pick another exercise with ./learn list.\n",
               exercise.solution.string());
    return success;
  }

  const bool stopped =
      tested.exit_code == 124 || tested.exit_code == 137;  // doctest's words on it would be "CRASHED: SIGTERM"
  const std::size_t shown = stopped           ? 0
                            : options.verbose ? report.failures.size()
                                              : std::min<std::size_t>(1, report.failures.size());
  for (std::size_t i = 0; i < shown; ++i) {
    print_indented(report.failures[i]);
    fmt::print("\n");
  }
  if (stopped) {
    fmt::print(
        "YOUR CODE does not end{}: its test was stopped after {} s. Look for a loop whose condition stays true.\n",
        order_text(seed), test_limit_seconds);
  } else if (tested.exit_code > 128) {
    fmt::print("YOUR CODE crashed its test{}: {}.\n", order_text(seed), strsignal(tested.exit_code - 128));
  } else {
    fmt::print("YOUR CODE does not pass yet{}{}.\n", order_text(seed),
               report.counts.empty() ? "" : ": " + report.counts);
  }
  if (seed != options.seed) {
    fmt::print("It passes in every order before this one: look for a missing barrier. To see this failure again: "
               "./learn check {} --seed {}\n",
               exercise.id, seed);
  }
  if (!stopped && shown < report.failures.size()) {
    fmt::print("The first failure is shown; ./learn check {}{} -v shows all.\n", exercise.id,
               seed == 0 ? "" : fmt::format(" --seed {}", seed));
  }
  fmt::print("Next: {}\n", next_hint(exercise));
  return failure;
}

}  // namespace learn
