/// The test program of an exercise, built from the reader's file.
#pragma once

#include <learn/commands.h>
#include <learn/course.h>

#include <filesystem>
#include <string>
#include <vector>

namespace learn {

/// Seconds after which a test counts as one that does not end; the tests of exercises take a few seconds.
inline constexpr int test_limit_seconds = 60;

struct ExerciseProgram {
  std::filesystem::path program;
  bool legality_checked = false;  // whether clang was there to read it as CUDA
  std::string
      problem;  // empty, or for the reader: why YOUR CODE does not compile or is not legal CUDA; then not to be run
};

/// What a reader needs of a failed build: the compiler's first error in this file, else the linker's first name that
/// nothing defines, else the first error at all, with the lines that belong to it; everything if there is none of them.
std::vector<std::string> first_error(const std::vector<std::string>& lines, const std::string& file);

/// Builds the test of the reader's file, or of the untouched stub if pristine. Throws UsageError if the file is
/// missing.
ExerciseProgram build_exercise(const Place& place, const Exercise& exercise, bool pristine);

/// The command that runs the program with these NAME=VALUE settings in its environment and stops it at the limit:
/// exit code 124 or 137.
std::vector<std::string> test_command(const ExerciseProgram& program, const std::vector<std::string>& settings);

/// "read the task and its hints in exercises/01_three_pass/README.md."
std::string next_hint(const Exercise& exercise);

}  // namespace learn
