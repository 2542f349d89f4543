/// The promises of the contract, each as a function that tries a launcher and says what it broke.
#pragma once

#include <host/copy.h>
#include <host/layer_norm.h>
#include <testing/tolerance.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace testing {

/// Which constant rows must give y = β bit for bit.
enum class ConstantRow {
  exact,       // every one: each x − mean is 0 (Welford and Chan's merge in its delta form)
  exact_sums,  // those whose sums are exact, such as 3, 3, 3: mean = Σx/n may round elsewhere, and then the bound holds
};

/// A LayerNorm launcher, and what the tests must know of it.
struct LayerNormContract {
  LayerNormLauncher launcher;
  InPlace in_place;             // whether y == x is allowed
  SummationOf summation;        // how it adds up a row: the bound depends on it
  std::int64_t rows_per_block;  // row r belongs to block r / rows_per_block
  ConstantRow constant_row;
};

/// A copy launcher, and what the tests must know of it.
struct CopyContract {
  CopyLauncher launcher;
  std::int64_t elements_per_block;  // element i belongs to block i / elements_per_block
};

/// One sentence for each promise that was broken; empty if all were kept.
using Violations = std::vector<std::string>;

/// Thrown where this machine cannot test a promise: a GPU with too little memory.
class NotTested : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

namespace contract {

Violations no_rows(const LayerNormContract& kernel);
Violations bad_arguments(const LayerNormContract& kernel);
Violations gamma_or_beta_null(const LayerNormContract& kernel);
Violations mean_or_rstd_null(const LayerNormContract& kernel);
Violations overlap(const LayerNormContract& kernel);
Violations large_offsets(const LayerNormContract& kernel);
Violations any_cols_any_alignment(const LayerNormContract& kernel);
Violations nan_or_inf(const LayerNormContract& kernel);
Violations constant_row(const LayerNormContract& kernel);
Violations many_columns(const LayerNormContract& kernel);
Violations same_bits_again(const LayerNormContract& kernel);
Violations rows_are_independent(const LayerNormContract& kernel);

Violations no_rows(const CopyContract& kernel);
Violations bad_arguments(const CopyContract& kernel);
Violations overlap(const CopyContract& kernel);
Violations large_offsets(const CopyContract& kernel);
Violations any_cols_any_alignment(const CopyContract& kernel);
Violations nan_or_inf(const CopyContract& kernel);
Violations same_bits_again(const CopyContract& kernel);

}  // namespace contract
}  // namespace testing
