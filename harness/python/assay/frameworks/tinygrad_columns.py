# SPDX-License-Identifier: Apache-2.0
"""Which functions of tinygrad are in the column `tinygrad`, for which types, and what is declared of them."""
from __future__ import annotations

from . import tinygrad_ops as ops
from ._columns import Column, only, register

# clang 14 and 15, those of Debian 12, have no arithmetic of bf16.
FLOATS = ("f64", "f32", "f16")
KINDS = ("sum", "mean", "prod", "max", "min", "logsumexp")


def _adds(case):
    """Scaling a product, or adding to it, is a separate step: one more rounding in f16."""
    more = {"c", "bias"} & set(case.shapes) or case.attrs["alpha"] != 1
    return case.dtypes[0] != "f16" or not more or "products of f16 are rounded before anything is added"


def _reduces(case):
    if case.attrs["kind"] == "logsumexp" and len(case.attrs["axes"]) > 1:
        return "its logsumexp takes one axis"
    return only(kind=KINDS, nan="propagate")(case)


def _attends(case):
    """It has no scale of its own, and makes NaN of a row that sees no key."""
    if abs(case.attrs["scale"] * case.shapes["q"][-1] ** 0.5 - 1) > 1e-6:
        return "it has no scale"
    sees_all = case.attrs["align"] == "tl" or case.shapes["k"][2] >= case.shapes["q"][2]
    return sees_all and "mask" not in case.shapes or "a row may see no key"


def _selects(case):
    """Its selection is a sort whose code grows with the row: that of some thousand elements compiles for minutes."""
    return case.shapes["x"][-1] <= 64 or "longer rows compile for minutes"


def _where_it_compiles(column, missing):
    def supports(case):
        return missing or (column.supports is None or column.supports(case))
    return column._replace(supports=supports)


COLUMNS = [
    Column("matmul", ops.matmul, FLOATS, supports=_adds),
    Column("conv", ops.conv, FLOATS),
    # A row of only -inf gives NaN, as 0 / 0.
    Column("softmax", ops.softmax, FLOATS, extra="masked=nan"),
    Column("reduce", ops.reduce, FLOATS, supports=_reduces),
    Column("attention", ops.attention, FLOATS, shown=("mask_per_head",), supports=_attends),
    Column("layer_norm", ops.layer_norm, ("f64", "f32"), supports=only(stats=False)),
    Column("gelu", ops.gelu, FLOATS),
    *(Column(op, ops.element(op), FLOATS) for op in ("exp", "log", "tanh", "erf", "rsqrt", "sin", "cos")),
    Column("cumsum", ops.cumsum, FLOATS),
    Column("top_k", ops.top_k, FLOATS, supports=_selects),
    Column("gather", ops.gather, FLOATS),
]


def register_all():
    """On the CPU, the one device of it that has been tried."""
    missing = ops.missing()
    register([_where_it_compiles(column, missing) for column in COLUMNS], "numpy", "cpu")
