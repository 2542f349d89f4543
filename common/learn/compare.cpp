#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/course.h>
#include <learn/exercise_program.h>
#include <learn/files.h>
#include <learn/gpu.h>
#include <learn/marks.h>
#include <learn/process.h>
#include <learn/text.h>
#include <learn/verdict.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>

namespace learn {
namespace {

using Json = nlohmann::ordered_json;

/// Lines that hold code, and not only comments.
int lines_of_code(const std::string& text) {
  // Strings are left out first: they may hold what looks like a comment.
  static const std::regex string_literal(R"("(?:[^"\\\n]|\\.)*")");
  static const std::regex comment(R"(//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)");
  const std::string code = std::regex_replace(std::regex_replace(text, string_literal, "s"), comment, "");
  int count = 0;
  for (const std::string& line : lines_of(code)) count += line.find_first_not_of(" \t\r") != std::string::npos ? 1 : 0;
  return count;
}

/// What a program of the exercise counts on its comparison workload.
Json counted(const ExerciseProgram& program) {
  const Finished finished = run(test_command(program, {"SIMT_SEED=0"}, {"--test-suite=comparison", "--no-skip"}));
  const std::string mark = "comparison: ";
  for (const std::string& line : lines_of(finished.output)) {
    if (line.starts_with(mark)) return Json::parse(line.substr(mark.size()));
  }
  throw std::runtime_error("The program did not say what it counts:\n" + finished.output);
}

/// The reference, built in the same folder.
ExerciseProgram solution_program(const Place& place, const Exercise& exercise) {
  const std::string target = exercise.target + "_solution";
  const Finished built = build(place, {target});
  if (built.exit_code != 0) throw std::runtime_error("The reference could not be built:\n" + built.output);
  return {place.build / "chapters" / target, true, {}};
}

struct Row {
  const char* key;               // in JSON
  const char* what;              // for a person
  Json yours, reference, floor;  // numbers, or null
};

/// A number as a reader wants it: whole ones whole.
std::string shown(const Json& value) {
  if (value.is_null()) return "–";
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  const double number = value.get<double>();
  return number < 1 ? fmt::format("{:.3f}", number) : fmt::format("{:.1f}", number);
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::vector<Row> rows_of(const Json& yours, const Json& reference) {
  const auto row = [&](const char* what, const char* key) {
    const Json& floor = yours.at("floor");
    return Row{key, what, yours.at(key), reference.at(key), floor.contains(key) ? floor.at(key) : Json()};
  };
  std::vector<Row> rows{row("correct digits", "digits")};
  rows.front().floor = yours.at("digits_best");
  rows.push_back(row("load requests", "load_requests"));
  rows.push_back(row("store requests", "store_requests"));
  rows.push_back(row("sectors of 32 bytes", "sectors"));
  rows.push_back(row("bytes asked for", "bytes_asked"));
  rows.push_back(row("bytes touched", "bytes_touched"));
  rows.push_back(row("barriers", "barriers"));
  rows.push_back(row("shuffles", "shuffles"));
  return rows;
}

std::string table(const std::vector<Row>& rows) {
  std::string text = fmt::format("  {:<24}{:>14}{:>14}{:>14}\n", "", "yours", "reference", "floor");
  for (const Row& row : rows) {
    const auto cell = [&](const Json& value) {
      const bool exact = std::string_view(row.key) == "digits" && value.get<double>() > 15;  // no error at all
      const std::string number = exact ? "exact" : shown(value);
      return std::string(14 - (number == "–" ? 1 : number.size()), ' ') + number;
    };
    text += fmt::format("  {:<24}{}{}{}\n", row.what, cell(row.yours), cell(row.reference), cell(row.floor));
  }
  return text;
}

}  // namespace

ExitCode compare(const Place& place, const CompareOptions& options) {
  const Exercise exercise = find_exercise(chapters(place.root), options.exercise);
  const ExerciseProgram yours = build_exercise(place, exercise, false);
  const Verdict verdict = yours.built ? run_exercise(place, yours, 0) : yours.verdict;
  if (!verdict.passed()) {
    if (options.json) fmt::print("{}\n", json_line(verdict, place.root));
    fmt::print(stderr, "{}{}\nOnly code that passes is compared. Next: ./learn check {}\n",
               heading(exercise, verdict.subject), verdict.sentence, exercise.id);
    return verdict.outcome == Outcome::could_not_build ? bad_machine : failure;
  }
  const std::string code = read_text(place.root / exercise.file), solution = read_text(place.root / exercise.solution);
  if (options.diff) {
    const Finished difference = run({"diff", "-u", "--label", "YOUR CODE", "--label", "REFERENCE",
                                     (place.root / exercise.file).string(), (place.root / exercise.solution).string()});
    fmt::print("{}", difference.exit_code == 0 ? "Yours is the reference, letter by letter.\n" : difference.output);
    return success;
  }

  const Json counts = counted(yours), reference = counted(solution_program(place, exercise));
  std::vector<Row> rows = rows_of(counts, reference);
  rows.push_back({"lines_of_code", "lines of code", lines_of_code(code), lines_of_code(solution), Json()});
  std::string timed;
  if (options.gpu) {
    const GpuCosts mine = gpu_costs(place, exercise, "exercise"), theirs = gpu_costs(place, exercise, "solution");
    rows.push_back({"registers", "registers a thread", or_null(mine.registers), or_null(theirs.registers), Json()});
    rows.push_back(
        {"stack_bytes", "bytes of stack (spills)", or_null(mine.stack_bytes), or_null(theirs.stack_bytes), 0});
    rows.push_back({"milliseconds", "milliseconds", or_null(mine.median_ms), or_null(theirs.median_ms), Json()});
    rows.push_back({"fraction_of_copy", "fraction of a copy", or_null(mine.of_copy), or_null(theirs.of_copy), 1});
    timed = mine.workload.empty() ? "This exercise has no benchmark, so it is not timed.\n"
                                  : fmt::format("Timed on the GPU: {}, median of 20 launches.\n", mine.workload);
  }

  if (options.json) {
    Json all = Json::object();
    for (const Row& row : rows)
      all[row.key] = {{"yours", row.yours}, {"reference", row.reference}, {"floor", row.floor}};
    fmt::print("{}\n", Json{{"exercise", exercise.id}, {"workload", counts.at("workload")}, {"rows", all}}.dump(2));
    return success;
  }
  std::string words = heading(exercise, "YOUR CODE");
  words.pop_back();
  fmt::print("{}REFERENCE: {}\n\nOn {}, as the CPU executor counts:\n\n{}\n", words, exercise.solution.string(),
             counts.at("workload").get<std::string>(), table(rows));
  fmt::print(
      "{}{}\n", timed,
      wrapped("The floor is what every kernel for this task must ask; of the digits it is the most that floats can "
              "hold. A dash: nothing can be said."));
  fmt::print("{}\n",
             wrapped(fmt::format("Next: ./learn compare {} --diff shows where the code differs; {} says why the "
                                 "reference is as it is.",
                                 exercise.id, (exercise.solution.parent_path() / "README.md").string()),
                     2));
  return success;
}

}  // namespace learn
