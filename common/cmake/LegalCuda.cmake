# The legal-CUDA gate: clang reads each kernel file as CUDA in every build, with no CUDA Toolkit (common/legal_cuda).
include_guard(GLOBAL)
find_program(LNH_CLANG NAMES clang++ clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14)
if(NOT LNH_CLANG)
  message(STATUS "clang++ is not installed: the legal-CUDA gate is off, so a missing __device__ or an initialised "
    "__shared__ variable is not reported here. To turn it on, install clang (Debian, Ubuntu: apt install clang)")
endif()

# lnh_legal_cuda(target files…): the build fails if one of the kernel files is not legal CUDA. The files may be
# generated; what they include is tracked, so a second build reads only what changed.
function(lnh_legal_cuda target)
  if(NOT LNH_CLANG)
    return()
  endif()
  set(gate ${PROJECT_SOURCE_DIR}/common/legal_cuda)
  set(stamps "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file NORMALIZE)
    # stubs/… in the build folder, else the path in the source folder: a solution and its stub have the same file name
    string(REPLACE "${PROJECT_BINARY_DIR}/" "" name ${file})
    string(REPLACE "${PROJECT_SOURCE_DIR}/" "" name ${name})
    set(stamp ${PROJECT_BINARY_DIR}/legal_cuda/${name}.stamp)
    get_filename_component(folder ${stamp} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${stamp}
      COMMAND ${CMAKE_COMMAND} -E env CLANG=${LNH_CLANG} ${gate}/check.sh --stamp ${stamp} ${file}
      DEPENDS ${file} ${gate}/check.sh
      DEPFILE ${stamp}.d
      COMMENT "Reading ${name} as CUDA" VERBATIM)
    list(APPEND stamps ${stamp})
  endforeach()
  add_custom_target(${target} ALL DEPENDS ${stamps})
endfunction()
