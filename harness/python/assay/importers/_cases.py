# SPDX-License-Identifier: Apache-2.0
"""The cases that every reader yields, and the numbers and shapes that files of others state: each within limits, so that a case
can be too large for a machine, but not for an integer."""
from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple, Optional, Sequence

LARGEST_EXTENT = 2**31
_INTEGER = re.compile("-?[0-9]+")
_FLOAT = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NO_FORM = "it is not of the form that these descriptions have"
NO_EXTENT = "an extent is not from 1 to 2^31"


class Unmapped(Exception):
    """A case has no counterpart; the text is the reason."""


class Unusable(Exception):
    """A file or an option is not what the reader needs; the text says what to do."""


class Operand(NamedTuple):
    """A tensor with its data, by the name of assay's operand and in its shape."""
    name: str
    dtype: str
    shape: Sequence[int]
    data: bytes


@dataclass
class Case:
    """A case as a line of a suite has it; attributes may be texts or numbers."""
    op: str
    dtypes: list[str]
    attrs: dict[str, Any]
    fill: str = "normal"
    other_types: bool = False  # the case has other types than theirs
    definition: Optional[dict[str, Any]] = None  # of an operator that is none of assay's
    inputs: list[Operand] = field(default_factory=list)
    outputs: list[Operand] = field(default_factory=list)


class Found(NamedTuple):
    """A case as the other project states it, and what became of it: a case here, or a reason."""
    where: str  # "file:line"
    text: str
    case: Optional[Case]
    reason: str = ""
    label: str = ""
    count: int = 1  # how often it is stated alike


class Option(NamedTuple):
    """An option that was passed over. `known`: it changes nothing that is computed."""
    name: str
    known: bool


def attempt(where: str, text: str, label: str, make: Callable[[], Case]) -> Found:
    try:
        return Found(where, text, make(), label=label)
    except Unmapped as unmapped:
        return Found(where, text, None, str(unmapped))
    except MemoryError:
        return Found(where, text, None, "more memory than this machine has: import smaller shapes")


def read_text(path: str, errors: str = "replace") -> str:
    """A file's text, whether it has a size or is a pipe. errors: that of bytes.decode()."""
    with open(path, "rb") as file:
        return file.read().decode(errors=errors)


def show_path(path: str) -> str:
    return os.fsencode(path).decode(errors="replace")


def parse_integer(text: str) -> Optional[int]:
    """None: the text is not the decimal number of a 64-bit integer."""
    if len(text) > 30 or not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -2**63 <= value < 2**63 else None


def parse_float(text: str) -> Optional[float]:
    """None: the text is no finite number."""
    if not _FLOAT.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def parse_extent(text: str) -> int:
    value = parse_integer(text)
    if value is None:
        raise Unmapped(NO_FORM)
    if not 1 <= value <= LARGEST_EXTENT:
        raise Unmapped(NO_EXTENT)
    return value


def parse_extents(text: str) -> list[int]:
    """The numbers of "16x2x3"."""
    shape = [parse_extent(part) for part in text.split("x")]
    if len(shape) > 8:
        raise Unmapped("there are more than 8 axes")
    return shape


def count_elements(shape: Sequence[int]) -> int:
    if any(extent < 1 for extent in shape):
        raise Unmapped(NO_EXTENT)
    product = math.prod(shape)
    if product > 2**48:
        raise Unmapped("there are more than 2^48 elements")
    return product


def as_rows(shape: Sequence[int]) -> dict[str, int]:
    """All axes but the last as rows."""
    return {"rows": count_elements(shape[:-1]), "n": shape[-1]}


def join_dims(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))


def join_axes(axes: Sequence[int]) -> str:
    return "+".join(map(str, axes))


def format_number(value: Any) -> str:
    """The shortest text of a number; whole ones without a point."""
    return str(value).removesuffix(".0")


def find_type(types: dict[str, str], name: str) -> str:
    if name not in types:
        raise Unmapped(f"no type {name[:40]} here")
    return types[name]


def demand(holds: Any, reason: str) -> None:
    if not holds:
        raise Unmapped(reason)
