/// The arguments of the copy kernels of chapter 00.
#pragma once

#include <host/backend.h>

#include <cstdint>

/// y[i] = x[i] for 0 ≤ i < count
struct CopyArgs {
  const float* x = nullptr;  // [count], device memory
  float* y = nullptr;        // [count], device memory; must not overlap x
  std::int64_t count = 0;    // 0: nothing is launched
};

/// Throws std::invalid_argument naming the launcher that calls this, the argument, its value and the limit. With
/// count == 0 no pointer is looked at.
void check(const CopyArgs& args, const char* function = __builtin_FUNCTION(), const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

using CopyLauncher = void (*)(const CopyArgs& args, cudaStream_t stream);
