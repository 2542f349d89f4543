#include <cmath>

__global__ void kernel(float* y) {
  const float v = std::sqrt(y[threadIdx.x]);
  y[threadIdx.x] = isnan(v) || std::isinf(v) ? -INFINITY : fmaxf(fabsf(v), std::fabs(sqrt(v)));
}
