# SPDX-License-Identifier: Apache-2.0
"""The verb `assay model`: ``watch_onnx`` with a model, arrays and runtimes that a command line names."""
from __future__ import annotations

import os
import sys
import traceback
from typing import Any, Mapping, Optional

from .._errors import Error, UsageError
from .onnx_model import watch_onnx


def _arrays(path: str) -> Optional[dict[str, Any]]:
    if not path:
        return None
    import numpy
    try:
        file = numpy.load(path)
        if isinstance(file, numpy.ndarray):
            raise ValueError("it holds one array without a name")
        with file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"--inputs {path} cannot be read: {error}; numpy.savez writes such files, with a name for each array") from None


def _judge(settings: Mapping[str, Any]) -> int:
    providers = [name for name in settings["provider"].split(",") if name]
    if not providers:
        raise UsageError("--provider names no runtime; leave it out for CPUExecutionProvider")
    arrays, watches = _arrays(settings["inputs"]), []
    for provider in providers:
        interrupt = None
        try:
            w = watch_onnx(settings["file"], arrays, provider, settings["sample"], settings["contract"] or None, settings["fused"], settings["seed"])
        except KeyboardInterrupt as error:
            interrupt, w = error, getattr(error, "watch", None)
            if w is None:
                raise
        print(f"{provider}: {w}", flush=True)
        if settings["out"]:
            w.save(settings["out"] if len(providers) == 1 else os.path.join(settings["out"], provider))
        if interrupt is not None:
            print(f"assay: interrupted; the table above has the {len(w.nodes)} results that were judged until then", file=sys.stderr)
            raise interrupt
        watches.append(w)
    if not any(w.nodes for w in watches):
        return 4
    return 1 if any(w.failures for w in watches) else 0


def main(settings: Mapping[str, Any]) -> int:
    """Prints the findings. Returns the exit code."""
    try:
        return _judge(settings)
    except UsageError as error:
        code, text = 2, str(error)
    except (Error, OSError, MemoryError, ImportError) as error:
        code, text = 3, str(error)
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # by Python's own exit code 1 a result would be wrong
        traceback.print_exc()
        code, text = 3, f"this should not happen: {type(error).__name__}: {error}"
    print(f"assay: {text}", file=sys.stderr)
    return code
