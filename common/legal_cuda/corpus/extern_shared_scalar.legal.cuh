__global__ void kernel(float* y) {
  extern __shared__ float partial[];
  partial[threadIdx.x] = y[threadIdx.x];
}
