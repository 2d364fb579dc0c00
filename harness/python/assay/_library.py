# SPDX-License-Identifier: Apache-2.0
"""libassay.so by ctypes: finding it, its structs (assay/assay.h), and its errors as exceptions. Loaded at the first call
that needs it, so that importing assay costs nothing."""
from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, Structure, byref, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Optional

from ._errors import Error, UsageError

NAME = "libassay.so"


class Array(Structure):
    _fields_ = [("struct_size", c_uint64), ("name", c_char_p), ("data", c_void_p), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("rank", c_int32), ("type_code", c_uint8), ("bits", c_uint8),
                ("lanes", c_uint16), ("type", c_char_p)]


class Question(Structure):
    _fields_ = [("struct_size", c_uint64), ("op", c_char_p), ("n_attrs", c_uint64), ("attrs", POINTER(c_char_p)),
                ("n_inputs", c_uint64), ("inputs", POINTER(POINTER(Array))), ("n_outputs", c_uint64),
                ("outputs", POINTER(POINTER(Array))), ("contract", c_char_p), ("require", c_char_p), ("tier", c_char_p),
                ("explain", c_char_p), ("sample", c_uint64), ("sample_seed", c_uint64), ("n_sample_at", c_uint64),
                ("sample_at", POINTER(c_uint64))]


class Selection(Structure):
    _fields_ = [("struct_size", c_uint64), ("suite", c_char_p), ("ops", c_char_p), ("dtypes", c_char_p),
                ("filter", c_char_p), ("n_cases", c_uint64), ("cases", POINTER(c_char_p))]


_PROTOTYPES = {
    "version": (c_char_p, []),
    "last_error": (c_char_p, []),
    "judge": (c_int32, [POINTER(Question), POINTER(c_void_p)]),
    "verdict_free": (None, [c_void_p]),
    "verdict_name": (c_char_p, [c_void_p]),
    "verdict_class": (c_char_p, [c_void_p]),
    "verdict_reason": (c_char_p, [c_void_p]),
    "verdict_record": (c_char_p, [c_void_p]),
    "verdict_text": (c_char_p, [c_void_p]),
    "cases_select": (c_int32, [POINTER(Selection), POINTER(c_void_p)]),
    "cases_free": (None, [c_void_p]),
    "cases_count": (c_uint64, [c_void_p]),
    "cases_id": (c_char_p, [c_void_p, c_uint64]),
    "case_make": (c_int32, [c_void_p, c_uint64, POINTER(c_void_p)]),
    "case_free": (None, [c_void_p]),
    "case_text": (c_char_p, [c_void_p]),
    "case_input": (c_int32, [c_void_p, c_uint64, POINTER(Array)]),
    "case_judge": (c_int32, [c_void_p, c_uint64, POINTER(POINTER(Array)), c_char_p, POINTER(c_void_p)]),
    "case_judge_sample": (c_int32, [c_void_p, c_uint64, POINTER(POINTER(Array)), c_char_p, c_uint64, c_uint64, POINTER(c_void_p)]),
    "operators": (c_int32, [POINTER(c_char_p)]),
    "add_operators": (c_int32, [c_char_p]),
}

_loaded: Optional[ctypes.CDLL] = None


def _candidates() -> list[str]:
    """Where the library lies beside this package: in a wheel, in <prefix>/lib/assay/python, in a tree of sources."""
    here = os.path.dirname(os.path.realpath(__file__))
    above = os.path.normpath(os.path.join(here, "../../.."))
    found = [os.path.join(here, "_prefix/lib", NAME), os.path.join(above, NAME)]
    if os.path.isdir(os.path.join(above, "harness/c_api")):
        found += [os.path.join(above, "build", preset, "lib", NAME) for preset in ("release", "dev")]
    return found


def find() -> str:
    """The library's path: $ASSAY_LIBRARY, or the one beside this package. Raises Error where there is none."""
    stated = os.environ.get("ASSAY_LIBRARY")
    if stated:
        if os.path.isfile(stated):
            return stated
        raise Error(f"ASSAY_LIBRARY={stated}: there is no such file; name {NAME}, which a build has in its folder lib")
    tried = _candidates()
    for path in tried:
        if os.path.isfile(path):
            return path
    raise Error(f"{NAME} was not found: neither {', nor '.join(tried)}. Install with `pip install .`, build "
                f"target assay_library, or say where it is: ASSAY_LIBRARY=/path/to/{NAME}")


def load() -> ctypes.CDLL:
    """The library, with the prototypes of its functions."""
    global _loaded
    if _loaded is None:
        path = find()
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            raise Error(f"{path} cannot be loaded: {error}") from None
        for name, (result, arguments) in _PROTOTYPES.items():
            function = getattr(library, "assay_" + name)
            function.restype, function.argtypes = result, arguments
        _loaded = library
    return _loaded


def version() -> str:
    return load().assay_version().decode()


def demand(code: int) -> None:
    """Raises what a failing call stands for."""
    __tracebackhide__ = True  # of pytest, in which nobody wants to read this code
    if code == 0:
        return
    text = load().assay_last_error().decode(errors="replace")
    raise {1: UsageError, 2: MemoryError}.get(code, Error)(text)


def made(function: Any, *arguments: Any) -> c_void_p:
    """The object that a function makes at its last argument."""
    __tracebackhide__ = True
    handle = c_void_p()
    demand(function(*arguments, byref(handle)))
    return handle


def encoded(text: Optional[str], what: str = "") -> Optional[bytes]:
    """A text for C, called `what` where it is none. What stands behind a NUL would be lost there without a word."""
    if text is None:
        return None
    named = f"{what}={text!r}" if what else repr(text)
    if not isinstance(text, str):
        raise UsageError(f"{named} is no text; give a str")
    if "\0" in text:
        raise UsageError(f"{named} has a NUL character")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{named} has characters that are no Unicode: surrogates alone") from None


def texts(values: list[str], what: str = "") -> Any:
    return (c_char_p * len(values))(*[encoded(value, what) for value in values])
