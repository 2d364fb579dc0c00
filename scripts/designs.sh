#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the files of ops/designs anew, each from its line "# design:", and prints for each what it has, misses and
# cannot have. Takes some minutes on two cores; give files to write those alone:
#
#   scripts/designs.sh ops/designs/covering/gelu.suite
set -euo pipefail
cd "$(dirname "$0")/.."

./scripts/build.sh release assay_designs
[ $# -gt 0 ] || set -- ops/designs/*/*.suite
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 build/release/bin/assay_designs
