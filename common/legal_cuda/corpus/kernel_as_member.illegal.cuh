// expect: must be a free function or static member function
struct Layer {
  float* y;
  __global__ void kernel() { y[threadIdx.x] = 0.0f; }
};
