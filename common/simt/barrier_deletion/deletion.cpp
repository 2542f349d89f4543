#include "deletion.h"

namespace barrier_deletion {

using namespace rebuild;

std::string check_that_found(const std::string& output) {
  const std::string title = first_finding(output, {"race", "sync"});
  return title.substr(0, title.find(':'));
}

Verdict judge(const std::vector<Test>& tests, const std::filesystem::path& build, const std::filesystem::path& file,
              const std::string& source, const Barrier& barrier) {
  const std::string changed = without(source, barrier);
  std::string passed, failed;
  for (const Test& test : tests) {
    if (!test.compiles(file)) continue;
    const Outcome outcome = outcome_with(test, build, file, changed, limit_seconds);
    if (outcome.kind == Outcome::not_compiled)
      return {"", "Without it " + test.name + " does not compile, so nothing is known. The compiler says:\n" +
                      outcome.output.substr(0, 2000)};
    const std::string check = check_that_found(outcome.output);
    if (!check.empty()) return {check, ""};
    std::string& names = outcome.kind == Outcome::passed ? passed : failed;
    names += (names.empty() ? "" : ", ") + test.name;
  }
  if (!failed.empty())
    return {"", "It is needed: without it " + failed + (failed.find(',') == std::string::npos ? " fails" : " fail") +
                    ", but without a finding of the race or sync check. Find out why these checks miss it, and " +
                    "add a kernel with the same fault to common/simt/tests."};
  if (!passed.empty())
    return {"", "Nothing is found without it, and " + passed +
                    (passed.find(',') == std::string::npos ? " passes" : " pass") +
                    ". Remove it from the kernel, with a test that shows the kernel right without it."};
  return {"", "No test compiles this file. Add one, or remove the file."};
}

}  // namespace barrier_deletion
