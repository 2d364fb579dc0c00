# SPDX-License-Identifier: Apache-2.0
"""Steps of ONNX's optimisers (domain ai.onnx.preview.training): of each tensor its gradient and its state follow as operands."""
from __future__ import annotations

from typing import Any, Callable

from ._cases import demand
from ._onnx_arrays import Value, apply
from ._onnx_steps import Step, operator


def _each(states: int) -> Callable[[Callable[..., Any]], Callable[[Step], Any]]:
    """Makes a function of one tensor, its gradient and its states one of several: all new tensors, then all first states."""
    def made(function: Callable[..., Any]) -> Callable[[Step], Any]:
        def step(s: Step) -> Any:
            tensors = s.values()[2:]
            count = len(tensors) // (2 + states)
            results = [function(s, *tensors[k::count]) for k in range(count)]
            return [one for kind in zip(*results) for one in kind]
        return step
    return made


def _regularised(s: Step, x: Value, g: Value) -> Value:
    return s.attr("norm_coefficient") * x + g


@operator("Momentum")
@_each(1)
def _momentum(s: Step, x: Value, g: Value, v: Value) -> Any:
    """The first step ignores beta, whatever it is."""
    stated = s.attr("beta")
    beta = stated if int(s.array(1)) > 0 else 1.0
    g = _regularised(s, x, g)
    v = s.attr("alpha") * v + beta * g
    return (x - s[0] * v if s.attr("mode") == "standard" else x - s[0] * (g + s.attr("alpha") * v)), v


@operator("Adagrad")
@_each(1)
def _adagrad(s: Step, x: Value, g: Value, h: Value) -> Any:
    rate = s[0] / (1 + int(s.array(1)) * s.attr("decay_factor"))
    g = _regularised(s, x, g)
    h = h + g * g
    return x - rate * g / (apply("sqrt", h) + s.attr("epsilon")), h


@operator("Adam")
@_each(2)
def _adam(s: Step, x: Value, g: Value, v: Value, h: Value) -> Any:
    alpha, beta, count = s.attr("alpha"), s.attr("beta"), int(s.array(1))
    demand(count >= 0, "an optimiser before its first step")
    g = _regularised(s, x, g)
    v, h = alpha * v + (1 - alpha) * g, beta * h + (1 - beta) * g * g
    rate = s[0] * ((1 - beta**count)**0.5 / (1 - alpha**count)) if count > 0 else s[0]
    x = x - rate * v / (apply("sqrt", h) + s.attr("epsilon"))
    return (1 - s.attr("norm_coefficient_post")) * x, v, h
