// The backward is right within the bound, for both norms and in every way of computing it, and gives the same bits
// every time; fused, it goes through memory three times and not five.
#include "backward.cuh"

#include <testing/backward.h>
#include <testing/cases.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "summations.h"

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

namespace {

struct Stage {
  std::string name;
  NormBackwardLauncher launch;
  testing::BackwardSummationOf summation;
};
const Stage fused = {"backward::layer_norm", backward::layer_norm, backward::fused_sums<Norm::layer_norm>};
const Stage fused_rms = {"backward::rms_norm", backward::rms_norm, backward::fused_sums<Norm::rms_norm>};
const Stage stages[] = {{"backward::layer_norm_naive", backward::layer_norm_naive, backward::naive_sums},
                        {"backward::layer_norm_coalesced", backward::layer_norm_coalesced, backward::coalesced_sums},
                        {"backward::layer_norm_separate", backward::layer_norm_separate, backward::separate_sums},
                        fused,
                        fused_rms};

void check_within_bound(const Stage& stage, const std::vector<testing::BackwardCase>& cases) {
  double dx = 0, dgamma = 0, dbeta = 0;
  for (const testing::BackwardCase& input : cases) {
    const testing::BackwardVerdict verdict = testing::judge_backward(stage.launch, input, stage.summation);
    CHECK_MESSAGE(verdict.passed(), stage.name << " on " << verdict.text());
    dx = std::max(dx, verdict.dx.ratio);
    dgamma = std::max(dgamma, verdict.dgamma.ratio);
    dbeta = std::max(dbeta, verdict.dbeta.ratio);
  }
  MESSAGE(stage.name << ": error/bound at most " << dx << " (dx), " << dgamma << " (dgamma), " << dbeta
                     << " (dbeta) over " << cases.size() << " cases");
}

testing::BackwardCase make_case(Norm norm, std::int64_t rows, std::int64_t cols, testing::Data data) {
  return testing::make_backward_case(norm, testing::make_case(rows, cols, data, static_cast<std::uint64_t>(cols)),
                                     static_cast<std::uint64_t>(rows));
}

}  // namespace

TEST_CASE("right within the bound on every shape and kind of data") {
  for (const Stage& stage : stages) {
    check_within_bound(stage, testing::standard_backward_cases(stage.launch.norm()));
  }
}

TEST_CASE("right within the bound on rows that failed in public projects") {
  for (const Stage& stage : stages) {
    check_within_bound(stage, testing::published_backward_cases(stage.launch.norm()));
  }
}

TEST_CASE(
    "right within the bound at the lengths where the fused kernel changes its shape, or gives way to the others") {
  // A warp for each 512 columns; 8 slabs a block to 1; sums in registers, then in shared memory; fused, then separate.
  for (const Stage& stage : {fused, fused_rms}) {
    std::vector<testing::BackwardCase> cases;
    for (const std::int64_t cols :
         {511, 512, 513, 1024, 1025, 1537, 4096, 5120, 8192, 8193, 8196, 12289, 16383, 16384, 16385, 16388}) {
      cases.push_back(make_case(stage.launch.norm(), 9, cols, testing::Data::offset_10));
    }
    check_within_bound(stage, cases);
  }
  CHECK(backward::fused_fits<Norm::layer_norm>(8192));
  CHECK(backward::fused_fits<Norm::layer_norm>(16384) == (most_shared_bytes() >= (128 << 10) + 512));
  CHECK(!backward::fused_fits<Norm::layer_norm>(16385));
}

TEST_CASE("every shape of the fused kernel is one that a block can have, and its threads hold the whole row") {
  for (std::int64_t cols = 1; cols <= 16384; ++cols) {
    const Shape shape = backward::fused_shape(cols);
    CAPTURE(cols);
    REQUIRE_NOTHROW(check(shape));
    REQUIRE(4 * backward::fours * shape.threads >= cols);
  }
}

TEST_CASE("fused or in two stages of their own, dgamma and dbeta have the same bits") {
  for (const auto& [rows, cols] : {std::pair{1, 5}, {3, 64}, {33, 100}, {700, 37}, {5000, 8}, {40, 1024}, {9, 9000}}) {
    const testing::BackwardCase input = make_case(Norm::layer_norm, rows, cols, testing::Data::offset_100);
    const testing::BackwardResult together = testing::run_backward(backward::layer_norm, input);
    const testing::BackwardResult apart = testing::run_backward(backward::layer_norm_separate, input);
    CAPTURE(input.forward.name);
    CHECK(testing::same_bits(together.dgamma, apart.dgamma));
    CHECK(testing::same_bits(together.dbeta, apart.dbeta));
  }
}

