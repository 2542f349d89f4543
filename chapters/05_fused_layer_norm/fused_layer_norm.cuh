/// LayerNorm in one launch, with accesses of 16 bytes and a block whose shape suits the row.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/layer_norm.h>
#include <host/shape.h>
#include <device/dynamic_shared.cuh>
#include <device/reduce.cuh>
#include <device/vector.cuh>
#include <device/welford.cuh>

#include <cstddef>
#include <cstdint>

namespace fused_layer_norm {

/// y[r][c] = (x[r][c] − mean[r]) · rstd[r] · gamma[c] + beta[c]         T threads per row, R rows per block
///
/// x, y   [rows][cols] row-major, y may be x;  gamma, beta [cols];  mean, rstd [rows]
///        for Access::vector cols is a multiple of 4, and x, y, gamma and beta start at multiples of 16 bytes
/// launch ⌈rows/R⌉ blocks of (T, R) threads, T a multiple of 32; shared memory for a Welford of each warp if T > 32
/// bytes  requested 5 · rows · cols · sizeof(float): x twice, gamma, beta and y once a row
///        touched   (2 · rows · cols + 2 · cols) · sizeof(float)
/// error  as testing/tolerance.h bounds it, m = 4 · ⌈cols/4T⌉: the same for both kinds of access, bit for bit
/// source Welford 1962; Chan, Golub & LeVeque 1983
// [kernel]
template <Access access>
__global__ void __launch_bounds__(most_threads) layer_norm_kernel(LayerNormArgs args) {
  DYNAMIC_SHARED(Welford, partial);
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const std::int64_t cols = row < args.rows ? args.cols : 0;  // no row, no work, but the barrier waits for all
  const std::int64_t whole = cols - cols % 4;
  const int first = 4 * threadIdx.x;
  const int step = 4 * blockDim.x;
  const float* x = args.x + row * args.cols;
  float* y = args.y + row * args.cols;

  // [statistics]
  Welford state{};
  std::int64_t c = first;
  for (; c < whole; c += step) state = merge(state, of_four(load_four<access>(x + c)));
  for (; c < cols; ++c) state = update(state, x[c]);  // the tail: one thread has come to c == whole
  // [/statistics]
  state = block_reduce(state, partial);
  if (cols == 0) return;
  const float mean = state.mean;
  const float rstd = 1.0f / sqrtf(variance(state) + args.eps);

  // [result]
  for (c = first; c < whole; c += step) {
    const float4 in = load_four<access>(x + c);
    const float4 gamma = four_or<access>(args.gamma, c, 1.0f);
    const float4 beta = four_or<access>(args.beta, c, 0.0f);
    const float4 out = {(in.x - mean) * rstd * gamma.x + beta.x, (in.y - mean) * rstd * gamma.y + beta.y,
                        (in.z - mean) * rstd * gamma.z + beta.z, (in.w - mean) * rstd * gamma.w + beta.w};
    store_four<access>(y + c, out);
  }
  for (; c < cols; ++c) {
    const float gamma = args.gamma == nullptr ? 1.0f : args.gamma[c];
    const float beta = args.beta == nullptr ? 0.0f : args.beta[c];
    y[c] = (x[c] - mean) * rstd * gamma + beta;
  }
  // [/result]

  if (threadIdx.x == 0) {
    if (args.mean != nullptr) args.mean[row] = mean;
    if (args.rstd != nullptr) args.rstd[row] = rstd;
  }
}
// [/kernel]

// [launcher]
inline void layer_norm_in_shape(const LayerNormArgs& args, Shape shape, cudaStream_t stream) {
  check(args, InPlace::allowed);
  check(shape);
  if (args.rows == 0) return;
  const bool vector = args.cols % 4 == 0 && aligned_for_vectors(args.x, args.y, args.gamma, args.beta);
  const auto kernel = vector ? layer_norm_kernel<Access::vector> : layer_norm_kernel<Access::scalar>;
  const dim3 block(shape.threads, shape.rows);
  const int warps = shape.threads / warp_lanes;
  const std::size_t shared_bytes = warps > 1 ? shape.rows * warps * sizeof(Welford) : 0;
  launch(kernel, {blocks_for(args.rows, shape.rows), block, shared_bytes, stream}, args);
}

inline void layer_norm(const LayerNormArgs& args, cudaStream_t stream) {
  layer_norm_in_shape(args, shape_for(args.cols), stream);
}
// [/launcher]

}  // namespace fused_layer_norm
