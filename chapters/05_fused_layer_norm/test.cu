// Fused LayerNorm is right in every shape of a block and at every alignment, with the same bits; it asks a quarter as
// often as chapter 04, and reads a row for the second time in the block that read it first.
#include "fused_layer_norm.cuh"

#include <host/device_buffer.h>
#include <testing/accuracy.h>
#include <testing/cases.h>
#include <testing/contract.h>
#include <testing/reports.h>
#include <testing/run.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <testing/counted.h>
#include "../04_warp_block_welford/warp_block_welford.cuh"
#endif

namespace {

testing::Summation summation(std::int64_t cols) { return testing::dealt_in_fours(cols, shape_for(cols).threads); }
std::int64_t rows_per_block(std::int64_t cols) { return shape_for(cols).rows; }

/// A LayerNormLauncher is a plain function, so each shape needs one of its own.
struct Shaped {
  Shape shape;
  LayerNormLauncher launch;
};
template <int threads, int rows>
constexpr Shaped shaped{{threads, rows}, [](const LayerNormArgs& args, cudaStream_t stream) {
                          fused_layer_norm::layer_norm_in_shape(args, {threads, rows}, stream);
                        }};
// Powers of two, as in the table, and shapes that nobody would choose.
const Shaped shapes[] = {shaped<32, 1>,  shaped<32, 4>,   shaped<32, 8>,  shaped<32, 32>, shaped<64, 1>,
                         shaped<64, 4>,  shaped<128, 2>,  shaped<256, 1>, shaped<256, 4>, shaped<512, 1>,
                         shaped<512, 2>, shaped<1024, 1>, shaped<32, 5>,  shaped<96, 3>,  shaped<160, 1>,
                         shaped<480, 2>, shaped<992, 1>};

std::string name(Shape shape) { return std::to_string(shape.threads) + "×" + std::to_string(shape.rows); }

const testing::Stage stages[] = {{"fused_layer_norm::layer_norm", fused_layer_norm::layer_norm, summation}};

void check_same_bits(const testing::NormResult& got, const testing::NormResult& expected) {
  CHECK(testing::same_bits(got.y, expected.y));
  CHECK(testing::same_bits(got.mean, expected.mean));
  CHECK(testing::same_bits(got.rstd, expected.rstd));
}

}  // namespace

LAYER_NORM_ACCURACY(stages)

TEST_CASE("right within the bound in every shape of a block, on rows of one column to more than the block has") {
  double largest = 0;
  for (const std::int64_t cols : {1, 3, 4, 5, 127, 128, 130, 511, 513, 1024, 2051, 4096, 4100}) {
    // Five rows: no multiple of 2, 3, 4, 8 or 32, so the last block has threads without a row.
    const auto input = testing::make_case(5, cols, testing::Data::offset_100, static_cast<std::uint64_t>(cols));
    for (const Shaped& kernel : shapes) {
      CAPTURE(name(kernel.shape));
      const testing::NormVerdict verdict =
          testing::judge(kernel.launch, input, testing::dealt_in_fours(cols, kernel.shape.threads));
      CHECK_MESSAGE(verdict.passed(), verdict.text());
      largest = std::max(largest, verdict.ratio());
    }
  }
  MESSAGE("error/bound at most " << largest);
}

TEST_CASE("the same bits when x, y, gamma or beta is misaligned, each on its own, in every shape") {
  for (const std::int64_t cols : {1, 4, 100, 101, 102, 103, 1024}) {
    const auto input = testing::make_case(3, cols, testing::Data::offset_10, static_cast<std::uint64_t>(cols));
    for (const Shaped& kernel : shapes) {
      CAPTURE(cols);
      CAPTURE(name(kernel.shape));
      const testing::NormResult aligned = testing::run(kernel.launch, input);
      for (const testing::RunOptions& misaligned :
           {testing::RunOptions{.x_offset = 1}, testing::RunOptions{.y_offset = 2},
            testing::RunOptions{.gamma_offset = 3}, testing::RunOptions{.beta_offset = 1}}) {
        check_same_bits(testing::run(kernel.launch, input, misaligned), aligned);
      }
    }
  }
}

