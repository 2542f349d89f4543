// Exercise 04.1: the state of a warp, by shuffles.
#include <1_warp_reduce.cuh>

#include <host/device_buffer.h>
#include <host/launch.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

using exercise::Welford;

namespace {

/// What lane 0 of a warp returned.
struct Result {
  int n;
  float mean;
  float m2;
};

/// Thread i holds the state of one value, or of none where present[i] is 0. Lane 0 of warp w stores what it was given.
__global__ void warp_kernel(const float* values, const int* present, int* n, float* mean, float* m2) {
  Welford state{};
  if (present[threadIdx.x] != 0) state = {1, values[threadIdx.x], 0.0f};
  state = exercise::warp_reduce(state);
  if (threadIdx.x % exercise::warp_lanes == 0) {
    const unsigned warp = threadIdx.x / exercise::warp_lanes;
    n[warp] = static_cast<int>(state.n);
    mean[warp] = state.mean;
    m2[warp] = state.m2;
  }
}

std::vector<Result> results_of(const std::vector<float>& values, const std::vector<int>& present) {
  const auto warps = static_cast<std::int64_t>(values.size()) / exercise::warp_lanes;
  const DeviceBuffer<float> in("values", values);
  const DeviceBuffer<int> held("present", present), n("n", warps);
  const DeviceBuffer<float> mean("mean", warps), m2("m2", warps);
  launch(warp_kernel, {1, static_cast<unsigned>(values.size())}, in.data(), held.data(), n.data(), mean.data(),
         m2.data());
  const std::vector<int> all_n = n.download();
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
    const std::vector<Result> results = results_of(values_near(0, threads), std::vector<int>(threads, 1));
    return !std::all_of(results.begin(), results.end(), [](const Result& r) { return is_not_written_yet(r.mean); });
  }();
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: warp_reduce returns what the stub returns");
}

/// Judges every warp of a block of eight: present says which threads hold a value.
void check(const std::vector<float>& values, const std::function<bool(int thread)>& present) {
  std::vector<int> flags(values.size());
  for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = present(static_cast<int>(i)) ? 1 : 0;
  const std::vector<Result> results = results_of(values, flags);
  for (std::size_t warp = 0; warp < results.size(); ++warp) {
    int n = 0;
    double sum = 0, absolute = 0, m2 = 0;
    const auto each = [&](const std::function<void(double)>& add) {
      for (std::size_t i = warp * 32; i < (warp + 1) * 32; ++i)
        if (flags[i] != 0) add(values[i]);
    };
    each([&](double x) { ++n, sum += x, absolute += std::abs(x); });
    const double mean = n == 0 ? 0 : sum / n;
    each([&](double x) { m2 += (x - mean) * (x - mean); });

    const Result& got = results[warp];
    CAPTURE(warp);
    REQUIRE_MESSAGE(got.n == n, LNH_SUBJECT " gives a wrong count: lane 0 of warp " << warp << " returned n = " << got.n
                                                                                    << ", and " << n
                                                                                    << " of its lanes hold a value");
    // testing/tolerance.h: D = 1 + log₂32 merges on the way of a value; u = 2⁻²⁴, κ = √(1 + mean²/variance).
    const double u = 0x1p-24, depth = 6;
    const double mean_bound = n == 0 ? 0 : (depth + 1) * u * absolute / n;
    const double kappa = m2 == 0 ? 0 : std::sqrt(1 + mean * mean / (m2 / n));
    REQUIRE_MESSAGE(std::abs(got.mean - mean) <= mean_bound, LNH_SUBJECT " gives a wrong mean: lane 0 of warp "
                                                                 << warp << " returned " << got.mean << ", expected "
                                                                 << mean << " within " << mean_bound);
    REQUIRE_MESSAGE(std::abs(got.m2 - m2) <= depth * kappa * u * m2,
                    LNH_SUBJECT " gives a wrong m2: lane 0 of warp " << warp << " returned " << got.m2 << ", expected "
                                                                     << m2 << " within " << depth * kappa * u * m2);
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

#ifndef LNH_CUDA  // a GPU program cannot count its own shuffles and requests

TEST_CASE(LNH_SUBJECT ": five steps are enough, and no shared memory") {
  require_written();
  simt::CountScope counts;
  results_of(values_near(0, threads), std::vector<int>(threads, 1));
  const std::uint64_t warps = threads / exercise::warp_lanes, words = sizeof(Welford) / 4;
  CHECK_MESSAGE(counts.total().shuffles <= 5 * words * warps,
                LNH_SUBJECT " uses " << counts.total().shuffles / warps << " shuffles in each warp. A state has "
                                     << words << " words of 4 bytes, and five steps need no more than " << 5 * words);
  CHECK_MESSAGE(counts.total().shared_stores.requests == 0, LNH_SUBJECT " stores to shared memory");
}

#endif
