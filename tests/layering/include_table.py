# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom, and how long files are.

The layers stand on each other in the order of LAYERS; those in one line do not see one another. The parts that run a
plugin see of ops only operator.h, and the ABI. Reports see base and model. Backends see only abi and common, never what
judges them. The command line sees everything, and its verbs that lie beside their tools (verb_*) do.

  include_table.py ROOT              checks the tree; prints "file:line: what" and exits 1 on a violation
  include_table.py ROOT --self-test  plants violations in a copy of the layout and fails unless each one is found
"""
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')  # <> too, or it would be a way around
SUFFIXES = {".h", ".cc", ".c", ".cu", ".hpp", ".cpp", ".inc"}
TREES = ("harness", "golden", "ops", "reports", "backends")
MAX_LINES = 499  # the hard cap is below 500
LAYERS = (("harness/core/base/",), ("harness/core/data/",), ("harness/core/model/",), ("golden/",), ("ops/formula/",), ("ops/",),
          ("harness/plan/", "harness/exec/", "harness/judge/", "harness/engine/perf/"), ("harness/engine/cases/",),
          ("harness/engine/results/",), ("harness/engine/device/",), ("reports/compare/",), ("harness/engine/timing/",), ("harness/engine/trial/",),
          ("harness/engine/",), ("harness/tools/explain/",),
          ("harness/tools/check/", "harness/tools/power/", "harness/tools/explore/", "harness/tools/shrink/",
           "harness/tools/fingerprint/", "harness/tools/align/", "harness/tools/candidate/"),
          ("harness/c_api/",), ("harness/tools/bundle/", "harness/tools/import/"))


def allowed(path):
    """The path prefixes that the file at this path (relative to the root, with '/') may include; None: anything."""
    parts = path.split("/")
    if path.startswith("harness/cli/") or path.startswith("harness/tools/") and parts[-1].startswith("verb_"):
        return None
    if path.startswith("harness/exec/"):
        return ["harness/core/base/", "harness/core/data/", "harness/core/model/", "harness/exec/", "ops/operator.h", "backends/abi/"]
    if parts[0] == "reports":
        return ["reports/", "harness/core/base/", "harness/core/model/"]
    if parts[0] == "backends" and len(parts) > 2:
        shared = ["backends/gpu/"] if parts[1] in ("cuda", "hip") else []  # one kernel source for both
        return ["backends/abi/", "backends/common/", f"backends/{parts[1]}/"] + shared
    below = []
    for layer in LAYERS:
        own = [folder for folder in layer if path.startswith(folder)]
        if own:
            return below + own
        below += layer
    return []  # a folder that the design does not know includes nothing of ours


def resolve(root, path, name):
    """The included file relative to the root, or None for a header that is not ours (an SDK's)."""
    for base in (root, (root / path).parent):
        target = (base / name).resolve()
        if target.is_file() and target.is_relative_to(root):
            return target.relative_to(root).as_posix()
    # A name under one of our folders is meant as ours even where the file is absent.
    return name if name.split("/")[0] in TREES else None


def violations(root):
    root = pathlib.Path(root).resolve()
    found, files = [], 0
    for tree in TREES + ("tests",):
        for file in sorted((root / tree).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            files += 1
            path = file.relative_to(root).as_posix()
            lines = file.read_text(encoding="utf-8").splitlines()
            if len(lines) > MAX_LINES:
                found.append(f"{path}:1: {len(lines)} lines, at most {MAX_LINES}; split it")
            if tree == "tests":
                continue  # tests may look at everything
            prefixes = allowed(path)
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                if match is None or prefixes is None:
                    continue
                target = resolve(root, path, match.group(1))
                if target is not None and not target.startswith(tuple(prefixes)):
                    found.append(f"{path}:{number}: includes {target}; allowed: {' '.join(prefixes) or 'nothing'}")
    return files, found


def self_test():
    """Each planted line must be found, and the same number of legal ones must pass."""
    bad = [("harness/core/base/a.h", "harness/core/data/d.h"), ("harness/core/data/a.cc", "harness/core/model/m.h"),
           ("harness/core/model/a.cc", "golden/g.h"), ("golden/a.cc", "ops/operator.h"), ("ops/a.cc", "harness/plan/p.h"), ("ops/formula/a.cc", "ops/operator.h"),
           ("ops/a.cc", "backends/abi/x.h"), ("backends/cpu/a.cc", "harness/core/base/b.h"), ("backends/cpu/a.cc", "golden/g.h"),
           ("backends/cpu/a.cc", "backends/gpu/x.h"), ("backends/cpu/a.cc", "../gpu/x.h"),
           ("backends/common/a.cc", "ops/operator.h"), ("harness/plan/a.cc", "harness/exec/e.h"),
           ("harness/judge/kernel/a.cc", "harness/plan/p.h"), ("harness/exec/wire/a.cc", "ops/matmul/matmul.h"),
           ("harness/exec/a.cc", "golden/g.h"), ("harness/engine/perf/a.cc", "backends/common/x.h"),
           ("harness/engine/cases/a.cc", "harness/engine/r.h"), ("harness/engine/results/a.cc", "harness/engine/r.h"),
           ("harness/engine/a.cc", "harness/cli/c.h"), ("harness/engine/a.cc", "reports/r.h"),
           ("harness/engine/device/a.cc", "harness/engine/timing/t.h"), ("harness/engine/timing/a.cc", "harness/engine/trial/t.h"),
           ("harness/engine/trial/a.cc", "harness/engine/r.h"), ("harness/engine/device/a.cc", "harness/engine/r.h"),
           ("harness/engine/a.cc", "harness/tools/check/k.h"), ("harness/tools/power/a.cc", "harness/tools/check/k.h"),
           ("harness/tools/explore/a.cc", "harness/tools/check/k.h"), ("harness/tools/shrink/a.cc", "harness/tools/check/k.h"), ("harness/tools/explain/a.cc", "harness/tools/check/k.h"), ("harness/tools/check/a.cc", "harness/cli/c.h"), ("harness/plan/verb_a.cc", "harness/cli/c.h"), ("harness/tools/check/a.cc", "harness/c_api/a.h"),
           ("harness/c_api/a.cc", "harness/cli/c.h"), ("harness/c_api/a.cc", "reports/r.h"),
           ("reports/a.cc", "golden/g.h"), ("reports/a.cc", "harness/cli/c.h"), ("harness/other/a.cc", "harness/core/base/b.h"),
           ("harness/plan/a.cc", "harness/exec/absent.h"), ("golden/a.cc", "<ops/operator.h>"), ("golden/a.cc", "reports/compare/c.h"), ("harness/judge/a.cc", "reports/compare/c.h")]
    good = [("harness/core/data/a.cc", "harness/core/base/b.h"), ("golden/a.cc", "harness/core/data/d.h"), ("ops/matmul/a.cc", "golden/g.h"),
            ("ops/a.cc", "ops/operator.h"), ("ops/formula_operator/a.cc", "ops/operator.h"), ("backends/gpu/a.cc", "backends/abi/x.h"), ("backends/gpu/a.cc", "x.h"),
            ("backends/gpu/a.cc", "backends/common/x.h"), ("backends/gpu/a.cc", "cuda/sdk.h"),
            ("harness/exec/worker/a.cc", "backends/abi/x.h"), ("harness/exec/a.cc", "ops/operator.h"),
            ("harness/judge/a.cc", "ops/matmul/matmul.h"), ("harness/engine/a.cc", "harness/exec/e.h"),
            ("harness/engine/timing/a.cc", "harness/engine/device/d.h"), ("harness/engine/trial/a.cc", "harness/engine/timing/t.h"),
            ("harness/engine/a.cc", "harness/engine/trial/t.h"), ("harness/tools/power/a.cc", "harness/engine/device/d.h"),
            ("harness/tools/check/a.cc", "harness/engine/r.h"), ("harness/c_api/a.cc", "harness/tools/check/k.h"), ("harness/tools/explore/a.cc", "harness/engine/r.h"),
            ("reports/html/a.cc", "harness/core/model/m.h"),
            ("harness/cli/golden/a.cc", "reports/r.h"), ("harness/tools/check/verb_a.cc", "harness/cli/c.h"), ("golden/a.cc", "<string>")]
    headers = ["harness/core/base/b.h", "harness/core/data/d.h", "harness/core/model/m.h", "golden/g.h", "ops/operator.h",
               "ops/matmul/matmul.h", "harness/plan/p.h", "harness/exec/e.h", "harness/engine/r.h", "harness/tools/check/k.h",
               "harness/engine/device/d.h", "harness/engine/timing/t.h", "harness/engine/trial/t.h",
               "harness/c_api/a.h", "harness/cli/c.h", "reports/r.h", "reports/compare/c.h", "backends/abi/x.h", "backends/common/x.h", "backends/gpu/x.h"]
    failures = []
    for cases, expected in ((bad, 1), (good, 0)):
        for path, include in cases:
            with tempfile.TemporaryDirectory() as folder:
                for name in headers + [path]:
                    file = pathlib.Path(folder, name)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    line = f"#include {include}\n" if include.startswith("<") else f'#include "{include}"\n'
                    file.write_text(line if name == path else "")
                if len(violations(folder)[1]) != expected:
                    failures.append(f"self-test: {path} including {include} should give {expected} violations")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "ops/long.cc")
        file.parent.mkdir()
        file.write_text("\n" * (MAX_LINES + 1))
        if len(violations(folder)[1]) != 1:
            failures.append("self-test: a file over the length limit was not found")
    return failures


def main():
    root = sys.argv[1]
    if "--self-test" in sys.argv[2:]:
        found = self_test()
    else:
        files, found = violations(root)
        print(f"{files} files looked at")
        if files == 0:
            found = [f"no source file under {root}: wrong folder?"]
    print("\n".join(found) if found else "ok")
    return 1 if found else 0


sys.exit(main())
