// Both copies keep every bit, at every size and alignment; the wide one asks memory a quarter as often.
#include "copy.cuh"

#include <host/device_buffer.h>
#include <testing/cases.h>
#include <testing/contract.h>
#include <testing/run.h>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

namespace {

struct Stage {
  std::string name;
  CopyLauncher launch;
};
const Stage stages[] = {{"copy::scalar", copy::scalar}, {"copy::vectorized", copy::vectorized}};

// Around every boundary: a quad, a warp of floats, a warp of quads, a block of floats, a block of quads.
constexpr std::int64_t counts[] = {1,   2,   3,   4,   5,    31,   32,   33,   127,   128,
                                   129, 255, 256, 257, 1023, 1024, 1025, 4096, 100003};
// Elements by which x and y are moved away from 256-byte alignment.
struct Offset {
  int x, y;
};
constexpr Offset offsets[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 3}, {4, 4}};

}  // namespace

TEST_CASE("every bit is copied, whatever the count and the alignment") {
  for (const Stage& stage : stages) {
    for (const std::int64_t count : counts) {
      const std::vector<float> expected = testing::random_bits(count, 0x00c0fe);
      for (const Offset offset : offsets) {
        CAPTURE(stage.name);
        CAPTURE(count);
        CAPTURE(offset.x);
        CAPTURE(offset.y);
        const DeviceBuffer<float> x("x", expected, offset.x);
        const DeviceBuffer<float> y("y", count, offset.y);
        stage.launch({.x = x.data(), .y = y.data(), .count = count}, nullptr);
        CHECK(testing::same_bits(y.download(), expected));
        CHECK(testing::same_bits(x.download(), expected));
        x.check_guards();
        y.check_guards();
      }
    }
  }
}

COPY_CONTRACT(copy::scalar, .elements_per_block = copy::block_threads)
COPY_CONTRACT(copy::vectorized, .elements_per_block = 4 * copy::block_threads)

#ifndef LNH_CUDA  // a GPU program cannot count its own requests: that is what a profiler is for

namespace {

simt::BufferCounts counts_of(const std::string& buffer, CopyLauncher launch, std::int64_t count,
                             std::int64_t x_offset = 0) {
  const DeviceBuffer<float> x("x", testing::random_bits(count, 0x00c0fe), x_offset);
  const DeviceBuffer<float> y("y", count);
  simt::CountScope counts;
  launch({.x = x.data(), .y = y.data(), .count = count}, nullptr);
  return counts.total().buffer(buffer);
}

}  // namespace

TEST_CASE("the scalar copy asks once for each 32 floats") {
  const std::int64_t count = 1 << 14;
  const simt::AccessCounts loads = counts_of("x", copy::scalar, count).loads;
  CHECK(loads.requests == count / 32);
  CHECK(loads.bytes == count * sizeof(float));
  CHECK(loads.sectors == count * sizeof(float) / 32);
  const simt::AccessCounts stores = counts_of("y", copy::scalar, count).stores;
  CHECK(stores.requests == count / 32);
  CHECK(stores.bytes == count * sizeof(float));
}

TEST_CASE("the vectorised copy asks once for each 128 floats, for the same bytes and sectors") {
  const std::int64_t count = 1 << 14;
  const simt::AccessCounts loads = counts_of("x", copy::vectorized, count).loads;
  CHECK(loads.requests == count / 128);
  CHECK(loads.bytes == count * sizeof(float));
  CHECK(loads.sectors == count * sizeof(float) / 32);
  const simt::AccessCounts stores = counts_of("y", copy::vectorized, count).stores;
  CHECK(stores.requests == count / 128);
  CHECK(stores.bytes == count * sizeof(float));
}

TEST_CASE("a tail of three floats costs the vectorised copy one request more") {
  const std::int64_t count = (1 << 14) + 3;
  const simt::AccessCounts loads = counts_of("x", copy::vectorized, count).loads;
  CHECK(loads.requests == count / 128 + 1);
  CHECK(loads.bytes == count * sizeof(float));
}

TEST_CASE("from a misaligned address the vectorised copy is the scalar copy") {
  const std::int64_t count = 1 << 14;
  const simt::AccessCounts loads = counts_of("x", copy::vectorized, count, 1).loads;
  CHECK(loads.requests == count / 32);
  CHECK(loads.bytes == count * sizeof(float));
  // Each request of 128 bytes begins 4 bytes into a sector, so it spans five sectors instead of four.
  CHECK(loads.sectors == 5 * count / 32);
}

TEST_CASE("a copy touches each byte once") {
  const std::int64_t count = 1 << 14;
  for (const Stage& stage : stages) {
    CAPTURE(stage.name);
    CHECK(counts_of("x", stage.launch, count).bytes_touched_by_loads == count * sizeof(float));
    CHECK(counts_of("y", stage.launch, count).bytes_touched_by_stores == count * sizeof(float));
  }
}

#endif
