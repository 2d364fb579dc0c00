#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu_resources.sh [--build DIR] [--max-spill BYTES]: registers, shared memory, stack and spills of every kernel of the GPU
# plugins, from the object files of a build (target gpu). Exit 1 when a kernel spills more than --max-spill.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(dirname "$here")/build/release
most=""
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2 ;;
    --max-spill) most=$2 ;;
    *) echo "gpu_resources.sh: unknown option $1; known: --build DIR, --max-spill BYTES" >&2; exit 2 ;;
  esac
  shift 2
done
shopt -s nullglob
cuda=("$build"/backends/cuda/cuda_*.o)
hip=("$build"/backends/hip/hip_*.o)
if [ ${#cuda[@]} -eq 0 ] && [ ${#hip[@]} -eq 0 ]; then
  echo "gpu_resources.sh: no object files of GPU kernels in $build; run: cmake --build $build --target gpu" >&2
  exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# CUDA: cuobjdump tells registers, stack (which holds spills) and static shared memory.
tool=$(command -v cuobjdump || echo /usr/local/cuda/bin/cuobjdump)
for object in "${cuda[@]}"; do
  "$tool" -res-usage "$object" 2>/dev/null | awk '
    /^arch = / {arch = $3}
    /Function/ {name = $2; sub(/:$/, "", name)}
    /REG:/ {
      for (i = 1; i <= NF; ++i) { split($i, part, ":"); value[part[1]] = part[2] }
      print arch, value["REG"], value["SHARED"], value["STACK"], value["LOCAL"], name
    }' >>"$work/rows"
done

# HIP: the metadata notes of each code object in the bundle.
if [ ${#hip[@]} -gt 0 ]; then
  bundler=$(compgen -c clang-offload-bundler | sort -V | tail -n 1)
  readelf=$(compgen -c llvm-readelf | sort -V | tail -n 1)
  if [ -z "$bundler" ] || [ -z "$readelf" ]; then
    echo "gpu_resources.sh: clang-offload-bundler and llvm-readelf are needed for HIP (Debian: llvm, clang)" >&2
    exit 2
  fi
fi
for object in "${hip[@]}"; do
  objcopy --dump-section .hip_fatbin="$work/bundle" "$object" 2>/dev/null || continue
  for target in $("$bundler" --list --type=o --input="$work/bundle" | grep gfx); do
    "$bundler" --unbundle --type=o --targets="$target" --input="$work/bundle" --output="$work/code"
    "$readelf" --notes "$work/code" | awk -v arch="${target##*-}" '
      function flush() { if (name != "") print arch, vgpr, shared, stack, spill, name; name = "" }
      /\.group_segment_fixed_size:/ {shared = $2}
      /^ *- ?\.(args|agpr_count):/ {flush()}
      /\.symbol:/ {name = $2; sub(/\.kd$/, "", name)}
      /\.private_segment_fixed_size:/ {stack = $2}
      /\.vgpr_count:/ {vgpr = $2}
      /\.vgpr_spill_count:/ {spill = 4 * $2}
      END {flush()}' >>"$work/rows"
  done
done

printf '%-8s %9s %8s %8s %8s  %s\n' arch registers shared stack spilled kernel
sort -u "$work/rows" | c++filt -p | sort -k1,1 -k5,5nr -k2,2nr |
  awk '{name = $6; for (i = 7; i <= NF; ++i) name = name " " $i; gsub(/gpu::/, "", name)
        printf "%-8s %9s %8s %8s %8s  %s\n", $1, $2, $3, $4, $5, name}'
if [ -n "$most" ]; then
  awk -v most="$most" '$5 > most {print "spills " $5 " bytes: " $6; bad = 1} END {exit bad}' "$work/rows"
fi
