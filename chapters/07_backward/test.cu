// The backward is right within the bound, for both norms and in every way of computing it, and gives the same bits
// every time; fused, it goes through memory three times and not five.
#include "backward.cuh"

#include <host/device_buffer.h>
#include <host/launch_window.h>
#include <testing/backward.h>
#include <testing/backward_contract.h>
#include <testing/backward_reports.h>
#include <testing/cases.h>
#include <testing/large_launch.h>
#include <testing/run.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "../05_fused_layer_norm/fused_layer_norm.cuh"
#include "../06_rms_norm/rms_norm.cuh"
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

TEST_CASE("what stands for the columns beyond a row adds nothing, however large the row's values are") {
  // x is 2·10³⁶ everywhere, so x̂ is 0. Beyond the row, 0 in place of x would make x̂ infinite, and 0 · ∞ is NaN.
  for (const Stage& stage : stages) {
    if (stage.launch.norm() == Norm::rms_norm) continue;  // its mean is 0
    for (const std::int64_t cols : {5, 37, 1025}) {
      testing::BackwardCase input = make_case(stage.launch.norm(), 3, cols, testing::Data::zero);
      std::fill(input.forward.x.begin(), input.forward.x.end(), 2e36f);
      std::fill(input.mean.begin(), input.mean.end(), 2e36f);
      const testing::BackwardVerdict verdict = testing::judge_backward(stage.launch, input, stage.summation);
      CHECK_MESSAGE(verdict.passed(), stage.name << " on " << verdict.text());
    }
  }
}

TEST_CASE("every shape of the fused kernel is one that a block can have, and its threads hold the whole row") {
  for (std::int64_t cols = 1; cols <= 16384; ++cols) {
    const Shape shape = backward::fused_shape(cols);
    CAPTURE(cols);
    REQUIRE_NOTHROW(check(shape));
    REQUIRE(4 * backward::fours * shape.threads >= cols);
  }
}

