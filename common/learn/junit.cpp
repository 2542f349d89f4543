#include <learn/junit.h>

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace learn {

std::string TestCounts::text() const {
  return fmt::format("{} passed, {} failed, {} skipped", passed, failed, skipped);
}

TestCounts count_tests(const std::string& junit_report) {
  static const std::regex summary(R"(\[doctest\] test cases: +\d+ \| +(\d+) passed \| +(\d+) failed)");
  const std::string begin = "<testcase ";
  TestCounts counts;
  for (std::size_t at = junit_report.find(begin); at != std::string::npos;) {
    const std::size_t next = junit_report.find(begin, at + 1);
    const std::string entry = junit_report.substr(at, next - at);
    at = next;
    if (entry.find("<skipped message=\"SKIP_") != std::string::npos) {
      ++counts.skipped;
      continue;
    }
    // A program that is not there is "notrun" for ctest; here it is a failure, not a choice.
    const bool passed = entry.substr(0, entry.find('>')).find("status=\"run\"") != std::string::npos;
    int cases_passed = 0, cases_failed = 0;
    for (std::sregex_iterator found(entry.begin(), entry.end(), summary), end; found != end; ++found) {
      cases_passed = std::stoi((*found)[1]);
      cases_failed = std::stoi((*found)[2]);
    }
    if (passed) {
      // A test of a failing program (a pristine stub) passes as a whole, whatever the program inside it counted.
      counts.passed += cases_failed > 0 ? 1 : std::max(1, cases_passed);
    } else {
      counts.passed += cases_passed;
      counts.failed += std::max(1, cases_failed);
    }
  }
  return counts;
}

}  // namespace learn
