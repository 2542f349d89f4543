#include <cassert>

__global__ void kernel(float* y) { assert(y[threadIdx.x] >= 0.0f); }
