# SPDX-License-Identifier: Apache-2.0
"""Compiles every header by itself, so that including one never depends on what came before it.

  headers_alone.py ROOT COMPILER FLAG...              prints the headers that fail and exits 1
  headers_alone.py ROOT COMPILER --self-test FLAG...  plants a header that needs another one and expects it to fail

A .h whose second language is C (backends/abi) is compiled as C11 as well. Headers of a backend's SDK may be absent, so
of backends/ only abi and common are looked at.
"""
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile

FOLDERS = ("harness", "golden", "ops", "reports", "backends/abi", "backends/common")


def compile_alone(compiler, flags, root, header, language):
    standard = "c++20" if language == "c++" else "c11"
    command = [compiler, "-fsyntax-only", "-x", language, f"-std={standard}", "-Wall", "-Wextra",
               "-Werror", f"-I{root}", *flags, "-include", str(header), "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True)
    return None if done.returncode == 0 else f"{header} as {language}:\n{done.stderr}"


def failures(root, compiler, flags):
    jobs = []
    for folder in FOLDERS:
        for header in sorted((root / folder).rglob("*.h")):
            jobs.append((header, "c++"))
            if folder == "backends/abi":
                jobs.append((header, "c"))
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda job: compile_alone(compiler, flags, root, *job), jobs))
    return len(jobs), [result for result in results if result is not None]


def main():
    root, compiler, flags = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    if "--self-test" in flags:
        flags.remove("--self-test")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "ops").mkdir()
            pathlib.Path(folder, "ops/good.h").write_text("#pragma once\n#include <string>\nstd::string Good();\n")
            pathlib.Path(folder, "ops/bad.h").write_text("#pragma once\nstd::string Bad();\n")
            count, found = failures(pathlib.Path(folder), compiler, flags)
            ok = count == 2 and len(found) == 1 and "bad.h" in found[0]
            print("ok" if ok else f"self-test: expected bad.h alone to fail, got {found}")
            return 0 if ok else 1
    count, found = failures(root, compiler, flags)
    print(f"{count} headers compiled")
    print("\n".join(found))
    return 1 if found or count == 0 else 0


sys.exit(main())
