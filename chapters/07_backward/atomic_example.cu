// Same input, same bits? dγ and dβ of the same x and dy, again and again: once by float atomics, once in two stages.
//
//   07_backward_atomic_example [RUNS [ROWS COLS]]
//
// Exit code: 0 both are right, and the two stages gave the same bits on every run; 1 not so; 2 wrong use; 77 no GPU.
#include "atomic.cuh"
#include "backward.cuh"

#include <testing/backward.h>
#include <testing/cases.h>
#include <testing/example.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

namespace {

/// What the runs of a launcher have in common.
struct Runs {
  std::set<std::vector<std::uint32_t>> distinct;  // the bits of dγ and dβ
  std::vector<float> lowest, highest;             // of each of their elements
  bool right = true;                              // within the error bound, each of them
};

/// The floats in their order as integers: neighbours are 1 apart.
std::int64_t place(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits >= 0 ? bits : std::int64_t{INT32_MIN} - bits;
}

template <class T>
std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Runs run_often(LayerNormBackwardLauncher launcher, const testing::BackwardCase& input,
               const std::vector<double>& expected, const std::vector<double>& bound, int runs) {
  Runs result;
  for (int run = 0; run < runs; ++run) {
    const testing::BackwardResult gradients = testing::run_backward(launcher, input, {.dx = false});
    const std::vector<float> sums = joined(gradients.dgamma, gradients.dbeta);
    const auto cols = static_cast<std::int64_t>(sums.size());
    result.right = result.right && testing::compare("dgamma and dbeta", sums, expected, bound, cols).passed();
    if (run == 0) result.lowest = result.highest = sums;
    std::vector<std::uint32_t> bits;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      bits.push_back(std::bit_cast<std::uint32_t>(sums[i]));
      result.lowest[i] = std::min(result.lowest[i], sums[i]);
      result.highest[i] = std::max(result.highest[i], sums[i]);
    }
    result.distinct.insert(bits);
  }
  return result;
}

void print(const char* name, const Runs& runs, int count) {
  std::size_t differing = 0;
  std::int64_t ulps = 0;
  double relative = 0;
  for (std::size_t i = 0; i < runs.lowest.size(); ++i) {
    const double low = runs.lowest[i], high = runs.highest[i];
    if (low == high) continue;
    ++differing;
    ulps = std::max(ulps, place(runs.highest[i]) - place(runs.lowest[i]));
    relative = std::max(relative, (high - low) / std::max(std::abs(low), std::abs(high)));
  }
  std::printf("  %-15s%6zu of %-6d%8zu of %-8zu%10lld ulp%12.1e    %s\n", name, runs.distinct.size(), count, differing,
              runs.lowest.size(), static_cast<long long>(ulps), relative, runs.right ? "yes" : "NO");
}

int compare_both(int runs, std::int64_t rows, std::int64_t cols) {
  const testing::BackwardCase input = testing::make_backward_case(
      Norm::layer_norm, testing::make_case(rows, cols, testing::Data::centred, 1), /*seed=*/2);
  // The longest way into a sum is that of the atomics, if a slab comes last: its own rows, then all other slabs.
  const Slabs slabs = slabs_for(rows, cols);
  const testing::BackwardSummation longest{{cols, 1}, {slabs.rows_per_slab + slabs.slabs, 1}};
  const testing::BackwardReference reference = testing::norm_backward_reference(input);
  const testing::BackwardTolerance tolerance = testing::norm_backward_tolerance(input, longest);
  const std::vector<double> expected = joined(reference.dgamma, reference.dbeta);
  const std::vector<double> bound = joined(tolerance.dgamma, tolerance.dbeta);

  const Runs atomics = run_often(backward::layer_norm_atomic, input, expected, bound, runs);
  const Runs stages = run_often(backward::layer_norm_separate, input, expected, bound, runs);
  std::printf("dgamma and dbeta of %lld rows of %lld columns, %d runs on the same input, in %lld slabs.\n\n",
              static_cast<long long>(rows), static_cast<long long>(cols), runs, static_cast<long long>(slabs.slabs));
  std::printf("                    distinct      elements that      largest difference       within\n");
  std::printf("                     results      differ by run      of an element         the bound\n");
  print("float atomics", atomics, runs);
  print("two stages", stages, runs);
  if (backend::is_simt) {
    std::printf("\nThis is the CPU executor. The order in which it runs blocks is its own, and not that of a GPU: how\n"
                "often the atomics differ here says nothing about how often they do there.\n");
  }
  return atomics.right && stages.right && stages.distinct.size() == 1 ? 0 : 1;
}

}  // namespace

int example(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t i, long long otherwise) {
    return i < arguments.size() ? std::atoll(arguments[i].c_str()) : otherwise;
  };
  const long long runs = number(0, backend::is_simt ? 10 : 100);
  const long long rows = number(1, backend::is_simt ? 256 : 4096);
  const long long cols = number(2, backend::is_simt ? 64 : 1024);
  if (arguments.size() == 2 || arguments.size() > 3 || runs < 1 || rows < 1 || cols < 1) {
    std::fprintf(stderr, "Write: 07_backward_atomic_example [RUNS [ROWS COLS]], each at least 1.\n");
    return 2;
  }
  return compare_both(static_cast<int>(runs), rows, cols);
}
