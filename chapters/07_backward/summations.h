/// How the kernels of this chapter add up a row and a column: what their bounds depend on.
#pragma once

#include <testing/backward.h>

#include <cstdint>

#include "backward.cuh"

namespace backward {

/// A slab's rows one after the other, then every 32nd slab, then a tree over 32.
inline testing::Summation two_stages(std::int64_t rows, std::int64_t cols) {
  const Slabs slabs = slabs_for(rows, cols);
  return {slabs.rows_per_slab + (slabs.slabs + warp_lanes - 1) / warp_lanes, warp_lanes};
}

inline testing::BackwardSummation naive_sums(std::int64_t rows, std::int64_t cols) {
  return {testing::thread_per_row(cols), testing::block_per_row<warp_lanes>(rows)};
}
inline testing::BackwardSummation coalesced_sums(std::int64_t rows, std::int64_t cols) {
  return {testing::dealt_in_fours(cols, shape_for(cols).threads), {rows, 1}};
}
inline testing::BackwardSummation separate_sums(std::int64_t rows, std::int64_t cols) {
  return {testing::dealt_in_fours(cols, shape_for(cols).threads), two_stages(rows, cols)};
}
template <Norm norm>
testing::BackwardSummation fused_sums(std::int64_t rows, std::int64_t cols) {
  if (!fused_fits<norm>(cols)) return separate_sums(rows, cols);
  return {testing::dealt_in_fours(cols, fused_shape(cols).threads), two_stages(rows, cols)};
}

}  // namespace backward
