// expect: call to __device__ function from __host__ function
void start() { __syncthreads(); }
