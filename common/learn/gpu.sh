# ./learn tour on a machine with a GPU: the chapters' benchmarks, measured with device events. Sourced by ./learn.
# shellcheck shell=sh

# shellcheck disable=SC2154  # root comes from ./learn
# Prints the folder with the benchmarks' JSON files; nothing, and why, where it cannot.
gpu_results() {
  nvidia-smi -L >/dev/null 2>&1 || return 0
  if ! nvcc=$(find_nvcc); then
    say "There is a GPU here, but no nvcc: the tour counts, and leaves out times. ./learn doctor says more."
    return 0
  fi
  say "There is a GPU here: building and running the chapters' benchmarks on it (cmake --preset cuda)."
  results=$root/build/cuda/tour
  programs=
  for source in "$root"/chapters/*/benchmark.cu; do
    programs="$programs $(basename "$(dirname "$source")")_benchmark"
  done
  build_benchmarks() {
    mkdir -p "$results" && cd "$root" || return 1
    if needs_configuring cuda; then CUDACXX=$nvcc cmake --fresh --preset cuda || return 1; fi
    # shellcheck disable=SC2086  # programs is several words
    cmake --build --preset cuda --target $programs
  }
  if ! build_benchmarks >"$root/build/cuda.log" 2>&1; then
    say "The cuda preset did not build, so the tour leaves out times; build/cuda.log says why."
    return 0
  fi
  for program in $programs; do
    if ! "$root/build/cuda/chapters/$program" --benchmark_filter='(count:[0-9]+|cols:4096)/cold_L2' \
      --benchmark_out="$results/$program.json" --benchmark_out_format=json >&2; then
      say "$program failed on this GPU; its words are above, and its times are left out."
      rm -f "$results/$program.json"
    fi
  done
  echo "$results"
}
