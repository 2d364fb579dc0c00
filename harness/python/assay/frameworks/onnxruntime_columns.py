# SPDX-License-Identifier: Apache-2.0
"""Which nodes of ONNX are in the column `onnxruntime`, for which types, and what is declared of them."""
from __future__ import annotations

import functools

import onnxruntime

from . import onnxruntime_graphs as graphs
from . import onnxruntime_ops as ops
from . import onnxruntime_sequences
from ._columns import INTEGERS, Column, only, register
from ._defined import defined, exported
from ._elementwise import elementwise
from ._movement import movement
from .onnxruntime_imported import imported
from .onnxruntime_models import versions

# The CPU provider has few f16 kernels. For the others ONNX Runtime inserts Cast nodes around its f32 kernels
# (onnxruntime/core/optimizer/insert_cast_transformer.cc). For bf16 it has kernels of two nodes used here, and inserts
# no casts.
NARROW = ("f32", "f16")
WIDE = ("f64", *NARROW)
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


ELEMENTS = {"exp": "Exp", "log": "Log", "tanh": "Tanh", "erf": "Erf", "sin": "Sin", "cos": "Cos"}

def _probabilities(dtypes, attrs):
    """Attention has a kernel for f16, which rounds probabilities to it before they meet the values; its attribute
    softmax_precision changes nothing there: measured, not documented."""
    return "mid=f16" if dtypes[0] == "f16" else ""


CODES = {"i8": "int8", "u8": "uint8", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}


def _quantize(code):
    zeros = ("", f"-{code}")  # without and with an operand that has them
    dtypes = [f"{x}-f32{zero}-{code}" for x in NARROW for zero in zeros]
    return Column("quantize", functools.partial(ops.quantize, target=CODES[code]), dtypes, code)


def _dequantize(dtype):
    result = {"f32": "float32", "f16": "float16"}[dtype]
    dtypes = [f"{code}-f32{zero}-{dtype}" for code in CODES for zero in ("", f"-{code}")]
    return Column("dequantize", functools.partial(ops.dequantize, result=result), dtypes, dtype)


CASTS = (*(f"{x}-{y}" for x in (*WIDE, "bf16") for y in (*WIDE, "bf16") if x != y),
         *(f"{x}-{y}" for x in (*INTEGERS, "bool") for y in (*WIDE, *INTEGERS) if x != y))

COLUMNS = [
    Column("matmul", ops.matmul, WIDE, supports=_addend),
    Column("matmul", ops.int_matmul, ("i8-i8-i32",), "integer", supports=only(transa=False, transb=False)),
    Column("conv", ops.conv, NARROW),
    Column("conv", ops.int_conv, ("i8-i8-i32",), "integer"),
    # A row of only -inf gives NaN, as 0 / 0.
    Column("softmax", ops.softmax, WIDE, extra="masked=nan"),
    Column("reduce", ops.reduce, WIDE, supports=only(kind=VALUES, nan="propagate")),
    Column("reduce", ops.reduce, ("f32-i64", "f64-i64", "f16-i64"), "indices", supports=_one_axis),
    Column("reduce", ops.reduce, INTEGERS, "integers", supports=only(kind=("sum", "prod", "max", "min"))),
    Column("reduce", ops.reduce, tuple(f"{dtype}-i64" for dtype in INTEGERS), "indices-of-integers", supports=_one_axis),
    Column("attention", ops.attention, NARROW, extra=_probabilities, shown=("mask_per_head",)),
    # epsilon is an f32 attribute, so that f64 has none that is meant.
    Column("layer_norm", ops.layer_norm, (*NARROW, "bf16"), supports=only(stats=False)),
    Column("rms_norm", ops.rms_norm, NARROW),
    Column("batch_norm", ops.batch_norm, NARROW),
    Column("instance_norm", ops.instance_norm, NARROW),
    Column("one_hot", ops.one_hot, ("i64-f32",)),
    Column("avg_pool", ops.avg_pool, NARROW),
    Column("max_pool", ops.max_pool, WIDE),
    Column("grid_sample", ops.grid_sample, ("f64", "f32")),
    Column("stft", ops.stft, ("f64", "f32"), extra="alg=fft"),
    Column("group_norm", ops.group_norm, NARROW),
    Column("gelu", ops.gelu, NARROW),
    Column("rope", ops.rope, NARROW),
    *(Column(op, ops.element(node), NARROW if op == "erf" else WIDE) for op, node in ELEMENTS.items()),
    Column("cumsum", ops.cumsum, (*WIDE, "i32", "i64")),
    # Equal elements are ordered by index (onnx.ai, TopK).
    Column("top_k", ops.top_k, (*WIDE, *INTEGERS)),
    Column("sort", ops.sort, (*WIDE, *INTEGERS)),
    Column("gather", ops.gather, (*WIDE, "bf16", *(f"{dtype}-i64-{dtype}" for dtype in (*INTEGERS, "bool")))),
    Column("scatter_add", ops.scatter_add, ("f64", "f32")),
    Column("cast", ops.cast, CASTS),
    Column("clip", ops.clip, WIDE),
    Column("relu6", ops.relu6, WIDE),
    Column("argsort", ops.argsort, (*(f"{dtype}-i64" for dtype in (*WIDE, *INTEGERS) if dtype != "i64"), "i64")),
    Column("index_select", ops.index_select, tuple(f"{dtype}-i64-{dtype}" for dtype in (*WIDE, "bf16", "i8", "i32", "i64", "bool"))),
    Column("embedding", ops.embedding, tuple(f"{dtype}-{places}-{dtype}" for dtype in (*WIDE, "bf16") for places in ("i64", "i32")),
           supports=only(scale=1.0)),
    Column("conv_transpose", ops.conv_transpose, ("f32",)),
    Column("resize", ops.resize, ("f32",)),
    *(_quantize(code) for code in CODES),
    *(_dequantize(dtype) for dtype in NARROW),
    *onnxruntime_sequences.COLUMNS,
]


