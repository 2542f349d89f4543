__global__ void kernel(float* y) {
  __shared__ float partial[32];
  partial[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = partial[31 - threadIdx.x];
}
