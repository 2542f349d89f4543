// doctest's main for every test program, compiled once and without hooks: it alone takes longer than most tests.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <testing/report.h>

#include <cstdio>
#include <cstdlib>

#ifdef LNH_CUDA
#include <host/backend.h>

#include <string_view>
#endif

namespace {

constexpr int exit_ended = 70;  // as of a kernel that ends the program: simt/watch.h

bool tests_are_over = false;

// exit(0) in the code under test must not pass for a success.
void on_exit_of_program() {
  if (tests_are_over) return;
  std::puts("\nThe program was ended by exit() before its tests were over: does the code call exit()?");
  std::fflush(stdout);
  std::_Exit(exit_ended);
}

}  // namespace

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
  std::atexit(on_exit_of_program);
  std::at_quick_exit(on_exit_of_program);
  const int result = context.run();
  tests_are_over = true;
  return result;
}
