# SPDX-License-Identifier: Apache-2.0
"""Sums, differences, products and quotients that are correctly rounded, which needs no bound to see."""
from __future__ import annotations

from typing import Any, Iterable, NamedTuple, Optional

from ._rules import Question, is_tensor


class Rounded(NamedTuple):
    """A result that passes where it is the golden value rounded once, to the bit; else the questions decide."""
    golden: Any  # float64, off by less than a rounding of the result's type could show
    got: Any
    otherwise: Iterable[Question]  # not made before somebody asks for it


def golden_of(function: str, x: Any, y: Any, output: Any) -> Optional[Any]:
    """In f64 by NumPy. None: these operands are not of the result's type, or that is no narrower one."""
    import numpy
    import torch
    if output.dtype not in (torch.float32, torch.bfloat16, torch.float16) or any(is_tensor(each) and each.dtype != output.dtype for each in (x, y)):
        return None

    def wide(value: Any) -> Any:
        return value.detach().cpu().double().numpy() if is_tensor(value) else numpy.float64(numpy.float32(value))  # of a number, as PyTorch has it

    with numpy.errstate(all="ignore"):
        return {"add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "div": numpy.divide}[function](wide(x), wide(y))


def is_rounded(rounded: Rounded) -> bool:
    import torch
    from ._aten_moves import bits
    golden = torch.from_numpy(rounded.golden).to(rounded.got.dtype) if rounded.golden.ndim else torch.tensor(rounded.golden, dtype=rounded.got.dtype)
    return golden.shape == rounded.got.shape and bool((bits(golden) == bits(rounded.got)).all())
