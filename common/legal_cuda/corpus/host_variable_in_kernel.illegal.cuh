// expect: reference to __host__ variable
float scale = 2.0f;

__global__ void kernel(float* y) { y[threadIdx.x] *= scale; }
