// The tests of the fixtures, as a chapter would have them: right values, no finding.
#include "counted.cuh"
#include "needed.cuh"
#include "quoted.cuh"
#include "superfluous.cuh"

#include <host/device_buffer.h>
#include <host/launch.h>
#include <simt/counts.h>

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

namespace {

std::vector<float> row_from_0(int count) {
  std::vector<float> row(count);
  std::iota(row.begin(), row.end(), 0.0f);
  return row;
}

}  // namespace

TEST_CASE("a row is reversed, rotated and copied") {
  const DeviceBuffer<float> x("x", row_from_0(64)), y("y", 64);
  launch(needed::reverse_kernel, {1, 64}, x.data(), y.data());
  for (int i = 0; i < 64; ++i) CHECK(y.download()[i] == 63 - i);
  launch(needed::rotate_kernel, {1, 32}, x.data(), y.data());
  for (int i = 0; i < 32; ++i) CHECK(y.download()[i] == (i + 1) % 32);
  launch(superfluous::copy_kernel, {1, 64}, x.data(), y.data());
  CHECK(y.download() == x.download());
}

TEST_CASE("the halves of a warp meet") { CHECK_NOTHROW(launch(needed::meeting_kernel, {1, 32})); }

TEST_CASE("a barrier is counted") {
  const simt::CountScope counts;
  launch(counted::barrier_kernel, {1, 64});
  CHECK(counts.total().barriers == 1);
}
