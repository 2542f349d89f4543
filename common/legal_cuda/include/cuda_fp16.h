/// The 16-bit storage type and its conversions, as the CPU executor has them.
#pragma once

class __half {
  unsigned short storage;  // out of reach, as in CUDA
};
__host__ __device__ float __half2float(__half h);
__host__ __device__ __half __float2half(float x);
__host__ __device__ __half __float2half_rn(float x);
