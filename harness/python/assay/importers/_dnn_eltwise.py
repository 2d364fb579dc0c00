# SPDX-License-Identifier: Apache-2.0
"""oneDNN's elementwise algorithms and their gradients, by the table of its developer guide (dev_guide_eltwise)."""
from __future__ import annotations

from typing import Any, Callable

from . import _formulas as fn
from ._formulas import Term, apply, where
from .._traced import Exact

_FROM_DST = "_dst"
# How many of alpha and beta an algorithm takes.
ELTWISE = dict.fromkeys("abs exp gelu_erf gelu_tanh log logistic mish round sqrt square tanh".split(), 0) | dict.fromkeys(
    "elu relu soft_relu swish".split(), 1) | dict.fromkeys("clip clip_v2 hardsigmoid hardswish linear pow".split(), 2)
ELTWISE |= {name + _FROM_DST: ELTWISE[name] for name in "exp logistic sqrt tanh elu relu clip_v2".split()}
_ROOT = Exact("0.79788456080286535587989211986876373695")  # of 2/pi


def function_of(name: str) -> str:
    """Forward, it does not count which tensor a gradient would take."""
    return name.removesuffix(_FROM_DST)


def _soft_relu(x: Term, alpha: Any = 1) -> Term:
    """log(1 + exp(t)) / alpha, as oneDNN states it; where that rounds to t in any type it is t."""
    t = alpha * x
    return where(t > 40, t, fn.log(1 + fn.exp(fn.minimum(t, 40)))) / alpha


def _hard(x: Term, alpha: Term, beta: Term) -> Term:
    return fn.maximum(0, fn.minimum(1, alpha * x + beta))


def _pow(x: Term, beta: Term) -> Term:
    """The power of the size, and its sign by whether beta is even, odd or, of negative numbers, neither."""
    rest = fn.remainder(beta, 2)
    sign = where(apply("equal", rest, 0), 1, where(apply("equal", rest, 1), -1, apply("log", x * 0 - 1)))
    return where(x < 0, sign * apply("pow", fn.absolute(x), beta), apply("pow", fn.absolute(x), beta))


FORWARD: dict[str, Callable[..., Term]] = {
    "abs": fn.absolute, "clip": lambda x, a, b: fn.minimum(fn.maximum(x, a), b), "clip_v2": lambda x, a, b: fn.minimum(fn.maximum(x, a), b),
    "elu": lambda x, a: where(x > 0, x, a * (fn.exp(fn.minimum(x, 0)) - 1)), "exp": fn.exp, "gelu_erf": fn.gelu_erf, "gelu_tanh": fn.gelu_tanh,
    "hardsigmoid": _hard, "hardswish": lambda x, a, b: x * _hard(x, a, b), "linear": lambda x, a, b: a * x + b, "log": fn.log,
    "logistic": fn.sigmoid, "mish": lambda x: x * fn.tanh(_soft_relu(x)), "pow": lambda x, a, b: a * _pow(x, b),
    "relu": lambda x, a: where(x > 0, x, a * x), "round": lambda x: apply("nearest", x), "soft_relu": _soft_relu,
    "sqrt": lambda x: apply("sqrt", x), "square": fn.square, "swish": lambda x, a: x * fn.sigmoid(a * x), "tanh": fn.tanh}


def _gelu_erf(s: Term) -> Term:
    density = Exact("0.39894228040143267793994605993438186848") * fn.exp(-0.5 * (s * s))
    return 0.5 * apply("one_minus_erf", s * Exact("-0.70710678118654752440084436210484903928")) + s * density


def _gelu_tanh(s: Term) -> Term:
    t = _ROOT * (s + Exact("0.044715") * (s * s * s))
    return 0.5 * apply("one_minus_tanh", -t) * (1 + _ROOT * (s + Exact("0.134145") * (s * s * s)) * apply("one_minus_tanh", t))


def _mish(s: Term) -> Term:
    t = _soft_relu(s)
    return fn.tanh(t) + s * fn.sigmoid(s) * apply("one_minus_tanh", t) * apply("one_minus_tanh", -t)


def _inside(x: Term, low: Any, high: Any) -> Term:
    return apply("logical_and", low < x if isinstance(low, Term) else x > low, x < high)


# The factor of the destination's gradient; those of the last row take the destination itself instead of the source.
BACKWARD: dict[str, Callable[..., Term]] = {
    "abs": lambda s: where(s > 0, 1, where(s < 0, -1, 0)), "clip": lambda s, a, b: where(apply("logical_and", s > a, s <= b), 1, 0),
    "clip_v2": lambda s, a, b: where(_inside(s, a, b), 1, 0), "elu": lambda s, a: where(s > 0, 1, a * fn.exp(fn.minimum(s, 0))), "exp": fn.exp,
    "gelu_erf": _gelu_erf, "gelu_tanh": _gelu_tanh, "hardsigmoid": lambda s, a, b: where(_inside(a * s + b, 0, 1), a, 0),
    "hardswish": lambda s, a, b: where(a * s + b > 1, 1, where(a * s + b > 0, 2 * a * s + b, 0)), "linear": lambda s, a, b: a,
    "log": lambda s: 1 / s, "logistic": lambda s: fn.sigmoid(s) * fn.sigmoid(-s), "mish": _mish,
    "pow": lambda s, a, b: a * b * _pow(s, b - 1), "relu": lambda s, a: where(s > 0, 1, a), "soft_relu": lambda s, a: fn.sigmoid(a * s),
    "sqrt": lambda s: 0.5 / apply("sqrt", s), "square": lambda s: 2 * s,
    "swish": lambda s, a: fn.sigmoid(a * s) * (1 + a * s * fn.sigmoid(-(a * s))), "tanh": lambda s: apply("one_minus_tanh", s) * apply("one_minus_tanh", -s),
    "exp_dst": lambda d: d, "logistic_dst": lambda d: d * (1 - d), "sqrt_dst": lambda d: 0.5 / d, "tanh_dst": lambda d: 1 - d * d,
    "elu_dst": lambda d, a: where(d > 0, 1, d + a), "relu_dst": lambda d, a: where(d > 0, 1, a), "clip_v2_dst": lambda d, a, b: where(_inside(d, a, b), 1, 0)}
