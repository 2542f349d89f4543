#!/bin/bash
# gpu_run.sh BUILD OUT
#
# The evidence of a run on a GPU. BUILD is a build folder of the cuda preset. Runs every test of it but the reader's own
# exercises, then every benchmark, and writes to the folder OUT:
#
#   run.log                 card, driver, toolkit, date and commit; all output of the tests and the benchmarks' tables; a summary
#   NAME.json               the benchmarks of program NAME, in Google Benchmark's format
#   pytorch_backward.json   the times of PyTorch's backward, where python3 has a PyTorch that finds the GPU
#   atomic.txt              what 07_backward_atomic_example prints
#
# LNH_COMMIT names the commit where there is no git. Exit code: 0 all passed, 1 something failed, 2 wrong use.
set -u

if [ $# -ne 2 ] || [ ! -f "$1/CTestTestfile.cmake" ]; then
  echo "gpu_run.sh takes a build folder of the cuda preset and a folder for the results. Write: $0 build/cuda docs/results/CARD" >&2
  exit 2
fi
if ! nvidia-smi -L > /dev/null 2>&1; then
  echo "gpu_run.sh needs a GPU, and nvidia-smi finds none here." >&2
  exit 2
fi

source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$2"
build=$(cd "$1" && pwd)
out=$(cd "$2" && pwd)
log=$out/run.log
LNH_COMMIT=${LNH_COMMIT:-$(git -C "$source" describe --always --dirty 2> /dev/null || echo unknown)}
export LNH_COMMIT

# Where this machine keeps its folders is nobody's business.
without_paths() { sed -E -e "s#$build#BUILD#g" -e "s#$source#.#g" -e 's#([ "=])/[^ "=]*/(cmake|clang[^ "/]*)([ "]|$)#\1\2\3#g'; }
nvcc=$(sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")

machine() {
  echo "card     $(nvidia-smi --query-gpu=name --format=csv,noheader -i 0)"
  echo "driver   $(nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0)"
  echo "toolkit  $("$nvcc" --version | sed -n 's/.*release \([0-9.]*\), \(V[0-9.]*\).*/CUDA \1 (\2)/p')"
  echo "date     $(date -u +%Y-%m-%dT%H:%M:%SZ)"
  echo "commit   $LNH_COMMIT"
  echo
}
machine > "$log"

ctest --test-dir "$build" -LE '^exercise$' --verbose 2>&1 | without_paths >> "$log"
results=$(grep -E '^ *[0-9]+/[0-9]+ Test +#' "$log")
passed=$(printf '%s\n' "$results" | grep -c ' Passed ')
skipped=$(printf '%s\n' "$results" | grep -c '\*\*\*Skipped')
failed=$(printf '%s\n' "$results" | grep -c '\*\*\*')
failed=$((failed - skipped))

measured=0
unmeasured=0
for program in "$build"/chapters/*_benchmark; do
  name=$(basename "$program")
  case $name in *_exercise_benchmark) continue ;; esac
  printf '\n%s\n' "$name" >> "$log"
  if "$program" --benchmark_out="$out/$name.json" --benchmark_out_format=json >> "$log" 2>&1; then
    measured=$((measured + 1))
  else
    unmeasured=$((unmeasured + 1))
  fi
  if [ -f "$out/$name.json" ]; then
    sed -i -e '/"host_name":/d' -e '/"executable":/d' "$out/$name.json"
  fi
done

printf '\npytorch_backward\n' >> "$log"
peer='peer not measured'
if command -v python3 > /dev/null; then
  python3 "$source/common/benchmark/pytorch_backward.py" --out "$out/pytorch_backward.json" 2>&1 | without_paths >> "$log"
  case ${PIPESTATUS[0]} in
    0) peer='peer measured' ;;
    77) ;;
    *)
      peer='peer failed'
      unmeasured=$((unmeasured + 1))
      ;;
  esac
else
  echo "There is no python3 here, so the peer was not measured." >> "$log"
fi

example=$build/chapters/07_backward_atomic_example
if [ -x "$example" ]; then
  { machine && "$example"; } > "$out/atomic.txt" 2>&1 || failed=$((failed + 1))
fi

summary="$passed tests passed, $failed failed, $skipped skipped; $measured benchmark programs measured, $unmeasured failed; $peer"
printf '\n%s\n' "$summary" | tee -a "$log"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ] && [ "$unmeasured" -eq 0 ] && [ "$measured" -gt 0 ]
