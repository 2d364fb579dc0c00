# SPDX-License-Identifier: Apache-2.0
"""JAX's functions on arrays that are made of structured ones of NumPy, and with operands whose memory is given away."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy

from .numpy_structures import OPERANDS


def _of_numpys(wrap):
    """The operands as NumPy's, in that structure, and as JAX's again: jnp.asarray reads the structure."""
    def wrapped(function):
        within = wrap(lambda *operands, **attrs: function(*(x if x is None else jnp.asarray(x) for x in operands), **attrs))
        return functools.wraps(function)(lambda *operands, **attrs: within(
            *(x if x is None else numpy.asarray(x) for x in operands), **attrs))
    return wrapped


def _donated(function):
    """Within jax.jit, which may write to the operands' memory: to copies."""
    compiled = {}

    @functools.wraps(function)
    def call(*operands, **attrs):
        key = tuple(attrs.items())
        if key not in compiled:
            compiled[key] = jax.jit(functools.partial(function, **attrs), donate_argnums=tuple(range(len(operands))))
        return compiled[key](*(x if x is None else jnp.array(x, copy=True) for x in operands))
    call.compiles = True
    return call


def structures():
    return {**{name: _of_numpys(wrap) for name, wrap in OPERANDS.items()}, "donated": _donated}
