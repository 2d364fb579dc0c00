# SPDX-License-Identifier: Apache-2.0
"""Cases as ggml's test-backend-ops prints them: NAME(key=value,...), one a line."""
from __future__ import annotations

import re
from typing import Iterator

from ._cases import (LARGEST_EXTENT, NO_EXTENT, NO_FORM, Case, Found, Unmapped, attempt, demand, parse_float, parse_integer,
                     read_text, show_path)
from ._ggml_maps import OPERATORS

_CASE = re.compile(r"(?<![A-Z0-9_])([A-Z][A-Z0-9_]*)\(([^)=]*=[^)]*)\)")  # a colour may stand before it
# Cut off before its end, as of a line in a file that somebody else still writes.
_CUT = re.compile(r"(?<![A-Z0-9_])([A-Z][A-Z0-9_]*)\((\w*|\w+=[^)]*)\s*\Z")
_VARIABLE = re.compile(r"([^=,]*)(?:=(\[[^]]*\]|(?!\[)[^,]*))?(?:,|\Z)")
_TYPES = {name: name for name in ("f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64")}


class Variables:
    """Variables of a case by their names. An absent one has ggml's default."""

    def __init__(self, text: str) -> None:
        self.texts: dict[str, str] = {}
        at = 0
        while at < len(text):
            match = _VARIABLE.match(text, at)
            demand(match, NO_FORM)
            self.texts.setdefault(match[1], "1" if match[2] is None else match[2])  # a word alone is a flag
            at = match.end()

    def flag(self, key: str) -> bool:
        return self.texts.get(key, "0") != "0"

    def integer(self, key: str, usual: int) -> int:
        value = parse_integer(self.texts.get(key, str(usual)))
        demand(value is not None and 0 <= value <= LARGEST_EXTENT, f"{key} is no number up to 2^31")
        return value

    def integers(self, **usual: int) -> list[int]:
        return [self.integer(key, value) for key, value in usual.items()]

    def real(self, key: str, usual: float) -> float:
        value = parse_float(self.texts.get(key, str(usual)))
        demand(value is not None, f"{key} is no finite number")
        return value

    def type(self, key: str, usual: str = "f32") -> str:
        name = self.texts.get(key, usual)
        demand(name in _TYPES, "types in blocks with scales (q4_0 and the like), or others that are none here")
        return name

    def numbers(self, key: str, usual: list[int]) -> list[int]:
        if key not in self.texts:
            return usual
        text = self.texts[key]
        demand(len(text) >= 2 and text[0] == "[" and text[-1] == "]", NO_FORM)
        values = [parse_integer(part) for part in text[1:-1].split(",")]
        demand(all(value is not None and 0 <= value <= LARGEST_EXTENT for value in values), NO_EXTENT)
        demand(len(values) <= 4 and (not usual or len(values) == len(usual)), NO_FORM)
        return values

    def extents(self, key: str) -> list[int]:
        """ggml has the innermost axis first, here it is the last."""
        shape = self.numbers(key, [])[::-1]
        demand(len(shape) >= 2, NO_FORM)
        demand(min(shape) >= 1, NO_EXTENT)
        return shape


def _map_case(op: str, variables: str, near_types: bool) -> Case:
    has = Variables(variables)
    demand(op in OPERATORS, f"no operator {op[:40]} here")
    known, map_operator, define = OPERATORS[op]
    for key in has.texts:
        demand(key in known, f"{key[:40] or repr(key)}: a variable that is not known here")
    try:
        if map_operator:
            return map_operator(has, near_types)
    except Unmapped:
        if not define:
            raise
    return define(has)


def read(path: str, near_types: bool) -> Iterator[Found]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if found := _CASE.search(line):
            yield attempt(f"{show_path(path)}:{number}", found[0], "", lambda: _map_case(*found.groups(), near_types))
        elif (cut := _CUT.search(line)) and ("=" in cut[2] or cut[1] in OPERATORS):
            yield Found(f"{show_path(path)}:{number}", cut[0], None, "the line ends within the case")
