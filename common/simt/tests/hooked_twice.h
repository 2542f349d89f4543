/// An inline device function in two translation units: hooked_twice.cu and launch_test.cu.
#pragma once

namespace hooked_twice {

// Not inlined and not changed for its callers, so that there is one copy for both files and the linker chooses it.
#ifdef __clang__
#define ONE_COPY __attribute__((noinline))
#else
#define ONE_COPY __attribute__((noipa))
#endif
inline ONE_COPY __device__ float read(const float* address) {
  return *address;  // here: read
}

void launch_from_the_other_file(const float* x, float* y);

}  // namespace hooked_twice
