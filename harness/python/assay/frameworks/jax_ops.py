# SPDX-License-Identifier: Apache-2.0
"""JAX's functions under the names, operands and attributes of the suites."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax

from assay.frameworks._masks import visible
from assay.frameworks._shapes import dims

# Without it, products of f32 may be of operands in bf16 on a TPU, and in TF32 on a GPU (docs.jax.dev, "Matmul precision").
HIGHEST = lax.Precision.HIGHEST


def matmul(a, b, *, transa=False, transb=False, result=None, **_):
    """jnp.matmul; `result` is its preferred_element_type."""
    a = jnp.swapaxes(a, -1, -2) if transa else a
    b = jnp.swapaxes(b, -1, -2) if transb else b
    return jnp.matmul(a, b, precision=HIGHEST, preferred_element_type=result)


def matmul_f32(a, b, **attrs):
    return matmul(a, b, result=jnp.float32, **attrs)


def matmul_i32(a, b, **attrs):
    return matmul(a, b, result=jnp.int32, **attrs)


def conv(x, w, *, stride=1, pad=0, dilation=1, groups=1, result=None, **_):
    """lax.conv_general_dilated, "cross correlation"; `result` is its preferred_element_type."""
    rank = x.ndim - 2
    return lax.conv_general_dilated(x, w, dims(stride, rank), [(p, p) for p in dims(pad, rank)],
                                    rhs_dilation=dims(dilation, rank), feature_group_count=int(groups),
                                    precision=HIGHEST, preferred_element_type=result)


def conv_f32(x, w, **attrs):
    return conv(x, w, result=jnp.float32, **attrs)


def conv_i32(x, w, **attrs):
    return conv(x, w, result=jnp.int32, **attrs)


def softmax(x, *, axis=-1, log=False, **_):
    return (jax.nn.log_softmax if log else jax.nn.softmax)(x, axis=int(axis))


def _rows(x, axes):
    reduced = sorted(axis % x.ndim for axis in axes)
    kept = [axis for axis in range(x.ndim) if axis not in reduced]
    return x.transpose(kept + reduced).reshape([x.shape[axis] for axis in kept] + [-1])


def reduce(x, *, axes, kind="sum", keepdims=False, tie="first", nan="propagate", dtype=None, **_):
    """jnp.sum, mean, prod, max, min, argmax, argmin, linalg.norm, and jax.nn.logsumexp; nanmax and its like skip NaN."""
    axes, keepdims = tuple(axes), bool(keepdims)
    if kind in ("argmax", "argmin"):
        y = getattr(jnp, kind)(_rows(x, axes), axis=-1)
        reduced = [axis % x.ndim for axis in axes]
        return y.reshape([1 if i in reduced else e for i, e in enumerate(x.shape)]) if keepdims else y
    if kind in ("max", "min"):
        return getattr(jnp, ("nan" if nan == "ignore" else "") + kind)(x, axis=axes, keepdims=keepdims)
    if kind == "l2":
        y = jnp.linalg.vector_norm(_rows(x, axes), axis=-1)
        reduced = [axis % x.ndim for axis in axes]
        return y.reshape([1 if i in reduced else e for i, e in enumerate(x.shape)]) if keepdims else y
    if kind == "logsumexp":
        return jax.nn.logsumexp(x, axis=axes, keepdims=keepdims)
    return getattr(jnp, kind)(x, axis=axes, keepdims=keepdims, dtype=dtype)


@functools.wraps(reduce)  # whose attributes it takes
def reduce_typed(x, *, result_types, **attrs):
    """The argument dtype of sum, mean and prod."""
    return reduce(x, dtype=result_types[0], **attrs)


reduce_typed.takes_result_types = True


def fft(x, *, kind, n, dir="fwd", norm="none", **_):
    """jnp.fft: fftn, ifftn, rfftn, irfftn; there is no real transform of the other sign in several axes."""
    n = tuple(n) if isinstance(n, (tuple, list)) else (n,)
    scaling = {"ortho": "ortho", "backward": "backward"}.get(norm, "backward" if dir == "fwd" else "forward")
    call = {"c2c": {"fwd": jnp.fft.fftn, "inv": jnp.fft.ifftn}[dir], "r2c": jnp.fft.rfftn, "c2r": jnp.fft.irfftn}[kind]
    return call(x, s=n, axes=tuple(range(-len(n), 0)), norm=scaling)


def attention(q, k, v, mask=None, *, causal=False, align="br", window=0, scale=None, mask_per_head=False, **_):
    """jax.nn.dot_product_attention, which has the heads behind the positions."""
    seen = visible(q.shape[2], k.shape[2], bool(causal), align, window)
    bias = None
    if mask is not None:
        mask = mask if mask.ndim == 4 else mask[None, None]
        if mask.dtype == jnp.int8:
            seen = mask.astype(bool) if seen is None else mask.astype(bool) & seen
        else:
            bias = mask
    if seen is not None and seen.ndim == 2:
        seen = seen[None, None]
    factor = scale if isinstance(scale, (int, float)) else None
    heads_last = [jnp.swapaxes(t, 1, 2) for t in (q, k, v)]
    with jax.default_matmul_precision("highest"):
        y = jax.nn.dot_product_attention(*heads_last, bias=bias, mask=seen, scale=factor)
    return jnp.swapaxes(y, 1, 2)


def gelu(x, *, approx="none", **_):
    return jax.nn.gelu(x, approximate=approx == "tanh")


def silu_and_mul(x, **_):
    gate, up = jnp.split(x, 2, axis=-1)
    return jax.nn.silu(gate) * up


def gelu_and_mul(x, *, approx="none", **_):
    gate, up = jnp.split(x, 2, axis=-1)
    return gelu(gate, approx=approx) * up


def element(function):
    return lambda x, **_: function(x)


def cumsum(x, **_):
    return jnp.cumsum(x, axis=-1)


def cumsum_typed(x, *, result_types=(), **_):
    return jnp.cumsum(x, axis=-1, dtype=result_types[0])


cumsum_typed.takes_result_types = True


def top_k(x, *, k, smallest=False, tie="first", **_):
    """lax.top_k, whose documentation says that of equal elements that with the lower index comes first."""
    values, indices = lax.top_k(x, int(k))
    return values, indices.astype(jnp.int64)


def sort(x, *, descending=False, tie="first", **_):
    indices = jnp.argsort(x, axis=-1, stable=True, descending=bool(descending))
    return jnp.take_along_axis(x, indices, axis=-1), indices


def gather(table, indices, **_):
    return jnp.take(table, indices, axis=0)


def one_hot(indices, *, classes, result_types=(), **_):
    return jax.nn.one_hot(indices, int(classes), dtype=result_types[0])


one_hot.takes_result_types = True


def grouped_gemm(x, w, ends, **_):
    """jax.lax.ragged_dot, which takes the sizes of groups."""
    return lax.ragged_dot(x, w, jnp.diff(ends, prepend=0), precision=HIGHEST)


def scatter_add(x, indices, updates, **_):
    return x.at[indices].add(updates)
