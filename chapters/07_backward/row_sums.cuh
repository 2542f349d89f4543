/// What the kernels of this chapter make of one element, and the sums of a row packed in one state.
#pragma once

#include <host/norm_backward.h>
#include <device/vector.cuh>

#include <cstdint>

namespace backward {

// [row_sums]
/// Σg and Σg·x̂ of the columns seen so far, or the means of both. One block_reduce merges what a row needs.
template <Norm norm>
struct RowSums {
  float g;
  float gx;
};
template <>
struct RowSums<Norm::rms_norm> {
  float gx;
};
__host__ __device__ inline RowSums<Norm::layer_norm> merge(RowSums<Norm::layer_norm> a, RowSums<Norm::layer_norm> b) {
  return {a.g + b.g, a.gx + b.gx};
}
__host__ __device__ inline RowSums<Norm::rms_norm> merge(RowSums<Norm::rms_norm> a, RowSums<Norm::rms_norm> b) {
  return {a.gx + b.gx};
}
// [/row_sums]

// [element]
/// What the forward kept of a row. RMSNorm's mean is 0.
struct Statistics {
  float mean;
  float rstd;
};

/// x̂
__host__ __device__ inline float normalised(float x, Statistics row) { return (x - row.mean) * row.rstd; }

template <Norm norm>
__host__ __device__ RowSums<norm> sums_of(float x, float g, Statistics row) {
  if constexpr (norm == Norm::rms_norm) {
    return {g * normalised(x, row)};
  } else {
    return {g, g * normalised(x, row)};
  }
}

template <Norm norm>
__host__ __device__ float dx_of(float x, float g, Statistics row, RowSums<norm> mean) {
  if constexpr (norm == Norm::rms_norm) {
    return row.rstd * (g - normalised(x, row) * mean.gx);
  } else {
    return row.rstd * (g - mean.g - normalised(x, row) * mean.gx);
  }
}
// [/element]

template <Norm norm>
__host__ __device__ RowSums<norm> divided(RowSums<norm> sums, std::int64_t cols) {
  const auto n = static_cast<float>(cols);
  if constexpr (norm == Norm::rms_norm) {
    return {sums.gx / n};
  } else {
    return {sums.g / n, sums.gx / n};
  }
}

template <Norm norm>
__device__ Statistics statistics_of(const LayerNormBackwardArgs& args, std::int64_t row) {
  if constexpr (norm == Norm::rms_norm) {
    return {0.0f, args.rstd[row]};
  } else {
    return {args.mean[row], args.rstd[row]};
  }
}

// [four]
__host__ __device__ inline float4 product(float4 a, float4 b) { return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w}; }
__host__ __device__ inline float4 sum(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
__host__ __device__ inline float4 normalised(float4 x, Statistics row) {
  return {normalised(x.x, row), normalised(x.y, row), normalised(x.z, row), normalised(x.w, row)};
}

template <Norm norm>
__host__ __device__ RowSums<norm> sums_of(float4 x, float4 g, Statistics row) {
  return merge(merge(sums_of<norm>(x.x, g.x, row), sums_of<norm>(x.y, g.y, row)),
               merge(sums_of<norm>(x.z, g.z, row), sums_of<norm>(x.w, g.w, row)));
}

template <Norm norm>
__host__ __device__ float4 dx_of(float4 x, float4 g, Statistics row, RowSums<norm> mean) {
  return {dx_of<norm>(x.x, g.x, row, mean), dx_of<norm>(x.y, g.y, row, mean), dx_of<norm>(x.z, g.z, row, mean),
          dx_of<norm>(x.w, g.w, row, mean)};
}
// [/four]

// [g]
/// g of the four columns from c on; dy is 0 beyond the row, and so is g. Rounded here, so that every use of it has the
/// same bits: nvcc would fuse a plain product with the addition that follows, where one follows.
template <Access access>
__device__ inline float4 g_of(const LayerNormBackwardArgs& args, float4 dy, std::int64_t c) {
  if (args.gamma == nullptr) return dy;
  const float4 gamma = load_up_to_four<access>(args.gamma + c, args.cols - c);
  return {__fmul_rn(dy.x, gamma.x), __fmul_rn(dy.y, gamma.y), __fmul_rn(dy.z, gamma.z), __fmul_rn(dy.w, gamma.w)};
}
// [/g]

}  // namespace backward
