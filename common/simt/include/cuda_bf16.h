/// CUDA's bfloat16 storage type for the executor: 16 bits in memory, arithmetic in float.
#pragma once
#include <simt/cuda.h>

struct __nv_bfloat16 {
  std::uint16_t bits;
};

/// Exact: a bfloat16 is the upper half of a float.
SIMT_INLINE float __bfloat162float(__nv_bfloat16 h) { return __uint_as_float(static_cast<unsigned>(h.bits) << 16); }

/// Round to nearest, ties to even; NaN becomes 0x7fff, as in CUDA's own header.
SIMT_INLINE __nv_bfloat16 __float2bfloat16_rn(float x) {
  const unsigned u = __float_as_uint(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
  return {static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
}
SIMT_INLINE __nv_bfloat16 __float2bfloat16(float x) { return __float2bfloat16_rn(x); }
