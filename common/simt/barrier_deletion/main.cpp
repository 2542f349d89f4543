// barrier_deletion [FILE…]
//
// Takes each __syncthreads() and __syncwarp(…) of each kernel file of the course out in turn, builds the tests of that
// file again and runs them: one must have a finding of the race or sync check. With files, relative to the source
// folder, only theirs. Neither the sources nor the build folder are changed.
//
// Prints a line for each barrier, and last how many were killed. Exit code: 0 all killed, 1 not all, 2 nothing could be
// judged.
#include "deletion.h"

#include <learn/files.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using namespace barrier_deletion;

namespace {

const fs::path source_folder = LNH_SOURCE_DIR;
const fs::path build_folder = LNH_BINARY_DIR;

std::vector<fs::path> kernel_files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".cuh") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

struct Case {
  fs::path file;
  std::string source;
  Barrier barrier;
};

std::vector<Case> cases_in(const std::vector<fs::path>& files) {
  std::vector<Case> cases;
  for (const fs::path& file : files) {
    const std::string source = learn::read_text(file);
    for (Barrier& barrier : barriers_in(source)) cases.push_back({file, source, std::move(barrier)});
  }
  return cases;
}

bool all_killed(const std::vector<fs::path>& files) {
  const std::vector<Case> cases = cases_in(files);
  // Every test of kernels; the readers' own exercises are none of them.
  const std::vector<rebuild::Test> tests = rebuild::tests_of(build_folder, {"chapter", "solution", "common"});
  std::vector<rebuild::Test> compiling = tests;
  std::erase_if(compiling, [&](const rebuild::Test& test) {
    return std::none_of(cases.begin(), cases.end(), [&](const Case& c) { return test.compiles(c.file); });
  });
  auto unchanged = rebuild::on_all_cores(
      compiling.size(), [&](std::size_t i) { rebuild::expect_pass(compiling[i], build_folder, limit_seconds); });
  for (auto& passed : unchanged) passed.get();

  auto verdicts = rebuild::on_all_cores(cases.size(), [&](std::size_t i) {
    return judge(tests, build_folder, cases[i].file, cases[i].source, cases[i].barrier);
  });
  std::size_t killed = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Verdict verdict = verdicts[i].get();
    const std::string place = cases[i].file.lexically_relative(source_folder).string() + ":" +
                              std::to_string(cases[i].barrier.line) + " " + cases[i].barrier.text;
    if (verdict.killed_by.empty()) {
      std::printf("survived        %s\n  %s\n", place.c_str(), verdict.sentence.c_str());
    } else {
      std::printf("killed by %s  %s\n", verdict.killed_by.c_str(), place.c_str());
      ++killed;
    }
    std::fflush(stdout);
  }
  std::printf("%zu of %zu barriers killed\n", killed, cases.size());
  return killed == cases.size();
}

}  // namespace

int main(int count, char** words) try {
  std::vector<fs::path> files;
  for (int i = 1; i < count; ++i) files.push_back((source_folder / words[i]).lexically_normal());
  if (files.empty())
    for (const char* folder : {"chapters", "common/device", "solutions"})
      for (fs::path& file : kernel_files_below(source_folder / folder)) files.push_back(std::move(file));
  return all_killed(files) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
