#include <testing/violations.h>

#include <host/error.h>

#include <algorithm>
#include <utility>

namespace testing {

void Report::require(bool kept, const std::string& sentence) {
  if (!kept) violations_.push_back(sentence);
}

void Report::step(const std::string& what, const std::function<void()>& body) {
  try {
    body();
  } catch (const NotTested&) {
    throw;
  } catch (const std::exception& error) {
    violations_.push_back(what + ": " + error.what());
  }
}

void Report::require_same(const std::string& what, std::span<const float> got, std::span<const float> expected,
                          std::int64_t cols) {
  if (same_bits(got, expected)) return;
  std::string sentence = what + ": the bits differ";
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    if (same_bits(got.subspan(i, 1), expected.subspan(i, 1))) continue;
    const auto index = static_cast<std::int64_t>(i);
    sentence += ", first in row " + std::to_string(index / cols) + ", column " + std::to_string(index % cols) + ": " +
                std::to_string(got[i]) + " and not " + std::to_string(expected[i]);
    break;
  }
  violations_.push_back(sentence);
}

void Report::require_same(const std::string& what, const NormResult& got, const NormResult& expected,
                          std::int64_t cols) {
  require_same(what + ", y", got.y, expected.y, cols);
  require_same(what + ", mean", got.mean, expected.mean, 1);
  require_same(what + ", rstd", got.rstd, expected.rstd, 1);
}

void Report::require_no_pending_error() {
  const cudaError_t error = cudaGetLastError();
  require(error == cudaSuccess, std::string("the launcher left a CUDA error pending: ") + cudaGetErrorName(error));
}

void Report::require_refused(const std::string& what, const std::function<void()>& call,
                             const std::vector<std::string>& parts) {
  try {
    call();
    violations_.push_back(what + " was accepted; the launcher must throw std::invalid_argument");
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    const std::string told = what + ": the message '" + message + "' does not say ";
    for (const std::string& part : parts) require(message.find(part) != std::string::npos, told + part);
  } catch (const std::exception& error) {
    violations_.push_back(what + ": the launcher must throw std::invalid_argument, but it threw: " + error.what());
  }
}

Violations Report::take() { return std::move(violations_); }

}  // namespace testing
