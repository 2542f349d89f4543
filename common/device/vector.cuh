/// Four neighbouring floats in one access of 16 bytes, or in four of 4 where the address does not allow it.
///
/// Derived in chapters 00 (what it saves) and 05 (how a row is read with it).
#pragma once

#include <cstdint>

// [vector]
enum class Access { scalar, vector };

/// The four floats at p. For Access::vector p is a multiple of 16 bytes.
template <Access access>
__device__ inline float4 load_four(const float* p) {
  if constexpr (access == Access::vector) return *reinterpret_cast<const float4*>(p);
  return {p[0], p[1], p[2], p[3]};
}

template <Access access>
__device__ inline void store_four(float* p, float4 values) {
  if constexpr (access == Access::vector) {
    *reinterpret_cast<float4*>(p) = values;
  } else {
    p[0] = values.x, p[1] = values.y, p[2] = values.z, p[3] = values.w;
  }
}
// [/vector]

/// The four of γ or β from column c on, or what stands for a null pointer.
// [four_or]
template <Access access>
__device__ inline float4 four_or(const float* values, std::int64_t c, float absent) {
  if (values == nullptr) return {absent, absent, absent, absent};
  return load_four<access>(values + c);
}
// [/four_or]

/// The four at p of a row that ends `left` floats behind p, left ≥ 1; `filler` stands for those beyond the end. Derived
/// in chapter 07.
// [up_to_four]
template <Access access>
__device__ inline float4 load_up_to_four(const float* p, std::int64_t left, float filler = 0.0f) {
  if constexpr (access == Access::vector) return load_four<access>(p);  // the row is made of whole fours
  return {p[0], left > 1 ? p[1] : filler, left > 2 ? p[2] : filler, left > 3 ? p[3] : filler};
}

template <Access access>
__device__ inline void store_up_to_four(float* p, std::int64_t left, float4 values) {
  if constexpr (access == Access::vector) return store_four<access>(p, values);
  p[0] = values.x;
  if (left > 1) p[1] = values.y;
  if (left > 2) p[2] = values.z;
  if (left > 3) p[3] = values.w;
}
// [/up_to_four]

/// Whether all of these addresses are multiples of 16 bytes. Null, an argument that is not there, counts as one.
template <class... Pointers>
bool aligned_for_vectors(Pointers... pointers) {
  return (reinterpret_cast<std::uintptr_t>(pointers) | ...) % sizeof(float4) == 0;
}
