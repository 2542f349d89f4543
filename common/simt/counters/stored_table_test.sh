#!/bin/sh
# stored_table_test.sh COUNTER_KERNELS RESULTS
#
# The executor still counts what it counted when a GPU confirmed it: made again from RESULTS/ncu.csv and the executor's
# counts of today, the table is the stored one.
here=$(cd "$(dirname "$0")" && pwd)
executor=$(mktemp)
trap 'rm -f "$executor"' EXIT

"$1" > "$executor" || exit 1
if ! awk -f "$here/counters.awk" "$executor" "$2/ncu.csv" "$here/notes.md" | diff - "$2/counters.md"; then
  echo "$2/counters.md differs from what the executor counts now (< now, > stored). If the executor or the notes are right, make the table again as README.md in common/simt/counters says; if a kernel changed, run compare.sh on the GPU again."
  exit 1
fi
