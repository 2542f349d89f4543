__global__ void kernel(float* y) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0.0f;
  __syncthreads();
  atomicAdd(&sum, y[threadIdx.x]);
  __syncthreads();
  y[threadIdx.x] = sum;
}
