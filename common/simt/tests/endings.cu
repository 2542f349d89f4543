// Programs that do not come to their own end, one a test case. tests/endings_test.cpp runs each in a process of its
// own.
#include <host/device_buffer.h>
#include <host/launch.h>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace {

// ---- No end. What a loop waits for is volatile: clang may take it that a loop without an effect ends.

#ifndef __clang__               // which may leave out a loop without an effect
__global__ void empty_loop() {  // here: first of empty
  while (true) {                // here: last of empty
  }
}
#endif

__global__ void waits_for_memory(const volatile int* flag) {
  while (*flag == 0) {  // here: first of memory
  }                     // here: last of memory
}

__global__ void loop_with_barrier(int* count) {
  for (int i = 0; i >= 0; i = (i + 1) % 100) {  // here: first of barrier
    if (threadIdx.x == 0) count[0] = i;
    __syncthreads();  // here: last of barrier
  }
}

__global__ void one_lane_loops(volatile int* count) {
  if (threadIdx.x != 5) return;
  while (count[0] >= 0) {  // here: first of one lane
    count[0] = count[0] % 7 + 1;
  }  // here: last of one lane
}

__global__ void loop_with_printf(const volatile int* flag) {
  while (*flag == 0) {  // here: first of printf
    std::printf("still here; ");
  }  // here: last of printf
}

__device__ __noinline__ int next(int i) { return i % 7 + 1; }

__global__ void loop_with_call(volatile int* count) {
  do {  // here: first of call
    const int i = count[blockIdx.x];
    count[blockIdx.x] = next(i);
  } while (count[blockIdx.x] >= 0);  // here: last of call
}

__global__ void ends() {}

[[gnu::noinline]] void launcher_loops(const volatile bool& goes_on) {
  while (goes_on) {  // here: first of launcher
  }                  // here: last of launcher
}

[[gnu::noinline]] void launcher_repeats(const volatile bool& goes_on) {
  while (goes_on) {         // here: first of repeats
    launch(ends, {1, 32});  // here: last of repeats
  }
}

// ---- No stack

__device__ __noinline__ int recursion(int* data, int n) {
  data[0] = n;
  return n < 0 ? 0 : recursion(data, n + 1) + data[0];  // here: recursion
}

__global__ void recursive(int* data) { data[0] = recursion(data, 0); }

__device__ __noinline__ int sum_of_large_array(int n) {
  volatile int large[1 << 18];  // here: first of large array
  for (int i = 0; i < n; ++i) large[i] = i;
  return large[n - 1];  // here: last of large array
}

__global__ void large_array(int* data, int n) { data[0] = sum_of_large_array(n); }

// ---- Other ends

__global__ void divides(int* data, int zero) {
  data[0] = 100 / zero;  // here: division
}

__global__ void aborts() {
  if (threadIdx.x == 3) std::abort();  // here: abort
}

__global__ void calls_exit(int code) {
  if (threadIdx.x == 3) std::exit(code);  // here: exit
}

__global__ void calls_quick_exit(int code) {
  if (threadIdx.x == 3) std::quick_exit(code);  // here: quick exit
}

DeviceBuffer<int> zeros() { return DeviceBuffer<int>("data", std::vector<int>(64, 0)); }

int host_recursion(volatile int* n) {
  volatile int local[64];
  local[0] = *n;
  return *n == 0 ? 0 : host_recursion(n) + local[0];
}

}  // namespace

#ifndef __clang__
TEST_CASE("empty loop") { launch(empty_loop, {1, 32}); }
#endif
TEST_CASE("waits for memory") {
  const DeviceBuffer<int> data = zeros();
  launch(waits_for_memory, {1, 32}, data.data());
}
TEST_CASE("loop with barrier") {
  DeviceBuffer<int> data = zeros();
  launch(loop_with_barrier, {1, 64}, data.data());
}
TEST_CASE("one lane loops") {
  DeviceBuffer<int> data = zeros();
  launch(one_lane_loops, {1, 64}, data.data());
}
TEST_CASE("loop with printf") {
  const DeviceBuffer<int> data = zeros();
  launch(loop_with_printf, {1, 32}, data.data());
}
TEST_CASE("loop with call") {
  DeviceBuffer<int> data = zeros();
  launch(loop_with_call, {2, 32}, data.data());
}
TEST_CASE("launcher loops") {
  const volatile bool goes_on = true;
  launcher_loops(goes_on);
}
TEST_CASE("launcher repeats") {
  const volatile bool goes_on = true;
  launcher_repeats(goes_on);
}
TEST_CASE("recursion") {
  DeviceBuffer<int> data = zeros();
  launch(recursive, {1, 32}, data.data());
}
TEST_CASE("large array") {
  DeviceBuffer<int> data = zeros();
  launch(large_array, {1, 32}, data.data(), 1 << 10);
}
TEST_CASE("division") {
  DeviceBuffer<int> data = zeros();
  launch(divides, {1, 32}, data.data(), 0);
}
TEST_CASE("abort") { launch(aborts, {1, 32}); }
TEST_CASE("exit in the kernel") { launch(calls_exit, {1, 32}, 0); }
TEST_CASE("quick_exit in the kernel") { launch(calls_quick_exit, {1, 32}, 0); }
TEST_CASE("exit in the launcher") { std::exit(0); }
TEST_CASE("exit behind a launch") {
  launch(ends, {1, 32});
  std::exit(0);
}
TEST_CASE("recursion in the launcher") {
  volatile int n = 1;
  CHECK(host_recursion(&n) == 0);
}
TEST_CASE("its own end") { launch(ends, {1, 32}); }
