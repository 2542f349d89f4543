/// Counts tests in the JUnit report that ctest writes.
#pragma once

#include <string>

namespace learn {

struct TestCounts {
  int passed = 0, failed = 0, skipped = 0;
  std::string text() const;  // "3 passed, 0 failed, 1 skipped"
};

/// A doctest program counts as its test cases, any other test as one. A test case that a program leaves out because
/// another ctest entry runs it (the long ones) is not a skipped one: skipped counts entries that could not run on this
/// machine.
TestCounts count_tests(const std::string& junit_report);

}  // namespace learn
