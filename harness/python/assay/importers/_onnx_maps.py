# SPDX-License-Identifier: Apache-2.0
"""How each operator of ONNX becomes one of assay's: a case, and its inputs and outputs as tensors of the node."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple

from . import _onnx_products as products
from ._cases import Case, demand, format_number, join_axes, join_dims
from ._onnx_call import Call, Tensor
from ._onnx_products import Mapped, Place


FLOATS = ("f64", "f32", "f16", "bf16")


def _softmax(log: int) -> Callable[[Call], Mapped]:
    def map_node(call: Call) -> Mapped:
        x, per_axis = call.inputs[0], call.opset >= 13  # before, all from the axis on sum to one
        axis = x.axis(call.integer("axis", -1 if per_axis else 1))
        shape = x.shape if per_axis else [x.count(0, axis), x.count(axis)]
        return (Case("softmax", [x.dtype], {"shape": join_dims(shape), "axis": axis if per_axis else 1, "log": log}),
                [Place("x", 0, shape)], [Place("y", 0, shape)])
    return map_node


def _reduce(kind: str) -> Callable[[Call], Mapped]:
    def map_node(call: Call) -> Mapped:
        x = call.inputs[0]
        demand(x.shape, "a scalar, where operators here have axes")
        axes = call.inputs[1].integers() if call.has(1) else call.integers("axes")  # an input in later opsets
        demand(axes or call.integer("noop_with_empty_axes", 0) == 0, "no axis is reduced")
        axes = [x.axis(axis) for axis in axes] or list(range(len(x.shape)))
        return (Case("reduce", call.types(0), {"shape": join_dims(x.shape), "axes": join_axes(axes), "kind": kind,
                                               "keepdims": call.integer("keepdims", 1)}, "near_one" if kind == "prod" else "normal"),
                [Place("x", 0, x.shape)], [Place("y", 0, call.outputs[0].shape)])
    return map_node


def _arg(kind: str) -> Callable[[Call], Mapped]:
    def map_node(call: Call) -> Mapped:
        x = call.inputs[0]
        demand(call.integer("select_last_index", 0) == 0, "of equal elements the last one is taken")
        return (Case("reduce", [x.dtype, "i64"], {"shape": join_dims(x.shape), "axes": x.axis(call.integer("axis", 0)), "kind": kind,
                                                  "keepdims": call.integer("keepdims", 1)}),
                [Place("x", 0, x.shape)], [Place("y", 0, call.outputs[0].shape)])
    return map_node


def _rows(x: Tensor, axis: int) -> tuple[int, int]:
    return x.count(0, axis), x.count(axis)


def _epsilon(call: Call) -> str:
    """The shortest text of the f32 that it is."""
    import numpy
    return format_number(numpy.float32(call.real("epsilon", 1e-5)))


def _layer_norm(call: Call) -> Mapped:
    x = call.inputs[0]
    rows, n = _rows(x, x.axis(call.integer("axis", -1)))
    demand(call.has(2), "a norm without shift; one here has scale and shift")
    demand(call.inputs[1].size == call.inputs[2].size == n, "scale or shift are repeated along the rows")
    demand(len(call.outputs) != 2, "the mean as output, but not the deviation")
    has_stats = len(call.outputs) > 2
    attrs = {"rows": rows, "n": n, "eps": _epsilon(call)} | ({"stats": 1} if has_stats else {})
    stats = [Place("mean", 1, [rows]), Place("rstd", 2, [rows])] if has_stats else []
    return (Case("layer_norm", call.types(0, 1, 2), attrs),
            [Place("x", 0, [rows, n]), Place("gamma", 1, [n]), Place("beta", 2, [n])], [Place("y", 0, [rows, n]), *stats])


def _rms_norm(call: Call) -> Mapped:
    x = call.inputs[0]
    rows, n = _rows(x, x.axis(call.integer("axis", -1)))
    demand(call.inputs[1].size == n, "scale or shift are repeated along the rows")
    return (Case("rms_norm", call.types(0, 1), {"rows": rows, "n": n, "eps": _epsilon(call)}),
            [Place("x", 0, [rows, n]), Place("gamma", 1, [n])], [Place("y", 0, [rows, n])])


def _group_norm(each_channel: bool) -> Callable[[Call], Mapped]:
    def map_node(call: Call) -> Mapped:
        x = call.inputs[0]
        demand(len(x.shape) >= 3 and call.has(2), "the shapes of a norm do not fit each other")
        batch, channels, n = x.shape[0], x.shape[1], x.count(2)
        groups = channels if each_channel else call.integer("num_groups", 0)
        demand(groups >= 1 and channels % groups == 0, "the groups do not divide the channels")
        demand(call.inputs[1].size == call.inputs[2].size == channels,
               "scale and shift of each group, where here each channel has them")
        part = [groups, channels // groups]
        whole = [batch, *part, n]
        return (Case("group_norm", call.types(0, 1, 2), {"b": batch, "g": groups, "c": part[1], "n": n, "eps": _epsilon(call)}),
                [Place("x", 0, whole), Place("gamma", 1, part), Place("beta", 2, part)], [Place("y", 0, whole)])
    return map_node


def _elements(op: str) -> Callable[[Call], Mapped]:
    def map_node(call: Call) -> Mapped:
        n = call.inputs[0].size
        attrs: dict[str, Any] = {"n": n} | ({"approx": call.text("approximate", "none")} if op == "gelu" else {})
        return Case(op, call.types(0), attrs), [Place("x", 0, [n])], [Place("y", 0, [n])]
    return map_node


def _cumsum(call: Call) -> Mapped:
    x = call.inputs[0]
    demand(call.integer("exclusive", 0) == call.integer("reverse", 0) == 0, "sums without the element, or from the end")
    axis = x.axis((call.inputs[1].integers() or [0])[0])
    demand(axis + 1 == len(x.shape), "another axis than the last")
    shape = list(_rows(x, axis))
    return Case("cumsum", [x.dtype], dict(zip(("rows", "n"), shape))), [Place("x", 0, shape)], [Place("y", 0, shape)]


def _top_k(call: Call) -> Mapped:
    x, y = call.inputs[0], call.outputs[0]
    demand(x.dtype in FLOATS, "selections of integers")
    axis = x.axis(call.integer("axis", -1))
    demand(axis + 1 == len(x.shape), "another axis than the last")
    demand(call.integer("sorted", 1) != 0, "results in any order")
    demand(len(call.outputs) == 2 and len(y.shape) == len(x.shape), "it lacks one of its outputs")
    rows, n = _rows(x, axis)
    k = y.shape[-1]
    return (Case("top_k", [x.dtype], {"rows": rows, "k": k, "n": n, "smallest": int(call.integer("largest", 1) == 0)}),
            [Place("x", 0, [rows, n])], [Place("values", 0, [rows, k]), Place("indices", 1, [rows, k])])


def _gather(call: Call) -> Mapped:
    table, places = call.inputs[0], call.inputs[1]
    demand(call.integer("axis", 0) == 0, "another axis than the first")
    demand(len(table.shape) >= 2, "a table of single elements")
    demand(all(place >= 0 for place in places.integers()), "places that count from the end")
    v, n, d = table.shape[0], places.count(0), table.count(1)
    return (Case("gather", call.types(0, 1), {"v": v, "n": n, "d": d}),
            [Place("table", 0, [v, d]), Place("indices", 1, [n])], [Place("y", 0, [n, d])])


def _pow(call: Call) -> Mapped:
    x, p = call.inputs[0], call.inputs[1]
    demand(x.shape == p.shape, "one power of several numbers; here each number has its own")
    demand(x.dtype == p.dtype and x.dtype in FLOATS, "numbers and powers of different types, or integers")
    return (Case("pow", [x.dtype], {"n": x.size}), [Place("x", 0, [x.size]), Place("p", 1, [x.size])],
            [Place("y", 0, [x.size])])


class _Codes(NamedTuple):
    """x as a matrix, and which part of it has its own scale: the tensor, a row or a column."""
    rows: int
    n: int
    per: str
    scale: list[int]


def _codes(call: Call) -> _Codes:
    x, scales = call.inputs[0], call.inputs[1].size
    demand(call.integer("block_size", 0) == 0, "a scale for each block of an axis")
    if scales == 1:
        return _Codes(1, x.size, "tensor", [])
    axis = x.axis(call.integer("axis", 1))
    demand(scales == x.shape[axis], "scales that do not fit their axis")
    if axis == 0:
        return _Codes(scales, x.size // scales, "row", [scales])
    demand(axis + 1 == len(x.shape), "scales along an axis in the middle; here rows or columns have them")
    return _Codes(x.size // scales, scales, "column", [scales])


def _map_codes(call: Call, op: str, dtype: str, names: tuple[str, str, str]) -> Mapped:
    """Codes that are floats need no zero point: the one that ONNX states for them is 0."""
    rows, n, per, scale = _codes(call)
    has_zero = call.has(2) and dtype in ("i8", "u8", "i32", "i64")
    zero = [Place(names[2], 2, scale)] if has_zero else []
    return (Case(op, call.types(0, 1, 2) if has_zero else call.types(0, 1), {"rows": rows, "n": n, "per": per}),
            [Place(names[0], 0, [rows, n]), Place("scale", 1, scale), *zero], [Place(names[1], 0, [rows, n])])


def _quantize(call: Call) -> Mapped:
    demand(call.integer("precision", 0) == 0, "a division in a stated type")
    case, *places = _map_codes(call, "quantize", call.outputs[0].dtype, ("x", "q", "zero_point"))
    if call.integer("saturate", 1) == 0 and case.dtypes[-1] in ("e4m3", "e5m2"):
        case.attrs["saturate"] = 0
    return case, *places


def _dequantize(call: Call) -> Mapped:
    demand(call.inputs[1].dtype == "f32", "scales of another type than f32")
    return _map_codes(call, "dequantize", call.inputs[0].dtype, ("q", "y", "zero"))


def _grid_sample(call: Call) -> Mapped:
    x, grid, y = (call.inputs[0].shape, call.inputs[1].shape, call.outputs[0].shape)
    demand(len(x) == len(grid) == len(y) == 4, "images of another rank than 4")
    mode = {"bilinear": "linear", "": "linear"}.get(given := call.text("mode", ""), given)
    demand(mode in ("linear", "nearest"), f"mode={given[:20]}; here it is linear or nearest")
    attrs = {**dict(zip("nchw", x)), "oh": grid[1], "ow": grid[2], "mode": mode, "padding": call.text("padding_mode", "zeros"),
             "align_corners": call.integer("align_corners", 0)}
    return Case("grid_sample", call.types(0, 1), attrs), [Place("x", 0, x), Place("grid", 1, grid)], [Place("y", 0, y)]


def _stft(call: Call) -> Mapped:
    x, hops = call.inputs[0], call.inputs[1].integers()
    demand(call.has(2), "no window")
    demand(call.integer("onesided", 1) != 0, "both halves of a spectrum")
    demand(len(x.shape) == 2 or (len(x.shape) == 3 and x.shape[2] == 1), "complex signals")
    b, length, n = x.shape[0], x.shape[1], call.inputs[2].size
    demand(len(hops) == 1 and hops[0] > 0, "a step that is not one positive number")
    demand(not call.has(3) or call.inputs[3].integers() == [n], "a window of another length than its frames")
    return (Case("stft", call.types(0, 2), {"b": b, "l": length, "n": n, "hop": hops[0]}),
            [Place("x", 0, [b, length]), Place("window", 2, [n])], [Place("y", 0, call.outputs[0].shape)])


# The attributes that are known, one beside which may change what is computed, and the map.
_REDUCE, _ARG, _NORM = "axes keepdims noop_with_empty_axes", "axis keepdims select_last_index", "axis epsilon stash_type"
_OF_ONE = {
    "Softmax": ("axis", _softmax(0)), "LogSoftmax": ("axis", _softmax(1)),
    "ReduceSum": (_REDUCE, _reduce("sum")), "ReduceMean": (_REDUCE, _reduce("mean")), "ReduceMax": (_REDUCE, _reduce("max")),
    "ReduceMin": (_REDUCE, _reduce("min")), "ReduceProd": (_REDUCE, _reduce("prod")), "ReduceL2": (_REDUCE, _reduce("l2")),
    "ReduceLogSumExp": (_REDUCE, _reduce("logsumexp")), "ArgMax": (_ARG, _arg("argmax")), "ArgMin": (_ARG, _arg("argmin")),
    "Exp": ("", _elements("exp")), "Log": ("", _elements("log")), "Tanh": ("", _elements("tanh")), "Erf": ("", _elements("erf")),
    "Sin": ("", _elements("sin")), "Cos": ("", _elements("cos")), "Gelu": ("approximate", _elements("gelu"))}
_OF_SEVERAL = {
    "MatMul": ("", products.map_matmul), "Gemm": ("alpha beta transA transB", products.map_gemm),
    "Conv": ("auto_pad dilations group kernel_shape pads strides", products.map_conv),
    "Attention": ("is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision",
                  products.map_attention),
    "RotaryEmbedding": ("interleaved num_heads rotary_embedding_dim", products.map_rope),
    "LayerNormalization": (_NORM, _layer_norm), "RMSNormalization": (_NORM, _rms_norm),
    "GroupNormalization": ("epsilon num_groups stash_type", _group_norm(False)),
    "InstanceNormalization": ("epsilon", _group_norm(True)),
    "GridSample": ("align_corners mode padding_mode", _grid_sample), "STFT": ("onesided", _stft),
    "CumSum": ("exclusive reverse", _cumsum), "TopK": ("axis largest sorted", _top_k), "Gather": ("axis", _gather),
    "Pow": ("", _pow), "QuantizeLinear": ("axis block_size output_dtype precision saturate", _quantize),
    "DequantizeLinear": ("axis block_size output_dtype", _dequantize)}
OPERATORS_OF_ONE = frozenset(_OF_ONE)
OPERATORS = {op: (frozenset(known.split()), map_node) for op, (known, map_node) in (_OF_ONE | _OF_SEVERAL).items()}
