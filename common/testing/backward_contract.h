/// The contract of the backward: what every launcher of LayerNorm's and of RMSNorm's backward promises, as tests.
///
/// A chapter's test.cu says, once for each of its launchers,
///
///   BACKWARD_CONTRACT(backward::layer_norm, .in_place = InPlace::allowed, .workspace = Workspace::needed,
///                     .summation = fused, .block_of_row = block_of_row)
///   TEST_SUITE("long") { BACKWARD_CONTRACT_LONG(backward::layer_norm, …the same traits…) }
///
/// As with contract.h, each row becomes a test case "contract | rows = 0 | backward::layer_norm", and contract.txt
/// holds the rows in order, as "backward row". A kernel's name tells whose rows they are: a backward's begins with
/// "backward::".
#pragma once

#include <host/norm_backward.h>
#include <testing/backward.h>
#include <testing/contract.h>

#include <cstdint>

namespace testing {

/// The block that writes dx of a row. sums: dgamma or dbeta are wanted as well, which may take another kernel.
using BlockOfRow = std::int64_t (*)(std::int64_t row, std::int64_t rows, std::int64_t cols, bool sums);

/// A backward launcher of LayerNorm or RMSNorm, and what the tests must know of it.
struct BackwardContract {
  NormBackwardLauncher launcher;
  InPlace in_place;               // whether dx == dy is allowed
  Workspace workspace;            // whether it uses one
  BackwardSummationOf summation;  // how it adds up: the bound depends on it
  BlockOfRow block_of_row;
};

namespace contract {

Violations no_rows(const BackwardContract& kernel);
Violations bad_arguments(const BackwardContract& kernel);
Violations gamma_null(const BackwardContract& kernel);
Violations outputs_null(const BackwardContract& kernel);
Violations overlap(const BackwardContract& kernel);
Violations accumulate(const BackwardContract& kernel);
Violations large_offsets(const BackwardContract& kernel);
Violations any_cols_any_alignment(const BackwardContract& kernel);
Violations any_rows(const BackwardContract& kernel);
Violations nan_or_inf(const BackwardContract& kernel);
Violations constant_row(const BackwardContract& kernel);
Violations single_column(const BackwardContract& kernel);
Violations many_columns(const BackwardContract& kernel);
Violations same_bits_again(const BackwardContract& kernel);
Violations rows_are_independent(const BackwardContract& kernel);

}  // namespace contract
}  // namespace testing

// clang-format off
#define BACKWARD_CONTRACT(function, ...)                                                                                              \
  LNH_CONTRACT_ROW(BackwardContract, "rows = 0", no_rows, function, __VA_ARGS__)                                                      \
  LNH_CONTRACT_ROW(BackwardContract, "cols = 0; negative sizes; null x, dy, mean, rstd or workspace", bad_arguments, function, __VA_ARGS__) \
  LNH_CONTRACT_ROW(BackwardContract, "γ null; β", gamma_null, function, __VA_ARGS__)                                                  \
  LNH_CONTRACT_ROW(BackwardContract, "dx, dγ or dβ null, each on its own", outputs_null, function, __VA_ARGS__)                       \
  LNH_CONTRACT_ROW(BackwardContract, "dx == dy; overlap", overlap, function, __VA_ARGS__)                                             \
  LNH_CONTRACT_ROW(BackwardContract, "accumulate", accumulate, function, __VA_ARGS__)                                                 \
  LNH_CONTRACT_ROW(BackwardContract, "rows · cols ≥ 2³¹", large_offsets, function, __VA_ARGS__)                                       \
  LNH_CONTRACT_ROW(BackwardContract, "any cols ≥ 1, any alignment", any_cols_any_alignment, function, __VA_ARGS__)                    \
  LNH_CONTRACT_ROW(BackwardContract, "NaN or inf in a row", nan_or_inf, function, __VA_ARGS__)                                        \
  LNH_CONTRACT_ROW(BackwardContract, "a constant row", constant_row, function, __VA_ARGS__)                                           \
  LNH_CONTRACT_ROW(BackwardContract, "a single column", single_column, function, __VA_ARGS__)                                         \
  LNH_CONTRACT_ROW(BackwardContract, "a second run", same_bits_again, function, __VA_ARGS__)                                          \
  LNH_CONTRACT_ROW(BackwardContract, "another number of rows", rows_are_independent, function, __VA_ARGS__)

/// The rows that take the executor more than some seconds; to be written inside TEST_SUITE("long").
#define BACKWARD_CONTRACT_LONG(function, ...)                                                                                         \
  LNH_CONTRACT_ROW(BackwardContract, "rows from 0 to 100 003", any_rows, function, __VA_ARGS__)                                       \
  LNH_CONTRACT_ROW(BackwardContract, "cols above 2²⁴", many_columns, function, __VA_ARGS__)
// clang-format on
