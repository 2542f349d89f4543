/// docs/contract.md: each row of the contract × each kernel of the course, with the test that holds it.
#pragma once

#include <string>
#include <vector>

namespace learn {

/// A chapter's test program and what it prints for --list-test-cases.
struct TestList {
  std::string program;  // "01_three_pass_test"
  std::string output;
};

/// Whether a kernel is a backward: its name begins with "backward::".
bool is_backward(const std::string& kernel);

/// The page, from testing/contract.txt (which says what its lines mean) and the programs' lists. Throws
/// std::runtime_error for a cell that has neither a test nor a reason, and for a test or note of an unknown row.
std::string contract_page(const std::string& contract, const std::vector<TestList>& lists);

}  // namespace learn
