// Exercise 07.2: dγ and dβ in two stages, with the same bits on every run.
#include <2_dgamma_dbeta.cuh>

#include <host/device_buffer.h>
#include <testing/backward.h>
#include <testing/cases.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#ifndef LNH_CUDA
#include <host/launch_window.h>
#include <simt/counts.h>
#include <simt/executor.h>
#include <simt/trace.h>
#endif

using testing::BackwardCase;
using testing::BackwardResult;
using testing::BackwardRunOptions;
using testing::Data;

namespace {

/// dy is random, and gamma too, which must play no part.
BackwardCase random_case(std::int64_t rows, std::int64_t cols, Data data, std::uint64_t seed) {
  return testing::make_backward_case(Norm::layer_norm, testing::make_case(rows, cols, data, seed), seed + 1000);
}
BackwardCase small_case() { return random_case(10, 70, Data::offset_10, 7); }

testing::BackwardSummation summation(std::int64_t rows, std::int64_t cols) {
  const Slabs slabs = slabs_for(rows, cols);
  return {{cols, 1}, {slabs.rows_per_slab + (slabs.slabs + 31) / 32, 32}};
}

BackwardRunOptions sums_alone(BackwardRunOptions options) {
  options.dx = false;
  return options;
}
BackwardResult sums_of(const BackwardCase& input, BackwardRunOptions options = {}) {
  return testing::run_backward(exercise::layer_norm_dgamma_dbeta, input, sums_alone(options));
}

bool is_untouched(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), DeviceBuffer<float>::is_poison);
}

/// What the first stage, launched alone, leaves in the workspace.
std::vector<float> workspace_of(const BackwardCase& input) {
  const std::int64_t rows = input.forward.rows, cols = input.forward.cols;
  const DeviceBuffer<float> x("x", input.forward.x), dy("dy", input.dy), mean("mean", input.mean);
  const DeviceBuffer<float> rstd("rstd", input.rstd), workspace("workspace", workspace_floats(rows, cols));
  LayerNormBackwardArgs args;
  args.x = x.data();
  args.mean = mean.data();
  args.rstd = rstd.data();
  args.dy = dy.data();
  args.workspace = workspace.data();
  args.rows = rows;
  args.cols = cols;
  const Slabs slabs = slabs_for(rows, cols);
  const dim3 grid(blocks_for(cols, exercise::column_threads), static_cast<unsigned>(slabs.slabs));
  launch(exercise::slab_sums_kernel, {grid, exercise::column_threads}, args, slabs);
  return workspace.download();
}

void require_first_stage() {
  static const bool written = [] { return !is_untouched(workspace_of(small_case())); }();
  REQUIRE_MESSAGE(written,
                  LNH_SUBJECT ", slab_sums_kernel, is not written yet: workspace holds what it held before the launch");
}
void require_written() {
  require_first_stage();
  static const bool written = [] {
    const BackwardResult sums = sums_of(small_case());
    return !is_untouched(sums.dgamma) || !is_untouched(sums.dbeta);
  }();
  REQUIRE_MESSAGE(written, LNH_SUBJECT
                  ", total_sums_kernel, is not written yet: dgamma and dbeta hold what they held before the launch");
}

void check_case(const BackwardCase& input, BackwardRunOptions options = {}) {
  const auto verdict =
      testing::judge_backward(exercise::layer_norm_dgamma_dbeta, input, summation, sums_alone(options));
  REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on " << verdict.text());
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": the first stage leaves the sums of each slab in the workspace") {
  require_first_stage();
  // The ordinary first; then slabs of unequal length, one row, and columns for more than one block.
  const BackwardCase cases[] = {small_case(), random_case(5, 3, Data::offset_100, 21),
                                random_case(1, 1, Data::centred, 22), random_case(9, 300, Data::offset_10, 23)};
  for (const BackwardCase& input : cases) {
    const std::int64_t rows = input.forward.rows, cols = input.forward.cols;
    const std::vector<float> workspace = workspace_of(input);
    BackwardResult of_all_slabs{.dx = {}, .dgamma = {}, .dbeta = {}};  // whichever row is in which slab
    for (std::int64_t column = 0; column < 2 * cols; ++column) {
      double sum = 0;
      for (std::int64_t slab = 0; slab < slabs_for(rows, cols).slabs; ++slab) {
        sum += workspace[static_cast<std::size_t>(2 * cols * slab + column)];
      }
      (column < cols ? of_all_slabs.dgamma : of_all_slabs.dbeta).push_back(static_cast<float>(sum));
    }
    const auto verdict = testing::judge_backward(of_all_slabs, input, summation(rows, cols));
    REQUIRE_MESSAGE(
        verdict.passed(),
        LNH_SUBJECT " fills workspace with slabs that do not add up to dgamma and dbeta on " << verdict.text());
  }
}

