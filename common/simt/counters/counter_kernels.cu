// Kernels whose requests a GPU's counters can confirm, each launched once.
//
//   counter_kernels            simt: prints the executor's counts as CSV, a line for each kernel
//                              cuda: launches the same kernels in the same order, for a profiler to count
#include <host/device_buffer.h>
#include <host/launch.h>

#include <cuda_bf16.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include <backward.cuh>
#include <copy.cuh>
#include <fused_layer_norm.cuh>
#include <one_pass.cuh>
#include <rms_norm.cuh>
#include <three_pass.cuh>
#include <warp_block_welford.cuh>
#include <welford.cuh>

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

namespace {

constexpr int warp = 32;
constexpr int block_threads = 256;
constexpr int blocks = 64;
constexpr int count = blocks * block_threads;  // elements of most kernels

// Each kernel is as short as what it shows. Its threads have one global index i, unless it says otherwise.
__device__ int index() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

__global__ void copy_scalar(const float* x, float* y) {
  const int i = index();
  y[i] = x[i];
}

__global__ void copy_float4(const float* x, float* y) {
  const int i = index();
  reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];
}

// x begins 4 bytes after a multiple of 32, so each request needs one sector more.
__global__ void copy_misaligned(const float* x, float* y) {
  const int i = index();
  y[i] = x[i];
}

__global__ void load_stride_2(const float* x, float* y) {
  const int i = index();
  y[i] = x[2 * i];
}

__global__ void load_stride_32(const float* x, float* y) {
  const int i = index();
  y[i] = x[32 * i];
}

__global__ void broadcast(const float* x, float* y) { y[index()] = x[7]; }

__global__ void bf16_by_8(const __nv_bfloat16* x, float* y) {
  const int i = index();
  const uint4 eight = reinterpret_cast<const uint4*>(x)[i];
  const __nv_bfloat16* h = reinterpret_cast<const __nv_bfloat16*>(&eight);
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += __bfloat162float(h[k]);
  y[i] = sum;
}

__global__ void read_modify_write(float* y) { y[index()] += 1.0f; }

// A loop that host compilers turn into memset.
__global__ void zero_runs(float* y, int run) {
  const int i = index();
  for (int k = 0; k < run; ++k) y[i * run + k] = 0.0f;
}

struct Three {
  float a, b, c;
};
__global__ void copy_12_bytes(const Three* x, Three* y) {
  const int i = index();
  y[i] = x[i];
}

struct alignas(16) Eight {
  float v[8];
};
__global__ void copy_32_bytes(const Eight* x, Eight* y) {
  const int i = index();
  y[i] = x[i];
}

// Even lanes write floats to y, odd lanes pairs to z: two stores that no compiler can make one.
__global__ void divergent_branch(const float* x, float* y, float2* z) {
  const int i = index();
  if (i % 2 == 0)
    y[i] = x[i];
  else
    z[i] = make_float2(x[i + 32], x[i + 64]);
}

// One block transposes a tile of 32 × 32; the columns of the tile are read. A row of 32 floats puts a column into one
// bank, a row of 33 into 32 banks.
template <int row_floats>
__device__ void transpose_tile(const float* x, float* y) {
  __shared__ float tile[warp][row_floats];
  const int tile_begin = static_cast<int>(blockIdx.x) * warp * warp;
  const int element = static_cast<int>(threadIdx.y) * warp + static_cast<int>(threadIdx.x);
  tile[threadIdx.y][threadIdx.x] = x[tile_begin + element];
  __syncthreads();
  y[tile_begin + element] = tile[threadIdx.x][threadIdx.y];
}
__global__ void transpose_plain(const float* x, float* y) { transpose_tile<warp>(x, y); }
__global__ void transpose_padded(const float* x, float* y) { transpose_tile<warp + 1>(x, y); }

// One warp a block: rows of 32 floats are written, then read with a stride.
template <int stride>
__device__ void shared_stride(const float* x, float* y) {
  __shared__ float values[stride * warp];
  const int lane = static_cast<int>(threadIdx.x);
  for (int k = 0; k < stride; ++k) values[k * warp + lane] = x[k * warp + lane];
  __syncthreads();
  y[index()] = values[lane * stride];
}
__global__ void shared_stride_2(const float* x, float* y) { shared_stride<2>(x, y); }
__global__ void shared_stride_32(const float* x, float* y) { shared_stride<32>(x, y); }

__global__ void block_tree(const float* x, float* y) {
  __shared__ float partial[block_threads];
  partial[threadIdx.x] = x[index()];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = partial[0];
}

DeviceBuffer<float> ones(const char* name, std::int64_t floats, std::int64_t offset = 0) {
  return DeviceBuffer<float>(name, std::vector<float>(static_cast<std::size_t>(floats), 1.0f), offset);
}

#ifdef LNH_CUDA

template <class Launch>
void show(Launch launch_it) {
  launch_it();
  check_cuda(cudaDeviceSynchronize(), "waiting for a kernel");
}
void show_header() {}

#else

template <class Launch>
void show(Launch launch_it) {
  const simt::CountScope scope;
  launch_it();
  for (const simt::LaunchCounts& counts : scope.launches()) {
    const simt::AccessCounts loads = counts.global_loads(), stores = counts.global_stores();
    std::printf("\"%s\"", counts.kernel.c_str());
    for (const std::uint64_t number : {loads.requests, loads.sectors, stores.requests, stores.sectors,
                                       counts.shared_loads.wavefronts, counts.shared_stores.wavefronts})
      std::printf(",\"%llu\"", static_cast<unsigned long long>(number));
    std::printf("\n");
  }
}
void show_header() {
  std::printf("\"kernel\",\"load requests\",\"load sectors\",\"store requests\",\"store sectors\","
              "\"shared load wavefronts\",\"shared store wavefronts\"\n");
}

