/// The least bytes that an operation must move: every input read once, every output written once. A kernel's floor is
/// these bytes over the rate of a copy.
#pragma once

#include <host/copy.h>
#include <host/layer_norm.h>
#include <host/rms_norm.h>

#include <cstdint>

namespace benchmarking {

/// 2 · count · 4
inline std::int64_t least_bytes(const CopyArgs& args) {
  return 2 * args.count * static_cast<std::int64_t>(sizeof(float));
}

/// 2 · rows · cols · 4 for x and y; cols · 4 for each of gamma and beta that is given; rows · 4 for each of mean and
/// rstd that is kept for the backward.
inline std::int64_t least_bytes(const LayerNormArgs& args) {
  const std::int64_t parameters = (args.gamma != nullptr) + (args.beta != nullptr);
  const std::int64_t statistics = (args.mean != nullptr) + (args.rstd != nullptr);
  const std::int64_t elements = 2 * args.rows * args.cols + parameters * args.cols + statistics * args.rows;
  return elements * static_cast<std::int64_t>(sizeof(float));
}

/// The same without beta and mean: 2 · rows · cols · 4, cols · 4 for gamma and rows · 4 for rstd.
inline std::int64_t least_bytes(const RmsNormArgs& args) { return least_bytes(layer_norm_args(args)); }

}  // namespace benchmarking
