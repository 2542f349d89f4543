__global__ void kernel(float* y) { y[threadIdx.x] = fmaxf(y[threadIdx.x], 0.0f); }