TEST_CASE(LNH_SUBJECT ": right within the bound for every number of rows and columns and kind of data") {
  require_written();
  std::uint64_t seed = 1;
  for (const Data data : testing::all_data()) check_case(random_case(10, 70, data, seed++));
  // Slabs of four rows and of fewer; one slab; more slabs than a warp has lanes.
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 8, 31, 100, 127, 131, 517}) {
    check_case(random_case(rows, 33, Data::offset_10, seed++));
  }
  // Columns for a part of a warp, a part of a block, several blocks.
  for (const std::int64_t cols : {1, 2, 16, 31, 32, 255, 256, 257, 1000, 2051}) {
    check_case(random_case(9, cols, Data::offset_100, seed++));
  }
  // As many slabs as there may be: they have five rows, the last of them four.
  check_case(random_case(16387, 2, Data::offset_10, seed++));
}

TEST_CASE(LNH_SUBJECT ": dgamma and dbeta are each written where they are wanted") {
  require_written();
  for (const std::int64_t cols : {70, 256}) {
    const BackwardCase input = random_case(10, cols, Data::offset_10, 14);
    check_case(input, {.dgamma = false});
    check_case(input, {.dbeta = false});
  }
}

TEST_CASE(LNH_SUBJECT ": accumulate adds to what is there, and without it that is written over") {
  require_written();
  const BackwardCase input = small_case();
  check_case(input, {.accumulate = true});
  check_case(input, {.accumulate = true, .before = -0.5f});
  check_case(input, {.dgamma = false, .accumulate = true});
  check_case(input);
}

TEST_CASE(LNH_SUBJECT ": the same input gives the same bits on every run") {
  require_written();
  const BackwardCase input = random_case(517, 70, Data::offset_10, 15);
  const BackwardResult first = sums_of(input);
  const auto check_same_bits = [&] {
    const BackwardResult again = sums_of(input);
    CHECK_MESSAGE((testing::same_bits(again.dgamma, first.dgamma) && testing::same_bits(again.dbeta, first.dbeta)),
                  LNH_SUBJECT " adds up in an order that changes from run to run");
  };
#ifdef LNH_CUDA
  for (int run = 0; run < 20; ++run) check_same_bits();
#else
  const std::uint64_t seed = simt::seed();
  for (std::uint64_t other = 1; other <= 4; ++other) {
    simt::set_seed(seed + other);  // another order of lanes and warps
    check_same_bits();
  }
  simt::set_seed(seed);
#endif
}

#ifndef LNH_CUDA  // only the executor can count and trace, and run a part of a launch alone

TEST_CASE(LNH_SUBJECT ": no atomics") {
  require_written();
  const simt::TraceScope trace;
  sums_of(small_case());
  std::size_t atomics = 0;
  for (const simt::BlockTrace& launch : trace.launches()) {
    atomics +=
        static_cast<std::size_t>(std::count_if(launch.requests.begin(), launch.requests.end(),
                                               [](const simt::TracedRequest& request) { return request.atomic; }));
  }
  CHECK_MESSAGE(atomics == 0, LNH_SUBJECT " makes "
                                  << atomics
                                  << " atomic requests in the first blocks of its launches: the order in which a GPU "
                                     "carries them out is open, so the sums have other bits on every run");
}

