// Exercise 04.2: the state of a block, through shared memory and with two barriers.
#include <2_block_reduce.cuh>

#include <host/device_buffer.h>
#include <testing/cases.h>
#include <testing/diagnosis.h>
#include <testing/run.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

using testing::Data;
using testing::NormCase;

namespace {

/// A count and a sum of whole numbers: exact in every order, so equality is the right question.
struct Numbers {
  int count;
  int sum;
};

// Called by the reader's block_reduce; the stub does not yet.
[[maybe_unused]] __host__ __device__ inline Numbers merge(const Numbers& a, const Numbers& b) {
  return {a.count + b.count, a.sum + b.sum};
}

/// Each thread holds one number, and stores what it was given.
__global__ void block_kernel(const int* numbers, int* counts, int* sums) {
  __shared__ Numbers partial[32];
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  const Numbers result = exercise::block_reduce(Numbers{1, numbers[thread]}, partial);
  counts[thread] = result.count;
  sums[thread] = result.sum;
}

struct Results {
  std::vector<int> numbers, counts, sums;  // [rows][threads]
};

Results results_of(int threads, int rows) {
  Results results;
  for (int i = 0; i < threads * rows; ++i) results.numbers.push_back(i * 7919 % 2001 - 1000);
  const DeviceBuffer<int> in("numbers", results.numbers);
  const DeviceBuffer<int> counts("counts", in.size()), sums("sums", in.size());
  launch(block_kernel, {1, dim3(static_cast<unsigned>(threads), static_cast<unsigned>(rows))}, in.data(), counts.data(),
         sums.data());
  results.counts = counts.download();
  results.sums = sums.download();
  return results;
}

void require_written() {
  static const bool written = [] {
    const std::vector<int> counts = results_of(64, 1).counts;
    return !std::all_of(counts.begin(), counts.end(), [](int count) { return count == 0; });
  }();
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: block_reduce returns the state of no value");
}

/// Which known mistake gives a row of threads these counts and sums, one behind the other.
std::string diagnosis(std::span<const int> numbers, const std::vector<double>& got) {
  const std::size_t threads = numbers.size(), warps = threads / 32;
  const auto states = [&](const auto& counts) {  // counts(thread, i): whether that thread counts number i
    std::vector<double> all(2 * threads);
    for (std::size_t thread = 0; thread < threads; ++thread) {
      for (std::size_t i = 0; i < threads; ++i) {
        if (!counts(thread, i)) continue;
        all[thread] += 1;
        all[threads + thread] += numbers[i];
      }
    }
    return all;
  };
  const std::vector<double> expected = states([](std::size_t, std::size_t) { return true; });
  std::vector<testing::Candidate> candidates = {
      {"own_warp_only", states([](std::size_t thread, std::size_t i) { return i / 32 == thread / 32; })},
      {"own_warp_only",  // but in the first warp, which merges them
       states([](std::size_t thread, std::size_t i) { return thread < 32 || i / 32 == thread / 32; })},
      {"first_warp_only", states([](std::size_t, std::size_t i) { return i < 32; })},
      {"all_zeros", std::vector<double>(2 * threads)}};
  for (std::size_t step = 1; step < warps; step *= 2)
    candidates.push_back({"step_lost", states([&](std::size_t, std::size_t i) { return (i / 32 & step) == 0; })});
  for (std::size_t warp = 0; warp < warps; ++warp)
    candidates.push_back({"warp_lost", states([&](std::size_t, std::size_t i) { return i / 32 != warp; })});
  const auto is_right = [&](std::size_t thread) {
    return got[thread] == expected[thread] && got[threads + thread] == expected[threads + thread];
  };
  std::size_t right = 0;
  for (std::size_t thread = 0; thread < threads; ++thread) right += is_right(thread) ? 1 : 0;
  if (right == 1 && is_right(0)) candidates.push_back({"sum_for_thread_0_only", got});  // whatever the others have
  return testing::likely_mistake(candidates, got, expected);
}

/// Empty if every thread got the state of its row of threads, else a sentence that says which did not.
std::string wrong_result(int threads, int rows) {
  const Results results = results_of(threads, rows);
  for (int row = 0; row < rows; ++row) {
    int expected = 0;
    for (int x = 0; x < threads; ++x) expected += results.numbers[row * threads + x];
    for (int x = 0; x < threads; ++x) {
      const int count = results.counts[row * threads + x], sum = results.sums[row * threads + x];
      if (count == threads && sum == expected) continue;
      std::ostringstream sentence;
      sentence << LNH_SUBJECT " is wrong for a block of " << threads << " × " << rows << " threads: thread (" << x
               << "," << row << ") was given the sum " << sum << " of " << count << " values, expected " << expected
               << " of " << threads;
      const auto first = row * threads, last = first + threads;
      std::vector<double> got(results.counts.begin() + first, results.counts.begin() + last);
      got.insert(got.end(), results.sums.begin() + first, results.sums.begin() + last);
      sentence << diagnosis(std::span(results.numbers).subspan(first, threads), got);
      return sentence.str();
    }
  }
  return "";
}

void check_case(const NormCase& input) {
  const auto summation = testing::block_per_row<exercise::block_threads>;
  const auto verdict = testing::judge(exercise::layer_norm, input, summation(input.cols));
  REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " makes LayerNorm wrong on " << verdict.text());
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": every thread gets the state of its block, for blocks of 1 to 32 warps") {
  require_written();
  for (const int first : {8, 2}) {  // the ordinary first: it is what a reader sees
    const std::string wrong = wrong_result(first * exercise::warp_lanes, 1);
    REQUIRE_MESSAGE(wrong.empty(), wrong);
  }
  for (int warps = 1; warps <= 32; ++warps) {
    const std::string wrong = wrong_result(warps * exercise::warp_lanes, 1);
    REQUIRE_MESSAGE(wrong.empty(), wrong);
  }
}

TEST_CASE(LNH_SUBJECT ": rows of threads are reduced each by itself") {
  require_written();
  for (int rows = 2; rows <= 32; ++rows) {
    for (int warps = 1; warps * rows <= 32; ++warps) {
      const std::string wrong = wrong_result(warps * exercise::warp_lanes, rows);
      REQUIRE_MESSAGE(wrong.empty(), wrong);
    }
  }
}

TEST_CASE(LNH_SUBJECT ": LayerNorm with this reduction is right within the bound") {
  require_written();
  std::vector<NormCase> cases;
  std::uint64_t seed = 1;
  // Rows longer than the block, and shorter: then most threads have seen no element.
  for (const std::int64_t cols : {1000, 257, 256, 255, 33, 31, 5, 1}) {
    for (const Data data : testing::all_data()) cases.push_back(testing::make_case(3, cols, data, seed++));
  }
  const auto summation = testing::block_per_row<exercise::block_threads>;
  for (const NormCase& input : testing::judgeable(cases, summation).judged) check_case(input);
  for (const NormCase& input : testing::trap_cases()) check_case(input);
}

#ifndef LNH_CUDA  // a GPU program cannot count its own barriers

TEST_CASE(LNH_SUBJECT ": two barriers are enough") {
  require_written();
  simt::CountScope counts;
  results_of(256, 1);
  CHECK_MESSAGE(counts.total().barriers <= 2,
                LNH_SUBJECT " holds " << counts.total().barriers << " barriers, where two would do");
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE { testing::print_comparison(testing::norm_workload(exercise::layer_norm)); }

#endif
