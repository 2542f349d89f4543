// expect: in __host__ function
#include <host/launch.h>

void kernel(float* y) { y[blockIdx.x * blockDim.x + threadIdx.x] = 0.0f; }

void start(float* y) { launch(kernel, {1, 32}, y); }
