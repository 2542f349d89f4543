#!/usr/bin/env bash
# ./learn as a reader uses it, on a copy of the course: a build that is interrupted, an exercise that is not written, one that
# does not compile, and in the end every exercise solved. Takes minutes: it builds the whole course.
#
# usage: reader_test.sh SOURCE_FOLDER
set -euo pipefail

source_folder=$1
# Below the course, so that ccache may know what is compiled from .ci/run's own build.
mkdir -p "$source_folder/build"
work=$(mktemp -d "$source_folder/build/reader.XXXXXX")
trap 'rm -rf "$work"' EXIT
course=$work/course
mkdir "$course"
tar -C "$source_folder" --exclude=./build --exclude=./.git --exclude=./compile_commands.json -cf - . | tar -C "$course" -xf -
# From somewhere else, as a reader may.
cd /

failed=0
fail() {
  echo "FAILED: $*"
  failed=1
}
# expect EXIT_CODE TEXT COMMAND…: the command ends with this code and says this on the way.
expect() {
  local code=$1 text=$2 got=0 said
  shift 2
  printf '%s\n' "$*"
  said=$("$@" 2>&1 </dev/null) || got=$?
  if [ "$got" != "$code" ] || [[ $said != *"$text"* ]]; then
    fail "expected exit code $code and the words: $text"
    printf 'got exit code %s and: %s\n' "$got" "$said"
  fi
}
learn=$course/learn

# Without the legal-CUDA gate: it reads the same files in the build that this test belongs to.
(cd "$course" && cmake --preset simt -D LNH_CLANG=OFF >/dev/null)

# An interrupted build: the same command simply goes on.
setsid "$learn" list >/dev/null 2>&1 &
building=$!
until compgen -G "$course/build/simt/common/*/CMakeFiles/*/*.o" >/dev/null || ! kill -0 "$building" 2>/dev/null; do sleep 0.2; done
kill -KILL -- "-$building" 2>/dev/null || fail "the build was over before it could be interrupted"
wait "$building" 2>/dev/null || true
expect 0 '01.1' "$learn" list
expect 2 'There is no chapter 99' "$learn" check 99.9

# The reader's exercises start as their stubs, whatever stands in the folder that was copied.
"$learn" sync --exercises >/dev/null 2>&1
expect 1 'YOUR CODE is not written yet' "$learn" check 01.1

exercise=$course/exercises/01_three_pass/1_three_passes.cuh
# What a kernel prints is shown, and hides no failure.
sed -i 's|^ *// TODO: .*|printf("row %d\\n", static_cast<int>(row));|' "$exercise"
expect 1 'YOUR CODE printed:' "$learn" check 01.1
expect 1 'TEST CASE:  YOUR CODE' "$learn" check 01.1
"$learn" sync --exercises >/dev/null 2>&1

# A fault is found where the reader wrote it.
sed -i 's|// TODO.*|args.y[args.rows * args.cols] = 0;|' "$exercise"
expect 1 "write outside of buffer 'y'
    at exercises/01_three_pass/1_three_passes.cuh:$(grep -n 'args.y\[' "$exercise" | cut -d: -f1) in" "$learn" check 01.1

echo 'int typing_error = ;' >>"$exercise"
expect 1 'exercises/01_three_pass/1_three_passes.cuh:' "$learn" check 01.1
expect 1 'YOUR CODE does not compile' "$learn" check 01.1
rm "$exercise"
expect 2 'is missing' "$learn" check 01.1

# Every exercise solved: each check passes, the course's own tests do not care, and sync leaves the reader's files alone.
for solution in "$course"/solutions/*/*.cuh; do
  cp "$solution" "$course/exercises/${solution#"$course/solutions/"}"
done
for solution in "$course"/solutions/*/*.cuh; do
  chapter=$(basename "$(dirname "$solution")")
  number=$(basename "$solution")
  expect 0 'YOUR CODE passes' "$learn" check "${chapter%%_*}.${number%%_*}"
done
# Seeds: every order passes; a launcher that does nothing in the order of seed 2 is caught there, and the command shows it again.
expect 0 'in the fixed order of lanes and warps and in 2 others' "$learn" check 01.2 --seeds 2
expect 0 '"passes": true' "$learn" profile 01.1 --json
cp "$exercise" "$work"
sed -i -e '1i #include <cstdlib>' \
  -e 's|^ *check(args.*|&\n  if (const char* seed = std::getenv("SIMT_SEED"); seed != nullptr \&\& std::atoi(seed) == 2) return;|' "$exercise"
expect 1 './learn check 01.1 --seed 2' "$learn" check 01.1 --seeds 3
expect 1 'with lanes and warps in the order of seed 2' "$learn" check 01.1 --seed 2
expect 0 'with lanes and warps in the order of seed 1' "$learn" check 01.1 --seed 1
cp "$work/$(basename "$exercise")" "$exercise"
cp -r "$course/exercises" "$course/README.md" "$course/docs" "$work"
expect 0 'Everything generated is as its source says.' "$learn" sync
for kept in exercises README.md docs; do
  diff -r "$work/$kept" "$course/$kept" || fail "./learn sync changed $kept after every exercise was solved"
done
expect 0 ' passed, 0 failed, ' "$learn" test

exit "$failed"
