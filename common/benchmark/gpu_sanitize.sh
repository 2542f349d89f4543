#!/bin/bash
# gpu_sanitize.sh BUILD OUT [PROGRAM…]
#
# Every test program of the course, or these of them, under compute-sanitizer's four tools, on this machine's GPU. BUILD is
# a build folder of the cuda preset. Writes to the folder OUT:
#
#   compute_sanitizer.md    a line for each program: its errors by tool, and how many of its test cases ran
#   compute_sanitizer.log   the end of what each program and tool said, whole where there was an error
#
# Left out: the suites "long" and "large", the contract's row of 2³² elements, and the reports A01, D01 and D04. They need
# minutes or tens of gigabytes, and the sanitizer as much again. Left out, too: the examples, which launch the kernels of the tests
# hundreds of times over. Exit code: 0 no error, 1 errors, 2 wrong use.
set -u

if [ $# -lt 2 ] || [ ! -f "$1/CTestTestfile.cmake" ]; then
  echo "gpu_sanitize.sh takes a build folder of the cuda preset and a folder for the results. Write: $0 build/cuda docs/results/CARD" >&2
  exit 2
fi
for tool in nvidia-smi compute-sanitizer; do
  if ! command -v "$tool" > /dev/null; then
    echo "gpu_sanitize.sh needs $tool, and there is none here: it needs a GPU with the CUDA Toolkit." >&2
    exit 2
  fi
done

source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
tools='memcheck racecheck initcheck synccheck'
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
export raw

without_the_longest() { "$@" --test-suite-exclude=long,large --test-case-exclude='*2³¹*,A01*,D01*,D04*'; }

# sanitize TOOL PROGRAM PART: raw/NAME.TOOL.PART holds all that was said, and the exit code in the last line.
sanitize() {
  local said
  said=$raw/$(basename "$2").$1.$3
  without_the_longest timeout -k 5 500 compute-sanitizer --tool "$1" --error-exitcode 86 \
    "$2" --first=$((part_cases * ($3 - 1) + 1)) --last=$((part_cases * $3)) > "$said" 2>&1
  echo "exit code $?" >> "$said"
}
export -f without_the_longest sanitize

if [ $# -gt 2 ]; then
  programs=$(printf "$build/chapters/%s\n" "${@:3}")
else
  programs=$(ls "$build"/chapters/*_test "$build"/chapters/*_solution "$build"/common/device/device_*_test)
fi
# Most of a program's time is spent on the CPU, by the sanitizer: several of them share the GPU, each with some of the cases.
export part_cases=16
runs=()
# How many test cases of a program are run. (What doctest says of a part counts those of the other parts as well.)
cases_of() { without_the_longest "$1" --count | grep -o '[0-9]*$' | tail -n 1; }
for program in $programs; do
  for part in $(seq 1 $((($(cases_of "$program") + part_cases - 1) / part_cases))); do
    for tool in $tools; do runs+=("$tool" "$program" "$part"); done
  done
done
# shellcheck disable=SC2016  # the inner shell expands it
printf '%s %s %s\n' "${runs[@]}" | xargs -P "$(nproc)" -L 1 bash -c 'sanitize "$1" "$2" "$3"' sanitize

errors=0
declare -A errors_of=()
{
  echo "# The course's tests under compute-sanitizer"
  echo
  echo "card: $(nvidia-smi --query-gpu=name --format=csv,noheader -i 0)  "
  echo "driver: $(nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0)  "
  echo "compute-sanitizer: $(compute-sanitizer --version | sed -n 's/.*[Vv]ersion \([0-9.]*\).*/\1/p' | head -n 1)  "
  echo "commit: ${LNH_COMMIT:-$(git -C "$build" describe --always --dirty 2> /dev/null || echo unknown)}"
  echo
  echo "Errors that each tool found. \`$(basename "$0")\` says what is left out."
  echo
  echo "| program | test cases | ${tools// / | } |"
  echo "|---|---|---|---|---|---|"
} > "$out/compute_sanitizer.md"
: > "$out/compute_sanitizer.log"
for program in $programs; do
  name=$(basename "$program")
  row="| $name | $(cases_of "$program") |"
  for tool in $tools; do
    total=0
    for said in "$raw/$name.$tool".*; do
      # racecheck counts its hazards in words of its own.
      found=$(sed -n -e 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' -e 's/.*RACECHECK SUMMARY: \([0-9]*\) hazard.*/\1/p' "$said" | tail -n 1)
      lines=8
      if [ "$(tail -n 1 "$said")" != 'exit code 0' ] || [ "${found:-1}" != 0 ]; then
        total="$total + ${found:-no answer}, $(tail -n 1 "$said")"
        errors=$((errors + 1))
        errors_of[$tool]=$((${errors_of[$tool]:-0} + 1))
        lines=400
      fi
      { printf '\n%s %s\n' "$tool" "$(basename "$said")"; tail -n "$lines" "$said" | sed -e "s#$build#BUILD#g" -e "s#$source#.#g"; } >> "$out/compute_sanitizer.log"
    done
    row="$row $total |"
  done
  echo "$row" >> "$out/compute_sanitizer.md"
done
for tool in $tools; do echo "$tool: $((${#runs[@]} / 12)) runs, ${errors_of[$tool]:-0} with errors"; done
printf '\n%s\n' "$((${#runs[@]} / 3 - errors)) of $((${#runs[@]} / 3)) runs without an error." | tee -a "$out/compute_sanitizer.md"
[ "$errors" -eq 0 ]
