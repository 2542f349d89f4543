// Kernels with one planted fault each, and a correct twin of each: what the executor finds, compute-sanitizer should
// find on a GPU.
//
//   planted_faults --list      each fault: name, the executor's check, compute-sanitizer's tool for it, what it is, and
//                              why that tool cannot find it, or "-" if it can
//   planted_faults --findings  simt only: each fault's name and what the executor says of it
//   planted_faults NAME        runs the kernel with the fault
//   planted_faults NAME_ok     runs its twin
//
// On simt, findings are printed and end the program with exit code 1. On a GPU the program alone sees no fault: run it
// under compute-sanitizer. Memory comes from cudaMalloc as it is: with guard words around a buffer, or with poison in
// it, compute-sanitizer would take a bad access for a good one.
#include <host/launch.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#ifndef LNH_CUDA
#include <simt/finding.h>
#endif

namespace {

constexpr int warp = 32;
constexpr int block_threads = 128;

/// Device memory that nobody has written. The process runs one kernel, and its memory ends with it.
float* unwritten(int count) {
  float* data = nullptr;
  check_cuda(cudaMalloc(&data, static_cast<std::size_t>(count) * sizeof(float)), "cudaMalloc");
  return data;
}
float* ones(int count) {
  float* data = unwritten(count);
  const std::vector<float> values(static_cast<std::size_t>(count), 1.0f);
  check_cuda(cudaMemcpy(data, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
  return data;
}

// ---- sync

__global__ void divergent_barrier(float* y, unsigned threads_at_barrier) {
  if (threadIdx.x < threads_at_barrier) __syncthreads();
  y[threadIdx.x] = 1.0f;
}

__global__ void exited_lanes(float* y, unsigned lanes) {
  if (threadIdx.x % warp >= lanes) return;
  y[threadIdx.x] = __shfl_down_sync(0xffffffffu, static_cast<float>(threadIdx.x), 8);
}

__global__ void half_mask(float* y, unsigned mask) {
  __syncwarp(mask);
  y[threadIdx.x] = 1.0f;
}

// ---- memory

__global__ void shifted_write(float* y, int shift) { y[static_cast<int>(threadIdx.x) + shift] = 1.0f; }

__global__ void plain_read(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

__global__ void float4_read(const float* x, float* y) {
  const float4 four = reinterpret_cast<const float4*>(x)[threadIdx.x];
  y[threadIdx.x] = four.x + four.y + four.z + four.w;
}

// ---- race

/// The barriers of a block-reduced LayerNorm of one row, each of which can be left out.
enum class Without { nothing, barrier_1, barrier_2 };

template <Without without>
__device__ float block_sum(float value) {
  __shared__ float warp_sums[block_threads / warp];
  __shared__ float total;
  for (int offset = warp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  if (threadIdx.x % warp == 0) warp_sums[threadIdx.x / warp] = value;
  if constexpr (without != Without::barrier_1) __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int w = 0; w < block_threads / warp; ++w) sum += warp_sums[w];
    total = sum;
  }
  if constexpr (without != Without::barrier_2) __syncthreads();
  return total;
}

template <Without without>
__global__ void layer_norm(const float* x, float* y) {
  const float value = x[threadIdx.x];
  const float mean = block_sum<without>(value) / block_threads;
  __syncthreads();  // the second sum writes what the first one's threads may still read
  const float deviation = value - mean;
  const float variance = block_sum<without>(deviation * deviation) / block_threads;
  y[threadIdx.x] = deviation / sqrtf(variance + 1e-5f);
}

template <bool barrier>
__global__ void tree(const float* x, float* y) {
  __shared__ float partial[block_threads];
  partial[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    if constexpr (barrier) __syncthreads();
  }
  if (threadIdx.x == 0) y[0] = partial[0];
}

template <bool barrier>
__global__ void reused_buffer(const float* x, float* y) {
  __shared__ float values[block_threads];
  values[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const float first = values[block_threads - 1 - threadIdx.x];
  if constexpr (barrier) __syncthreads();
  values[threadIdx.x] = 2.0f * first;
  __syncthreads();
  y[threadIdx.x] = values[block_threads - 1 - threadIdx.x];
}

template <bool barrier>
__global__ void warp_exchange(const float* x, float* y) {
  __shared__ float values[warp];
  values[threadIdx.x] = x[threadIdx.x];
  if constexpr (barrier) __syncwarp();
  y[threadIdx.x] = values[warp - 1 - threadIdx.x];
}

template <bool own_place>
__global__ void blocks_meet(float* y) {
  if (threadIdx.x == 0) y[own_place ? blockIdx.x : 0] = static_cast<float>(blockIdx.x);
}

// ---- init

template <bool written>
__global__ void shared_read(const float* x, float* y) {
  __shared__ float values[block_threads];
  if (written || threadIdx.x < warp) values[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = values[block_threads - 1 - threadIdx.x];
}

// ----

struct PlantedFault {
  const char* name;
  const char* check;  // the executor's
  const char* tool;   // compute-sanitizer's
  const char* what;
  const char* limit;  // why that tool does not find it, or "-"
  void (*run)();
  void (*run_ok)();
};

const PlantedFault planted_faults[] = {
    {"divergent_barrier", "sync", "synccheck", "a barrier that half a warp reaches", "-",
     [] {
       launch(divergent_barrier, {1, block_threads}, ones(block_threads), 16u);
     },
     [] {
       launch(divergent_barrier, {1, block_threads}, ones(block_threads), 1u * block_threads);
     }},
    {"exited_lanes", "sync", "synccheck", "a shuffle whose mask names lanes that have returned",
     "synccheck does not look for lanes of a mask that never arrive",
     [] {
       launch(exited_lanes, {1, warp}, ones(warp), 16u);
     },
     [] {
       launch(exited_lanes, {1, warp}, ones(warp), 1u * warp);
     }},

    {"mask_without_caller", "sync", "synccheck", "a __syncwarp whose mask leaves out half of its callers", "-",
     [] {
       launch(half_mask, {1, warp}, ones(warp), 0x0000ffffu);
     },
     [] {
       launch(half_mask, {1, warp}, ones(warp), 0xffffffffu);
     }},

    {"write_past_end", "memory", "memcheck", "a write one float behind the end", "-",
     [] {
       launch(shifted_write, {1, block_threads}, unwritten(block_threads), 1);
     },
     [] {
       launch(shifted_write, {1, block_threads}, unwritten(block_threads), 0);
     }},
    {"freed_memory", "memory", "memcheck", "a read of freed memory", "-",
     [] {
       float* x = ones(block_threads);
       float* y = unwritten(block_threads);
       check_cuda(cudaFree(x), "cudaFree");
       launch(plain_read, {1, block_threads}, x, y);
     },
     [] {
       launch(plain_read, {1, block_threads}, ones(block_threads), unwritten(block_threads));
     }},
    {"misaligned_float4", "memory", "memcheck", "a float4 at an address that is 4 more than a multiple of 16", "-",
     [] {
       launch(float4_read, {1, warp}, ones(4 * warp + 4) + 1, unwritten(warp));
     },
     [] {
       launch(float4_read, {1, warp}, ones(4 * warp + 4) + 4, unwritten(warp));
     }},
    {"null_pointer", "memory", "memcheck", "a read through a null pointer", "-",
     [] {
       launch(plain_read, {1, block_threads}, nullptr, unwritten(block_threads));
     },
     [] {
       launch(plain_read, {1, block_threads}, ones(block_threads), unwritten(block_threads));
     }},

    {"missing_barrier_1", "race", "racecheck", "LayerNorm without the barrier behind the warps' sums", "-",
     [] {
       launch(layer_norm<Without::barrier_1>, {1, block_threads}, ones(block_threads), unwritten(block_threads));
     },
     [] {
       launch(layer_norm<Without::nothing>, {1, block_threads}, ones(block_threads), unwritten(block_threads));
     }},
    {"missing_barrier_2", "race", "racecheck", "LayerNorm without the barrier behind the block's sum", "-",
     [] {
       launch(layer_norm<Without::barrier_2>, {1, block_threads}, ones(block_threads), unwritten(block_threads));
     },
     [] {
       launch(layer_norm<Without::nothing>, {1, block_threads}, ones(block_threads), unwritten(block_threads));
     }},
    {"broken_tree", "race", "racecheck", "a tree without the barrier between its levels", "-",
     [] {
       launch(tree<false>, {1, block_threads}, ones(block_threads), unwritten(1));
     },
     [] {
       launch(tree<true>, {1, block_threads}, ones(block_threads), unwritten(1));
     }},
    {"reused_buffer", "race", "racecheck", "shared memory written again while it may still be read", "-",
     [] {
       launch(reused_buffer<false>, {1, block_threads}, ones(block_threads), unwritten(block_threads));
     },
     [] {
       launch(reused_buffer<true>, {1, block_threads}, ones(block_threads), unwritten(block_threads));
     }},
    {"missing_syncwarp", "race", "racecheck", "lanes exchange through shared memory without __syncwarp", "-",
     [] {
       launch(warp_exchange<false>, {1, warp}, ones(warp), unwritten(warp));
     },
     [] {
       launch(warp_exchange<true>, {1, warp}, ones(warp), unwritten(warp));
     }},
    {"blocks_meet", "race", "racecheck", "two blocks write one float", "racecheck looks at shared memory alone",
     [] {
       launch(blocks_meet<false>, {2, warp}, unwritten(2));
     },
     [] {
       launch(blocks_meet<true>, {2, warp}, unwritten(2));
     }},

    {"unwritten_global", "init", "initcheck", "a read of device memory that nobody wrote", "-",
     [] {
       launch(plain_read, {1, block_threads}, unwritten(block_threads), unwritten(block_threads));
     },
     [] {
       launch(plain_read, {1, block_threads}, ones(block_threads), unwritten(block_threads));
     }},
    {"unwritten_shared", "init", "initcheck", "a read of shared memory that nobody wrote",
     "initcheck of this toolkit looks at device memory alone",
     [] {
       launch(shared_read<false>, {1, block_threads}, ones(block_threads), unwritten(block_threads));
     },
     [] {
       launch(shared_read<true>, {1, block_threads}, ones(block_threads), unwritten(block_threads));
     }},
};

int list() {
  for (const PlantedFault& fault : planted_faults)
    std::printf("%s\t%s\t%s\t%s\t%s\n", fault.name, fault.check, fault.tool, fault.what, fault.limit);
  return 0;
}

#ifdef LNH_CUDA
/// A fault that the GPU itself stops, such as a null pointer, is said here.
int report(void (*run)()) {
  run();
  check_cuda(cudaDeviceSynchronize(), "the kernel");
  return 0;
}
#else
std::vector<simt::Finding> findings_of(void (*run)()) {
  const simt::FindingScope findings;
  run();
  return findings.findings();
}
std::string line(const simt::Finding& finding) { return finding.check + "\t" + finding.title + "\n"; }

int report(void (*run)()) {
  const std::vector<simt::Finding> findings = findings_of(run);
  for (const simt::Finding& finding : findings) std::fputs(line(finding).c_str(), stdout);
  return findings.empty() ? 0 : 1;
}
int list_findings() {
  for (const PlantedFault& fault : planted_faults)
    for (const simt::Finding& finding : findings_of(fault.run))
      if (finding.check == fault.check) std::printf("%s\t%s: %s\n", fault.name, fault.check, finding.title.c_str());
  return 0;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc == 2 ? argv[1] : "";
  if (name == "--list") return list();
  try {
#ifndef LNH_CUDA
    if (name == "--findings") return list_findings();
#endif
    for (const PlantedFault& fault : planted_faults) {
      if (name == fault.name) return report(fault.run);
      if (name == std::string(fault.name) + "_ok") return report(fault.run_ok);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  std::fprintf(stderr, "planted_faults takes the name of a fault, or that name and _ok; %s --list prints the names.\n",
               argv[0]);
  return 2;
}
