/// Declarations that stand in for the CUDA Toolkit's headers, so that clang alone can say whether a kernel is legal
/// CUDA.
///
/// Nothing here is ever linked or run: clang checks who calls whom, what a __shared__ variable may be, and the types.
/// What is missing here is outside of what the course uses; add a declaration with the CUDA Programming Guide's
/// signature.
#pragma once

#ifndef __CUDA__
#error "common/legal_cuda is for clang's CUDA mode only; run common/legal_cuda/check.sh FILE"
#endif

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n)))

// ---- vector types ---------------------------------------------------------------------------------------------------

#define LNH_VECTORS(T, name, align2, align4)           \
  struct name##1 {                                     \
    T x;                                               \
  };                                                   \
  struct __align__(align2) name##2 {                   \
    T x, y;                                            \
  };                                                   \
  struct name##3 {                                     \
    T x, y, z;                                         \
  };                                                   \
  struct __align__(align4) name##4 {                   \
    T x, y, z, w;                                      \
  };                                                   \
  __host__ __device__ name##1 make_##name##1(T);       \
  __host__ __device__ name##2 make_##name##2(T, T);    \
  __host__ __device__ name##3 make_##name##3(T, T, T); \
  __host__ __device__ name##4 make_##name##4(T, T, T, T);

LNH_VECTORS(signed char, char, 2, 4)
LNH_VECTORS(unsigned char, uchar, 2, 4)
LNH_VECTORS(short, short, 4, 8)
LNH_VECTORS(unsigned short, ushort, 4, 8)
LNH_VECTORS(int, int, 8, 16)
LNH_VECTORS(unsigned int, uint, 8, 16)
LNH_VECTORS(long long, longlong, 16, 16)
LNH_VECTORS(unsigned long long, ulonglong, 16, 16)
LNH_VECTORS(float, float, 8, 16)
LNH_VECTORS(double, double, 16, 16)
#undef LNH_VECTORS

struct dim3 {
  unsigned int x, y, z;
  __host__ __device__ constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
};

// threadIdx, blockIdx, blockDim, gridDim, warpSize: clang's own, which may be read in device code and never written.
#include <__clang_cuda_builtin_vars.h>

#include <cuda_runtime_api.h>
#include <cmath>

// A word that may stand before a function and, as <memory> has it, in __attribute__((…)).
#define __noinline__ inline

// ---- launch: what clang makes of kernel<<<grid, block, shared_bytes, stream>>>(…) -----------------------------------

extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes = 0,
                                                cudaStream_t stream = nullptr);
cudaError_t cudaConfigureCall(dim3 grid, dim3 block, std::size_t shared_bytes = 0, cudaStream_t stream = nullptr);
extern "C" cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared_bytes, cudaStream_t stream);

// ---- barriers, fences, warps ----------------------------------------------------------------------------------------

__device__ void __syncthreads();
__device__ int __syncthreads_count(int predicate);
__device__ int __syncthreads_and(int predicate);
__device__ int __syncthreads_or(int predicate);
__device__ void __syncwarp(unsigned mask = 0xffffffffu);
__device__ void __threadfence_block();
__device__ void __threadfence();
__device__ void __threadfence_system();

__device__ unsigned __activemask();
__device__ unsigned __ballot_sync(unsigned mask, int predicate);
__device__ int __all_sync(unsigned mask, int predicate);
__device__ int __any_sync(unsigned mask, int predicate);

#define LNH_SHUFFLES(T)                                                                  \
  __device__ T __shfl_sync(unsigned mask, T value, int lane, int width = 32);            \
  __device__ T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32);   \
  __device__ T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32); \
  __device__ T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32);
LNH_SHUFFLES(int)
LNH_SHUFFLES(unsigned)
LNH_SHUFFLES(long)
LNH_SHUFFLES(unsigned long)
LNH_SHUFFLES(long long)
LNH_SHUFFLES(unsigned long long)
LNH_SHUFFLES(float)
LNH_SHUFFLES(double)
#undef LNH_SHUFFLES

// ---- memory ---------------------------------------------------------------------------------------------------------

extern "C" __device__ void* memcpy(void* to, const void* from, std::size_t bytes);
template <class T>
__device__ T __ldg(const T* pointer);
template <class T>
__device__ T __ldcs(const T* pointer);
template <class T>
__device__ void __stcs(T* pointer, T value);

#define LNH_ATOMICS(T)           \
  __device__ T atomicAdd(T*, T); \
  __device__ T atomicExch(T*, T);
