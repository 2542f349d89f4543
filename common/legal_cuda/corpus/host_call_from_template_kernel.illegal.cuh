// expect: call to __host__ function from __global__ function
#include <host/launch.h>

float square(float v) { return v * v; }

template <int Stride>
__global__ void kernel(float* y) {
  y[Stride * threadIdx.x] = square(y[Stride * threadIdx.x]);
}

void start(float* y) { launch(kernel<2>, {1, 32}, y); }
