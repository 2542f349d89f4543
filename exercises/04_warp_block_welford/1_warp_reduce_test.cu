// Exercise 04.1: the state of a warp, by shuffles.
#include <1_warp_reduce.cuh>

#include <host/device_buffer.h>
#include <host/launch.h>
#include <testing/diagnosis_states.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

using exercise::Welford;

namespace {

/// What lane 0 of a warp returned.
struct Result {
  std::int64_t n;
  float mean;
  float m2;
};

/// Thread i has seen values[i] counts[i] times and nothing else. Lane 0 of warp w stores what it was given.
__global__ void warp_kernel(const float* values, const std::int64_t* counts, std::int64_t* n, float* mean, float* m2) {
  Welford state{};
  if (counts[threadIdx.x] != 0) state = {counts[threadIdx.x], values[threadIdx.x], 0.0f};
  state = exercise::warp_reduce(state);
  if (threadIdx.x % exercise::warp_lanes == 0) {
    const unsigned warp = threadIdx.x / exercise::warp_lanes;
    n[warp] = state.n;
    mean[warp] = state.mean;
    m2[warp] = state.m2;
  }
}

std::vector<Result> results_of(const std::vector<float>& values, const std::vector<std::int64_t>& counts) {
  const auto warps = static_cast<std::int64_t>(values.size()) / exercise::warp_lanes;
  const DeviceBuffer<float> in("values", values);
  const DeviceBuffer<std::int64_t> times("counts", counts), n("n", warps);
  const DeviceBuffer<float> mean("mean", warps), m2("m2", warps);
  launch(warp_kernel, {1, static_cast<unsigned>(values.size())}, in.data(), times.data(), n.data(), mean.data(),
         m2.data());
  const std::vector<std::int64_t> all_n = n.download();
  const std::vector<float> all_mean = mean.download(), all_m2 = m2.download();
  std::vector<Result> results;
  for (std::size_t warp = 0; warp < all_n.size(); ++warp)
    results.push_back({all_n[warp], all_mean[warp], all_m2[warp]});
  return results;
}

/// Values in [offset, offset + 1), another in each thread.
std::vector<float> values_near(float offset, int count) {
  std::mt19937 bits(0x5eed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = offset + static_cast<float>(bits() % 65536) / 65536.0f;
  return values;
}

constexpr int threads = 8 * exercise::warp_lanes;

void require_written() {
  static const bool written = [] {
    const std::vector<Result> results = results_of(values_near(0, threads), std::vector<std::int64_t>(threads, 1));
    return !std::all_of(results.begin(), results.end(), [](const Result& r) { return is_not_written_yet(r.mean); });
  }();
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: warp_reduce returns what the stub returns");
}

/// Which known mistake gives lane 0 this state, where lane i of the warp has seen values[i] counts[i] times.
std::string diagnosis(std::span<const float> values, std::span<const std::int64_t> counts, const Result& got,
                      double mean, double m2) {
  std::vector<testing::WelfordState> lanes;
  std::int64_t n = 0;
  for (std::size_t i = 0; i < exercise::warp_lanes; ++i) {
    const double count = static_cast<double>(counts[i]);
    lanes.push_back({count, count == 0 ? 0.0 : values[i], 0});
    n += counts[i];
  }
  return testing::likely_mistake(testing::mistaken_warp_reductions(lanes),
                                 {static_cast<double>(got.n - n), got.mean, got.m2}, {0, mean, m2});
}

/// Judges every warp of a block of eight: present says which threads hold a value.
void check(const std::vector<float>& values, const std::function<bool(int thread)>& present) {
  std::vector<std::int64_t> counts(values.size());
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = present(static_cast<int>(i)) ? 1 : 0;
  const std::vector<Result> results = results_of(values, counts);
  for (std::size_t warp = 0; warp < results.size(); ++warp) {
    int n = 0;
    double sum = 0, absolute = 0, m2 = 0;
    const auto each = [&](const std::function<void(double)>& add) {
      for (std::size_t i = warp * 32; i < (warp + 1) * 32; ++i)
        if (counts[i] != 0) add(values[i]);
    };
    each([&](double x) { ++n, sum += x, absolute += std::abs(x); });
    const double mean = n == 0 ? 0 : sum / n;
    each([&](double x) { m2 += (x - mean) * (x - mean); });

    const Result& got = results[warp];
    CAPTURE(warp);
    const auto why = [&] {
      return diagnosis(std::span(values).subspan(warp * 32), std::span(counts).subspan(warp * 32), got, mean, m2);
    };
    REQUIRE_MESSAGE(got.n == n, LNH_SUBJECT " gives a wrong count: lane 0 of warp "
                                    << warp << " returned n = " << got.n << ", and " << n
                                    << " of its lanes hold a value" << why());
    // testing/tolerance.h: D = 1 + log₂32 merges on the way of a value; u = 2⁻²⁴, κ = √(1 + mean²/variance).
    const double u = 0x1p-24, depth = 6;
    const double mean_bound = n == 0 ? 0 : (depth + 1) * u * absolute / n;
    const double kappa = m2 == 0 ? 0 : std::sqrt(1 + mean * mean / (m2 / n));
    REQUIRE_MESSAGE(std::abs(got.mean - mean) <= mean_bound, LNH_SUBJECT " gives a wrong mean: lane 0 of warp "
                                                                 << warp << " returned " << got.mean << ", expected "
                                                                 << mean << " within " << mean_bound << why());
    REQUIRE_MESSAGE(std::abs(got.m2 - m2) <= depth * kappa * u * m2, LNH_SUBJECT " gives a wrong m2: lane 0 of warp "
                                                                         << warp << " returned " << got.m2
                                                                         << ", expected " << m2 << " within "
                                                                         << depth * kappa * u * m2 << why());
  }
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": lane 0 of each warp has the state of its 32 lanes") {
  require_written();
  check(values_near(0, threads), [](int) { return true; });
  check(values_near(-1000, threads), [](int) { return true; });
}

TEST_CASE(LNH_SUBJECT ": lanes that hold no value add nothing, wherever they are") {
  require_written();
  const std::vector<float> values = values_near(100, threads);
  for (int first = 0; first <= 32; ++first) {
    INFO("in each warp the first " << first << " lanes hold a value");
    check(values, [first](int thread) { return thread % 32 < first; });
  }
  for (int lane = 0; lane < 32; ++lane) {
    INFO("in each warp lane " << lane << " alone holds a value");
    check(values, [lane](int thread) { return thread % 32 == lane; });
  }
  INFO("every third thread holds a value");
  check(values, [](int thread) { return thread % 3 == 2; });
}

TEST_CASE(LNH_SUBJECT ": a count travels whole, with all its 64 bits") {
  require_written();
  // More than fit into a float, into an int and into an unsigned. All values are equal, so mean and m2 have no
  // rounding.
  for (const std::int64_t count : {(std::int64_t{1} << 24) + 1, std::int64_t{1} << 31, (std::int64_t{1} << 33) + 1}) {
    const std::vector<std::int64_t> counts(threads, count);
    const std::vector<float> values(threads, 0.5f);
    for (const Result& got : results_of(values, counts)) {
      REQUIRE_MESSAGE(got.n == 32 * count, LNH_SUBJECT " gives a wrong count: each of 32 lanes holds the state of "
                                               << count << " values, and lane 0 returned n = " << got.n << ", expected "
                                               << 32 * count << ". Does n travel in fewer than 64 bits?"
                                               << diagnosis(values, counts, got, 0.5, 0));
      REQUIRE_MESSAGE((got.mean == 0.5f && got.m2 == 0),
                      LNH_SUBJECT " gives a wrong mean or m2: each of 32 lanes holds the state of "
                          << count << " values of 0.5, and lane 0 returned the mean " << got.mean
                          << " and m2 = " << got.m2 << diagnosis(values, counts, got, 0.5, 0));
    }
  }
}

#ifndef LNH_CUDA  // a GPU program cannot count its own shuffles and requests

TEST_CASE(LNH_SUBJECT ": five steps are enough, and no shared memory") {
  require_written();
  simt::CountScope counts;
  results_of(values_near(0, threads), std::vector<std::int64_t>(threads, 1));
  const std::uint64_t warps = threads / exercise::warp_lanes, words = sizeof(Welford) / 4;
  CHECK_MESSAGE(counts.total().shuffles <= 5 * words * warps,
                LNH_SUBJECT " uses " << counts.total().shuffles / warps << " shuffles in each warp. A state has "
                                     << words << " words of 4 bytes, and five steps need no more than " << 5 * words);
  CHECK_MESSAGE(counts.total().shared_stores.requests == 0, LNH_SUBJECT " stores to shared memory");
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>
#include <testing/reference.h>

#include <span>

COMPARISON_TEST_CASE {  // the digits are those of m2; the loads and stores are the test's, so there is no floor
  const std::vector<float> values = values_near(0, threads);
  std::vector<float> got;
  std::vector<double> truth;
  const simt::CountScope counts;
  for (const Result& result : results_of(values, std::vector<std::int64_t>(threads, 1))) got.push_back(result.m2);
  for (std::size_t first = 0; first < values.size(); first += exercise::warp_lanes) {
    const auto warp = std::span(values).subspan(first, exercise::warp_lanes);
    truth.push_back(testing::moments(warp).variance * exercise::warp_lanes);
  }
  testing::print_comparison(
      {.name = "8 warps of 32 values", .got = got, .truth = truth, .counts = counts.total(), .floor = {}});
}

#endif
