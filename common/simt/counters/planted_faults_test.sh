#!/bin/sh
# planted_faults_test.sh PLANTED_FAULTS
#
# The executor finds each planted fault with the check that is meant to find it, and nothing in the correct twins.
program=$1
failed=0
faults=$("$program" --list) || exit 1

while IFS="$(printf '\t')" read -r name check _ what _; do
  found=$("$program" "$name")
  status=$?
  if [ $status -ne 1 ] || ! printf '%s\n' "$found" | grep -q "^$check	"; then
    echo "$name ($what) should end with a finding of the check '$check', but it ended with exit code $status and said: $found"
    failed=1
  fi
  found=$("$program" "${name}_ok")
  status=$?
  if [ $status -ne 0 ] || [ -n "$found" ]; then
    echo "${name}_ok is correct, but it ended with exit code $status and said: $found"
    failed=1
  fi
done << LIST
$faults
LIST
exit $failed
