/// CUDA's vector types. Each is loaded and stored by one access of its whole size, as on a GPU: hence the union with a
/// compiler vector and the copy through it. (A plain struct would be copied member by member: four requests, not one.)
#pragma once

#define SIMT_INLINE inline __attribute__((always_inline))

#define SIMT_VECTOR_2(NAME, TYPE)                                      \
  struct alignas(2 * sizeof(TYPE)) NAME {                              \
    typedef TYPE Whole __attribute__((vector_size(2 * sizeof(TYPE)))); \
    union {                                                            \
      struct {                                                         \
        TYPE x, y;                                                     \
      };                                                               \
      Whole whole;                                                     \
    };                                                                 \
    NAME() = default;                                                  \
    SIMT_INLINE NAME(TYPE x, TYPE y) : whole{x, y} {}                  \
    SIMT_INLINE NAME(const NAME& other) : whole(other.whole) {}        \
    SIMT_INLINE NAME& operator=(const NAME& other) {                   \
      whole = other.whole;                                             \
      return *this;                                                    \
    }                                                                  \
  };                                                                   \
  SIMT_INLINE NAME make_##NAME(TYPE x, TYPE y) { return NAME(x, y); }

#define SIMT_VECTOR_4(NAME, TYPE)                                           \
  struct alignas(4 * sizeof(TYPE)) NAME {                                   \
    typedef TYPE Whole __attribute__((vector_size(4 * sizeof(TYPE))));      \
    union {                                                                 \
      struct {                                                              \
        TYPE x, y, z, w;                                                    \
      };                                                                    \
      Whole whole;                                                          \
    };                                                                      \
    NAME() = default;                                                       \
    SIMT_INLINE NAME(TYPE x, TYPE y, TYPE z, TYPE w) : whole{x, y, z, w} {} \
    SIMT_INLINE NAME(const NAME& other) : whole(other.whole) {}             \
    SIMT_INLINE NAME& operator=(const NAME& other) {                        \
      whole = other.whole;                                                  \
      return *this;                                                         \
    }                                                                       \
  };                                                                        \
  SIMT_INLINE NAME make_##NAME(TYPE x, TYPE y, TYPE z, TYPE w) { return NAME(x, y, z, w); }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
SIMT_VECTOR_2(float2, float)
SIMT_VECTOR_2(int2, int)
SIMT_VECTOR_2(uint2, unsigned)
SIMT_VECTOR_2(double2, double)
SIMT_VECTOR_4(float4, float)
SIMT_VECTOR_4(int4, int)
SIMT_VECTOR_4(uint4, unsigned)
#pragma GCC diagnostic pop

#undef SIMT_VECTOR_2
#undef SIMT_VECTOR_4
