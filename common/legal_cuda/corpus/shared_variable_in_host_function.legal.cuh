__global__ void kernel() {
  __shared__ float partial[32];
  partial[threadIdx.x] = 0.0f;
}
