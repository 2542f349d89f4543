/// CUDA's language for the CPU executor: what nvcc knows by itself. The build includes this before every kernel file.
///
/// It holds what the lessons use. Anything else does not compile, so that no kernel runs here that means something else
/// on a GPU. Every file that includes it must be compiled with the access hooks: an inline function compiled with them
/// here and without them there would be counted or not by the order of linking.
#pragma once

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

#if defined(__SANITIZE_THREAD__)
#elif defined(__has_feature)
#if !__has_feature(thread_sanitizer)
#error "kernels are compiled with access hooks: link the target lnh_kernels instead of including this by hand"
#endif
#else
#error "kernels are compiled with access hooks: link the target lnh_kernels instead of including this by hand"
#endif

#include <simt/dim3.h>
#include <simt/operations.h>
#include <simt/runtime_api.h>
#include <simt/vector_types.h>

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>  // before __noinline__ is a macro: the library has an attribute of that name
#include <type_traits>

// ---- Qualifiers. The legal-CUDA gate checks their use; here they say nothing.
#define __global__
#define __device__
#define __host__
#define __forceinline__ SIMT_INLINE
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
// One copy for each worker thread, and a worker runs one block at a time: so one copy a block. `__thread` rather than
// `thread_local`, because it refuses a constructor, as CUDA does. No `extern` form: device/dynamic_shared.cuh has that.
#define __shared__ static __thread
#define __constant__ \
  static_assert(false, "__constant__ memory is not part of this course: pass the values as kernel arguments");
#define __managed__ static_assert(false, "__managed__ memory is not part of this course: use DeviceBuffer");

// ---- Where a thread stands. Functions without side effects, so that reading an index is no memory access.
namespace simt {
uint3 thread_index() __attribute__((const));
uint3 block_index() __attribute__((const));
dim3 block_dimension() __attribute__((const));
dim3 grid_dimension() __attribute__((const));
void* dynamic_shared_memory() __attribute__((const));
}  // namespace simt
#define threadIdx (simt::thread_index())
#define blockIdx (simt::block_index())
#define blockDim (simt::block_dimension())
#define gridDim (simt::grid_dimension())
inline constexpr int warpSize = 32;

// ---- Barriers, shuffles and votes. Each knows its place in the source: compilers duplicate calls, so an address would
// not do.
namespace simt {

void block_barrier(Site site);
/// What one lane gives to a collective and gets back. argument: lane mask, delta or source lane.
std::uint64_t collective(Collective operation, unsigned mask, std::uint64_t value, int argument, int width, Site site);
unsigned active_mask();

template <class T>
SIMT_INLINE T shuffle(Collective operation, unsigned mask, T value, int argument, int width, Site site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8,
                "a shuffle moves 2, 4 or 8 bytes: shuffle the members one by one");
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = collective(operation, mask, bits, argument, width, site);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace simt

#define __syncthreads() simt::block_barrier({__builtin_FILE(), __builtin_LINE()})

SIMT_INLINE void __syncwarp(unsigned mask = 0xffffffffu, const char* file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
  simt::collective(simt::Collective::warp_barrier, mask, 0, 0, 32, {file, line});
}
template <class T>
SIMT_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                              const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return simt::shuffle(simt::Collective::shuffle_xor, mask, value, lane_mask, width, {file, line});
}
template <class T>
SIMT_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                               const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return simt::shuffle(simt::Collective::shuffle_down, mask, value, static_cast<int>(delta), width, {file, line});
}
template <class T>
SIMT_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                             const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return simt::shuffle(simt::Collective::shuffle_up, mask, value, static_cast<int>(delta), width, {file, line});
}
template <class T>
SIMT_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = 32, const char* file = __builtin_FILE(),
                          int line = __builtin_LINE()) {
  return simt::shuffle(simt::Collective::shuffle_index, mask, value, source, width, {file, line});
}
SIMT_INLINE unsigned __ballot_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE()) {
  return static_cast<unsigned>(simt::collective(simt::Collective::ballot, mask, predicate != 0, 0, 32, {file, line}));
}
SIMT_INLINE int __any_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
  return static_cast<int>(simt::collective(simt::Collective::any, mask, predicate != 0, 0, 32, {file, line}));
}
SIMT_INLINE int __all_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
  return static_cast<int>(simt::collective(simt::Collective::all, mask, predicate != 0, 0, 32, {file, line}));
}
SIMT_INLINE unsigned __activemask() { return simt::active_mask(); }

