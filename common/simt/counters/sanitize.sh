#!/bin/sh
# sanitize.sh BUILD_CUDA EXECUTOR_FINDINGS OUT
#
# Does compute-sanitizer find on this machine's GPU what the executor finds? BUILD_CUDA is a build folder of the cuda
# preset; EXECUTOR_FINDINGS is what planted_faults --findings of the simt preset prints. Writes to the folder OUT:
#
#   sanitizer.md    a line for each planted fault: what the executor says, what compute-sanitizer says, is the twin clean
#   sanitizer.log   everything that compute-sanitizer said
#
# Exit code: 0 it finds all that it can find and nothing in the twins, 1 not so, 2 wrong use.
set -u

program=${1:-}/common/simt/counters/planted_faults
if [ $# -ne 3 ] || [ ! -x "$program" ] || [ ! -f "$2" ]; then
  echo "sanitize.sh takes a build folder of the cuda preset, the executor's findings and a folder for the results. Write: build/simt/common/simt/counters/planted_faults --findings > findings.tsv; $0 build/cuda findings.tsv docs/results/CARD" >&2
  exit 2
fi
if ! command -v compute-sanitizer > /dev/null; then
  echo "sanitize.sh needs compute-sanitizer, and there is none here. It comes with the CUDA Toolkit." >&2
  exit 2
fi
executor=$2
mkdir -p "$3"
table=$3/sanitizer.md
log=$3/sanitizer.log
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT
: > "$log"
tab=$(printf '\t')

# sanitize TOOL NAME: sets found to the tool's first finding, to nothing if it has none, or to "no answer".
sanitize() {
  timeout -k 5 30 compute-sanitizer --tool "$1" --show-backtrace no "$program" "$2" > "$raw" 2>&1
  status=$?
  { printf '\n%s %s\n' "$1" "$2"; sed "s#$program#planted_faults#g" "$raw"; echo "exit code $status"; } >> "$log"
  found=$(grep -E 'Invalid __|Race reported|hazard detected|Uninitialized __|Barrier error' "$raw" | head -n 1 |
    sed -e 's/^=* *//' -e 's/^Error: //' -e 's/ at .*//')
  if [ -z "$found" ] && ! grep -q 'SUMMARY: 0 ' "$raw"; then found="no answer"; fi
}

{
  echo "# The executor's findings beside compute-sanitizer's"
  echo
  echo "card: $(nvidia-smi --query-gpu=name --format=csv,noheader -i 0)  "
  echo "driver: $(nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0)  "
  echo "compute-sanitizer: $(compute-sanitizer --version | sed -n 's/.*[Vv]ersion \([0-9.]*\).*/\1/p' | head -n 1)"
  echo
  echo "| fault | what it is | executor | compute-sanitizer | twin |"
  echo "|---|---|---|---|---|"
} > "$table"

faults=0
both=0
unmet=0
list=$("$program" --list)
while IFS=$tab read -r name _ tool what limit; do
  faults=$((faults + 1))
  sanitize "$tool" "$name"
  finding=$found
  sanitize "$tool" "${name}_ok"
  twin=${found:-clean}
  [ -z "$found" ] || unmet=$((unmet + 1))
  if [ "$finding" = "no answer" ]; then
    unmet=$((unmet + 1))
    says="**$tool gives no answer**"
  elif [ -n "$finding" ]; then
    both=$((both + 1))
    says="$tool: $finding"
  elif [ "$limit" = - ]; then
    unmet=$((unmet + 1))
    says="**$tool finds nothing**"
  else
    says="nothing: $limit"
  fi
  echo "| $name | $what | $(sed -n "s/^$name$tab//p" "$executor" | sed "s/ 'allocation [0-9]*'//" | head -n 1) | $says | $twin |" >> "$table"
done << LIST
$list
LIST

{
  echo
  echo "compute-sanitizer finds $both of $faults faults; $unmet results are not as they should be."
} >> "$table"
tail -n 1 "$table"
[ "$faults" -gt 0 ] && [ "$unmet" -eq 0 ]
