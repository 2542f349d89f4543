// expect: call to __host__ function from __device__ function
float square(float v) { return v * v; }
__device__ float fourth_power(float v) { return square(square(v)); }

__global__ void kernel(float* y) { y[threadIdx.x] = fourth_power(y[threadIdx.x]); }
