#include <host/backend.h>
#include <testing/example.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
#ifdef LNH_CUDA
  int cards = 0;
  if (cudaGetDeviceCount(&cards) != cudaSuccess || cards == 0) {
    std::puts("skipped: this example runs kernels on a GPU, and CUDA finds none; nvidia-smi shows what it sees");
    return 77;  // ctest counts it as skipped
  }
#endif
  try {
    return example({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
