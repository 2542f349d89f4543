// The judge of the public reports is judged: every rule accepts a sound kernel and convicts one with the report's
// fault.
#include <host/grid.h>
#include <host/launch.h>
#include <testing/reports.h>

#include <doctest/doctest.h>

#include <string>

namespace reports_test {

enum class Fault {
  none,
  cancels,
  folds_the_mean_into_beta,
  overflows_as_half,
  eps_as_half,
  eps_of_bfloat16,
  eps_added_to_cols,
  eps_outside_the_root,
  eps_of_its_own,
  pads_with_zeros,
  divides_by_one_less,
  leaks_into_the_next_row,
  int_offsets,
  writes_whole_quads,
  reads_whole_quads_alone,
  sums_otherwise_when_misaligned,
  rows_not_bounded,
  first_65536_columns,
  first_65535_rows,
  first_8388608_rows,
  gamma_and_beta_in_pairs,
  launches_an_empty_grid,
  refuses_long_rows_in_silence,
  writes_to_x,
  changes_with_the_number_of_rows,
  merges_empty_lanes,
  loses_the_last_column_of_short_rows,
};

constexpr int block_threads = 64;

/// One thread per row; with the mean left at 0 it is RMSNorm.
template <Norm norm, Fault fault>
__global__ void norm_kernel(LayerNormArgs args) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (row >= args.rows && fault != Fault::rows_not_bounded) return;
  if (fault == Fault::first_65535_rows && row >= 65535) return;
  if (fault == Fault::first_8388608_rows && row >= 8388608) return;
  const std::int64_t offset = row * args.cols;
  const std::int64_t first = fault == Fault::int_offsets ? static_cast<int>(offset) : offset;
  const float* x = args.x + first;
  float* y = args.y + first;

  std::int64_t cols = args.cols;
  if (fault == Fault::reads_whole_quads_alone) cols = cols / 4 * 4;
  if (fault == Fault::first_65536_columns && cols > 65536) cols = 65536;
  if (fault == Fault::loses_the_last_column_of_short_rows && cols < 256) cols -= 1;
  const bool reversed =
      fault == Fault::sums_otherwise_when_misaligned && reinterpret_cast<std::uintptr_t>(args.x) % 16 != 0;

  float mean = 0, squares = 0, sum = 0;
  for (std::int64_t c = 0; c < cols; ++c) {
    const float value = x[reversed ? cols - 1 - c : c];
    sum += value;
    const float delta = value - mean;
    if (norm == Norm::layer_norm && fault != Fault::cancels) mean += delta / static_cast<float>(c + 1);
    squares += delta * (value - mean);
    if (fault == Fault::overflows_as_half && (fabsf(sum) > 65504 || squares > 65504)) squares = INFINITY;
  }
  if (fault == Fault::pads_with_zeros) squares += static_cast<float>((4 - cols % 4) % 4) * mean * mean;
  if (fault == Fault::merges_empty_lanes && cols < 32) mean += 0 * INFINITY;
  float count = static_cast<float>(args.cols);
  if (fault == Fault::divides_by_one_less) count -= 1;
  if (fault == Fault::eps_added_to_cols) count += args.eps;
  float variance = squares / count;
  if (fault == Fault::cancels) {
    mean = sum / count;
    variance -= mean * mean;
  }

  float eps = args.eps;
  if (fault == Fault::eps_added_to_cols) eps = 0;
  if (fault == Fault::eps_of_its_own) eps = 1e-5f;
  if (fault == Fault::eps_of_bfloat16) eps = 0x1p-7f;
  if (fault == Fault::eps_as_half && eps < 0x1p-25f) eps = 0;
  const float rstd =
      fault == Fault::eps_outside_the_root ? 1.0f / (sqrtf(variance) + eps) : 1.0f / sqrtf(variance + eps);

  const bool pairs = fault == Fault::gamma_and_beta_in_pairs && (args.gamma == nullptr || args.beta == nullptr);
  const std::int64_t written = fault == Fault::writes_whole_quads ? (cols + 3) / 4 * 4 : cols;
  for (std::int64_t c = 0; c < written; ++c) {
    const float gamma = args.gamma == nullptr || pairs ? 1.0f : args.gamma[c];
    const float beta = args.beta == nullptr || pairs ? 0.0f : args.beta[c];
    const float value = c < args.cols ? x[c] : 0;
    y[c] = fault == Fault::folds_the_mean_into_beta ? fmaf(value, rstd * gamma, beta - mean * rstd * gamma)
                                                    : (value - mean) * rstd * gamma + beta;
    if (fault == Fault::leaks_into_the_next_row && row > 0) y[c] += 0 * args.x[(row - 1) * args.cols + c];
    if (fault == Fault::writes_to_x) const_cast<float*>(x)[c] = y[c];
  }
  if (args.mean != nullptr) args.mean[row] = mean;
  if (args.rstd != nullptr) args.rstd[row] = rstd;
}

