/// CUDA's half-precision storage type for the executor: 16 bits in memory, arithmetic in float.
#pragma once
#include <simt/cuda.h>

struct __half {
  std::uint16_t bits;
};

/// Exact: every half is a float.
SIMT_INLINE float __half2float(__half h) {
  const unsigned sign = (h.bits & 0x8000u) << 16;
  const unsigned exponent = (h.bits >> 10) & 0x1fu;
  const unsigned fraction = h.bits & 0x3ffu;
  if (exponent == 0x1f) return __uint_as_float(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return __uint_as_float(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float subnormal = static_cast<float>(fraction) * 0x1p-24f;
  return sign ? -subnormal : subnormal;
}

/// Round to nearest, ties to even; NaN becomes 0x7fff, as in CUDA's own header.
SIMT_INLINE __half __float2half_rn(float x) {
  const unsigned u = __float_as_uint(x);
  const unsigned sign = (u >> 16) & 0x8000u;
  const unsigned magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {0x7fff};
  if (magnitude >= 0x477ff000u)
    return {static_cast<std::uint16_t>(sign | 0x7c00u)};  // 65520 and above round to infinity
  if (magnitude < 0x38800000u) {                          // below 2^-14: a multiple of 2^-24
    // Adding 0.5 leaves the multiple of 2^-24 in the low bits of the sum, rounded by the addition itself.
    const unsigned sum = __float_as_uint(__uint_as_float(magnitude) + 0.5f);
    return {static_cast<std::uint16_t>(sign | (sum - 0x3f000000u))};
  }
  const unsigned rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return {static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
}
SIMT_INLINE __half __float2half(float x) { return __float2half_rn(x); }
