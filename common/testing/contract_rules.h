/// The promises of the contract, each as a function that tries a launcher and says what it broke.
#pragma once

#include <host/copy.h>
#include <host/norm_launcher.h>
#include <testing/tolerance.h>
#include <testing/violations.h>

#include <cstdint>
#include <string>
#include <vector>

namespace testing {

/// Which constant rows must give y = β bit for bit.
enum class ConstantRow {
  exact,       // every one: each x − mean is 0 (Welford and Chan's merge in its delta form)
  exact_sums,  // those whose sums are exact, such as 3, 3, 3: mean = Σx/n may round elsewhere, and then the bound holds
  wrong,       // none: the variance cancels (chapter 02); such a kernel is held to its bound on centred rows alone
};

/// How many rows a block works on: a number, or a function of cols where the launcher decides by them.
class RowsPerBlock {
public:
  using Of = std::int64_t (*)(std::int64_t cols);
  RowsPerBlock(std::int64_t rows) : rows_(rows) {}
  RowsPerBlock(Of of) : of_(of) {}
  std::int64_t operator()(std::int64_t cols) const { return of_ == nullptr ? rows_ : of_(cols); }

private:
  std::int64_t rows_ = 0;
  Of of_ = nullptr;
};

/// A launcher of LayerNorm or RMSNorm, and what the tests must know of it.
struct NormContract {
  NormLauncher launcher;
  InPlace in_place;                               // whether y == x is allowed
  SummationOf summation;                          // how it adds up a row: the bound depends on it
  RowsPerBlock rows_per_block;                    // row r belongs to block r / rows_per_block
  ConstantRow constant_row = ConstantRow::exact;  // of LayerNorm: to RMSNorm a constant row is one like any other
};

/// A copy launcher, and what the tests must know of it.
struct CopyContract {
  CopyLauncher launcher;
  std::int64_t elements_per_block;  // element i belongs to block i / elements_per_block
};

namespace contract {

Violations no_rows(const NormContract& kernel);
Violations bad_arguments(const NormContract& kernel);
Violations gamma_or_beta_null(const NormContract& kernel);
Violations mean_or_rstd_null(const NormContract& kernel);
Violations overlap(const NormContract& kernel);
Violations large_offsets(const NormContract& kernel);
Violations any_cols_any_alignment(const NormContract& kernel);
Violations nan_or_inf(const NormContract& kernel);
Violations constant_row(const NormContract& kernel);
Violations many_columns(const NormContract& kernel);
Violations same_bits_again(const NormContract& kernel);
Violations rows_are_independent(const NormContract& kernel);

Violations no_rows(const CopyContract& kernel);
Violations bad_arguments(const CopyContract& kernel);
Violations overlap(const CopyContract& kernel);
Violations large_offsets(const CopyContract& kernel);
Violations any_cols_any_alignment(const CopyContract& kernel);
Violations nan_or_inf(const CopyContract& kernel);
Violations same_bits_again(const CopyContract& kernel);

}  // namespace contract
}  // namespace testing
