# One kernel source, two backends. LNH_BACKEND chooses which of them this build folder serves:
#   simt  g++ or clang++ compiles the kernels with access hooks; they run on the CPU under common/simt
#   cuda  nvcc compiles them; they run on a GPU
set(LNH_BACKEND simt CACHE STRING "Where kernels run: simt (CPU executor) or cuda (GPU)")
set_property(CACHE LNH_BACKEND PROPERTY STRINGS simt cuda)
if(NOT LNH_BACKEND MATCHES "^(simt|cuda)$")
  message(FATAL_ERROR "LNH_BACKEND is '${LNH_BACKEND}'; it must be simt or cuda")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# No -DNDEBUG anywhere: an assert in a kernel is part of its test.
# -g1: the lines and the inlined calls that findings name. Variables, which -O2 has moved anyway, would take a quarter of the
# compiler's time; a debugger that wants them builds with CMAKE_BUILD_TYPE=Debug.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
# With ccache and its CCACHE_BASEDIR all paths are relative to the build folder. If debug information does not say where that
# is, a copy of the course finds the objects of the first one in the cache.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fdebug-prefix-map=${PROJECT_BINARY_DIR}=.>)
endif()

# lnh_common: what all code of this project is compiled with.
add_library(lnh_common INTERFACE)
target_include_directories(lnh_common INTERFACE ${PROJECT_SOURCE_DIR}/common)
target_compile_options(lnh_common INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-unknown-pragmas>")
target_compile_definitions(lnh_common INTERFACE LNH_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  $<$<STREQUAL:${LNH_BACKEND},cuda>:LNH_CUDA>)

# lnh_kernels: what every target that compiles kernels links. It carries the language, the flags and the runtime.
add_library(lnh_kernels INTERFACE)
target_link_libraries(lnh_kernels INTERFACE lnh_common)

if(LNH_BACKEND STREQUAL "cuda")
  # The one place that chooses architectures: the card in this machine, else all that the toolkit knows.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    find_program(LNH_NVIDIA_SMI nvidia-smi)
    set(gpu_found 1)
    if(LNH_NVIDIA_SMI)
      execute_process(COMMAND ${LNH_NVIDIA_SMI} -L RESULT_VARIABLE gpu_found OUTPUT_QUIET ERROR_QUIET)
    endif()
    if(gpu_found EQUAL 0)
      set(CMAKE_CUDA_ARCHITECTURES native)
    else()
      set(CMAKE_CUDA_ARCHITECTURES all-major)
    endif()
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit 12.0 REQUIRED)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  # CMake 3.25 does not know yet that nvcc 12 and later speak C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O2 -g -lineinfo")
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # for libcourse_kernels.so
  target_link_libraries(lnh_kernels INTERFACE CUDA::cudart_static)
else()
  # Access hooks (common/simt/README.md says why each flag is here). The sanitizer's own runtime is never
  # linked: common/simt defines the hooks.
  target_compile_options(lnh_kernels INTERFACE
    -fsanitize=thread                     # a call before every load and store
    -fno-strict-aliasing                  # float4 through reinterpret_cast, uint4 read back as bf16
    -ffp-contract=off                     # an FMA only where the source says fmaf
    -fstack-clash-protection              # a local array larger than the guard of a thread's stack is found, too
    -gdwarf-4                             # addr2line of binutils 2.40 takes a .cuh for its .cu in g++'s DWARF 5
    $<$<CONFIG:RelWithDebInfo>:-g1>       # which -gdwarf-4 has made -g2
    -include ${PROJECT_SOURCE_DIR}/common/simt/cuda.h   # what nvcc includes by itself
    $<$<CXX_COMPILER_ID:GNU>:-fno-tree-sra>             # a float4 stays one 16-byte access
    $<$<CXX_COMPILER_ID:GNU>:-fsanitize=alignment>      # a call where a pointer is not aligned as its type asks
    "$<$<CXX_COMPILER_ID:Clang>:-fno-vectorize;-fno-slp-vectorize;-fno-unroll-loops;-fno-builtin-memset;-fno-builtin-memcpy;SHELL:-mllvm -tsan-instrument-read-before-write=1>")
  target_link_libraries(lnh_kernels INTERFACE simt)
endif()

# lnh_kernel_sources(target): the target's .cu files, compiled by nvcc for cuda and as C++ for simt.
function(lnh_kernel_sources target)
  if(LNH_BACKEND STREQUAL "simt")
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cu$")
    set_source_files_properties(${sources} TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CXX)
  endif()
endfunction()
