// expect: call to __host__ function from __global__ function
float square(float v) { return v * v; }

__global__ void kernel(float* y) { y[threadIdx.x] = square(y[threadIdx.x]); }
