#include <learn/exercise_program.h>

#include <fmt/format.h>
#include <learn/files.h>
#include <learn/marks.h>

#include <algorithm>
#include <chrono>
#include <future>

namespace learn {
namespace {

/// common/legal_cuda/check.sh returns it where it cannot check.
constexpr int gate_has_no_clang = 77;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Why a build failed through no fault of the code that was to be compiled; empty if the compiler has something
/// against the code.
std::string fault_of_the_machine(const std::vector<std::string>& lines, const Place& place) {
  const auto said = [&](const char* words) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(words) != std::string::npos; });
  };
  const std::string folder = place.build.lexically_relative(place.root).string();
  if (said("No space left on device"))
    return "The disk is full, so nothing could be compiled. Make room on it, then run this again.";
  if (said("Read-only file system") || said("Permission denied"))
    return fmt::format("The folder {} cannot be written, so nothing could be compiled.", folder);
  if (said("Killed signal"))
    return "The compiler was killed, most likely because memory ran out. Close something large, then run this again.";
  if (said("ninja: error: ") || said("CMake Error") || said("Error: could not load cache")) {
    return fmt::format(
        "The build folder {0} is damaged. Remove it with rm -r {0}, then run this again: nothing of yours "
        "is in it.",
        folder);
  }
  const bool is_gone_behind_ccache = said("ccache: error: execute_noreturn of ");
  if (is_gone_behind_ccache || (diagnostics_in(lines).empty() && !said(": error: "))) {
    return fmt::format("The compiler could not be run. If it was removed or renamed, remove the build folder with "
                       "rm -r {}, then run this again; ./learn doctor shows what this machine lacks.",
                       folder);
  }
  return "";
}

Finished run_cmake(const Place& place, const std::vector<std::string>& targets) {
  std::vector<std::string> command{"cmake", "--build", place.build.string(), "--target"};
  command.insert(command.end(), targets.begin(), targets.end());
  return run(command);
}

/// Builds the target from what the file holds now. ninja compares times alone, and so it takes a program for up to date
/// where the file was saved while the compiler ran, or was replaced by an older one. Here its text decides.
Finished build_from(const std::filesystem::path& file, const std::string& target, const Place& place) {
  const FolderLock lock(place.build);
  const std::filesystem::path chapters = place.build / "chapters", compiled = chapters / (target + ".cuh");
  const auto text_of = [](const std::filesystem::path& path) { return exists(path) ? read_text(path) : ""; };
  while (true) {
    const std::string text = text_of(file);
    try {
      if (text_of(compiled) != text) std::filesystem::remove_all(chapters / "CMakeFiles" / (target + ".dir"));
      write_text(compiled, text);
    } catch (const std::exception& error) {
      throw MachineError(fmt::format("Nothing could be compiled. {}", error.what()));
    }
    Finished built = run_cmake(place, {target});
    if (text_of(file) == text) return built;
  }
}

void tell_failed_build(Verdict& verdict, const std::string& output, const std::string& target, const Place& place) {
  verdict.build_output = lines_of(with_short_paths(output, place));
  const std::string machine = fault_of_the_machine(verdict.build_output, place);
  if (!machine.empty()) {
    verdict.outcome = Outcome::could_not_build;
    verdict.sentence = machine;
    const std::vector<std::string>& all = verdict.build_output;
    verdict.first_error = {all.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(all.size(), 5)), all.end()};
    verdict.next = "the same command again, once that is mended.";
    return;
  }
  verdict.outcome = Outcome::not_compiled;
  verdict.first_error = first_error(verdict.build_output, verdict.file);
  verdict.diagnostics = diagnostics_in(verdict.build_output);
  const auto errors = std::count_if(verdict.diagnostics.begin(), verdict.diagnostics.end(),
                                    [](const Diagnostic& diagnostic) { return diagnostic.severity == "error"; });
  const bool undefined = verdict.first_error.front().find(": undefined reference to ") != std::string::npos;
  verdict.sentence = fmt::format("{} does not {}{}.", verdict.subject,
                                 undefined ? "link: it calls a function that is defined nowhere here" : "compile",
                                 errors > 1 ? fmt::format(": this is the first of {} errors", errors) : "");
  verdict.next = fmt::format("./learn check {} -v shows all that the compiler says. By hand: cmake --build --preset "
                             "{} --target {}",
                             verdict.exercise, place.build.filename().string(), target);
}

}  // namespace

Finished build(const Place& place, const std::vector<std::string>& targets) {
  const FolderLock lock(place.build);
  return run_cmake(place, targets);
}

