#!/usr/bin/env bash
# Runs ctest on a build folder and closes with counts. tools/run_tests.sh <build> [ctest arguments]
set -uo pipefail
build=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
ctest --test-dir "$build" --parallel 2 --output-on-failure "$@" 2>&1 | tee "$log" | grep --line-buffered -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test +#.* Passed )'
status=${PIPESTATUS[0]}
count() { grep -cE "$1" "$log"; }
skipped=$(count '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*\*\*\*Skipped')
passed=$(count '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed ')
all=$(count '^ *[0-9]+/[0-9]+ Test +#[0-9]+: ')
if ((all == 0)); then echo "no test was run" >&2; status=1; fi
echo "$passed passed, $((all - passed - skipped)) failed, $skipped skipped"
exit "$status"