template <Norm norm, Fault fault>
void launch_norm(const LayerNormArgs& args, cudaStream_t stream) {
  if (args.rows == 0 && fault != Fault::launches_an_empty_grid) return;
  if (fault == Fault::refuses_long_rows_in_silence && args.cols >= 8192) return;
  LayerNormArgs changed = args;
  if (fault == Fault::changes_with_the_number_of_rows) changed.eps *= static_cast<float>(args.rows);
  launch(norm_kernel<norm, fault>, {blocks_for(args.rows, block_threads), block_threads, 0, stream}, changed);
}

template <Fault fault>
void layer_norm(const LayerNormArgs& args, cudaStream_t stream) {
  launch_norm<Norm::layer_norm, fault>(args, stream);
}
template <Fault fault>
void rms_norm(const RmsNormArgs& args, cudaStream_t stream) {
  launch_norm<Norm::rms_norm, fault>(layer_norm_args(args), stream);
}

using Rule = testing::Violations (*)(const testing::NormContract&);

template <Fault fault>
testing::Violations layer_norm_by(Rule rule) {
  return rule({layer_norm<fault>, InPlace::allowed, testing::thread_per_row, block_threads});
}
template <Fault fault>
testing::Violations rms_norm_by(Rule rule) {
  return rule({rms_norm<fault>, InPlace::allowed, testing::thread_per_row, block_threads});
}

void sound_layer_norm(const LayerNormArgs& args, cudaStream_t stream) { layer_norm<Fault::none>(args, stream); }
void sound_rms_norm(const RmsNormArgs& args, cudaStream_t stream) { rms_norm<Fault::none>(args, stream); }
void cancelling_layer_norm(const LayerNormArgs& args, cudaStream_t stream) { layer_norm<Fault::cancels>(args, stream); }

}  // namespace reports_test

using namespace reports_test;
using namespace testing::reports;

LAYER_NORM_REPORTS(sound_layer_norm, .in_place = InPlace::allowed, .summation = testing::thread_per_row,
                   .rows_per_block = block_threads)
RMS_NORM_REPORTS(sound_rms_norm, .in_place = InPlace::allowed, .summation = testing::thread_per_row,
                 .rows_per_block = block_threads)
CANCELLING_LAYER_NORM_REPORTS(cancelling_layer_norm, .in_place = InPlace::allowed, .summation = testing::thread_per_row,
                              .rows_per_block = block_threads, .constant_row = testing::ConstantRow::wrong)

TEST_CASE("a cancelling variance is convicted by every row about cancellation") {
  for (const Rule rule : {n01, n02, n03, n04, n05, n06, n08}) CHECK(!layer_norm_by<Fault::cancels>(rule).empty());
}

TEST_CASE("a sound kernel is not taken for a cancelling one") {
  for (const Rule rule :
       {n01_convicts, n02_convicts, n03_convicts, n04_convicts, n05_convicts, n06_convicts, n08_convicts}) {
    CHECK(!layer_norm_by<Fault::none>(rule).empty());
  }
}

