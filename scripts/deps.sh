#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages of deps-debian.txt, and those that ASSAY_MORE_DEPS names, as far as they are missing. Does nothing,
# and needs no network, when all are there.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

mapfile -t wanted < <(sed 's/#.*//' "$here/deps-debian.txt" | awk 'NF {print $1}')
read -ra more <<<"${ASSAY_MORE_DEPS:-}"
wanted+=("${more[@]}")

if ! command -v dpkg-query >/dev/null; then
  echo "assay: this is not a Debian system, so packages cannot be installed for you." >&2
  echo "assay: install the equivalents of: ${wanted[*]}" >&2
  echo "assay: then run again with ASSAY_SKIP_DEPS=1." >&2
  [ "${ASSAY_SKIP_DEPS:-0}" = 1 ] && exit 0
  exit 1
fi
[ "${ASSAY_SKIP_DEPS:-0}" = 1 ] && exit 0

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo)
  elif command -v sudo >/dev/null && [ -t 0 ]; then
    as_root=(sudo)
  else
    echo "assay: these packages are missing and cannot be installed without root: ${missing[*]}" >&2
    echo "assay: ask an administrator to run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
fi

echo "assay: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
if ! { "${as_root[@]}" apt-get update -qq && "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; }; then
  echo "assay: apt-get could not install: ${missing[*]}" >&2
  echo "assay: install them by hand, then run this command again." >&2
  exit 1
fi
