#!/bin/sh
# ptx_test.sh NVCC: what nvcc makes of float4. The vector kernel must hold loads and stores of 128 bits, for each of its
# four loads and its store, and the scalar kernel none. 77, skipped, where there is no nvcc.
set -eu

if ! command -v "$1" > /dev/null; then
  echo "skipped: the kernels' PTX is read where nvcc is installed, and there is none here."
  exit 77
fi

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cat > "$work/kernels.cu" << EOF
#include "$here/fused_layer_norm.cuh"
template __global__ void fused_layer_norm::layer_norm_kernel<Access::vector>(LayerNormArgs);
template __global__ void fused_layer_norm::layer_norm_kernel<Access::scalar>(LayerNormArgs);
EOF
"$1" -ptx -std=c++20 -arch=sm_90 -DLNH_CUDA -I "$here/../../common" -o "$work/kernels.ptx" "$work/kernels.cu"

# accesses ENUMERATOR ld|st: how many accesses of 128 bits the kernel for that Access makes to global memory.
accesses() {
  sed -n "/\.entry .*layer_norm_kernelIL6Access$1E/,/^}/p" "$work/kernels.ptx" |
    grep -cE "\b$2\.global[.a-zA-Z0-9_:]*\.(v4\.[bfsu]32|v2\.[bfsu]64)" || true
}
vector_loads=$(accesses 1 ld)
vector_stores=$(accesses 1 st)
scalar_loads=$(accesses 0 ld)
scalar_stores=$(accesses 0 st)
echo "accesses of 128 bits: $vector_loads loads and $vector_stores stores in the vector kernel," \
  "$scalar_loads loads and $scalar_stores stores in the scalar kernel"

if [ "$vector_loads" -lt 4 ] || [ "$vector_stores" -lt 1 ]; then
  echo "nvcc does not make 128-bit accesses of load_four and store_four: look at common/device/vector.cuh."
  exit 1
fi
if [ "$scalar_loads" -ne 0 ] || [ "$scalar_stores" -ne 0 ]; then
  echo "the scalar kernel, which is there for misaligned addresses, makes 128-bit accesses: a GPU would stop at them."
  exit 1
fi
