constexpr float scale = 2.0f;

__global__ void kernel(float* y) { y[threadIdx.x] *= scale; }
