/// Exercise 07.3, write: RMSNorm's dx and dγ.
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

constexpr int column_threads = 256;

/// One sum as a state for block_reduce and warp_reduce. Sum{} is the state of no values.
struct Sum {
  float value;
};
__host__ __device__ inline Sum merge(Sum a, Sum b) { return {a.value + b.value}; }

/// dx[r][c] = rstd[r] · (g − x̂ · mean(g · x̂))                                 T threads per row, R rows per block
///
/// with g = dy · gamma, x̂ = x · rstd[r], and the mean over the columns of the row
///
/// x, dy, dx [rows][cols] row-major, dx may be dy;  gamma [cols] or null;  rstd [rows]
///        for Access::vector cols is a multiple of 4, and x, dy, dx and gamma start at multiples of 16 bytes
/// launch ⌈rows/R⌉ blocks of (T, R) threads, T a multiple of 32; partial is shared memory for a state of each warp
template <Access access>
__global__ void __launch_bounds__(most_threads) dx_kernel(RmsNormBackwardArgs args) {
  DYNAMIC_SHARED(Sum, partial);
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  // [solution] as in 07.1, with one sum
  // [dx]
  const std::int64_t cols = row < args.rows ? args.cols : 0;  // no row, no work, but the barrier waits for all
  const int first = 4 * threadIdx.x;
  const int step = 4 * blockDim.x;
  const float* x = args.x + row * args.cols;
  const float* dy = args.dy + row * args.cols;
  float* dx = args.dx + row * args.cols;
  const float rstd = cols == 0 ? 0.0f : args.rstd[row];

  const auto g_of = [=](std::int64_t c) -> float4 {  // of the four columns from c on; 0 beyond the end of the row
    const float4 in = load_up_to_four<access>(dy + c, cols - c);
    if (args.gamma == nullptr) return in;
    const float4 gamma = load_up_to_four<access>(args.gamma + c, cols - c);
    return {__fmul_rn(in.x, gamma.x), __fmul_rn(in.y, gamma.y), __fmul_rn(in.z, gamma.z), __fmul_rn(in.w, gamma.w)};
  };
  const auto normalised = [=](std::int64_t c) -> float4 {
    const float4 in = load_up_to_four<access>(x + c, cols - c);
    return {in.x * rstd, in.y * rstd, in.z * rstd, in.w * rstd};
  };

  Sum sum{};
  for (std::int64_t c = first; c < cols; c += step) {
    const float4 g = g_of(c);
    const float4 xhat = normalised(c);
    sum.value += (g.x * xhat.x + g.y * xhat.y) + (g.z * xhat.z + g.w * xhat.w);
  }
  const float mean_gx = block_reduce(sum, partial).value / static_cast<float>(args.cols);

  const auto result = [=](float g, float xhat) { return rstd * (g - xhat * mean_gx); };
  for (std::int64_t c = first; c < cols; c += step) {
    const float4 g = g_of(c);
    const float4 xhat = normalised(c);
    store_up_to_four<access>(dx + c, cols - c,
                             {result(g.x, xhat.x), result(g.y, xhat.y), result(g.z, xhat.z), result(g.w, xhat.w)});
  }
  // [/dx]
  // [stub]
  // not_written_yet(args, row, partial);
  // [/solution]
}

/// First stage of dgamma: Σdy·x̂ over the rows of each slab                       one thread per column of a slab
///
/// x, dy  [rows][cols] row-major;  rstd [rows];  workspace [slabs][cols]
/// launch (⌈cols/256⌉, slabs) blocks of 256 threads
__global__ void slab_sums_kernel(RmsNormBackwardArgs args, Slabs slabs) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t slab = blockIdx.y;
  // [solution] as in 07.2, with one sum
  // [slab_sums]
  if (c >= args.cols) return;
  float dgamma = 0;
  for (std::int64_t row = slab; row < args.rows; row += slabs.slabs) {
    dgamma += args.dy[row * args.cols + c] * (args.x[row * args.cols + c] * args.rstd[row]);
  }
  args.workspace[slab * args.cols + c] = dgamma;
  // [/slab_sums]
  // [stub]
  // not_written_yet(args, slabs, c, slab);
  // [/solution]
}

/// Second stage, complete: that of 07.2, for dgamma alone                                  32 threads per column
///
/// launch ⌈cols/32⌉ blocks of 32 × 32 threads
__global__ void total_sums_kernel(RmsNormBackwardArgs args, Slabs slabs) {
  __shared__ float tile[warp_lanes][warp_lanes + 1];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * warp_lanes;
  float sum = 0;
  for (std::int64_t slab = threadIdx.y; slab < slabs.slabs && first + threadIdx.x < args.cols; slab += warp_lanes) {
    sum += args.workspace[slab * args.cols + first + threadIdx.x];
  }
  tile[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = warp_reduce(Sum{tile[threadIdx.x][threadIdx.y]}).value;
  const std::int64_t c = first + threadIdx.y;
  if (threadIdx.x == 0 && c < args.cols) args.dgamma[c] = args.accumulate ? args.dgamma[c] + sum : sum;
}

inline void launch_dx(const RmsNormBackwardArgs& args, cudaStream_t stream) {
  const Shape shape = shape_for(args.cols);
  const bool vector = args.cols % 4 == 0 && aligned_for_vectors(args.x, args.dy, args.dx, args.gamma);
  const auto kernel = vector ? dx_kernel<Access::vector> : dx_kernel<Access::scalar>;
  const int warps = shape.threads / warp_lanes;
  const std::size_t shared_bytes = warps > 1 ? shape.rows * warps * sizeof(Sum) : 0;
  launch(kernel, {blocks_for(args.rows, shape.rows), dim3(shape.threads, shape.rows), shared_bytes, stream}, args);
}

inline void launch_dgamma(const RmsNormBackwardArgs& args, cudaStream_t stream) {
  const Slabs slabs = slabs_for(args.rows, args.cols);
  const dim3 slab_blocks(blocks_for(args.cols, column_threads), static_cast<unsigned>(slabs.slabs));
  launch(slab_sums_kernel, {slab_blocks, column_threads, 0, stream}, args, slabs);
  launch(total_sums_kernel, {blocks_for(args.cols, warp_lanes), dim3(warp_lanes, warp_lanes), 0, stream}, args, slabs);
}

inline void rms_norm(const RmsNormBackwardArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed, Workspace::needed);
  if (args.rows == 0) return sums_of_no_rows(layer_norm_backward_args(args), stream);
  // [solution] dx and dgamma, each where it is wanted; dx may be written over dy
  // [launcher]
  if (args.dgamma != nullptr) launch_dgamma(args, stream);
  if (args.dx != nullptr) launch_dx(args, stream);
  // [/launcher]
  // [/solution]
}

}  // namespace exercise
