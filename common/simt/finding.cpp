#include <simt/finding.h>

#include <algorithm>
#include <utility>

namespace simt {

namespace {
thread_local FindingScope* innermost = nullptr;
}

std::string to_string(Index index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," + std::to_string(index.z) + ")";
}

std::string Finding::text() const {
  std::string text = check + ": " + title + "\n  at " + file + ":" + std::to_string(line) + " in " + kernel +
                     "\n  block " + to_string(block) + ", thread " + to_string(thread);
  if (times > 1)
    text += ", and " + std::to_string(times - 1) + (times == 2 ? " other time" : " other times") + " at this place";
  text += "\n";
  for (std::size_t at = 0; at < detail.size();) {
    const std::size_t end = std::min(detail.find('\n', at), detail.size());
    text += "  " + detail.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text;
}

std::string text(const std::vector<Finding>& findings) {
  constexpr std::size_t shown = 3;
  // A missing barrier may make many reads of unwritten memory before its race is met: each check gets a word first.
  std::vector<const Finding*> order;
  for (const Finding& finding : findings) {
    const auto same_check = [&](const Finding* other) { return other->check == finding.check; };
    if (std::none_of(order.begin(), order.end(), same_check)) order.push_back(&finding);
  }
  for (const Finding& finding : findings) {
    if (std::find(order.begin(), order.end(), &finding) == order.end()) order.push_back(&finding);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(order.size(), shown); ++i) text += order[i]->text();
  if (findings.size() > shown) {
    const std::size_t more = findings.size() - shown;
    text += "and " + std::to_string(more) + (more == 1 ? " more finding\n" : " more findings\n");
  }
  return text;
}

FindingError::FindingError(std::vector<Finding> findings)
    : std::runtime_error(simt::text(findings)), findings_(std::move(findings)) {}

FindingScope::FindingScope() : outer_(std::exchange(innermost, this)) {}
FindingScope::~FindingScope() { innermost = outer_; }

void deliver(std::vector<Finding> findings) {
  if (findings.empty()) return;
  if (innermost == nullptr) throw FindingError(std::move(findings));
  for (Finding& finding : findings) innermost->findings_.push_back(std::move(finding));
}

}  // namespace simt
