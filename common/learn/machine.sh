# What the course needs of a machine, and what this machine has. Sourced by ./learn.
# shellcheck shell=sh

# The compiler that CMake will take.
compiler() {
  for candidate in ${CXX:-} c++ g++ clang++; do
    command -v "$candidate" && return 0
  done
  return 1
}

cmake_is_new_enough() {
  # shellcheck disable=SC2046  # two words: major and minor
  set -- $(cmake --version | sed -n '1s/[^0-9]*\([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  [ "$1" -gt 3 ] || { [ "$1" -eq 3 ] && [ "$2" -ge 25 ]; }
}

# The libraries, each by its Debian package and a header of it.
libraries='libboost-context-dev boost/context/fiber.hpp
doctest-dev doctest/doctest.h
libbenchmark-dev benchmark/benchmark.h
libfmt-dev fmt/core.h
libcli11-dev CLI/CLI.hpp
nlohmann-json3-dev nlohmann/json.hpp'

# The packages whose header the compiler does not find; without a compiler, all of them.
missing_libraries() {
  if cxx=$(compiler); then
    printf '%s\n' "$libraries" | while read -r package header; do
      printf '#if !__has_include(<%s>)\nmissing %s\n#endif\n' "$header" "$package"
    done | "$cxx" -E -P -x c++ - | sed -n 's/^missing *//p'
  else
    printf '%s\n' "$libraries" | cut -d ' ' -f 1
  fi
}

# The Debian packages that ./learn tour and ./learn test need and this machine lacks, one a line.
missing_packages() {
  compiler >/dev/null || echo g++
  command -v cmake >/dev/null || echo cmake
  command -v ninja >/dev/null || echo ninja-build
  missing_libraries
}

find_nvcc() { command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null; }

# line STATE NAME TEXT
line() { printf '  %-8s %-25s %s\n' "$1" "$2" "$3"; }

# optional NAME VERSION-OR-EMPTY USE REMEDY
optional() {
  if [ -n "$2" ]; then line ok "$1" "$2"; else line '-' "$1" "$3; to have it: $4"; fi
}

first_line() { "$@" 2>/dev/null | sed -n 1p; }

doctor() {
  printf 'This machine: %s cores, %s\n' "$(nproc)" "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
  problems=0

  printf '\nNeeded by ./learn tour and ./learn test\n'
  if cxx=$(compiler); then line ok 'C++ compiler' "$(first_line "$cxx" --version)"; else line MISSING 'C++ compiler' 'apt install g++'; fi
  if ! command -v cmake >/dev/null; then
    line MISSING CMake 'apt install cmake'
  elif cmake_is_new_enough; then
    line ok CMake "$(first_line cmake --version)"
  else
    line 'TOO OLD' CMake "$(first_line cmake --version); 3.25 or newer: https://cmake.org/download"
    problems=1
  fi
  if command -v ninja >/dev/null; then line ok Ninja "$(ninja --version)"; else line MISSING Ninja 'apt install ninja-build'; fi
  missing=" $(missing_packages | tr '\n' ' ')"
  printf '%s\n' "$libraries" | while read -r package header; do
    case $missing in
      *" $package "*) line MISSING "$header" "apt install $package" ;;
      *) line ok "$header" "" ;;
    esac
  done | sed 's/ *$//'
  [ "$missing" = ' ' ] || problems=1

  clang=$(command -v clang++ clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14 | sed -n 1p) || true
  nvcc=$(find_nvcc) || true
  printf '\nUsed where it is there\n'
  optional clang "${clang:+$(first_line "$clang" --version)}" 'without it kernels are not checked to be legal CUDA' 'apt install clang'
  optional addr2line "$(first_line addr2line --version)" 'without it findings name no file and line' 'apt install binutils'
  optional nvcc "${nvcc:+$(first_line sh -c "$nvcc --version | grep release")}" 'the CUDA Toolkit, 12.0 or newer, compiles the kernels for a GPU' \
    'https://developer.nvidia.com/cuda-downloads'
  optional GPU "$(first_line nvidia-smi -L | sed 's/ (UUID.*//')" 'everything runs on the CPU without one' 'a machine with an NVIDIA GPU and its driver'

  if [ "$problems" = 0 ]; then
    printf '\nNothing that is needed is missing.\n'
  else
    printf '\n./learn tour installs what is missing with apt. By hand: apt-get install%s\n' "$missing"
    return 3
  fi
}
