// mutants [--limit SECONDS] [--json | --page | --check-page [--sample N]] [--file LIST.json] [--course FOLDER]
//         [EXERCISE…]
//
// Puts each known-wrong variant of exercises/*/mutants.json, or of the list that --file names, in the place of its
// solution, builds the exercise's test again and runs it: it must fail, and where the variant has an oracle it should
// say which mistake it looks like. With names, such as 01.2 or 01, only theirs. Neither the sources nor the build
// folder are changed, but that --page writes docs/mutants.md; --check-page expects it to be up to date, with --sample N
// by trying one in N of each exercise's, and all of an exercise that the page judged with other sources.
//
// Prints the matrix, mutant × diagnosis × what kills it, and last how many were killed and diagnosed; with --json the
// same as JSON and nothing else. Exit code: 0 all killed, no diagnosis wrong, nine in ten of those with an oracle
// diagnosed; 1 not so, or a stale page; 2 nothing could be judged.
#include "mutants.h"

#include <fmt/format.h>
#include <learn/files.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using namespace mutants;

namespace {

const fs::path source_folder = LNH_SOURCE_DIR;
const fs::path build_folder = LNH_BINARY_DIR;
const fs::path page_file = source_folder / "docs/mutants.md";

/// The tests of the solutions that mutants change.
std::vector<rebuild::Test> tests_for(const std::vector<Mutant>& mutants) {
  std::vector<rebuild::Test> tests = rebuild::tests_of(build_folder, {"solution"});
  std::erase_if(tests, [&](const rebuild::Test& test) {
    return std::none_of(mutants.begin(), mutants.end(), [&](auto& mutant) { return test.compiles(mutant.solution); });
  });
  return tests;
}

std::vector<Verdict> judge_all(const std::vector<Mutant>& mutants, const std::vector<rebuild::Test>& tests,
                               int limit_seconds, bool prints) {
  auto unchanged = rebuild::on_all_cores(
      tests.size(), [&](std::size_t i) { return rebuild::expect_pass(tests[i], build_folder, limit_seconds); });
  for (auto& passed : unchanged) passed.get();

  auto results = rebuild::on_all_cores(
      mutants.size(), [&](std::size_t i) { return judge(tests, build_folder, mutants[i], limit_seconds); });
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    verdicts.push_back(results[i].get());
    if (!prints) continue;
    fmt::print("{}", matrix_entry(mutants[i], verdicts.back()));
    std::fflush(stdout);
  }
  return verdicts;
}

}  // namespace

int main(int count, char** words) try {
  CLI::App app("Whether the exercises' tests kill each known-wrong variant of their solutions, and name its mistake.");
  std::vector<std::string> names;
  int limit_seconds = 60, one_in = 1;
  bool write_page = false, check_page = false, as_json = false;
  std::string course = source_folder, list;
  app.add_option("EXERCISE", names, "only these exercises or chapters, as 01.2 or 01");
  app.add_option("--limit", limit_seconds, "seconds after which a test counts as one that hangs")
      ->check(CLI::Range(1, 3600));
  CLI::Option* const page_option = app.add_flag("--page", write_page, "write docs/mutants.md");
  app.add_flag("--check-page", check_page, "expect docs/mutants.md to be up to date")->excludes(page_option);
  app.add_option("--sample", one_in,
                 "with --check-page: try one in so many of an exercise's mutants, if nothing has changed")
      ->check(CLI::Range(1, 5));
  app.add_flag("--json", as_json, "print the verdicts as JSON")->excludes(page_option);
  app.add_option("--file", list, "a list of mutants from elsewhere, in place of exercises/*/mutants.json")
      ->check(CLI::ExistingFile);
  app.add_option("--course", course, "the folder that holds exercises and solutions")->check(CLI::ExistingDirectory);
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (one_in > 1 && !check_page) {
    fmt::print(stderr, "--sample is for --check-page alone.\n");
    return 2;
  }
  if ((write_page || check_page) && !(names.empty() && list.empty())) {
    fmt::print(stderr, "docs/mutants.md holds the mutants of all exercises; write --page without naming any.\n");
    return 2;
  }
  const fs::path folder = fs::canonical(course);
  const std::vector<Mutant> mutants = list.empty() ? mutants_of(folder, names) : mutants_in_file(list, folder, names);
  const std::vector<rebuild::Test> tests = tests_for(mutants);
  const Digests digests = digests_of(mutants, tests, source_folder);
  const std::string stored = check_page && fs::exists(page_file) ? learn::read_text(page_file) : "";
  const std::vector<std::size_t> places =
      sample_of(mutants, digests, digests_on(stored), static_cast<std::size_t>(one_in));
  std::vector<Mutant> tried;
  for (const std::size_t i : places) tried.push_back(mutants[i]);

  const std::vector<Verdict> verdicts = judge_all(tried, tests, limit_seconds, !as_json);
  fmt::print("{}", as_json ? json(tried, verdicts) : summary(tried, verdicts));
  if (!all_is_well(tried, verdicts)) return 1;
  if (write_page) learn::write_text(page_file, page(mutants, verdicts, digests));
  if (check_page) {
    // What was not tried is as the page says, and the digests are its own: they say what to try, not what is right.
    std::vector<Verdict> all = verdicts_on(stored, mutants);
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = verdicts[i];
    if (page(mutants, all, digests_on(stored)) != stored) {
      fmt::print("docs/mutants.md is stale: ./learn mutants --page writes it afresh.\n");
      return 1;
    }
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 2;
}
