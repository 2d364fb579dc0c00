# SPDX-License-Identifier: Apache-2.0
"""Definitions of ggml's functions of elements and of rows, as its CPU backend states them (unary-ops.cpp, ops.cpp)."""
from __future__ import annotations

from typing import Any, Callable

from . import _formulas as fn
from ._formulas import Formula, Term, apply, at, gather, sum_of, where
from ._ggml_formulas import Data, _all_types, _name, _once


def _floor(x: Any) -> Term: return apply("floor_divide", x, 1)
def _ceil(x: Term) -> Term: return -_floor(-x)
def _gelu_quick(x: Term) -> Term: return x * fn.sigmoid(1.702 * x)
def _hard_sigmoid(x: Term) -> Term: return fn.minimum(1, fn.maximum(0, (x + 3) / 6))


UNARY: dict[str, Callable[[Term], Term]] = {
    "abs": fn.absolute, "sgn": lambda x: where(x > 0, 1, where(x < 0, -1, 0)), "neg": lambda x: -x, "step": lambda x: where(x > 0, 1, 0),
    "elu": lambda x: where(x > 0, x, fn.exp(fn.minimum(x, 0)) - 1), "relu": fn.relu, "sigmoid": fn.sigmoid, "silu": fn.silu,
    "gelu_quick": _gelu_quick, "hardsigmoid": _hard_sigmoid, "hardswish": lambda x: x * _hard_sigmoid(x),
    "expm1": lambda x: fn.exp(x) - 1, "softplus": lambda x: where(x > 20, x, fn.log(1 + fn.exp(fn.minimum(x, 20)))),
    "floor": _floor, "ceil": _ceil, "trunc": lambda x: where(x < 0, _ceil(x), _floor(x)),
    "round": lambda x: where(x < 0, -_floor(0.5 - x), _floor(x + 0.5)),
    "sqr": fn.square, "sqrt": lambda x: apply("sqrt", x), "sin": lambda x: apply("sin", x), "cos": lambda x: apply("cos", x)}
GLU: dict[str, Callable[[Term], Term]] = {"reglu": fn.relu, "geglu": fn.gelu_tanh, "swiglu": fn.silu, "geglu_erf": fn.gelu_erf,
                                          "geglu_quick": _gelu_quick}
_FLOATS = ("f32", "f16", "bf16")


@_once
def unary(op: str) -> Data:
    f = Formula(_name(op), f"y = {op}(x)", _FLOATS)
    f.output("y", UNARY[op](f.input("x", "n", "positive" if op == "sqrt" else "data")), "n")
    return f.data()


@_once
def glu(op: str, form: str) -> Data:
    """form: split, swapped, or "" for the gates in the first half of a row."""
    f = Formula(_name(op, form), f"{op} of rows, the gate through its function", _FLOATS)
    if form == "split":
        gate, x = f.input("a", "rows n"), f.input("b", "rows n")
    else:
        a = f.input("a", "rows 2*n")
        halves = at(a, "2*n", "n"), at(a, "2*n", "n", ["n"])
        gate, x = halves[::-1] if form == "swapped" else halves
    f.output("y", GLU[op](gate) * x, "rows n")
    return f.data()


@_once
def swiglu_oai() -> Data:
    f = Formula(_name("swiglu_oai"), "x sigmoid(alpha x) (g + 1), both cut off at a limit", _FLOATS)
    alpha, limit = f.real("alpha", 1.702), f.real("limit", 7)
    a, b = f.input("a", "rows n"), f.input("b", "rows n")
    x, gate = fn.minimum(a, limit), fn.minimum(fn.maximum(b, -limit), limit)
    f.output("y", x * fn.sigmoid(alpha * x) * (gate + 1), "rows n")
    return f.data()


@_once
def with_numbers(op: str) -> Data:
    f = Formula(_name(op), f"{op} with numbers of the case", _FLOATS)
    if op == "scale":
        scale, bias = f.real("scale", 2), f.real("bias", 0)
        y = f.input("x", "n") * scale + bias
    elif op == "clamp":
        low, high = f.real("low", -0.5), f.real("high", 0.5)
        y = fn.minimum(fn.maximum(f.input("x", "n"), low), high)
    else:
        slope, x = f.real("slope", 0.1), f.input("x", "n")
        y = where(x > 0, x, slope * x)
    f.output("y", y, "n")
    return f.data()


