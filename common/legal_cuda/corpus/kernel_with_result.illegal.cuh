// expect: must have void return type
__global__ float kernel(const float* x) { return x[threadIdx.x]; }
