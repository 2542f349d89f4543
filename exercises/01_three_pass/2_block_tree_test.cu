// Exercise 01.2: the sum over a block, by a tree in shared memory.
#include <2_block_tree.cuh>

#include <host/device_buffer.h>
#include <testing/cases.h>
#include <testing/diagnosis.h>
#include <testing/run.h>
#include <testing/subject.h>
#include <device/not_written_yet.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

using testing::Data;
using testing::NormCase;

namespace {

/// Each block sums its own values, and each thread stores the sum that it was given.
__global__ void sum_kernel(const float* values, float* sums) {
  __shared__ float partial[1024];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[i] = exercise::block_sum(values[i], partial);
}

/// Whole numbers, so that every order of the additions gives the same sum and equality is the right question.
std::vector<float> whole_numbers(int count) {
  std::mt19937 bits(0x5eed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(static_cast<int>(bits() % 2001) - 1000);
  return values;
}

std::vector<float> sums_of(const std::vector<float>& values, int blocks) {
  const DeviceBuffer<float> in("values", values);
  const DeviceBuffer<float> out("sums", in.size());
  launch(sum_kernel, {static_cast<unsigned>(blocks), static_cast<unsigned>(values.size()) / blocks}, in.data(),
         out.data());
  return out.download();
}

void require_written() {
  static const bool written = [] {
    const std::vector<float> sums = sums_of(whole_numbers(64), 1);
    return !std::all_of(sums.begin(), sums.end(), is_not_written_yet);
  }();
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: block_sum returns what the stub returns");
}

/// Which known mistake gives these sums to the threads of a block that holds these values.
std::string diagnosis(std::span<const float> values, std::span<const float> sums) {
  const std::size_t threads = values.size();
  const auto sum_of = [&](const auto& counts) {  // the same for all threads
    double sum = 0;
    for (std::size_t i = 0; i < threads; ++i) sum += counts(i) ? values[i] : 0;
    return std::vector<double>(threads, sum);
  };
  const std::vector<double> expected = sum_of([](std::size_t) { return true; });
  std::vector<double> slots(values.begin(), values.end());  // what the tree leaves in them
  for (std::size_t half = threads / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) slots[i] += slots[i + half];
  std::vector<testing::Candidate> candidates = {{"first_warp_only", sum_of([](std::size_t i) { return i < 32; })},
                                                {"sum_for_thread_0_only", slots},
                                                {"all_zeros", std::vector<double>(threads)}};
  for (std::size_t step = 1; step < threads; step *= 2)
    candidates.push_back({"step_lost", sum_of([&](std::size_t i) { return (i & step) == 0; })});
  for (std::size_t warp = 0; warp < threads / 32; ++warp)
    candidates.push_back({"warp_lost", sum_of([&](std::size_t i) { return i / 32 != warp; })});
  return testing::likely_mistake(candidates, {sums.begin(), sums.end()}, expected);
}

/// Empty if every thread got the sum of its block, else a sentence that says which did not.
std::string wrong_sum(int blocks, int threads) {
  const std::vector<float> values = whole_numbers(blocks * threads);
  const std::vector<float> sums = sums_of(values, blocks);
  for (int block = 0; block < blocks; ++block) {
    const auto first = values.begin() + block * threads;
    const float expected = std::accumulate(first, first + threads, 0.0f);
    int wrong = 0, first_wrong = 0;
    for (int thread = threads - 1; thread >= 0; --thread) {
      if (sums[block * threads + thread] != expected) ++wrong, first_wrong = thread;
    }
    if (wrong == 0) continue;
    std::ostringstream sentence;
    sentence << LNH_SUBJECT " gives a wrong sum to " << wrong << " of the " << threads << " threads of a block: thread "
             << first_wrong << " got " << sums[block * threads + first_wrong] << ", expected " << expected
             << diagnosis({&*first, static_cast<std::size_t>(threads)},
                          std::span(sums).subspan(block * threads, threads));
    return sentence.str();
  }
  return "";
}

/// What a wrong result of LayerNorm comes from, if the sum itself is right.
std::string rounding_note() {
  if (!wrong_sum(1, exercise::block_threads).empty()) return "";
  return "\nThe sum is right on whole numbers, so this is rounding: the bound is that of a tree, and another order of "
         "the additions may round more.";
}

void check_case(const NormCase& input) {
  const auto summation = testing::block_per_row<exercise::block_threads>;
  const auto verdict = testing::judge(exercise::layer_norm, input, summation(input.cols));
  REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " makes LayerNorm wrong on " << verdict.text() << rounding_note());
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": every thread of every block gets the sum of its block") {
  require_written();
  const int blocks = 3;
  for (const int threads : {256, 128, 64, 32, 4, 2, 1, 512, 1024}) {
    const std::string wrong = wrong_sum(blocks, threads);
    REQUIRE_MESSAGE(wrong.empty(), wrong);
  }
}

TEST_CASE(LNH_SUBJECT ": LayerNorm with this sum is right within the bound") {
  require_written();
  std::vector<NormCase> cases;
  std::uint64_t seed = 1;
  // Rows shorter than the block, longer, and far from a power of two.
  for (const std::int64_t cols : {1000, 257, 256, 255, 100, 3, 1}) {
    for (const Data data : testing::all_data()) cases.push_back(testing::make_case(3, cols, data, seed++));
  }
  const auto summation = testing::block_per_row<exercise::block_threads>;
  for (const NormCase& input : testing::judgeable(cases, summation).judged) check_case(input);
  for (const NormCase& input : testing::trap_cases()) check_case(input);
}

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE { testing::print_comparison(testing::norm_workload(exercise::layer_norm)); }

#endif
