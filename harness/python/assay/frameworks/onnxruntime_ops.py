# SPDX-License-Identifier: Apache-2.0
"""Nodes of ONNX under the names, operands and attributes of the suites. Each takes the execution provider first."""
from __future__ import annotations

import types

import ml_dtypes
import numpy

from assay.frameworks._masks import visible
from assay.frameworks._shapes import dims
from assay.frameworks.onnxruntime_models import ELEMENTS, reduction, run, versions

TYPES = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}


def _name(x):
    return x.dtype.name


def matmul(p, a, b, c=None, bias=None, *, transa=False, transb=False, alpha=1.0, beta=0.0, **_):
    """MatMul where it says it all, else Gemm, which has transposition, factors and one addend; node Add has the second."""
    addend = c if c is not None else bias
    if addend is None and not transa and not transb and alpha == 1:
        return run(p, "MatMul", [a, b], [_name(a)])
    y = run(p, "Gemm", [a, b, addend], [_name(a)], transA=int(transa), transB=int(transb), alpha=float(alpha),
            beta=float(beta) if c is not None else 1.0)
    return y if c is None or bias is None else run(p, "Add", [y, bias], [_name(a)])


def int_matmul(p, a, b, **_):
    return run(p, "MatMulInteger", [a, b], ["int32"])


def _conv_attrs(x, stride, pad, dilation, groups):
    rank = x.ndim - 2
    return {"strides": dims(stride, rank), "pads": dims(pad, rank) * 2, "dilations": dims(dilation, rank),
            "group": int(groups)}


def conv(p, x, w, bias=None, *, stride=1, pad=0, dilation=1, groups=1, **_):
    return run(p, "Conv", [x, w, bias], [_name(x)], **_conv_attrs(x, stride, pad, dilation, groups))


def int_conv(p, x, w, *, stride=1, pad=0, dilation=1, groups=1, **_):
    return run(p, "ConvInteger", [x, w], ["int32"], **_conv_attrs(x, stride, pad, dilation, groups))


def softmax(p, x, *, axis=-1, log=False, **_):
    return run(p, "LogSoftmax" if log else "Softmax", [x], [_name(x)], axis=int(axis))


REDUCTIONS = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd",
              "l2": "ReduceL2", "logsumexp": "ReduceLogSumExp"}


def reduce(p, x, *, axes, kind="sum", keepdims=False, tie="first", nan="propagate", **_):
    if kind in ("argmax", "argmin"):
        node = "ArgMax" if kind == "argmax" else "ArgMin"
        return run(p, node, [x], ["int64"], axis=int(axes[0]), keepdims=int(keepdims))
    operands, attrs = reduction(REDUCTIONS[kind], axes)
    return run(p, REDUCTIONS[kind], [x, *operands], [_name(x)], keepdims=int(keepdims), **attrs)


def attention(p, q, k, v, mask=None, *, causal=False, align="br", window=0, scale=None, softcap=0.0, **_):
    """Node Attention; what its is_causal does not say is in attn_mask."""
    l, s = q.shape[2], k.shape[2]
    flag = bool(causal) and not window and mask is None and l == s
    seen = None if flag else visible(l, s, bool(causal), align, window)
    if mask is not None and mask.dtype == numpy.int8:
        mask = mask.astype(bool) if seen is None else mask.astype(bool) & seen
    elif mask is not None:
        mask = mask if seen is None else numpy.where(seen, mask, numpy.array(-numpy.inf, mask.dtype)).astype(mask.dtype)
    else:
        mask = seen
    attrs = {"is_causal": int(flag), "softcap": float(softcap)}
    if isinstance(scale, (int, float)):
        attrs["scale"] = float(scale)
    return run(p, "Attention", [q, k, v] + ([] if mask is None else [mask]), [_name(q)], **attrs)


def layer_norm(p, x, gamma, beta, *, eps=1e-5, stats=False, **_):
    return run(p, "LayerNormalization", [x, gamma, beta], [_name(x)], axis=-1, epsilon=float(eps))


def rms_norm(p, x, gamma, *, eps=1e-6, **_):
    return run(p, "RMSNormalization", [x, gamma], [_name(x)], axis=-1, epsilon=float(eps))


def group_norm(p, x, gamma, beta, *, eps=1e-5, **_):
    b, g, c, n = x.shape
    y = run(p, "GroupNormalization", [x.reshape(b, g * c, n), gamma.reshape(-1), beta.reshape(-1)], [_name(x)],
            since=21, num_groups=g, epsilon=float(eps))
    return y.reshape(x.shape)


def gelu(p, x, *, approx="none", **_):
    return run(p, "Gelu", [x], [_name(x)], approximate=approx)


def element(node):
    def call(p, x, **_):
        return run(p, node, [x], [_name(x)])
    return call


def cumsum(p, x, **_):
    return run(p, "CumSum", [x, numpy.array(-1, numpy.int64)], [_name(x)])


def top_k(p, x, *, k, smallest=False, tie="first", **_):
    """Orders equal elements by index, as TopK's specification (onnx.ai) says."""
    return run(p, "TopK", [x, numpy.array([k], numpy.int64)], [_name(x), "int64"], largest=int(not smallest), sorted=1)


def sort(p, x, *, descending=False, tie="first", **_):
    return top_k(p, x, k=x.shape[-1], smallest=not descending)


def gather(p, table, indices, **_):
    return run(p, "Gather", [table, indices], [_name(table)], axis=0)


def scatter_add(p, x, indices, updates, **_):
    return run(p, "ScatterND", [x, indices.astype(numpy.int64)[:, None], updates], [_name(x)], reduction="add")


