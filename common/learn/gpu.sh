# ./learn's commands that need a GPU: bench, test --gpu, and the times that tour shows where there is one. Sourced by ./learn.
# shellcheck shell=sh

# shellcheck disable=SC2154  # root and command come from ./learn
gpu_is_here() { nvidia-smi -L >/dev/null 2>&1; }

# build_for_gpu TARGET…: with the compiler $nvcc; build/cuda.log holds its words.
build_for_gpu() {
  mkdir -p "$root/build/cuda"
  (
    cd "$root" || exit 1
    if needs_configuring cuda; then CUDACXX=$nvcc cmake --fresh --preset cuda || exit 1; fi
    cmake --build --preset cuda --target "$@"
  ) >"$root/build/cuda.log" 2>&1
}

# require_gpu INSTEAD: stops with a sentence where there is no GPU, or no nvcc for it; sets nvcc. INSTEAD: what can be done without.
require_gpu() {
  gpu_is_here || stop 77 "There is no GPU here, so $1"
  nvcc=$(find_nvcc) || stop 3 "There is a GPU here, but no nvcc to compile for it. ./learn doctor says where to get the CUDA Toolkit."
}

make_results_folder() {
  { mkdir -p "$out" && [ -w "$out" ]; } 2>/dev/null || stop 3 "The folder $out cannot be written. Name another one behind --out."
}

# The chapters' benchmark programs, and those of the solutions that have one; with a number, that chapter's alone.
benchmark_programs() {
  for source in "$root"/chapters/"${1:-}"*/benchmark.cu; do
    [ ! -f "$source" ] || echo "$(basename "$(dirname "$source")")_benchmark"
  done
}
solution_programs() {
  for source in "$root"/exercises/"${1:-}"*/*_benchmark.cu; do
    [ -f "$source" ] || continue
    number=$(basename "$(dirname "$source")") task=$(basename "$source")
    echo "${number%%_*}_${task%%_*}_solution_benchmark"
  done
}

# ./learn tour: prints the folder with the benchmarks' results; nothing, and why, where it cannot.
gpu_results() {
  gpu_is_here || return 0
  if ! nvcc=$(find_nvcc); then
    say "There is a GPU here, but no nvcc: the tour counts, and leaves out times. ./learn doctor says more."
    return 0
  fi
  say "There is a GPU here: building and running the chapters' benchmarks on it (cmake --preset cuda)."
  results=$root/build/cuda/tour
  mkdir -p "$results"
  programs=$(benchmark_programs)
  # shellcheck disable=SC2086  # programs is several words
  if ! build_for_gpu $programs; then
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

# ./learn bench [NN] [--quick] [--out DIR]
gpu_bench() {
  chapter='' grid=full out=$root/build/bench
  while [ $# -gt 0 ]; do
    case $1 in
      --quick) grid=quick ;;
      --out)
        [ $# -gt 1 ] || stop 2 "--out needs a folder: ./learn bench --out DIR"
        out=$2
        shift
        ;;
      --out=*) out=${1#--out=} ;;
      [0-9][0-9])
        [ -z "$chapter" ] || stop 2 "./learn bench takes one chapter, or none for all of them."
        chapter=$1
        ;;
      *) stop 2 "./learn bench takes the number of a chapter, as in ./learn bench 05, --quick and --out DIR, not '$1'." ;;
    esac
    shift
  done
  programs=$(benchmark_programs "$chapter")
  [ -n "$programs" ] || stop 2 "There is no chapter $chapter with a benchmark. ./learn list shows the chapters."
  solutions=$(solution_programs "$chapter")
  require_gpu "nothing can be timed. ./learn profile ${chapter:-05} shows what its kernels ask of memory."
  make_results_folder
  install_missing
  say "Building the benchmarks for the GPU (cmake --preset cuda)."
  # shellcheck disable=SC2086  # programs and solutions are several words
  build_for_gpu $programs $solutions || stop 1 "The cuda preset did not build; build/cuda.log says why."

  trap 'say "Interrupted. What was measured is kept in $out, and the same command goes on from there."; exit 130' INT
  failed=0
  for program in $programs $solutions; do
    say ""
    say "$program"
    # A solution stands beside its chapter's kernels in a few tables: the sizes of those are enough.
    case $program in *_solution_benchmark) sizes=chapter ;; *) sizes=$grid ;; esac
    "$root/build/cuda/chapters/$program" --grid=$sizes --results="$out/$program.json" || failed=1
  done
  say ""
  [ "$failed" = 0 ] || stop 1 "Some benchmarks failed; they are named above, and have no time in $out."
  say "Measured: $out/*.json. To look at it: ./learn chart forward --results $out"
}

# ./learn test --gpu [--out DIR]
gpu_test() {
  out=$root/build/gpu_test
  while [ $# -gt 0 ]; do
    case $1 in
      --gpu) ;;
      --out)
        [ $# -gt 1 ] || stop 2 "--out needs a folder: ./learn test --gpu --out DIR"
        out=$2
        shift
        ;;
      --out=*) out=${1#--out=} ;;
      *) stop 2 "./learn test --gpu takes --out DIR, not '$1'." ;;
    esac
    shift
  done
  require_gpu "no test can run on it. ./learn test runs the same tests on the CPU."
  make_results_folder
  install_missing
  say "Building the course for the GPU (cmake --preset cuda)."
  build_for_gpu all || stop 1 "The cuda preset did not build; build/cuda.log says why."
  exec "$root/common/benchmark/gpu_test.sh" "$root/build/cuda" "$out"
}
