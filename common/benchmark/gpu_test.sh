#!/bin/bash
# gpu_test.sh BUILD OUT
#
# What ./learn test --gpu runs. BUILD is a build folder of the cuda preset, with everything in it built. Runs every test but
# the readers' own exercises, and then the tests under compute-sanitizer's four tools (gpu_sanitize.sh). Prints a line for each
# of the five, and last how many passed, failed and were skipped. Writes to the folder OUT:
#
#   run.log                     card, driver, toolkit, date and commit; all output of the tests; the summary
#   atomic.txt                  what 07_backward_atomic_example prints
#   compute_sanitizer.md, .log  what gpu_sanitize.sh says of them
#
# LNH_COMMIT names the commit where there is no git. Exit code: 0 all passed, 1 something failed, 2 wrong use.
set -u

if [ $# -ne 2 ] || [ ! -f "$1/CTestTestfile.cmake" ]; then
  echo "gpu_test.sh takes a build folder of the cuda preset and a folder for the results. Write: $0 build/cuda docs/results/CARD" >&2
  exit 2
fi
if ! nvidia-smi -L > /dev/null 2>&1; then
  echo "gpu_test.sh needs a GPU, and nvidia-smi finds none here." >&2
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
without_paths() { sed -E -e "s#$build#BUILD#g" -e "s#$source#.#g" -e 's#([ "=])/[^ "=]*/(cmake|clang[^ "/]*|python[0-9.]*)([ "]|$)#\1\2\3#g'; }
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

# Six at a time: most of a test's time goes by on the CPU. What found too little memory beside the others runs again, alone.
run_tests() { ctest --test-dir "$build" --verbose "$@" 2>&1 | without_paths; }
untested='^([0-9]+): .*MESSAGE: not tested on this machine'
run_tests -LE '^exercise$' --parallel 6 > "$out/tests.log"
alone=$(sed -nE "s#$untested.*#,\1#p" "$out/tests.log" | sort -u | tr -d '\n')
cat "$out/tests.log" >> "$log"
not_tested=0
if [ -n "$alone" ]; then
  printf '\nAgain, one at a time, what was not tested for want of memory:\n' >> "$log"
  run_tests -I "0,0,0$alone" > "$out/tests.log"
  not_tested=$(grep -cE "$untested" "$out/tests.log")
  cat "$out/tests.log" >> "$log"
fi
rm "$out/tests.log"
# A test's last result counts.
results=$(grep -E '^ *[0-9]+/[0-9]+ Test +#' "$log" | tac | sort -u -t '#' -k 2,2n)
passed=$(printf '%s\n' "$results" | grep -c ' Passed ')
skipped=$(printf '%s\n' "$results" | grep -c '\*\*\*Skipped')
failed=$(($(printf '%s\n' "$results" | grep -c '\*\*\*') - skipped))
without_memory=
[ "$not_tested" = 0 ] || without_memory="; $not_tested cases not tested for want of memory"
printf 'tests       %s programs passed, %s failed, %s skipped%s\n' "$passed" "$failed" "$skipped" "$without_memory" | tee -a "$log"
printf '%s\n' "$results" | grep '\*\*\*' | grep -v 'Skipped' | sed 's/^/  /'
[ "$passed" -gt 0 ] || failed=$((failed + 1))

example=$build/chapters/07_backward_atomic_example
if [ -x "$example" ]; then
  { machine && "$example"; } > "$out/atomic.txt" 2>&1 || failed=$((failed + 1))
fi

if ! command -v compute-sanitizer > /dev/null; then
  echo "sanitizer   skipped: there is no compute-sanitizer here; it comes with the CUDA Toolkit"
  skipped=$((skipped + 4))
else
  while read -r tool runs errors; do
    printf '%-11s %s runs, %s with errors\n' "$tool" "$runs" "$errors" | tee -a "$log"
    if [ "$errors" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done < <("$(dirname "$0")/gpu_sanitize.sh" "$build" "$out" | sed -n 's/^\([a-z]*check\): \([0-9]*\) runs, \([0-9]*\) with errors$/\1 \2 \3/p')
fi
printf '\n%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped" | tee -a "$log"
[ "$failed" -eq 0 ]
