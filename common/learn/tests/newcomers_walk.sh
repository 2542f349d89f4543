#!/usr/bin/env bash
# A newcomer's walk through the course, on a copy of it: what somebody types who has just cloned it, the words and the exit code that
# each command answers with, and what happens when something goes wrong. It takes minutes, so it is two tests that run side by side:
# the first steps, with all that may go wrong in one exercise, and the way to the end, which solves all and builds the whole course.
#
# usage: newcomers_walk.sh SOURCE_FOLDER first_steps|to_the_end
set -euo pipefail

source_folder=$1 part=$2
# Below the course, so that ccache may know what is compiled from .ci/run's own build.
mkdir -p "$source_folder/build"
work=$(mktemp -d "$source_folder/build/walk.XXXXXX")
mounted=
watching=
# shellcheck disable=SC2317  # called at the end
tidy_up() {
  [ -z "$watching" ] || kill "$watching" 2>/dev/null || true
  [ -z "$mounted" ] || umount "$mounted"
  rm -rf "$work"
}
trap tidy_up EXIT
course=$work/course
mkdir "$course"
tar -C "$source_folder" --exclude=./build --exclude=./.git --exclude=./compile_commands.json --exclude=./progress.txt -cf - . |
  tar -C "$course" -xf -
# From somewhere else, as a reader may.
cd /

