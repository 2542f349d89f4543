/// The arguments of every LayerNorm forward of the course, and the checks that every launcher makes first.
#pragma once

#include <host/backend.h>

#include <cstdint>

/// y[r][c] = (x[r][c] − mean[r]) · rstd[r] · gamma[c] + beta[c],  rstd = 1/√(variance + eps)
///
/// All pointers are device memory; matrices are [rows][cols], row-major, without padding.
struct LayerNormArgs {
  const float* x = nullptr;      // [rows][cols]
  const float* gamma = nullptr;  // [cols], or null: taken as 1
  const float* beta = nullptr;   // [cols], or null: taken as 0
  float* y = nullptr;            // [rows][cols]
  float* mean = nullptr;         // [rows], or null: not written
  float* rstd = nullptr;         // [rows], or null: not written
  std::int64_t rows = 0;         // 0: nothing is launched, nothing is written
  std::int64_t cols = 0;         // at least 1
  float eps = 1e-5f;             // at least 0; a constant row with eps = 0 is 0·∞ = NaN by IEEE
};

/// Whether a kernel may write y over x.
enum class InPlace { allowed, refused };

/// Throws std::invalid_argument naming the launcher that calls this, the argument, its value and the limit.
/// y == x passes where in_place allows it; a partial overlap of y and x, or outputs that overlap
/// each other or an input, are always refused. With rows == 0 no pointer is looked at.
void check(const LayerNormArgs& args, InPlace in_place, const char* function = __builtin_FUNCTION(),
           const char* file = __builtin_FILE(), int line = __builtin_LINE());

/// The type of every LayerNorm launcher: throws std::invalid_argument for bad arguments and CudaError for a failed
/// launch.
using LayerNormLauncher = void (*)(const LayerNormArgs& args, cudaStream_t stream);