#endif

void show_gate_kernels() {
  const auto x = ones("x", 32 * count), y = ones("y", 8 * count);
  const auto shifted = ones("x", count, 1);
  const DeviceBuffer<std::uint16_t> bf16("x", std::vector<std::uint16_t>(8 * count, 0x3f80));
  const auto* halves = reinterpret_cast<const __nv_bfloat16*>(bf16.data());
  const auto z = ones("z", 2 * count);

  show([&] { launch(copy_scalar, {blocks, block_threads}, x.data(), y.data()); });
  show([&] { launch(copy_float4, {blocks, block_threads}, x.data(), y.data()); });
  show([&] { launch(copy_misaligned, {blocks, block_threads}, shifted.data(), y.data()); });
  show([&] { launch(load_stride_2, {blocks, block_threads}, x.data(), y.data()); });
  show([&] { launch(load_stride_32, {blocks, block_threads}, x.data(), y.data()); });
  show([&] { launch(broadcast, {blocks, block_threads}, x.data(), y.data()); });
  show([&] { launch(bf16_by_8, {blocks, block_threads}, halves, y.data()); });
  show([&] { launch(read_modify_write, {blocks, block_threads}, y.data()); });
  show([&] { launch(zero_runs, {blocks, block_threads}, y.data(), 8); });
  show([&] {
    launch(copy_12_bytes, {blocks, block_threads}, reinterpret_cast<const Three*>(x.data()),
           reinterpret_cast<Three*>(y.data()));
  });
  show([&] {
    launch(copy_32_bytes, {blocks, block_threads}, reinterpret_cast<const Eight*>(x.data()),
           reinterpret_cast<Eight*>(y.data()));
  });
  show([&] {
    launch(divergent_branch, {blocks, block_threads}, x.data(), y.data(), reinterpret_cast<float2*>(z.data()));
  });
  show([&] { launch(transpose_plain, {blocks, dim3(warp, warp)}, x.data(), y.data()); });
  show([&] { launch(transpose_padded, {blocks, dim3(warp, warp)}, x.data(), y.data()); });
  show([&] { launch(shared_stride_2, {blocks, warp}, x.data(), y.data()); });
  show([&] { launch(shared_stride_32, {blocks, warp}, x.data(), y.data()); });
  show([&] { launch(block_tree, {blocks, block_threads}, x.data(), y.data()); });
}

void show_chapter_kernels() {
  constexpr std::int64_t rows = 256, cols = 4096, floats = rows * cols;
  const auto x = ones("x", floats + 1), y = ones("y", floats + 1);
  const auto gamma = ones("gamma", cols), beta = ones("beta", cols), mean = ones("mean", rows),
             rstd = ones("rstd", rows);
  const CopyArgs copy_args{.x = x.data(), .y = y.data(), .count = floats + 1};  // one float is left over
  const LayerNormArgs args{.x = x.data(),
                           .gamma = gamma.data(),
                           .beta = beta.data(),
                           .y = y.data(),
                           .mean = mean.data(),
                           .rstd = rstd.data(),
                           .rows = rows,
                           .cols = cols};

  show([&] { copy::scalar(copy_args, nullptr); });
  show([&] { copy::vectorized(copy_args, nullptr); });
  show([&] { three_pass::layer_norm_thread_per_row(args, nullptr); });
  show([&] { three_pass::layer_norm(args, nullptr); });
  show([&] { one_pass::layer_norm_thread_per_row(args, nullptr); });
  show([&] { one_pass::layer_norm(args, nullptr); });
  show([&] { one_pass::layer_norm_shifted(args, nullptr); });
  show([&] { welford::layer_norm_thread_per_row(args, nullptr); });
  show([&] { welford::layer_norm(args, nullptr); });
  show([&] { warp_block_welford::layer_norm(args, nullptr); });
  show([&] { fused_layer_norm::layer_norm(args, nullptr); });
  show([&] { rms_norm::rms_norm(rms_norm_args(args), nullptr); });
  show([&] { rms_norm::layer_norm(args, nullptr); });

  // The backward on the same matrix, and on one of rows that no block can hold.
  const auto dy = ones("dy", floats), dx = ones("dx", floats);
  for (const std::int64_t columns : {cols, std::int64_t{20480}}) {
    const std::int64_t lines = floats / columns;
    const auto weights = ones("gamma", columns), dgamma = ones("dgamma", columns), dbeta = ones("dbeta", columns),
               workspace = ones("workspace", workspace_floats(lines, columns));
    const LayerNormBackwardArgs backward_args{.x = x.data(),
                                              .gamma = weights.data(),
                                              .mean = mean.data(),
                                              .rstd = rstd.data(),
                                              .dy = dy.data(),
                                              .dx = dx.data(),
                                              .dgamma = dgamma.data(),
                                              .dbeta = dbeta.data(),
                                              .workspace = workspace.data(),
                                              .rows = lines,
                                              .cols = columns};
    if (columns == cols) {
      show([&] { backward::layer_norm_naive(backward_args, nullptr); });
      show([&] { backward::layer_norm_coalesced(backward_args, nullptr); });
      show([&] { backward::layer_norm_separate(backward_args, nullptr); });
    }
    show([&] { backward::layer_norm(backward_args, nullptr); });
    show([&] { backward::rms_norm(rms_norm_backward_args(backward_args), nullptr); });
  }
}

}  // namespace

int main() {
  try {
    show_header();
    show_gate_kernels();
    show_chapter_kernels();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
