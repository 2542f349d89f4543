/// Rows of public bug reports about the backward as tests: each made anew from its description, each with right values
/// that were computed elsewhere, in double precision.
///
/// A chapter's test.cu says, once for each of its launchers and with the same traits as in BACKWARD_CONTRACT,
///
///   LAYER_NORM_BACKWARD_REPORTS(backward::layer_norm, .in_place = InPlace::allowed, …)
///
/// or RMS_NORM_BACKWARD_REPORTS. Names, data/reports.csv and docs/reports.md are as reports.h says.
#pragma once

#include <testing/backward_contract.h>

namespace testing::reports {

Violations b02(const BackwardContract& kernel);
Violations b03(const BackwardContract& kernel);
Violations b05(const BackwardContract& kernel);
Violations b06(const BackwardContract& kernel);
Violations b07(const BackwardContract& kernel);
Violations b10(const BackwardContract& kernel);
Violations b12(const BackwardContract& kernel);
Violations b13(const BackwardContract& kernel);
Violations b14(const BackwardContract& kernel);
Violations b15(const BackwardContract& kernel);
Violations b16(const BackwardContract& kernel);
Violations b17(const BackwardContract& kernel);
Violations a10(const BackwardContract& kernel);
Violations d03(const BackwardContract& kernel);
Violations d04(const BackwardContract& kernel);

}  // namespace testing::reports

#define LNH_BACKWARD_REPORT(title, rule, function, ...) \
  LNH_RULE(title, BackwardContract, reports::rule, function, __VA_ARGS__)

// clang-format off
/// The rows that say something about the backward of every norm.
#define RMS_NORM_BACKWARD_REPORTS(function, ...)                                                                                        \
  LNH_BACKWARD_REPORT("B02 karpathy/llm.c#763: γ forgotten in the inner product", b02, function, __VA_ARGS__)                           \
  LNH_BACKWARD_REPORT("B05 NVIDIA/TransformerEngine#67: an offset of γ in the forward alone", b05, function, __VA_ARGS__)               \
  LNH_BACKWARD_REPORT("B06 karpathy/llm.c#428: sums over the rows in 16 bits", b06, function, __VA_ARGS__)                              \
  LNH_BACKWARD_REPORT("B07 Dao-AILab/flash-attention#781: fewer rows than blocks", b07, function, __VA_ARGS__)                          \
  LNH_BACKWARD_REPORT("B10 ServiceNow/Fast-LLM#220: x̂ recovered from y where γ is 0", b10, function, __VA_ARGS__)                       \
  LNH_BACKWARD_REPORT("B12 PaddlePaddle/Paddle#79397: no rows: dγ and dβ", b12, function, __VA_ARGS__)                                  \
  LNH_BACKWARD_REPORT("B14 karpathy/llm.c#408: gradients written or added up", b14, function, __VA_ARGS__)                              \
  LNH_BACKWARD_REPORT("B15 flagos-ai/FlagGems#5392: an input of rank 3", b15, function, __VA_ARGS__)                                    \
  LNH_BACKWARD_REPORT("B17 tracel-ai/burn#1992: the gradient at a row of zeros", b17, function, __VA_ARGS__)                            \
  LNH_BACKWARD_REPORT("A10 PaddlePaddle/Paddle#78478: 8192 columns", a10, function, __VA_ARGS__)                                        \
  LNH_BACKWARD_REPORT("D03 pytorch/pytorch#183861: lanes of the hardware taken for threads of the block", d03, function, __VA_ARGS__)   \
  LNH_BACKWARD_REPORT("D04 triton-lang/triton#6307: a lock that is released before the stores", d04, function, __VA_ARGS__)

#define LAYER_NORM_BACKWARD_REPORTS(function, ...)                                                                                      \
  RMS_NORM_BACKWARD_REPORTS(function, __VA_ARGS__)                                                                                      \
  LNH_BACKWARD_REPORT("B03 tenstorrent/tt-metal#53204: the mean of dy · γ subtracted twice", b03, function, __VA_ARGS__)                \
  LNH_BACKWARD_REPORT("B13 pytorch/pytorch#188372: a single column of a million", b13, function, __VA_ARGS__)                           \
  LNH_BACKWARD_REPORT("B16 Oneflow-Inc/oneflow#6149: dγ and dβ swapped", b16, function, __VA_ARGS__)
// clang-format on
