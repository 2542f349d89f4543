// expect: overload resolution selected deleted operator
__global__ void kernel(const void** y) { y[0] = &threadIdx; }
