#!/usr/bin/env bash
# The shared library exports exactly the names in exports.txt, needs only the C and C++ run time, and is at most 10 MB.
set -euo pipefail
source=$1 library=$2/libspeedlight.so
diff <(nm -D --defined-only "$library" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort) <(sort "$source/tests/package/exports.txt") ||
  { echo "exported names differ from tests/package/exports.txt (left: the library)"; exit 1; }
needs=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
for need in $needs; do
  case $need in
    libc.so.6 | libm.so.6 | libstdc++.so.6 | libgcc_s.so.1 | ld-linux*.so.*) ;;
    *) echo "the library needs $need"; exit 1 ;;
  esac
done
size=$(stat -L -c %s "$library")
((size <= 10000000)) || { echo "the library has $size bytes, more than 10,000,000"; exit 1; }
echo "exports $(wc -l <"$source/tests/package/exports.txt") names, needs" $needs, "$size bytes"
