// One block per row, merged by shuffles and two barriers: right for every number of warps, also where most threads have
// seen no element.
#include "warp_block_welford.cuh"

#include <host/device_buffer.h>
#include <host/launch.h>
#include <testing/accuracy.h>
#include <testing/cases.h>
#include <testing/contract.h>
#include <testing/reports.h>
#include <testing/run.h>

#include <doctest/doctest.h>

#include <bit>
#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifndef LNH_CUDA
#include <simt/finding.h>
#include <testing/counted.h>
#endif

namespace {

/// The launcher for blocks of so many warps: a LayerNormLauncher is a plain function, so each number needs its own.
template <int warps>
void with_warps(const LayerNormArgs& args, cudaStream_t stream) {
  warp_block_welford::layer_norm_with_warps(args, warps, stream);
}

template <int... zero_to_31>
std::vector<testing::Stage> make_shapes(std::integer_sequence<int, zero_to_31...>) {
  return {{std::to_string(zero_to_31 + 1) + " warps", with_warps<zero_to_31 + 1>,
           testing::block_per_row<(zero_to_31 + 1) * warp_lanes>}...};
}

/// shapes[w - 1] runs with w warps.
const std::vector<testing::Stage> shapes = make_shapes(std::make_integer_sequence<int, 32>());

const testing::Stage stages[] = {{"warp_block_welford::layer_norm", warp_block_welford::layer_norm,
                                  testing::block_per_row<warp_block_welford::block_threads>}};

}  // namespace

LAYER_NORM_ACCURACY(stages)

TEST_CASE("right within the bound for blocks of 1 to 32 warps, on rows shorter than the block and longer") {
  std::vector<testing::NormCase> cases;
  std::uint64_t seed = 1;
  // One element; less than a warp; a warp and one more; more than 31 warps, and just more than 32.
  for (const std::int64_t cols : {1, 5, 31, 32, 33, 100, 1000, 1025}) {
    for (const testing::Data data : {testing::Data::centred, testing::Data::offset_100, testing::Data::massive_first})
      cases.push_back(testing::make_case(2, cols, data, seed++));
  }
  for (const testing::Stage& shape : shapes) testing::check_within_bound(shape, cases);
}

TEST_CASE("a constant row gives beta exactly for blocks of 1 to 32 warps: lanes without an element add nothing") {
  for (const std::int64_t cols : {1, 5, 33, 1000}) {
    const testing::NormCase input = testing::make_case(2, cols, testing::Data::constant, 7);
    for (int warps = 1; warps <= 32; ++warps) {
      CAPTURE(cols);
      CAPTURE(warps);
      const testing::NormResult result = testing::run(shapes[warps - 1].launch, input);
      for (std::int64_t i = 0; i < input.rows * cols; ++i) REQUIRE(result.y[i] == input.beta[i % cols]);
      for (std::int64_t row = 0; row < input.rows; ++row) REQUIRE(result.mean[row] == input.x[row * cols]);
    }
  }
}

TEST_CASE("the same bits on every run, for every number of warps") {
  const testing::NormCase input = testing::make_case(3, 1000, testing::Data::offset_100, 11);
  for (int warps = 1; warps <= 32; ++warps) {
    CAPTURE(warps);
    const testing::NormResult first = testing::run(shapes[warps - 1].launch, input);
    const testing::NormResult second = testing::run(shapes[warps - 1].launch, input);
    CHECK(testing::same_bits(first.y, second.y));
    CHECK(testing::same_bits(first.mean, second.mean));
    CHECK(testing::same_bits(first.rstd, second.rstd));
  }
}

namespace {

/// warp_reduce by a butterfly: lanes exchange their states, so each ends with the state of all 32.
// [butterfly]
__global__ void butterfly_kernel(const float* x, float* mean, float* m2) {
  Welford state = update(Welford{}, x[threadIdx.x]);
  for (int offset = 1; offset < warp_lanes; offset *= 2) {
    const Welford other =
        shuffle_words(state, [offset](unsigned word) { return __shfl_xor_sync(full_warp, word, offset); });
    state = merge(state, other);
  }
  mean[threadIdx.x] = state.mean;
  m2[threadIdx.x] = state.m2;
}
// [/butterfly]

}  // namespace

