// The judge of the backward is judged: contract and reports accept sound kernels, and each rule convicts one with its
// fault.
#include <host/grid.h>
#include <host/launch.h>
#include <testing/backward_reports.h>
#include <testing/data_file.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

namespace backward_contract_test {

enum class Fault {
  none,
  writes_without_rows,
  leaves_the_sums_of_no_rows,
  launches_an_empty_grid,
  checks_nothing,
  takes_null_gamma_for_0,
  sums_in_pairs_alone,
  writes_before_it_has_read,
  never_accumulates,
  always_accumulates,
  int_offsets,
  unsigned_offsets,
  drops_the_tail,
  sums_otherwise_when_misaligned,
  loses_the_last_row_of_many,
  hides_nan,
  leaks_into_the_next_row,
  folds_the_mean,
  bounds_rstd,
  counts_in_binary32,
  changes_with_each_run,
  changes_with_the_number_of_rows,
  forgets_gamma_inside,
  subtracts_the_mean_twice,
  pulls_gamma_out,
  takes_an_offset_for_gamma,
  subtracts_the_mean,  // of RMSNorm
  sums_in_16_bits,
  divides_by_gamma,
  swaps_the_sums,
  a_third_of_the_rows,
  refuses_long_rows_in_silence,
  mixes_the_lanes,
  no_gradient_at_0,
  adds_up_the_workspace,
};

constexpr int block_threads = 64;

template <Fault fault>
__device__ std::int64_t offset(std::int64_t exact) {
  if (fault == Fault::int_offsets) return static_cast<int>(exact);
  if (fault == Fault::unsigned_offsets) return static_cast<unsigned>(exact);
  return exact;
}

/// mean is null for RMSNorm.
template <Fault fault>
__device__ float normalised(const LayerNormBackwardArgs& args, std::int64_t row, std::int64_t c) {
  const float x = args.x[offset<fault>(row * args.cols) + c];
  const float mean = args.mean == nullptr ? 0.0f : args.mean[row];
  const float rstd = fault == Fault::bounds_rstd ? fminf(args.rstd[row], 1e9f) : args.rstd[row];
  if (fault == Fault::folds_the_mean) return fmaf(x, rstd, -(mean * rstd));
  if (fault == Fault::divides_by_gamma && args.gamma != nullptr) {
    return (x - mean) * rstd * args.gamma[c] / args.gamma[c];
  }
  return (x - mean) * rstd;
}

template <Norm norm, Fault fault>
__global__ void dx_kernel(LayerNormBackwardArgs args) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (row >= args.rows) return;
  if (fault == Fault::loses_the_last_row_of_many && args.rows > 1000 && row == args.rows - 1) return;
  const std::int64_t cols = args.cols, first = offset<fault>(row * cols);
  const float* dy = args.dy + first;
  float* dx = args.dx + first;
  const float rstd = fault == Fault::bounds_rstd ? fminf(args.rstd[row], 1e9f) : args.rstd[row];
  const auto gamma = [&](std::int64_t c) {
    if (fault == Fault::takes_an_offset_for_gamma) return (args.gamma == nullptr ? 1.0f : args.gamma[c]) - 1;
    if (args.gamma == nullptr) return fault == Fault::takes_null_gamma_for_0 ? 0.0f : 1.0f;
    return args.gamma[c];
  };

  if (fault == Fault::writes_before_it_has_read) {
    for (std::int64_t c = 0; c < cols; ++c) dx[c] = 0;
  }
  const bool reversed =
      fault == Fault::sums_otherwise_when_misaligned && reinterpret_cast<std::uintptr_t>(args.gamma) % 16 != 0;
  float g = 0, gx = 0, count = 0;
  for (std::int64_t i = 0; i < cols; ++i) {
    const std::int64_t c = reversed ? cols - 1 - i : i;
    const float inside = fault == Fault::pulls_gamma_out ? 1.0f : gamma(c);
    const float x = normalised<fault>(args, row, c);
    count = fault == Fault::counts_in_binary32 ? count + 1 : static_cast<float>(i + 1);
    if (fault == Fault::hides_nan && x * dy[c] != x * dy[c]) continue;
    g += __fmul_rn(dy[c], inside);  // g is rounded wherever it is used: see chapter 07
    gx += __fmul_rn(dy[c], fault == Fault::forgets_gamma_inside ? 1.0f : inside) * x;
  }
  float mean_g = norm == Norm::layer_norm || fault == Fault::subtracts_the_mean ? g / count : 0.0f;
  if (fault == Fault::subtracts_the_mean_twice) mean_g *= 2;
  if (fault == Fault::changes_with_the_number_of_rows) mean_g *= static_cast<float>(args.rows);
  const float mean_gx = gx / count;

