// Exercise 06.2: LayerNorm and RMSNorm from one kernel template.
#include <2_one_template.cuh>

#include <host/device_buffer.h>
#include <testing/cases.h>
#include <testing/run.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <host/launch_window.h>
#include <simt/counts.h>
#endif

using testing::Data;
using testing::NormCase;
using testing::NormResult;

namespace {

struct Instance {
  std::string name;
  NormLauncher launch;
};
const Instance instances[] = {{"LayerNorm", exercise::layer_norm}, {"RMSNorm", exercise::rms_norm}};

testing::Summation summation(std::int64_t cols) { return testing::dealt_in_fours(cols, shape_for(cols).threads); }

NormCase small_case() { return testing::make_case(3, 100, Data::offset_10, 7); }

void require_written() {
  static const bool written = [] {
    const std::vector<float> y = testing::run(exercise::layer_norm, small_case()).y;
    return !std::all_of(y.begin(), y.end(), DeviceBuffer<float>::is_poison);
  }();
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: after the launch y holds what it held before");
}

/// Both instances are right on this case; LayerNorm only where its bound says something.
void check_case(const NormCase& input, testing::RunOptions options = {}) {
  for (const Instance& instance : instances) {
    const bool is_layer_norm = instance.launch.norm() == Norm::layer_norm;
    if (is_layer_norm && testing::judgeable({input}, summation).judged.empty()) continue;
    const auto verdict = testing::judge(instance.launch, input, summation(input.cols), options);
    REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT ", " << instance.name << ", is wrong on " << verdict.text());
  }
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": both norms are right within the bound on rows of every length and kind") {
  require_written();
  std::uint64_t seed = 1;
  // The ordinary first: it is what a reader sees. Then no multiple of 4, and every line of the table of shapes.
  for (const std::int64_t cols : {100, 64, 257, 1000, 31, 4, 3, 2, 1, 1025, 2048, 2051, 8192, 16387}) {
    const std::vector<Data> kinds =
        cols <= 1000 ? testing::all_data() : std::vector<Data>{Data::centred, Data::offset_100};
    for (const Data data : kinds) check_case(testing::make_case(1, cols, data, seed++));
  }
  // More rows than a block has, and a last block that is not full: of 8 rows, and of 4 with a barrier.
  check_case(testing::make_case(21, 5, Data::offset_10, seed++));
  check_case(testing::make_case(6, 1500, Data::offset_10, seed++));
}

TEST_CASE(LNH_SUBJECT ": both norms are right within the bound on rows that convict a cancelling variance") {
  require_written();
  for (const NormCase& input : testing::trap_cases()) check_case(input);
}

TEST_CASE(LNH_SUBJECT ": eps stands inside the root, whatever its size") {
  require_written();
  for (const float eps : {0.0f, 1e-12f, 1e-3f, 1.0f}) {
    NormCase input = small_case();
    input.eps = eps;
    check_case(input);
  }
}

TEST_CASE(LNH_SUBJECT ": a null gamma is 1, a null beta is 0, and a null mean or rstd is not written") {
  require_written();
  for (const std::int64_t cols : {100, 37}) {
    NormCase no_gamma = testing::make_case(3, cols, Data::offset_10, 14), no_beta = no_gamma;
    no_gamma.gamma.clear();
    no_beta.beta.clear();
    check_case(no_gamma);
    check_case(no_beta);
  }
  check_case(small_case(), {.mean = false});
  check_case(small_case(), {.rstd = false});
}

TEST_CASE(LNH_SUBJECT ": y may be written over x") {
  require_written();
  check_case(small_case(), {.in_place = true});
  check_case(testing::make_case(3, 1500, Data::offset_10, 10), {.in_place = true});
}

TEST_CASE(LNH_SUBJECT ": a misaligned buffer gives the same bits") {
  require_written();
  for (const Instance& instance : instances) {
    for (const std::int64_t cols : {5, 100, 1500, 4096}) {
      const NormCase input = testing::make_case(3, cols, Data::offset_10, 11);
      const NormResult aligned = testing::run(instance.launch, input);
      for (const testing::RunOptions& misaligned :
           {testing::RunOptions{.x_offset = 1}, testing::RunOptions{.y_offset = 2},
            testing::RunOptions{.gamma_offset = 3}, testing::RunOptions{.beta_offset = 1}}) {
        const NormResult result = testing::run(instance.launch, input, misaligned);
        CHECK_MESSAGE(
            testing::same_bits(result.y, aligned.y),
            LNH_SUBJECT ", " << instance.name << ", adds up a row in another order when a buffer is misaligned");
      }
    }
  }
}

#ifndef LNH_CUDA  // only the executor can count, and run the last block of a launch alone

TEST_CASE(LNH_SUBJECT ": RMSNorm's instance holds nothing that only LayerNorm needs") {
  require_written();
  for (const std::int64_t cols : {256, 4096}) {
    const std::int64_t rows = 8, warps = shape_for(cols).threads / 32;  // of a row
    const std::int64_t steps = warps == 1 ? 5 + 1 : 8 * 5 + 3;          // block_reduce on a row of 1 or 8 warps
    const NormCase input = testing::make_case(rows, cols, Data::centred, 13);
    for (const Instance& instance : instances) {
      const simt::CountScope counts;
      testing::run(instance.launch, input);
      const std::int64_t words = instance.launch.norm() == Norm::rms_norm ? 1 : 4;
      const std::int64_t expected = rows * steps * words;
      CHECK_MESSAGE(counts.total().shuffles == expected,
                    LNH_SUBJECT ", " << instance.name << ", makes " << counts.total().shuffles << " shuffles on "
                                     << rows << " rows of " << cols << " columns; a state of " << 4 * words
                                     << " bytes takes " << expected);
    }
  }
}

