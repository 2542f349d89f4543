// The contract's judge is judged: it accepts a sound kernel, and each of its rules convicts a kernel with one fault.
#include <host/grid.h>
#include <host/launch.h>
#include <testing/contract.h>
#include <testing/data_file.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace contract_test {

enum class Fault {
  none,
  writes_without_rows,
  launches_an_empty_grid,
  checks_nothing,
  takes_gamma_and_beta_in_pairs,
  writes_rstd_only_with_mean,
  writes_before_it_has_read,
  int_offsets,
  unsigned_offsets,
  drops_the_tail,
  sums_otherwise_when_misaligned,
  hides_nan,
  leaks_into_the_next_row,
  cancels,
  bounds_the_variance_from_below,
  counts_in_binary32,
  changes_with_each_run,
  changes_with_the_number_of_rows,
  subtracts_the_mean,  // of RMSNorm
};

constexpr int block_threads = 64;

template <Fault fault>
__device__ std::int64_t offset(std::int64_t exact) {
  if (fault == Fault::int_offsets) return static_cast<int>(exact);
  if (fault == Fault::unsigned_offsets) return static_cast<unsigned>(exact);
  return exact;
}

/// One thread per row, with Welford's update.
template <Fault fault>
__global__ void layer_norm_kernel(LayerNormArgs args) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (row >= args.rows) return;
  const std::int64_t cols = args.cols;
  const std::int64_t first = offset<fault>(row * cols);
  const float* x = args.x + first;
  float* y = args.y + first;

  if (fault == Fault::writes_before_it_has_read) {
    for (std::int64_t c = 0; c < cols; ++c) y[c] = 0;
  }
  const bool reversed =
      fault == Fault::sums_otherwise_when_misaligned && reinterpret_cast<std::uintptr_t>(args.x) % 16 != 0;
  float mean = 0, m2 = 0, sum = 0, squares = 0, count = 0;
  for (std::int64_t c = 0; c < cols; ++c) {
    const float value = x[reversed ? cols - 1 - c : c];
    if (fault == Fault::hides_nan && value != value) continue;
    count = fault == Fault::counts_in_binary32 ? count + 1 : static_cast<float>(c + 1);
    const float delta = value - mean;
    mean += delta / count;
    m2 += delta * (value - mean);
    sum += value;
    squares += value * value;
  }
  float variance = m2 / count;
  if (fault == Fault::cancels) {
    mean = sum / count;
    variance = squares / count - mean * mean;
  }
  if (fault == Fault::bounds_the_variance_from_below) variance = fmaxf(variance, 1e-12f);
  const float rstd = 1.0f / sqrtf(variance + args.eps);

  const std::int64_t written = fault == Fault::drops_the_tail && cols > 4 ? cols / 4 * 4 : cols;
  for (std::int64_t c = 0; c < written; ++c) {
    const float gamma = args.gamma == nullptr ? 1.0f : args.gamma[c];
    const bool has_beta =
        args.beta != nullptr && !(fault == Fault::takes_gamma_and_beta_in_pairs && args.gamma == nullptr);
    const float beta = has_beta ? args.beta[c] : 0.0f;
    y[c] = (x[c] - mean) * rstd * gamma + beta;
    if (fault == Fault::leaks_into_the_next_row && row > 0) y[c] += 0 * args.x[(row - 1) * cols + c];
  }
  if (args.mean != nullptr) args.mean[row] = mean;
  if (args.rstd != nullptr && !(fault == Fault::writes_rstd_only_with_mean && args.mean == nullptr))
    args.rstd[row] = rstd;
}

template <Fault fault>
void layer_norm(const LayerNormArgs& args, cudaStream_t stream) {
  static int runs = 0;
  ++runs;
  if (fault != Fault::checks_nothing) check(args, InPlace::allowed);
  if (fault == Fault::checks_nothing &&
      (args.rows <= 0 || args.cols <= 0 || args.rows > 1000 || args.x == nullptr || args.y == nullptr))
    return;
  if (fault == Fault::writes_without_rows && args.y != nullptr)
    check_cuda(cudaMemset(args.y, 0, sizeof(float)), "cudaMemset");
  if (args.rows == 0 && fault != Fault::launches_an_empty_grid) return;
  LayerNormArgs changed = args;
  if (fault == Fault::changes_with_each_run) changed.eps *= static_cast<float>(runs);
  if (fault == Fault::changes_with_the_number_of_rows) changed.eps *= static_cast<float>(args.rows);
  launch(layer_norm_kernel<fault>, {blocks_for(args.rows, block_threads), block_threads, 0, stream}, changed);
}

