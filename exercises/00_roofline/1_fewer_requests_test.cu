// Exercise 00.1: the copy keeps every bit, and asks memory no more often than it needs to.
#include <1_fewer_requests.cuh>

#include <host/device_buffer.h>
#include <testing/cases.h>
#include <testing/diagnosis.h>
#include <testing/run.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <host/launch_window.h>
#include <simt/counts.h>
#endif

namespace {

// Elements by which x and y are moved away from 256-byte alignment.
struct Offset {
  int x, y;
};
constexpr Offset offsets[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 2}, {3, 1}, {4, 4}};

/// What a copy that is not complete looks like: only the elements behind the last whole four may be missing.
std::string diagnosis(const std::vector<float>& got, const std::vector<float>& expected) {
  const std::vector<double> all(expected.begin(), expected.end());
  std::vector<double> without_tail = all;
  for (std::size_t i = all.size() / 4 * 4; i < all.size(); ++i) without_tail[i] = std::nan("");  // never written
  return testing::likely_mistake({{"tail_not_written", without_tail}}, {got.begin(), got.end()}, all);
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": every bit is copied, whatever the count and the alignment") {
  for (const std::int64_t count : {4096, 4099, 20002, 1025, 1024, 1023, 129, 128, 127, 7, 5, 4, 3, 2, 1}) {
    const std::vector<float> expected = testing::random_bits(count, 0x5eed);
    for (const Offset offset : offsets) {
      CAPTURE(count);
      CAPTURE(offset.x);
      CAPTURE(offset.y);
      const DeviceBuffer<float> x("x", expected, offset.x);
      const DeviceBuffer<float> y("y", count, offset.y);
      exercise::copy({.x = x.data(), .y = y.data(), .count = count}, nullptr);
      const std::vector<float> got = y.download();
      REQUIRE_MESSAGE(testing::same_bits(got, expected),
                      LNH_SUBJECT " does not copy every element" << diagnosis(got, expected));
      x.check_guards();
      y.check_guards();
    }
  }
}

#ifdef LNH_CUDA

TEST_CASE(LNH_SUBJECT ": requests are not counted here") {
  MESSAGE("A GPU program cannot count its own requests: on the cuda backend this exercise checks values alone. "
          "The simt backend counts them.");
}

#else

TEST_CASE(LNH_SUBJECT ": memory is asked no more often than one 16-byte access per thread asks it") {
  const std::int64_t count = 1 << 14;
  const DeviceBuffer<float> x("x", testing::random_bits(count, 0x5eed));
  const DeviceBuffer<float> y("y", count);
  simt::CountScope counts;
  exercise::copy({.x = x.data(), .y = y.data(), .count = count}, nullptr);

  const std::uint64_t needed = count / (4 * 32);  // four floats in each of 32 lanes
  const auto judge = [needed](const std::string& kind, const simt::AccessCounts& asked) {
    const double times = static_cast<double>(asked.requests) / static_cast<double>(needed);
    const double requests = static_cast<double>(asked.requests);
    CHECK_MESSAGE(asked.requests <= needed, LNH_SUBJECT " asks "
                                                << times << " times as often as needed: " << asked.requests << " "
                                                << kind << " requests of " << asked.bytes / asked.requests
                                                << " bytes, where " << needed << " of 512 bytes would do. Each covers "
                                                << asked.sectors / requests << " sectors of 32 bytes; "
                                                << asked.ideal_sectors / requests << " would hold its bytes");
    CHECK_MESSAGE(asked.bytes == count * sizeof(float),
                  LNH_SUBJECT " asks for " << asked.bytes << " bytes in its " << kind << " requests, where "
                                           << count * sizeof(float) << " bytes are copied");
  };
  judge("load", counts.total().buffer("x").loads);
  judge("store", counts.total().buffer("y").stores);
}

TEST_CASE(LNH_SUBJECT ": the last elements of a copy beyond 2^32 elements are copied") {
  const std::int64_t count = (std::int64_t{1} << 32) + 1027, tail = 1027;
  const std::vector<float> expected = testing::random_bits(tail, 0x5eed);
  auto x = DeviceBuffer<float>::untouched("x", count);
  auto y = DeviceBuffer<float>::untouched("y", count);
  x.upload(expected, count - tail);
  const std::uint64_t blocks = count / (4 * exercise::block_threads) + 1;
  const LaunchWindow last_two_blocks(blocks - 2, 2);
  INFO("These elements lie behind the 2^32nd: is an index computed in 32 bits?");
  exercise::copy({.x = x.data(), .y = y.data(), .count = count}, nullptr);
  CHECK_MESSAGE(testing::same_bits(y.download(count - tail, tail), expected),
                LNH_SUBJECT " loses the last elements of a large array");
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE {
  const std::vector<float> values = testing::compared_rows().x;
  const DeviceBuffer<float> x("x", values);
  const DeviceBuffer<float> y("y", x.size());
  const simt::CountScope counts;
  exercise::copy({.x = x.data(), .y = y.data(), .count = x.size()}, nullptr);
  testing::print_comparison({.name = std::to_string(x.size()) + " floats",
                             .got = y.download(),
                             .truth = {values.begin(), values.end()},
                             .cols = x.size(),
                             .counts = counts.total(),
                             .floor = testing::floor_of({x.size()}, {x.size()})});
}

#endif
