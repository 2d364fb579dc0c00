#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [arguments of assay run]: sets everything up, then runs the suite `first` (or what the arguments select) and says how
# to run more. It builds what a run needs; `assay conform` needs `build.sh release product`.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(dirname "$here")/build/release/bin/assay
"$here/build.sh" release runnable
[ $# = 0 ] || exec "$program" run "$@"
status=0
"$program" run --suite first || status=$?
printf 'assay: that was the suite first, few cases of every operator. More of them:\n' >&2
printf '  %-24s # %s\n' "$program run" "the suite default, two or three minutes" "$program run --suite full" "about an hour" >&2
exit $status
