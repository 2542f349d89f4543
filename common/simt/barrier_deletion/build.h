/// The test programs of a build folder, and how to build one again from changed sources.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace barrier_deletion {

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

/// Every test of kernels in a build folder that Ninja has built: labels chapter, solution and common. The readers' own
/// exercises are none of them. Throws std::runtime_error with a sentence if the folder does not say.
std::vector<Test> tests_of(const std::filesystem::path& build);

/// How a test ended that was built from a changed file.
struct Outcome {
  enum Kind { passed, failed, not_compiled } kind;
  std::string output;
};

/// Builds test with text in the place of what file holds, and runs it. Only the objects that file is part of are
/// compiled, in a temporary folder; neither the sources nor the build folder change.
Outcome outcome_with(const Test& test, const std::filesystem::path& build, const std::filesystem::path& file,
                     const std::string& text);

/// The same as it was built, from unchanged sources.
Outcome outcome_of(const Test& test);

}  // namespace barrier_deletion
