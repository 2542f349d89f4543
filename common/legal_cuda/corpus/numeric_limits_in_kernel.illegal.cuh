// expect: reference to __host__ function
#include <limits>

__global__ void kernel(float* y) { y[threadIdx.x] = std::numeric_limits<float>::infinity(); }
