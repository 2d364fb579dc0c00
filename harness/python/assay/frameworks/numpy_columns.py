# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions of single elements, those that move them, and those of --operators with its arrays, in the column `numpy`."""
from __future__ import annotations

import contextlib

import numpy

from ._columns import register
from ._defined import defined
from ._elementwise import elementwise
from ._movement import movement

with contextlib.suppress(ImportError):
    import ml_dtypes  # noqa: F401  # for x.astype("bfloat16")

# f32 and f64: NumPy adds numbers of 16 bits in these, which no suite admits.
FLOATS = ("f64", "f32")
ELEMENTS = {name: getattr(numpy, name) for name in (
    "abs add cbrt ceil cosh cos equal exp exp2 expm1 floor floor_divide greater greater_equal isfinite isinf isnan less less_equal log log10 "
    "log1p log2 logical_and logical_not logical_or logical_xor maximum minimum not_equal reciprocal sign sin sinh sqrt square tan tanh "
    "trunc where clip").split()}
ELEMENTS |= {"acos": numpy.arccos, "acosh": numpy.arccosh, "asin": numpy.arcsin, "asinh": numpy.arcsinh, "atan": numpy.arctan,
             "atanh": numpy.arctanh, "div": numpy.divide, "mul": numpy.multiply, "neg": numpy.negative, "pow": numpy.power, "round": numpy.rint,
             "sub": numpy.subtract}


def register_all():
    register([*elementwise(ELEMENTS, FLOATS), *movement(numpy, FLOATS), *defined(FLOATS)], "numpy", "eager")
