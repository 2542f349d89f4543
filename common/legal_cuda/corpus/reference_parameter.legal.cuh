#include <host/launch.h>

struct Args {
  float* y;
};
__global__ void kernel(Args args) { args.y[threadIdx.x] = 0.0f; }

void start(const Args& args) { launch(kernel, {1, 32}, args); }
