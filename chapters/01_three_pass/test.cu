// Three passes are right on every row that the course knows, and ask for x exactly three times.
#include "three_pass.cuh"

#include <host/device_buffer.h>
#include <testing/accuracy.h>
#include <testing/cases.h>
#include <testing/contract.h>
#include <testing/reports.h>
#include <testing/run.h>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <testing/counted.h>
#endif

namespace {

const testing::Stage stages[] = {
    {"three_pass::layer_norm_thread_per_row", three_pass::layer_norm_thread_per_row, testing::thread_per_row},
    {"three_pass::layer_norm", three_pass::layer_norm, testing::block_per_row<three_pass::block_threads>}};

}  // namespace

LAYER_NORM_ACCURACY(stages)

TEST_CASE("more rows than a grid has blocks are refused with a sentence, before anything is launched") {
  const DeviceBuffer<float> x("x", 1);  // never looked at
  const std::int64_t rows = std::int64_t{1} << 31;
  CHECK_THROWS_WITH_AS(three_pass::layer_norm({.x = x.data(), .y = x.data(), .rows = rows, .cols = 1}, nullptr),
                       doctest::Contains("2147483648 blocks, but gridDim.x takes at most 2147483647"),
                       std::invalid_argument);
  CHECK(DeviceBuffer<float>::is_poison(x.download()[0]));
}

LAYER_NORM_CONTRACT(three_pass::layer_norm_thread_per_row, .in_place = InPlace::allowed,
                    .summation = testing::thread_per_row, .rows_per_block = three_pass::block_threads,
                    .constant_row = testing::ConstantRow::exact_sums)
LAYER_NORM_CONTRACT(three_pass::layer_norm, .in_place = InPlace::allowed,
                    .summation = testing::block_per_row<three_pass::block_threads>, .rows_per_block = 1,
                    .constant_row = testing::ConstantRow::exact_sums)

LAYER_NORM_REPORTS(three_pass::layer_norm_thread_per_row, .in_place = InPlace::allowed,
                   .summation = testing::thread_per_row, .rows_per_block = three_pass::block_threads,
                   .constant_row = testing::ConstantRow::exact_sums)
LAYER_NORM_REPORTS(three_pass::layer_norm, .in_place = InPlace::allowed,
                   .summation = testing::block_per_row<three_pass::block_threads>, .rows_per_block = 1,
                   .constant_row = testing::ConstantRow::exact_sums)

TEST_SUITE("long"){
    LAYER_NORM_CONTRACT_LONG(three_pass::layer_norm_thread_per_row, .in_place = InPlace::allowed,
                             .summation = testing::thread_per_row, .rows_per_block = three_pass::block_threads,
                             .constant_row = testing::ConstantRow::exact_sums)
        LAYER_NORM_CONTRACT_LONG(three_pass::layer_norm, .in_place = InPlace::allowed,
                                 .summation = testing::block_per_row<three_pass::block_threads>, .rows_per_block = 1,
                                 .constant_row = testing::ConstantRow::exact_sums)}
#ifndef LNH_CUDA  // a GPU program cannot count its own requests: that is what a profiler is for

TEST_CASE("a block per row asks for x exactly three times, and touches it once") {
  const std::int64_t rows = 3, cols = 4096;
  const simt::LaunchCounts counts =
      testing::counts_of(three_pass::layer_norm, testing::make_case(rows, cols, testing::Data::centred, 3));

  const simt::BufferCounts x = counts.buffer("x");
  CHECK(x.loads.requests == 3 * rows * cols / 32);
  CHECK(x.loads.lanes == 3 * rows * cols);
  CHECK(x.loads.bytes == 3 * rows * cols * sizeof(float));
  CHECK(x.loads.sectors == 3 * rows * cols * sizeof(float) / 32);
  CHECK(x.bytes_touched_by_loads == rows * cols * sizeof(float));
  CHECK(x.stores.requests == 0);

  const simt::BufferCounts y = counts.buffer("y");
  CHECK(y.stores.requests == rows * cols / 32);
  CHECK(y.stores.bytes == rows * cols * sizeof(float));
  CHECK(y.bytes_touched_by_stores == rows * cols * sizeof(float));
  CHECK(y.loads.requests == 0);

  // gamma and beta: asked for by every row, touched once.
  for (const std::string name : {"gamma", "beta"}) {
    CAPTURE(name);
    CHECK(counts.buffer(name).loads.requests == rows * cols / 32);
    CHECK(counts.buffer(name).bytes_touched_by_loads == cols * sizeof(float));
  }
  CHECK(counts.buffer("mean").stores.lanes == rows);
  CHECK(counts.buffer("rstd").stores.lanes == rows);
}

TEST_CASE("a block sum costs nine barriers, 32 loads and 20 stores of shared memory") {
  const std::int64_t rows = 3;
  const simt::LaunchCounts counts =
      testing::counts_of(three_pass::layer_norm, testing::make_case(rows, 4096, testing::Data::centred, 3));
  // Of eight warps 4, 2, 1, 1, 1, 1, 1, 1 take part in the steps of the tree: 12, with two loads and one store each.
  CHECK(counts.blocks == rows);
  CHECK(counts.barriers == rows * 2 * (1 + 8));
  CHECK(counts.shared_loads.requests == rows * 2 * (12 * 2 + 8));
  CHECK(counts.shared_stores.requests == rows * 2 * (8 + 12));
  CHECK(counts.shuffles == 0);
}

TEST_CASE("a thread per row asks for x exactly three times, too, but each request spans 32 sectors") {
  const std::int64_t rows = 32, cols = 4096;
  const simt::LaunchCounts counts = testing::counts_of(three_pass::layer_norm_thread_per_row,
                                                       testing::make_case(rows, cols, testing::Data::centred, 4));
  const simt::BufferCounts x = counts.buffer("x");
  CHECK(x.loads.requests == 3 * rows * cols / 32);
  CHECK(x.loads.bytes == 3 * rows * cols * sizeof(float));
  CHECK(x.loads.sectors == 3 * rows * cols);
  CHECK(x.bytes_touched_by_loads == rows * cols * sizeof(float));
  CHECK(counts.barriers == 0);
}

#endif