TEST_CASE("each fault is convicted by the row of its report") {
  CHECK(!layer_norm_by<Fault::folds_the_mean_into_beta>(n09).empty());
  CHECK(!layer_norm_by<Fault::overflows_as_half>(n12).empty());
  CHECK(!rms_norm_by<Fault::overflows_as_half>(n12).empty());
  CHECK(!layer_norm_by<Fault::eps_as_half>(n13).empty());
  CHECK(!rms_norm_by<Fault::eps_as_half>(n13).empty());
  CHECK(!layer_norm_by<Fault::eps_of_bfloat16>(n14).empty());
  CHECK(!rms_norm_by<Fault::eps_of_bfloat16>(n14).empty());
  CHECK(!layer_norm_by<Fault::eps_added_to_cols>(n16).empty());
  CHECK(!layer_norm_by<Fault::eps_outside_the_root>(n17).empty());
  CHECK(!rms_norm_by<Fault::eps_outside_the_root>(n17).empty());
  CHECK(!layer_norm_by<Fault::pads_with_zeros>(n18).empty());
  CHECK(!layer_norm_by<Fault::divides_by_one_less>(n19).empty());
  CHECK(!layer_norm_by<Fault::leaks_into_the_next_row>(n25).empty());
  CHECK(!rms_norm_by<Fault::leaks_into_the_next_row>(n25).empty());
  CHECK(!layer_norm_by<Fault::eps_of_its_own>(n26).empty());
  CHECK(!rms_norm_by<Fault::eps_of_its_own>(n26).empty());
  CHECK(!layer_norm_by<Fault::reads_whole_quads_alone>(x06).empty());
  CHECK(!rms_norm_by<Fault::reads_whole_quads_alone>(x06).empty());
  CHECK(!layer_norm_by<Fault::reads_whole_quads_alone>(x07).empty());
  CHECK(!rms_norm_by<Fault::reads_whole_quads_alone>(x07).empty());
  CHECK(!layer_norm_by<Fault::sums_otherwise_when_misaligned>(x09).empty());
  CHECK(!rms_norm_by<Fault::sums_otherwise_when_misaligned>(x09).empty());
  CHECK(!layer_norm_by<Fault::first_65536_columns>(x14).empty());
  CHECK(!rms_norm_by<Fault::first_65536_columns>(x14).empty());
  CHECK(!layer_norm_by<Fault::folds_the_mean_into_beta>(b13).empty());
  CHECK(!layer_norm_by<Fault::first_65535_rows>(a01).empty());
  CHECK(!rms_norm_by<Fault::first_65535_rows>(a01).empty());
  CHECK(!layer_norm_by<Fault::gamma_and_beta_in_pairs>(a03).empty());
  CHECK(!rms_norm_by<Fault::gamma_and_beta_in_pairs>(a03).empty());
  CHECK(!layer_norm_by<Fault::launches_an_empty_grid>(a04).empty());
  CHECK(!rms_norm_by<Fault::launches_an_empty_grid>(a04).empty());
  CHECK(!layer_norm_by<Fault::refuses_long_rows_in_silence>(a05).empty());
  CHECK(!rms_norm_by<Fault::refuses_long_rows_in_silence>(a05).empty());
  CHECK(!layer_norm_by<Fault::refuses_long_rows_in_silence>(a10).empty());
  CHECK(!rms_norm_by<Fault::refuses_long_rows_in_silence>(a10).empty());
  CHECK(!layer_norm_by<Fault::writes_to_x>(a09).empty());
  CHECK(!rms_norm_by<Fault::writes_to_x>(a09).empty());
  CHECK(!layer_norm_by<Fault::eps_of_its_own>(d01).empty());
  CHECK(!rms_norm_by<Fault::eps_of_its_own>(d01).empty());
  CHECK(!layer_norm_by<Fault::changes_with_the_number_of_rows>(d05).empty());
  CHECK(!rms_norm_by<Fault::changes_with_the_number_of_rows>(d05).empty());
  CHECK(!layer_norm_by<Fault::merges_empty_lanes>(e01).empty());
  CHECK(!layer_norm_by<Fault::loses_the_last_column_of_short_rows>(e02).empty());
  CHECK(!rms_norm_by<Fault::loses_the_last_column_of_short_rows>(e02).empty());
  CHECK(!layer_norm_by<Fault::folds_the_mean_into_beta>(e03).empty());
}

TEST_SUITE("large") {
  TEST_CASE("a kernel that loses the rows behind the 2²³rd is convicted") {
    CHECK(!layer_norm_by<Fault::first_8388608_rows>(a02).empty());
    CHECK(!rms_norm_by<Fault::first_8388608_rows>(a02).empty());
  }
}

#ifndef LNH_CUDA  // on a GPU these faults may end the program

TEST_CASE("each fault that leaves its buffers is convicted by the row of its report") {
  CHECK(!layer_norm_by<Fault::int_offsets>(x02).empty());
  CHECK(!rms_norm_by<Fault::int_offsets>(x02).empty());
  CHECK(!layer_norm_by<Fault::int_offsets>(x03).empty());
  CHECK(!rms_norm_by<Fault::int_offsets>(x03).empty());
  CHECK(!layer_norm_by<Fault::writes_whole_quads>(x05).empty());
  CHECK(!rms_norm_by<Fault::writes_whole_quads>(x05).empty());
  CHECK(!layer_norm_by<Fault::rows_not_bounded>(x13).empty());
  CHECK(!rms_norm_by<Fault::rows_not_bounded>(x13).empty());
}

#endif
