# SPDX-License-Identifier: Apache-2.0
"""Nodes along a sequence that ONNX Runtime has beside those of ONNX, under the names, operands and attributes of the suites."""
from __future__ import annotations

import numpy

from ._columns import Column
from .onnxruntime_models import OWN, run


def _f32(x):
    return x.astype(numpy.float32)


def gated_delta_rule(p, q, k, v, gate, beta, state, *, norm="l2", scale=1.0, **_):
    """GatedDeltaNet, with positions before heads, and gates as their logarithms."""
    tokens = [numpy.ascontiguousarray(numpy.moveaxis(x, 1, 2)) for x in (q, k, v)]
    with numpy.errstate(invalid="ignore", divide="ignore"):
        decay = _f32(numpy.log(gate.astype(numpy.float64)))
    gates = [numpy.ascontiguousarray(numpy.swapaxes(x, 1, 2)) for x in (decay, _f32(beta))]
    o, new_state = run(p, "GatedDeltaNet", [*tokens, None, *gates, _f32(state)], [q.dtype.name, "float32"], domain=OWN,
                       scale=float(scale), qk_l2_norm=int(norm == "l2"))
    return numpy.ascontiguousarray(numpy.moveaxis(o, 1, 2)), new_state.astype(state.dtype)


def causal_conv1d(p, x, w, bias, state, *, silu=False, **_):
    """CausalConvWithState."""
    return run(p, "CausalConvWithState", [x, w[:, None], bias, state], [x.dtype.name] * 2, domain=OWN,
               activation="silu" if silu else "none")


COLUMNS = [
    Column("gated_delta_rule", gated_delta_rule, ("f32", "f16", "bf16-bf16-bf16-f32-f32-f32-bf16"), extra="math=8"),
    Column("causal_conv1d", causal_conv1d, ("f32", "f16")),
]
