// The backward is right within the bound, for both norms and in every way of computing it; what each way asks of memory.
#include "backward.cuh"

#include <testing/backward.h>
#include <testing/cases.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

testing::Summation two_stages(std::int64_t rows, std::int64_t cols) {
  const Slabs slabs = slabs_for(rows, cols);
  return {slabs.rows_per_slab + (slabs.slabs + 31) / 32, 32};
}
testing::BackwardSummation naive(std::int64_t rows, std::int64_t cols) {
  return {testing::thread_per_row(cols), testing::block_per_row<backward::column_threads>(rows)};
}
testing::BackwardSummation coalesced(std::int64_t rows, std::int64_t cols) {
  return {testing::dealt_in_fours(cols, shape_for(cols).threads), {rows, 1}};
}
testing::BackwardSummation separate(std::int64_t rows, std::int64_t cols) {
  return {testing::dealt_in_fours(cols, shape_for(cols).threads), two_stages(rows, cols)};
}
testing::BackwardSummation fused(std::int64_t rows, std::int64_t cols) {
  if (cols > backward::most_fused_cols) return separate(rows, cols);
  return {testing::dealt_in_fours(cols, backward::fused_shape(cols).threads), two_stages(rows, cols)};
}

struct Stage {
  std::string name;
  NormBackwardLauncher launch;
  testing::BackwardSummationOf summation;
};
const Stage stages[] = {{"backward::layer_norm_naive", backward::layer_norm_naive, naive},
                        {"backward::layer_norm_coalesced", backward::layer_norm_coalesced, coalesced},
                        {"backward::layer_norm_separate", backward::layer_norm_separate, separate},
                        {"backward::layer_norm", backward::layer_norm, fused},
                        {"backward::rms_norm", backward::rms_norm, fused}};

void check_within_bound(const Stage& stage, const std::vector<testing::BackwardCase>& cases) {
  testing::BackwardVerdict worst;
  for (const testing::BackwardCase& input : cases) {
    const testing::BackwardVerdict verdict = testing::judge_backward(stage.launch, input, stage.summation);
    CHECK_MESSAGE(verdict.passed(), stage.name << " on " << verdict.text());
    worst.dx.ratio = std::max(worst.dx.ratio, verdict.dx.ratio);
    worst.dgamma.ratio = std::max(worst.dgamma.ratio, verdict.dgamma.ratio);
    worst.dbeta.ratio = std::max(worst.dbeta.ratio, verdict.dbeta.ratio);
  }
  MESSAGE(stage.name << ": error/bound at most " << worst.dx.ratio << " (dx), " << worst.dgamma.ratio << " (dgamma), "
                     << worst.dbeta.ratio << " (dbeta) over " << cases.size() << " cases");
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
