// expect: initialization is not supported for __shared__ variables
struct Moments {
  float mean = 0.0f;
  float m2 = 0.0f;
};

__global__ void kernel(float* y) {
  __shared__ Moments partial[32];
  partial[threadIdx.x].mean = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = partial[31 - threadIdx.x].mean;
}
