/// What a check has to say about a kernel: one fault, where it is, who ran into it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace simt {

/// An index in a block or a grid, as CUDA's uint3.
struct Index {
  unsigned x = 0, y = 0, z = 0;
  auto operator<=>(const Index&) const = default;
};
std::string to_string(Index index);  // "(3,0,0)"

/// One fault. The same fault at the same place is one finding, told for the first block and thread that met it.
struct Finding {
  std::string check;   // which check found it: "sync", "memory"
  std::string title;   // "write outside of buffer 'y'"
  std::string kernel;  // "three_pass::layer_norm_kernel"
  std::string file;    // relative to the source folder where the file lies in it
  int line = 0;
  Index block;         // blockIdx
  Index thread;        // threadIdx
  std::string detail;  // further sentences, a line each
  std::uint64_t times = 1;

  std::string text() const;  // several lines, for a person
};

/// Three of them, and how many more there are: the first of each check, then the others in their order.
std::string text(const std::vector<Finding>& findings);

/// Thrown by a launch whose kernel has findings, unless a FindingScope is open.
class FindingError : public std::runtime_error {
public:
  explicit FindingError(std::vector<Finding> findings);
  const std::vector<Finding>& findings() const { return findings_; }

private:
  std::vector<Finding> findings_;
};

/// While it lives, launches from this thread do not throw FindingError: their findings are collected here.
class FindingScope {
public:
  FindingScope();
  ~FindingScope();
  FindingScope(const FindingScope&) = delete;
  FindingScope& operator=(const FindingScope&) = delete;

  const std::vector<Finding>& findings() const { return findings_; }
  std::string text() const { return simt::text(findings_); }

private:
  friend void deliver(std::vector<Finding> findings);
  std::vector<Finding> findings_;
  FindingScope* outer_;
};

/// Hands the findings of a launch to the innermost FindingScope of this thread, or throws FindingError.
void deliver(std::vector<Finding> findings);

}  // namespace simt
