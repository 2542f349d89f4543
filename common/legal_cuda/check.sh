#!/bin/sh
# check.sh [--stamp STAMP] FILE
#
# Is this kernel file legal CUDA? clang reads it as CUDA, once for the GPU and once for the host, with the declarations
# in include/ instead of a CUDA Toolkit. The CPU executor cannot tell: for it, __device__ is an empty word.
#
# --stamp: touch STAMP when the file is legal, and write what it includes to STAMP.d, as a build wants it.
# CLANG names the compiler; without it the first of clang++, clang++-21 … clang++-14 is taken.
#
# Exit code: 0 legal, 1 not legal (clang's words and a remedy are printed), 2 wrong use, 77 clang is not installed.
here=$(cd "$(dirname "$0")" && pwd)
common=$(dirname "$here")

stamp=
if [ "$1" = --stamp ]; then
  stamp=$2
  shift 2
fi
file=$1
if [ $# -ne 1 ] || [ ! -r "$file" ]; then
  echo "check.sh takes one kernel file that can be read, and was given: '$*'. Write: $0 [--stamp STAMP] FILE" >&2
  exit 2
fi

for candidate in "${CLANG:-clang++}" clang++ clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14; do
  clang=$(command -v "$candidate") && break
done
if [ -z "$clang" ]; then
  echo "clang++ is not installed, so this kernel was not checked to be legal CUDA. Install it (Debian, Ubuntu: apt install clang)." >&2
  exit 77
fi

# An exercise and its solution may include the kernel of their chapter, which lies in the folder of the same name.
chapter=$common/../chapters/$(basename "$(dirname "$file")")

# -nobuiltininc, and the compiler's own headers by hand: without clang's CUDA wrappers, which make std::max a device
# function. -fno-cuda-host-device-constexpr for the same reason: nvcc refuses both.
read_as_cuda() {
  "$clang" -x cuda "$@" -fsyntax-only -ferror-limit=5 -std=c++20 --cuda-gpu-arch=sm_70 --cuda-path=/nonexistent -nocudainc -nocudalib \
    -nobuiltininc -isystem "$("$clang" -print-resource-dir)/include" -Xclang -fno-cuda-host-device-constexpr \
    -Wno-unknown-cuda-version -Wno-pragma-once-outside-header -Wno-unused-command-line-argument \
    -D__CUDACC__ -DLNH_CUDA -isystem "$here/include" -include "$here/include/cuda_runtime.h" \
    -I "$common" -I "$chapter" "$file"
}

depfile=${stamp:+-MD -MF $stamp.d -MT $stamp}
# shellcheck disable=SC2086  # depfile is no word or six
if words=$(read_as_cuda --cuda-device-only $depfile 2>&1 && read_as_cuda --cuda-host-only 2>&1); then
  if [ -n "$stamp" ]; then touch "$stamp"; fi
  exit 0
fi

said() { printf '%s\n' "$words" | grep -q -e "$1"; }
printf '%s\n\n%s is not legal CUDA: nvcc would refuse it or mean something else by it.\n' "$words" "$file"
if said 'not supported for __shared__'; then
  echo "A __shared__ variable starts undefined. Declare it without a value and with a type that has no constructor, let threads write it, then call __syncthreads()."
fi
if said 'to __host__ \(function\|variable\)'; then
  echo "A kernel can use only what is on the GPU. Mark the function __device__ or the constant constexpr, or take CUDA's own: fmaxf instead of std::max."
fi
if said '\(in\|from\) __host__ function'; then
  echo "threadIdx, barriers and shuffles exist on the GPU alone. Mark the function that uses them __device__, or __global__ if it is the kernel."
fi
exit 1
