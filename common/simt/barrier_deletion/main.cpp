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
#include <future>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
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

/// A test that already fails would convict every change of its kernels.
void expect_all_pass(const std::vector<Test>& tests, const std::vector<Case>& cases) {
  for (const Test& test : tests) {
    const bool needed = std::any_of(cases.begin(), cases.end(), [&](const Case& c) { return test.compiles(c.file); });
    if (needed && outcome_of(test).kind != Outcome::passed)
      throw std::runtime_error(test.name + " fails with every barrier in its place. Mend it, or build it again: " +
                               "cmake --build " + build_folder.string());
  }
}

/// One of the cores, while it lives.
class Core {
public:
  explicit Core(std::counting_semaphore<>& cores) : cores_(cores) { cores_.acquire(); }
  ~Core() { cores_.release(); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

private:
  std::counting_semaphore<>& cores_;
};

bool all_killed(const std::vector<fs::path>& files) {
  const std::vector<Case> cases = cases_in(files);
  const std::vector<Test> tests = tests_of(build_folder);
  expect_all_pass(tests, cases);

  // As many at a time as there are cores; told in the order of the files.
  std::counting_semaphore<> cores(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::future<Verdict>> verdicts;
  for (const Case& c : cases)
    verdicts.push_back(std::async(std::launch::async, [&] {
      const Core core(cores);
      return judge(tests, build_folder, c.file, c.source, c.barrier);
    }));

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
