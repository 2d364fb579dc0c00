# SPDX-License-Identifier: Apache-2.0
"""Windows of images in formulas: one definition for all extents, strides, paddings and dilations, which are attributes of a case.
Axes of an image are d, h and w; those of the input are called id, ih and iw, of the output od, ..., and of the kernel kd, ..."""
from __future__ import annotations

from typing import Mapping, Optional, Sequence

from ._formulas import Formula, Term, apply, windows

AXES = {1: "w", 2: "hw", 3: "dhw"}


def joined(what: str, axes: str) -> str:
    """ "ih iw" of i and hw."""
    return " ".join(what + axis for axis in axes)


def add_strides(formula: Formula, axes: str) -> None:
    for axis in axes:
        formula.integer(f"stride_{axis}", 1, positive=True)
        formula.integer(f"pad_{axis}", 0)
        formula.integer(f"dilation_{axis}", 1, positive=True)


def gathered(x: Term, axes: str) -> Term:
    """The input that each output and place of the kernel meets, zeros in the padding."""
    for a in axes:
        x = windows(x, f"i{a}", [f"-pad_{a}"], {f"o{a}": f"stride_{a}", f"k{a}": f"dilation_{a}"})
    return x


def scattered(y: Term, axes: str) -> Term:
    """The output that has met an input at each place of the kernel, zeros where none has."""
    for a in axes:
        y = windows(y, f"o{a}", [f"pad_{a}"], {f"i{a}": "1", f"k{a}": f"-dilation_{a}"}, f"stride_{a}")
    return y


def is_inside(formula: Formula, axes: str) -> Optional[Term]:
    """Whether a place of a window lies in the image."""
    made = None
    for a in axes:
        place = formula.index(f"o{a}") * Term(formula, f"stride_{a}") + formula.index(f"k{a}") * Term(formula, f"dilation_{a}") - Term(formula, f"pad_{a}")
        inside = apply("logical_and", place >= 0, place < formula.extent(f"i{a}"))
        made = inside if made is None else apply("logical_and", made, inside)
    return made


def attributes_of(axes: str, strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int]) -> Mapping[str, int]:
    return {f"{name}_{axis}": value for name, values in (("stride", strides), ("pad", pads), ("dilation", dilations))
            for axis, value in zip(axes, values)}


def count_outputs(i: int, k: int, stride: int, pads: int, dilation: int) -> int:
    """pads: of both ends together. Zero or less: no window fits."""
    return (i + pads - (k - 1) * dilation - 1) // stride + 1
