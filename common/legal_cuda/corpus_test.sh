#!/bin/sh
# Judges the corpus: NAME.illegal.cuh must be refused with the words after "// expect: " in its first line, and its twin
# NAME.legal.cuh, which says the same thing legally, must be accepted. CLANG names the compiler, as for check.sh.
here=$(cd "$(dirname "$0")" && pwd)
wrong=0
judged=0

complain() {
  printf '%s\n\n' "$1"
  wrong=$((wrong + 1))
}

for illegal in "$here"/corpus/*.illegal.cuh; do
  legal=${illegal%.illegal.cuh}.legal.cuh
  expected=$(sed -n '1s|^// expect: ||p' "$illegal")
  judged=$((judged + 1))
  if [ -z "$expected" ]; then
    complain "$illegal does not say what to expect: its first line must be '// expect: ' and words of clang's message."
    continue
  fi

  words=$("$here/check.sh" "$illegal")
  case $? in
    77) exit 77 ;;
    1) printf '%s' "$words" | grep -qF -- "$expected" ||
      complain "$illegal was refused, but not with the words '$expected':
$words" ;;
    *) complain "$illegal was accepted, but it is not legal CUDA." ;;
  esac

  words=$("$here/check.sh" "$legal") || complain "$legal is legal CUDA, but it was refused or is missing:
$words"
done

# A corpus that was not found would pass as well.
if [ $judged -lt 10 ]; then
  complain "Only $judged illegal snippets were found in $here/corpus; at least 10 are expected."
fi
echo "$judged illegal snippets and their legal twins judged, $wrong wrong"
[ $wrong -eq 0 ]
