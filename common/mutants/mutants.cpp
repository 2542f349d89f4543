#include "mutants.h"

#include <fmt/format.h>
#include <learn/files.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

namespace mutants {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t least_mutants = 5;  // of an exercise

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// The exercise that a task belongs to: "01_three_pass", "2_block_tree" -> "01.2".
std::string exercise_of(const std::string& chapter, const std::string& task) {
  return chapter.substr(0, 2) + "." + task.substr(0, task.find('_'));
}

/// The text with what is to be replaced replaced.
std::string changed(const std::string& text, const std::string& replace, const std::string& with,
                    const std::string& name) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(replace, at)) != std::string::npos; ++at) ++count;
  if (replace.empty() || count != 1) {
    throw std::runtime_error(fmt::format(
        "The mutant {} no longer applies: its text to be replaced occurs {} times in the solution, and must occur "
        "exactly once. Mend the entry in mutants.json. The text is:\n{}",
        name, count, replace));
  }
  const std::size_t at = text.find(replace);
  return text.substr(0, at) + with + text.substr(at + replace.size());
}

/// The mutants of one exercises/NN_name/mutants.json, in its order.
std::vector<Mutant> mutants_in(const fs::path& file, const fs::path& solutions) {
  const std::string chapter = file.parent_path().filename();
  std::vector<Mutant> mutants;
  try {
    for (const auto& entry : nlohmann::json::parse(learn::read_text(file))) {
      const std::string task = entry.at("task");
      Mutant mutant{.exercise = exercise_of(chapter, task),
                    .name = entry.at("name"),
                    .mistake = entry.at("mistake"),
                    .solution = solutions / chapter / (task + ".cuh"),
                    .text = ""};
      mutant.text = changed(learn::read_text(mutant.solution), entry.at("replace"), entry.at("with"),
                            mutant.exercise + " " + mutant.name);
      mutants.push_back(std::move(mutant));
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(fmt::format("{} cannot be read: {}", file.string(), error.what()));
  }
  return mutants;
}

/// The exercises of a chapter that have a test: "01.1", "01.2".
std::set<std::string> exercises_in(const fs::path& folder) {
  std::set<std::string> exercises;
  for (const fs::path& file : sorted_entries(folder))
    if (file.string().ends_with("_test.cu")) exercises.insert(exercise_of(folder.filename(), file.filename()));
  return exercises;
}

bool is_wanted(const std::string& exercise, const std::vector<std::string>& names) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return exercise == name || exercise.starts_with(name + ".");
         });
}

}  // namespace

std::vector<Mutant> mutants_of(const fs::path& course, const std::vector<std::string>& names) {
  std::vector<Mutant> mutants;
  std::vector<std::string> wanted;
  for (const fs::path& chapter : sorted_entries(course / "exercises")) {
    std::set<std::string> exercises = exercises_in(chapter);
    std::erase_if(exercises, [&](const std::string& exercise) { return !is_wanted(exercise, names); });
    wanted.insert(wanted.end(), exercises.begin(), exercises.end());
    const fs::path file = chapter / "mutants.json";
    if (exercises.empty() || !fs::exists(file)) continue;
    for (Mutant& mutant : mutants_in(file, course / "solutions"))
      if (is_wanted(mutant.exercise, names)) mutants.push_back(std::move(mutant));
  }
  for (const std::string& name : names) {
    if (std::none_of(wanted.begin(), wanted.end(), [&](auto& exercise) { return is_wanted(exercise, {name}); }))
      throw std::runtime_error(
          fmt::format("There is no exercise and no chapter {} with tests; name them as 01.2 or 01.", name));
  }
  for (const std::string& exercise : wanted) {
    const auto count = static_cast<std::size_t>(
        std::count_if(mutants.begin(), mutants.end(), [&](auto& mutant) { return mutant.exercise == exercise; }));
    if (count < least_mutants)
      throw std::runtime_error(fmt::format("The exercise {} has {} mutants and must have at least {}. Add known-wrong "
                                           "variants of its solution to its chapter's mutants.json.",
                                           exercise, count, least_mutants));
  }
  return mutants;
}

std::string first_failure(const std::string& output) {
  const std::string title = "TEST CASE:  ";
  std::istringstream lines(output);
  std::string test_case;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(title)) test_case = line.substr(title.size());
    if (line.find("ERROR: ") != std::string::npos && !test_case.empty()) {
      const std::string subject = "REFERENCE: ";
      return test_case.starts_with(subject) ? test_case.substr(subject.size()) : test_case;
    }
  }
  return "";
}

Verdict judge(const std::vector<rebuild::Test>& tests, const fs::path& build, const Mutant& mutant, int limit_seconds) {
  const auto test =
      std::find_if(tests.begin(), tests.end(), [&](const auto& t) { return t.compiles(mutant.solution); });
  if (test == tests.end()) return {"", "No test of this build folder compiles its solution. Build the course again."};
  rebuild::Test up_to_the_first_failure = *test;
  up_to_the_first_failure.arguments.push_back("--abort-after=1");
  const rebuild::Outcome outcome =
      rebuild::outcome_with(up_to_the_first_failure, build, mutant.solution, mutant.text, limit_seconds);
  switch (outcome.kind) {
    case rebuild::Outcome::not_compiled:
      return {"", "It does not compile, so it says nothing about the test. The compiler says:\n" +
                      outcome.output.substr(0, 2000)};
    case rebuild::Outcome::passed:
      return {"", test->name + " passes with it. Add a test to the exercise that sees this mistake: " + mutant.mistake +
                      "."};
    case rebuild::Outcome::stopped: return {fmt::format("a hang, stopped after {} seconds", limit_seconds), ""};
    case rebuild::Outcome::failed: break;
  }
  const std::string test_case = first_failure(outcome.output);
  if (test_case.empty())
    return {"", test->name + " ended without a word about what is wrong. It said:\n" + outcome.output.substr(0, 2000)};
  const std::string finding = rebuild::first_finding(outcome.output, {"sync", "memory", "init", "race"});
  return {test_case + (finding.empty() ? "" : " (" + finding + ")"), ""};
}

std::string page(const std::vector<Mutant>& mutants, const std::vector<Verdict>& verdicts) {
  std::string page =
      "# Known-wrong kernels, and the tests that reject them\n\n"
      "A test is worth what it rejects. Each line here is the reference solution of an exercise with one mistake put "
      "into "
      "it. The\n"
      "exercise's own test is built against it and must fail, by a wrong value or by a finding of the executor. The "
      "last "
      "column is the\n"
      "test case that fails first; behind it, in brackets, the finding, where it was one.\n\n"
      "The mistakes are in `exercises/*/mutants.json`. `build/simt/common/mutants/mutants` puts them in, one at a "
      "time, and with `--page` it\n"
      "writes this page. `./learn test --long` runs it; `mutants 01.2` tries one exercise alone.\n";
  std::string exercise;
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    if (mutants[i].exercise != exercise) {
      exercise = mutants[i].exercise;
      page += fmt::format("\n## Exercise {}\n\n| mutant | the mistake | rejected by |\n|---|---|---|\n", exercise);
    }
    std::string by = verdicts[i].rejected_by;
    for (std::size_t at = 0; (at = by.find('|', at)) != std::string::npos; at += 2) by.insert(at, "\\");
    page += fmt::format("| `{}` | {} | {} |\n", mutants[i].name, mutants[i].mistake, by);
  }
  return page;
}

}  // namespace mutants