ExerciseProgram build_exercise(const Place& place, const Exercise& exercise, bool pristine) {
  if (exercise.reading) throw UsageError(reading_note(exercise));
  const std::string file = exercise.file.string();
  const std::string target = exercise.target + (pristine ? "_stub" : "_exercise");
  if (!std::filesystem::exists(place.root / exercise.file)) {
    throw UsageError(
        fmt::format("The file {} is missing. ./learn reset {} writes its stub afresh.", file, exercise.id));
  }

  ExerciseProgram program{place.build / "chapters" / target, false, {}};
  Verdict& verdict = program.verdict;
  verdict.exercise = exercise.id;
  verdict.title = exercise.title;
  verdict.file = file;
  verdict.subject = pristine ? "STUB" : "YOUR CODE";

  // The stub comes out of the build, so it can be read only afterwards.
  const std::string source =
      pristine ? (place.build / "stubs" / exercise.file.lexically_relative("exercises")).string() : file;
  if (pristine) verdict.stub = source;
  const auto read_as_cuda = [&] { return run({"common/legal_cuda/check.sh", source}); };
  const auto start = std::chrono::steady_clock::now();
  std::future<Finished> gate = std::async(pristine ? std::launch::deferred : std::launch::async, read_as_cuda);
  const Finished built = pristine ? build(place, {target}) : build_from(place.root / exercise.file, target, place);
  if (built.exit_code != 0) {
    tell_failed_build(verdict, built.output, target, place);
    return program;
  }
  const Finished legality = gate.get();
  verdict.build_seconds = seconds_since(start);
  if (legality.exit_code == gate_has_no_clang) {
    // READMEs quote what is said of the stub, which is legal: the same on every machine.
    if (!pristine) {
      verdict.notes.push_back(
          "clang++ is not installed, so whether this is legal CUDA was not checked: apt install clang.");
    }
  } else if (legality.exit_code != 0) {
    verdict.outcome = Outcome::not_legal;
    verdict.sentence = verdict.subject + " is not legal CUDA, so it was not run.";
    verdict.build_output = verdict.first_error = lines_of(with_short_paths(legality.output, place));
    verdict.diagnostics = diagnostics_in(verdict.build_output);
    verdict.next = fmt::format("mend it, then ./learn check {}", exercise.id);
    return program;
  }
  program.built = true;
  return program;
}

std::vector<std::string> test_command(const ExerciseProgram& program, const std::vector<std::string>& settings,
                                      const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"env", fmt::format("SIMT_TIME_LIMIT={}", test_limit_seconds)};
  command.insert(command.end(), settings.begin(), settings.end());
  // timeout is for a program that does not even run the executor's clock; in the foreground, so that Ctrl-C reaches it.
  command.insert(command.end(), {"timeout", "--foreground", "--kill-after=5", std::to_string(test_limit_seconds + 10),
                                 program.program.string(), "--no-colors"});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Verdict run_exercise(const Place& place, const ExerciseProgram& program, std::uint64_t seed) {
  Verdict verdict = program.verdict;
  const OwnFile report(place.build, "report");
  const auto start = std::chrono::steady_clock::now();
  const Finished tested = run(test_command(program, {fmt::format("SIMT_SEED={}", seed)},
                                           {"--reporters=report", "--out=" + report.path().string()}));
  verdict.test_seconds = seconds_since(start);
  read_report(verdict, with_short_paths(report.text(), place), with_short_paths(tested.output, place),
              tested.exit_code);
  return verdict;
}

Verdict judge_exercise(const Place& place, const Exercise& exercise, const CheckOptions& options) {
  const ExerciseProgram program = build_exercise(place, exercise, options.pristine);
  if (!program.built) return program.verdict;

  // The order that was asked for, by default the fixed one; then seeds 1, 2, … as many as were asked for.
  std::uint64_t seed = options.seed;
  Verdict verdict = run_exercise(place, program, seed);
  while (verdict.passed() && seed < options.seeds) verdict = run_exercise(place, program, ++seed);

  const std::string order = options.seeds != 0 && verdict.passed()
                                ? fmt::format(" in the fixed order of lanes and warps and in {} other{}", options.seeds,
                                              options.seeds == 1 ? "" : "s")
                            : seed == 0 ? ""
                                        : fmt::format(" with lanes and warps in the order of seed {}", seed);
  const std::string again = seed == 0 ? "" : fmt::format(" --seed {}", seed);
  if (verdict.passed()) {
    verdict.sentence =
        fmt::format("{} passes{}: right values, and no finding of the executor's checks.", verdict.subject, order);
    verdict.next =
        fmt::format("./learn compare {} sets yours beside the reference; ./learn next goes on.", exercise.id);
    return verdict;
  }
  if (!order.empty()) verdict.notes.push_back(fmt::format("This is{}.", order));
  if (seed != options.seed) {
    verdict.notes.push_back(fmt::format("It passes in every order before this one: look for a missing barrier. To see "
                                        "this failure again: ./learn check {}{}",
                                        exercise.id, again));
  }
  if (!options.verbose && verdict.failed > 1) {
    verdict.notes.push_back(
        fmt::format("The first test that failed is shown; ./learn check {}{} -v shows all.", exercise.id, again));
  }
  verdict.next = fmt::format("./learn hint {}, or read the task again in {}.", exercise.id,
                             (exercise.file.parent_path() / "README.md").string());
  return verdict;
}

}  // namespace learn
