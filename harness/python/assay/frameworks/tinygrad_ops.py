# SPDX-License-Identifier: Apache-2.0
"""Functions of tinygrad's Tensor on the CPU, under the names, operands and attributes of the suites, of arrays of NumPy.
tinygrad writes C for each expression and calls clang; it finds what it has written by the expression again."""
from __future__ import annotations

import functools
import os
import shutil

import numpy

os.environ.setdefault("CACHELEVEL", "0")  # no data base of compiled code in the home folder, which workers do not see
from tinygrad import Tensor  # noqa: E402

from assay.frameworks._masks import visible  # noqa: E402
from assay.frameworks._shapes import dims  # noqa: E402


def missing():
    """Why it cannot compile, "" where it can."""
    return "" if shutil.which("clang") else "tinygrad calls clang for the CPU, which is not on the PATH: install clang"


def _tensor(array):
    return None if array is None else Tensor(numpy.ascontiguousarray(array), device="CPU")


def of_tensors(function):
    """Turns a function of tensors into one of arrays that computes its result."""
    @functools.wraps(function)
    def call(*operands, **attrs):
        result = function(*map(_tensor, operands), **attrs)
        several = tuple(one.numpy() for one in (result if isinstance(result, tuple) else (result,)))
        return several if isinstance(result, tuple) else several[0]
    call.compiles = True
    return call


@of_tensors
def matmul(a, b, c=None, bias=None, *, transa=False, transb=False, alpha=1.0, beta=0.0, **_):
    y = (a.transpose(-1, -2) if transa else a).matmul(b.transpose(-1, -2) if transb else b)
    y = y if alpha == 1 else y * alpha
    y = y if c is None else y + c * beta
    return y if bias is None else y + bias


@of_tensors
def conv(x, w, bias=None, *, stride=1, pad=0, dilation=1, groups=1, **_):
    """conv2d, which takes any number of axes; its paddings begin with the last axis."""
    rank = x.ndim - 2
    pads = [p for p in reversed(dims(pad, rank)) for _ in range(2)]
    return x.conv2d(w, bias, int(groups), dims(stride, rank), dims(dilation, rank), pads)


@of_tensors
def softmax(x, *, axis=-1, log=False, **_):
    return x.log_softmax(axis) if log else x.softmax(axis)


@of_tensors
def reduce(x, *, axes, kind="sum", keepdims=False, tie="first", nan="propagate", **_):
    axes = axes[0] if len(axes) == 1 else tuple(axes)  # logsumexp takes a single one
    return getattr(x, kind)(axes, keepdim=bool(keepdims))


@of_tensors
def attention(q, k, v, mask=None, *, causal=False, align="br", window=0, scale=None, **_):
    """scaled_dot_product_attention; what its flag does not say is a mask."""
    seen = visible(q.shape[-2], k.shape[-2], bool(causal), align, window)
    seen = None if seen is None else _tensor(seen)
    if mask is not None and mask.dtype.name == "signed char":
        mask = mask != 0
        seen = mask if seen is None else mask & seen
    elif mask is not None:
        seen = mask if seen is None else seen.where(mask, -numpy.inf)
    return q.scaled_dot_product_attention(k, v, seen, enable_gqa=q.shape[1] != k.shape[1])


@of_tensors
def layer_norm(x, gamma, beta, *, eps=1e-5, stats=False, **_):
    return x.layernorm(eps=eps) * gamma + beta


@of_tensors
def gelu(x, *, approx="none", **_):
    return x.gelu(approx)


def element(name):
    @of_tensors
    def call(x, **_):
        return getattr(x, name)()
    return call


@of_tensors
def cumsum(x, **_):
    return x.cumsum(-1)


@of_tensors
def top_k(x, *, k, smallest=False, tie="first", **_):
    values, places = x.topk(int(k), -1, not smallest)
    return values, places.cast("int64")


@of_tensors
def gather(table, indices, **_):
    return table[indices]
