# SPDX-License-Identifier: Apache-2.0
"""Columns of the operators that compute each element by itself: a framework states its functions by their names."""
from __future__ import annotations

import inspect
from typing import Any, Callable, Collection, Mapping

from ._columns import Column, FLOATS, INTEGERS

SIGNED = tuple(dtype for dtype in INTEGERS if dtype != "u8")
TESTS = ("isnan", "isinf", "isfinite")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_INTEGERS = {"abs": SIGNED, "sign": SIGNED, "relu": SIGNED, "neg": INTEGERS, "square": INTEGERS, "add": INTEGERS, "sub": INTEGERS,
             "mul": INTEGERS, "floor_divide": INTEGERS, "maximum": (*INTEGERS, "bool"), "minimum": (*INTEGERS, "bool")}


def _types(op: str, floats: Collection[str]) -> tuple[str, ...]:
    if op in TESTS:
        return tuple(f"{dtype}-bool" for dtype in floats)
    if op in COMPARISONS:
        return tuple(f"{dtype}-{dtype}-bool" for dtype in (*floats, *INTEGERS))
    if op == "where":
        return tuple(f"bool-{dtype}-{dtype}-{dtype}" for dtype in (*floats, "i8", "i32", "i64"))
    if op.startswith("logical"):
        return ("bool",)
    if op == "floor_divide":
        return INTEGERS
    return (*floats, *_INTEGERS.get(op, ()))


def _call(op: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Operands as NumPy broadcasts them: what stands for a row lies along the first of two axes."""
    def of_one(x: Any, **_: Any) -> Any:
        return function(x)

    def of_two(x: Any, y: Any, *, per: str = "element", rows: int = 1, **_: Any) -> Any:  # rows: those of x
        return function(x, y[:, None] if per == "row" else y)

    def of_three(x: Any, y: Any, z: Any, **_: Any) -> Any:
        return function(x, y, z)

    def with_numbers(x: Any, **attrs: Any) -> Any:
        return function(x, *(attrs[key] for key in _NUMBERS[op]))

    if op in _NUMBERS:
        heeds = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY) for key in _NUMBERS[op]]
        own = inspect.Signature([inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD), *heeds])
        with_numbers.__signature__ = own  # type: ignore[attr-defined]
        return with_numbers
    return of_three if op in ("where", "fma") else of_two if op in _OF_TWO else of_one


_OF_TWO = ("pow", "floor_divide", "add", "sub", "mul", "div", "maximum", "minimum", "prelu", "logical_and", "logical_or",
           "logical_xor", *COMPARISONS)
_NUMBERS = {"clip": ("low", "high"), "celu": ("alpha",), "elu": ("alpha",), "leaky_relu": ("alpha",)}


def elementwise(functions: Mapping[str, Callable[..., Any]], floats: Collection[str] = FLOATS, extra: Any = "",
                integers: bool = True) -> list[Column]:
    """`functions`: those of the framework by the operators' names; `floats`: the types that they have."""
    def types(op: str) -> tuple[str, ...]:
        all_of_them = _types(op, floats)
        return all_of_them if integers else tuple(one for one in all_of_them if any(dtype in one for dtype in floats))
    return [Column(op, _call(op, function), types(op), extra=extra) for op, function in functions.items()]