// ---- Atomics.
namespace simt {
/// Defined for int, unsigned, unsigned long long, float and double.
template <class T>
T atomic(Atomic operation, T* address, T value, T compare);

template <class T>
concept AtomicInteger = std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>;
template <class T>
concept AtomicNumber = AtomicInteger<T> || std::is_same_v<T, float> || std::is_same_v<T, double>;
}  // namespace simt

template <simt::AtomicNumber T>
SIMT_INLINE T atomicAdd(T* address, std::type_identity_t<T> value) {
  return simt::atomic<T>(simt::Atomic::add, address, value, T{});
}
template <simt::AtomicNumber T>
SIMT_INLINE T atomicExch(T* address, std::type_identity_t<T> value) {
  return simt::atomic<T>(simt::Atomic::exchange, address, value, T{});
}
template <simt::AtomicInteger T>
SIMT_INLINE T atomicMin(T* address, std::type_identity_t<T> value) {
  return simt::atomic<T>(simt::Atomic::minimum, address, value, T{});
}
template <simt::AtomicInteger T>
SIMT_INLINE T atomicMax(T* address, std::type_identity_t<T> value) {
  return simt::atomic<T>(simt::Atomic::maximum, address, value, T{});
}
template <simt::AtomicInteger T>
SIMT_INLINE T atomicAnd(T* address, std::type_identity_t<T> value) {
  return simt::atomic<T>(simt::Atomic::bit_and, address, value, T{});
}
template <simt::AtomicInteger T>
SIMT_INLINE T atomicOr(T* address, std::type_identity_t<T> value) {
  return simt::atomic<T>(simt::Atomic::bit_or, address, value, T{});
}
template <simt::AtomicInteger T>
SIMT_INLINE T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  return simt::atomic<T>(simt::Atomic::compare_exchange, address, value, compare);
}

// ---- Math and bits. Correctly rounded where the GPU's intrinsic is; rsqrtf is more exact here than on a GPU (2 ulp
// there).
SIMT_INLINE float rsqrtf(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }
using std::isfinite, std::isinf, std::isnan;
SIMT_INLINE float __fadd_rn(float a, float b) { return a + b; }
SIMT_INLINE float __fsub_rn(float a, float b) { return a - b; }
SIMT_INLINE float __fmul_rn(float a, float b) { return a * b; }
SIMT_INLINE float __fdiv_rn(float a, float b) { return a / b; }
SIMT_INLINE float __frcp_rn(float x) { return 1.0f / x; }
SIMT_INLINE float __fsqrt_rn(float x) { return sqrtf(x); }
SIMT_INLINE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }

#define SIMT_MIN_MAX(TYPE)                                       \
  SIMT_INLINE TYPE min(TYPE a, TYPE b) { return b < a ? b : a; } \
  SIMT_INLINE TYPE max(TYPE a, TYPE b) { return a < b ? b : a; }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
#undef SIMT_MIN_MAX
SIMT_INLINE float min(float a, float b) { return fminf(a, b); }
SIMT_INLINE float max(float a, float b) { return fmaxf(a, b); }

SIMT_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
SIMT_INLINE int __ffs(int x) { return __builtin_ffs(x); }
SIMT_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
SIMT_INLINE int __float_as_int(float x) {
  int bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
SIMT_INLINE unsigned __float_as_uint(float x) { return static_cast<unsigned>(__float_as_int(x)); }
SIMT_INLINE float __int_as_float(int bits) {
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}
SIMT_INLINE float __uint_as_float(unsigned bits) { return __int_as_float(static_cast<int>(bits)); }

// Cache hints: plain accesses here.
template <class T>
SIMT_INLINE T __ldg(const T* address) {
  return *address;
}
template <class T>
SIMT_INLINE T __ldcs(const T* address) {
  return *address;
}
template <class T>
SIMT_INLINE void __stcs(T* address, T value) {
  *address = value;
}

// NOLINTEND(readability-identifier-naming)
