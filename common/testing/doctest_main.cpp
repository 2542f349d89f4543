// doctest's main for every test program, compiled once and without hooks: it alone takes longer than most tests.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <testing/report.h>

#ifdef LNH_CUDA
#include <host/backend.h>

#include <cstdio>
#include <string_view>
#endif

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
#ifdef LNH_CUDA
  const bool lists =
      argc > 1 && (std::string_view(argv[1]).starts_with("--list") || std::string_view(argv[1]).starts_with("-l"));
  int devices = 0;
  if (!lists && (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)) {
    std::puts("skipped: this test runs kernels on a GPU, and CUDA finds none; nvidia-smi shows what it sees");
    return 77;  // ctest counts it as skipped
  }
#endif
  testing::register_report();
  return context.run();
}
