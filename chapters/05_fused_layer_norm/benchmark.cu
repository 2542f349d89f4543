// What each shape of a block costs for short and long rows, and what the table of shapes makes of it.
#include "fused_layer_norm.cuh"

#include <benchmark/harness.h>

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

}  // namespace

LAYER_NORM_BENCHMARK("fused_layer_norm::layer_norm", fused_layer_norm::layer_norm);
