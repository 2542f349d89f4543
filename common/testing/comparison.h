/// What ./learn compare shows of an exercise: one typical workload, run once, with its right digits and what it asked
/// of memory, beside the least that any kernel for the task must ask. On the executor alone: a GPU program cannot
/// count.
#pragma once

#include <host/norm_launcher.h>
#include <simt/counts.h>
#include <testing/backward.h>
#include <testing/cases.h>
#include <testing/subject.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace testing {

/// The least that a task asks for: each element that is read once, each that is written once, 16 bytes a lane.
struct Floor {
  std::uint64_t load_requests = 0, store_requests = 0;
  std::uint64_t sectors = 0;  // of 32 bytes, in all requests
  std::uint64_t bytes_asked = 0;
  std::uint64_t bytes_touched = 0;  // in whole sectors
};
/// Each number is that of the floats in one buffer.
Floor floor_of(const std::vector<std::int64_t>& read, const std::vector<std::int64_t>& written);

struct Workload {
  std::string name;            // "64 rows of 4096 floats", without quotation marks in it
  std::vector<float> got;      // what the exercise's code gave
  std::vector<double> truth;   // the same in double precision
  std::int64_t cols = 1;       // of got and truth: digits are relative to the largest value of a row
  simt::LaunchCounts counts;   // of all launches
  std::optional<Floor> floor;  // none where the task is no matter of device memory
};

/// One line: "comparison: " and a JSON object. digits are correct_digits() of got, digits_best those of the truth
/// rounded to binary32.
std::string comparison_text(const Workload& workload);
void print_comparison(const Workload& workload);

/// The rows that exercises are compared on, unless their task is another: 64 of 4096 floats, centred.
NormCase compared_rows();
inline constexpr const char* compared_rows_name = "64 rows of 4096 floats";

/// compared_rows() with gamma, beta, mean and rstd as the norm has them; the digits are those of y.
Workload norm_workload(NormLauncher launcher);
/// The same for a backward; the digits are those of dx, or of dgamma where dx is not asked for.
Workload backward_workload(NormBackwardLauncher launcher, BackwardRunOptions options = {});

}  // namespace testing

/// The test case that prints a workload. No ordinary run runs it; ./learn compare asks for it by its suite.
#define COMPARISON_TEST_CASE \
  TEST_CASE(LNH_SUBJECT ": the workload of ./learn compare" * doctest::test_suite("comparison") * doctest::skip())
