#!/usr/bin/env bash
# gpu_test.sh on a build folder, a GPU and a compute-sanitizer that are none: what it prints, keeps and answers with.
#
# usage: gpu_test_test.sh SOURCE_FOLDER
set -euo pipefail

source_folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=$work/build
mkdir -p "$work/bin" "$build/chapters" "$build/common/device"

failed=0
# says TEXT FILE
says() { grep -qF -- "$1" "$2" || { printf 'FAILED: %s does not say: %s\n' "$(basename "$2")" "$1"; cat "$2"; failed=1; }; }

stand_in() { cat >"$1" && chmod +x "$1"; }
stand_in "$work/bin/nvidia-smi" <<'END'
#!/bin/sh
echo 'a card'
END
# Finds an error where the program's name says so.
stand_in "$work/bin/compute-sanitizer" <<'END'
#!/bin/sh
[ "$1" != --version ] || { echo 'Version 1.2.3'; exit; }
case "$*" in
  *racecheck*faulty_test*) echo 'RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)'; exit 86 ;;
  *racecheck*) echo 'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)' ;;
  *) echo 'ERROR SUMMARY: 0 errors' ;;
esac
END
stand_in "$work/bin/nvcc" <<'END'
#!/bin/sh
echo 'Cuda compilation tools, release 13.0, V13.0.88'
END
program() {
  stand_in "$build/chapters/$1" <<'END'
#!/bin/sh
case "$*" in *--count*) echo '[doctest] unskipped test cases passing the current filters: 3' ;; esac
END
}
program sound_test
program some_solution
stand_in "$build/common/device/device_some_test" <"$build/chapters/sound_test"
echo "CMAKE_CUDA_COMPILER:STRING=$work/bin/nvcc" >"$build/CMakeCache.txt"
# tests NAME=COMMAND…: what ctest finds in the build folder, behind a reader's exercise that is not done.
tests() {
  printf 'add_test(exercise "false")\nset_tests_properties(exercise PROPERTIES LABELS exercise)\n' >"$build/CTestTestfile.cmake"
  local name
  for name; do
    printf 'add_test(%s "sh" "-c" "%s")\nset_tests_properties(%s PROPERTIES SKIP_RETURN_CODE 77)\n' \
      "${name%=*}" "${name#*=}" "${name%=*}" >>"$build/CTestTestfile.cmake"
  done
}
run() { PATH=$work/bin:$PATH LNH_COMMIT=abc "$source_folder/common/benchmark/gpu_test.sh" "$build" "$work/out" >"$work/said" 2>&1; }

tests one='exit 0' two='exit 0' three='exit 77'
run || { echo "FAILED: exit code $? where everything passes"; failed=1; }
says 'tests       2 programs passed, 0 failed, 1 skipped' "$work/said"
for tool in memcheck racecheck initcheck synccheck; do says "$(printf '%-11s' "$tool") 3 runs, 0 with errors" "$work/said"; done
[ "$(tail -n 1 "$work/said")" = '6 passed, 0 failed, 1 skipped' ] || { echo "FAILED: the last line is no count"; cat "$work/said"; failed=1; }
says 'toolkit  CUDA 13.0 (V13.0.88)' "$work/out/run.log"
says 'commit   abc' "$work/out/run.log"
says '| sound_test | 3 | 0 | 0 | 0 | 0 |' "$work/out/compute_sanitizer.md"

if grep -q 'not tested' "$work/said"; then echo "FAILED: all was tested"; failed=1; fi

# (ctest prints the command as well, and there it must not look like the message.)
# shellcheck disable=SC2016  # the test's own shell expands it
tests one='exit 0' two='m=MESSAGE; for i in 1 2; do echo $m: not tested on this machine: no memory; done' three='exit 77'
run || { echo "FAILED: exit code $? where a GPU has too little memory"; failed=1; }
says 'tests       2 programs passed, 0 failed, 1 skipped; 2 cases not tested for want of memory' "$work/said"
[ "$(tail -n 1 "$work/said")" = '6 passed, 0 failed, 1 skipped' ] || { echo "FAILED: the last line is no count"; cat "$work/said"; failed=1; }

# What others left too little memory for runs again, alone: here it passes, and there it fails.
rm -f "$work/ran"
tests one='exit 0' two="m=MESSAGE; [ -e $work/ran ] || echo \$m: not tested on this machine: no memory; touch $work/ran"
run || { echo "FAILED: exit code $? where a second run has the memory"; failed=1; }
says 'tests       2 programs passed, 0 failed, 0 skipped' "$work/said"
if grep -q 'not tested' "$work/said"; then echo "FAILED: all was tested in the end"; failed=1; fi
rm -f "$work/ran"
tests one='exit 0' two="m=MESSAGE; [ -e $work/ran ] && exit 1; echo \$m: not tested on this machine: no memory; touch $work/ran"
if run; then echo "FAILED: exit code 0 where the second run fails"; failed=1; fi
says 'tests       1 programs passed, 1 failed, 0 skipped' "$work/said"

tests one='exit 0' two='exit 1'
program faulty_test
if run; then echo "FAILED: exit code 0 where a test fails"; failed=1; fi
says 'tests       1 programs passed, 1 failed, 0 skipped' "$work/said"
says 'two' "$work/said"
says 'racecheck   4 runs, 1 with errors' "$work/said"
says '4 passed, 2 failed, 0 skipped' "$work/said"
says '| faulty_test | 3 | 0 | 0 + 2, exit code 86 | 0 | 0 |' "$work/out/compute_sanitizer.md"

exit "$failed"
