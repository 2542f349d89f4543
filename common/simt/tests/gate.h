/// What the executor's own tests share: launches that collect what the checks find and what the counter counts.
#pragma once

#include <host/device_buffer.h>
#include <host/launch.h>
#include <simt/counts.h>
#include <simt/finding.h>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace gate {

struct Outcome {
  std::vector<simt::Finding> findings;
  simt::LaunchCounts counts;

  std::string text() const { return simt::text(findings); }
};

/// Launches kernel and gives back what was found and counted.
template <class... Parameters, class... Arguments>
Outcome run(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, Arguments... arguments) {
  const simt::FindingScope findings;
  const simt::CountScope counts;
  launch(kernel, {grid, block, shared_bytes}, arguments...);
  return {findings.findings(), counts.total()};
}

/// The number of the line that holds "// here: <mark>" in this test file, so that a test can ask for a finding's line.
int line_of(const std::string& file, const std::string& mark);

}  // namespace gate
