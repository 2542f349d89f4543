#include <learn/exercise_program.h>

#include <fmt/format.h>
#include <learn/marks.h>
#include <learn/process.h>

#include <algorithm>
#include <regex>

namespace learn {
namespace {

/// common/legal_cuda/check.sh returns it where it cannot check.
constexpr int gate_has_no_clang = 77;

bool is_diagnostic(const std::string& line) {
  static const std::regex diagnostic(R"(^[^ ]+:\d+:\d+: (fatal )?(error|warning).*)");
  return std::regex_match(line, diagnostic);
}

bool is_error(const std::string& line) {
  return line.find(": error: ") != std::string::npos || line.find(": fatal error: ") != std::string::npos;
}

/// The linker's line about a function that is declared and called, and that nothing defines.
bool is_undefined(const std::string& line) { return line.find(": undefined reference to ") != std::string::npos; }

std::string indented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (line.empty() ? "" : "  ") + line + "\n";
  return text;
}

}  // namespace

std::vector<std::string> first_error(const std::vector<std::string>& lines, const std::string& file) {
  auto start = std::find_if(lines.begin(), lines.end(),
                            [&](const std::string& line) { return line.starts_with(file) && is_error(line); });
  if (start == lines.end()) {
    start = std::find_if(lines.begin(), lines.end(), is_undefined);
    if (start != lines.end()) return {*start};
  }
  if (start == lines.end()) start = std::find_if(lines.begin(), lines.end(), is_error);
  if (start == lines.end()) return {lines.begin(), lines.end()};
  const auto is_end = [](const std::string& line) { return is_diagnostic(line) || line.starts_with("ninja:"); };
  auto end = std::find_if(start + 1, lines.end(), is_end);
  return {start, std::min(end, start + 6)};
}

ExerciseProgram build_exercise(const Place& place, const Exercise& exercise, bool pristine) {
  if (exercise.reading) throw UsageError(reading_note(exercise));
  const std::string file = exercise.file.string();
  const std::string target = exercise.target + (pristine ? "_stub" : "_exercise");
  if (!std::filesystem::exists(place.root / exercise.file)) {
    throw UsageError(
        fmt::format("The file {} is missing. ./learn sync --exercises writes every stub afresh, over what stands in "
                    "exercises/ now; git restore {} brings this one back.",
                    file, file));
  }

  ExerciseProgram program{place.build / "chapters" / target, false, ""};
  const Finished build = run({"cmake", "--build", place.build.string(), "--target", target});
  if (build.exit_code != 0) {
    const std::vector<std::string> lines = lines_of(with_short_paths(build.output, place));
    const auto errors = std::count_if(lines.begin(), lines.end(), is_error);
    const std::vector<std::string> shown = first_error(lines, file);
    const bool undefined = is_undefined(shown.front());
    program.problem =
        fmt::format("{}\nYOUR CODE does not {}{}.\n"
                    "To see all that the compiler says: cmake --build --preset simt --target {}\n",
                    indented(shown), undefined ? "link: it calls a function that is defined nowhere here" : "compile",
                    errors > 1 ? fmt::format(": this is the first of {} errors", errors) : "", target);
    return program;
  }

  const std::string source =
      pristine ? (place.build / "stubs" / exercise.file.lexically_relative("exercises")).string() : file;
  const Finished gate = run({"common/legal_cuda/check.sh", source});
  program.legality_checked = gate.exit_code != gate_has_no_clang;
  if (program.legality_checked && gate.exit_code != 0) {
    program.problem = fmt::format("{}\nYOUR CODE is not legal CUDA, so it was not run. Next: {}\n",
                                  indented(lines_of(with_short_paths(gate.output, place))), next_hint(exercise));
  }
  return program;
}

std::vector<std::string> test_command(const ExerciseProgram& program, const std::vector<std::string>& settings) {
  std::vector<std::string> command{"env"};
  command.insert(command.end(), settings.begin(), settings.end());
  command.insert(command.end(), {"timeout", "--kill-after=5", std::to_string(test_limit_seconds),
                                 program.program.string(), "--no-colors"});
  return command;
}

std::string next_hint(const Exercise& exercise) {
  return fmt::format("read the task and its hints in {}.", (exercise.file.parent_path() / "README.md").string());
}

}  // namespace learn