NODES = {"abs": "Abs", "acos": "Acos", "acosh": "Acosh", "add": "Add", "asin": "Asin", "asinh": "Asinh", "atan": "Atan",
         "atanh": "Atanh", "ceil": "Ceil", "cosh": "Cosh", "div": "Div", "floor": "Floor", "maximum": "Max", "minimum": "Min",
         "mul": "Mul", "neg": "Neg", "pow": "Pow", "reciprocal": "Reciprocal", "relu": "Relu", "round": "Round", "sigmoid": "Sigmoid",
         "sign": "Sign", "sinh": "Sinh", "sqrt": "Sqrt", "sub": "Sub", "tan": "Tan", "where": "Where",
         "hardswish": "HardSwish", "mish": "Mish", "prelu": "PRelu", "selu": "Selu", "softplus": "Softplus", "softsign": "Softsign"}
WITH_ALPHA = {"celu": "Celu", "elu": "Elu", "leaky_relu": "LeakyRelu"}
CONDITIONS = {"equal": "Equal", "greater": "Greater", "greater_equal": "GreaterOrEqual", "isinf": "IsInf", "isnan": "IsNaN",
              "less": "Less", "less_equal": "LessOrEqual", "logical_and": "And", "logical_not": "Not", "logical_or": "Or", "logical_xor": "Xor"}


def _elementwise(provider):
    def run_node(node, result, *operands):
        return ops.run(provider, node, list(operands), [result or operands[-1].dtype.name])

    def run_with(node, x, alpha):
        return ops.run(provider, node, [x], [x.dtype.name], alpha=float(alpha))

    def hardsigmoid(x):
        return ops.run(provider, "HardSigmoid", [x], [x.dtype.name], alpha=1 / 6, beta=0.5)
    made = elementwise({op: functools.partial(run_node, node, "") for op, node in NODES.items()} |
                       {op: functools.partial(run_with, node) for op, node in WITH_ALPHA.items()} | {"hardsigmoid": hardsigmoid} |
                       {op: functools.partial(run_node, node, "bool") for op, node in CONDITIONS.items()}, WIDE)
    moves = movement(ops.moves(provider), WIDE, (*INTEGERS, "bool"))
    for column in made + moves:
        column.function.compiles = column.function.may_refuse = True
    return [column._replace(name=_name(provider)) for column in made + moves]


def _name(provider):
    return provider.removesuffix("ExecutionProvider").lower()


def _bound(column, provider):
    function = functools.partial(column.function, provider)
    # Its sessions are made when a case is offered: versions may be without the node, providers without a device as well.
    function.compiles = function.may_refuse = True
    function.takes_result_types = getattr(column.function, "takes_result_types", False)
    return column._replace(function=function, name=_name(provider) + ("-" + column.name if column.name else ""))


def register_all():
    """Each node on each execution provider that this ONNX Runtime has, under its name; definitions on the CPU, with and
    without optimisations of the graph."""
    versions()
    for provider in onnxruntime.get_available_providers():
        if provider == "AzureExecutionProvider":  # computes nothing by itself
            continue
        register([*_elementwise(provider), *(_bound(column, provider) for column in COLUMNS)], "numpy", _name(provider))
    for name, level in (("cpu", "ORT_ENABLE_ALL"), ("cpu-unoptimised", "ORT_DISABLE_ALL")):
        graph = graphs.compiled(level)
        register([*defined(WIDE, of=lambda one: exported(one, graph)), *imported(level)], "numpy", name)
