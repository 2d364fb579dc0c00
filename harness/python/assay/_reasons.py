# SPDX-License-Identifier: Apache-2.0
"""Why a kernel failed, in one line: the exception, and where it was raised."""
from __future__ import annotations

import os
import shlex
import sys
import traceback
from typing import Iterable

_HERE = os.path.dirname(os.path.realpath(__file__))
_MOST_FRAMES = 3


def no_numpy() -> str:
    """Whatever a kernel computes with, its operands come as arrays of NumPy."""
    return (f"the interpreter {sys.executable} has no NumPy, which every file of kernels needs: "
            f"{shlex.quote(sys.executable)} -m pip install numpy, or name another interpreter with --python OTHER")


def explain(error: BaseException, kernels: str) -> str:
    """The exception with the last lines of its traceback."""
    if isinstance(error, SystemExit):
        text = f"it called sys.exit({'' if error.code is None else repr(error.code)})"
    elif isinstance(error, ModuleNotFoundError) and error.name == "numpy":
        text = no_numpy()
    else:
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
    return text + _closed_to_worker(error, kernels) + places(traceback.extract_tb(error.__traceback__), kernels)


def _closed_to_worker(error: BaseException, kernels: str) -> str:
    """A worker in its sandbox sees that a file is there, and cannot open it: which one, and what to do."""
    if "ASSAY_WORKER_FOLDER" not in os.environ:  # set only in a sandbox
        return ""
    path = ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        stems = [os.path.join(folder, error.name.partition(".")[0]) for folder in sys.path if folder.startswith("/")]
        path = next((p for stem in stems for p in (stem + ".py", stem) if os.path.exists(p)), "")
    elif isinstance(error, PermissionError) and isinstance(error.filename, str) and os.path.exists(error.filename):
        path = os.path.abspath(error.filename)
    if not path:
        return ""
    own = "put the kernels and what they import into a folder of their own"
    if _lies_in_run(os.path.realpath(os.path.dirname(path)), os.path.dirname(os.path.realpath(kernels))):
        return f"; {path} is there, but lies in the folder of a run, which no worker may see: {own}"
    return (f"; {path} is there, but workers do not see it: open its folder with --grant {shlex.quote(os.path.dirname(path))}, or {own}")


def _lies_in_run(folder: str, of_kernels: str) -> bool:
    """Whether --grant would not open the folder, by the rule of the sandbox: results.jsonl marks a run in this folder and
    below the kernels' own; further up it may be anybody's, and a run has its plan beside it."""
    asked = folder
    while folder != os.path.dirname(folder):
        is_near = folder == asked or os.path.commonpath([folder, of_kernels]) == of_kernels
        marks = ("results.jsonl",) if is_near else ("results.jsonl", "plan.json")
        if all(os.path.exists(os.path.join(folder, mark)) for mark in marks):
            return True
        folder = os.path.dirname(folder)
    return False


def places(frames: Iterable[traceback.FrameSummary], kernels: str) -> str:
    """The last of them, as they follow in a message; those of this package are left out."""
    seen = [f for f in frames
            if os.path.dirname(os.path.realpath(f.filename)) != _HERE and not f.filename.startswith("<frozen importlib")]
    text = ""
    for frame in reversed(seen[-_MOST_FRAMES:]):
        name = os.path.basename(frame.filename) if os.path.realpath(frame.filename) == kernels else frame.filename
        text += f"; {'from' if text else 'at'} {name}:{frame.lineno} in {frame.name}"
        text += f": {frame.line}" if frame.line else ""
    return text