TEST_CASE("a row's bits do not depend on how many rows a block has") {
  const Shaped with_32_threads[] = {shaped<32, 1>, shaped<32, 4>, shaped<32, 5>, shaped<32, 8>, shaped<32, 32>};
  const Shaped with_256_threads[] = {shaped<256, 1>, shaped<256, 2>, shaped<256, 3>, shaped<256, 4>};
  for (const std::int64_t cols : {37, 1000}) {
    const testing::NormCase input = testing::make_case(7, cols, testing::Data::offset_100, 21);
    for (const auto& same_threads : {std::vector<Shaped>(std::begin(with_32_threads), std::end(with_32_threads)),
                                     std::vector<Shaped>(std::begin(with_256_threads), std::end(with_256_threads))}) {
      const testing::NormResult first = testing::run(same_threads.front().launch, input);
      for (const Shaped& kernel : same_threads) {
        CAPTURE(cols);
        CAPTURE(name(kernel.shape));
        check_same_bits(testing::run(kernel.launch, input), first);
      }
    }
  }
}

TEST_CASE("the table gives every length a shape that a block can have, and a thread at most 16 elements up to 16 384") {
  for (std::int64_t cols = 1; cols <= 40000; ++cols) {
    CAPTURE(cols);
    const Shape shape = shape_for(cols);
    REQUIRE_NOTHROW(check(shape));
    if (cols <= 16384) REQUIRE(cols <= 16 * shape.threads);
    REQUIRE(shape_for(cols + 1).threads >= shape.threads);
  }
}

TEST_CASE("a shape that no block has is refused with a sentence, before anything is launched") {
  const DeviceBuffer<float> x("x", 1);  // never looked at
  const LayerNormArgs args{.x = x.data(), .y = x.data(), .rows = 1, .cols = 1};
  const auto refused = [&](Shape shape, const char* message) {
    CHECK_THROWS_WITH_AS(fused_layer_norm::layer_norm_in_shape(args, shape, nullptr), message, std::invalid_argument);
  };
  refused({0, 1},
          "the shape 0×1 has 0 threads a row; it must be a positive multiple of 32, so that every warp is full");
  refused({-32, 1},
          "the shape -32×1 has -32 threads a row; it must be a positive multiple of 32, so that every warp is full");
  refused({48, 1},
          "the shape 48×1 has 48 threads a row; it must be a positive multiple of 32, so that every warp is full");
  refused({32, 0}, "the shape 32×0 has 0 rows a block; it must have at least 1, and threads · rows at most 1024");
  refused({32, 33}, "the shape 32×33 has 33 rows a block; it must have at least 1, and threads · rows at most 1024");
  refused({1056, 1}, "the shape 1056×1 has 1 rows a block; it must have at least 1, and threads · rows at most 1024");
  CHECK(DeviceBuffer<float>::is_poison(x.download()[0]));
}

TEST_CASE("more rows than the grid's blocks have places are refused with a sentence, before anything is launched") {
  const DeviceBuffer<float> x("x", 1);  // never looked at
  const std::int64_t rows = (std::int64_t{1} << 31) * rows_per_block(1);
  CHECK_THROWS_WITH_AS(fused_layer_norm::layer_norm({.x = x.data(), .y = x.data(), .rows = rows, .cols = 1}, nullptr),
                       doctest::Contains("2147483648 blocks, but gridDim.x takes at most 2147483647"),
                       std::invalid_argument);
  CHECK(DeviceBuffer<float>::is_poison(x.download()[0]));
}

LAYER_NORM_CONTRACT(fused_layer_norm::layer_norm, .in_place = InPlace::allowed, .summation = summation,
                    .rows_per_block = rows_per_block, .constant_row = testing::ConstantRow::exact)

LAYER_NORM_REPORTS(fused_layer_norm::layer_norm, .in_place = InPlace::allowed, .summation = summation,
                   .rows_per_block = rows_per_block, .constant_row = testing::ConstantRow::exact)

TEST_SUITE("long"){LAYER_NORM_CONTRACT_LONG(fused_layer_norm::layer_norm, .in_place = InPlace::allowed,
                                            .summation = summation, .rows_per_block = rows_per_block,
                                            .constant_row = testing::ConstantRow::exact)}
#ifndef LNH_CUDA  // a GPU program cannot count its own requests: that is what a profiler is for

