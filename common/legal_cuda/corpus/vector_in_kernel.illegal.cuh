// expect: call to __host__ function from __global__ function
#include <vector>

__global__ void kernel(float* y) {
  std::vector<float> partial(32);
  y[threadIdx.x] = partial[threadIdx.x];
}
