/// Device memory: an address range of its own, in which every allocation has a name, exact limits and a life.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace simt {

/// One cudaMalloc. Addresses are never used twice, so a freed allocation is still known by name.
struct Allocation {
  std::uintptr_t base = 0;            // what cudaMalloc returned
  std::size_t reserved = 0;           // what was asked for
  std::uintptr_t begin = 0, end = 0;  // the bytes that a kernel may touch
  bool freed = false;
  std::string name;
  std::size_t id = 0;  // its position in the order of allocation
};

/// Whether an address lies in device memory at all, in an allocation or between two.
bool in_device_memory(std::uintptr_t address);

/// The allocation that begins at or before this address, or null if there is none. The address may lie behind its end.
const Allocation* allocation_before(std::uintptr_t address);

/// Names the allocation at base and says which of its bytes a kernel may touch: [first, first + bytes).
void describe_allocation(const void* base, const void* first, std::size_t bytes, const char* name);

/// Which bytes of device memory have a value: a bit for each. Allocation and marking take it away; copies from the
/// host, cudaMemset and a kernel's stores give it.
void mark_uninitialised(const void* first, std::size_t bytes);
void mark_initialised(std::uintptr_t first, std::size_t bytes);
bool is_initialised(std::uintptr_t first, std::size_t bytes);

/// Memory that stands beside device memory, a fixed number of bytes for each of so many of its bytes: zero at first,
/// reserved as a whole, and backed where it is touched. Freeing device memory frees what stands beside it.
void* reserve_shadow(std::size_t bytes_of_shadow, std::size_t bytes_of_device_memory);

/// The limits of device memory: [begin, begin + bytes).
std::uintptr_t device_memory_begin();
inline constexpr std::size_t device_memory_bytes = std::size_t{1} << 42;

}  // namespace simt
