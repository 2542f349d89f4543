// expect: no setter defined for property
__global__ void kernel(float* y) {
  blockIdx.x = 0;
  y[blockIdx.x] = 0.0f;
}
