/// The test programs of a build folder, and how to build one again from a changed source.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <future>
#include <memory>
#include <semaphore>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace rebuild {

/// A file to be compiled, as Ninja would do it.
struct Object {
  std::string name;                            // relative to the build folder
  std::string command;                         // for a shell in the build folder
  std::vector<std::filesystem::path> sources;  // all files of the project that it is compiled from
};

/// A program that ctest runs.
struct Test {
  std::string name;                    // as ctest calls it
  std::filesystem::path program;       // in the build folder
  std::vector<std::string> arguments;  // which leave out its long tests
  std::string link;                    // the command that links it
  std::vector<Object> objects;

  bool compiles(const std::filesystem::path& file) const;
};

/// The test programs with one of these ctest labels in a build folder that Ninja has built. Throws std::runtime_error
/// with a sentence if the folder does not say.
std::vector<Test> tests_of(const std::filesystem::path& build, const std::set<std::string>& labels);

/// How a test ended.
struct Outcome {
  enum Kind { passed, failed, stopped, not_compiled } kind;  // stopped: it had not ended at the limit
  std::string output;
};

/// Runs a test as it was built, from unchanged sources.
Outcome outcome_of(const Test& test, int limit_seconds);

/// Builds test with text in the place of what file holds, and runs it. Only the objects that file is part of are
/// compiled, in a temporary folder; neither the sources nor the build folder change.
Outcome outcome_with(const Test& test, const std::filesystem::path& build, const std::filesystem::path& file,
                     const std::string& text, int limit_seconds);

/// Throws std::runtime_error if the test does not pass as it was built: one that fails anyway would convict every
/// change of its sources.
void expect_pass(const Test& test, const std::filesystem::path& build, int limit_seconds);

/// The title of the first finding of one of these checks in the output of a test, such as "race: a read of …"; else
/// empty.
std::string first_finding(const std::string& output, const std::vector<std::string>& checks);

/// job(0) … job(count − 1), as many at a time as there are cores. What each gives, in this order.
template <class Job>
auto on_all_cores(std::size_t count, Job job) {
  const auto cores = std::make_shared<std::counting_semaphore<>>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::future<decltype(job(count))>> results;
  for (std::size_t i = 0; i < count; ++i) {
    results.push_back(std::async(std::launch::async, [cores, job, i] {
      cores->acquire();
      const std::shared_ptr<void> release(nullptr, [&](void*) { cores->release(); });
      return job(i);
    }));
  }
  return results;
}

}  // namespace rebuild
