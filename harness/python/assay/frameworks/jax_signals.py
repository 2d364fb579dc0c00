# SPDX-License-Identifier: Apache-2.0
"""JAX's functions under the names, operands and attributes of the suites: long convolutions, sparse products, products of
blocks with scales, samples of images."""
from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import sparse
from jax.scipy import ndimage, signal

from ._columns import Column, joined

_MODES = {"zeros": "constant", "border": "nearest"}


def fft_conv(x, kernel, **_):
    return signal.fftconvolve(x, jnp.broadcast_to(kernel, x.shape), axes=-1)[..., :x.shape[-1]]


def sparse_mm(values, places, b, **_):
    """A product with a matrix in BCSR."""
    m, half = values.shape
    columns = jnp.arange(half) // 2 * 4 + places.astype(jnp.int32)
    matrix = sparse.BCSR((values.reshape(-1), columns.reshape(-1), jnp.arange(m + 1) * half), shape=(m, 2 * half))
    return matrix @ b


def mx_mm(a, b, scale_a, scale_b, *, block=32, result_types=(), **_):
    """lax.scaled_dot, whose scales are of e8m0."""
    scales = [lax.bitcast_convert_type(one, jnp.float8_e8m0fnu) for one in (scale_a, scale_b)]
    return lax.scaled_dot(a, b, lhs_scale=scales[0], rhs_scale=scales[1], preferred_element_type=jnp.dtype(result_types[0]))


mx_mm.takes_result_types = True


def _place(number, extent, aligned):
    return (number + 1) * (0.5 * (extent - 1)) if aligned else 0.5 * ((number + 1) * extent - 1)


def grid_sample(x, grid, *, mode="linear", padding="zeros", align_corners=False, **_):
    """map_coordinates at the elements that the numbers of the grid name."""
    rows, columns = (_place(grid[..., i], x.shape[axis], align_corners) for i, axis in ((1, 2), (0, 3)))

    def of_channel(image, row, column):
        return ndimage.map_coordinates(image, (row, column), 0 if mode == "nearest" else 1, _MODES[padding], 0.0)
    return jax.vmap(jax.vmap(of_channel, (0, None, None)))(x, rows, columns)


def _has_padding(case):
    return case.attrs["padding"] in _MODES or "map_coordinates mirrors at other places"


def _fits(case):
    return case.shapes["a"][-1] % case.attrs["block"] == 0 or "lax.scaled_dot takes whole blocks"


def columns(flushes):
    """`flushes`: fields of the contract of functions that add or multiply."""
    def transforms(dtypes, attrs):
        return joined("alg=fft", flushes(dtypes, attrs))
    return [
        Column("fft_conv", fft_conv, ("f32", "f64"), extra=transforms),
        Column("sparse_mm", sparse_mm, ("f32-u8-f32-f32",), extra=flushes),
        # Scales are numbers of a type, and no exponentials that are computed.
        Column("mx_mm", mx_mm, [f"{types}-u8-u8-{y}" for types, y in (("e4m3-e4m3", "f32"), ("e4m3-e4m3", "bf16"), ("e5m2-e4m3", "bf16"))],
               extra="math=1", supports=_fits),
        Column("grid_sample", grid_sample, ("f32", "f64"), extra=flushes, supports=_has_padding),
    ]
