// expect: initialization is not supported for __shared__ variables
__global__ void kernel(float* y) {
  __shared__ float sum = 0.0f;
  atomicAdd(&sum, y[threadIdx.x]);
  __syncthreads();
  y[threadIdx.x] = sum;
}