void sound(const LayerNormArgs& args, cudaStream_t stream) { layer_norm<Fault::none>(args, stream); }
void cancelling(const LayerNormArgs& args, cudaStream_t stream) { layer_norm<Fault::cancels>(args, stream); }
void sound_not_in_place(const LayerNormArgs& args, cudaStream_t stream) {
  check(args, InPlace::refused);
  layer_norm<Fault::none>(args, stream);
}

template <Fault fault>
testing::NormContract with() {
  return {layer_norm<fault>, InPlace::allowed, testing::thread_per_row, block_threads, testing::ConstantRow::exact};
}

/// RMSNorm, one thread per row.
template <Fault fault>
__global__ void rms_norm_kernel(RmsNormArgs args) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (row >= args.rows) return;
  const std::int64_t cols = args.cols;
  const std::int64_t first = offset<fault>(row * cols);
  const float* x = args.x + first;
  float* y = args.y + first;

  float sum = 0, squares = 0;
  for (std::int64_t c = 0; c < cols; ++c) {
    const float value = x[c];
    if (fault == Fault::hides_nan && !(fabsf(value) < 1e30f)) continue;
    sum += value;
    squares += value * value;
  }
  const float mean = fault == Fault::subtracts_the_mean ? sum / static_cast<float>(cols) : 0.0f;
  float mean_square = squares / static_cast<float>(cols);
  if (fault == Fault::bounds_the_variance_from_below) mean_square = fmaxf(mean_square, 1e-12f);
  const float rstd = 1.0f / sqrtf(mean_square + args.eps);

  const std::int64_t written = fault == Fault::drops_the_tail && cols > 4 ? cols / 4 * 4 : cols;
  for (std::int64_t c = 0; c < written; ++c) {
    y[c] = (x[c] - mean) * rstd * (args.gamma == nullptr ? 1.0f : args.gamma[c]);
  }
  if (args.rstd != nullptr) args.rstd[row] = rstd;
}

template <Fault fault>
void rms_norm(const RmsNormArgs& args, cudaStream_t stream) {
  if (fault != Fault::checks_nothing) check(args, InPlace::allowed);
  if (fault == Fault::checks_nothing && (args.rows <= 0 || args.x == nullptr || args.y == nullptr)) return;
  if (args.rows == 0) return;
  launch(rms_norm_kernel<fault>, {blocks_for(args.rows, block_threads), block_threads, 0, stream}, args);
}

void sound_rms_norm(const RmsNormArgs& args, cudaStream_t stream) { rms_norm<Fault::none>(args, stream); }

template <Fault fault>
testing::NormContract rms_with() {
  return {rms_norm<fault>, InPlace::allowed, testing::thread_per_row, block_threads, {}};
}

/// One float per thread.
template <Fault fault>
__global__ void copy_kernel(CopyArgs args) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  const std::int64_t count = fault == Fault::drops_the_tail ? args.count / 4 * 4 : args.count;
  if (i >= count) return;
  const std::int64_t at = offset<fault>(i);
  args.y[at] = fault == Fault::hides_nan ? args.x[at] + 0.0f : args.x[at];  // −0 + 0 is 0
}

template <Fault fault>
void copy(const CopyArgs& args, cudaStream_t stream) {
  static int runs = 0;
  ++runs;
  if (fault != Fault::checks_nothing) check(args);
  if (fault == Fault::checks_nothing && (args.count <= 0 || args.x == nullptr || args.y == nullptr)) return;
  if (fault == Fault::writes_without_rows && args.y != nullptr)
    check_cuda(cudaMemset(args.y, 0, sizeof(float)), "cudaMemset");
  if (args.count == 0 && fault != Fault::launches_an_empty_grid) return;
  CopyArgs changed = args;
  if (fault == Fault::changes_with_each_run) changed.count = args.count - runs % 2;
  launch(copy_kernel<fault>, {blocks_for(args.count, block_threads), block_threads, 0, stream}, changed);
}

void sound_copy(const CopyArgs& args, cudaStream_t stream) { copy<Fault::none>(args, stream); }

template <Fault fault>
testing::CopyContract copy_with() {
  return {copy<fault>, block_threads};
}

