#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh [--full] [ctest arguments]: sets everything up and runs the tests. --full adds the long ones, and builds the
# benchmarks, so that they are known to build.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
select=(-LE full)
if [ "${1:-}" = --full ]; then
  select=()
  "$here/build.sh" release assay_bench
  shift
fi
"$here/build.sh" release all
cd "$root"
exec ctest --preset release -j "$(nproc)" --no-tests=error "${select[@]}" "$@"
