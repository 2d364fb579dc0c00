#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# package.sh [--build DIR] [--out DIR]: assay-<version>-linux-<machine>.tar.gz, which runs where it is unpacked: the
# program, its plugins, suites, and the shared libraries they need with their licences. What it leaves to the system is
# in its MANIFEST. Without --build it sets everything up and builds first; DIR of --out is the current one by default.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")

fail() {
  echo "assay: package: $*" >&2
  exit 1
}

build= out=$PWD
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || fail "$1 needs a value"
  case $1 in
    --build) build=$(cd "$2" && pwd) || fail "--build $2: no such folder" ;;
    --out) mkdir -p "$2" && out=$(cd "$2" && pwd) ;;
    *) fail "unknown option $1; known: --build DIR, --out DIR" ;;
  esac
  shift 2
done
if [ -z "$build" ]; then
  "$here/build.sh" release product "-DASSAY_CUDA_ARCHITECTURES=80;90"
  "$here/build.sh" release gpu
  build=$root/build/release
fi
[ -f "$build/CMakeCache.txt" ] || fail "$build is no build folder"
command -v dpkg-query >/dev/null || fail "the libraries' licences are read from Debian packages: run this on Debian"

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
name=assay-$version-linux-$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/$name
cmake --install "$build" --prefix "$stage" --strip >"$work/install.log" || { cat "$work/install.log" >&2; exit 1; }
mkdir -p "$stage/lib/assay/deps" "$stage/licences"

# The C library and what belongs to a device stay the system's, and so does the C++ runtime: a driver that was built
# with a newer compiler would not load beside an older one.
is_of_the_system() {
  case $1 in
    libstdc++.so.* | libgcc_s.so.*) ;;
    ld-linux* | libc.so.* | libm.so.* | libmvec.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.* | libutil.so.*) ;;
    libvulkan.so.* | libcuda.so.* | libcudart.so.* | libcudnn* | libcublas* | libcufft* | libnvrtc* | libamdhip64.so.* | libhsa-runtime64.so.*) ;;
    *) return 1 ;;
  esac
}

# "CUDA for sm_80,90 and PTX", as this build was configured.
kernels_of() {
  sed -n "s/^{\"$1\", .*\"\(CUDA\|HIP\) for \([^;\"]*\).*/\1 for \2/p" "$build/generated/configured_backends.inc"
}

# Prints what the system must provide for a plugin.
needs_of() {
  case $1 in
    vulkan) echo "Vulkan loader and a driver (Debian: libvulkan1, and mesa-vulkan-drivers or the vendor's own)" ;;
    opencl) echo "an OpenCL driver (Debian: pocl-opencl-icd, mesa-opencl-icd or the vendor's own)" ;;
    cuda) echo "NVIDIA's driver, and cuBLASLt, cuFFT and cuDNN for what they compute; $(kernels_of cuda)" ;;
    hip) echo "AMD's driver and ROCm; $(kernels_of hip)" ;;
    *) echo "nothing" ;;
  esac
}

# "soname path" of the shared libraries that the given files need and that are not the system's, directly or through
# each other. Asked of the build's own files: they still know where an SDK outside of the system's folders lies.
libraries_of() {
  local -A path_of=() seen=()
  local soname path
  while read -r soname path; do
    path_of[$soname]=$path
  done < <(ldd "$@" | awk '/not found/ {print $1, "missing"} $2 == "=>" && $3 ~ /^\// {print $1, $3}')
  local files=("$@")
  while [ ${#files[@]} -gt 0 ]; do
    local file=${files[0]}
    files=("${files[@]:1}")
    while read -r soname; do
      if [ -n "${seen[$soname]:-}" ] || is_of_the_system "$soname"; then continue; fi
      seen[$soname]=1
      path=${path_of[$soname]:-missing}
      echo "$soname $path"
      [ "$path" = missing ] || files+=("$path")
    done < <(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  done | sort
}

# The Debian package of a file; /lib and /usr/lib are one folder on today's systems, but not in its database.
package_of() {
  local real
  real=$(realpath "$1")
  for path in "$real" "${real#/usr}" "/usr$real"; do
    if dpkg-query -S "$path" 2>/dev/null | sed 's/:.*//' | head -n 1 | grep .; then return; fi
  done
  fail "$1 belongs to no Debian package, so its licence is not known"
}

add_licence() {
  [ -f "/usr/share/doc/$1/copyright" ] || fail "package $1 has no copyright file"
  cp -L "/usr/share/doc/$1/copyright" "$stage/licences/$1.txt"
}

cp "$root/LICENSE" "$stage/LICENSE"
find "$stage/lib/assay/corpus" -type f ! -name libassay_control.so -delete  # measures the judge, not a device
rm -f "$stage/lib/assay/plugins/libassay_hip_cpu.so"  # has HIP-CPU compiled in, which is its user's own
plugins=()
for plugin in "$build"/lib/assay/plugins/*.so; do
  [ ! -e "$stage/lib/assay/plugins/${plugin##*/}" ] || plugins+=("$plugin")
done
{
  echo "assay $version for Linux on $(uname -m). Unpack anywhere; bin/assay finds the rest beside itself."
  echo
  echo "From the system: the C library, glibc $(ldd --version | sed -n '1s/.* //p') or newer, the C++ runtime (libstdc++.so.6 and"
  echo "libgcc_s.so.1) of GCC $(c++ -dumpfullversion) or newer, as on the system that this was built on, and for"
  for plugin in "${plugins[@]}"; do
    short=$(basename "$plugin" .so)
    printf '  %-10s %s\n' "${short#libassay_}" "$(needs_of "${short#libassay_}")"
  done
  echo
  echo "Shared libraries in lib/assay/deps, unmodified from Debian packages (source: https://sources.debian.org):"
} >"$stage/MANIFEST"

while read -r soname path; do
  [ "$path" != missing ] || fail "$soname is not found; is its package installed?"
  case $soname in libfftw*) fail "$soname is under the GPL and never shipped" ;; esac
  cp -L "$path" "$stage/lib/assay/deps/$soname"
  package=$(package_of "$path")
  add_licence "$package"
  printf '  %-22s %-26s %s\n' "$soname" "$package" "$(dpkg-query -W -f '${Version}, source ${source:Package}' "$package")" >>"$stage/MANIFEST"
done < <(libraries_of "$build/bin/assay" "${plugins[@]}")

{
  echo
  echo "Compiled in (headers of Debian packages):"
  for package in libcli11-dev nlohmann-json3-dev libexpected-dev; do
    add_licence "$package"
    printf '  %-26s %s\n' "$package" "$(dpkg-query -W -f '${Version}' "$package")"
  done
  echo
  echo "Licences: LICENSE (assay) and licences/<package>.txt."
} >>"$stage/MANIFEST"

# The archive is reproducible: one build always gives the same bytes.
epoch=$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)
tar --create --directory "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" "$name" |
  gzip -n9 >"$work/$name.tar.gz"
mv "$work/$name.tar.gz" "$out/$name.tar.gz"
echo "$out/$name.tar.gz"
