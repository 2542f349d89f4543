/// The least bytes that an operation must move: every input read once, every output written once. A kernel's floor is
/// these bytes over the rate of a copy.
#pragma once

#include <host/copy.h>
#include <host/layer_norm.h>
#include <host/norm_backward.h>
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

/// With all outputs 3 · rows · cols · 4 for x, dy and dx; rows · 4 for each of mean and rstd; cols · 4 for each of
/// gamma, dgamma and dbeta. What an output that is wanted does not depend on is not read: gamma is for dx alone, and
/// dbeta needs nothing but dy. To accumulate, a sum is read as well. The workspace is a kernel's own affair, and not
/// among the least.
inline std::int64_t least_bytes(const LayerNormBackwardArgs& args) {
  const bool dx = args.dx != nullptr;
  const std::int64_t sums = (args.dgamma != nullptr) + (args.dbeta != nullptr);
  const bool normalised = dx || args.dgamma != nullptr;  // x̂ is needed: x, mean and rstd
  const std::int64_t matrices = (dx || sums > 0) + normalised + dx;
  const std::int64_t statistics = normalised ? (args.mean != nullptr) + 1 : 0;
  const std::int64_t vectors = (dx && args.gamma != nullptr) + sums * (args.accumulate ? 2 : 1);
  const std::int64_t elements = matrices * args.rows * args.cols + statistics * args.rows + vectors * args.cols;
  return elements * static_cast<std::int64_t>(sizeof(float));
}

/// The same without mean and dbeta.
inline std::int64_t least_bytes(const RmsNormBackwardArgs& args) { return least_bytes(layer_norm_backward_args(args)); }

}  // namespace benchmarking
