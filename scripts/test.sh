#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh [--full] [ctest arguments]: sets everything up and runs the tests, then those of the layers that own memory once
# more with the address and undefined behaviour sanitizers. --full adds the long ones and the thread sanitizer, and builds
# the benchmarks, so that they are known to build. With arguments for ctest, the tests that they select run, without sanitizers.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
full=0
if [ "${1:-}" = --full ]; then
  full=1
  shift
fi
failed=0
failures=""

# run_tests PRESET TARGET [ctest arguments]: a test that fails does not keep the next preset from its turn.
run_tests() {
  local preset=$1 target=$2
  shift 2
  "$here/build.sh" "$preset" "$target"
  local list=$root/build/$preset/Testing/Temporary/LastTestsFailed.log
  rm -f "$list"
  (cd "$root" && ctest --preset "$preset" -j "$(nproc)" --no-tests=error "$@") || failed=$?
  [ ! -s "$list" ] || failures+=$(sed "s/^[0-9]*:/  $preset: /" "$list")$'\n'
}

if [ $full = 1 ]; then
  "$here/build.sh" release assay_bench -DASSAY_LONG_TESTS=ON
  run_tests release all "$@"
else
  run_tests release all -LE full "$@"
fi
if [ $# -eq 0 ]; then
  run_tests asan tests_sanitized -L sanitized
  [ $full = 0 ] || run_tests tsan tests_threads -L sanitized
fi
if [ $failed != 0 ]; then  # once more at the end, since a later preset's lines stand between
  printf 'assay: tests failed; run one again with ctest --preset PRESET -R NAME:\n%s' "${failures:-  none ran to its end}" >&2
fi
exit $failed