TEST_CASE(LNH_SUBJECT ": memory is asked no more often than accesses of 16 bytes ask it") {
  require_written();
  const std::int64_t rows = 3, cols = 4096;
  const NormCase input = testing::make_case(rows, cols, Data::centred, 13);
  const std::uint64_t pass = rows * cols / 128;  // requests of 32 lanes, four floats each
  for (const Instance& instance : instances) {
    const bool is_layer_norm = instance.launch.norm() == Norm::layer_norm;
    const simt::CountScope counts;
    testing::run(instance.launch, input);
    const auto judge = [&](const std::string& what, const simt::AccessCounts& asked, std::uint64_t needed) {
      CHECK_MESSAGE(asked.requests == needed, LNH_SUBJECT ", " << instance.name << ", asks memory " << asked.requests
                                                               << " times: " << what << "; expected " << needed
                                                               << " requests of 512 bytes");
      CHECK_MESSAGE(asked.sectors <= 16 * needed, LNH_SUBJECT ", "
                                                      << instance.name << ", spreads its requests: " << what
                                                      << " touch " << asked.sectors << " sectors, where " << needed
                                                      << " requests of 32 neighbouring fours touch " << 16 * needed);
    };
    const simt::LaunchCounts& total = counts.total();
    judge("the loads of x", total.buffer("x").loads, 2 * pass);
    judge("the loads of gamma", total.buffer("gamma").loads, pass);
    judge("the loads of beta", total.buffer("beta").loads, is_layer_norm ? pass : 0);
    judge("the stores of y", total.buffer("y").stores, pass);
    for (const char* statistic : {"mean", "rstd"}) {
      const std::uint64_t stored = total.buffer(statistic).stores.lanes;
      const std::uint64_t needed = is_layer_norm || statistic == std::string("rstd") ? rows : 0;
      CHECK_MESSAGE(stored == needed, LNH_SUBJECT ", " << instance.name << ", stores " << stored << " values to "
                                                       << statistic << ", expected " << needed
                                                       << ": one thread of each row is enough");
    }
  }
}

TEST_CASE(LNH_SUBJECT ": the rows behind the 2^32nd row are right") {
  require_written();
  const std::int64_t rows = (std::int64_t{1} << 32) + 3, first = rows - 3, block = first / shape_for(1).rows;
  const NormCase input = testing::make_case(3, 1, Data::offset_10, 8);
  INFO("These rows lie behind the 2^32nd row of the matrix: is the number of a row cut to 32 bits?");
  for (const Instance& instance : instances) {
    const bool is_layer_norm = instance.launch.norm() == Norm::layer_norm;
    auto x = DeviceBuffer<float>::untouched("x", rows), y = DeviceBuffer<float>::untouched("y", rows);
    auto mean = DeviceBuffer<float>::untouched("mean", rows), rstd = DeviceBuffer<float>::untouched("rstd", rows);
    const DeviceBuffer<float> gamma("gamma", input.gamma), beta("beta", input.beta);
    x.upload(input.x, first);
    {
      const LaunchWindow last_block(static_cast<std::uint64_t>(block), 1);
      instance.launch({.x = x.data(),
                       .gamma = gamma.data(),
                       .beta = beta.data(),
                       .y = y.data(),
                       .mean = mean.data(),
                       .rstd = rstd.data(),
                       .rows = rows,
                       .cols = 1,
                       .eps = input.eps},
                      nullptr);
    }
    const NormResult alone = testing::run(instance.launch, input);
    const bool same_mean = !is_layer_norm || testing::same_bits(mean.download(first, 3), alone.mean);
    const bool same_rstd = testing::same_bits(rstd.download(first, 3), alone.rstd);
    CHECK_MESSAGE((testing::same_bits(y.download(first, 3), alone.y) && same_mean && same_rstd),
                  LNH_SUBJECT ", " << instance.name
                                   << ", gives other values to the last of many rows than to the same rows alone");
  }
}

TEST_CASE(LNH_SUBJECT ": rows behind the 2^32nd element are right") {
  require_written();
  const std::int64_t cols = 4096, rows = (std::int64_t{1} << 20) + 3, last = 3;  // 2³² elements, and three rows more
  const NormCase input = testing::make_case(last, cols, Data::offset_10, 8);
  INFO("These rows lie behind the 2^32nd element of the matrix: is a row's offset computed in 32 bits?");
  for (const Instance& instance : instances) {
    auto x = DeviceBuffer<float>::untouched("x", rows * cols);
    auto y = DeviceBuffer<float>::untouched("y", rows * cols);
    const DeviceBuffer<float> gamma("gamma", input.gamma), beta("beta", input.beta);
    x.upload(input.x, (rows - last) * cols);
    {
      const LaunchWindow last_blocks((rows - last) / shape_for(cols).rows, last);
      instance.launch({.x = x.data(),
                       .gamma = gamma.data(),
                       .beta = beta.data(),
                       .y = y.data(),
                       .rows = rows,
                       .cols = cols,
                       .eps = input.eps},
                      nullptr);
    }
    CHECK_MESSAGE(
        testing::same_bits(y.download((rows - last) * cols, last * cols), testing::run(instance.launch, input).y),
        LNH_SUBJECT ", " << instance.name
                         << ", gives other values to the last rows of a large batch than to the same rows alone");
  }
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE { testing::print_comparison(testing::norm_workload(exercise::layer_norm)); }

#endif
