/// An inline device function in two translation units: hooked_twice.cu and launch_test.cu.
#pragma once

namespace hooked_twice {

// Not inlined, so that there is one copy for both files and the linker chooses it.
inline __attribute__((noinline)) __device__ float read(const float* address) { return *address; }

void launch_from_the_other_file(const float* x, float* y);

}  // namespace hooked_twice