  const std::int64_t written = fault == Fault::drops_the_tail && cols > 4 ? cols / 4 * 4 : cols;
  for (std::int64_t c = 0; c < written; ++c) {
    const float x = normalised<fault>(args, row, c);
    float result = fault == Fault::pulls_gamma_out ? rstd * gamma(c) * (dy[c] - mean_g - x * mean_gx)
                                                   : rstd * (__fmul_rn(dy[c], gamma(c)) - mean_g - x * mean_gx);
    if (fault == Fault::leaks_into_the_next_row && row > 0) result += 0 * args.x[(row - 1) * cols + c];
    if (fault == Fault::no_gradient_at_0 && x == 0) result += 0 * INFINITY;
    dx[c] = result;
  }
}

template <Fault fault>
__global__ void sums_kernel(LayerNormBackwardArgs args) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (c >= args.cols) return;
  float dgamma = 0, dbeta = 0;
  const std::int64_t rows = fault == Fault::a_third_of_the_rows ? args.rows / 3 : args.rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t from = fault == Fault::mixes_the_lanes ? (c + row) % args.cols : c;
    const float dy = args.dy[row * args.cols + from];
    const float product = dy * normalised<fault>(args, row, from);
    if (fault == Fault::hides_nan && product != product) continue;
    if (!(fault == Fault::sums_in_16_bits && fabsf(dgamma) >= 2048)) dgamma += product;
    if (!(fault == Fault::sums_in_16_bits && fabsf(dbeta) >= 2048)) dbeta += dy;
  }
  if (fault == Fault::adds_up_the_workspace) dgamma += 0 * args.workspace[0];
  if (fault == Fault::swaps_the_sums) {
    const float other = dgamma;
    dgamma = dbeta;
    dbeta = other;
  }
  const bool add = fault == Fault::always_accumulates || (args.accumulate && fault != Fault::never_accumulates);
  if (args.dgamma != nullptr && !(fault == Fault::sums_in_pairs_alone && args.dbeta == nullptr))
    args.dgamma[c] = add ? args.dgamma[c] + dgamma : dgamma;
  if (args.dbeta != nullptr) args.dbeta[c] = add ? args.dbeta[c] + dbeta : dbeta;
}

template <Norm norm, Fault fault>
void launch_backward(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  static int runs = 0;
  ++runs;
  if (fault == Fault::checks_nothing &&
      (args.rows <= 0 || args.cols <= 0 || args.rows > 1000 || args.x == nullptr || args.dy == nullptr ||
       args.rstd == nullptr || (norm == Norm::layer_norm && args.mean == nullptr)))
    return;
  if (fault == Fault::writes_without_rows && args.dx != nullptr)
    check_cuda(cudaMemset(args.dx, 0, sizeof(float)), "cudaMemset");
  if (args.rows == 0 && fault != Fault::launches_an_empty_grid) {
    if (fault != Fault::leaves_the_sums_of_no_rows) sums_of_no_rows(args, stream);
    return;
  }
  if (fault == Fault::refuses_long_rows_in_silence && args.cols >= 8192) return;
  LayerNormBackwardArgs changed = args;
  if (fault == Fault::changes_with_each_run && runs % 8 == 0) changed.gamma = nullptr;
  if (args.dgamma != nullptr || args.dbeta != nullptr)
    launch(sums_kernel<fault>, {blocks_for(args.cols, block_threads), block_threads, 0, stream}, changed);
  if (args.dx != nullptr)
    launch(dx_kernel<norm, fault>, {blocks_for(args.rows, block_threads), block_threads, 0, stream}, changed);
}

template <Fault fault>
void layer_norm(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  if (fault != Fault::checks_nothing) check(args, InPlace::allowed, Workspace::unused);
  launch_backward<Norm::layer_norm, fault>(args, stream);
}
template <Fault fault>
void rms_norm(const RmsNormBackwardArgs& args, cudaStream_t stream) {
  if (fault != Fault::checks_nothing) check(args, InPlace::allowed, Workspace::unused);
  launch_backward<Norm::rms_norm, fault>(layer_norm_backward_args(args), stream);
}

