#!/bin/sh
# The executor's language header must not compile without access hooks. Arguments: compiler, folder of common/.
output=$("$1" -std=c++20 -I "$2" -fsyntax-only -x c++ -include simt/cuda.h /dev/null 2>&1) && {
  echo "simt/cuda.h compiled without -fsanitize=thread: kernels in such a file would not be counted or checked" >&2
  exit 1
}
case $output in
  *"compiled with access hooks"*) exit 0 ;;
esac
echo "simt/cuda.h was refused for another reason: $output" >&2
exit 1