bool any_contains(const testing::Violations& violations, const std::string& part) {
  return std::any_of(violations.begin(), violations.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

}  // namespace contract_test

using contract_test::any_contains;
using contract_test::copy_with;
using contract_test::Fault;
using contract_test::rms_with;
using contract_test::with;
namespace rules = testing::contract;

// A sound kernel keeps every promise.
LAYER_NORM_CONTRACT(contract_test::sound, .in_place = InPlace::allowed, .summation = testing::thread_per_row,
                    .rows_per_block = contract_test::block_threads, .constant_row = testing::ConstantRow::exact)
LAYER_NORM_CONTRACT(contract_test::sound_not_in_place, .in_place = InPlace::refused,
                    .summation = testing::thread_per_row, .rows_per_block = contract_test::block_threads,
                    .constant_row = testing::ConstantRow::exact_sums)
// One whose variance cancels keeps all but the one about constant rows, and without that trait it is convicted of it.
CANCELLING_LAYER_NORM_CONTRACT(contract_test::cancelling, .in_place = InPlace::allowed,
                               .summation = testing::thread_per_row, .rows_per_block = contract_test::block_threads,
                               .constant_row = testing::ConstantRow::wrong)
RMS_NORM_CONTRACT(contract_test::sound_rms_norm, .in_place = InPlace::allowed, .summation = testing::thread_per_row,
                  .rows_per_block = contract_test::block_threads)
COPY_CONTRACT(contract_test::sound_copy, .elements_per_block = contract_test::block_threads)

TEST_CASE("what this machine cannot test is said in words") {
  CHECK(testing::NotTested("x: no memory").sentence() == "not tested on this machine: x: no memory");
}

TEST_SUITE("long") {
  LAYER_NORM_CONTRACT_LONG(contract_test::sound, .in_place = InPlace::allowed, .summation = testing::thread_per_row,
                           .rows_per_block = contract_test::block_threads, .constant_row = testing::ConstantRow::exact)

  TEST_CASE("a count in binary32 is convicted") {
    CHECK(any_contains(rules::many_columns(with<Fault::counts_in_binary32>()), "elements are wrong"));
  }
}

TEST_CASE("a kernel that does something without rows is convicted") {
  CHECK(any_contains(rules::no_rows(with<Fault::writes_without_rows>()), "'y' was written"));
  CHECK(any_contains(rules::no_rows(with<Fault::launches_an_empty_grid>()), "layer_norm_kernel"));
}

TEST_CASE("a launcher that checks nothing is convicted, argument by argument") {
  const testing::Violations violations = rules::bad_arguments(with<Fault::checks_nothing>());
  for (const char* what : {"rows = -1", "cols = 0", "cols = -7", "x = null", "y = null", "eps = -1e-05", "eps = NaN",
                           "rows · cols = 2⁶⁴"}) {
    CHECK(any_contains(violations, std::string(what) + " was accepted"));
  }
  const testing::Violations overlaps = rules::overlap(with<Fault::checks_nothing>());
  for (const char* what : {"y = x + 1", "x = y + 1", "gamma in y", "mean in x", "rstd = mean + 3"}) {
    CHECK(any_contains(overlaps, std::string(what) + " was accepted"));
  }
}

TEST_CASE("a launcher that allows y == x where the contract refuses it is convicted") {
  testing::NormContract contract = with<Fault::none>();
  contract.in_place = InPlace::refused;
  CHECK(any_contains(rules::overlap(contract), "y = x was accepted"));
}

TEST_CASE("a kernel that writes before it has read is convicted by y == x") {
  CHECK(any_contains(rules::overlap(with<Fault::writes_before_it_has_read>()), "y = x on 3×8, y: the bits differ"));
}

TEST_CASE("a kernel that takes γ and β in pairs is convicted") {
  const testing::Violations violations = rules::gamma_or_beta_null(with<Fault::takes_gamma_and_beta_in_pairs>());
  CHECK(violations.size() == 2);  // both widths, with γ null alone
  CHECK(any_contains(violations, ", γ null: outside the bound"));
}

TEST_CASE("a kernel that writes rstd only beside mean is convicted") {
  CHECK(any_contains(rules::mean_or_rstd_null(with<Fault::writes_rstd_only_with_mean>()),
                     "mean null rstd: the bits differ"));
}

#ifndef LNH_CUDA  // on a GPU the wild access would end the CUDA context, and all tests after it

TEST_CASE("32-bit offsets are convicted") {
  for (const testing::NormContract& kernel : {with<Fault::int_offsets>(), with<Fault::unsigned_offsets>()}) {
    const testing::Violations violations = rules::large_offsets(kernel);
    CHECK(any_contains(violations, "the last rows of 1048579×4096"));
    CHECK(any_contains(violations, "the last rows of 1073741827×4"));
  }
  for (const testing::CopyContract& kernel : {copy_with<Fault::int_offsets>(), copy_with<Fault::unsigned_offsets>()}) {
    CHECK(any_contains(rules::large_offsets(kernel), "2³² + 7"));
  }
}

#endif

TEST_CASE("a dropped tail and a second order of summation are convicted") {
  CHECK(any_contains(rules::any_cols_any_alignment(with<Fault::drops_the_tail>()), "were never written"));
  CHECK(any_contains(rules::any_cols_any_alignment(with<Fault::sums_otherwise_when_misaligned>()), "the bits differ"));
}

TEST_CASE("a hidden NaN and a NaN that spreads to another row are convicted") {
  CHECK(any_contains(rules::nan_or_inf(with<Fault::hides_nan>()), "y must be NaN"));
  CHECK(any_contains(rules::nan_or_inf(with<Fault::leaks_into_the_next_row>()), "row 1, y: the bits differ"));
}

TEST_CASE("a cancelling variance and a variance with a lower bound are convicted by constant rows") {
  CHECK(!rules::constant_row(with<Fault::cancels>()).empty());
  CHECK(!rules::any_cols_any_alignment(with<Fault::cancels>()).empty());
  CHECK(any_contains(rules::constant_row(with<Fault::bounds_the_variance_from_below>()), "eps = 0: rstd must be ∞"));
}

TEST_CASE("bits that change with the run or with the number of rows are convicted") {
  CHECK(any_contains(rules::same_bits_again(with<Fault::changes_with_each_run>()), "run again, y: the bits differ"));
  CHECK(any_contains(rules::rows_are_independent(with<Fault::changes_with_the_number_of_rows>()),
                     "alone, y: the bits differ"));
}

TEST_CASE("faulty RMSNorms are convicted") {
  CHECK(any_contains(rules::constant_row(rms_with<Fault::subtracts_the_mean>()), "all 1.000000, eps 0.000010"));
  CHECK(any_contains(rules::constant_row(rms_with<Fault::bounds_the_variance_from_below>()),
                     "all 0.000000, eps 0.000000"));
  CHECK(any_contains(rules::nan_or_inf(rms_with<Fault::hides_nan>()), "rstd must be 0"));
  CHECK(any_contains(rules::nan_or_inf(rms_with<Fault::hides_nan>()), "y must be NaN in all of this row"));
  CHECK(any_contains(rules::any_cols_any_alignment(rms_with<Fault::drops_the_tail>()), "were never written"));
  CHECK(any_contains(rules::any_cols_any_alignment(rms_with<Fault::subtracts_the_mean>()), "outside the bound"));
  const testing::Violations overlaps = rules::overlap(rms_with<Fault::checks_nothing>());
  for (const char* what : {"y = x + 1", "gamma in y", "rstd in x"}) {
    CHECK(any_contains(overlaps, std::string(what) + " was accepted"));
  }
  CHECK_FALSE(any_contains(overlaps, "beta"));  // RMSNorm has neither
  CHECK_FALSE(any_contains(overlaps, "mean in"));
}

TEST_CASE("faulty copies are convicted") {
  CHECK(any_contains(rules::no_rows(copy_with<Fault::writes_without_rows>()), "'y' was written"));
  CHECK(any_contains(rules::no_rows(copy_with<Fault::launches_an_empty_grid>()), "copy_kernel"));
  CHECK(any_contains(rules::bad_arguments(copy_with<Fault::checks_nothing>()), "count = -1 was accepted"));
  CHECK(any_contains(rules::overlap(copy_with<Fault::checks_nothing>()), "y = x + 7 was accepted"));
  CHECK(any_contains(rules::any_cols_any_alignment(copy_with<Fault::drops_the_tail>()), "the bits differ"));
  CHECK(any_contains(rules::nan_or_inf(copy_with<Fault::hides_nan>()), "the bits differ"));
  CHECK(any_contains(rules::same_bits_again(copy_with<Fault::changes_with_each_run>()), "the bits differ"));
}

// The backwards' rows are those of backward_contract_test.cu.
TEST_CASE("contract.txt has the rows that contract.h tests, and a note for each that a copy cannot have") {
  std::set<std::string> tested, tested_for_copies;  // by contract.h
  for (const std::string& line : testing::data_lines("../contract.h")) {
    const auto from = line.find('"');
    if (!line.starts_with("  LNH_CONTRACT_ROW(") || from == std::string::npos) continue;
    const std::string row = line.substr(from + 1, line.find('"', from + 1) - from - 1);
    (line.find("(CopyContract,") == std::string::npos ? tested : tested_for_copies).insert(row);
  }
  std::set<std::string> rows, noted_for_copies;  // by contract.txt
  for (const std::string& line : testing::data_lines("../contract.txt")) {
    const std::string row = line.substr(std::min(line.size(), std::size_t{6}), line.find(" | ", 7) - 6);
    if (line.starts_with("row | ")) rows.insert(row);
    if (line.starts_with("note | ") && line.find(" | backward::") == std::string::npos) {
      const std::string input = line.substr(7, line.find(" | ", 8) - 7);
      CHECK_MESSAGE(rows.contains(input), "the note on '" << input << "' belongs to no row");
      if (line.find(" | copy::* | ") != std::string::npos) noted_for_copies.insert(input);
    }
  }
  CHECK(rows.size() == 12);
  CHECK(rows == tested);
  std::set<std::string> covered = tested_for_copies;
  covered.insert(noted_for_copies.begin(), noted_for_copies.end());
  CHECK(covered == rows);
  CHECK(tested_for_copies.size() + noted_for_copies.size() == rows.size());
}