#define LNH_INTEGER_ATOMICS(T)   \
  LNH_ATOMICS(T)                 \
  __device__ T atomicMin(T*, T); \
  __device__ T atomicMax(T*, T); \
  __device__ T atomicAnd(T*, T); \
  __device__ T atomicOr(T*, T);  \
  __device__ T atomicXor(T*, T); \
  __device__ T atomicCAS(T*, T, T);
LNH_INTEGER_ATOMICS(int)
LNH_INTEGER_ATOMICS(unsigned)
LNH_INTEGER_ATOMICS(unsigned long long)
LNH_ATOMICS(float)
__device__ double atomicAdd(double*, double);
#undef LNH_INTEGER_ATOMICS
#undef LNH_ATOMICS

// ---- arithmetic -----------------------------------------------------------------------------------------------------

// As in CUDA, a name is known with its suffix, by overload, and in std.
#define LNH_UNARY(name)            \
  __device__ float name##f(float); \
  __device__ float name(float);    \
  __device__ double name(double);  \
  namespace std {                  \
  __device__ float name(float);    \
  __device__ double name(double);  \
  }
LNH_UNARY(sqrt)
LNH_UNARY(cbrt)
LNH_UNARY(exp)
LNH_UNARY(exp2)
LNH_UNARY(expm1)
LNH_UNARY(log)
LNH_UNARY(log2)
LNH_UNARY(log1p)
LNH_UNARY(sin)
LNH_UNARY(cos)
LNH_UNARY(tanh)
LNH_UNARY(erf)
LNH_UNARY(fabs)
LNH_UNARY(floor)
LNH_UNARY(ceil)
LNH_UNARY(round)
LNH_UNARY(rint)
LNH_UNARY(trunc)
#undef LNH_UNARY
#define LNH_BINARY(name)                  \
  __device__ float name##f(float, float); \
  __device__ float name(float, float);    \
  __device__ double name(double, double); \
  namespace std {                         \
  __device__ float name(float, float);    \
  __device__ double name(double, double); \
  }
LNH_BINARY(fmax)
LNH_BINARY(fmin)
LNH_BINARY(fmod)
LNH_BINARY(pow)
LNH_BINARY(hypot)
LNH_BINARY(copysign)
#undef LNH_BINARY
#define LNH_CLASSIFY(name)      \
  __device__ bool name(float);  \
  __device__ bool name(double); \
  namespace std {               \
  __device__ bool name(float);  \
  __device__ bool name(double); \
  }
LNH_CLASSIFY(isnan)
LNH_CLASSIFY(isinf)
LNH_CLASSIFY(isfinite)
LNH_CLASSIFY(signbit)
#undef LNH_CLASSIFY
__device__ float rsqrtf(float);
__device__ double rsqrt(double);
__device__ float fmaf(float, float, float);
__device__ double fma(double, double, double);
__device__ int abs(int);
#define LNH_MIN_MAX(T)    \
  __device__ T min(T, T); \
  __device__ T max(T, T);
LNH_MIN_MAX(int)
LNH_MIN_MAX(unsigned)
LNH_MIN_MAX(long)
LNH_MIN_MAX(unsigned long)
LNH_MIN_MAX(long long)
LNH_MIN_MAX(unsigned long long)
LNH_MIN_MAX(float)
LNH_MIN_MAX(double)
#undef LNH_MIN_MAX

__device__ float __expf(float);
__device__ float __logf(float);
__device__ float __fdividef(float, float);
__device__ float __frsqrt_rn(float);
__device__ float __frcp_rn(float);
__device__ float __fsqrt_rn(float);
__device__ float __fadd_rn(float, float);
__device__ float __fsub_rn(float, float);
__device__ float __fmul_rn(float, float);
__device__ float __fdiv_rn(float, float);
__device__ float __fmaf_rn(float, float, float);
__device__ int __float_as_int(float);
__device__ float __int_as_float(int);
__device__ unsigned __float_as_uint(float);
__device__ float __uint_as_float(unsigned);
__device__ int __popc(unsigned);
__device__ int __clz(int);
__device__ int __ffs(int);
__device__ unsigned __brev(unsigned);

// ---- printf and assert in kernels -----------------------------------------------------------------------------------

extern "C" __device__ int printf(const char* format, ...);
extern "C" __device__ void __assert_fail(const char* assertion, const char* file, unsigned line, const char* function)
    __attribute__((noreturn));
