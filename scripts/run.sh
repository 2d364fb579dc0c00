#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [arguments of assay run]: sets everything up, then runs the default suite (or what the arguments select). It builds
# what a run needs; `assay conform` needs `build.sh release product`.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/build.sh" release runnable
exec "$(dirname "$here")/build/release/bin/assay" run "$@"
