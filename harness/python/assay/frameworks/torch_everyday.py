# SPDX-License-Identifier: Apache-2.0
"""PyTorch's functions under the names, operands and attributes of the suites: gradients, convolutions the other way round, places."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ._columns import FLOATS, Column, only

_aten = torch.ops.aten


def conv_transpose(x, weights, *, stride=1, pad=0, more=0, **_):
    return F.conv_transpose2d(x, weights, None, stride, pad, more)


def conv_backward_data(dy, weights, *, h, w, stride=1, pad=0, **_):
    return torch.nn.grad.conv2d_input((dy.shape[0], weights.shape[1], h, w), weights, dy, stride, pad)


def conv_backward_weights(dy, x, *, k, stride=1, pad=0, **_):
    return torch.nn.grad.conv2d_weight(x, (dy.shape[1], x.shape[1], k, k), dy, stride, pad)


def _resize_mode(mode, coords, rounding):
    """The mode of interpolate that is this one; None: there is none."""
    if mode == "nearest":
        return {("asymmetric", "floor"): "nearest", ("half_pixel", "round_prefer_ceil"): "nearest-exact"}.get((coords, rounding))
    return {"linear": "bilinear", "cubic": "bicubic"}[mode] if coords != "asymmetric" else None


def resize(x, *, oh, ow, mode="nearest", coords="half_pixel", rounding="round_prefer_floor", **_):
    name = _resize_mode(mode, coords, rounding)
    return F.interpolate(x, (oh, ow), mode=name, align_corners=None if mode == "nearest" else coords == "align_corners")


def _has_resize_mode(case):
    return bool(_resize_mode(*(case.attrs[key] for key in ("mode", "coords", "rounding")))) or "interpolate has no such mode"


def grid_sample(x, grid, *, mode="linear", padding="zeros", align_corners=False, **_):
    return F.grid_sample(x, grid, "bilinear" if mode == "linear" else mode, padding, bool(align_corners))


def lp_pool(x, *, k, stride=2, p="2", ceil=False, **_):
    return F.lp_pool2d(x, float(p), k, stride, bool(ceil))


def embedding(table, tokens, **_):
    return F.embedding(tokens, table)


def embedding_backward(dy, indices, *, v, **_):
    return _aten.embedding_dense_backward(dy, indices, v, -1, False)


def index_select(x, indices, *, axis="0", **_):
    return torch.index_select(x, int(axis), indices)


def gelu_backward(dy, x, *, approx="none", **_):
    return _aten.gelu_backward(dy, x, approximate=approx)


def silu_and_mul_backward(dy, x, **_):
    gate, up = x.chunk(2, -1)
    return torch.cat((_aten.silu_backward(dy * up, gate), dy * F.silu(gate)), -1)


def attention_backward(q, k, v, dout, *, causal=False, scale=0.0, **_):
    """The gradients of scaled_dot_product_attention without a fused kernel: these want the forward pass's results."""
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
        o = F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal), scale=scale or None, enable_gqa=q.shape[1] != k.shape[1])
        return torch.autograd.grad(o, (q, k, v), dout)


def _first_is_last(case):
    """is_causal aligns at the first key, which is the last one where there are as many queries."""
    return case.attrs["causal"] in (False, 0) or case.shapes["q"][2] == case.shapes["k"][2] or "it aligns queries at the first key"


COLUMNS = [
    Column("attention_backward", attention_backward, ("f32", "f64"), supports=_first_is_last),
    Column("silu_and_mul_backward", silu_and_mul_backward, ("f32", "f64")),
    Column("conv_transpose", conv_transpose, ("f32", "f64")),
    Column("conv_backward_data", conv_backward_data, ("f32", "f64")),
    Column("conv_backward_weights", conv_backward_weights, ("f32", "f64")),
    Column("resize", resize, ("f32", "f64"), extra="math=1", supports=_has_resize_mode),  # nothing but sums, products, one division
    Column("grid_sample", grid_sample, ("f32", "f64"), extra="math=1"),
    Column("lp_pool", lp_pool, ("f32", "f64"), supports=only(pad=0, p=("2", 2))),
    Column("embedding", embedding, tuple(f"{dtype}-{places}-{dtype}" for dtype in FLOATS for places in ("i64", "i32")),
           supports=only(scale=1.0)),
    Column("embedding_backward", embedding_backward, ("f32-i64-f32", "f64-i64-f64")),
    Column("index_select", index_select, tuple(f"{dtype}-i64-{dtype}" for dtype in (*FLOATS, "i8", "i32", "i64", "bool"))),
    Column("gelu_backward", gelu_backward),
]
