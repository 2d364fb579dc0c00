# SPDX-License-Identifier: Apache-2.0
"""Checks that clang-format would change no file of C, C++ or CUDA. The version counts, as each formats in its own way.

  format.py ROOT              checks the tree; prints "file:line:column: what" and exits 1 on a violation
  format.py ROOT --self-test  plants a file in another format and a good one, and fails unless exactly the bad one is found

It exits with SKIPPED where the version of Debian 12 is not installed.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from concurrent.futures import ThreadPoolExecutor

VERSION = "14"
SKIPPED = 77
SUFFIXES = (".c", ".cc", ".cu", ".h")
AT_ONCE = 64  # files that one process looks at


def program():
    """The path of clang-format in the version that counts, or None."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path and re.search(rf"version {VERSION}\.", subprocess.run([path, "--version"], capture_output=True, text=True).stdout):
            return path
    return None


def sources_of(root):
    """The files that are checked, without what a build makes."""
    for folder, folders, names in os.walk(root):
        skip = r"\.|build|out" if folder == str(root) else r"\."
        folders[:] = [name for name in folders if not re.match(skip, name)]
        yield from (str(pathlib.Path(folder, name).relative_to(root)) for name in sorted(names) if name.endswith(SUFFIXES))


def violations(root, formatter):
    """(number of files, "file:line:column: what" of each file that is formatted in another way)."""
    files = sorted(sources_of(root))
    groups = [files[i:i + AT_ONCE] for i in range(0, len(files), AT_ONCE)]

    def check(group):
        return subprocess.run([formatter, "--style=file", "--dry-run", *group], cwd=root, capture_output=True, text=True).stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = re.findall(r"^(\S+?:\d+:\d+): warning:", "".join(pool.map(check, groups)), re.M)
    first = {place.split(":")[0]: place for place in reversed(found)}
    return len(files), [f"{first[file]}: not as clang-format {VERSION} has it; run: clang-format -i {file}" for file in sorted(first)]


def self_test(root, formatter):
    """Exactly the planted file must be found."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(root / ".clang-format", folder)
        texts = {"good.cc": "int* a = nullptr;\n", "sub/bad.h": "int a;\nint *b;\n", "build/a.cc": "int  a;\n", "bad.c": "int  a;\n"}
        for name, text in texts.items():
            file = pathlib.Path(folder, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        files, found = violations(pathlib.Path(folder), formatter)
    places = [":".join(problem.split(":")[:2]) for problem in found]
    return [] if files == 3 and places == ["bad.c:1", "sub/bad.h:2"] else [f"self-test: {files} files, found {places}"]


def main():
    root, formatter = pathlib.Path(sys.argv[1]).resolve(), program()
    if formatter is None:
        print(f"clang-format {VERSION} is not installed: nothing is checked")
        return SKIPPED
    if "--self-test" in sys.argv[2:]:
        found = self_test(root, formatter)
    else:
        files, found = violations(root, formatter)
        print(f"{files} files, {len(found)} in another format")
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
