__device__ float square(float v) { return v * v; }

__global__ void kernel(float* y) { y[threadIdx.x] = square(y[threadIdx.x]); }