@_once
def norm(kind: str) -> Data:
    """kind: norm, rms_norm or l2_norm; eps of the last one is the least norm."""
    f = Formula(_name(kind), f"{kind} of each row, without weights", _FLOATS)
    eps, x = f.real("eps", 1e-6), f.input("x", "rows n")
    if kind == "norm":
        c = fn.centred(x, "n")
        y = c * apply("rsqrt", fn.mean_of(c * c, "n") + eps)
    elif kind == "rms_norm":
        y = x * apply("rsqrt", fn.mean_of(x * x, "n") + eps)
    else:
        y = x / fn.maximum(apply("sqrt", sum_of(x * x, "n")), eps)
    f.output("y", y, "rows n")
    return f.data()


@_once
def rms_norm_back() -> Data:
    f = Formula(_name("rms_norm_back"), "the gradient of rms_norm", ["f32"])
    eps, dy, x = f.real("eps", 1e-6), f.input("dy", "rows n"), f.input("x", "rows n")
    total = sum_of(x * x, "n")
    f.output("dx", apply("rsqrt", total / f.extent("n") + eps) * (dy - x * (sum_of(x * dy, "n") / (total + eps * f.extent("n")))), "rows n")
    return f.data()


@_once
def silu_back() -> Data:
    f = Formula(_name("silu_back"), "the gradient of silu", ["f32"])
    dy, x = f.input("dy", "n"), f.input("x", "n")
    s = fn.sigmoid(x)
    f.output("dx", dy * s * (1 + x * fn.sigmoid(-x)), "n")
    return f.data()


@_once
def ssm_conv() -> Data:
    f = Formula(_name("ssm_conv"), "each channel's own kernel along its tokens", ["f32"])
    x, w = f.input("x", "s c w"), f.input("w", "c k")
    f.output("y", sum_of(fn.windows(x, "w", [], {"t": "1", "k": "1"}) * w, "k"), "s t c")
    return f.data()


@_once
def add_id() -> Data:
    f = Formula(_name("add_id"), "a and the rows of b that ids names, added", ["f32-f32-i32-f32"])
    a, b, ids = f.input("a", "tokens used n"), f.input("b", "experts n"), f.input("ids", "tokens used", places_of="experts")
    f.output("y", a + gather(b, "experts", ids), "tokens used n")
    return f.data()


@_once
def pad() -> Data:
    f = Formula(_name("pad"), "x with zeros around it", _FLOATS)
    for k in "3210":
        f.integer(f"left_{k}", 0)
    x = f.input("x", "n3 n2 n1 n0")
    for k in "3210":
        x = at(x, f"n{k}", f"o{k}", [f"-left_{k}"])
    f.output("y", x, "o3 o2 o1 o0")
    return f.data()


@_once
def cross_entropy_loss() -> Data:
    f = Formula(_name("cross_entropy_loss"), "the mean over rows of -sum labels log(softmax(x))", ["f32"])
    x, labels = f.input("x", "rows n"), f.input("labels", "rows n", "positive")
    d = -fn.reduce("below_max", x, "n")
    log_softmax = d - fn.log(fn.reduce("rescaled_sum", fn.exp(d), "n"))
    f.output("y", -(sum_of(labels * log_softmax, "rows n") / f.extent("rows")), "1")
    return f.data()


_TYPES_OF_SUMS = _all_types(["f32"])


@_once
def accumulate() -> Data:
    f = Formula(_name("acc"), "a with b added to its first elements of each axis", _TYPES_OF_SUMS)
    a, b = f.input("a", "n3 n2 n1 n0"), f.input("b", "m3 m2 m1 m0", "offset")
    for k in "3210":
        b = at(b, f"m{k}", f"n{k}")
    f.output("y", a + b, "n3 n2 n1 n0")
    return f.data()
