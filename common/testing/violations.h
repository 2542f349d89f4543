/// What the rules that judge a launcher have in common: they collect one sentence for each promise that was broken.
#pragma once

#include <testing/run.h>

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace testing {

/// One sentence for each promise that was broken; empty if all were kept.
using Violations = std::vector<std::string>;

/// Thrown where this machine cannot test a promise: a GPU with too little memory.
class NotTested : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
  /// For a MESSAGE, which would print what() as an address.
  std::string sentence() const { return std::string("not tested on this machine: ") + what(); }
};

/// Collects the violations of one rule.
class Report {
public:
  void require(bool kept, const std::string& sentence);
  /// Runs one step of the rule; what it throws is a violation, except that this machine cannot test it.
  void step(const std::string& what, const std::function<void()>& body);
  /// The two hold the same bits.
  void require_same(const std::string& what, std::span<const float> got, std::span<const float> expected,
                    std::int64_t cols);
  void require_same(const std::string& what, const NormResult& got, const NormResult& expected, std::int64_t cols);
  void require_no_pending_error();
  /// The launcher refuses these arguments with a message in which each of the parts occurs.
  void require_refused(const std::string& what, const std::function<void()>& call,
                       const std::vector<std::string>& parts);
  Violations take();

private:
  Violations violations_;
};

}  // namespace testing