def moves(p):
    """NumPy's names of the nodes that move elements."""
    def one(node, x, *more, **attrs):
        return run(p, node, [x, *more], [_name(x)], **attrs)
    return types.SimpleNamespace(
        concatenate=lambda arrays, axis: one("Concat", *arrays, axis=axis), transpose=lambda x, perm: one("Transpose", x, perm=perm),
        take_along_axis=lambda x, indices, axis: one("GatherElements", x, indices, axis=axis),
        triu=lambda x, k: one("Trilu", x, numpy.array(k, numpy.int64), upper=1),
        tril=lambda x, k: one("Trilu", x, numpy.array(k, numpy.int64), upper=0), asarray=numpy.asarray,
        where=lambda mask, value, x: run(p, "Where", [mask, value, x], [_name(x)]),
        pad=lambda x, width, mode, constant_values=0: one(
            "Pad", x, numpy.array(width, numpy.int64).T.reshape(-1), numpy.array(constant_values, x.dtype), mode=mode))


def cast(p, x, *, result_types=(), **_):
    return run(p, "Cast", [x], [numpy.dtype(result_types[0]).name], to=ELEMENTS[numpy.dtype(result_types[0]).name])


cast.takes_result_types = True


def clip(p, x, *, low, high, **_):
    return run(p, "Clip", [x, numpy.array(low, x.dtype), numpy.array(high, x.dtype)], [_name(x)])


def relu6(p, x, **_):
    return clip(p, x, low=0, high=6)


def argsort(p, x, *, descending=False, tie="first", **_):
    return sort(p, x, descending=descending)[1]


def index_select(p, x, indices, *, axis="0", **_):
    return run(p, "Gather", [x, indices], [_name(x)], axis=int(axis))


def embedding(p, table, tokens, **_):
    return run(p, "Gather", [table, tokens], [_name(table)], axis=0)


def conv_transpose(p, x, weights, *, stride=1, pad=0, more=0, **_):
    return run(p, "ConvTranspose", [x, weights], [_name(x)], strides=(stride, stride), pads=(pad,) * 4, output_padding=(more, more))


def resize(p, x, *, oh, ow, mode="nearest", coords="half_pixel", rounding="round_prefer_floor", **_):
    sizes = numpy.array((*x.shape[:2], oh, ow), numpy.int64)
    nearest = {"nearest_mode": rounding} if mode == "nearest" else {}
    return run(p, "Resize", [x, None, None, sizes], [_name(x)], mode=mode, coordinate_transformation_mode=coords, **nearest)


def one_hot(p, indices, *, classes, **_):
    return run(p, "OneHot", [indices, numpy.array(classes, numpy.int64), numpy.array([0, 1], numpy.float32)], ["float32"])


def batch_norm(p, x, gamma, beta, mean, variance, *, eps=1e-5, **_):
    return run(p, "BatchNormalization", [x, gamma, beta, mean, variance], [_name(x)], epsilon=float(eps))


def instance_norm(p, x, gamma, beta, *, eps=1e-5, **_):
    return run(p, "InstanceNormalization", [x, gamma, beta], [_name(x)], epsilon=float(eps))


def avg_pool(p, x, *, k, stride=2, pad=0, ceil=False, count_pad=False, **_):
    return run(p, "AveragePool", [x], [_name(x)], kernel_shape=(k, k), strides=(stride, stride), pads=(pad,) * 4, ceil_mode=int(ceil),
               count_include_pad=int(count_pad))


def max_pool(p, x, *, k, stride=2, pad=0, ceil=False, **_):
    """Indices of MaxPool count from the first element of all images."""
    y, places = run(p, "MaxPool", [x], [_name(x), "int64"], kernel_shape=(k, k), strides=(stride, stride), pads=(pad,) * 4,
                    ceil_mode=int(ceil))
    return y, places % (x.shape[2] * x.shape[3])


def grid_sample(p, x, grid, *, mode="linear", padding="zeros", align_corners=False, **_):
    name = "bilinear" if mode == "linear" and versions()[0] < 20 else mode  # until opset 20 it has that name
    return run(p, "GridSample", [x, grid], [_name(x)], mode=name, padding_mode=padding, align_corners=int(align_corners))


def stft(p, x, window, *, hop=1, **_):
    n = window.shape[0]
    operands = [x[..., None], numpy.array(hop, numpy.int64), window, numpy.array(n, numpy.int64)]
    return run(p, "STFT", operands, [_name(x)], onesided=1)


_AXIS = {"row": 0, "column": 1}


def quantize(p, x, scale, zero_point=None, *, per="tensor", zero=0, target="int8", **_):
    """QuantizeLinear: y = saturate(x / scale + zero), where the quotient is rounded to the nearest, ties to even, as its
    specification (onnx.ai) says."""
    codes = numpy.full(scale.shape, zero).astype(TYPES.get(target, target)) if zero_point is None else zero_point
    return run(p, "QuantizeLinear", [x, scale, codes], [target], axis=_AXIS.get(per, 1))


def dequantize(p, q, scale, zero=None, *, per="tensor", result="float32", **_):
    """DequantizeLinear: y = (x - zero) scale, which its attribute output_dtype rounds to another type than that of scale."""
    wanted = {} if result == _name(scale) else {"output_dtype": ELEMENTS[result]}
    return run(p, "DequantizeLinear", [q, scale, zero], [result], axis=_AXIS.get(per, 1), **wanted)


def rope(p, x, cos, sin, **_):
    """RotaryEmbedding of three axes, which has the heads beside each other and takes rows of cos and sin by position."""
    b, l, h, d = x.shape
    places = numpy.broadcast_to(numpy.arange(l), (b, l))
    y = run(p, "RotaryEmbedding", [x.reshape(b, l, h * d), cos, sin, places], [_name(x)], num_heads=h)
    return y.reshape(x.shape)
