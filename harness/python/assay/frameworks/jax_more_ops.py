# SPDX-License-Identifier: Apache-2.0
"""JAX's functions under the names, operands and attributes of the suites: gradients, which jax.vjp makes of the functions
themselves, convolutions the other way round, images of another size, and conversions."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax

from . import jax_ops
from ._columns import FLOATS, INTEGERS, Column, joined, only


def cast(x, *, result_types=(), **_):
    return x.astype(result_types[0])


cast.takes_result_types = True


def argsort(x, *, descending=False, tie="first", **_):
    return jnp.argsort(x, axis=-1, stable=True, descending=bool(descending))


def cumprod(x, **_):
    return jnp.cumprod(x, axis=-1)


def associative_scan(a, b, **_):
    return lax.associative_scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b), axis=-1)[1]


def layer_norm(x, gamma, beta, *, eps=1e-5, **_):
    return jax.nn.standardize(x, axis=-1, epsilon=eps) * gamma + beta


def gelu_backward(dy, x, *, approx="none", **_):
    return jax.vjp(functools.partial(jax_ops.gelu, approx=approx), x)[1](dy)[0]


def silu_and_mul_backward(dy, x, **_):
    return jax.vjp(jax_ops.silu_and_mul, x)[1](dy)[0]


def attention_backward(q, k, v, dout, *, causal=False, scale=0.0, **_):
    function = functools.partial(jax_ops.attention, causal=causal, align="tl", scale=scale or None)
    with jax.default_matmul_precision("highest"):  # which the gradient's products ask for themselves
        return jax.vjp(function, q, k, v)[1](dout)


def embedding_backward(dy, indices, *, v, **_):
    table = jnp.zeros((v, dy.shape[-1]), dy.dtype)
    return jax.vjp(lambda rows: jnp.take(rows, indices, axis=0), table)[1](dy)[0]


def conv_backward_data(dy, weights, *, h, w, stride=1, pad=0, **_):
    x = jnp.zeros((dy.shape[0], weights.shape[1], h, w), dy.dtype)
    return jax.vjp(lambda image: jax_ops.conv(image, weights, stride=stride, pad=pad), x)[1](dy)[0]


def conv_backward_weights(dy, x, *, k, stride=1, pad=0, **_):
    weights = jnp.zeros((dy.shape[1], x.shape[1], k, k), dy.dtype)
    return jax.vjp(lambda kernels: jax_ops.conv(x, kernels, stride=stride, pad=pad), weights)[1](dy)[0]


def conv_transpose(x, weights, *, k, stride=1, pad=0, more=0, **_):
    """lax.conv_transpose, which with transpose_kernel=True takes the kernels of the convolution that it turns around."""
    around = [(k - 1 - pad, k - 1 - pad + more)] * 2
    return lax.conv_transpose(x, weights, (stride, stride), around, dimension_numbers=("NCHW", "OIHW", "NCHW"),
                              transpose_kernel=True, precision=jax_ops.HIGHEST)


def resize(x, *, oh, ow, mode="nearest", coords="half_pixel", rounding="round_prefer_floor", **_):
    return jax.image.resize(x, (*x.shape[:2], oh, ow), method=mode, precision=jax_ops.HIGHEST, antialias=False)


def _has_mode(case):
    """Its cubic function is another one than ONNX's and PyTorch's."""
    is_nearest = case.attrs["mode"] == "nearest"
    if case.attrs["mode"] == "cubic" or case.attrs["coords"] != "half_pixel":
        return "it has no such mode"
    return not is_nearest or case.attrs["rounding"] == "round_prefer_ceil" or "of two elements as near it takes the second"


def _attends(case):
    if case.shapes["q"][-1] != case.shapes["v"][-1]:
        return "values have another extent than keys"
    return case.attrs["causal"] in (False, 0) or case.shapes["q"][2] == case.shapes["k"][2] or "it aligns queries at the first key"


CASTS = tuple(f"{x}-{y}" for x in FLOATS for y in FLOATS if x != y) + tuple(
    f"{x}-{y}" for x in (*INTEGERS, "bool") for y in (*FLOATS, *INTEGERS) if x != y)
WIDE = ("f32", "f64")


def columns(flushes):
    """`flushes`: fields of the contract of functions that add or multiply."""
    def onepass(dtypes, attrs):
        """jax.nn.standardize takes the variance as the mean of squares less the square of the mean."""
        return joined("alg=onepass", flushes(dtypes, attrs))
    return [
        Column("cast", cast, CASTS, extra=flushes),
        Column("argsort", argsort, (*(f"{dtype}-i64" for dtype in (*FLOATS, *INTEGERS, "bool") if dtype != "i64"), "i64"), extra=flushes),
        Column("cumprod", cumprod, WIDE, extra=flushes),  # products of 16 bits are rounded one by one
        Column("associative_scan", associative_scan, WIDE, extra=flushes),
        Column("layer_norm", layer_norm, WIDE, extra=onepass, supports=only(stats=False)),
        Column("gelu_backward", gelu_backward, WIDE, extra=flushes),
        Column("silu_and_mul_backward", silu_and_mul_backward, WIDE, extra=flushes),
        Column("attention_backward", attention_backward, WIDE, extra=flushes, supports=_attends),
        Column("embedding_backward", embedding_backward, ("f32-i64-f32", "f64-i64-f64"), extra=flushes),
        Column("conv_backward_data", conv_backward_data, WIDE, extra=flushes),
        Column("conv_backward_weights", conv_backward_weights, WIDE, extra=flushes),
        Column("conv_transpose", conv_transpose, WIDE, extra=flushes),
        Column("resize", resize, WIDE, extra=flushes, supports=_has_mode),
    ]
