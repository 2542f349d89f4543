/// A fixture: kernels all of whose barriers are needed. A comment has none: __syncthreads();
#pragma once

namespace needed {

constexpr const char* text = "a string has none: __syncthreads();";

/// y[i] = x[63 − i]: one block of 64 threads.
__global__ void reverse_kernel(const float* x, float* y) {
  __shared__ float row[64];
  row[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = row[63 - threadIdx.x];
}

/// y[i] = x[(i + 1) mod 32]: one warp.
__global__ void rotate_kernel(const float* x, float* y) {
  __shared__ float row[32];
  row[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  y[threadIdx.x] = row[(threadIdx.x + 1) % 32];
}

/// The halves of a warp meet in one __syncwarp at two places: without one of them the other half waits for ever.
__global__ void meeting_kernel() {
  if (threadIdx.x < 16) {
    __syncwarp(0xffffffffu);
  } else {
    __syncwarp(0xffffffffu);
  }
}

}  // namespace needed
