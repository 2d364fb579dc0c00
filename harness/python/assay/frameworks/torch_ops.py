# SPDX-License-Identifier: Apache-2.0
"""PyTorch's functions under the names, operands and attributes of the suites: products, reductions, softmax, transforms.

Each is one call of a documented function where there is one; what it comes from stands beside it.
"""
from __future__ import annotations

import functools

import torch
import torch.nn.functional as F


def matmul(a, b, c=None, bias=None, *, transa=False, transb=False, alpha=1.0, beta=0.0, epilogue="fused", **_):
    """torch.matmul, linear, addmm and baddbmm, whichever has the terms. They have one addend: where there is c too, bias is
    added to their result, which has been rounded to its type by then."""
    if transa:
        a = a.mT
    if bias is not None and c is None and alpha == 1 and a.dim() == 2:
        return F.linear(a, b if transb else b.mT, bias)
    if transb:
        b = b.mT
    if c is not None:
        y = (torch.addmm if a.dim() == 2 else torch.baddbmm)(c, a, b, beta=beta, alpha=alpha)
        return y if bias is None else y + bias
    if bias is not None:
        if a.dim() == 2:
            return torch.addmm(bias, a, b, alpha=alpha)
        return torch.baddbmm(bias.expand(a.shape[0], 1, -1), a, b, alpha=alpha)
    if alpha != 1:
        zero = a.new_zeros((1, 1) if a.dim() == 2 else (a.shape[0], 1, 1))
        return (torch.addmm if a.dim() == 2 else torch.baddbmm)(zero, a, b, beta=0, alpha=alpha)
    return torch.matmul(a, b)


def int_matmul(a, b, *, transa=False, transb=False, **_):
    """torch._int_mm, on which torch's quantised layers stand: i8 by i8 to i32."""
    return torch._int_mm(a.mT if transa else a, b.mT if transb else b)


def conv(x, w, bias=None, *, stride=1, pad=0, dilation=1, groups=1, **_):
    """torch.nn.functional.conv1d, conv2d, conv3d."""
    call = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[x.dim()]
    return call(x, w, bias, stride, pad, dilation, groups)


def conv_ieee(*operands, **attrs):
    """With operands of f32 as they are, on GPUs too."""
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        return conv(*operands, **attrs)


def softmax(x, *, axis=-1, log=False, **_):
    return torch.log_softmax(x, axis) if log else torch.softmax(x, axis)


def _rows(x, axes, keepdims):
    """x with the reduced axes flattened to one last axis, and the shape of the result."""
    reduced = sorted(axis % x.dim() for axis in axes)
    kept = [axis for axis in range(x.dim()) if axis not in reduced]
    shape = [1 if axis in reduced else x.shape[axis] for axis in range(x.dim()) if keepdims or axis not in reduced]
    return x.permute(kept + reduced).reshape([x.shape[axis] for axis in kept] + [-1]), shape


def reduce(x, *, axes, kind="sum", keepdims=False, tie="first", nan="propagate", dtype=None, **_):
    """torch.sum, mean, amax, amin, logsumexp, linalg.vector_norm; prod, argmax and argmin take one axis alone."""
    axes = tuple(axes)
    if kind in ("prod", "argmax", "argmin"):
        rows, shape = _rows(x, axes, keepdims)
        if kind == "prod":
            return torch.prod(rows, -1, dtype=dtype).reshape(shape)
        return (torch.argmax if kind == "argmax" else torch.argmin)(rows, -1).reshape(shape)
    if kind == "sum":
        return torch.sum(x, axes, keepdim=keepdims, dtype=dtype)
    if kind == "mean":
        return torch.mean(x, axes, keepdim=keepdims, dtype=dtype)
    if kind == "l2":
        return torch.linalg.vector_norm(x, 2, axes, keepdim=keepdims, dtype=dtype)
    if kind == "logsumexp":
        return torch.logsumexp(x, axes, keepdim=keepdims)
    return (torch.amax if kind == "max" else torch.amin)(x, axes, keepdim=keepdims)


@functools.wraps(reduce)  # whose attributes it takes
def reduce_typed(x, *, result_types, **attrs):
    """The argument dtype of sum, mean, prod and vector_norm: sums of integers are i64 without it."""
    return reduce(x, dtype=getattr(torch, result_types[0]), **attrs)


reduce_typed.takes_result_types = True


def fft(x, *, kind, n, dir="fwd", norm="none", **_):
    """torch.fft: fftn, ifftn, rfftn, irfftn, and hfftn and ihfftn for the other sign of the exponent."""
    n = tuple(n) if isinstance(n, (tuple, list)) else (n,)
    forward = dir == "fwd"
    # "forward" leaves inverse transforms unscaled, "backward" those forward.
    scaling = {"ortho": "ortho", "backward": "backward"}.get(norm, "backward" if forward else "forward")
    call = {("c2c", True): torch.fft.fftn, ("c2c", False): torch.fft.ifftn, ("r2c", True): torch.fft.rfftn,
            ("c2r", False): torch.fft.irfftn, ("c2r", True): torch.fft.hfftn, ("r2c", False): torch.fft.ihfftn}
    return call[kind, forward](x, s=n, dim=tuple(range(-len(n), 0)), norm=scaling)
