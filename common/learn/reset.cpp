#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/course.h>
#include <learn/files.h>
#include <learn/hints.h>
#include <learn/marks.h>
#include <learn/progress.h>
#include <learn/text.h>

#include <iostream>

namespace learn {
namespace {

namespace fs = std::filesystem;

/// Whether the reader agrees: --yes, or a line on standard input that begins with y. No input is no yes.
bool agrees(const std::string& question, bool yes) {
  if (yes) return true;
  fmt::print("{} [y/N] ", question);
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  fmt::print("\n");
  return answer.starts_with('y') || answer.starts_with('Y');
}

/// Where the content of the file is kept: FILE.bak, or FILE.bak2 and so on where another content is kept there already.
fs::path kept_copy(const fs::path& file, const std::string& text) {
  for (int number = 1;; ++number) {
    fs::path copy = file.string() + (number == 1 ? ".bak" : fmt::format(".bak{}", number));
    if (!fs::exists(copy) || read_text(copy) == text) return copy;
  }
}

/// Puts text into the reader's file, which is kept under another name. Each step leaves a whole file behind.
ExitCode replace(const Place& place, const Exercise& exercise, const std::string& what, const std::string& text,
                 bool yes) {
  const fs::path file = place.root / exercise.file;
  if (fs::exists(file)) {
    std::string old = read_text(file);
    if (old == text) {
      fmt::print("{} is {} already.\n", exercise.file.string(), what);
      return success;
    }
    const auto short_name = [&](const fs::path& copy) { return copy.lexically_relative(place.root).string(); };
    if (!agrees(fmt::format("Put {} into {}? What it holds is kept as {}.", what, exercise.file.string(),
                            short_name(kept_copy(file, old))),
                yes)) {
      fmt::print("Nothing was changed.\n");
      return failure;
    }
    old = read_text(file);  // the reader may have saved it meanwhile
    const fs::path copy = kept_copy(file, old);
    try {
      write_text(copy, old);
    } catch (const std::runtime_error& error) {
      throw MachineError(fmt::format("{} Nothing was changed.", error.what()));
    }
    fmt::print("Kept your file as {}.\n", short_name(copy));
  }
  try {
    write_text(file, text);
  } catch (const std::runtime_error& error) {
    throw MachineError(error.what());
  }
  fmt::print("{} is {} now.\n", exercise.file.string(), what);
  std::fflush(stdout);
  return success;
}

}  // namespace

ExitCode reset(const Place& place, const ResetOptions& options) {
  const Exercise exercise = find_exercise(chapters(place.root), options.exercise);
  if (exercise.reading) throw UsageError(reading_note(exercise));
  const std::string untouched = stub(read_text(place.root / exercise.solution), exercise.solution.string());
  const ExitCode code = replace(place, exercise, "the untouched stub", untouched, options.yes);
  if (code != success) return code;
  change_progress(place.root, exercise.id, [](Progress& progress) { progress.passed.reset(); });
  return success;
}

ExitCode solve(const Place& place, const SolveOptions& options) {
  const Exercise exercise = find_exercise(chapters(place.root), options.exercise);
  const std::string readme = (exercise.solution.parent_path() / "README.md").string();
  const std::string solution = read_text(place.root / exercise.solution);
  const auto seen = [&](bool is_passed) {
    change_progress(place.root, exercise.id, [&](Progress& progress) {
      if (!progress.solution) progress.solution = now();
      if (is_passed && !progress.passed) progress.passed = now();
    });
    return success;
  };
  if (exercise.reading && !options.show) throw UsageError(reading_note(exercise));
  if (!options.show) {
    const ExitCode code = replace(place, exercise, "the reference", solution, options.yes);
    if (code != success) return code;
    fmt::print("{} says why it is as it is.\n", readme);
    return seen(false);
  }
  if (!agrees(fmt::format("Show the {} of {}, {}?", exercise.reading ? "answers" : "reference", exercise.id,
                          exercise.title),
              options.yes)) {
    fmt::print("Nothing was shown.\n");
    return failure;
  }
  fmt::print("{}", exercise.reading ? section_of(solution, exercise.id) : solution);
  if (!exercise.reading) fmt::print("\n{} says why it is as it is.\n", readme);
  std::fflush(stdout);
  return seen(exercise.reading);  // whoever has compared the answers is through with it
}

}  // namespace learn