TEST_CASE("a butterfly gives the lanes of a warp different last bits") {
  const std::vector<float> values = testing::make_case(1, 32, testing::Data::centred, 1).x;
  const DeviceBuffer<float> x("x", values), mean("mean", 32), m2("m2", 32);
  launch(butterfly_kernel, {1, 32}, x.data(), mean.data(), m2.data());
  const auto print = [](const std::string& name, std::vector<float> of_lanes) {
    std::ostringstream text;
    text << std::setprecision(9) << name << " of the same 32 values: lane 0 has " << of_lanes[0];
    std::sort(of_lanes.begin(), of_lanes.end());
    of_lanes.erase(std::unique(of_lanes.begin(), of_lanes.end()), of_lanes.end());
    text << ", and among all lanes there are " << of_lanes.size() << " results:";
    for (const float result : of_lanes) text << " " << result;
    MESSAGE(text.str());  // chapters/04_warp_block_welford/README.md quotes it
    return of_lanes.size();
  };
  CHECK(print("mean", mean.download()) > 1);
  CHECK(print("m2", m2.download()) > 1);
}

TEST_CASE("a number of warps that no block has is refused with a sentence, before anything is launched") {
  const DeviceBuffer<float> x("x", 1);  // never looked at
  const LayerNormArgs args{.x = x.data(), .y = x.data(), .rows = 1, .cols = 1};
  CHECK_THROWS_WITH_AS(warp_block_welford::layer_norm_with_warps(args, 0, nullptr),
                       "layer_norm_with_warps: warps is 0, but a block has 1 to 32 warps", std::invalid_argument);
  CHECK_THROWS_WITH_AS(warp_block_welford::layer_norm_with_warps(args, 33, nullptr),
                       "layer_norm_with_warps: warps is 33, but a block has 1 to 32 warps", std::invalid_argument);
  CHECK(DeviceBuffer<float>::is_poison(x.download()[0]));
}

LAYER_NORM_CONTRACT(warp_block_welford::layer_norm, .in_place = InPlace::allowed,
                    .summation = testing::block_per_row<warp_block_welford::block_threads>, .rows_per_block = 1,
                    .constant_row = testing::ConstantRow::exact)

LAYER_NORM_REPORTS(warp_block_welford::layer_norm, .in_place = InPlace::allowed,
                   .summation = testing::block_per_row<warp_block_welford::block_threads>, .rows_per_block = 1,
                   .constant_row = testing::ConstantRow::exact)

TEST_SUITE("long"){LAYER_NORM_CONTRACT_LONG(warp_block_welford::layer_norm, .in_place = InPlace::allowed,
                                            .summation = testing::block_per_row<warp_block_welford::block_threads>,
                                            .rows_per_block = 1, .constant_row = testing::ConstantRow::exact)}
#ifndef LNH_CUDA  // a GPU program cannot count its own requests: that is what a profiler is for