failed=0
fail() {
  echo "FAILED: $*"
  failed=1
}
# expect EXIT_CODE TEXT COMMAND…: the command ends with this code and says this on the way; said holds all its words.
said=
expect() {
  local code=$1 text=$2 got=0
  shift 2
  printf '%s\n' "$*"
  said=$("$@" 2>&1 <"${input:-/dev/null}") || got=$?
  if [ "$got" != "$code" ] || [[ $said != *"$text"* ]]; then
    fail "expected exit code $code and the words: $text"
    printf 'got exit code %s and: %s\n' "$got" "$said"
  fi
}
# in_order TEXT…: said holds these in this order.
in_order() {
  local rest=$said text
  for text; do
    [[ $rest == *"$text"* ]] || { fail "these words are missing, or not in their place: $text"; printf '%s\n' "$said"; return; }
    rest=${rest#*"$text"}
  done
}
# narrow: said fits into 80 columns, but for code and paths.
narrow() {
  local long
  long=$(printf '%s\n' "$said" | sed 's/\xcc[\x80-\xbf]//g; s/\xcd[\x80-\xaf]//g' | LC_ALL=C.UTF-8 grep -E '^.{81,}' | grep -v -E ' \| |/.*/' || true)
  [ -z "$long" ] || fail "more than 80 columns: $long"
}
# await PATTERN: a file of this name is there within two minutes.
await() {
  for _ in $(seq 1200); do
    ! compgen -G "$1" >/dev/null || return 0
    sleep 0.1
  done
  fail "after two minutes there is no file $1"
}
# same FILE KEPT: the reader's file is as it was.
same() { cmp -s "$1" "$2" || fail "$1 was changed"; }

learn=$course/learn
exercise=$course/exercises/01_three_pass/1_three_passes.cuh
solution=$course/solutions/01_three_pass/1_three_passes.cuh
printf 'n\n' >"$work/no"
printf 'y\n' >"$work/yes"

# Without the legal-CUDA gate in the build: it reads the same files in the build that this test belongs to. check has it.
(cd "$course" && cmake --preset simt -D LNH_CLANG=OFF >/dev/null)

first_steps() {
  echo '-- an interrupted build: the same command simply goes on'
  setsid "$learn" list >/dev/null 2>&1 &
  building=$!
  await "$course/build/simt/common/*/CMakeFiles/*/*.o"
  kill -KILL -- "-$building" 2>/dev/null || fail "the build was over before it could be interrupted"
  wait "$building" 2>/dev/null || true

  echo '-- the walk: list, a stub, a wrong version, its diagnosis, the right one, compare, next'
  rm -f "$course"/exercises/*/*.bak*
  expect 0 '0 of 20 exercises passed' "$learn" list
  in_order '01.1 The three passes (write)' '07.3 RMSNorm dx and dγ (write)'
  narrow
  expect 2 'There is no chapter 99' "$learn" check 99.9
  # The reader's exercises start as their stubs, whatever stands in the folder that was copied.
  for stub in "$course"/exercises/*/[0-9]_*.cuh; do
    chapter=$(basename "$(dirname "$stub")")
    number=$(basename "$stub")
    "$learn" reset "${chapter%%_*}.${number%%_*}" --yes >/dev/null 2>&1
  done
  rm -f "$course/progress.txt"
  expect 0 'Next is 00.1' "$learn" next
  in_order 'exercises/00_roofline/1_fewer_requests.cuh' './learn check 00.1'

  # Without a GPU, whatever this machine has.
  mkdir "$work/no_gpu"
  printf '#!/bin/sh\nexit 1\n' >"$work/no_gpu/nvidia-smi"
  chmod +x "$work/no_gpu/nvidia-smi"
  expect 77 'There is no GPU here, so nothing can be timed. ./learn profile 05 ' env PATH="$work/no_gpu:$PATH" "$learn" bench 05 --quick
  expect 77 'There is no GPU here' env PATH="$work/no_gpu:$PATH" "$learn" test --gpu
  expect 2 'There is no chapter 99' "$learn" bench 99
  expect 0 'PyTorch eager' "$learn" chart forward
  narrow
  expect 2 '' "$learn" chart nonsense

  # Without clang the reader is told so; what the READMEs quote, that of the stub, is the same as with it.
  mkdir "$work/no_clang"
  IFS=: read -ra folders <<<"$PATH"
  for folder in "${folders[@]}"; do
    for tool in "$folder"/*; do
      case ${tool##*/} in clang*) ;; *) ln -s "$tool" "$work/no_clang/" 2>/dev/null || true ;; esac
    done
  done
  expect 1 'clang++ is not installed' env PATH="$work/no_clang" "$learn" check 00.1
  expect 1 'STUB does not pass yet' env PATH="$work/no_clang" "$learn" check 00.1 --pristine
  [[ $said != *clang* ]] || fail "what is said of the stub depends on clang: $said"
  rm -f "$course/progress.txt"

  cp "$exercise" "$work/stub"
  expect 1 'YOUR CODE is not written yet: 7 of 7 tests failed.' "$learn" check 01.1
  in_order 'Exercise 01.1' 'YOUR CODE: exercises/01_three_pass/1_three_passes.cuh' 'YOUR CODE is not written yet' 'Failed: ' \
    'after the launch y holds what it held before' 'Next: ./learn hint 01.1'
  narrow
  same "$exercise" "$work/stub"
  expect 1 'Only code that passes is compared' "$learn" compare 01.1
  expect 0 'Hint 1 of 3: the idea' "$learn" hint 01.1
  narrow
  expect 0 'Hint 2 of 3: the place' "$learn" hint 01.1
  expect 0 'tried just now   2/3 hints' "$learn" list

  sed 's|squares / static_cast<float>(cols)|squares / static_cast<float>(cols - 1)|' "$solution" >"$exercise"
  ! cmp -s "$exercise" "$solution" || fail 'the wrong version is the right one'
  cp "$exercise" "$work/wrong"
  expect 1 'YOUR CODE does not pass yet' "$learn" check 01.1
  in_order 'Exercise 01.1' 'YOUR CODE: exercises/' 'YOUR CODE does not pass yet: ' 'Failed: right within the bound' \
    'elements are wrong' 'first: row 0, column 0' 'worst: row ' 'expected ' 'got ' 'is allowed' 'bound: ' \
    'Likely mistake: the variance is divided by N − 1, not by N.' 'Read chapters/01_three_pass/README.md, Idea.' \
    'Next: ./learn hint 01.1'
  narrow
  expect 1 '"verdict":"failed"' "$learn" check 01.1 --json
  in_order '"name":"variance_over_n_minus_1"'
  same "$exercise" "$work/wrong"

  cp "$solution" "$exercise"
  expect 0 'YOUR CODE passes: right values, and no finding' "$learn" check 01.1
  in_order './learn compare 01.1'
  narrow
  expect 0 '"passed":true' "$learn" check 01.1 --json
  expect 0 'lines of code' "$learn" compare 01.1
  in_order 'YOUR CODE: ' 'REFERENCE: ' 'yours' 'reference' 'floor' 'correct digits' 'load requests' 'sectors' 'bytes touched' 'barriers' 'shuffles'
  narrow
  expect 0 '"load_requests"' "$learn" compare 01.1 --json
  expect 0 'Yours is the reference' "$learn" compare 01.1 --diff
  expect 0 '1 of 20 exercises passed' "$learn" list
  in_order '01.1 The three passes (write)' 'passed just now'
  expect 0 'Next is 00.1' "$learn" next
  same "$exercise" "$solution"

  echo '-- reset and solve ask, and keep what was there'
  input=$work/no expect 1 'Nothing was changed.' "$learn" reset 01.1
  expect 1 'Nothing was changed.' "$learn" reset 01.1
  expect 1 'Nothing was changed.' env CI=true "$learn" reset 01.1
  same "$exercise" "$solution"
  input=$work/yes expect 0 'is the untouched stub now' "$learn" reset 01.1
  same "$exercise" "$work/stub"
  same "$exercise.bak" "$solution"
  expect 0 '0 of 20 exercises passed' "$learn" list
  input=$work/no expect 1 'Nothing was shown.' "$learn" solve 01.1 --show
  input=$work/yes expect 0 '__global__' "$learn" solve 01.1 --show
  same "$exercise" "$work/stub"
  # Killed at any moment, the file is one or the other, and whole.
  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    command=$([ $((i % 2)) = 0 ] && echo reset || echo solve)
    setsid "$course/build/simt/common/learn/learn" "$command" 01.1 --yes >/dev/null 2>&1 &
    killed=$!
    sleep "0.00$i"
    kill -KILL "$killed" 2>/dev/null || true
    wait "$killed" 2>/dev/null || true
    cmp -s "$exercise" "$work/stub" || cmp -s "$exercise" "$solution" || fail "a killed $command left half a file"
  done
  rm -f "$exercise".*
  cp "$work/stub" "$exercise"

  echo '-- code that goes wrong: each has its sentence, none passes'
  # body TEXT: the stub with this in the place of its TODO; line is where.
  body() { awk -v text="$1" '/TODO/ && !done { print text; done = 1; next } { print }' "$work/stub" >"$exercise"; }
  line_of() { grep -n "$1" "$exercise" | head -1 | cut -d: -f1; }

  # What a kernel prints is shown, and hides no failure.
  body 'printf("row %d\\n", static_cast<int>(row));'
  expect 1 'YOUR CODE printed:' "$learn" check 01.1
  in_order 'row 0' 'Failed: '
  body 'args.y[args.rows * args.cols] = 0;'
  expect 1 "write outside of buffer 'y'" "$learn" check 01.1
  in_order 'Findings:' "at exercises/01_three_pass/1_three_passes.cuh:$(line_of 'args.y\[') in" 'args.y[args.rows * args.cols] = 0;'
  body 'while (row >= 0) args.y[0] = 1.0f;'
  expect 1 'YOUR CODE does not end' "$learn" check 01.1
  in_order 'time: the kernel does not end' "exercises/01_three_pass/1_three_passes.cuh:$(line_of 'while (row')"
  sed -i 's|^namespace exercise {|&\n__device__ int deeper(int n) { volatile int a[64]; a[0] = n; return deeper(n + 1) + a[0]; }|' "$exercise"
  sed -i 's|while (row >= 0) args.y\[0\] = 1.0f;|args.y[0] = deeper(0);|' "$exercise"
  expect 1 'YOUR CODE crashed its test' "$learn" check 01.1
  in_order 'used up its stack' "exercises/01_three_pass/1_three_passes.cuh:$(line_of deeper)" 'recursion'
  # In a kernel it is no CUDA, in the launcher it is nothing that a compiler minds.
  for place in 's|^.*TODO.*|exit(0);|' 's|^ *check(args.*|&\n  std::exit(0);|' 's|^ *check(args.*|&\n  _exit(0);|'; do
    sed -e '1i #include <unistd.h>\n#include <cstdlib>' -e "$place" "$work/stub" >"$exercise"
    expect 1 'YOUR CODE ' "$learn" check 01.1
    [[ $said == *'YOUR CODE is not legal CUDA'* || $said == *'before the tests were over'* ]] || fail "it is not said that the code calls exit(): $said"
  done
  body 'int typing_error = ;'
  expect 1 'YOUR CODE does not compile' "$learn" check 01.1
  in_order "exercises/01_three_pass/1_three_passes.cuh:$(line_of typing_error):"
  expect 1 '"verdict":"not_compiled"' "$learn" check 01.1 --json
  in_order '"diagnostics":[{"file":"exercises/01_three_pass/1_three_passes.cuh"' "\"line\":$(line_of typing_error)"
  sed '/TODO/d; s|return not_written_yet(value, partial);||' "$course/exercises/01_three_pass/2_block_tree.cuh" >"$work/no_return"
  cp "$work/no_return" "$course/exercises/01_three_pass/2_block_tree.cuh"
  expect 1 'YOUR CODE does not compile' "$learn" check 01.2
  in_order 'no return statement'
  "$learn" reset 01.2 --yes >/dev/null
  rm "$exercise"
  expect 2 'is missing' "$learn" check 01.1
  expect 0 'is the untouched stub now' "$learn" reset 01.1
  same "$exercise" "$work/stub"

  echo '-- a machine that goes wrong: each has its sentence and a non-zero exit'
  cp "$solution" "$exercise"
  mkdir "$course/progress.txt.new" # where progress is written first
  expect 3 'Your progress could not be kept.' "$learn" check 01.1
  rm -rf "$course/progress.txt.new"
  cp "$course/progress.txt" "$work/progress"
  echo 'what is this' >>"$course/progress.txt"
  expect 2 'this line cannot be understood' "$learn" list
  cp "$work/progress" "$course/progress.txt"
  objects=$course/build/simt/chapters/CMakeFiles/01_1_exercise.dir
  if mount -t tmpfs -o size=64k none "$objects" 2>/dev/null; then
    mounted=$objects
    dd if=/dev/zero of="$objects/filler" bs=1k count=64 2>/dev/null || true
    expect 3 'The disk is full' "$learn" check 01.1
    umount "$mounted"
    mount -t tmpfs -o ro none "$objects"
    expect 3 'cannot be written' "$learn" check 01.1
    umount "$mounted"
    mounted=
  fi
  ninja_file=$course/build/simt/build.ninja
  cp -p "$ninja_file" "$work/build.ninja"
  compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$course/build/simt/CMakeCache.txt")
  rules_file=$course/build/simt/CMakeFiles/rules.ninja
  cp -p "$rules_file" "$work/rules.ninja"
  touch "$exercise"
  sed -i "/^rule CXX_COMPILER__01_1_exercise_/,/^$/ s|$compiler |/nonexistent$compiler |" "$rules_file"
  ! cmp -s "$rules_file" "$work/rules.ninja" || fail 'the compiler is not named where it was looked for'
  expect 3 'The compiler could not be run.' "$learn" check 01.1
  cp -p "$work/rules.ninja" "$rules_file"
  head -c 5000 "$work/build.ninja" >"$ninja_file"
  echo '  broken' >>"$ninja_file"
  expect 3 'is damaged' "$learn" check 01.1
  expect 3 'is damaged' "$learn" list
  cp -p "$work/build.ninja" "$ninja_file"
  # What CMake remembers can be made again.
  head -c 3000 /dev/urandom >"$course/build/simt/CMakeCache.txt"
  expect 0 'Configuring: cmake --preset simt' "$learn" list
  (cd "$course" && cmake --preset simt -D LNH_CLANG=OFF >/dev/null)
  expect 0 'YOUR CODE passes' "$learn" check 01.1
  same "$exercise" "$solution"

  echo '-- watch: every save is checked'
  "$learn" watch 01.1 >"$work/watched" 2>&1 </dev/null &
  watching=$!
  # watched TEXT N: watch has said this N times within a minute.
  watched() {
    for _ in $(seq 600); do
      [ "$(grep -c "$1" "$work/watched")" -lt "$2" ] || return 0
      sleep 0.1
    done
    fail "watch did not say $2 times within a minute: $1"
    cat "$work/watched"
}
  watched 'Watching exercises/01_three_pass/1_three_passes.cuh' 1
  cp "$work/wrong" "$exercise"
  watched 'Likely mistake: the variance is divided by N − 1' 1
  watched 'after the save' 1
  cp "$solution" "$exercise.saved" && mv "$exercise.saved" "$exercise" # as editors do
  watched 'YOUR CODE passes' 2
  watched 'after the save' 2
  kill -INT "$watching"
  wait "$watching" || fail "watch ended with exit code $? when it was interrupted"
  watched 'Stopped watching' 1
  watching=

  echo '-- Ctrl-C in the middle of a kernel that does not end: watch ends at once, and says nothing about the code'
  body 'while (row >= 0) args.y[0] = 1.0f;'
  setsid env --default-signal=INT "$learn" watch 01.1 >"$work/watched" 2>&1 </dev/null &
  watching=$!
  await "$course/build/simt/report_*"
  begin=$SECONDS
  kill -INT -- "-$watching"
  wait "$watching" || fail "watch ended with exit code $? when it was interrupted"
  [ $((SECONDS - begin)) -lt 5 ] || fail "watch took $((SECONDS - begin)) s to end"
  watched 'Stopped watching' 1
  ! grep 'does not end' "$work/watched" || fail 'watch has judged a test that was interrupted'
  watching=

  echo '-- two commands at the same time: both judge the file as it is, and so does the next one'
  for _ in 1 2 3; do
    for version in "$solution" "$work/wrong"; do
      cp "$version" "$exercise"
      code=$([ "$version" = "$solution" ] && echo 0 || echo 1)
      "$learn" check 01.1 >/dev/null 2>&1 &
      beside=$!
      expect "$code" 'YOUR CODE ' "$learn" check 01.1
      got=0
      wait "$beside" || got=$?
      [ "$got" = "$code" ] || fail "a check beside another one ended with exit code $got, not $code"
    done
  done

  echo '-- a save while the compiler runs: both the check that is under way and the next one judge what was saved last'
  for delay in 0.5 1 1.5; do
    cp "$solution" "$exercise"
    echo "// $delay" >>"$exercise"
    (sleep "$delay" && cp "$work/wrong" "$exercise") &
    saving=$!
    expect 1 'YOUR CODE does not pass yet' env CCACHE_DISABLE=1 "$learn" check 01.1
    wait "$saving"
    expect 1 'YOUR CODE does not pass yet' "$learn" check 01.1
  done
  # A file with an older time, as from mv FILE.bak FILE.
  cp "$solution" "$exercise.bak"
  touch -d '1 hour ago' "$exercise.bak"
  mv "$exercise.bak" "$exercise"
  expect 0 'YOUR CODE passes' "$learn" check 01.1
}

