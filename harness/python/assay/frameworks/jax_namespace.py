# SPDX-License-Identifier: Apache-2.0
"""assay.namespace of JAX's arrays: the functions of jax.numpy and jax.nn under the names of the array API standard."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .._namespace import Axes, Networks
from .._types import framework_name


class _Jax(Networks):
    sigmoid, silu, relu = staticmethod(jax.nn.sigmoid), staticmethod(jax.nn.silu), staticmethod(jax.nn.relu)
    softmax, log_softmax = staticmethod(jax.nn.softmax), staticmethod(jax.nn.log_softmax)
    rsqrt, erf = staticmethod(jax.lax.rsqrt), staticmethod(jax.scipy.special.erf)
    square, pow, var, std = staticmethod(jnp.square), staticmethod(jnp.pow), staticmethod(jnp.var), staticmethod(jnp.std)
    expand_dims, split, fmax, fmin = map(staticmethod, (jnp.expand_dims, jnp.split, jnp.fmax, jnp.fmin))

    def __getattr__(self, name: str) -> Any:
        return getattr(jnp, name)

    def astype(self, x: Any, dtype: Any, /) -> Any: return x.astype(framework_name(dtype))
    def gelu(self, x: Any, approximate: str = "none") -> Any: return jax.nn.gelu(x, approximate=approximate == "tanh")
    def cumulative_sum(self, x: Any, axis: int = -1) -> Any: return jnp.cumsum(x, axis)

    def pad(self, x: Any, pad_width: Any, constant_values: Any = 0) -> Any:
        return jnp.pad(x, pad_width, constant_values=constant_values)

    def take(self, x: Any, indices: Any, axis: Any = None) -> Any: return jnp.take(x, jnp.asarray(indices), axis)

    def topk(self, x: Any, k: int, axis: int = -1, largest: bool = True) -> Any:
        places = jnp.take(jnp.argsort(x, axis, descending=largest), jnp.arange(k), axis)
        return jnp.take_along_axis(x, places, axis), places

    def scatter_add(self, x: Any, indices: Any, updates: Any, axis: int = 0) -> Any:
        return jnp.moveaxis(jnp.moveaxis(x, axis, 0).at[indices].add(jnp.moveaxis(updates, axis, 0)), 0, axis)

    def logsumexp(self, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
        return jax.nn.logsumexp(x, axis, keepdims=keepdims)


NAMESPACE = _Jax()
