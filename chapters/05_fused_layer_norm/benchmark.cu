// What each shape of a block costs for short and long rows, and what the table of shapes makes of it; and what a wide
// access and a division less are worth, each for itself.
#include "fused_layer_norm.cuh"

#include <benchmark/harness.h>

#include <stdexcept>
#include <string>

namespace {

template <int threads, int rows>
void in_shape(const LayerNormArgs& args, cudaStream_t stream) {
  fused_layer_norm::layer_norm_in_shape(args, {threads, rows}, stream);
}

template <int threads, int rows>
bool add_shape() {
  return benchmarking::add_variant(LNH_SUBJECT, "shape " + std::to_string(threads) + "×" + std::to_string(rows),
                                   static_cast<LayerNormLauncher>(in_shape<threads, rows>));
}

// A row's threads from one warp to all that a block can have, in blocks of one row and of 256 threads; and two between.
[[maybe_unused]] const bool shapes_added = add_shape<32, 1>() && add_shape<32, 8>() && add_shape<32, 16>() &&
                                           add_shape<64, 1>() && add_shape<64, 4>() && add_shape<128, 1>() &&
                                           add_shape<128, 2>() && add_shape<256, 1>() && add_shape<320, 1>() &&
                                           add_shape<512, 1>() && add_shape<1024, 1>();

/// Four floats of a row from column c on: neighbours, by one access of 16 bytes, or blockDim.x apart, by four accesses
/// in which the lanes of a warp are neighbours. absent: what stands for a null γ or β.
template <bool wide>
__device__ float4 load_own_four(const float* values, int c, float absent = 0.0f) {
  if constexpr (wide) return four_or<Access::vector>(values, c, absent);
  if (values == nullptr) return {absent, absent, absent, absent};
  const int apart = blockDim.x;
  return {values[c], values[c + apart], values[c + 2 * apart], values[c + 3 * apart]};
}

template <bool wide>
__device__ void store_own_four(float* p, float4 values) {
  if constexpr (wide) return store_four<Access::vector>(p, values);
  const int apart = blockDim.x;
  p[0] = values.x, p[apart] = values.y, p[2 * apart] = values.z, p[3 * apart] = values.w;
}

/// The chapter's kernel with its two savings chosen apart: wide accesses, and one division for four values in place of
/// one for each. For rows of whole fours for each thread, 4 · blockDim.x columns or a multiple of it. Blocks, bytes
/// touched and result are those of layer_norm_kernel, and so are its 32 registers a thread: the 2 in __launch_bounds__
/// and `cols` as an int see to that. With more registers fewer blocks would be resident, a third difference.
template <bool wide, bool four_at_once>
__global__ void __launch_bounds__(most_threads, 2) savings_kernel(LayerNormArgs args) {
  DYNAMIC_SHARED(Welford, partial);
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const int cols = row < args.rows ? static_cast<int>(args.cols) : 0;
  const int first = (wide ? 4 : 1) * threadIdx.x;
  const int step = 4 * blockDim.x;
  const float* x = args.x + row * args.cols;
  float* y = args.y + row * args.cols;

  Welford state{};
  for (int c = first; c < cols; c += step) {
    const float4 in = load_own_four<wide>(x, c);
    if constexpr (four_at_once) {
      state = merge(state, of_four(in));
    } else {
      state = update(update(update(update(state, in.x), in.y), in.z), in.w);
    }
  }
  state = block_reduce(state, partial);
  if (cols == 0) return;
  const float mean = state.mean;
  const float rstd = 1.0f / sqrtf(variance(state) + args.eps);

  for (int c = first; c < cols; c += step) {
    const float4 in = load_own_four<wide>(x, c);
    const float4 gamma = load_own_four<wide>(args.gamma, c, 1.0f);
    const float4 beta = load_own_four<wide>(args.beta, c, 0.0f);
    store_own_four<wide>(y + c, {(in.x - mean) * rstd * gamma.x + beta.x, (in.y - mean) * rstd * gamma.y + beta.y,
                                 (in.z - mean) * rstd * gamma.z + beta.z, (in.w - mean) * rstd * gamma.w + beta.w});
  }

  if (threadIdx.x == 0) {
    if (args.mean != nullptr) args.mean[row] = mean;
    if (args.rstd != nullptr) args.rstd[row] = rstd;
  }
}

/// Throws std::invalid_argument if a row is not made of whole fours for each thread.
template <bool wide, bool four_at_once>
void with_savings(const LayerNormArgs& args, cudaStream_t stream) {
  const Shape shape = shape_for(args.cols);
  if (args.cols % (4 * shape.threads) != 0)
    throw std::invalid_argument("with_savings: cols must be a multiple of four for each thread");
  const std::size_t shared_bytes = shape.threads * shape.rows / warp_lanes * sizeof(Welford);
  launch(savings_kernel<wide, four_at_once>,
         {blocks_for(args.rows, shape.rows), dim3(shape.threads, shape.rows), shared_bytes, stream}, args);
}

template <bool wide, bool four_at_once>
bool add_savings(const std::string& name) {
  return benchmarking::add_variant(LNH_SUBJECT, name, static_cast<LayerNormLauncher>(with_savings<wide, four_at_once>));
}

[[maybe_unused]] const bool savings_added =
    add_savings<false, false>("narrow, a division for each") && add_savings<true, false>("wide, a division for each") &&
    add_savings<false, true>("narrow, a division for four") && add_savings<true, true>("wide, a division for four");

}  // namespace

LAYER_NORM_BENCHMARK("fused_layer_norm::layer_norm", fused_layer_norm::layer_norm);
