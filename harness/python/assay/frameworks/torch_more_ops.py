# SPDX-License-Identifier: Apache-2.0
"""PyTorch's functions under the names, operands and attributes of the suites: norms, elements, selection, gradients."""
from __future__ import annotations

import types

import torch
import torch.nn.functional as F


def layer_norm(x, gamma, beta, *, eps=1e-5, stats=False, **_):
    """torch.nn.functional.layer_norm; with stats torch.native_layer_norm, which is behind it."""
    if not stats:
        return F.layer_norm(x, (x.shape[-1],), gamma, beta, eps)
    y, mean, rstd = torch.native_layer_norm(x, (x.shape[-1],), gamma, beta, eps)
    return y, mean.reshape(x.shape[:-1]), rstd.reshape(x.shape[:-1])


def rms_norm(x, gamma, *, eps=1e-6, **_):
    return F.rms_norm(x, (x.shape[-1],), gamma, eps)


def group_norm(x, gamma, beta, *, eps=1e-5, **_):
    b, g, c, n = x.shape
    return F.group_norm(x.reshape(b, g * c, n), g, gamma.reshape(-1), beta.reshape(-1), eps).reshape(x.shape)


def gelu(x, *, approx="none", **_):
    return F.gelu(x, approximate=approx)


def silu_and_mul(x, **_):
    """Two calls, as models have it: the result of silu is rounded to the type of x."""
    gate, up = x.chunk(2, -1)
    return F.silu(gate) * up


def gelu_and_mul(x, *, approx="none", **_):
    gate, up = x.chunk(2, -1)
    return F.gelu(gate, approximate=approx) * up


def prelu(x, slope, *, per="element", rows=1, **_):
    """A slope for all elements, or for each place along the second axis."""
    return F.prelu(x, slope.reshape(-1))


def cumprod(x, **_):
    return torch.cumprod(x, -1)


def cumsum(x, **_):
    return torch.cumsum(x, -1)


def cumsum_typed(x, *, result_types=(), **_):
    """The argument dtype: sums of integers are i64 without it."""
    return torch.cumsum(x, -1, dtype=getattr(torch, result_types[0]))


cumsum_typed.takes_result_types = True


def top_k(x, *, k, smallest=False, tie="first", **_):
    values, indices = torch.topk(x, k, -1, largest=not smallest, sorted=True)
    return values, indices


def argsort(x, *, descending=False, tie="first", **_):
    return torch.argsort(x, dim=-1, descending=bool(descending), stable=tie == "first")


def sort(x, *, descending=False, tie="first", **_):
    values, indices = torch.sort(x, dim=-1, descending=descending, stable=tie == "first")
    return values, indices


def gather(table, indices, **_):
    return torch.index_select(table, 0, indices)


def scatter_add(x, indices, updates, **_):
    return torch.index_add(x, 0, indices, updates)


# NumPy's names of torch's functions that move elements.
MOVES = types.SimpleNamespace(
    concatenate=lambda arrays, axis: torch.cat(arrays, axis), flip=lambda x, axis: torch.flip(x, (axis,)), roll=torch.roll,
    take_along_axis=torch.take_along_dim, transpose=lambda x, axes: torch.permute(x, axes).contiguous(), triu=torch.triu,
    tril=torch.tril, where=torch.where, asarray=torch.tensor)


def pad(x, *, mode="constant", top=0, bottom=1, left=1, right=1, value=0.0, **_):
    constant = {"value": value} if mode == "constant" else {}
    return F.pad(x[None], (left, right, top, bottom), {"edge": "replicate"}.get(mode, mode), **constant)[0]


def one_hot(indices, *, classes, **_):
    return F.one_hot(indices, classes)


def batch_norm(x, gamma, beta, mean, variance, *, eps=1e-5, **_):
    return F.batch_norm(x, mean, variance, gamma, beta, False, 0.0, eps)


def batch_norm_training(x, gamma, beta, mean, variance, *, eps=1e-5, momentum=0.1, population=False, **_):
    """Which updates the running statistics in place."""
    mean, variance = mean.clone(), variance.clone()
    return F.batch_norm(x, mean, variance, gamma, beta, True, momentum, eps), mean, variance


def instance_norm(x, gamma, beta, *, eps=1e-5, **_):
    return F.instance_norm(x, weight=gamma, bias=beta, eps=eps)


def cross_entropy(logits, labels, *, smoothing=0.0, ignore=-1, reduction="mean", **_):
    return F.cross_entropy(logits, labels, ignore_index=ignore if ignore >= 0 else -100, reduction=reduction, label_smoothing=smoothing)


def cross_entropy_backward(logits, labels, dy, *, smoothing=0.0, ignore=-1, reduction="mean", **_):
    logits = logits.detach().requires_grad_()
    return torch.autograd.grad(cross_entropy(logits, labels, smoothing=smoothing, ignore=ignore, reduction=reduction), logits, dy)[0]


def kl_div(x, target, *, reduction="mean", **_):
    return F.kl_div(x, target, reduction=reduction)


def mse(x, target, *, reduction="mean", **_):
    return F.mse_loss(x, target, reduction=reduction)


def avg_pool(x, *, k, stride=2, pad=0, ceil=False, count_pad=False, **_):
    return F.avg_pool2d(x, k, stride, pad, bool(ceil), bool(count_pad))


def max_pool(x, *, k, stride=2, pad=0, ceil=False, **_):
    return F.max_pool2d(x, k, stride, pad, ceil_mode=bool(ceil), return_indices=True)


def adaptive_avg_pool(x, *, oh, ow, **_):
    return F.adaptive_avg_pool2d(x, (oh, ow))


def log_softmax_backward(y, dy, **_):
    return torch._log_softmax_backward_data(dy, y, -1, y.dtype)


def quantize(x, scale, *, per="tensor", zero=0, **_):
    """torch.quantize_per_tensor and quantize_per_channel, of which int_repr() has the codes."""
    if per == "tensor":
        return torch.quantize_per_tensor(x, scale.item(), zero, torch.qint8).int_repr()
    axis = 0 if per == "row" else 1
    zeros = torch.full(scale.shape, zero, dtype=torch.int64, device=x.device)
    return torch.quantize_per_channel(x, scale, zeros, axis, torch.qint8).int_repr()


def softmax_backward(y, dy, **_):
    return torch._softmax_backward_data(dy, y, -1, y.dtype)


def layer_norm_backward(dy, x, mean, rstd, gamma, **_):
    rows = (x.shape[0], 1)
    return torch.ops.aten.native_layer_norm_backward(dy, x, (x.shape[-1],), mean.reshape(rows), rstd.reshape(rows), gamma,
                                                     torch.zeros_like(gamma), [True, True, True])
