/// Which backend this program was compiled for, and the runtime interface that goes with it.
#pragma once

#ifdef LNH_CUDA
#include <cuda_runtime_api.h>
#else
#include <simt/runtime_api.h>
#endif

namespace backend {

#ifdef LNH_CUDA
inline constexpr bool is_simt = false;
inline constexpr const char* name = "cuda";
#else
inline constexpr bool is_simt = true;
inline constexpr const char* name = "simt";
#endif

}  // namespace backend
