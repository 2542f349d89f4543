/// The backward of LayerNorm and of RMSNorm: dx, dγ and dβ, in kernels apart or fused in one.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/norm_backward.h>

#include "dgamma_dbeta.cuh"
#include "dx.cuh"
#include "fused.cuh"
#include "long_rows.cuh"

namespace backward {

// [launchers]
/// dx last: it may be written over dy.
template <Norm norm>
void launch_separate(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  if (args.dgamma != nullptr || args.dbeta != nullptr) launch_two_stages<norm>(args, stream);
  if (args.dx != nullptr) launch_dx<norm>(args, stream);
}

template <Norm norm>
void launch_backward(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  const bool all = args.dx != nullptr && (args.dgamma != nullptr || args.dbeta != nullptr);
  if (all && fused_fits<norm>(args.cols)) return launch_fused<norm>(args, stream);
  if (all && args.cols > most_held_columns) return launch_long_rows<norm>(args, stream);
  launch_separate<norm>(args, stream);
}

inline void layer_norm(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed, Workspace::needed);
  if (args.rows == 0) return sums_of_no_rows(args, stream);
  launch_backward<Norm::layer_norm>(args, stream);
}

inline void rms_norm(const RmsNormBackwardArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed, Workspace::needed);
  if (args.rows == 0) return sums_of_no_rows(layer_norm_backward_args(args), stream);
  launch_backward<Norm::rms_norm>(layer_norm_backward_args(args), stream);
}

inline void layer_norm_separate(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed, Workspace::needed);
  if (args.rows == 0) return sums_of_no_rows(args, stream);
  launch_separate<Norm::layer_norm>(args, stream);
}
// [/launchers]

// [first_steps]
inline void layer_norm_naive(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed, Workspace::unused);
  if (args.rows == 0) return sums_of_no_rows(args, stream);
  if (args.dgamma != nullptr || args.dbeta != nullptr) {
    const unsigned blocks = blocks_for(args.cols, column_threads / warp_lanes);
    launch(warp_per_column_kernel<Norm::layer_norm>, {blocks, column_threads, 0, stream}, args);
  }
  if (args.dx != nullptr) launch_dx_thread_per_row(args, stream);
}

inline void layer_norm_coalesced(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed, Workspace::unused);
  if (args.rows == 0) return sums_of_no_rows(args, stream);
  if (args.dgamma != nullptr || args.dbeta != nullptr) {
    const unsigned blocks = blocks_for(args.cols, column_threads);
    launch(thread_per_column_kernel<Norm::layer_norm>, {blocks, column_threads, 0, stream}, args);
  }
  if (args.dx != nullptr) launch_dx<Norm::layer_norm>(args, stream);
}
// [/first_steps]

}  // namespace backward
