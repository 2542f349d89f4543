__global__ void kernel() { __syncthreads(); }
