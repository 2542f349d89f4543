// expect: in __host__ function
float lane_value(float* y) { return y[threadIdx.x]; }
