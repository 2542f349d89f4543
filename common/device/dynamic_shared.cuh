/// Dynamic shared memory: `extern __shared__` is the one declaration that the two backends cannot spell alike.
#pragma once

/// DYNAMIC_SHARED(float, partial); declares `float* partial`, the launch's shared_bytes of shared memory, aligned to 16
/// bytes.
#ifdef __CUDACC__
#define DYNAMIC_SHARED(T, name)                                   \
  extern __shared__ __align__(16) unsigned char dynamic_shared[]; \
  T* name = reinterpret_cast<T*>(dynamic_shared)
#else
#define DYNAMIC_SHARED(T, name) T* name = static_cast<T*>(simt::dynamic_shared_memory())
#endif
