#include <simt/memory.h>

#include <simt/runtime_api.h>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace simt {

namespace {

constexpr std::size_t page = 4 << 10;
// Between two allocations: an overrun by many rows should end in the gap, not in a neighbour.
constexpr std::size_t gap_pages = (16 << 20) / page;

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

struct Shadow {
  std::uintptr_t begin;
  std::size_t bytes, per_device_bytes;  // so many bytes for so many of device memory
};
std::vector<Shadow>& shadows() {
  static std::vector<Shadow>& all = *new std::vector<Shadow>;
  return all;
}

void release_shadows(std::uintptr_t begin, std::size_t bytes) {
  for (const Shadow& shadow : shadows()) {
    const std::uintptr_t first = shadow.begin + (begin - arena().begin) / shadow.per_device_bytes * shadow.bytes;
    const std::uintptr_t first_page = (first + page - 1) / page * page;
    const std::uintptr_t end_page = (first + bytes / shadow.per_device_bytes * shadow.bytes) / page * page;
    if (first_page < end_page) madvise(reinterpret_cast<void*>(first_page), end_page - first_page, MADV_DONTNEED);
  }
}

using Word = std::atomic<std::uint64_t>;
Word* initialised_bits() {
  static Word* bits = static_cast<Word*>(reserve_shadow(1, 8));
  return bits;
}

// Calls with the bits of each word that stand for the bytes [first, first + bytes), until one call says stop.
template <class Visit>
void for_each_word(std::uintptr_t first, std::size_t bytes, Visit visit) {
  std::uintptr_t at = first - device_memory_begin();
  const std::uintptr_t end = at + bytes;
  while (at < end) {
    const unsigned from = at % 64;
    const unsigned count = static_cast<unsigned>(std::min<std::uintptr_t>(64 - from, end - at));
    if (!visit(initialised_bits()[at / 64], (~std::uint64_t{0} >> (64 - count)) << from)) return;
    at += count;
  }
}

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

void* reserve_shadow(std::size_t bytes_of_shadow, std::size_t bytes_of_device_memory) {
  const std::size_t bytes = device_memory_bytes / bytes_of_device_memory * bytes_of_shadow;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  shadows().push_back({reinterpret_cast<std::uintptr_t>(memory), bytes_of_shadow, bytes_of_device_memory});
  return memory;
}

void mark_initialised(std::uintptr_t first, std::size_t bytes) {
  for_each_word(first, bytes, [](Word& word, std::uint64_t bits) {
    if ((word.load(std::memory_order_relaxed) & bits) != bits) word.fetch_or(bits, std::memory_order_relaxed);
    return true;
  });
}

void mark_uninitialised(const void* first, std::size_t bytes) {
  for_each_word(reinterpret_cast<std::uintptr_t>(first), bytes, [](Word& word, std::uint64_t bits) {
    word.fetch_and(~bits, std::memory_order_relaxed);
    return true;
  });
}

bool is_initialised(std::uintptr_t first, std::size_t bytes) {
  bool all = true;
  for_each_word(first, bytes, [&](Word& word, std::uint64_t bits) {
    return all = (word.load(std::memory_order_relaxed) & bits) == bits;
  });
  return all;
}

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
  const std::size_t pages = bytes / page + gap_pages;
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
  release_shadows(allocation->base, allocation->reserved);
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
  if (in_device_memory(reinterpret_cast<std::uintptr_t>(to)))
    mark_initialised(reinterpret_cast<std::uintptr_t>(to), bytes);
  return cudaSuccess;
}

cudaError_t cudaMemset(void* pointer, int byte, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const Allocation* allocation = in_device_memory(address) ? find(address) : nullptr;
  if (bytes != 0 &&
      (allocation == nullptr || allocation->freed || bytes > allocation->base + allocation->reserved - address))
    return set_last_error(cudaErrorInvalidValue);
  std::memset(pointer, byte, bytes);
  mark_initialised(address, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* pointer, int byte, std::size_t bytes, cudaStream_t) {
  return cudaMemset(pointer, byte, bytes);
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