TEST_CASE("RMSNorm's backward is LayerNorm's with mean 0 where the mean of g is 0") {
  // dy and γ make g = ±1, ±2, …: its sum is exactly 0 in every order, and so is its mean.
  for (const std::int64_t cols : {2, 10, 64, 256}) {
    testing::BackwardCase rms = make_case(Norm::rms_norm, 3, cols, testing::Data::centred);
    rms.forward.gamma.assign(static_cast<std::size_t>(cols), 1.0f);
    for (std::size_t i = 0; i < rms.dy.size(); ++i) {
      const std::size_t c = i % static_cast<std::size_t>(cols);
      rms.dy[i] = static_cast<float>(c / 2 + 1) * (c % 2 == 0 ? 1.0f : -1.0f);
    }
    testing::BackwardCase layer = rms;
    layer.norm = Norm::layer_norm;
    layer.mean.assign(3, 0.0f);
    const testing::BackwardResult of_rms = testing::run_backward(backward::rms_norm, rms);
    const testing::BackwardResult of_layer = testing::run_backward(backward::layer_norm, layer);
    CAPTURE(cols);
    // A GPU may fuse a multiplication and a subtraction in the one and not in the other.
    std::vector<double> twice = testing::norm_backward_tolerance(rms, fused_rms.summation(3, cols)).dx;
    for (double& bound : twice) bound *= 2;
    const std::vector<double> expected(of_layer.dx.begin(), of_layer.dx.end());
    const testing::Comparison dx = testing::compare("dx", of_rms.dx, expected, twice, cols);
    CHECK_MESSAGE(dx.passed(), dx.text());
    CHECK(testing::same_bits(of_rms.dgamma, of_layer.dgamma));
  }
}

#ifndef LNH_CUDA  // a GPU program cannot count its own requests: that is what a profiler is for

namespace {

simt::LaunchCounts counts_of(NormBackwardLauncher launch, const testing::BackwardCase& input,
                             testing::BackwardRunOptions options = {}) {
  const simt::CountScope counts;
  testing::run_backward(launch, input, options);
  return counts.total();
}

}  // namespace

TEST_CASE("separate kernels touch five matrices and the fused one three") {
  const std::int64_t rows = 64, cols = 4096;
  const std::uint64_t matrix = rows * cols * sizeof(float);
  const testing::BackwardCase input = make_case(Norm::layer_norm, rows, cols, testing::Data::centred);
  const simt::LaunchCounts separate = counts_of(backward::layer_norm_separate, input);
  const simt::LaunchCounts together = counts_of(backward::layer_norm, input);
  for (const std::string buffer : {"x", "dy"}) {
    CAPTURE(buffer);
    CHECK(separate.buffer(buffer).bytes_touched_by_loads == 2 * matrix);
    CHECK(separate.buffer(buffer).loads.bytes == 3 * matrix);  // dx reads it twice
    CHECK(together.buffer(buffer).bytes_touched_by_loads == matrix);
    CHECK(together.buffer(buffer).loads.bytes == matrix);
    CHECK(together.buffer(buffer).loads.requests == rows * cols / 128);  // 16 bytes a lane
  }
  CHECK(separate.buffer("dx").bytes_touched_by_stores == matrix);
  CHECK(together.buffer("dx").bytes_touched_by_stores == matrix);
  CHECK(together.buffer("dx").stores.requests == rows * cols / 128);

  // The rest: γ twice a row; mean and rstd as each warp asks for them; the slabs' sums written once and read once.
  const Slabs slabs = slabs_for(rows, cols);
  for (const simt::LaunchCounts& counts : {separate, together}) {
    CHECK(counts.buffer("workspace").bytes_touched_by_stores == 2 * slabs.slabs * cols * sizeof(float));
    CHECK(counts.buffer("workspace").bytes_touched_by_loads == 2 * slabs.slabs * cols * sizeof(float));
    CHECK(counts.buffer("gamma").loads.bytes == 2 * matrix);
    CHECK(counts.buffer("dgamma").stores.bytes == cols * sizeof(float));
    CHECK(counts.buffer("dbeta").stores.bytes == cols * sizeof(float));
  }
  CHECK(together.bytes_touched() == 3 * matrix + (cols + 2 * rows + 4 * slabs.slabs * cols + 2 * cols) * sizeof(float));
}

