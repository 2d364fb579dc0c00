# SPDX-License-Identifier: Apache-2.0
"""Reads other projects' test cases for `assay import`, started as _reader.py SETTINGS FILE... Prints a line of JSON for each case,
and behind it the bytes of its tensors: the program checks and writes them (harness/tools/import)."""
import collections
import importlib.util
import json
import os
import signal
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def import_assay() -> None:
    """By its own place, as what else lies beside it may be of another interpreter; nor is the place of this script, or
    that of the files, a place of modules."""
    sys.path[:] = [place for place in sys.path if os.path.realpath(place) != os.path.realpath(_PACKAGE)]
    spec = importlib.util.spec_from_file_location("assay", os.path.join(_PACKAGE, "__init__.py"),
                                                  submodule_search_locations=[_PACKAGE])
    module = importlib.util.module_from_spec(spec)
    sys.modules["assay"] = module
    spec.loader.exec_module(module)


def _items(settings: dict, path: str):
    kind = settings["format"]
    if kind == "benchdnn":
        from assay.importers.benchdnn import read
        return read(path, settings["driver"])
    if kind == "ggml":
        from assay.importers.ggml import read
        return read(path, settings["near_types"])
    if kind == "iree":
        from assay.importers.iree import read
        return read(path)
    from assay.importers.onnx import read
    return read(path, settings["with_tensors"], settings["by_node"])


def _tell(output, **line) -> None:
    output.write(json.dumps(line).encode() + b"\n")


_TOLD: set = set()  # names of definitions that the program has
_CASES: dict = {}  # cases in the order of their lines, and how often each came again


def _tell_item(output, item, verbose) -> None:
    from assay.importers._cases import Option
    if isinstance(item, Option):
        return _tell(output, option=item.name, known=item.known)
    line = {"where": item.where, "text": item.text}
    case = item.case
    if case is None:
        return _tell(output, **line, reason=item.reason)
    if not case.inputs:
        again = (len(_CASES),) if verbose else (case.op, *case.dtypes, case.fill, case.other_types, *map(str, case.attrs.items()))
        if again in _CASES:
            _CASES[again] += item.count
            return
        _CASES[again] = item.count - 1
    tensors = {key: [[one.name, one.dtype, list(one.shape)] for one in getattr(case, key)] for key in ("inputs", "outputs")}
    _tell(output, **line, label=item.label, op=case.op, dtypes=case.dtypes, attrs=[[k, str(v)] for k, v in case.attrs.items()],
          fill=case.fill, other_types=case.other_types, **({"definition": case.definition} if case.definition and case.op not in _TOLD else {}),
          **(tensors if case.inputs else {}))
    _TOLD.add(case.op)
    for one in [*case.inputs, *case.outputs]:
        output.write(one.data)


def _explain_missing(settings: dict) -> str:
    if settings["format"] != "onnx" or importlib.util.find_spec("onnx"):
        return ""
    return (f"the interpreter {sys.executable} lacks the package onnx, which reads these files; install it (pip install onnx, "
            "or apt-get install python3-onnx), or name another interpreter with --python PATH")


def _main(settings: dict, paths: list, output) -> None:
    if sys.version_info < (3, 10):
        return _tell(output, error=f"the interpreter {sys.executable} is Python {sys.version.split()[0]}; importing needs 3.10 "
                                   "or later: --python PATH")
    sys.dont_write_bytecode = True
    import_assay()
    if missing := _explain_missing(settings):
        return _tell(output, error=missing)
    from assay.importers._cases import Found, Unusable, show_path
    refused: collections.Counter = collections.Counter()  # as often as each reason, where nobody asks for which case
    for path in paths:
        try:
            for item in _items(settings, path):
                if isinstance(item, Found) and item.case is None and not settings["verbose"]:
                    refused[item.reason] += 1
                else:
                    _tell_item(output, item, settings["verbose"])
        except Unusable as error:
            return _tell(output, error=str(error))
        except OSError as error:
            return _tell(output, error=f"cannot read {show_path(path)}: {error.strerror}; check the path")
    if again := [[place, count] for place, count in enumerate(_CASES.values()) if count]:
        _tell(output, again=again)
    for reason, count in refused.items():
        _tell(output, refused=reason, count=count)
    _tell(output, done=True)


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "wb") as told:
        os.dup2(2, 1)  # what a module prints is none of it
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the program may be interrupted
        told.write(b"\n")  # behind what the interpreter's start may have printed
        _main(json.loads(sys.argv[1]), sys.argv[2:], told)
