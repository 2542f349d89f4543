/// dx and the sums of each slab's rows for dγ and dβ, in one kernel that goes through memory once.
#pragma once

#include <host/grid.h>
#include <host/launch.h>
#include <host/norm_backward.h>
#include <host/shape.h>
#include <device/dynamic_shared.cuh>
#include <device/reduce.cuh>
#include <device/vector.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dgamma_dbeta.cuh"
#include "row_sums.cuh"

namespace backward {

/// dx, and for each slab of rows the sums of dgamma and dbeta          T threads per row, R slabs per block
///
/// x, dy, dx [rows][cols] row-major, dx may be dy;  gamma [cols];  mean, rstd [rows];  RMSNorm: mean is null
/// workspace [slabs][2][cols]: dgamma's sums of a slab, then dbeta's
///        for Access::vector cols is a multiple of 4, and x, dy, dx, gamma and workspace start at multiples of 16 bytes
/// launch ⌈slabs/R⌉ blocks of (T, R) threads, 16 · T ≥ cols; shared memory for the sums of each warp, twice, and above
///        512 threads for 8 float4 of each thread
/// bytes  requested 5 · rows · cols · sizeof(float): x, dy and dx once, gamma twice
///        touched   (3 · rows · cols + cols + 2 · rows + 2 · slabs · cols) · sizeof(float)
/// error  as testing/backward.h bounds it, for a row with m = 16
// [kernel]
constexpr int fours = 4;  // that a thread holds of a row
// The most threads of a block of which two fit a multiprocessor if each thread has 96 registers; with 128 it is one.
constexpr int most_of_two = 320;
static_assert(4 * fours * most_threads == most_held_columns);

template <Norm norm, Access access, int most>
__global__ void __launch_bounds__(most, most == most_of_two ? 2 : 1)
    fused_kernel(LayerNormBackwardArgs args, Slabs slabs) {
  DYNAMIC_SHARED(float4, shared);
  const std::int64_t slab = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const int first = 4 * threadIdx.x;
  const int step = 4 * blockDim.x;
  const int warps = blockDim.x * blockDim.y / warp_lanes;

  // [sums]
  // The sums over this slab's rows, of the thread's own columns: four i of dgamma at i, of dbeta at fours + i.
  constexpr bool in_registers = most <= 512;  // of 1024 threads each has 64 registers, too few for x, dy and these
  float4 own[in_registers ? 2 * fours : 1];
  const auto column_sums = [&](int i) -> float4& {
    if constexpr (in_registers) {
      return own[i];
    } else {
      return shared[i * blockDim.x + threadIdx.x];
    }
  };
  for (int i = 0; i < 2 * fours; ++i) column_sums(i) = {};
  auto* const partial = reinterpret_cast<RowSums<norm>*>(shared + (in_registers ? 0 : 2 * fours * blockDim.x));
  // [/sums]

  for (std::int64_t k = 0; k < slabs.rows_per_slab; ++k) {
    const std::int64_t row = slab + k * slabs.slabs;
    const std::int64_t cols = slab < slabs.slabs && row < args.rows ? args.cols : 0;  // no row: only the barriers
    const Statistics statistics = cols == 0 ? Statistics{} : statistics_of<norm>(args, row);

    // [hold]
    float4 x[fours];
    float4 dy[fours];
    for (int i = 0; i < fours; ++i) {
      const std::int64_t c = first + i * step;
      if (c >= cols) continue;
      x[i] = load_up_to_four<access>(args.x + row * args.cols + c, cols - c, statistics.mean);
      dy[i] = load_up_to_four<access>(args.dy + row * args.cols + c, cols - c);
    }
    // [/hold]
    RowSums<norm> sums{};
    for (int i = 0; i < fours; ++i) {
      const std::int64_t c = first + i * step;
      if (c >= cols) continue;
      sums = merge(sums, sums_of<norm>(x[i], g_of<access>(args, dy[i], c), statistics));
    }
    const RowSums<norm> mean = divided<norm>(block_reduce(sums, partial + k % 2 * warps), args.cols);
    for (int i = 0; i < fours; ++i) {
      const std::int64_t c = first + i * step;
      if (c >= cols) continue;
      const float4 g = g_of<access>(args, dy[i], c);
      store_up_to_four<access>(args.dx + row * args.cols + c, cols - c, dx_of<norm>(x[i], g, statistics, mean));
      column_sums(i) = sum(column_sums(i), product(dy[i], normalised(x[i], statistics)));
      if constexpr (norm == Norm::layer_norm) column_sums(fours + i) = sum(column_sums(fours + i), dy[i]);
    }
  }

  if (slab >= slabs.slabs) return;
  float* const out = args.workspace + 2 * slab * args.cols;
  for (int i = 0; i < fours; ++i) {
    const std::int64_t c = first + i * step;
    if (c >= args.cols) continue;
    store_up_to_four<access>(out + c, args.cols - c, column_sums(i));
    if constexpr (norm == Norm::layer_norm) {
      store_up_to_four<access>(out + args.cols + c, args.cols - c, column_sums(fours + i));
    }
  }
}
// [/kernel]

// [fused]
/// A warp for each 512 columns, and blocks of about 256 threads where a row needs fewer.
constexpr Shape fused_shape(std::int64_t cols) {
  const int threads = warp_lanes * static_cast<int>((cols + 511) / 512);
  return {threads, std::max(1, 256 / threads)};
}

template <Norm norm>
std::size_t fused_shared_bytes(Shape shape) {
  const std::size_t warps = shape.threads * shape.rows / warp_lanes;
  const std::size_t row_sums = shape.threads > warp_lanes ? 2 * warps * sizeof(RowSums<norm>) : 0;
  return row_sums + (shape.threads <= 512 ? 0 : 2 * fours * shape.threads * sizeof(float4));
}

/// Up to 16 384 columns, if this GPU's blocks may have the shared memory.
template <Norm norm>
bool fused_fits(std::int64_t cols) {
  return cols <= most_held_columns && fused_shared_bytes<norm>(fused_shape(cols)) <= most_shared_bytes();
}

template <Norm norm, Access access>
auto fused_kernel_for(Shape shape) {
  if (shape.threads > 512) return fused_kernel<norm, access, 1024>;
  // Two blocks of 256 threads fit with 128 registers as well, and with 96 they are slower.
  if (shape.threads > 256 && shape.threads <= most_of_two) return fused_kernel<norm, access, most_of_two>;
  return fused_kernel<norm, access, 512>;
}

template <Norm norm>
void launch_fused(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  const Slabs slabs = slabs_for(args.rows, args.cols);
  const Shape shape = fused_shape(args.cols);
  const bool vector = args.cols % 4 == 0 && aligned_for_vectors(args.x, args.dy, args.dx, args.gamma, args.workspace);
  const auto kernel =
      vector ? fused_kernel_for<norm, Access::vector>(shape) : fused_kernel_for<norm, Access::scalar>(shape);
  const std::size_t shared_bytes = fused_shared_bytes<norm>(shape);
  allow_shared_bytes(kernel, shared_bytes);
  const dim3 block(shape.threads, shape.rows);
  launch(kernel, {blocks_for(slabs.slabs, shape.rows), block, shared_bytes, stream}, args, slabs);
  launch_total_sums(args, stream);
}
// [/fused]

}  // namespace backward
