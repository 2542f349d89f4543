/// Exercise 07.1, write: LayerNorm's dx.
///
/// The task, the hints and the commands are in exercises/07_backward/README.md.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/norm_backward.h>
#include <host/shape.h>
#include <device/dynamic_shared.cuh>
#include <device/not_written_yet.cuh>
#include <device/reduce.cuh>
#include <device/vector.cuh>

#include <cstddef>
#include <cstdint>

namespace exercise {

/// Σg and Σg·x̂ of the columns seen so far. RowSums{} is the state of no columns.
struct RowSums {
  float g;
  float gx;
};

/// The state of the columns of a and b together: block_reduce calls it.
__host__ __device__ inline RowSums merge(RowSums a, RowSums b) { return {a.g + b.g, a.gx + b.gx}; }

/// dx[r][c] = rstd[r] · (g − mean(g) − x̂ · mean(g · x̂))                       T threads per row, R rows per block
///
/// with g = dy · gamma, x̂ = (x − mean[r]) · rstd[r], and means over the columns of the row
///
/// x, dy, dx [rows][cols] row-major, dx may be dy;  gamma [cols] or null;  mean, rstd [rows]
///        for Access::vector cols is a multiple of 4, and x, dy, dx and gamma start at multiples of 16 bytes
/// launch ⌈rows/R⌉ blocks of (T, R) threads, T a multiple of 32; partial is shared memory for a state of each warp
template <Access access>
__global__ void __launch_bounds__(most_threads) dx_kernel(LayerNormBackwardArgs args) {
  DYNAMIC_SHARED(RowSums, partial);
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  // [solution] both sums in one pass by fours, one block_reduce with partial, their means; then dx in a second pass
  // [body]
  const std::int64_t cols = row < args.rows ? args.cols : 0;  // no row, no work, but the barrier waits for all
  const int first = 4 * threadIdx.x;
  const int step = 4 * blockDim.x;
  const float* x = args.x + row * args.cols;
  const float* dy = args.dy + row * args.cols;
  float* dx = args.dx + row * args.cols;
  const float mean = cols == 0 ? 0.0f : args.mean[row];
  const float rstd = cols == 0 ? 0.0f : args.rstd[row];

  // g and x̂ of the four columns from c on. Beyond the end of the row both are 0, so these columns add nothing.
  const auto g_of = [=](std::int64_t c) -> float4 {
    const float4 in = load_up_to_four<access>(dy + c, cols - c);
    if (args.gamma == nullptr) return in;
    const float4 gamma = load_up_to_four<access>(args.gamma + c, cols - c);
    return {__fmul_rn(in.x, gamma.x), __fmul_rn(in.y, gamma.y), __fmul_rn(in.z, gamma.z), __fmul_rn(in.w, gamma.w)};
  };
  const auto normalised = [=](std::int64_t c) -> float4 {
    const float4 in = load_up_to_four<access>(x + c, cols - c, mean);
    return {(in.x - mean) * rstd, (in.y - mean) * rstd, (in.z - mean) * rstd, (in.w - mean) * rstd};
  };

  RowSums sums{};
  for (std::int64_t c = first; c < cols; c += step) {
    const float4 g = g_of(c);
    const float4 xhat = normalised(c);
    sums.g += (g.x + g.y) + (g.z + g.w);
    sums.gx += (g.x * xhat.x + g.y * xhat.y) + (g.z * xhat.z + g.w * xhat.w);
  }
  sums = block_reduce(sums, partial);
  const float mean_g = sums.g / static_cast<float>(args.cols);
  const float mean_gx = sums.gx / static_cast<float>(args.cols);

  const auto result = [=](float g, float xhat) { return rstd * (g - mean_g - xhat * mean_gx); };
  for (std::int64_t c = first; c < cols; c += step) {
    const float4 g = g_of(c);
    const float4 xhat = normalised(c);
    store_up_to_four<access>(dx + c, cols - c,
                             {result(g.x, xhat.x), result(g.y, xhat.y), result(g.z, xhat.z), result(g.w, xhat.w)});
  }
  // [/body]
  // [stub]
  // not_written_yet(args, row, partial);
  // [/solution]
}

/// dx alone: dgamma, dbeta and workspace play no part.
inline void layer_norm_dx(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed, Workspace::unused);
  if (args.rows == 0 || args.dx == nullptr) return;
  const Shape shape = shape_for(args.cols);
  const bool vector = args.cols % 4 == 0 && aligned_for_vectors(args.x, args.dy, args.dx, args.gamma);
  const auto kernel = vector ? dx_kernel<Access::vector> : dx_kernel<Access::scalar>;
  const int warps = shape.threads / warp_lanes;
  const std::size_t shared_bytes = warps > 1 ? shape.rows * warps * sizeof(RowSums) : 0;
  launch(kernel, {blocks_for(args.rows, shape.rows), dim3(shape.threads, shape.rows), shared_bytes, stream}, args);
}

}  // namespace exercise
