#include <benchmark/device_timer.h>
#include <host/grid.h>
#include <host/launch.h>

#include <bit>

namespace benchmarking {
namespace {

__global__ void yardstick_kernel(const float4* x, float4* y, std::int64_t quads) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i < quads) y[i] = x[i];
}

/// Reads the buffer, so that the cache holds it and nothing else. Reading leaves no dirty lines, whose write-back would
/// be timed with the next launch.
__global__ void flush_kernel(float* buffer, std::int64_t count) {
  float sum = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; i < count; i += 256 * 1024)
    sum += buffer[i];
  if (sum == 1) buffer[0] = 0;  // never: the buffer holds zeros; but the compiler must keep the reads
}

__global__ void first_poison_kernel(const float* values, std::int64_t count, unsigned poison,
                                    unsigned long long* first) {
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; i < count; i += 256 * 1024)
    if (__float_as_uint(values[i]) == poison) atomicMin(first, static_cast<unsigned long long>(i));
}

}  // namespace

void yardstick_copy(const float* x, float* y, std::int64_t count) {
  const std::int64_t quads = count / 4;
  launch(yardstick_kernel, {blocks_for(quads, 256), 256}, reinterpret_cast<const float4*>(x),
         reinterpret_cast<float4*>(y), quads);
}

Card card() {
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties of card 0");
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return {properties.name, properties.l2CacheSize, static_cast<std::int64_t>(free)};
}

DeviceTimer::DeviceTimer() : flush_("flush", card().l2_bytes) {  // l2_bytes floats are 4 · l2_bytes bytes
  check_cuda(cudaMemset(flush_.data(), 0, sizeof(float) * static_cast<std::size_t>(flush_.size())),
             "cudaMemset of 'flush'");
  check_cuda(cudaEventCreate(&start_), "cudaEventCreate");
  check_cuda(cudaEventCreate(&stop_), "cudaEventCreate");
}

DeviceTimer::~DeviceTimer() {
  cudaEventDestroy(start_);
  cudaEventDestroy(stop_);
}

double DeviceTimer::seconds(const std::function<void()>& launch, int launches) {
  check_cuda(cudaEventRecord(start_), "cudaEventRecord");
  for (int i = 0; i < launches; ++i) launch();
  check_cuda(cudaEventRecord(stop_), "cudaEventRecord");
  check_cuda(cudaEventSynchronize(stop_), "waiting for the timed launch");
  float elapsed_ms = 0;
  check_cuda(cudaEventElapsedTime(&elapsed_ms, start_, stop_), "cudaEventElapsedTime");
  return elapsed_ms * 1e-3 / launches;
}

double DeviceTimer::cold_seconds(const std::function<void()>& launch) {
  // The host queues flush, event and launch while the device still flushes, so no host time is between the events.
  ::launch(flush_kernel, {1024, 256}, flush_.data(), flush_.size());
  return seconds(launch, 1);
}

double DeviceTimer::warm_seconds(const std::function<void()>& launch) {
  launch();
  return seconds(launch, 20);
}

std::int64_t first_poison(const DeviceBuffer<float>& buffer) {
  unsigned long long* first = nullptr;
  check_cuda(cudaMalloc(&first, sizeof(*first)), "cudaMalloc");
  auto result = static_cast<unsigned long long>(buffer.size());
  check_cuda(cudaMemcpy(first, &result, sizeof(result), cudaMemcpyHostToDevice), "cudaMemcpy");
  const auto poison = std::bit_cast<unsigned>(DeviceBuffer<float>::poison_value());
  ::launch(first_poison_kernel, {1024, 256}, buffer.data(), buffer.size(), poison, first);
  check_cuda(cudaMemcpy(&result, first, sizeof(result), cudaMemcpyDeviceToHost), "cudaMemcpy");
  check_cuda(cudaFree(first), "cudaFree");
  return static_cast<std::int64_t>(result);
}

}  // namespace benchmarking
