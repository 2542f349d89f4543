#include <host/launch.h>

__device__ float square(float v) { return v * v; }

template <int Stride>
__global__ void kernel(float* y) {
  y[Stride * threadIdx.x] = square(y[Stride * threadIdx.x]);
}

void start(float* y) { launch(kernel<2>, {1, 32}, y); }
