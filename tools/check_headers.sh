#!/usr/bin/env bash
# Every header compiles alone. Device headers too: as plain C++, with the emulator's ptx/ in front.
set -euo pipefail
cd "$(dirname "$0")/.."
deps=${SPEEDLIGHT_DEPS:-.deps}
warn=(-fsyntax-only -Wall -Wextra -Werror -Wno-unknown-pragmas)
export cxx="g++ -std=c++20 ${warn[*]} -DFMT_HEADER_ONLY -DSPEEDLIGHT_VERSION=\"\" -Itests/emulator -Isrc -Isrc/device -Iinclude -Itools -Itests -I. \
  -isystem $deps/nvidia/cuda_runtime/include -isystem $deps/nvidia/cuda_nvrtc/include -isystem /usr/include/eigen3"
headers=$(git ls-files 'src/*.h' 'tests/*.h' 'tools/*.h' | grep -v '^src/device/ptx/')
printf '%s\n' $headers | xargs -P 2 -I{} sh -c 'echo "#include \"{}\"" | $cxx -x c++ - || { echo "headers: {} does not compile alone" >&2; exit 1; }'
echo '#include "speedlight/speedlight.hpp"' | g++ -std=c++17 "${warn[@]}" -Wpedantic -Iinclude -x c++ -
echo '#include "speedlight/speedlight.h"' | gcc -std=c99 "${warn[@]}" -Wpedantic -Iinclude -x c -
echo "headers: $(wc -w <<<"$headers") compile alone, the C header as C99, the C++ header as C++17"
