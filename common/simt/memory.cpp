#include <simt/memory.h>

#include <simt/runtime_api.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace simt {

namespace {

constexpr std::size_t page = 4 << 10;

// The arena is reserved as a whole and handed out upwards, a page or more between two allocations; nothing is used
// twice. Pages cost memory once they are touched, and freed ones give it back.
struct Arena {
  std::uintptr_t begin = 0;
  std::uintptr_t next = 0;
  std::vector<std::unique_ptr<Allocation>> allocations;  // by address
  std::mutex mutex;

  Arena() {
    void* reserved =
        mmap(nullptr, device_memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return;  // every cudaMalloc will say so
    begin = next = reinterpret_cast<std::uintptr_t>(reserved);
    next += page;
  }
};

Arena& arena() {
  static Arena& instance = *new Arena;  // never destroyed: buffers with static lifetime free their memory late
  return instance;
}

Allocation* find(std::uintptr_t address) {
  auto& all = arena().allocations;
  const auto after =
      std::upper_bound(all.begin(), all.end(), address, [](std::uintptr_t a, const auto& x) { return a < x->base; });
  return after == all.begin() ? nullptr : std::prev(after)->get();
}

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t set_last_error(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

std::uintptr_t device_memory_begin() {
  static const std::uintptr_t begin = arena().begin;
  return begin;
}

bool in_device_memory(std::uintptr_t address) { return address - device_memory_begin() < device_memory_bytes; }

const Allocation* allocation_before(std::uintptr_t address) { return find(address); }

void describe_allocation(const void* base, const void* first, std::size_t bytes, const char* name) {
  const std::scoped_lock lock(arena().mutex);
  Allocation* allocation = find(reinterpret_cast<std::uintptr_t>(base));
  if (allocation == nullptr) return;
  allocation->begin = reinterpret_cast<std::uintptr_t>(first);
  allocation->end = allocation->begin + bytes;
  allocation->name = name;
}

}  // namespace simt

using namespace simt;

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  const std::scoped_lock lock(arena().mutex);
  if (pointer == nullptr) return set_last_error(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  Arena& a = arena();
  const std::size_t pages = bytes / page + 2;
  if (a.begin == 0 || bytes > device_memory_bytes || pages * page > a.begin + device_memory_bytes - a.next)
    return set_last_error(cudaErrorMemoryAllocation);
  auto allocation = std::make_unique<Allocation>();
  allocation->base = allocation->begin = a.next;
  allocation->reserved = bytes;
  allocation->end = a.next + bytes;
  allocation->id = a.allocations.size();
  allocation->name = "allocation " + std::to_string(allocation->id);
  *pointer = reinterpret_cast<void*>(a.next);
  a.next += pages * page;
  a.allocations.push_back(std::move(allocation));
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  const std::scoped_lock lock(arena().mutex);
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  Allocation* allocation = in_device_memory(address) ? find(address) : nullptr;
  if (allocation == nullptr || allocation->base != address || allocation->freed)
    return set_last_error(cudaErrorInvalidValue);
  allocation->freed = true;
  madvise(pointer, allocation->reserved, MADV_DONTNEED);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const auto outside = [bytes](const void* p, bool device) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if (in_device_memory(address) != device) return true;
    if (!device) return false;
    const Allocation* allocation = find(address);
    return allocation == nullptr || allocation->freed || bytes > allocation->base + allocation->reserved - address;
  };
  if (bytes == 0) return cudaSuccess;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault && (outside(to, to_device) || outside(from, from_device)))
    return set_last_error(cudaErrorInvalidValue);
  std::memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemset(void* pointer, int byte, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const Allocation* allocation = in_device_memory(address) ? find(address) : nullptr;
  if (bytes != 0 &&
      (allocation == nullptr || allocation->freed || bytes > allocation->base + allocation->reserved - address))
    return set_last_error(cudaErrorInvalidValue);
  std::memset(pointer, byte, bytes);
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return last_error; }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevicePointer: return "cudaErrorInvalidDevicePointer";
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevicePointer: return "invalid device pointer";
  }
  return "unrecognized error code";
}
