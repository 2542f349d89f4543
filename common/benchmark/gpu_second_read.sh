#!/bin/bash
# gpu_second_read.sh BUILD OUT
#
# Which memory answers the second read of x? Chapter 05's benchmark under Nsight Compute, on this machine's GPU: for its
# launcher, and for some shapes of a block, the bytes that came from the L2 cache and from memory for each byte of x, and
# the share of the L1 cache's hits. BUILD is a build folder of the cuda preset. Writes OUT/second_read.md.
#
# LNH_COMMIT names the commit where there is no git. Exit code: 0 all measured, 1 some gave no answer, 2 wrong use.
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
second_level=lts__t_sectors_srcunit_tex_op_read.sum # of 32 bytes, asked for by the L1 caches
memory=dram__bytes_read.sum

{
  echo "# Which memory answers the second read of x"
  echo
  echo "card: $(nvidia-smi --query-gpu=name --format=csv,noheader -i 0)  "
  echo "driver: $(nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0)  "
  echo "Nsight Compute: $(ncu --version | sed -n 's/^Version \([0-9.]*\).*/\1/p')  "
  echo "date: $(date -u +%Y-%m-%d)  "
  echo "commit: ${LNH_COMMIT:-$(git -C "$1" describe --always --dirty 2> /dev/null || echo unknown)}"
  echo
  echo "For each byte of x the kernel of chapter 05 loads four: x twice, γ and β once each. What the L1 cache does not have comes from the"
  echo "L2 cache, and what that does not have comes from memory. The column \"from memory\" is 1.0 if a cache answered the second read, and 2.0"
  echo "if memory answered both. One launch each, with a cold L2 cache. $(basename "$0") measures it."
  echo
  echo "| kernel | columns | elements a thread | from L2 per byte of x | from memory per byte of x | hits in L1, % |"
  echo "|---|---|---|---|---|---|"
} > "$table"

missing=0
# measure KERNEL COLUMNS…: launches of one kernel of the benchmark.
measure() {
  local kernel=$1 cols filter rows line
  shift
  for cols in "$@"; do
    filter="^$kernel/.*cols:$cols/cold"
    rows=$("$program" --grid=full --benchmark_list_tests --benchmark_filter="$filter" | sed -n 's/.*rows:\([0-9]*\).*/\1/p' | sort -n | tail -n 1)
    filter="^$kernel/rows:$rows/cols:$cols/cold"
    # The warm-ups go by, then one launch is counted; ncu empties the caches before it.
    ncu --clock-control none --cache-control all --kernel-name regex:layer_norm_kernel --launch-skip 4 --launch-count 1 \
      --csv --print-units base --metrics "$hits,$second_level,$memory" "$program" --grid=full --benchmark_filter="$filter" > "$raw" 2>&1
    line=$(awk -F'","' -v kernel="${kernel##*::}" -v cols="$cols" -v x_bytes="$((${rows:-0} * cols * 4))" '
      { value = $NF; gsub(/[",]/, "", value) }
      /dram__bytes_read/ { bytes = value; split($8, sides, /[(,]/); threads = sides[2] }
      /lts__t_sectors/ { sectors = value }
      /hit_rate/ { hits = value }
      END {
        if (bytes > 0 && sectors > 0 && threads > 0)
          printf "| `%s` | %d | %d | %.2f | %.2f | %.0f |", kernel, cols, cols / threads, 32 * sectors / x_bytes, bytes / x_bytes, hits
      }' "$raw")
    if [ -n "$line" ]; then
      echo "$line" >> "$table"
    else
      echo "$kernel on $cols columns gave no answer:" >&2
      tail -n 3 "$raw" >&2
      missing=$((missing + 1))
    fi
  done
}
measure 'fused_layer_norm::layer_norm' 256 1024 4096 8192 16384 32768 65536
measure 'shape 32×16' 256 1024
measure 'shape 64×4' 1024 4096
measure 'shape 256×1' 4096 8192
measure 'shape 512×1' 8192 16384
[ "$missing" -eq 0 ]
