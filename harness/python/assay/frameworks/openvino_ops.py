# SPDX-License-Identifier: Apache-2.0
"""Nodes of OpenVINO (opset15) under the names, operands and attributes of the suites."""
from __future__ import annotations

import types

import numpy
from openvino import opset15 as opset

from assay.frameworks._masks import visible
from assay.frameworks._shapes import dims
from assay.frameworks.openvino_models import model


def _constant(value, like):
    return opset.constant(value, like.get_element_type())


def _axes(values):
    return opset.constant(numpy.array(values, numpy.int64))


@model
def matmul(a, b, c=None, bias=None, *, transa=False, transb=False, alpha=1.0, beta=0.0, **_):
    y = opset.matmul(a, b, bool(transa), bool(transb))
    y = y if alpha == 1 else opset.multiply(y, _constant(alpha, a))
    y = y if c is None else opset.add(y, opset.multiply(c, _constant(beta, a)))
    return y if bias is None else opset.add(y, bias)


@model
def conv(x, w, bias=None, *, stride=1, pad=0, dilation=1, groups=1, **_):
    """Convolution, and GroupConvolution, whose weights have an axis of groups."""
    rank, call = len(x.shape) - 2, opset.convolution
    if groups != 1:
        call, outputs = opset.group_convolution, w.shape[0]
        w = opset.reshape(w, _axes([groups, outputs // groups, *w.shape[1:]]), False)
    pads = list(dims(pad, rank))
    y = call(x, w, list(dims(stride, rank)), pads, pads, list(dims(dilation, rank)))
    return y if bias is None else opset.add(y, opset.reshape(bias, _axes([1, -1] + [1] * rank), False))


@model
def softmax(x, *, axis=-1, log=False, **_):
    return (opset.log_softmax if log else opset.softmax)(x, axis)


REDUCTIONS = {"sum": opset.reduce_sum, "mean": opset.reduce_mean, "max": opset.reduce_max, "min": opset.reduce_min,
              "prod": opset.reduce_prod, "l2": opset.reduce_l2}


@model
def reduce(x, *, axes, kind="sum", keepdims=False, tie="first", nan="propagate", **_):
    return REDUCTIONS[kind](x, _axes(axes), bool(keepdims))


@model
def top_k(x, *, k, smallest=False, tie="first", **_):
    """TopK, of whose equal elements `stable` has the one with the lower index come first (docs.openvino.ai, TopK-11)."""
    return opset.topk(x, opset.constant(numpy.int64(k)), -1, "min" if smallest else "max", "value", "i64", True).outputs()


def sort(x, *, descending=False, tie="first", **_):
    return top_k(x, k=x.shape[-1], smallest=not descending)


@model
def attention(q, k, v, mask=None, *, causal=False, align="br", window=0, scale=None, **_):
    """ScaledDotProductAttention; what its flag does not say is a constant mask."""
    l, s = q.shape[-2], k.shape[-2]
    seen = visible(l, s, bool(causal), align, window)
    seen = None if seen is None else opset.constant(seen)
    if mask is not None and mask.get_element_type().to_dtype() == numpy.int8:
        mask = opset.not_equal(mask, _constant(0, mask))
        seen = mask if seen is None else opset.logical_and(mask, seen)
    elif mask is not None:
        seen = mask if seen is None else opset.select(seen, mask, _constant(-numpy.inf, mask))
    factor = _constant(scale, q) if isinstance(scale, (int, float)) else None
    return opset.scaled_dot_product_attention(q, k, v, seen, factor)


@model
def layer_norm(x, gamma, beta, *, eps=1e-5, stats=False, **_):
    """MVN, which has neither scale nor shift: two more nodes."""
    return opset.add(opset.multiply(opset.mvn(x, _axes([-1]), True, eps, "inside_sqrt"), gamma), beta)


@model
def group_norm(x, gamma, beta, *, eps=1e-5, **_):
    b, g, c, n = x.shape
    flat = opset.reshape(x, _axes([b, g * c, n]), False)
    scale, shift = (opset.reshape(t, _axes([g * c]), False) for t in (gamma, beta))
    return opset.reshape(opset.group_normalization(flat, scale, shift, g, eps), _axes([b, g, c, n]), False)


@model
def gelu(x, *, approx="none", **_):
    return opset.gelu(x, "tanh" if approx == "tanh" else "erf")


def element(node):
    @model
    def call(x, **_):
        return node(x)
    return call


# Alpha and scale of selu (Klambauer et al. 2017, arXiv:1706.02515), which Selu takes as operands.
SELU = (1.6732632423543772, 1.0507009873554805)
NAMED = {"div": opset.divide, "neg": opset.negative, "mul": opset.multiply, "sub": opset.subtract, "pow": opset.power, "where": opset.select,
         "silu": lambda x: opset.swish(x, _constant(1, x)),
         "ceil": opset.ceiling, "hardswish": opset.hswish, "softplus": opset.softplus, "softsign": opset.softsign, "isnan": opset.is_nan,
         "isinf": opset.is_inf, "isfinite": opset.is_finite, "round": lambda x: opset.round(x, "half_to_even"),
         "square": lambda x: opset.multiply(x, x), "reciprocal": lambda x: opset.divide(_constant(1, x), x),
         "rsqrt": lambda x: opset.divide(_constant(1, x), opset.sqrt(x)), "selu": lambda x: opset.selu(x, *(_constant(v, x) for v in SELU)),
         "hardsigmoid": lambda x: opset.hard_sigmoid(x, _constant(1 / 6, x), _constant(0.5, x))}
NAMED |= {name: getattr(opset, name) for name in (
    "abs acos acosh add asin asinh atan atanh cosh equal floor greater greater_equal less less_equal logical_and logical_not logical_or "
    "logical_xor maximum minimum mish not_equal prelu relu sigmoid sign sinh sqrt tan").split()}
# By the names of the node's attributes.
WITH_NUMBERS = {"clip": (opset.clamp, ("min_value", "max_value")), "elu": (opset.elu, ("alpha",))}


def _with_numbers(node, names):
    compiled = model(lambda x, **numbers: node(x, **numbers))
    return lambda x, *numbers: compiled(x, **dict(zip(names, map(float, numbers))))


def named():
    """Functions of single elements by the operators' names."""
    return {op: model(node) for op, node in NAMED.items()} | {op: _with_numbers(*row) for op, row in WITH_NUMBERS.items()}


def _pad(x, width, mode, constant_values=0):
    begin, end = zip(*width)
    return opset.pad(x, _axes(begin), _axes(end), mode, _constant(constant_values, x))


# NumPy's names of nodes that move elements.
MOVES = types.SimpleNamespace(
    concatenate=lambda arrays, axis: opset.concat(list(arrays), axis), pad=_pad,
    roll=lambda x, shift, axis: opset.roll(x, _axes([shift]), _axes([axis])), transpose=lambda x, perm: opset.transpose(x, _axes(perm)),
    take_along_axis=opset.gather_elements, take=lambda x, places, axis: opset.gather(x, places, _axes([axis])))


@model
def cumsum(x, **_):
    return opset.cum_sum(x, opset.constant(numpy.int64(-1)))


@model
def gather(table, indices, **_):
    return opset.gather(table, indices, opset.constant(numpy.int64(0)))


@model
def scatter_add(x, indices, updates, **_):
    return opset.scatter_nd_update(x, opset.unsqueeze(indices, _axes([1])), updates, "sum")


@model
def stft(x, window, *, hop=1, **_):
    """STFT; without transpose_frames, frames are before frequencies."""
    n = window.shape[0]
    return opset.stft(x, window, opset.constant(numpy.int64(n)), opset.constant(numpy.int64(hop)), False)


@model
def grid_sample(x, grid, *, mode="linear", padding="zeros", align_corners=False, **_):
    attrs = {"mode": "bilinear" if mode == "linear" else mode, "padding_mode": padding, "align_corners": bool(align_corners)}
    return opset.grid_sample(x, grid, attrs)


@model
def _transform(x, *, node, axes, size):
    return node(x, _axes(axes), size and _axes(size))


NODES = {("c2c", "fwd"): opset.dft, ("c2c", "inv"): opset.idft, ("r2c", "fwd"): opset.rdft, ("c2r", "inv"): opset.irdft}


def fft(x, *, kind, n, dir="fwd", norm="none", **_):
    """DFT, IDFT, RDFT and IRDFT, whose inverse ones divide by the number of elements."""
    n = tuple(n) if isinstance(n, (tuple, list)) else (n,)
    begin = len(x.shape) - len(n)  # without the axis of parts
    y = _transform(x, node=NODES[kind, dir], axes=tuple(range(begin, len(x.shape))), size=n if kind == "c2r" else None)
    return y if kind == "c2r" else y.view(numpy.complex64)[..., 0]
