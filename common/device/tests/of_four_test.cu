// The state of four values: near the exact one, exact where all are equal, never negative, and NaN where one is not
// finite. On the host and on the device.
#include <host/device_buffer.h>
#include <host/launch.h>
#include <testing/random.h>
#include <testing/reference.h>
#include <device/welford.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

using testing::Random;

namespace {

constexpr double u = 0x1p-24;
constexpr int trials = 10000;
using Four = std::array<float, 4>;

Welford of_four(const Four& x) { return of_four(float4{x[0], x[1], x[2], x[3]}); }

/// σ = 1 around a mean of 0, or up to 10⁵ in size.
Four random_four(Random& random) {
  const double offset = random.bits() % 4 == 0 ? 0 : std::pow(10, random.uniform(-2, 5));
  Four x{};
  for (float& value : x) value = static_cast<float>(offset + random.normal());
  return x;
}

/// Values up to 3 ulp above one float.
Four neighbours(Random& random) {
  Four x{};
  x.fill(static_cast<float>(random.uniform(-2, 2) * std::pow(10, random.uniform(-10, 10))));
  for (float& value : x) {
    for (std::uint64_t steps = random.bits() % 4; steps > 0; --steps) value = std::nextafter(value, 1e30f);
  }
  return x;
}

/// Whether a state of x is within what its own roundings may do. M is the largest |x|, d the largest difference. Each
/// pair's mean is off by at most u(M + d/2), so delta by 2u(M + d) and the mean by u(3M + 3d/2). The two squares are
/// off by 4u of themselves. In 2·delta·(second_mean − mean) the last factor is off by u(4M + 5d/2), which makes at most
/// u·|delta|·(10M + 7d) + 4u·delta² in all.
void check_near(const Welford& state, const Four& x) {
  const testing::Moments exact = testing::moments(x);
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const double d = static_cast<double>(*high) - *low;
  const double m = std::max(std::abs(static_cast<double>(*low)), std::abs(static_cast<double>(*high)));
  const double delta = std::abs((static_cast<double>(x[2]) + x[3] - x[0] - x[1]) / 2);
  const double m2 = 4 * exact.variance;
  CAPTURE(x);
  CHECK(state.n == 4);
  CHECK(std::abs(state.mean - exact.mean) <= 1.001 * u * (3 * m + 1.5 * d));
  CHECK(std::abs(state.m2 - m2) <= 1.001 * u * (delta * (10 * m + 7 * d) + 5 * m2));
}

__global__ void of_four_kernel(const float* x, float* mean, float* m2, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Welford state = of_four(float4{x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]});
  mean[i] = state.mean;
  m2[i] = state.m2;
}

}  // namespace

TEST_CASE("a four is within its own roundings of the exact state") {
  Random random(51);
  for (int trial = 0; trial < trials; ++trial) {
    const Four x = trial % 2 == 0 ? random_four(random) : neighbours(random);
    check_near(of_four(x), x);
  }
}

TEST_CASE("four equal values have themselves as mean, and m2 is exactly 0") {
  Random random(52);
  for (int trial = 0; trial < trials; ++trial) {
    const float value = static_cast<float>(random.uniform(-2, 2) * std::pow(10, random.uniform(-38, 38)));
    const Welford state = of_four(Four{value, value, value, value});
    CHECK(state.mean == value);
    CHECK(state.m2 == 0);
  }
}

TEST_CASE("m2 is never negative: delta and second_mean − mean have the same sign") {
  Random random(53);
  for (int trial = 0; trial < trials; ++trial) {
    const Four x = trial % 2 == 0 ? random_four(random) : neighbours(random);
    CAPTURE(x);
    CHECK(of_four(x).m2 >= 0);
  }
}

TEST_CASE("with an infinity or a NaN in any place m2 is NaN and the mean is not finite") {
  for (const float value : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    for (std::size_t place = 0; place < 4; ++place) {
      CAPTURE(value);
      CAPTURE(place);
      Four x{1, 2, 3, 4};
      x[place] = value;
      const Welford state = of_four(x);
      CHECK(std::isnan(state.m2));
      CHECK_FALSE(std::isfinite(state.mean));
    }
  }
}

TEST_CASE("on the device, where nvcc may fuse a product and a sum, the same holds") {
  Random random(54);
  std::vector<Four> fours(trials);
  for (std::size_t i = 0; i < fours.size(); ++i) fours[i] = i % 2 == 0 ? random_four(random) : neighbours(random);
  fours.back().fill(123.4f);
  std::vector<float> values;
  for (const Four& four : fours) values.insert(values.end(), four.begin(), four.end());

  const DeviceBuffer<float> x("x", values), mean("mean", trials), m2("m2", trials);
  launch(of_four_kernel, {(trials + 255) / 256, 256}, x.data(), mean.data(), m2.data(), trials);
  const std::vector<float> means = mean.download(), m2s = m2.download();
  for (std::size_t i = 0; i < fours.size(); ++i) {
    check_near({4, means[i], m2s[i]}, fours[i]);
    CHECK(m2s[i] >= 0);
  }
  CHECK(m2s.back() == 0);
}

#ifndef LNH_CUDA
namespace {

__global__ void straight_kernel(const float* x, float* means) {
  means[threadIdx.x] = of_four(*reinterpret_cast<const float4*>(x + 4 * threadIdx.x)).mean;
}

}  // namespace

// It takes them by value: by reference, each of its members would be loaded by itself.
TEST_CASE("four values given to it straight from memory are one load of 16 bytes") {
  const DeviceBuffer<float> x("x", std::vector<float>(128, 1.0f)), means("means", 32);
  const simt::CountScope counts;
  launch(straight_kernel, {1, 32}, x.data(), means.data());
  CHECK(counts.total().buffer("x").loads.requests == 1);
  CHECK(counts.total().buffer("x").loads.bytes == 512);
}
#endif
