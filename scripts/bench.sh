#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every benchmark program that is built and prints one table: each ratio of this project's own code beside its
# target. Below it stands how much of the peak of fused multiply-adds a library reached that ratios are to. Exit 1 when one
# falls short or a program fails, 2 when none is built. Arguments name programs (golden fft ...).
#
#   ./scripts/build.sh release assay_bench && ./scripts/bench.sh
set -uo pipefail
cd "$(dirname "$0")/.."

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for program in build/release/bin/assay_bench_*; do
    [ -x "$program" ] && names+=("${program##*/assay_bench_}")
  done
fi
if [ ${#names[@]} -eq 0 ]; then
  echo "bench.sh: no benchmark is built: ./scripts/build.sh release assay_bench" >&2
  exit 2
fi

code=0
rows=()
notes=()
for name in "${names[@]}"; do
  # The pattern fits no benchmark: the targets alone.
  output=$("build/release/bin/assay_bench_$name" --benchmark_filter='^$' 2>&1) || code=1
  found=$(grep -E '^[a-z0-9_]+ target [^ ]+ got [^ ]+ (ok|SHORT)$' <<<"$output")
  mapfile -t -O "${#notes[@]}" notes < <(grep -E '^# [a-z0-9_]+: ' <<<"$output")
  if [ -n "$found" ]; then
    while IFS= read -r line; do rows+=("$line"); done <<<"$found"
  else
    rows+=("$name target - got - $(tail -n 1 <<<"$output" | tr ' ' '_')")
  fi
done
printf '%-40s %8s %8s  %s\n' ratio target measured ''
for row in "${rows[@]}"; do
  read -r name _ target _ got verdict <<<"$row"
  printf '%-40s %8s %8s  %s\n' "$name" "$target" "$got" "${verdict//_/ }"
done
[ ${#notes[@]} -eq 0 ] || printf '%s\n' "${notes[@]}"
exit $code
