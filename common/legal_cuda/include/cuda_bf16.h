/// The bfloat16 storage type and its conversions, as the CPU executor has them.
#pragma once

class __nv_bfloat16 {
  unsigned short storage;  // out of reach, as in CUDA
};
__host__ __device__ float __bfloat162float(__nv_bfloat16 h);
__host__ __device__ __nv_bfloat16 __float2bfloat16(float x);
__host__ __device__ __nv_bfloat16 __float2bfloat16_rn(float x);
