// expect: cannot be 'extern'
__global__ void kernel(float* y) {
  extern __shared__ float partial;
  y[threadIdx.x] = partial;
}
