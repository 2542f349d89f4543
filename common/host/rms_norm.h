/// The arguments of every RMSNorm forward of the course, and the checks that every launcher makes first.
#pragma once

#include <host/layer_norm.h>

#include <cstdint>

/// What a function or a kernel that serves both is asked for.
enum class Norm { layer_norm, rms_norm };

/// y[r][c] = x[r][c] · rstd[r] · gamma[c],  rstd = 1/√(Σx²/cols + eps)
///
/// LayerNorm without its mean and without beta; everything else is as in LayerNormArgs.
struct RmsNormArgs {
  const float* x = nullptr;      // [rows][cols]
  const float* gamma = nullptr;  // [cols], or null: taken as 1
  float* y = nullptr;            // [rows][cols]
  float* rstd = nullptr;         // [rows], or null: not written
  std::int64_t rows = 0;         // 0: nothing is launched, nothing is written
  std::int64_t cols = 0;         // at least 1
  float eps = 1e-5f;             // at least 0; a row of zeros with eps = 0 is 0·∞ = NaN by IEEE
};

/// The same task in LayerNorm's arguments: beta and mean are null.
LayerNormArgs layer_norm_args(const RmsNormArgs& args);
/// What RMSNorm takes of LayerNorm's arguments: beta and mean are left out.
RmsNormArgs rms_norm_args(const LayerNormArgs& args);

/// As check(LayerNormArgs).
void check(const RmsNormArgs& args, InPlace in_place, const char* function = __builtin_FUNCTION(),
           const char* file = __builtin_FILE(), int line = __builtin_LINE());

/// The type of every RMSNorm launcher: throws std::invalid_argument for bad arguments and CudaError for a failed
/// launch.
using RmsNormLauncher = void (*)(const RmsNormArgs& args, cudaStream_t stream);
