/// Rows of public bug reports as tests: each made anew from its description, each with a right value that was computed
/// elsewhere, in double precision.
///
/// A chapter's test.cu says, once for each of its launchers and with the same traits as in LAYER_NORM_CONTRACT,
///
///   LAYER_NORM_REPORTS(three_pass::layer_norm, .in_place = InPlace::allowed, …)
///
/// Each row becomes a test case "N05 NVIDIA/trt-samples-for-hackathon-cn#88: one outlier in 10240 equal values |
/// three_pass::layer_norm". data/reports.csv holds all reports that the course knows, those that are no test yet with
/// the reason; docs/reports.md is generated from it and from the programs' test lists. Rows of 16-bit inputs whose
/// point is an index or a launch are made in binary32.
#pragma once

#include <testing/contract.h>

namespace testing::reports {

Violations n01(const NormContract& kernel);
Violations n02(const NormContract& kernel);
Violations n03(const NormContract& kernel);
Violations n04(const NormContract& kernel);
Violations n05(const NormContract& kernel);
Violations n06(const NormContract& kernel);
Violations n08(const NormContract& kernel);
Violations n09(const NormContract& kernel);
Violations n12(const NormContract& kernel);
Violations n13(const NormContract& kernel);
Violations n14(const NormContract& kernel);
Violations n16(const NormContract& kernel);
Violations n17(const NormContract& kernel);
Violations n18(const NormContract& kernel);
Violations n19(const NormContract& kernel);
Violations n25(const NormContract& kernel);
Violations n26(const NormContract& kernel);
Violations x02(const NormContract& kernel);
Violations x03(const NormContract& kernel);
Violations x05(const NormContract& kernel);
Violations x06(const NormContract& kernel);
Violations x07(const NormContract& kernel);
Violations x09(const NormContract& kernel);
Violations x13(const NormContract& kernel);
Violations x14(const NormContract& kernel);
Violations b13(const NormContract& kernel);
Violations a01(const NormContract& kernel);
Violations a02(const NormContract& kernel);
Violations a03(const NormContract& kernel);
Violations a04(const NormContract& kernel);
Violations a05(const NormContract& kernel);
Violations a09(const NormContract& kernel);
Violations a10(const NormContract& kernel);
Violations d01(const NormContract& kernel);
Violations d05(const NormContract& kernel);
Violations e01(const NormContract& kernel);
Violations e02(const NormContract& kernel);
Violations e03(const NormContract& kernel);

// A kernel whose variance cancels must fail on these rows. Each says so if it does not, or by less than the report.
Violations n01_convicts(const NormContract& kernel);
Violations n02_convicts(const NormContract& kernel);
Violations n03_convicts(const NormContract& kernel);
Violations n04_convicts(const NormContract& kernel);
Violations n05_convicts(const NormContract& kernel);
Violations n06_convicts(const NormContract& kernel);
Violations n08_convicts(const NormContract& kernel);

}  // namespace testing::reports

#define LNH_REPORT(title, rule, function, ...) LNH_RULE(title, NormContract, reports::rule, function, __VA_ARGS__)

// clang-format off
/// The rows that say something about every norm.
#define LNH_REPORTS_OF_ANY_NORM(function, ...)                                                                                    \
  LNH_REPORT("N12 microsoft/onnxruntime#29034: squares too large for 16 bits", n12, function, __VA_ARGS__)                        \
  LNH_REPORT("N13 pytorch/pytorch#41527: a row of zeros with a tiny eps", n13, function, __VA_ARGS__)                             \
  LNH_REPORT("N14 pytorch/pytorch#189581: eps beside a small variance", n14, function, __VA_ARGS__)                               \
  LNH_REPORT("N17 allenai/OLMo#281: eps inside the root", n17, function, __VA_ARGS__)                                             \
  LNH_REPORT("N25 openvinotoolkit/openvino#37084: an infinity stays in its row", n25, function, __VA_ARGS__)                      \
  LNH_REPORT("N26 VeriSilicon/TIM-VX#589: eps is the caller's", n26, function, __VA_ARGS__)                                       \
  LNH_REPORT("X05 ROCm/aiter#5044: 769 columns and the next row's first", x05, function, __VA_ARGS__)                             \
  LNH_REPORT("X06 nntrainer/nntrainer#4318: columns beyond a multiple of four", x06, function, __VA_ARGS__)                       \
  LNH_REPORT("X07 tile-ai/tilelang-ascend#890: 513 columns", x07, function, __VA_ARGS__)                                          \
  LNH_REPORT("X09 pytorch/pytorch#186235: pointers off by some elements", x09, function, __VA_ARGS__)                             \
  LNH_REPORT("X13 karpathy/llm.c#794: 33 elements", x13, function, __VA_ARGS__)                                                   \
  LNH_REPORT("X14 facebookresearch/xformers#785: 65537 columns", x14, function, __VA_ARGS__)                                      \
  LNH_REPORT("A01 NVIDIA/apex#411: more rows than gridDim.y takes", a01, function, __VA_ARGS__)                                   \
  LNH_REPORT("A03 pytorch/pytorch#69208: γ without β and β without γ", a03, function, __VA_ARGS__)                                \
  LNH_REPORT("A04 sgl-project/sglang#23636: no rows and then one row", a04, function, __VA_ARGS__)                                \
  LNH_REPORT("A05 flashinfer-ai/flashinfer#718: rows longer than 48 KB", a05, function, __VA_ARGS__)                              \
  LNH_REPORT("A09 GeeeekExplorer/nano-vllm#170: x keeps its values", a09, function, __VA_ARGS__)                                  \
  LNH_REPORT("A10 PaddlePaddle/Paddle#78478: 8192 columns", a10, function, __VA_ARGS__)                                           \
  LNH_REPORT("D01 NVIDIA/apex#1184: rows that differ by powers of two", d01, function, __VA_ARGS__)                               \
  LNH_REPORT("D05 vllm-project/vllm#48271: a row's bits in batches of 1 to 4096", d05, function, __VA_ARGS__)                     \
  LNH_REPORT("E02 no report: rows shorter than the block", e02, function, __VA_ARGS__)                                            \
  TEST_SUITE("large") {                                                                                                           \
    LNH_REPORT("X02 vllm-project/vllm#22419: 2³¹ elements in long rows", x02, function, __VA_ARGS__)                              \
    LNH_REPORT("X03 linkedin/Liger-Kernel#1483: 2³¹ elements in short rows", x03, function, __VA_ARGS__)                          \
    LNH_REPORT("A02 pytorch/pytorch#184826: 2²³ + 1 rows of three columns", a02, function, __VA_ARGS__)                           \
  }

