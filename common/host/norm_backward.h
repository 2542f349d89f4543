/// The arguments of every backward of the course, for LayerNorm and for RMSNorm, and the checks that every launcher
/// makes first. Derived in chapter 07.
#pragma once

#include <host/backend.h>
#include <host/layer_norm.h>
#include <host/rms_norm.h>

#include <concepts>
#include <cstdint>
#include <variant>

/// With x̂ = (x − mean[r]) · rstd[r] and g = dy · gamma, and with means over the columns of a row:
///
///   dx[r][c]  = rstd[r] · (g − mean(g) − x̂ · mean(g · x̂))
///   dgamma[c] = Σ dy · x̂ over the rows r
///   dbeta[c]  = Σ dy over the rows r
///
/// All pointers are device memory; matrices are [rows][cols], row-major, without padding. beta plays no part: y is beta
/// plus what does not depend on it.
struct LayerNormBackwardArgs {
  const float* x = nullptr;      // [rows][cols], as the forward read it
  const float* gamma = nullptr;  // [cols], or null: taken as 1
  const float* mean = nullptr;   // [rows], as the forward kept it
  const float* rstd = nullptr;   // [rows], as the forward kept it
  const float* dy = nullptr;     // [rows][cols], the derivative of the loss by y
  float* dx = nullptr;           // [rows][cols], or null: not wanted
  float* dgamma = nullptr;       // [cols], or null: not wanted
  float* dbeta = nullptr;        // [cols], or null: not wanted
  float* workspace = nullptr;    // workspace_floats(rows, cols) floats; null where neither dgamma nor dbeta is wanted
  std::int64_t rows = 0;         // 0: nothing is launched, dgamma and dbeta are 0
  std::int64_t cols = 0;         // at least 1
  bool accumulate = false;       // dgamma and dbeta are added to what is there, not written over it
};

/// With x̂ = x · rstd[r]: dx[r][c] = rstd[r] · (g − x̂ · mean(g · x̂)), dgamma[c] = Σ dy · x̂. Everything else is as in
/// LayerNormBackwardArgs.
struct RmsNormBackwardArgs {
  const float* x = nullptr;      // [rows][cols], as the forward read it
  const float* gamma = nullptr;  // [cols], or null: taken as 1
  const float* rstd = nullptr;   // [rows], as the forward kept it
  const float* dy = nullptr;     // [rows][cols], the derivative of the loss by y
  float* dx = nullptr;           // [rows][cols], or null: not wanted
  float* dgamma = nullptr;       // [cols], or null: not wanted
  float* workspace = nullptr;    // workspace_floats(rows, cols) floats; null where dgamma is not wanted
  std::int64_t rows = 0;         // 0: nothing is launched, dgamma is 0
  std::int64_t cols = 0;         // at least 1
  bool accumulate = false;       // dgamma is added to what is there, not written over it
};

/// The same task in LayerNorm's arguments: mean and dbeta are null.
LayerNormBackwardArgs layer_norm_backward_args(const RmsNormBackwardArgs& args);
/// What RMSNorm takes of LayerNorm's arguments: mean and dbeta are left out.
RmsNormBackwardArgs rms_norm_backward_args(const LayerNormBackwardArgs& args);

/// The sums over the rows are made in two steps: each slab of rows has its own sums, which are added up at the end.
/// Slab s holds the rows s, s + slabs, s + 2 · slabs and so on.
struct Slabs {
  std::int64_t slabs;
  std::int64_t rows_per_slab;  // at most: the last slabs may have one row less
};
/// As many slabs as 2¹⁷ threads can serve if each slab has a warp for every 512 columns; but no more than one for every
/// four rows, so that the sums are small beside x. It depends on rows and cols alone: the same bits on every GPU.
Slabs slabs_for(std::int64_t rows, std::int64_t cols);
/// The columns of a row that a block can hold while it works on it: 16 for each of 1024 threads.
constexpr std::int64_t most_held_columns = 16384;
/// What workspace must hold: for each slab a row of sums for dgamma and one for dbeta; with more than most_held_columns
/// also two means of each row.
std::int64_t workspace_floats(std::int64_t rows, std::int64_t cols);

/// Whether a launcher uses the workspace.
enum class Workspace { needed, unused };

/// Throws std::invalid_argument naming the launcher that calls this, the argument, its value and the limit. dx == dy
/// passes where in_place allows it; every other overlap of an output with anything else is refused. With rows == 0 no
/// pointer is looked at.
void check(const LayerNormBackwardArgs& args, InPlace in_place, Workspace workspace,
           const char* function = __builtin_FUNCTION(), const char* file = __builtin_FILE(),
           int line = __builtin_LINE());
void check(const RmsNormBackwardArgs& args, InPlace in_place, Workspace workspace,
           const char* function = __builtin_FUNCTION(), const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

/// The sums over no rows: dgamma and dbeta are set to 0 where they are wanted, and left alone by accumulate.
void sums_of_no_rows(const LayerNormBackwardArgs& args, cudaStream_t stream);

/// The types of every backward launcher: throws std::invalid_argument for bad arguments and CudaError for a failed
/// launch.
using LayerNormBackwardLauncher = void (*)(const LayerNormBackwardArgs& args, cudaStream_t stream);
using RmsNormBackwardLauncher = void (*)(const RmsNormBackwardArgs& args, cudaStream_t stream);

/// A backward launcher of either norm, for what treats both alike. Made from either without a word.
class NormBackwardLauncher {
public:
  template <std::convertible_to<LayerNormBackwardLauncher> Launcher>
  NormBackwardLauncher(Launcher launcher) : launcher_(static_cast<LayerNormBackwardLauncher>(launcher)) {}
  template <std::convertible_to<RmsNormBackwardLauncher> Launcher>
  NormBackwardLauncher(Launcher launcher) : launcher_(static_cast<RmsNormBackwardLauncher>(launcher)) {}

  Norm norm() const {
    return std::holds_alternative<RmsNormBackwardLauncher>(launcher_) ? Norm::rms_norm : Norm::layer_norm;
  }

  /// RMSNorm is given what it takes of the arguments: not mean and not dbeta.
  void operator()(const LayerNormBackwardArgs& args, cudaStream_t stream) const {
    if (const auto* rms_norm = std::get_if<RmsNormBackwardLauncher>(&launcher_)) {
      (*rms_norm)(rms_norm_backward_args(args), stream);
    } else {
      std::get<LayerNormBackwardLauncher>(launcher_)(args, stream);
    }
  }

private:
  std::variant<LayerNormBackwardLauncher, RmsNormBackwardLauncher> launcher_;
};
