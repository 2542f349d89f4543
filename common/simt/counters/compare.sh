#!/bin/sh
# compare.sh BUILD_CUDA EXECUTOR_CSV OUT
#
# The executor's counts beside the counters of the GPU of this machine. BUILD_CUDA is a build folder of the cuda preset;
# EXECUTOR_CSV is what counter_kernels of the simt preset prints. Needs Nsight Compute (ncu) and the right to read the
# GPU's counters. Writes to the folder OUT:
#
#   ncu.csv       card, driver, profiler, date and commit; each launch's counters
#   counters.md   the table (counters.awk), with notes.md
#
# LNH_COMMIT names the commit where there is no git. Exit code: 0 the table is made, 1 the profiler failed, 2 wrong use.
set -u

program=${1:-}/common/simt/counters/counter_kernels
if [ $# -ne 3 ] || [ ! -x "$program" ] || [ ! -f "$2" ]; then
  echo "compare.sh takes a build folder of the cuda preset, the executor's counts and a folder for the results. Write: build/simt/common/simt/counters/counter_kernels > executor.csv; $0 build/cuda executor.csv docs/results/CARD" >&2
  exit 2
fi
if ! command -v ncu > /dev/null; then
  echo "compare.sh needs Nsight Compute, and there is no ncu here. It comes with the CUDA Toolkit." >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$3"
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT

metrics=l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
metrics=$metrics,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
metrics=$metrics,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
# Not in the first table, but what explains it: instructions, and the wavefronts that conflicts added.
metrics=$metrics,smsp__inst_executed_op_shared_ld.sum,smsp__inst_executed_op_shared_st.sum
metrics=$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
metrics=$metrics,lts__t_sectors_op_read.sum,dram__bytes_read.sum

# The clocks stay as they are: no counter here depends on them.
if ! ncu --clock-control none --csv --print-units base --print-kernel-base function --metrics "$metrics" "$program" > "$raw" 2>&1; then
  cat "$raw" >&2
  echo "The profiler failed; its words are above. Where it may not read the counters, run as root or see https://developer.nvidia.com/ERR_NVGPUCTRPERM." >&2
  exit 1
fi

{
  echo "# card: $(nvidia-smi --query-gpu=name --format=csv,noheader -i 0)  "
  echo "# driver: $(nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0)  "
  echo "# profiler: Nsight Compute $(ncu --version | sed -n 's/^Version \([0-9.]*\).*/\1/p')  "
  echo "# date: $(date -u +%Y-%m-%dT%H:%M:%SZ)  "
  echo "# commit: ${LNH_COMMIT:-$(git -C "$here" describe --always --dirty 2> /dev/null || echo unknown)}"
  # Of the profiler's columns, those that say something about the kernel; the others are this machine's.
  awk -F'","' '
    /^"ID"/ { for (i = 1; i <= NF; ++i) { name = $i; gsub(/"/, "", name); column[name] = i } header = 1 }
    header && /^"/ {
      value = $column["Metric Value"]; gsub(/"/, "", value)
      id = $column["ID"]; gsub(/"/, "", id)
      printf "\"%s\",\"%s\",\"%s\",\"%s\",\"%s\"\n", id, $column["Kernel Name"], $column["Metric Name"], $column["Metric Unit"], value
    }' "$raw"
} > "$3/ncu.csv"

awk -f "$here/counters.awk" "$2" "$3/ncu.csv" "$here/notes.md" > "$3/counters.md" || exit 1
tail -n 1 "$3/counters.md"
