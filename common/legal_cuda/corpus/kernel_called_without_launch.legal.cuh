__global__ void kernel(float* y) { y[threadIdx.x] = 0.0f; }

void start(float* y) { kernel<<<1, 32>>>(y); }