TEST_CASE("x is asked for exactly twice, and touched once") {
  const std::int64_t rows = 3, cols = 4096;
  const simt::LaunchCounts counts =
      testing::counts_of(warp_block_welford::layer_norm, testing::make_case(rows, cols, testing::Data::centred, 3));

  const simt::BufferCounts x = counts.buffer("x");
  CHECK(x.loads.requests == 2 * rows * cols / 32);
  CHECK(x.loads.lanes == 2 * rows * cols);
  CHECK(x.loads.bytes == 2 * rows * cols * sizeof(float));
  CHECK(x.loads.sectors == 2 * rows * cols * sizeof(float) / 32);
  CHECK(x.loads.sectors_again == rows * cols * sizeof(float) / 32);  // by the block that loaded them first
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

TEST_CASE("a row costs two barriers, 20 shuffles a warp, and one state a warp through shared memory") {
  const std::int64_t rows = 3;
  const testing::NormCase input = testing::make_case(rows, 4096, testing::Data::centred, 3);
  const std::int64_t words = sizeof(Welford) / sizeof(unsigned);  // 4, and a shuffle moves one
  for (int warps = 2; warps <= 32; ++warps) {
    CAPTURE(warps);
    const simt::LaunchCounts counts = testing::counts_of(shapes[warps - 1].launch, input);
    CHECK(counts.blocks == rows);
    CHECK(counts.barriers == rows * 2);
    // Five steps in each warp, and then as many in warp 0 as it takes to halve the number of warps down to one.
    const std::int64_t steps = std::bit_width(static_cast<unsigned>(warps - 1));
    CHECK(counts.shuffles == rows * (warps * 5 + steps) * words);
    // Each warp stores one state, and warp 0 the result; warp 0 reads those of all, and every thread the result.
    CHECK(counts.shared_stores.bytes == rows * (warps + 1) * sizeof(Welford));
    CHECK(counts.shared_loads.bytes == rows * (warps + warps * warp_lanes) * sizeof(Welford));
  }
}

TEST_CASE("a block of one warp needs no barrier and no shared memory") {
  const std::int64_t rows = 3;
  const simt::LaunchCounts counts =
      testing::counts_of(shapes[0].launch, testing::make_case(rows, 4096, testing::Data::centred, 3));
  CHECK(counts.barriers == 0);
  CHECK(counts.shuffles == rows * (5 + 1) * sizeof(Welford) / sizeof(unsigned));
  CHECK(counts.shared_stores.requests == 0);
  CHECK(counts.shared_loads.requests == 0);
}

namespace {

/// The sum of a row shorter than a warp, as one is tempted to write it.
// [partial_warp]
__global__ void sum_of_a_short_row(const float* x, float* sum, unsigned cols) {
  if (threadIdx.x < cols) {
    float value = x[threadIdx.x];
    for (int offset = 1; offset < warp_lanes; offset *= 2) value += __shfl_down_sync(full_warp, value, offset);
    if (threadIdx.x == 0) *sum = value;
  }
}
// [/partial_warp]

/// A mask that names those lanes alone: some of them ask lanes that it does not name.
__global__ void sum_with_a_small_mask(const float* x, float* sum) {
  if (threadIdx.x < 5) {
    float value = x[threadIdx.x];
    for (int offset = 1; offset < warp_lanes; offset *= 2) value += __shfl_down_sync(0x1fu, value, offset);
    if (threadIdx.x == 0) *sum = value;
  }
}

/// For a block of 48 threads: its second warp has 16 lanes.
__global__ void sum_of_a_block(const float* x, float* sums) {
  float value = x[threadIdx.x % 5];
  for (int offset = 1; offset < warp_lanes; offset *= 2) value += __shfl_down_sync(full_warp, value, offset);
  if (threadIdx.x % warp_lanes == 0) sums[threadIdx.x / warp_lanes] = value;
}

/// The same, right: the lanes without an element take part, with a value that adds nothing.
// [full_warp]
__global__ void sum_of_a_short_row_by_all(const float* x, float* sum, unsigned cols) {
  float value = threadIdx.x < cols ? x[threadIdx.x] : 0.0f;
  for (int offset = 1; offset < warp_lanes; offset *= 2) value += __shfl_down_sync(full_warp, value, offset);
  if (threadIdx.x == 0) *sum = value;
}
// [/full_warp]

}  // namespace

TEST_CASE("a shuffle that only some of the lanes reach is found") {
  const std::vector<float> values = {1, 2, 3, 4, 5};
  const DeviceBuffer<float> x("x", values), sum("sum", 1);
  {
    const simt::FindingScope findings;
    launch(sum_of_a_short_row, {1, 32}, x.data(), sum.data(), 5u);
    REQUIRE(!findings.findings().empty());
    CHECK(findings.findings()[0].check == "sync");
    MESSAGE(findings.text());  // chapters/04_warp_block_welford/README.md quotes it
  }
  {
    const simt::FindingScope findings;
    launch(sum_with_a_small_mask, {1, 32}, x.data(), sum.data());
    REQUIRE(!findings.findings().empty());
    CHECK(findings.findings()[0].title == "__shfl_down_sync: the shuffle reads from a lane that does not take part");
  }
  {
    const DeviceBuffer<float> sums("sums", 2);
    const simt::FindingScope findings;
    launch(sum_of_a_block, {1, 48}, x.data(), sums.data());
    REQUIRE(!findings.findings().empty());
    CHECK(findings.findings()[0].check == "sync");
  }
  launch(sum_of_a_short_row_by_all, {1, 32}, x.data(), sum.data(), 5u);
  CHECK(sum.download()[0] == 15);
}

#endif
