#!/usr/bin/env bash
# ./learn as a reader meets it when something is wrong: no compiler, no apt-get, a folder that cannot be written, a command
# that does not exist. Nothing is built here, and nothing is installed: apt-get is a stand-in that writes down how it was called.
#
# usage: bad_machine_test.sh SOURCE_FOLDER
set -euo pipefail
unset CI CXX

source_folder=$1
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
course=$work/course
mkdir "$course" "$work/bare"
cp -r "$source_folder/learn" "$source_folder/common" "$course"
chmod 755 "$work" "$work/bare"

# A machine with a base system and nothing else.
for tool in bash env cat sed cut tr tail dirname readlink id mkdir uname nproc ls printf; do
  ln -s "$(command -v "$tool")" "$work/bare/$tool"
done

setpriv=$(command -v setpriv || true)
# shellcheck disable=SC2317  # called through expect
as_nobody() {
  if [ "$(id -u)" = 0 ]; then "$setpriv" --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi
}

failed=0
# expect EXIT_CODE TEXT COMMAND…: the command ends with this code and says this on the way.
expect() {
  local code=$1 text=$2 got=0 said
  shift 2
  said=$("$@" 2>&1 </dev/null) || got=$?
  if [ "$got" != "$code" ] || [[ $said != *"$text"* ]]; then
    printf 'FAILED: %s\n  expected exit code %s and the words: %s\n  got exit code %s and: %s\n' "$*" "$code" "$text" "$got" "$said"
    failed=1
  fi
}
# shellcheck disable=SC2317  # called through expect
bare() { PATH=$work/bare "$@"; }

# Help needs no build; a mistake in the command is one sentence.
expect 0 'usage: ./learn COMMAND' bare "$course/learn" --help
expect 0 'usage: ./learn tour' bare "$course/learn" tour --help
expect 0 'usage: ./learn check NN.K' bare "$course/learn" check -h
expect 2 'usage: ./learn COMMAND' bare "$course/learn"
expect 2 "There is no command 'bake'." bare "$course/learn" bake
expect 2 'takes no argument' bare "$course/learn" doctor now

# The doctor lists the remedies and installs nothing.
expect 3 'apt install g++' bare "$course/learn" doctor
expect 3 'apt install libboost-context-dev' bare "$course/learn" doctor

# No compiler and no apt-get.
expect 3 'This machine lacks: g++ cmake ninja-build libboost-context-dev' bare "$course/learn" tour
expect 3 "Install them with your system's own package manager" bare "$course/learn" tour

# No compiler, and an apt-get that cannot help, or does not.
stand_in() { printf '#!%s\necho "$*" >>"%s/apt.log"\nexit %s\n' "$work/bare/bash" "$work" "$1" >"$work/bare/apt-get"; }
touch "$work/apt.log"
chmod 666 "$work/apt.log"
stand_in 0
chmod 755 "$work/bare/apt-get"
if [ "$(id -u)" = 0 ]; then
  expect 3 'still missing: g++' bare "$course/learn" tour
  grep -q '^install -y --no-install-recommends g++ cmake ninja-build' "$work/apt.log" || {
    echo "FAILED: as root, the missing packages are installed at once; apt-get was called with:"
    cat "$work/apt.log"
    failed=1
  }
  stand_in 100
  expect 3 'apt-get could not install what is missing' bare "$course/learn" tour
  rm -rf "$course/build"
fi
# Somebody who is not root and has no sudo gets the exact command, and so does sudo without a terminal.
chmod -R a+rwX "$course"
: >"$work/apt.log"
expect 3 'Run this as root, then run ./learn again: apt-get install -y --no-install-recommends g++' bare as_nobody "$course/learn" test
printf '#!%s\nexec "$@"\n' "$work/bare/bash" >"$work/bare/sudo"
chmod 755 "$work/bare/sudo"
expect 3 'Run this, then run ./learn again: sudo apt-get install' bare as_nobody "$course/learn" test
[ ! -s "$work/apt.log" ] || { echo "FAILED: apt-get was called without being asked"; failed=1; }
stand_in 0
expect 3 'still missing: g++' bare as_nobody "$course/learn" test --yes
expect 3 'still missing: g++' bare env CI=true "$course/learn" test

# A folder that cannot be written.
rm -rf "$course/build"
chmod -R a-w "$course"
expect 3 'cannot be written' as_nobody "$course/learn" tour
expect 0 'usage: ./learn tour' as_nobody "$course/learn" tour --help
[ ! -e "$course/build" ] || { echo "FAILED: a build folder was made in a folder that cannot be written"; failed=1; }

exit "$failed"
