# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions of single elements, those that move them, and those of --operators with its arrays, in the column `numpy`."""
from __future__ import annotations

import contextlib

import numpy

from ._columns import INTEGERS, WIDER_SUMS, Column, only, register
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




def argsort(x, *, descending=False, tie="first", **_):
    return numpy.argsort(x, axis=-1, kind="stable")


def sort(x, *, descending=False, tie="first", **_):
    places = argsort(x)
    return numpy.take_along_axis(x, places, -1), places


def cast(x, *, result_types=(), **_):
    return x.astype(result_types[0])


cast.takes_result_types = True


def cumsum(x, *, result_types=(), **_):
    return numpy.cumsum(x, axis=-1, dtype=result_types[0])


cumsum.takes_result_types = True


def cumprod(x, **_):
    return numpy.cumprod(x, axis=-1)


def gather(table, indices, **_):
    return numpy.take(table, indices, axis=0)


def scatter_add(x, indices, updates, **_):
    y = x.copy()
    numpy.add.at(y, indices, updates)
    return y


_ALL = (*FLOATS, *INTEGERS, "bool")
OTHERS = [
    Column("argsort", argsort, (*(f"{dtype}-i64" for dtype in _ALL if dtype != "i64"), "i64"), supports=only(descending=False)),
    Column("sort", sort, (*FLOATS, *INTEGERS, "bool"), supports=only(descending=False)),
    Column("cast", cast, tuple(f"{x}-{y}" for x in _ALL for y in (*FLOATS, *INTEGERS) if x != y and (x not in FLOATS or y in FLOATS))),
    Column("cumsum", cumsum, (*FLOATS, *INTEGERS, *WIDER_SUMS)),
    Column("cumprod", cumprod, FLOATS),
    Column("gather", gather, tuple(f"{dtype}-i64-{dtype}" for dtype in _ALL)),
    Column("scatter_add", scatter_add, tuple(f"{dtype}-i64-{dtype}-{dtype}" for dtype in FLOATS)),
]


def register_all():
    register([*elementwise(ELEMENTS, FLOATS), *movement(numpy, FLOATS), *OTHERS, *defined(FLOATS)], "numpy", "eager")
