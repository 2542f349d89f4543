__device__ float lane_value(float* y) { return y[threadIdx.x]; }
