#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh PRESET TARGET [cmake arguments]: dependencies, configuration (once), build. Quiet unless something is wrong or
# it takes long: then a line on a terminal says how far it is, elsewhere one each ASSAY_PROGRESS_S seconds (10).
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
trap 'echo "assay: interrupted" >&2; exit 130' INT  # what ran meanwhile has ended; that it failed says nothing
"$here/deps.sh"
cd "$root"
log=build/$preset.log
mkdir -p build
for path in build "build/$preset" "$log"; do
  [ -e "$path" ] && [ ! -w "$path" ] || continue
  echo "assay: $root/$path belongs to $(stat -c %U "$path") and cannot be written here; build as $(stat -c %U "$path")," \
    "or in a copy of the repository of your own" >&2
  exit 1
done
if [ ! -f "build/$preset/build.ninja" ] || [ $# -gt 0 ]; then
  echo "assay: configuring ($preset)" >&2
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    echo "assay: configuration failed, see above and $log" >&2
    exit 1
  fi
  sed -n '/assay backends:/,/^-- Configuring done/p' "$log" | grep -v 'Configuring done' >&2 || true
fi
# A dry run of build.ninja by that name ends with the globs that CMake has looked at again each time; by another name it
# goes on to the target. What the globs find anew is not in it.
if ! ninja -C "build/$preset" -f "$root/build/$preset/build.ninja" -n "$target" 2>/dev/null |
    grep -q 'no work to do'; then
  echo "assay: building ($preset), some minutes the first time" >&2
fi

# Until its input ends: how far the log says that ninja is.
show_progress() {
  local every=${ASSAY_PROGRESS_S:-10} at="" status
  [ ! -t 2 ] || every=1
  while :; do
    status=0
    read -rt "$every" || status=$?
    [ "$status" -gt 128 ] || break  # not the time but the build is over
    at=$(grep -o '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 1 | tr -d '[]' || true)
    [ -n "$at" ] || continue
    if [ -t 2 ]; then
      printf '\rassay: building (%s), %s of %s steps, %s s ' "$preset" "${at%/*}" "${at#*/}" "$SECONDS" >&2
    else
      echo "assay: building ($preset), ${at%/*} of ${at#*/} steps, $SECONDS s" >&2
    fi
  done
  [ ! -t 2 ] || printf '\r%70s\r' "" >&2
}

# Its input ends with this script too, however that ends; ninja stays in the foreground, where Ctrl-C reaches it.
: >"$log"
SECONDS=0
exec {building}> >(show_progress)
progress=$!
built=0
ninja -C "build/$preset" "$target" >"$log" 2>&1 {building}>&- || built=$?
exec {building}>&-
wait "$progress" || true
if [ "$built" -ne 0 ]; then
  tail -n 60 "$log" >&2
  echo "assay: the build failed, see above and $log" >&2
  exit 1
fi
