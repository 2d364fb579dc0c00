#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh [--full] [ctest arguments]: sets everything up and runs the tests, then those of what reads bytes of others
# once more with the address and undefined behaviour sanitizers. --full adds the long ones, these sanitizers for all layers
# that own memory and the thread sanitizer, and builds the benchmarks and every file by itself with warnings as errors.
# With arguments for ctest, the tests that they select run, without sanitizers.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
full=0
if [ "${1:-}" = --full ]; then
  full=1
  shift
fi
# Only tests need a browser (report_browser, 124 MB to download) and clang-format; who builds the product alone gets neither.
export ASSAY_MORE_DEPS="${ASSAY_MORE_DEPS:-} chromium clang-format"
failed=0
failures=""
alone=""

# A preset and target to build while tests run, some of which wait at any time, and the process that does so. It is silent:
# run_tests waits for it, builds what it has left and says what fails.
build_beside=()
beside=""
trap '[ -z "$beside" ] || kill "$beside" 2>/dev/null || true' EXIT

# run_tests PRESET TARGET [ctest arguments]: a test that fails does not keep the next preset from its turn. One test more than
# there are processors: a fifth of their time tests wait for processes that sleep, hang or are killed. A few that fail are run
# once more, each alone: on a slow machine some wait in vain for processes that others crowd out. Such a test is named at the
# end. What a sanitizer has found stays a failure.
run_tests() {
  local preset=$1 target=$2 status=0
  shift 2
  if [ -n "$beside" ]; then
    wait "$beside" || true
    beside=""
  fi
  if ! "$here/build.sh" "$preset" "$target"; then
    failed=1
    failures+="  $preset: the build"$'\n'
    return 0
  fi
  if [ ${#build_beside[@]} -gt 0 ]; then
    nice -n 19 "$here/build.sh" "${build_beside[@]}" >/dev/null 2>&1 &
    beside=$!
    build_beside=()
  fi
  local list=$root/build/$preset/Testing/Temporary/LastTestsFailed.log  # beside LastTest.log
  rm -f "$list"
  (cd "$root" && ctest --preset "$preset" -j "$(($(nproc) + 1))" --no-tests=error "$@") || status=$?
  printf 'The longest tests of %s, in seconds:\n' "$preset"
  awk '/ Testing: /{name = $3} /^Test time = /{print $4, name}' "${list%sFailed.log}.log" | sort -rn | head -n 20 || true
  # A suite that skips some of its tests has passed for ctest.
  awk '/^\[  SKIPPED \] [^ ]+$/{print "skipped: " $4}' "${list%sFailed.log}.log" || true
  if [ "$preset" = release ] && [ $status = 8 ] && [ -s "$list" ] && [ "$(wc -l <"$list")" -le 5 ]; then  # 8: some have failed
    local first
    first=$(sed "s/^[0-9]*:/  $preset: /" "$list")
    if (cd "$root" && ctest --preset "$preset" -j 1 --rerun-failed --no-tests=error); then
      status=0
      alone+=$first$'\n'
    fi
  fi
  [ $status = 0 ] || failed=$status
  [ $status = 0 ] || [ ! -s "$list" ] || failures+=$(sed "s/^[0-9]*:/  $preset: /" "$list")$'\n'
}

if [ $full = 1 ]; then
  "$here/build.sh" release assay_bench -DASSAY_LONG_TESTS=ON
  if ! "$here/build.sh" dev all; then  # the tests have their turn all the same
    failed=1
    failures+="  dev: the build"$'\n'
  fi
  run_tests release all "$@"
else
  # Without this, long tests that an earlier --full enabled would be built every time.
  if grep -qs '^ASSAY_LONG_TESTS:BOOL=ON' "$root/build/release/CMakeCache.txt"; then
    "$here/build.sh" release product -DASSAY_LONG_TESTS=OFF
  fi
  [ $# -gt 0 ] || build_beside=(asan tests_bytes)
  run_tests release all -LE full "$@"
fi
if [ $# -eq 0 ]; then
  if [ $full = 1 ]; then
    run_tests asan tests_sanitized -L sanitized
    run_tests tsan tests_threads -L sanitized
  else
    run_tests asan tests_bytes -L bytes
  fi
fi
[ -z "$alone" ] || printf 'assay: failed beside others, and passed alone:\n%s' "$alone" >&2
if [ $failed != 0 ]; then  # once more at the end, since a later preset's lines stand between
  printf 'assay: tests failed; run one again with ctest --preset PRESET -R NAME:\n%s' "${failures:-  none ran to its end}" >&2
fi
exit $failed