TEST_CASE("a column's warp asks for 32 sectors at once, and a thread per column for 4") {
  const testing::BackwardCase input = make_case(Norm::layer_norm, 64, 256, testing::Data::centred);
  const testing::BackwardRunOptions sums_alone{.dx = false};
  for (const std::string buffer : {"x", "dy"}) {
    const simt::AccessCounts warp = counts_of(backward::layer_norm_naive, input, sums_alone).buffer(buffer).loads;
    const simt::AccessCounts thread = counts_of(backward::layer_norm_coalesced, input, sums_alone).buffer(buffer).loads;
    CAPTURE(buffer);
    CHECK(warp.requests == 64 * 256 / 32);
    CHECK(warp.sectors == 32 * warp.requests);
    CHECK(thread.requests == warp.requests);
    CHECK(thread.sectors == 4 * thread.requests);
  }
}

TEST_CASE("both sums of a row take one reduction: two words a shuffle step, RMSNorm one") {
  const std::int64_t rows = 8;
  for (const std::int64_t cols : {256, 4096}) {
    CAPTURE(cols);
    const auto dx_alone = [&](NormBackwardLauncher launch) {
      return counts_of(launch, make_case(launch.norm(), rows, cols, testing::Data::centred),
                       {.dgamma = false, .dbeta = false});
    };
    const simt::LaunchCounts layer = dx_alone(backward::layer_norm);
    const simt::LaunchCounts rms = dx_alone(backward::rms_norm);
    const Shape shape = shape_for(cols);
    const std::int64_t warps = shape.threads / warp_lanes;
    REQUIRE((warps == 1 || warps == 8));
    // Five steps in each warp, and one more to give the result to its lanes; eight warps are merged in three steps.
    CHECK(rms.shuffles == rows * (warps == 1 ? 5 + 1 : 8 * 5 + 3));
    CHECK(layer.shuffles == 2 * rms.shuffles);
    CHECK(layer.barriers == (warps == 1 ? 0 : 2 * rows / shape.rows));
    CHECK(rms.barriers == layer.barriers);
  }
}

TEST_CASE("the fused kernel has two barriers a row, none where a warp has the row, and total_sums has one a block") {
  const std::int64_t rows = 32;
  for (const std::int64_t cols : {256, 512, 1024, 4096}) {
    CAPTURE(cols);
    const simt::LaunchCounts counts =
        counts_of(backward::layer_norm, make_case(Norm::layer_norm, rows, cols, testing::Data::centred));
    const Slabs slabs = slabs_for(rows, cols);
    const Shape shape = backward::fused_shape(cols);
    const std::int64_t blocks = (slabs.slabs + shape.rows - 1) / shape.rows;
    const std::int64_t total_blocks = 2 * cols / 32;
    CHECK(counts.blocks == blocks + total_blocks);
    CHECK(counts.barriers == total_blocks + (shape.threads == 32 ? 0 : 2 * blocks * slabs.rows_per_slab));
  }
}

TEST_CASE("total_sums reads a column of shared memory without a bank conflict") {
  const simt::LaunchCounts counts =
      counts_of(backward::layer_norm, make_case(Norm::layer_norm, 64, 256, testing::Data::centred));
  CHECK(counts.shared_loads.wavefronts == counts.shared_loads.ideal_wavefronts);
  CHECK(counts.shared_stores.wavefronts == counts.shared_stores.ideal_wavefronts);
}

TEST_CASE("above 8192 columns a thread's sums lie in shared memory, without a bank conflict") {
  const std::int64_t rows = 4, cols = 16384;
  const simt::LaunchCounts counts =
      counts_of(backward::layer_norm, make_case(Norm::layer_norm, rows, cols, testing::Data::centred));
  // Cleared, then for each row read and written, then read for the workspace.
  CHECK(counts.shared_stores.bytes >= 2 * cols * (1 + rows) * sizeof(float));
  CHECK(counts.shared_loads.bytes >= 2 * cols * (rows + 1) * sizeof(float));
  CHECK(counts.shared_loads.wavefronts == counts.shared_loads.ideal_wavefronts);
  CHECK(counts.shared_stores.wavefronts == counts.shared_stores.ideal_wavefronts);
}

#endif