to_the_end() {
  echo '-- every exercise solved: each check passes, the first of each chapter compares, the course does not care, and sync leaves the files alone'
  for reference in "$course"/solutions/*/*.cuh; do
    cp "$reference" "$course/exercises/${reference#"$course/solutions/"}"
  done
  for reference in "$course"/solutions/*/*.cuh; do
    chapter=$(basename "$(dirname "$reference")")
    number=$(basename "$reference")
    expect 0 'YOUR CODE passes' "$learn" check "${chapter%%_*}.${number%%_*}"
    [ "${number%%_*}" != 1 ] || expect 0 'correct digits' "$learn" compare "${chapter%%_*}.1"
  done
  expect 0 'Next is 04.4' "$learn" next
  input=$work/yes expect 0 'cuWelford' "$learn" solve 04.4 --show
  expect 0 'Every exercise is passed' "$learn" next
  expect 0 '20 of 20 exercises passed' "$learn" list
  # Seeds: every order passes; a launcher that does nothing in the order of seed 2 is caught there, and the command shows it again.
  expect 0 'in the fixed order of lanes and warps and in 2 others' "$learn" check 01.2 --seeds 2
  expect 0 '"passes": true' "$learn" profile 01.1 --json
  sed -i -e '1i #include <cstdlib>' \
    -e 's|^ *check(args.*|&\n  if (const char* seed = std::getenv("SIMT_SEED"); seed != nullptr \&\& std::atoi(seed) == 2) return;|' "$exercise"
  expect 1 './learn check 01.1 --seed 2' "$learn" check 01.1 --seeds 3
  expect 1 'in the order of seed 2' "$learn" check 01.1 --seed 2
  expect 0 'in the order of seed 1' "$learn" check 01.1 --seed 1
  cp "$solution" "$exercise"
  cp -r "$course/exercises" "$course/README.md" "$course/docs" "$work"
  expect 0 'Everything generated is as its source says.' "$learn" sync
  for kept in exercises README.md docs; do
    diff -r "$work/$kept" "$course/$kept" || fail "./learn sync changed $kept after every exercise was solved"
  done
  expect 0 ' passed, 0 failed, ' "$learn" test
}

case $part in
  first_steps) first_steps ;;
  to_the_end) to_the_end ;;
  *) fail "there is no part $part" ;;
esac
exit "$failed"
