// expect: call to global function
__global__ void kernel(float* y) { y[threadIdx.x] = 0.0f; }

void start(float* y) { kernel(y); }
