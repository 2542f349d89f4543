// expect: undeclared identifier '__shfl_xor'
__global__ void kernel(float* y) { y[threadIdx.x] = __shfl_xor(y[threadIdx.x], 1); }
