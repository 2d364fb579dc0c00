# SPDX-License-Identifier: Apache-2.0
"""Which nodes of OpenVINO are in the column `openvino`, for which types, and what is declared of them."""
from __future__ import annotations

from openvino import opset15 as opset

from . import openvino_graphs as graphs
from . import openvino_ops as ops
from ._columns import FLUSHES, Column, only, register, transforms
from ._defined import defined, exported
from ._elementwise import elementwise
from ._movement import movement
from .openvino_models import model

# Models of f16 and f64 are computed in f32 on the CPU (docs.openvino.ai, "CPU Device"), so that f64 is left out.
NARROW = ("f32", "f16", "bf16")
# Results of exponentials that are subnormal are zeros: measured (openvino_proofs.py), not documented.
_FLUSHES = {"exp": "ftz=out"}
ELEMENTS = {"exp": opset.exp, "log": opset.log, "tanh": opset.tanh, "erf": opset.erf,
            "sin": opset.sin, "cos": opset.cos}


def _plain(case):
    """Scaling a product, or adding to it, is a separate node: one more step in f32, a rounding in 16 bits."""
    more = {"c", "bias"} & set(case.shapes) or case.attrs["alpha"] != 1
    if more and case.dtypes[0] != "f32":
        return "other nodes round to 16 bits before they add"
    return only(epilogue="fused")(case)


def _convolves(case):
    """A bias is a node of its own, before which the convolution has been rounded."""
    rounds_twice = "bias" in case.shapes and case.dtypes[0] == "bf16"
    return not rounds_twice or "the bias is another node, which rounds to bf16 before it adds"


def _flushes(dtypes, attrs):
    """Products of bf16 are those of VDPBF16PS, which takes subnormal numbers for zeros (Intel's manual), and nodes of single
    elements do so too: measured."""
    return "ftz=all" if "bf16" in dtypes else ""


def _probabilities(dtypes, attrs):
    """On processors with instructions for bf16 (AMX) they are rounded before they meet the values."""
    return "mid=bf16;ftz=all" if dtypes[0] == "bf16" else ""


def _attends(case):
    """The node has one number of heads, and makes NaN of a row that sees no key."""
    if case.shapes["q"][1] != case.shapes["k"][1]:
        return "keys have fewer heads"
    sees_all = case.attrs["align"] == "tl" or case.shapes["k"][2] >= case.shapes["q"][2]
    return sees_all and "mask" not in case.shapes or "a row may see no key"


def _takes(op, types):
    """Integers of i32 alone: the CPU has i64 computed in i32, results of i8 and u8 saturate, and no node has a maximum of bool.
    The constants of Selu have the type of its operand, which rounds them."""
    if op == "selu":
        return types == "f32"
    return not {"i8", "u8", "i16", "i64"} & set(types.split("-")) and (types != "bool" or op.startswith("logical"))


def _elements():
    """Functions of single elements, and those that move them."""
    moves = movement(ops.MOVES, NARROW, ("i8", "u8", "i32", "bool"))
    elements = elementwise(ops.named(), NARROW, _flushes)
    made = [one._replace(dtypes=[types for types in one.dtypes if _takes(one.op, types)]) for one in elements]
    made += [one._replace(function=model(one.function)) for one in moves if one.op != "embedding"]
    for column in made:
        column.function.compiles = column.function.may_refuse = True
    return made


COLUMNS = [
    *_elements(),
    Column("matmul", ops.matmul, NARROW, extra=_flushes, supports=_plain),
    Column("conv", ops.conv, NARROW, extra=_flushes, supports=_convolves),
    # A row of only -inf gives NaN, as 0 / 0.
    Column("softmax", ops.softmax, NARROW, extra="masked=nan;ftz=out"),
    Column("reduce", ops.reduce, NARROW, supports=only(kind=tuple(ops.REDUCTIONS), nan="propagate")),
    Column("fft", ops.fft, ("c64", "f32-c64", "c64-f32"), supports=transforms(ops.NODES)),
    Column("attention", ops.attention, NARROW, extra=_probabilities, shown=("mask_per_head",), supports=_attends),
    Column("layer_norm", ops.layer_norm, ("f32",), supports=only(stats=False)),
    Column("group_norm", ops.group_norm, ("f32", "f16")),
    Column("gelu", ops.gelu, NARROW),
    *(Column(op, ops.element(node), NARROW, extra=_FLUSHES.get(op, "")) for op, node in ELEMENTS.items()),
    Column("cumsum", ops.cumsum, (*NARROW, "i32")),
    Column("top_k", ops.top_k, NARROW),
    Column("sort", ops.sort, NARROW),
    Column("gather", ops.gather, NARROW),
    Column("scatter_add", ops.scatter_add, ("f32",)),
    Column("stft", ops.stft, ("f32",), extra="alg=fft"),
    Column("grid_sample", ops.grid_sample, ("f32",)),
]


def register_all():
    """On the CPU, the one device of it that has been tried."""
    register(COLUMNS + defined(NARROW, extra=FLUSHES["openvino"], of=lambda one: exported(one, graphs.compiled)), "numpy", "cpu")
