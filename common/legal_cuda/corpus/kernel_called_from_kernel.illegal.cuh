// expect: call to __global__ function from __global__ function
__global__ void zero(float* y) { y[threadIdx.x] = 0.0f; }
__global__ void kernel(float* y) { zero(y); }