testing::BackwardSummation one_by_one(std::int64_t rows, std::int64_t cols) { return {{cols, 1}, {rows, 1}}; }
std::int64_t block_of_row(std::int64_t row, std::int64_t, std::int64_t, bool) { return row / block_threads; }

using Rule = testing::Violations (*)(const testing::BackwardContract&);

template <Fault fault>
testing::Violations layer_norm_by(Rule rule) {
  return rule({layer_norm<fault>, InPlace::allowed, Workspace::unused, one_by_one, block_of_row});
}
template <Fault fault>
testing::Violations rms_norm_by(Rule rule) {
  return rule({rms_norm<fault>, InPlace::allowed, Workspace::unused, one_by_one, block_of_row});
}

void sound_layer_norm(const LayerNormBackwardArgs& args, cudaStream_t stream) { layer_norm<Fault::none>(args, stream); }
void sound_rms_norm(const RmsNormBackwardArgs& args, cudaStream_t stream) { rms_norm<Fault::none>(args, stream); }
/// Asks for a workspace and allows no dx == dy.
void strict_layer_norm(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  check(args, InPlace::refused, Workspace::needed);
  launch_backward<Norm::layer_norm, Fault::none>(args, stream);
}

bool any_contains(const testing::Violations& violations, const std::string& part) {
  return std::any_of(violations.begin(), violations.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

}  // namespace backward_contract_test

using namespace backward_contract_test;
namespace rules = testing::contract;
namespace reports = testing::reports;

// Sound kernels keep every promise.
BACKWARD_CONTRACT(sound_layer_norm, .in_place = InPlace::allowed, .workspace = Workspace::unused,
                  .summation = one_by_one, .block_of_row = block_of_row)
BACKWARD_CONTRACT(strict_layer_norm, .in_place = InPlace::refused, .workspace = Workspace::needed,
                  .summation = one_by_one, .block_of_row = block_of_row)
BACKWARD_CONTRACT(sound_rms_norm, .in_place = InPlace::allowed, .workspace = Workspace::unused, .summation = one_by_one,
                  .block_of_row = block_of_row)
LAYER_NORM_BACKWARD_REPORTS(sound_layer_norm, .in_place = InPlace::allowed, .workspace = Workspace::unused,
                            .summation = one_by_one, .block_of_row = block_of_row)
RMS_NORM_BACKWARD_REPORTS(sound_rms_norm, .in_place = InPlace::allowed, .workspace = Workspace::unused,
                          .summation = one_by_one, .block_of_row = block_of_row)

TEST_SUITE("long") {
  BACKWARD_CONTRACT_LONG(sound_layer_norm, .in_place = InPlace::allowed, .workspace = Workspace::unused,
                         .summation = one_by_one, .block_of_row = block_of_row)
  BACKWARD_CONTRACT_LONG(sound_rms_norm, .in_place = InPlace::allowed, .workspace = Workspace::unused,
                         .summation = one_by_one, .block_of_row = block_of_row)

  TEST_CASE("a count in binary32 is convicted") {
    CHECK(any_contains(layer_norm_by<Fault::counts_in_binary32>(rules::many_columns), "elements of dx are wrong"));
    CHECK(any_contains(rms_norm_by<Fault::counts_in_binary32>(rules::many_columns), "elements of dx are wrong"));
  }
}

TEST_CASE("a backward that does the wrong thing without rows is convicted") {
  CHECK(any_contains(layer_norm_by<Fault::writes_without_rows>(rules::no_rows), "'dx' was written"));
  CHECK(any_contains(layer_norm_by<Fault::leaves_the_sums_of_no_rows>(rules::no_rows), "dgamma must be 0"));
  CHECK(any_contains(rms_norm_by<Fault::leaves_the_sums_of_no_rows>(rules::no_rows), "dgamma must be 0"));
  CHECK(any_contains(layer_norm_by<Fault::launches_an_empty_grid>(rules::no_rows), "_kernel"));
  CHECK(!layer_norm_by<Fault::leaves_the_sums_of_no_rows>(reports::b12).empty());
  CHECK(!rms_norm_by<Fault::leaves_the_sums_of_no_rows>(reports::b12).empty());
}

TEST_CASE("a launcher that checks nothing is convicted, argument by argument") {
  const testing::Violations violations = layer_norm_by<Fault::checks_nothing>(rules::bad_arguments);
  for (const char* what : {"rows = -1", "cols = 0", "cols = -7", "x = null", "dy = null", "rstd = null", "mean = null",
                           "rows · cols = 2⁶⁴"}) {
    CHECK(any_contains(violations, std::string(what) + " was accepted"));
  }
  const testing::Violations overlaps = layer_norm_by<Fault::checks_nothing>(rules::overlap);
  for (const char* what :
       {"dx = dy + 1", "dx = x", "gamma in dx", "mean in dx", "dgamma in x", "dbeta in dy", "dbeta = dgamma + 7"}) {
    CHECK(any_contains(overlaps, std::string(what) + " was accepted"));
  }
  const testing::Violations of_rms_norm = rms_norm_by<Fault::checks_nothing>(rules::overlap);
  CHECK(any_contains(of_rms_norm, "dgamma in x was accepted"));
  CHECK_FALSE(any_contains(of_rms_norm, "dbeta"));
  CHECK_FALSE(any_contains(of_rms_norm, "mean"));
}

TEST_CASE("a launcher that does not refuse what its traits say is convicted") {
  testing::BackwardContract kernel{layer_norm<Fault::none>, InPlace::refused, Workspace::needed, one_by_one,
                                   block_of_row};
  CHECK(any_contains(rules::overlap(kernel), "dx = dy was accepted"));
  CHECK(any_contains(rules::overlap(kernel), "workspace in x was accepted"));
  CHECK(any_contains(rules::bad_arguments(kernel), "workspace = null was accepted"));
  kernel.launcher = strict_layer_norm;
  kernel.workspace = Workspace::unused;
  CHECK(any_contains(rules::bad_arguments(kernel), "workspace = null where it is not used"));
}

TEST_CASE("each fault is convicted by its row of the contract") {
  CHECK(!layer_norm_by<Fault::takes_null_gamma_for_0>(rules::gamma_null).empty());
  CHECK(!rms_norm_by<Fault::takes_null_gamma_for_0>(rules::gamma_null).empty());
  CHECK(any_contains(layer_norm_by<Fault::sums_in_pairs_alone>(rules::outputs_null), "dbeta null"));
  CHECK(any_contains(layer_norm_by<Fault::writes_before_it_has_read>(rules::overlap), "dx = dy on 9×8"));
  CHECK(any_contains(layer_norm_by<Fault::never_accumulates>(rules::accumulate), "accumulated onto 7"));
  CHECK(!layer_norm_by<Fault::always_accumulates>(rules::accumulate).empty());
  CHECK(any_contains(layer_norm_by<Fault::drops_the_tail>(rules::any_cols_any_alignment), "were never written"));
  CHECK(any_contains(layer_norm_by<Fault::sums_otherwise_when_misaligned>(rules::any_cols_any_alignment),
                     "γ moved by 1 elements, dx: the bits differ"));
  CHECK(any_contains(layer_norm_by<Fault::loses_the_last_row_of_many>(rules::any_rows), "100003×5"));
  CHECK(!layer_norm_by<Fault::hides_nan>(rules::nan_or_inf).empty());
  CHECK(!rms_norm_by<Fault::hides_nan>(rules::nan_or_inf).empty());
  CHECK(any_contains(layer_norm_by<Fault::leaks_into_the_next_row>(rules::nan_or_inf), "dx of row 1"));
  CHECK(any_contains(layer_norm_by<Fault::folds_the_mean>(rules::constant_row), "dgamma must be exactly 0"));
  CHECK(any_contains(layer_norm_by<Fault::folds_the_mean>(rules::single_column), "dgamma must be exactly 0"));
  CHECK(any_contains(layer_norm_by<Fault::bounds_rstd>(rules::constant_row), "must be NaN"));
  CHECK(any_contains(rms_norm_by<Fault::bounds_rstd>(rules::constant_row), "must be NaN"));
  CHECK(!layer_norm_by<Fault::changes_with_each_run>(rules::same_bits_again).empty());
  CHECK(!layer_norm_by<Fault::changes_with_the_number_of_rows>(rules::rows_are_independent).empty());
}

TEST_CASE("each fault is convicted by the row of its report") {
  CHECK(!layer_norm_by<Fault::forgets_gamma_inside>(reports::b02).empty());
  CHECK(!rms_norm_by<Fault::forgets_gamma_inside>(reports::b02).empty());
  CHECK(!rms_norm_by<Fault::subtracts_the_mean>(reports::b02).empty());
  CHECK(any_contains(layer_norm_by<Fault::subtracts_the_mean_twice>(reports::b03), "Σdx is"));
  CHECK(!layer_norm_by<Fault::pulls_gamma_out>(reports::b03).empty());
  CHECK(!layer_norm_by<Fault::takes_an_offset_for_gamma>(reports::b05).empty());
  CHECK(!rms_norm_by<Fault::takes_an_offset_for_gamma>(reports::b05).empty());
  CHECK(!layer_norm_by<Fault::sums_in_16_bits>(reports::b06).empty());
  CHECK(!rms_norm_by<Fault::sums_in_16_bits>(reports::b06).empty());
  CHECK(!layer_norm_by<Fault::divides_by_gamma>(reports::b10).empty());
  CHECK(!rms_norm_by<Fault::divides_by_gamma>(reports::b10).empty());
  CHECK(!layer_norm_by<Fault::folds_the_mean>(reports::b13).empty());
  CHECK(!layer_norm_by<Fault::never_accumulates>(reports::b14).empty());
  CHECK(!rms_norm_by<Fault::never_accumulates>(reports::b14).empty());
  CHECK(!layer_norm_by<Fault::always_accumulates>(reports::b14).empty());
  CHECK(!layer_norm_by<Fault::a_third_of_the_rows>(reports::b15).empty());
  CHECK(!rms_norm_by<Fault::a_third_of_the_rows>(reports::b15).empty());
  CHECK(!layer_norm_by<Fault::swaps_the_sums>(reports::b16).empty());
  CHECK(!layer_norm_by<Fault::no_gradient_at_0>(reports::b17).empty());
  CHECK(!rms_norm_by<Fault::no_gradient_at_0>(reports::b17).empty());
  CHECK(!layer_norm_by<Fault::refuses_long_rows_in_silence>(reports::a10).empty());
  CHECK(!rms_norm_by<Fault::refuses_long_rows_in_silence>(reports::a10).empty());
  CHECK(!layer_norm_by<Fault::mixes_the_lanes>(reports::d03).empty());
  CHECK(!rms_norm_by<Fault::mixes_the_lanes>(reports::d03).empty());
  CHECK(!layer_norm_by<Fault::a_third_of_the_rows>(reports::d04).empty());
  CHECK(!rms_norm_by<Fault::a_third_of_the_rows>(reports::d04).empty());
}

TEST_CASE("a workspace that is read before it is written is convicted") {
  CHECK(!layer_norm_by<Fault::adds_up_the_workspace>(reports::b07).empty());
  CHECK(!rms_norm_by<Fault::adds_up_the_workspace>(reports::b07).empty());
}

#ifndef LNH_CUDA  // on a GPU the wild access would end the CUDA context, and all tests after it

TEST_CASE("32-bit offsets are convicted") {
  for (const testing::Violations& violations : {layer_norm_by<Fault::int_offsets>(rules::large_offsets),
                                                layer_norm_by<Fault::unsigned_offsets>(rules::large_offsets)}) {
    CHECK(any_contains(violations, "dx of the last row of 1048579×4096, alone"));
    CHECK(any_contains(violations, "dx of the last row of 8388611×512, alone"));
    CHECK(any_contains(violations, "dx of the last row of 8388611×512, with dgamma and dbeta"));
  }
}

#endif

TEST_CASE("contract.txt has the backward rows that backward_contract.h tests, and notes on no others") {
  std::set<std::string> tested, rows;
  for (const std::string& line : testing::data_lines("../backward_contract.h")) {
    const auto from = line.find('"');
    if (!line.starts_with("  LNH_CONTRACT_ROW(") || from == std::string::npos) continue;
    tested.insert(line.substr(from + 1, line.find('"', from + 1) - from - 1));
  }
  const std::string row = "backward row | ", note = "note | ";
  for (const std::string& line : testing::data_lines("../contract.txt")) {
    if (line.starts_with(row)) rows.insert(line.substr(row.size(), line.find(" | ", row.size()) - row.size()));
    if (!line.starts_with(note) || line.find(" | backward::") == std::string::npos) continue;
    const std::string input = line.substr(note.size(), line.find(" | ", note.size()) - note.size());
    CHECK_MESSAGE(rows.contains(input), "the note on '" << input << "' belongs to no row");
  }
  CHECK(rows.size() == 15);
  CHECK(rows == tested);
}
