/// The test program of an exercise, built from the reader's file, and what it says.
#pragma once

#include <learn/commands.h>
#include <learn/course.h>
#include <learn/process.h>
#include <learn/verdict.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace learn {

/// Seconds after which the executor ends a test and says where it loops; the tests of exercises take one or less.
inline constexpr int test_limit_seconds = 10;

struct ExerciseProgram {
  std::filesystem::path program;
  bool built = false;
  Verdict verdict;  // with whose code it is; if it was not built, also with why
};

/// cmake --build, while no other ./learn builds in the same folder: of two builds that compile the same file, ninja
/// forgets what it was made of, and takes it for up to date whatever is saved later.
Finished build(const Place& place, const std::vector<std::string>& targets);

/// Builds the test of the reader's file as it is at the end, or of the untouched stub if pristine, and has clang read
/// the file as CUDA meanwhile. Throws UsageError if the file is missing.
ExerciseProgram build_exercise(const Place& place, const Exercise& exercise, bool pristine);

/// The command that runs the program with these NAME=VALUE settings in its environment and stops it at the limit:
/// exit code 124 or 137.
std::vector<std::string> test_command(const ExerciseProgram& program, const std::vector<std::string>& settings,
                                      const std::vector<std::string>& arguments = {});

/// Runs the built test in the order of lanes and warps of this seed (0: the fixed one), and completes its verdict.
Verdict run_exercise(const Place& place, const ExerciseProgram& program, std::uint64_t seed);

/// Builds the test of an exercise and runs it, in the orders that the options ask for up to the first that fails.
Verdict judge_exercise(const Place& place, const Exercise& exercise, const CheckOptions& options);

}  // namespace learn
