// clang before 15 copies structs in hooked code by plain memcpy, memmove and memset, which its own runtime would
// intercept. Here the linker sends the calls to these (--wrap); later versions call __tsan_memcpy and the like in
// hooks.cpp.
#include <cstddef>

extern "C" {

void* __tsan_memcpy(void* to, const void* from, std::size_t bytes);
void* __tsan_memmove(void* to, const void* from, std::size_t bytes);
void* __tsan_memset(void* to, int byte, std::size_t bytes);

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) { return __tsan_memcpy(to, from, bytes); }
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) { return __tsan_memmove(to, from, bytes); }
void* __wrap_memset(void* to, int byte, std::size_t bytes) { return __tsan_memset(to, byte, bytes); }

}  // extern "C"
