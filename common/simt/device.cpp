// What a kernel calls: its indices, its barriers, its atomics. Outside of a kernel these have no meaning.
#include <simt/block.h>
#include <simt/launch_state.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace simt {

namespace {
Block& block() {
  if (running_block == nullptr) {
    std::fputs("threadIdx, __syncthreads() and the like were used outside of a kernel: start kernels with launch().\n",
               stderr);
    std::abort();
  }
  return *running_block;
}
}  // namespace

uint3 thread_index() { return block().lane().index; }
uint3 block_index() {
  const Index index = block().info().index;
  return {index.x, index.y, index.z};
}
dim3 block_dimension() { return block().info().dimension; }
dim3 grid_dimension() { return block().launch().grid; }
void* dynamic_shared_memory() { return block().dynamic_shared(); }

void block_barrier(Site site) { block().barrier(site); }
std::uint64_t collective(Collective operation, unsigned mask, std::uint64_t value, int argument, int width, Site site) {
  return block().collective(operation, mask, value, argument, width, site);
}
unsigned active_mask() { return block().active_mask(); }

template <class T>
T atomic(Atomic operation, T* address, T value, T compare) {
  // One request that reads and writes; it is announced as a write.
  block().access(reinterpret_cast<std::uintptr_t>(address), sizeof(T), true, true,
                 reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
  std::atomic_ref<T> target(*address);
  T old = target.load(std::memory_order_relaxed);
  if (operation == Atomic::compare_exchange) {
    target.compare_exchange_strong(compare, value);
    return compare;
  }
  T next;
  do {
    next = value;
    if (operation == Atomic::add) next = old + value;
    if (operation == Atomic::minimum) next = value < old ? value : old;
    if (operation == Atomic::maximum) next = old < value ? value : old;
    if constexpr (std::is_integral_v<T>) {
      if (operation == Atomic::bit_and) next = old & value;
      if (operation == Atomic::bit_or) next = old | value;
    }
  } while (!target.compare_exchange_weak(old, next));
  return old;
}
template int atomic(Atomic, int*, int, int);
template unsigned atomic(Atomic, unsigned*, unsigned, unsigned);
template unsigned long long atomic(Atomic, unsigned long long*, unsigned long long, unsigned long long);
template float atomic(Atomic, float*, float, float);
template double atomic(Atomic, double*, double, double);

}  // namespace simt
