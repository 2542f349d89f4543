// Four floats at once and four floats one by one are the same four floats; only the requests differ.
#include <host/device_buffer.h>
#include <host/launch.h>
#include <testing/cases.h>
#include <testing/run.h>
#include <device/vector.cuh>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#include <simt/finding.h>
#endif

namespace {

constexpr int threads = 64;  // two warps
constexpr std::int64_t count = 4 * threads;

template <Access loads, Access stores>
__global__ void copy_kernel(const float* x, float* y) {
  const int first = 4 * threadIdx.x;
  store_four<stores>(y + first, load_four<loads>(x + first));
}

template <Access loads, Access stores>
void check_copy(std::int64_t x_offset, std::int64_t y_offset) {
  CAPTURE(x_offset);
  CAPTURE(y_offset);
  const std::vector<float> values = testing::random_bits(count, 0x40f4);  // bits: a NaN must arrive as well
  const DeviceBuffer<float> x("x", values, x_offset);
  const DeviceBuffer<float> y("y", count, y_offset);
  launch(copy_kernel<loads, stores>, {1, threads}, x.data(), y.data());
  CHECK(testing::same_bits(y.download(), values));
  x.check_guards();
  y.check_guards();
}

}  // namespace

TEST_CASE("every combination of accesses keeps every bit") {
  check_copy<Access::vector, Access::vector>(0, 0);
  check_copy<Access::vector, Access::scalar>(0, 0);
  check_copy<Access::scalar, Access::vector>(0, 0);
  check_copy<Access::scalar, Access::scalar>(0, 0);
}

TEST_CASE(
    "the scalar access works from every address that a float may have, the vector one from multiples of 16 bytes") {
  for (const std::int64_t offset : {1, 2, 3}) {
    check_copy<Access::scalar, Access::scalar>(offset, 4 - offset);
    check_copy<Access::vector, Access::scalar>(4, offset);
    check_copy<Access::scalar, Access::vector>(offset, 4);
  }
}

TEST_CASE("addresses suit vectors if each of them is a multiple of 16 bytes; null is one") {
  const DeviceBuffer<float> x("x", 8), y("y", 8);  // aligned to 256 bytes
  const float* const absent = nullptr;
  CHECK(aligned_for_vectors(x.data()));
  CHECK(aligned_for_vectors(x.data(), y.data() + 4, absent));
  CHECK(aligned_for_vectors(absent));
  for (const int offset : {1, 2, 3}) {
    CAPTURE(offset);
    CHECK_FALSE(aligned_for_vectors(x.data() + offset));
    CHECK_FALSE(aligned_for_vectors(x.data(), y.data() + offset));
    CHECK_FALSE(aligned_for_vectors(x.data() + offset, y.data()));
    CHECK_FALSE(aligned_for_vectors(x.data() + offset, y.data() + offset, absent));
  }
}

#ifndef LNH_CUDA

TEST_CASE("a vector access is one request of 512 bytes a warp, a scalar one is four of 128") {
  const DeviceBuffer<float> x("x", testing::random_bits(count, 1));
  const DeviceBuffer<float> y("y", count);
  const auto counts_of = [&](auto kernel) {
    simt::CountScope counts;
    launch(kernel, {1, threads}, x.data(), y.data());
    return counts.total();
  };
  const simt::LaunchCounts wide = counts_of(copy_kernel<Access::vector, Access::vector>);
  CHECK(wide.buffer("x").loads.requests == 2);
  CHECK(wide.buffer("x").loads.bytes == 2 * 512);
  CHECK(wide.buffer("x").loads.sectors == 2 * 16);
  CHECK(wide.buffer("y").stores.requests == 2);
  CHECK(wide.buffer("y").stores.bytes == 2 * 512);

  const simt::LaunchCounts narrow = counts_of(copy_kernel<Access::scalar, Access::scalar>);
  CHECK(narrow.buffer("x").loads.requests == 2 * 4);
  CHECK(narrow.buffer("x").loads.bytes == 2 * 512);
  CHECK(narrow.buffer("x").loads.sectors == 2 * 4 * 16);  // lanes 16 bytes apart: each request spans all 16 sectors
  CHECK(narrow.buffer("y").stores.requests == 2 * 4);
}

TEST_CASE("a vector access at another address is a finding") {
  const DeviceBuffer<float> x("x", testing::random_bits(count, 1), 1);
  const DeviceBuffer<float> y("y", count);
  CHECK_THROWS_AS(launch(copy_kernel<Access::vector, Access::scalar>, {1, threads}, x.data(), y.data()),
                  simt::FindingError);
}

#endif
