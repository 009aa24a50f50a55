#!/usr/bin/env bash
# Cross-builds the library and the program for aarch64 with the bundle of the native build, and runs the plan and store tests under qemu.
set -euo pipefail
cd "$(dirname "$0")/.."
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake --preset aarch64 "${launcher[@]}" -DSPEEDLIGHT_BUNDLE_FILE="$PWD/build/speedlight.bundle" --log-level=WARNING
cmake --build build-aarch64 --target speedlight speedlight_tool plan_tests store_tests
qemu-aarch64 -L /usr/aarch64-linux-gnu build-aarch64/speedlight explain --help >/dev/null
# Left out: tests whose forked child works on (such a child may spin forever under qemu-user 7.2) or which start themselves again.
tools/run_tests.sh build-aarch64 -R '^(plan|store)_tests\.' -E 'ReadOnlyFolder|FullDisk|ProcessesThatWrite|HitsNeedNoNvrtc' --timeout 300