TEST_CASE(LNH_SUBJECT ": each element is asked for once, by neighbouring lanes") {
  require_written();
  const std::int64_t rows = 66, cols = 512;
  const std::uint64_t elements = rows * cols, sums = 2 * cols * slabs_for(rows, cols).slabs;
  const simt::CountScope counts;
  sums_of(random_case(rows, cols, Data::centred, 13));
  const auto judge = [&](const char* what, const simt::AccessCounts& asked, std::uint64_t floats) {
    CHECK_MESSAGE(asked.bytes == 4 * floats, LNH_SUBJECT " asks for " << asked.bytes << " bytes: " << what << "; "
                                                                      << floats << " floats have " << 4 * floats);
    CHECK_MESSAGE(asked.sectors <= floats / 8, LNH_SUBJECT " spreads its requests: "
                                                   << what << " touch " << asked.sectors << " sectors, where " << floats
                                                   << " floats asked for by neighbouring lanes touch " << floats / 8);
  };
  judge("the loads of x", counts.total().buffer("x").loads, elements);
  judge("the loads of dy", counts.total().buffer("dy").loads, elements);
  judge("the stores to workspace", counts.total().buffer("workspace").stores, sums);
  judge("the loads of workspace", counts.total().buffer("workspace").loads, sums);
  for (const char* result : {"dgamma", "dbeta"}) {
    const std::uint64_t stored = counts.total().buffer(result).stores.lanes;
    CHECK_MESSAGE(stored == cols,
                  LNH_SUBJECT " stores " << stored << " values to " << result << ", which has " << cols << " columns");
  }
}

TEST_CASE(LNH_SUBJECT ": shared memory is asked without bank conflicts") {
  require_written();
  const simt::CountScope counts;
  sums_of(random_case(66, 512, Data::centred, 13));
  const auto judge = [](const char* what, const simt::AccessCounts& asked) {
    CHECK_MESSAGE(asked.wavefronts <= asked.ideal_wavefronts,
                  LNH_SUBJECT " takes " << asked.wavefronts << " wavefronts for " << what << " of shared memory, where "
                                        << asked.ideal_wavefronts
                                        << " are enough: do the lanes of a warp ask for different words of one bank?");
  };
  judge("the loads", counts.total().shared_loads);
  judge("the stores", counts.total().shared_stores);
}

TEST_CASE(LNH_SUBJECT ": the row behind the 2^32nd element is counted in") {
  require_written();
  // Five rows of 2³⁰ columns, of which nobody has written more than the first 256 of each; the first block of either
  // stage has no need of the others.
  const std::int64_t rows = 5, cols = std::int64_t{1} << 30, block = exercise::column_threads;
  const BackwardCase input = random_case(rows, block, Data::offset_10, 8);
  auto x = DeviceBuffer<float>::untouched("x", rows * cols), dy = DeviceBuffer<float>::untouched("dy", rows * cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto begin = static_cast<std::size_t>(row * block), count = static_cast<std::size_t>(block);
    x.upload(std::span(input.forward.x).subspan(begin, count), row * cols);
    dy.upload(std::span(input.dy).subspan(begin, count), row * cols);
  }
  const DeviceBuffer<float> mean("mean", input.mean), rstd("rstd", input.rstd);
  const auto dgamma = DeviceBuffer<float>::untouched("dgamma", cols),
             dbeta = DeviceBuffer<float>::untouched("dbeta", cols);
  const auto workspace = DeviceBuffer<float>::untouched("workspace", workspace_floats(rows, cols));
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
  INFO("The last row lies behind the 2^32nd element of the matrix: is a row's offset computed in 32 bits?");
  {
    const LaunchWindow first_block(0, 1);
    exercise::layer_norm_dgamma_dbeta(args, nullptr);
  }
  const std::int64_t columns = warp_lanes;  // that the first block of the second stage has
  const auto head = [&](const std::vector<double>& values) { return std::span(values).first(columns); };
  const testing::BackwardReference reference = testing::norm_backward_reference(input);
  const testing::BackwardTolerance tolerance = testing::norm_backward_tolerance(input, summation(rows, cols));
  const testing::Comparison verdict =
      testing::compare("dgamma", dgamma.download(0, columns), head(reference.dgamma), head(tolerance.dgamma), columns);
  CHECK_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on five rows of 2^30 columns: " << verdict.text());
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE {
  testing::print_comparison(testing::backward_workload(exercise::layer_norm_dgamma_dbeta, {.dx = false}));
}

#endif