TEST_CASE("x is asked for exactly twice, in requests of 512 bytes, the second time by the block that read it first") {
  const std::int64_t rows = 3, cols = 4096;
  const simt::LaunchCounts counts =
      testing::counts_of(fused_layer_norm::layer_norm, testing::make_case(rows, cols, testing::Data::centred, 3));

  const simt::BufferCounts x = counts.buffer("x");
  CHECK(x.loads.requests == 2 * rows * cols / 128);
  CHECK(x.loads.lanes == 2 * rows * cols / 4);
  CHECK(x.loads.bytes == 512 * x.loads.requests);
  CHECK(x.loads.sectors == 2 * rows * cols * sizeof(float) / 32);
  CHECK(x.loads.sectors_again == rows * cols * sizeof(float) / 32);
  CHECK(x.bytes_touched_by_loads == rows * cols * sizeof(float));
  CHECK(x.stores.requests == 0);

  const simt::BufferCounts y = counts.buffer("y");
  CHECK(y.stores.requests == rows * cols / 128);
  CHECK(y.stores.bytes == 512 * y.stores.requests);
  CHECK(y.bytes_touched_by_stores == rows * cols * sizeof(float));
  CHECK(y.loads.requests == 0);

  // gamma and beta: asked for by every row, touched once.
  for (const std::string buffer : {"gamma", "beta"}) {
    CAPTURE(buffer);
    CHECK(counts.buffer(buffer).loads.requests == rows * cols / 128);
    CHECK(counts.buffer(buffer).bytes_touched_by_loads == cols * sizeof(float));
  }
  CHECK(counts.buffer("mean").stores.lanes == rows);
  CHECK(counts.buffer("rstd").stores.lanes == rows);
}

TEST_CASE("a quarter of the load requests of chapter 04, for the same bytes") {
  const testing::NormCase input = testing::make_case(3, 4096, testing::Data::centred, 3);
  const simt::LaunchCounts narrow = testing::counts_of(warp_block_welford::layer_norm, input);
  const simt::LaunchCounts wide = testing::counts_of(fused_layer_norm::layer_norm, input);
  for (const std::string buffer : {"x", "gamma", "beta"}) {
    CAPTURE(buffer);
    CHECK(4 * wide.buffer(buffer).loads.requests == narrow.buffer(buffer).loads.requests);
  }
  CHECK(4 * wide.global_loads().requests == narrow.global_loads().requests);
  CHECK(wide.global_loads().bytes == narrow.global_loads().bytes);
  CHECK(wide.global_loads().sectors == narrow.global_loads().sectors);
  CHECK(4 * wide.buffer("y").stores.requests == narrow.buffer("y").stores.requests);
}

TEST_CASE("a misaligned x is asked for in four narrow requests for each wide one") {
  const std::int64_t rows = 3, cols = 4096;
  const simt::BufferCounts x =
      testing::counts_of(fused_layer_norm::layer_norm, testing::make_case(rows, cols, testing::Data::centred, 3),
                         {.x_offset = 1})
          .buffer("x");
  CHECK(x.loads.requests == 2 * rows * cols / 32);
  CHECK(x.loads.bytes == 128 * x.loads.requests);
  // The lanes of a request stand 16 bytes apart, over 16 sectors. x begins 4 bytes into a sector, so the last of the
  // four, 12 bytes further on, ends in a seventeenth.
  CHECK(x.loads.sectors == 2 * rows * cols / 128 * (3 * 16 + 17));
}

TEST_CASE("a block has two barriers, however many rows it works on; with a warp a row it has none") {
  const std::int64_t rows = 5, cols = 256;
  const testing::NormCase input = testing::make_case(rows, cols, testing::Data::centred, 3);
  const std::int64_t words = sizeof(Welford) / sizeof(unsigned);  // 4, and a shuffle moves one
  for (const Shaped& kernel : shapes) {
    CAPTURE(name(kernel.shape));
    const simt::LaunchCounts counts = testing::counts_of(kernel.launch, input);
    const std::int64_t blocks = (rows + kernel.shape.rows - 1) / kernel.shape.rows;
    const std::int64_t groups = blocks * kernel.shape.rows;  // of T threads, also those without a row
    const std::int64_t warps = kernel.shape.threads / 32;    // of a group
    CHECK(counts.blocks == blocks);
    if (warps == 1) {
      CHECK(counts.barriers == 0);
      CHECK(counts.shuffles == groups * (5 + 1) * words);  // five steps, and lane 0's result to all
      CHECK(counts.shared_stores.requests == 0);
      CHECK(counts.shared_loads.requests == 0);
    } else {
      CHECK(counts.barriers == 2 * blocks);
      // Five steps in each warp, and in one of them ⌈log₂ warps⌉ more for the warps' states.
      const std::int64_t steps = std::bit_width(static_cast<std::uint64_t>(warps - 1));
      CHECK(counts.shuffles == groups * (warps * 5 + steps) * words);
    }
  }
}

#endif
