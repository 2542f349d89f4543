// expect: call to __host__ function from __global__ function
#include <algorithm>

__global__ void kernel(float* y) { y[threadIdx.x] = std::max(y[threadIdx.x], 0.0f); }
