#!/usr/bin/env bash
# How long ./learn watch takes from the save of a file to its verdict, for every exercise, with the reference as the reader's
# file: the median of SAVES saves (5), and how much of it the test itself took. Prints a table in Markdown, as it stands in
# docs/results/watch.md. Works on a copy of the course, which it builds first; that takes some minutes.
#
# usage: watch_benchmark.sh [SAVES]
set -euo pipefail

saves=${1:-5}
root=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")/../.." && pwd)
mkdir -p "$root/build"
work=$(mktemp -d "$root/build/watch.XXXXXX")
watching=
# shellcheck disable=SC2317  # called at the end
tidy_up() {
  [ -z "$watching" ] || kill "$watching" 2>/dev/null || true
  rm -rf "$work"
}
trap tidy_up EXIT
course=$work/course
mkdir "$course"
tar -C "$root" --exclude=./build --exclude=./.git --exclude=./compile_commands.json --exclude=./progress.txt -cf - . | tar -C "$course" -xf -
"$course/learn" list >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }

# verdicts N: watch has given that many since it was started.
verdicts() { [ "$(grep -c 'after the save' "$work/watched")" -ge "$1" ]; }
wait_for() {
  for _ in $(seq 1200); do
    "$@" && return 0
    sleep 0.1
  done
  echo "No verdict within two minutes:" >&2
  cat "$work/watched" >&2
  exit 1
}
is_watching() { grep -q '^Watching' "$work/watched"; }
median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

slowest=0
printf '%s cores, %s; clang reads the file as CUDA meanwhile: %s.\n\n' "$(nproc)" "$(c++ --version | sed -n 1p)" \
  "$(command -v clang++ >/dev/null && echo yes || echo no)"
printf '| exercise | save to verdict, s | of it the test, s |\n|---|---|---|\n'
for solution in "$course"/solutions/*/*.cuh; do
  exercise=$course/exercises/${solution#"$course/solutions/"}
  chapter=$(basename "$(dirname "$solution")")
  number=$(basename "$solution")
  id=${chapter%%_*}.${number%%_*}
  cp "$solution" "$exercise"
  "$course/learn" watch "$id" >"$work/watched" 2>&1 </dev/null &
  watching=$!
  wait_for is_watching
  for i in $(seq "$saves"); do
    echo "// saved $i times" >>"$exercise"
    wait_for verdicts "$i"
  done
  kill -INT "$watching"
  wait "$watching" || true
  watching=
  ! grep -q 'does not pass' "$work/watched" || { cat "$work/watched" >&2; exit 1; }
  verdict=$(sed -n 's/^Verdict \([0-9.]*\) s after the save.*/\1/p' "$work/watched" | median)
  test=$(sed -n 's/.*the test itself took \([0-9.]*\) s\..*/\1/p' "$work/watched" | median)
  printf '| %s | %s | %s |\n' "$id" "$verdict" "$test"
  slowest=$(printf '%s\n%s\n' "$slowest" "$verdict" | sort -n | tail -1)
done
printf '\nThe slowest: %s s.\n' "$slowest"