/// What is true of LayerNorm, whatever becomes of its variance far from 0.
#define LNH_REPORTS_OF_ANY_LAYER_NORM(function, ...)                                                                              \
  LNH_REPORTS_OF_ANY_NORM(function, __VA_ARGS__)                                                                                  \
  LNH_REPORT("N09 pytorch/pytorch#108072: two equal values", n09, function, __VA_ARGS__)                                          \
  LNH_REPORT("N16 xlite-dev/LeetCUDA#309: eps is not added to the number of columns", n16, function, __VA_ARGS__)                 \
  LNH_REPORT("N19 FluxML/Flux.jl#529: the variance over all columns and not one less", n19, function, __VA_ARGS__)                \
  LNH_REPORT("E01 no report: threads that hold no element", e01, function, __VA_ARGS__)

#define LAYER_NORM_REPORTS(function, ...)                                                                                         \
  LNH_REPORTS_OF_ANY_LAYER_NORM(function, __VA_ARGS__)                                                                            \
  LNH_REPORT("N01 pytorch/pytorch#51102: mean 2000 and deviation 1", n01, function, __VA_ARGS__)                                  \
  LNH_REPORT("N02 pytorch/pytorch#40302: mean 100 and deviation 0.01", n02, function, __VA_ARGS__)                                \
  LNH_REPORT("N03 ml-explore/mlx#2238: 16 values near 1449", n03, function, __VA_ARGS__)                                          \
  LNH_REPORT("N04 microsoft/onnxruntime#21935: 256 times 1234", n04, function, __VA_ARGS__)                                       \
  LNH_REPORT("N05 NVIDIA/trt-samples-for-hackathon-cn#88: one outlier in 10240 equal values", n05, function, __VA_ARGS__)         \
  LNH_REPORT("N06 jax-ml/jax#30426: three equal values near −11", n06, function, __VA_ARGS__)                                     \
  LNH_REPORT("N18 triton-lang/triton#9838: three columns and nothing behind them", n18, function, __VA_ARGS__)                    \
  LNH_REPORT("N08 tenstorrent/tt-metal#47791: mean of a million", n08, function, __VA_ARGS__)                                     \
  LNH_REPORT("E03 no report: a single column", e03, function, __VA_ARGS__)                                                        \
  LNH_REPORT("B13 pytorch/pytorch#188372: a single column of a million", b13, function, __VA_ARGS__)

/// For a kernel whose variance cancels: the rows that must convict it do, and the others are right.
#define CANCELLING_LAYER_NORM_REPORTS(function, ...)                                                                              \
  LNH_REPORTS_OF_ANY_LAYER_NORM(function, __VA_ARGS__)                                                                            \
  LNH_REPORT("N01 pytorch/pytorch#51102: must fail on mean 2000 and deviation 1", n01_convicts, function, __VA_ARGS__)            \
  LNH_REPORT("N02 pytorch/pytorch#40302: must fail on mean 100 and deviation 0.01", n02_convicts, function, __VA_ARGS__)          \
  LNH_REPORT("N03 ml-explore/mlx#2238: must fail on 16 values near 1449", n03_convicts, function, __VA_ARGS__)                    \
  LNH_REPORT("N04 microsoft/onnxruntime#21935: must fail on 256 times 1234 if one by one", n04_convicts, function, __VA_ARGS__)   \
  LNH_REPORT("N05 NVIDIA/trt-samples-for-hackathon-cn#88: must fail on one outlier in 10240", n05_convicts, function, __VA_ARGS__) \
  LNH_REPORT("N06 jax-ml/jax#30426: must fail on three equal values near −11", n06_convicts, function, __VA_ARGS__)               \
  LNH_REPORT("N08 tenstorrent/tt-metal#47791: must fail on a mean of a million", n08_convicts, function, __VA_ARGS__)

#define RMS_NORM_REPORTS(function, ...) LNH_REPORTS_OF_ANY_NORM(function, __VA_ARGS__)
// clang-format on
