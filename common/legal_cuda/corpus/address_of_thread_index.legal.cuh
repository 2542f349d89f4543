__global__ void kernel(unsigned* y) {
  const uint3 index = threadIdx;
  y[0] = index.x;
}