TEST_CASE("fused or in two stages of their own, dgamma and dbeta have the same bits; of a long row dx as well") {
  for (const auto& [rows, cols] :
       {std::pair{1, 5}, {3, 64}, {33, 100}, {700, 37}, {5000, 8}, {40, 1024}, {9, 9000}, {5, 16385}, {3, 20000}}) {
    const testing::BackwardCase input = make_case(Norm::layer_norm, rows, cols, testing::Data::offset_100);
    const testing::BackwardResult together = testing::run_backward(backward::layer_norm, input);
    const testing::BackwardResult apart = testing::run_backward(backward::layer_norm_separate, input);
    CAPTURE(input.forward.name);
    CHECK(testing::same_bits(together.dgamma, apart.dgamma));
    CHECK(testing::same_bits(together.dbeta, apart.dbeta));
    if (cols > most_held_columns) CHECK(testing::same_bits(together.dx, apart.dx));
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

TEST_CASE("a long row's x and dy are asked for twice, by separate kernels three times") {
  const std::int64_t rows = 4, cols = 20480;
  const std::uint64_t matrix = rows * cols * sizeof(float);
  for (const NormBackwardLauncher together : {NormBackwardLauncher(backward::layer_norm), {backward::rms_norm}}) {
    const testing::BackwardCase input = make_case(together.norm(), rows, cols, testing::Data::centred);
    const simt::LaunchCounts counts = counts_of(together, input);
    for (const std::string buffer : {"x", "dy"}) {
      CAPTURE(buffer);
      CHECK(counts.buffer(buffer).loads.bytes == 2 * matrix);
      CHECK(counts.buffer(buffer).bytes_touched_by_loads == 2 * matrix);
    }
    CHECK(counts.buffer("dx").stores.bytes == matrix);
    CHECK(counts.buffer("dx").bytes_touched_by_stores == matrix);
    // One slab, whose sums are written and read once, and the means of each row: written once, read by every warp.
    REQUIRE(slabs_for(rows, cols).slabs == 1);
    const std::uint64_t sums = together.norm() == Norm::layer_norm ? 2 : 1;
    CHECK(counts.buffer("workspace").stores.bytes == sums * (cols + rows) * sizeof(float));
    CHECK(counts.buffer("workspace").loads.bytes == sums * (cols + rows * cols) * sizeof(float));
  }
  const simt::LaunchCounts separate =
      counts_of(backward::layer_norm_separate, make_case(Norm::layer_norm, rows, cols, testing::Data::centred));
  CHECK(separate.buffer("x").loads.bytes == 3 * matrix);
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

// The contract and the public reports, for every launcher.

namespace {

std::int64_t by_thread(std::int64_t row, std::int64_t, std::int64_t, bool) { return row / backward::rows_per_block; }
std::int64_t by_shape(std::int64_t row, std::int64_t, std::int64_t cols, bool) { return row / shape_for(cols).rows; }
template <Norm norm>
std::int64_t by_slab(std::int64_t row, std::int64_t rows, std::int64_t cols, bool sums) {
  if (!sums || !backward::fused_fits<norm>(cols)) return by_shape(row, rows, cols, sums);
  return row % slabs_for(rows, cols).slabs / backward::fused_shape(cols).rows;
}

}  // namespace

BACKWARD_CONTRACT(backward::layer_norm_naive, .in_place = InPlace::allowed, .workspace = Workspace::unused,
                  .summation = backward::naive_sums, .block_of_row = by_thread)
BACKWARD_CONTRACT(backward::layer_norm_coalesced, .in_place = InPlace::allowed, .workspace = Workspace::unused,
                  .summation = backward::coalesced_sums, .block_of_row = by_shape)
BACKWARD_CONTRACT(backward::layer_norm_separate, .in_place = InPlace::allowed, .workspace = Workspace::needed,
                  .summation = backward::separate_sums, .block_of_row = by_shape)
BACKWARD_CONTRACT(backward::layer_norm, .in_place = InPlace::allowed, .workspace = Workspace::needed,
                  .summation = backward::fused_sums<Norm::layer_norm>, .block_of_row = by_slab<Norm::layer_norm>)
BACKWARD_CONTRACT(backward::rms_norm, .in_place = InPlace::allowed, .workspace = Workspace::needed,
                  .summation = backward::fused_sums<Norm::rms_norm>, .block_of_row = by_slab<Norm::rms_norm>)

LAYER_NORM_BACKWARD_REPORTS(backward::layer_norm_naive, .in_place = InPlace::allowed, .workspace = Workspace::unused,
                            .summation = backward::naive_sums, .block_of_row = by_thread)
LAYER_NORM_BACKWARD_REPORTS(backward::layer_norm_coalesced, .in_place = InPlace::allowed,
                            .workspace = Workspace::unused, .summation = backward::coalesced_sums,
                            .block_of_row = by_shape)
LAYER_NORM_BACKWARD_REPORTS(backward::layer_norm_separate, .in_place = InPlace::allowed, .workspace = Workspace::needed,
                            .summation = backward::separate_sums, .block_of_row = by_shape)
LAYER_NORM_BACKWARD_REPORTS(backward::layer_norm, .in_place = InPlace::allowed, .workspace = Workspace::needed,
                            .summation = backward::fused_sums<Norm::layer_norm>,
                            .block_of_row = by_slab<Norm::layer_norm>)
RMS_NORM_BACKWARD_REPORTS(backward::rms_norm, .in_place = InPlace::allowed, .workspace = Workspace::needed,
                          .summation = backward::fused_sums<Norm::rms_norm>, .block_of_row = by_slab<Norm::rms_norm>)

TEST_SUITE("long") {
  BACKWARD_CONTRACT_LONG(backward::layer_norm_naive, .in_place = InPlace::allowed, .workspace = Workspace::unused,
                         .summation = backward::naive_sums, .block_of_row = by_thread)
  BACKWARD_CONTRACT_LONG(backward::layer_norm_coalesced, .in_place = InPlace::allowed, .workspace = Workspace::unused,
                         .summation = backward::coalesced_sums, .block_of_row = by_shape)
  BACKWARD_CONTRACT_LONG(backward::layer_norm_separate, .in_place = InPlace::allowed, .workspace = Workspace::needed,
                         .summation = backward::separate_sums, .block_of_row = by_shape)
  BACKWARD_CONTRACT_LONG(backward::layer_norm, .in_place = InPlace::allowed, .workspace = Workspace::needed,
                         .summation = backward::fused_sums<Norm::layer_norm>, .block_of_row = by_slab<Norm::layer_norm>)
  BACKWARD_CONTRACT_LONG(backward::rms_norm, .in_place = InPlace::allowed, .workspace = Workspace::needed,
                         .summation = backward::fused_sums<Norm::rms_norm>, .block_of_row = by_slab<Norm::rms_norm>)
}

// Sums behind 2³² elements, where each kernel has an offset of its own: under the executor only the blocks that are
// looked at run, and only what they read is filled.

namespace {

/// A matrix of which only some columns are filled: the last `last.forward.cols` of each row.
DeviceBuffer<float> last_columns(const char* name, const std::vector<float>& values, std::int64_t rows,
                                 std::int64_t cols, std::int64_t count) {
  DeviceBuffer<float> matrix = testing::large_buffer(name, rows * cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    matrix.upload(std::span(values).subspan(static_cast<std::size_t>(row * count), static_cast<std::size_t>(count)),
                  (row + 1) * cols - count);
  }
  return matrix;
}

/// The sums of the last columns of a matrix of cols columns. windows: the blocks that are run, one window after the
/// other.
testing::BackwardResult sums_of_last_columns(LayerNormBackwardLauncher launcher, const testing::BackwardCase& last,
                                             std::int64_t cols, const std::vector<std::int64_t>& windows) {
  const std::int64_t rows = last.forward.rows, count = last.forward.cols;
  const DeviceBuffer<float> x = last_columns("x", last.forward.x, rows, cols, count);
  const DeviceBuffer<float> dy = last_columns("dy", last.dy, rows, cols, count);
  const DeviceBuffer<float> mean("mean", last.mean), rstd("rstd", last.rstd);
  const DeviceBuffer<float> dgamma = testing::large_buffer("dgamma", cols),
                            dbeta = testing::large_buffer("dbeta", cols);
  DeviceBuffer<float> workspace = testing::large_buffer("workspace", workspace_floats(rows, cols));
  for (const std::int64_t window : windows) {  // what a block of the second stage may read of columns without sums
    const std::int64_t first = window * warp_lanes;
    const std::int64_t zeros = std::min<std::int64_t>(warp_lanes, workspace.size() - first);
    if (zeros > 0) workspace.upload(std::vector<float>(static_cast<std::size_t>(zeros)), first);
  }
  LayerNormBackwardArgs args;
  args.x = x.data();
  args.mean = mean.data();
  args.rstd = rstd.data();
  args.dy = dy.data();
  args.dgamma = dgamma.data();
  args.dbeta = dbeta.data();
  args.workspace = workspace.data();
  args.rows = rows;
  args.cols = cols;
  for (const std::int64_t first : windows) {
    const LaunchWindow window(static_cast<std::uint64_t>(first), 1);
    launcher(args, nullptr);
    check_cuda(cudaDeviceSynchronize(), "the kernels");
  }
  for (const auto* buffer : {&x, &dy, &dgamma, &dbeta}) buffer->check_guards();
  return {{}, dgamma.download(cols - count, count), dbeta.download(cols - count, count)};
}

void check_last_columns(LayerNormBackwardLauncher launcher, std::int64_t rows, std::int64_t count, std::int64_t cols,
                        const std::vector<std::int64_t>& windows) {
  testing::NormCase forward = testing::make_case(rows, count, testing::Data::offset_10, 41);
  forward.gamma.clear();
  const testing::BackwardCase last = testing::make_backward_case(Norm::layer_norm, forward, 41);
  const testing::BackwardResult alone = testing::run_backward(launcher, last, {.dx = false});
  try {
    const testing::BackwardResult got = sums_of_last_columns(launcher, last, cols, windows);
    CHECK(testing::same_bits(got.dgamma, alone.dgamma));
    CHECK(testing::same_bits(got.dbeta, alone.dbeta));
  } catch (const testing::NotTested& reason) {
    MESSAGE(reason.sentence());
  }
}

}  // namespace

TEST_SUITE("large") {
  TEST_CASE("sums behind 2³² elements: warps for the last five of 2³² + 5 columns") {
    const std::int64_t cols = (std::int64_t{1} << 32) + 5;
    check_last_columns(backward::layer_norm_naive, 2, 5, cols, {cols / (backward::column_threads / warp_lanes)});
  }

  TEST_CASE("sums behind 2³² elements: threads for the last five of 2³² + 5 columns") {
    const std::int64_t cols = (std::int64_t{1} << 32) + 5;
    check_last_columns(backward::layer_norm_coalesced, 2, 5, cols, {cols / backward::column_threads});
  }

  TEST_CASE("sums behind 2³² elements: both stages for the last five of 2³¹ + 5 columns") {
    const std::int64_t cols = (std::int64_t{1} << 31) + 5;
    REQUIRE(slabs_for(3, cols).slabs == 1);
    // The first stage, then the second stage's blocks of dγ's last columns and of dβ's.
    check_last_columns(backward::layer_norm_separate, 3, 5, cols,
                       {cols / backward::column_threads, (cols - 1) / warp_lanes, (2 * cols - 1) / warp_lanes});
  }

  TEST_CASE("sums behind 2³² elements: the slab of the last of 2²³ + 3 rows") {
    const std::int64_t rows = (std::int64_t{1} << 23) + 3, cols = 512;
    const Slabs slabs = slabs_for(rows, cols);
    const std::int64_t slab = (rows - 1) % slabs.slabs;
    const std::int64_t per_block = backward::fused_shape(cols).rows, block = slab / per_block;
    const testing::BackwardCase last =
        testing::make_backward_case(Norm::layer_norm, testing::make_case(1, cols, testing::Data::offset_10, 42), 42);
    const testing::BackwardResult alone = testing::run_backward(backward::layer_norm_separate, last, {.dx = false});
    try {
      DeviceBuffer<float> x = testing::large_buffer("x", rows * cols), dy = testing::large_buffer("dy", rows * cols);
      const DeviceBuffer<float> dx = testing::large_buffer("dx", rows * cols);
      // Every other row of the slabs in that block has dy = 0: the sums are those of the last row alone.
      const std::vector<float> zeros(static_cast<std::size_t>(cols));
      for (std::int64_t row = 0; row < rows; ++row) {
        if (row % slabs.slabs / per_block != block) continue;
        x.upload(last.forward.x, row * cols);
        dy.upload(row == rows - 1 ? std::span<const float>(last.dy) : zeros, row * cols);
      }
      const std::vector<float> means(static_cast<std::size_t>(rows), last.mean[0]);
      const std::vector<float> rstds(static_cast<std::size_t>(rows), last.rstd[0]);
      const DeviceBuffer<float> mean("mean", means), rstd("rstd", rstds), dgamma("dgamma", cols), dbeta("dbeta", cols);
      DeviceBuffer<float> workspace("workspace", workspace_floats(rows, cols));
      const auto check_sums = [&](LayerNormBackwardLauncher launcher, float* wanted_dx, std::int64_t first_block,
                                  std::uint64_t blocks) {
        workspace.poison();
        LayerNormBackwardArgs args;
        args.x = x.data();
        args.mean = mean.data();
        args.rstd = rstd.data();
        args.dy = dy.data();
        args.dx = wanted_dx;
        args.dgamma = dgamma.data();
        args.dbeta = dbeta.data();
        args.workspace = workspace.data();
        args.rows = rows;
        args.cols = cols;
        const LaunchWindow window(static_cast<std::uint64_t>(first_block), blocks);
        launcher(args, nullptr);
        check_cuda(cudaDeviceSynchronize(), "the kernels");
        CHECK(testing::same_bits(workspace.download(2 * slab * cols, cols), alone.dgamma));
        CHECK(testing::same_bits(workspace.download((2 * slab + 1) * cols, cols), alone.dbeta));
      };
      const std::int64_t blocks_of_a_slab = blocks_for(cols, backward::column_threads);
      check_sums(backward::layer_norm_separate, nullptr, slab * blocks_of_a_slab,
                 static_cast<std::uint64_t>(blocks_of_a_slab));
      check_sums(backward::layer_norm, dx.data(), block, 1);
    } catch (const testing::NotTested& reason) {
      MESSAGE(reason.sentence());
    }
  }
}

TEST_CASE("forward and backward together: right within both bounds, with the statistics of the forward kernels") {
  const auto with_forward = [](NormLauncher forward, NormBackwardLauncher launcher, const testing::NormCase& input,
                               std::uint64_t seed) {
    const testing::Summation summation = testing::dealt_in_fours(input.cols, shape_for(input.cols).threads);
    const testing::BackwardCase exact = testing::make_backward_case(launcher.norm(), input, seed);
    testing::BackwardCase given = exact;
    testing::NormResult statistics = testing::run(forward, input);
    given.mean = std::move(statistics.mean);
    given.rstd = std::move(statistics.rstd);
    const testing::BackwardResult got = testing::run_backward(launcher, given);

    // The truth has the statistics in double precision.
    const std::vector<double> x(input.x.begin(), input.x.end()), gamma(input.gamma.begin(), input.gamma.end()),
        dy(exact.dy.begin(), exact.dy.end());
    std::vector<double> mean, rstd;
    if (launcher.norm() == Norm::layer_norm) {
      testing::LayerNormReference reference =
          testing::layer_norm_reference(input.x, input.gamma, input.beta, input.rows, input.cols, input.eps);
      mean = std::move(reference.mean);
      rstd = std::move(reference.rstd);
    } else {
      rstd = testing::rms_norm_reference(input.x, input.gamma, input.rows, input.cols, input.eps).rstd;
    }
    const testing::BackwardReference truth =
        testing::norm_backward_reference(x, gamma, mean, rstd, dy, input.rows, input.cols);
    const testing::BackwardTolerance bound = testing::through_forward_tolerance(
        exact,
        launcher.norm() == Norm::rms_norm ? backward::fused_sums<Norm::rms_norm>(input.rows, input.cols)
                                          : backward::fused_sums<Norm::layer_norm>(input.rows, input.cols),
        summation);
    testing::BackwardVerdict verdict;
    verdict.name = input.name;
    verdict.dx = testing::compare("dx", got.dx, truth.dx, bound.dx, input.cols);
    verdict.dgamma = testing::compare("dgamma", got.dgamma, truth.dgamma, bound.dgamma, input.cols);
    if (!truth.dbeta.empty())
      verdict.dbeta = testing::compare("dbeta", got.dbeta, truth.dbeta, bound.dbeta, input.cols);
    return verdict;
  };
  const auto check_all = [&](const std::string& name, NormLauncher forward, NormBackwardLauncher launcher,
                             const std::vector<testing::NormCase>& cases) {
    double largest = 0;
    std::uint64_t seed = 1;
    for (const testing::NormCase& input : cases) {
      const testing::BackwardVerdict verdict = with_forward(forward, launcher, input, seed++);
      CHECK_MESSAGE(verdict.passed(), name << " on " << verdict.text());
      largest = std::max(largest, verdict.ratio());
    }
    MESSAGE(name << ": error/bound at most " << largest << " over " << cases.size() << " cases");
  };
  std::vector<testing::NormCase> cases;
  for (const testing::Data data : testing::all_data()) {
    for (const std::int64_t cols : {7, 256, 1000, 4096}) {
      cases.push_back(testing::make_case(5, cols, data, static_cast<std::uint64_t>(cols)));
    }
  }
  const std::vector<testing::NormCase> judged = testing::judgeable(cases, [](std::int64_t cols) {
                                                  return testing::dealt_in_fours(cols, shape_for(cols).threads);
                                                }).judged;
  CHECK(std::any_of(judged.begin(), judged.end(),
                    [](const auto& input) { return input.name.find("offset_1000") != std::string::npos; }));
  check_all("LayerNorm", fused_layer_norm::layer_norm, backward::layer_norm, judged);
  check_all("RMSNorm", rms_norm::rms_norm, backward::rms_norm, cases);
}
