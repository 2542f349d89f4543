#!/bin/bash
# gpu_second_read.sh BUILD OUT
#
# Which memory answers the second read of x? Chapter 05's benchmark under Nsight Compute, on this machine's GPU: for block
# shapes and row lengths, the bytes that came from memory for each byte of x, and the share of the L1 cache's hits. BUILD is a
# build folder of the cuda preset. Writes OUT/second_read.md.
#
# Exit code: 0 measured, 1 no answer, 2 wrong use.
set -u

program=${1:-}/chapters/05_fused_layer_norm_benchmark
if [ $# -ne 2 ] || [ ! -x "$program" ]; then
  echo "gpu_second_read.sh takes a build folder of the cuda preset and a folder for the results. Write: $0 build/cuda docs/results/CARD" >&2
  exit 2
fi
for tool in nvidia-smi ncu; do
  if ! command -v "$tool" > /dev/null; then
    echo "gpu_second_read.sh needs $tool, and there is none here: it needs a GPU with Nsight Compute." >&2
    exit 2
  fi
done
mkdir -p "$2"
table=$2/second_read.md
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT
hits=l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct
memory=dram__bytes_read.sum

{
  echo "# Which memory answers the second read of x"
  echo
  echo "card: $(nvidia-smi --query-gpu=name --format=csv,noheader -i 0)  "
  echo "driver: $(nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0)  "
  echo "Nsight Compute: $(ncu --version | sed -n 's/^Version \([0-9.]*\).*/\1/p')"
  echo
  echo "The kernel of chapter 05 reads x twice. 1.0 bytes from memory for each byte of x: a cache answered the second read. 2.0: memory"
  echo "answered both. One launch each, with a cold L2 cache."
  echo
  echo "| shape T×R | columns | elements per thread | bytes from memory per byte of x | hits in L1, % |"
  echo "|---|---|---|---|---|"
} > "$table"

measured=0
# measure SHAPE THREADS COLUMNS…
measure() {
  local shape=$1 threads=$2 cols filter rows line
  shift 2
  for cols in "$@"; do
    filter="shape $shape/.*cols:$cols/cold"
    rows=$("$program" --benchmark_list_tests --benchmark_filter="$filter" | sed -n 's/.*rows:\([0-9]*\).*/\1/p')
    # The warm-ups go by, then one launch is counted; ncu empties the caches before it.
    ncu --clock-control none --cache-control all --kernel-name regex:layer_norm_kernel --launch-skip 4 --launch-count 1 \
      --csv --print-units base --metrics "$hits,$memory" "$program" --benchmark_filter="$filter" > "$raw" 2>&1
    line=$(awk -F'","' -v shape="$shape" -v cols="$cols" -v threads="$threads" -v x_bytes="$((${rows:-0} * cols * 4))" '
      { value = $NF; gsub(/[",]/, "", value) }
      /dram__bytes_read/ { bytes = value }
      /hit_rate/ { hits = value }
      END { if (bytes > 0) printf "| %s | %d | %d | %.2f | %.0f |", shape, cols, cols / threads, bytes / x_bytes, hits }' "$raw")
    if [ -n "$line" ]; then
      echo "$line" >> "$table"
      measured=$((measured + 1))
    else
      tail -n 3 "$raw" >&2
    fi
  done
}
measure '32×16' 32 256 1024
measure '64×4' 64 1024 4096
measure '256×1' 256 4096 8192
measure '512×1' 512 8192 16384
measure '1024×1' 1024 16384 65536
[ "$measured" -gt 0 ]
