#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/files.h>
#include <learn/junit.h>
#include <learn/process.h>

#include <cstdio>
#include <regex>
#include <thread>

namespace learn {
namespace {

/// Shows ctest's progress as it comes: one line for each program that ends, what a failing one printed in full.
class Progress {
public:
  explicit Progress(const Place& place) : place_(place) {}

  void line(const std::string& text) {
    static const std::regex ended(R"(^ *(\d+)/(\d+) Test +#\d+: (\S+) \.*( +|\*\*\*)(\S.*?) +([0-9.]+) sec.*$)");
    static const std::regex start(R"(^ +Start +\d+: \S+$)");
    static const std::regex over(R"(^\d+% tests passed, .*|^The following tests .*|^No tests were found.*)");
    std::smatch found;
    if (std::regex_match(text, found, ended)) {
      fmt::print("[{:>{}}/{}] {:<40} {:<8} {:>7} s\n", found[1].str(), found[2].length(), found[2].str(),
                 found[3].str(), found[5].str(), found[6].str());
      std::fflush(stdout);
      in_output_ = true;
    } else if (std::regex_match(text, over)) {
      in_output_ = false;
    } else if (in_output_ && !std::regex_match(text, start) && !text.empty()) {
      fmt::print("    {}\n", with_short_paths(text, place_));
    }
  }

private:
  const Place& place_;
  bool in_output_ = false;  // behind the first result, ahead of ctest's summary
};

}  // namespace

ExitCode test(const Place& place, const TestOptions& options) {
  const std::filesystem::path report = place.build / "learn_test.xml";
  std::filesystem::remove(report);
  std::vector<std::string> command{"env", fmt::format("SIMT_SEED={}", options.seed), "ctest", "--test-dir",
                                   place.build.string(), "--output-on-failure", "--no-tests=error", "--parallel",
                                   std::to_string(std::max(1u, std::thread::hardware_concurrency())), "--output-junit",
                                   report.string(),
                                   // The summary of a program that passes is what is counted, so keep it whole.
                                   "--test-output-size-passed", "1000000", "--test-output-size-failed", "1000000",
                                   "--label-exclude", options.long_tier ? "^exercise$" : "^(exercise|long)$"};
  if (options.long_tier) command.insert(command.end(), {"--label-regex", "^long$"});

  Progress progress(place);
  const Finished finished = run(command, [&](const std::string& line) { progress.line(line); });
  if (!std::filesystem::exists(report)) {
    fmt::print("{}\nctest ended without a report, so nothing was tested; its own words are above.\n", finished.output);
    return failure;
  }
  TestCounts counts = count_tests(read_text(report));
  if (finished.exit_code != 0 && counts.failed == 0) counts.failed = 1;
  fmt::print("\n{}\n", counts.text());
  return counts.failed == 0 ? success : failure;
}

}  // namespace learn
