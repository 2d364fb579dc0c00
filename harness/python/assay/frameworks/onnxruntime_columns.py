# SPDX-License-Identifier: Apache-2.0
"""Which nodes of ONNX are in the column `onnxruntime`, for which types, and what is declared of them."""
from __future__ import annotations

import functools

import onnxruntime

from . import onnxruntime_ops as ops
from ._columns import Column, only, register

WIDE = ("f32", "f64")
VALUES = tuple(ops.REDUCTIONS)


def _addend(case):
    """Gemm has two axes, and one addend; another node adds the second, one more step in these types."""
    plain = not {"c", "bias"} & set(case.shapes) and not (case.attrs["transa"] or case.attrs["transb"])
    plain = plain and case.attrs["alpha"] == 1
    if not plain and len(case.shapes["a"]) != 2:
        return "Gemm takes two axes"
    return only(epilogue="fused")(case)


def _one_axis(case):
    if case.attrs["kind"] not in ("argmax", "argmin"):
        return "one with indices is meant"
    return len(case.attrs["axes"]) == 1 and only(nan="propagate")(case) or "ArgMax takes one axis"


ELEMENTS = {"exp": "Exp", "log": "Log", "tanh": "Tanh", "erf": "Erf"}

COLUMNS = [
    Column("matmul", ops.matmul, WIDE, supports=_addend),
    Column("matmul", ops.int_matmul, ("i8-i8-i32",), "integer", supports=only(transa=False, transb=False)),
    Column("conv", ops.conv, ("f32",)),
    # Of a row of -inf alone it is NaN, as the quotient of zeros is.
    Column("softmax", ops.softmax, WIDE, extra="masked=nan"),
    Column("reduce", ops.reduce, WIDE, supports=only(kind=VALUES, nan="propagate")),
    Column("reduce", ops.reduce, ("f32-i64", "f64-i64"), "indices", supports=_one_axis),
    Column("attention", ops.attention, ("f32",), shown=("mask_per_head",)),
    # epsilon is an f32 attribute, so that f64 has none that is meant.
    Column("layer_norm", ops.layer_norm, ("f32",), supports=only(stats=False)),
    Column("rms_norm", ops.rms_norm, ("f32",)),
    Column("group_norm", ops.group_norm, ("f32",)),
    Column("gelu", ops.gelu, ("f32",)),
    *(Column(op, ops.element(node), ("f32",)) for op, node in ELEMENTS.items()),
    Column("cumsum", ops.cumsum, WIDE),
    # Of equal elements the one with the lower index comes first (onnx.ai, TopK).
    Column("top_k", ops.top_k, WIDE),
    Column("sort", ops.sort, WIDE),
    Column("gather", ops.gather, ("f64", "f32", "f16")),
    Column("scatter_add", ops.scatter_add, WIDE),
    Column("quantize", ops.quantize, ("f32-f32-i8",)),
]


def _name(provider):
    return provider.removesuffix("ExecutionProvider").lower()


def register_all():
    """Each node on each execution provider that this ONNX Runtime has, under its name."""
    for provider in onnxruntime.get_available_providers():
        if provider == "AzureExecutionProvider":  # computes nothing by itself
            continue
        bound = [column._replace(function=functools.partial(column.function, provider),
                                 name=_name(provider) + ("-" + column.name if column.name else "")) for column in COLUMNS]
        register(bound, "numpy", _name(provider))
