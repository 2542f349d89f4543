// The functions that code compiled with -fsanitize=thread calls before each load and store. The sanitizer's own runtime
// is never linked: these take its place. Host code in the same file calls them too; they return at once when no kernel
// runs.
//
// The contract is the compilers' own and not an official interface; tests/ has kernels with known counts that fail
// loudly when a compiler changes it.
#include <simt/block.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

inline __attribute__((always_inline)) void access(void* address, unsigned bytes, bool write, void* pc) {
  if (simt::running_block == nullptr) return;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto caller = reinterpret_cast<std::uintptr_t>(pc);
#ifndef __clang__
  // g++ calls the hook of 16 bytes for a struct of that size, too, if its alignment is 8. A GPU makes two accesses of
  // it. What must be a multiple of 16, a float4, is known by its type: __ubsan_handle_type_mismatch_v1 below.
  if (bytes == 16 && at % 16 == 8) {
    simt::running_block->access(at, 8, write, false, caller);
    simt::running_block->access(at + 8, 8, write, false, caller);
    return;
  }
#endif
  simt::running_block->access(at, bytes, write, false, caller);
}

// A struct is copied by a GPU in the widest pieces that its size and alignment allow. clang makes wide accesses of one
// that its type does not align, and calls them unaligned.
void access_range(void* address, std::size_t bytes, bool write, void* pc) {
  if (simt::running_block == nullptr) return;
  auto at = reinterpret_cast<std::uintptr_t>(address);
  std::size_t piece = 16;
  while (piece > 1 && ((at | bytes) & (piece - 1)) != 0) piece /= 2;
  for (; bytes != 0; bytes -= piece, at += piece)
    simt::running_block->access(at, static_cast<unsigned>(piece), write, false, reinterpret_cast<std::uintptr_t>(pc));
}

}  // namespace

#define PC __builtin_return_address(0)
#define ACCESS(BYTES)                                                                           \
  void __tsan_read##BYTES(void* address) { access(address, BYTES, false, PC); }                 \
  void __tsan_write##BYTES(void* address) { access(address, BYTES, true, PC); }                 \
  void __tsan_unaligned_read##BYTES(void* address) { access_range(address, BYTES, false, PC); } \
  void __tsan_unaligned_write##BYTES(void* address) { access_range(address, BYTES, true, PC); } \
  void __tsan_read_write##BYTES(void* address) {                                                \
    access(address, BYTES, false, PC);                                                          \
    access(address, BYTES, true, PC);                                                           \
  }                                                                                             \
  void __tsan_unaligned_read_write##BYTES(void* address) {                                      \
    access_range(address, BYTES, false, PC);                                                    \
    access_range(address, BYTES, true, PC);                                                     \
  }

// std::atomic and the guards of function-local statics in host code arrive here as well. Kernels use simt::atomic
// instead.
#define ATOMIC_RMW(BITS, TYPE, NAME)                                     \
  TYPE __tsan_atomic##BITS##_##NAME(volatile TYPE* p, TYPE value, int) { \
    return __atomic_##NAME(p, value, __ATOMIC_SEQ_CST);                  \
  }
#define ATOMIC(BITS, TYPE)                                                                                      \
  TYPE __tsan_atomic##BITS##_load(const volatile TYPE* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); } \
  void __tsan_atomic##BITS##_store(volatile TYPE* p, TYPE value, int) {                                         \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                             \
  TYPE __tsan_atomic##BITS##_exchange(volatile TYPE* p, TYPE value, int) {                                      \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                                     \
  }                                                                                                             \
  ATOMIC_RMW(BITS, TYPE, fetch_add)                                                                             \
  ATOMIC_RMW(BITS, TYPE, fetch_sub)                                                                             \
  ATOMIC_RMW(BITS, TYPE, fetch_and)                                                                             \
  ATOMIC_RMW(BITS, TYPE, fetch_or)                                                                              \
  ATOMIC_RMW(BITS, TYPE, fetch_xor)                                                                             \
  ATOMIC_RMW(BITS, TYPE, fetch_nand)                                                                            \
  int __tsan_atomic##BITS##_compare_exchange_strong(volatile TYPE* p, TYPE* expected, TYPE value, int, int) {   \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
  }                                                                                                             \
  int __tsan_atomic##BITS##_compare_exchange_weak(volatile TYPE* p, TYPE* expected, TYPE value, int, int) {     \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
  }                                                                                                             \
  TYPE __tsan_atomic##BITS##_compare_exchange_val(volatile TYPE* p, TYPE expected, TYPE value, int, int) {      \
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                \
    return expected;                                                                                            \
  }

// With clang the linker sends memcpy to __tsan_memcpy (hooks_clang.cpp), so that here it must be asked for by its other
// name.
#ifdef __clang__
extern "C" {
void* __real_memcpy(void*, const void*, std::size_t);
void* __real_memmove(void*, const void*, std::size_t);
void* __real_memset(void*, int, std::size_t);
}
#define REAL(NAME) __real_##NAME
#else
#define REAL(NAME) std::NAME
#endif

namespace {

/// What g++ says of a pointer that is not a multiple of what its type asks for (-fsanitize=alignment), in the layout of
/// the sanitizer's own interface.
struct TypeMismatch {
  const char* file;
  std::uint32_t line, column;
  const void* type;
  unsigned char log2_alignment;
  unsigned char kind;  // 0 load, 1 store, 2 binding of a reference, 3 use of a member, 4 call of a member function
};

}  // namespace

extern "C" {

// Called before the access, which would be misaligned: it is reported, and the launch ends. A float4 is read by its
// copy constructor, through a reference, and written by its operator=, a member function.
void __ubsan_handle_type_mismatch_v1(const TypeMismatch* mismatch, void* address) {
  if (simt::running_block == nullptr) return;
  simt::running_block->access(reinterpret_cast<std::uintptr_t>(address), 1u << mismatch->log2_alignment,
                              mismatch->kind == 1 || mismatch->kind == 4, false, reinterpret_cast<std::uintptr_t>(PC));
}

void __tsan_init() {}
void __tsan_func_entry(void* caller) {
  if (simt::running_block != nullptr) simt::running_block->enter_function(reinterpret_cast<std::uintptr_t>(caller));
}
void __tsan_func_exit() {
  if (simt::running_block != nullptr) simt::running_block->leave_function();
}

ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(void* address, std::size_t bytes) { access_range(address, bytes, false, PC); }
void __tsan_write_range(void* address, std::size_t bytes) { access_range(address, bytes, true, PC); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  access_range(const_cast<void*>(from), bytes, false, PC);
  access_range(to, bytes, true, PC);
  return REAL(memcpy)(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  access_range(const_cast<void*>(from), bytes, false, PC);
  access_range(to, bytes, true, PC);
  return REAL(memmove)(to, from, bytes);
}
void* __tsan_memset(void* to, int byte, std::size_t bytes) {
  access_range(to, bytes, true, PC);
  return REAL(memset)(to, byte, bytes);
}

ATOMIC(8, unsigned char)
ATOMIC(16, unsigned short)
ATOMIC(32, unsigned)
ATOMIC(64, unsigned long)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}

// assert() in a kernel ends the launch with a finding; in host code it ends the program, as ever.
[[noreturn]] void __assert_fail(const char* expression, const char* file, unsigned line,
                                const char* function) noexcept {
  if (simt::running_block != nullptr) simt::running_block->fail_assertion(expression, {file, static_cast<int>(line)});
  std::fprintf(stderr, "%s:%u: %s: assertion failed: %s\n", file, line, function, expression);
  std::abort();
}

}  // extern "C"
