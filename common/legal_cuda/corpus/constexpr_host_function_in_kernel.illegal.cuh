// expect: call to __host__ function from __global__ function
constexpr int round_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

__global__ void kernel(float* y, int n) { y[threadIdx.x] = static_cast<float>(round_up(n, 4)); }
