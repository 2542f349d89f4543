/// Exercise 06.1, write: the RMSNorm kernel.
///
/// The task, the hints and the commands are in exercises/06_rms_norm/README.md.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/rms_norm.h>
#include <host/shape.h>
#include <device/dynamic_shared.cuh>
#include <device/not_written_yet.cuh>
#include <device/reduce.cuh>
#include <device/vector.cuh>

#include <cstddef>
#include <cstdint>

namespace exercise {

/// What RMSNorm keeps of the values it has seen. SumOfSquares{} is the state of no values.
struct SumOfSquares {
  float sum;
};

/// The state of the values of a and b together: block_reduce calls it.
__host__ __device__ inline SumOfSquares merge(SumOfSquares a, SumOfSquares b) { return {a.sum + b.sum}; }

/// y[r][c] = x[r][c] · rstd[r] · gamma[c],  rstd = 1/√(Σx²/cols + eps)         T threads per row, R rows per block
///
/// x, y   [rows][cols] row-major, y may be x;  gamma [cols] or null;  rstd [rows] or null
///        for Access::vector cols is a multiple of 4, and x, y and gamma start at multiples of 16 bytes
/// launch ⌈rows/R⌉ blocks of (T, R) threads, T a multiple of 32; partial is shared memory for a state of each warp
template <Access access>
__global__ void __launch_bounds__(most_threads) rms_norm_kernel(RmsNormArgs args) {
  DYNAMIC_SHARED(SumOfSquares, partial);
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  // TODO: the sum of the squares by fours and a tail, block_reduce with partial, rstd; then y, and rstd if asked for
  not_written_yet(args, row, partial);
}

inline void rms_norm(const RmsNormArgs& args, cudaStream_t stream) {
  check(args, InPlace::allowed);
  if (args.rows == 0) return;
  const Shape shape = shape_for(args.cols);
  const bool vector = args.cols % 4 == 0 && aligned_for_vectors(args.x, args.y, args.gamma);
  const auto kernel = vector ? rms_norm_kernel<Access::vector> : rms_norm_kernel<Access::scalar>;
  const int warps = shape.threads / warp_lanes;
  const std::size_t shared_bytes = warps > 1 ? shape.rows * warps * sizeof(SumOfSquares) : 0;
  launch(kernel, {blocks_for(args.rows, shape.rows), dim3(shape.threads, shape.rows), shared_bytes, stream}, args);
}

}  // namespace exercise
