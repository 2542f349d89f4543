// expect: cannot use 'throw' in __global__ function
__global__ void kernel(float* y) {
  if (y[threadIdx.x] < 0.0f) throw 1;
}
