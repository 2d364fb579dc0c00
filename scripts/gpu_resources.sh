#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu_resources.sh [ARCHITECTURE...] [--max-spill BYTES]: registers, shared memory, stack and spills of every kernel of
# the GPU plugins, as ptxas and LLVM tell them. sm_NN is compiled by nvcc, gfxNN by hipcc; default sm_80, sm_90,
# gfx90a and gfx1100, those whose compiler is there. A minute or so per architecture. Exit 1 when a kernel spills more than --max-spill.
set -euo pipefail
root=$(dirname "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)")
most=""
architectures=()
while [ $# -gt 0 ]; do
  case $1 in
    --max-spill) most=$2; shift ;;
    sm_* | gfx*) architectures+=("$1") ;;
    *) echo "gpu_resources.sh: unknown argument $1; known: sm_NN, gfxNN, --max-spill BYTES" >&2; exit 2 ;;
  esac
  shift
done
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
hipcc=$(command -v hipcc || ls /opt/rocm/bin/hipcc 2>/dev/null || true)
if [ ${#architectures[@]} -eq 0 ]; then
  [ -n "$nvcc" ] && architectures+=(sm_80 sm_90)
  [ -n "$hipcc" ] && architectures+=(gfx90a gfx1100)
fi
[ ${#architectures[@]} -gt 0 ] || { echo "gpu_resources.sh: neither nvcc nor hipcc found" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Rows "architecture registers shared stack spilled kernel", bytes but for registers.
cuda_rows() {
  "$nvcc" -x cu -std=c++20 -O3 -fmad=false -DASSAY_GPU_CUDA -I"$root" -arch="$1" -cubin -Xptxas -v -o "$work/cubin" "$2" 2>&1 |
    awk -v arch="$1" '
      /Compiling entry function/ {split($0, part, "\047"); name = part[2]}
      /bytes stack frame/ {stack = $1; spill = $5 + $9}
      /Used [0-9]+ registers/ && name != "" {
        shared = 0
        for (i = 1; i <= NF; ++i) if ($i == "Used") registers = $(i + 1); else if ($i ~ /^smem,?$/) shared = $(i - 2)
        print arch, registers, shared, stack, spill, name
        name = ""
      }'
}
hip_rows() {
  "$hipcc" -x hip -std=c++20 -O3 -ffp-contract=off -DASSAY_GPU_HIP -I"$root" --offload-arch="$1" "${library_path[@]}" --cuda-device-only -c \
    -Rpass-analysis=kernel-resource-usage -o "$work/code" "$2" 2>&1 |
    awk -v arch="$1" '
      function value() { for (i = 1; i <= NF; ++i) if ($i ~ /:$/ && $(i + 1) ~ /^[0-9]+$/) found = $(i + 1); return found }
      /Function Name:/ {name = $0; sub(/.*Function Name: /, "", name); sub(/ .*/, "", name)}
      / VGPRs: / {registers = value()}
      /ScratchSize/ {stack = value()}
      /VGPRs Spill: / {spill = 4 * value()}
      /LDS Size/ {print arch, registers, value(), stack, spill, name}'
}
# Device libraries may be older than an architecture: the build of plugin hip makes what they lack.
library_path=()
echo '#include <hip/hip_runtime.h>' >"$work/probe.hip"
probe() { "$hipcc" -x hip --offload-arch="$1" "${library_path[@]}" --cuda-device-only -c -o "$work/code" "$work/probe.hip" 2>"$work/why"; }
for architecture in "${architectures[@]}"; do
  [[ $architecture == gfx* ]] && ! probe "$architecture" || continue
  made=$(ls -d "$root"/build/*/backends/hip/bitcode 2>/dev/null | head -1 || true)
  [ -z "$made" ] || library_path=("--rocm-device-lib-path=$made")
  probe "$architecture" || { echo "gpu_resources.sh: hipcc does not compile for $architecture; configure with ASSAY_HIP=ON first, which makes what its device libraries lack:" >&2; cat "$work/why" >&2; exit 2; }
done

for architecture in "${architectures[@]}"; do
  for source in "$root"/backends/gpu/kernels/*.cc; do
    case $architecture in
      sm_*) cuda_rows "$architecture" "$source" ;;
      gfx*) hip_rows "$architecture" "$source" ;;
    esac
  done
done >"$work/rows"

printf '%-8s %9s %8s %8s %8s  %s\n' arch registers shared stack spilled kernel
sort -k1,1 -k5,5nr -k2,2nr "$work/rows" | c++filt |
  awk '{name = $6; for (i = 7; i <= NF; ++i) name = name " " $i
        gsub(/gpu::/, "", name); sub(/^void /, "", name); sub(/\(.*/, "", name)
        printf "%-8s %9s %8s %8s %8s  %s\n", $1, $2, $3, $4, $5, name}'
[ -z "$most" ] || awk -v most="$most" '$5 > most {bad = 1} END {exit bad}' "$work/rows"
