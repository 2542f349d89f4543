/// The contract: what every launcher of the course promises, as tests.
///
/// A chapter's test.cu says, once for each of its launchers,
///
///   LAYER_NORM_CONTRACT(three_pass::layer_norm, .in_place = InPlace::allowed, .summation = testing::thread_per_row,
///                       .rows_per_block = 256, .constant_row = testing::ConstantRow::exact_sums)
///   TEST_SUITE("long") {
///     LAYER_NORM_CONTRACT_LONG(three_pass::layer_norm, …the same traits…)
///   }
///
/// Each row of the contract becomes a test case "contract | rows = 0 | three_pass::layer_norm". contract.txt holds the
/// rows in order, with what they promise; docs/contract.md is generated from it and from the programs' test lists.
#pragma once

#include <testing/contract_rules.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

namespace testing {

/// Fails the test case with a sentence for each promise that was broken. Not inlined, so that a hundred test cases
/// compile as fast as their calls.
[[gnu::noinline]] inline void judge_rule(Violations (*rule)()) {
  try {
    const Violations violations = rule();
    for (const std::string& violation : violations) FAIL_CHECK(LNH_SUBJECT ": " << violation);
    CHECK(violations.empty());
  } catch (const NotTested& reason) {
    MESSAGE(reason.sentence());
  }
}

}  // namespace testing

/// What a rule says of one kernel, as a test case. rule is a function in namespace testing, the rest are the kernel's
/// traits.
#define LNH_RULE(title, Contract, rule, function, ...)                                                       \
  TEST_CASE(title " | " #function) {                                                                         \
    testing::judge_rule([] { return testing::rule(testing::Contract{.launcher = function, __VA_ARGS__}); }); \
  }

/// One row of the contract. rule is a function of testing::contract.
#define LNH_CONTRACT_ROW(Contract, row, rule, function, ...) \
  LNH_RULE("contract | " row, Contract, contract::rule, function, __VA_ARGS__)

// clang-format off
/// For a kernel whose variance cancels, with the trait .constant_row = testing::ConstantRow::wrong: wrong by design.
/// What it does to a constant row is told by a note in contract.txt and held by a test of its own.
#define CANCELLING_LAYER_NORM_CONTRACT(function, ...)                                                                                \
  LNH_CONTRACT_ROW(NormContract, "rows = 0", no_rows, function, __VA_ARGS__)                                                    \
  LNH_CONTRACT_ROW(NormContract, "cols = 0; negative sizes; null x or y; eps < 0 or NaN", bad_arguments, function, __VA_ARGS__) \
  LNH_CONTRACT_ROW(NormContract, "γ or β null, each on its own", gamma_or_beta_null, function, __VA_ARGS__)                     \
  LNH_CONTRACT_ROW(NormContract, "mean or rstd null", mean_or_rstd_null, function, __VA_ARGS__)                                 \
  LNH_CONTRACT_ROW(NormContract, "y == x; overlap", overlap, function, __VA_ARGS__)                                             \
  LNH_CONTRACT_ROW(NormContract, "rows · cols ≥ 2³¹", large_offsets, function, __VA_ARGS__)                                     \
  LNH_CONTRACT_ROW(NormContract, "any cols ≥ 1, any alignment", any_cols_any_alignment, function, __VA_ARGS__)                  \
  LNH_CONTRACT_ROW(NormContract, "NaN or inf in a row", nan_or_inf, function, __VA_ARGS__)                                      \
  LNH_CONTRACT_ROW(NormContract, "a second run", same_bits_again, function, __VA_ARGS__)                                        \
  LNH_CONTRACT_ROW(NormContract, "another number of rows", rows_are_independent, function, __VA_ARGS__)

#define LAYER_NORM_CONTRACT(function, ...)                                                                                           \
  CANCELLING_LAYER_NORM_CONTRACT(function, __VA_ARGS__)                                                                              \
  LNH_CONTRACT_ROW(NormContract, "a constant row", constant_row, function, __VA_ARGS__)

/// The rows that take the executor more than some seconds; to be written inside TEST_SUITE("long").
#define LAYER_NORM_CONTRACT_LONG(function, ...)                                                                                      \
  LNH_CONTRACT_ROW(NormContract, "cols above 2²⁴", many_columns, function, __VA_ARGS__)

/// RMSNorm keeps the same rows. Its traits are without .constant_row.
#define RMS_NORM_CONTRACT(function, ...) LAYER_NORM_CONTRACT(function, __VA_ARGS__)
#define RMS_NORM_CONTRACT_LONG(function, ...) LAYER_NORM_CONTRACT_LONG(function, __VA_ARGS__)

#define COPY_CONTRACT(function, ...)                                                                                                 \
  LNH_CONTRACT_ROW(CopyContract, "rows = 0", no_rows, function, __VA_ARGS__)                                                         \
  LNH_CONTRACT_ROW(CopyContract, "cols = 0; negative sizes; null x or y; eps < 0 or NaN", bad_arguments, function, __VA_ARGS__)      \
  LNH_CONTRACT_ROW(CopyContract, "y == x; overlap", overlap, function, __VA_ARGS__)                                                  \
  LNH_CONTRACT_ROW(CopyContract, "rows · cols ≥ 2³¹", large_offsets, function, __VA_ARGS__)                                          \
  LNH_CONTRACT_ROW(CopyContract, "any cols ≥ 1, any alignment", any_cols_any_alignment, function, __VA_ARGS__)                       \
  LNH_CONTRACT_ROW(CopyContract, "NaN or inf in a row", nan_or_inf, function, __VA_ARGS__)                                           \
  LNH_CONTRACT_ROW(CopyContract, "a second run", same_bits_again, function, __VA_ARGS__)
// clang-format on
