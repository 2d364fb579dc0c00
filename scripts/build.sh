#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh PRESET TARGET [cmake arguments]: dependencies, configuration (once), build. Quiet unless something is wrong.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
if [ $# -lt 2 ]; then
  echo "usage: build.sh PRESET TARGET [cmake arguments], as in build.sh release product" >&2
  exit 2
fi
preset=$1
target=$2
shift 2
"$here/deps.sh"
cd "$root"
log=build/$preset.log
mkdir -p build
if [ ! -f "build/$preset/build.ninja" ] || [ $# -gt 0 ]; then
  echo "assay: configuring ($preset)" >&2
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    echo "assay: configuration failed, see above and $log" >&2
    exit 1
  fi
  sed -n '/assay backends:/,/^-- Configuring done/p' "$log" | grep -v 'Configuring done' >&2 || true
fi
if ! ninja -C "build/$preset" -n "$target" 2>/dev/null | grep -q 'no work to do'; then
  echo "assay: building ($preset), some minutes the first time" >&2
fi
if ! ninja -C "build/$preset" "$target" >"$log" 2>&1; then
  tail -n 60 "$log" >&2
  echo "assay: the build failed, see above and $log" >&2
  exit 1
fi
