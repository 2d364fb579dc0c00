# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX that compute each element by itself."""
from __future__ import annotations

import math
from typing import Any

import numpy

from .._namespace import TRACED
from .._traced import Exact
from ._cases import demand
from ._onnx_arrays import BITS, Value, apply, known, roomy, spread, traced
from ._onnx_steps import OPERATORS, Step, operator

_MAPS = {"Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Sin": "sin", "Cos": "cos", "Tanh": "tanh", "Sigmoid": "sigmoid", "Erf": "erf",
         "Abs": "abs", "Neg": "negative", "Sub": "subtract", "Mul": "multiply", "Add": "add", "Equal": "equal", "Less": "less",
         "LessOrEqual": "less_equal", "And": "logical_and", "Or": "logical_or", "Xor": "not_equal", "Not": "logical_not",
         "Where": "where", "Relu": "relu"}
_LARGE, _LOG_2 = 2.0**60, Exact("0.69314718055994530941723212145817656807")
_FOLDS = {"Max": "maximum", "Min": "minimum", "Sum": "add"}


def round_to_f32(number: float) -> float:
    """The number as an attribute of ONNX holds it."""
    return numpy.float32(number).item()


def kept(x: Value, name: str = "") -> Value:
    """A result of the function `name` in its own type: integers that a wider type holds wrap around as their own would."""
    if x.type in ("u32", "u64"):
        demand(name == "abs" or x.type == "u32" and name in ("add", "subtract"),
               f"arithmetic of {x.type}, whose results no type here holds: use i64")
        whole = 2**32
        return x if name == "abs" else either(x + whole, either(x - whole, x, x > whole - 1), x < 0)
    most = 32 if x.is_known else 16  # of traced integers of 32 bits the results wrap around
    return wrapped(x, x.type) if x.type in BITS and BITS[x.type] <= most else x


def is_nan(x: Value) -> Value: return apply("isnan", x) if x.is_known else apply("not_equal", x, x)


def _map(name: str) -> Any:
    if name in ("add", "subtract", "multiply", "negative", "abs"):
        return lambda s: kept(apply(name, *s.values()), name)
    return lambda s: apply(name, *s.values())


def _fold(name: str) -> Any:
    def made(s: Step) -> Value:
        result = s[0]
        for one in s.values()[1:]:
            result = apply(name, result, one)
            result = kept(result, name) if name == "add" else result
        return result
    return made


OPERATORS.update({op: _map(name) for op, name in _MAPS.items()} | {op: _fold(name) for op, name in _FOLDS.items()})


def floor(x: Value) -> Value: return apply("floor_divide", x, 1)
def nearest(x: Value) -> Value: return apply("nearest", x)
def where(condition: Value, x: Any, y: Any, type_: str) -> Value: return apply("where", condition, x, y, type_=type_)
def either(x: Value, y: Any, condition: Value) -> Value: return apply("where", condition, x, y, type_=x.type)


def truncated(x: Value) -> Value:
    return either(-floor(-x), floor(x), x < 0)


def clipped(x: Value, low: Any, high: Any) -> Value:
    x = x if low is None else apply("maximum", x, low)
    return x if high is None else apply("minimum", x, high)


@operator("Identity")
def _identity(s: Step) -> Value: return s[0]
@operator("Greater")
def _greater(s: Step) -> Value: return s[1] < s[0]
@operator("GreaterOrEqual")
def _greater_equal(s: Step) -> Value: return s[1] <= s[0]
@operator("Mean")
def _mean(s: Step) -> Value: return OPERATORS["Sum"](s) / len(s.inputs)
@operator("Reciprocal")
def _reciprocal(s: Step) -> Value: return 1 / s[0]
@operator("Floor")
def _floor(s: Step) -> Value: return floor(s[0])
@operator("Ceil")
def _ceil(s: Step) -> Value: return -floor(-s[0])
@operator("Round")
def _round(s: Step) -> Value: return nearest(s[0])
@operator("Tan")
def _tan(s: Step) -> Value: return apply("sin", s[0]) / apply("cos", s[0])
@operator("Asin")
def _asin(s: Step) -> Value: return apply("asin", s[0])
@operator("Acos")
def _acos(s: Step) -> Value: return apply("acos", s[0])
@operator("Atan")
def _atan(s: Step) -> Value: return apply("atan", s[0])
@operator("Sinh")
def _sinh(s: Step) -> Value: return apply("tanh", s[0]) * _cosh(s)
@operator("Cosh")
def _cosh(s: Step) -> Value: return (apply("exp", s[0]) + apply("exp", -s[0])) / 2
@operator("Atanh")
def _atanh(s: Step) -> Value: return (apply("log1p", s[0]) - apply("log1p", -s[0])) / 2
@operator("PRelu")
def _prelu(s: Step) -> Value: return either(s[1] * s[0], s[0], s[0] < 0)
@operator("LeakyRelu")
def _leaky(s: Step) -> Value: return either(s.attr("alpha", round_to_f32(0.01)) * s[0], s[0], s[0] < 0)
@operator("Elu")
def _elu(s: Step) -> Value:  # the text of ONNX has this formula, and its own results are those of it
    return either(s.attr("alpha", 1.0) * (apply("exp", s[0]) - 1), s[0], s[0] < 0)
@operator("HardSigmoid")
def _hard_sigmoid(s: Step) -> Value: return clipped(s.attr("alpha", round_to_f32(0.2)) * s[0] + s.attr("beta", 0.5), 0, 1)
@operator("ThresholdedRelu")
def _thresholded(s: Step) -> Value: return either(s[0], 0, s[0] > s.attr("alpha", 1.0))
@operator("Softsign")
def _softsign(s: Step) -> Value: return s[0] / (1 + apply("abs", s[0]))
@operator("Sign")
def _sign(s: Step) -> Value:
    size = where(s[0] > 0, 1, where(s[0] < 0, -1, 0, s[0].type), s[0].type)
    return either(s[0], size, is_nan(s[0])) if s[0].is_float else size
@operator("IsNaN")
def _is_nan(s: Step) -> Value: return is_nan(s[0])


@operator("Asinh")
def _asinh(s: Step) -> Value:
    """By log1p without cancellation, and where the square has no number by the logarithm of 2 x."""
    size = apply("abs", s[0])
    square = apply("minimum", size, _LARGE) * apply("minimum", size, _LARGE)
    near = apply("log1p", size + square / (1 + apply("sqrt", square + 1)))
    made = either(near, apply("log", size) + _LOG_2, size < _LARGE)
    return either(-made, made, s[0] < 0)


@operator("Acosh")
def _acosh(s: Step) -> Value:
    above = apply("minimum", s[0], _LARGE) - 1
    near = apply("log1p", above + apply("sqrt", above * (above + 2)))
    return either(near, apply("log", s[0]) + _LOG_2, s[0] < _LARGE)


@operator("Selu")
def _selu(s: Step) -> Value:
    x, alpha, gamma = s[0], s.attr("alpha", round_to_f32(1.6732632423543772)), s.attr("gamma", round_to_f32(1.0507009873554804))
    return gamma * either(alpha * apply("exp", x) - alpha, x, x <= 0)


@operator("Shrink")
def _shrink(s: Step) -> Value:
    x, width, bias = s[0], s.attr("lambd", 0.5), s.attr("bias", 0.0)
    return either(x + bias, either(x - bias, where(x <= width, 0, x, x.type), x > width), x < -width)


@operator("Gelu")
def _gelu(s: Step) -> Value:
    x, kind = s[0], s.attr("approximate", "none")
    return Value(TRACED.gelu(traced(s.trace, x), kind), x.type)


@operator("IsInf")
def _is_inf(s: Step) -> Value:
    largest = 1.7976931348623157e308
    never = known(numpy.zeros(s[0].shape, bool), "bool")
    above = largest < s[0] if s.attr("detect_positive", 1) else never
    below = s[0] < -largest if s.attr("detect_negative", 1) else never
    return apply("logical_or", above, below)


@operator("Softplus")
def _softplus(s: Step) -> Value:
    return apply("maximum", s[0], 0) + apply("log1p", apply("exp", -apply("abs", s[0])))


@operator("Clip")
def _clip(s: Step) -> Value:
    low, high = (s.get(1), s.get(2)) if s.opset >= 11 else (s.attr("min"), s.attr("max"))
    return clipped(s[0], low, high)


@operator("Pow")
def _pow(s: Step) -> Value:
    x, y = s[0], s[1]
    if not y.is_known and math.prod(y.shape) == 1 and len(y.needs) == 1:
        s.array(1)  # a square is a product, of which more is known than of a power
    if y.is_known and y.x.size == 1 and y.x.reshape(-1)[0] in (2.0, 3.0):
        result = x
        for _ in range(int(y.x.reshape(-1)[0]) - 1):
            result = kept(result * x)
        return spread(result, numpy.broadcast_shapes(x.shape, y.shape))
    return kept(apply("pow", x, y, type_=x.type))


def divide_integers(x: Value, y: Value) -> Value:
    """Towards zero, as C has it."""
    quotient = apply("floor_divide", apply("abs", x), apply("abs", y))
    return either(-quotient, quotient, apply("not_equal", x < 0, y < 0))


@operator("Div")
def _divide(s: Step) -> Value:
    return s[0] / s[1] if s[0].is_float else divide_integers(s[0], s[1])


@operator("Mod")
def _mod(s: Step) -> Value:
    x, y = s[0], s[1]
    if not s.attr("fmod", 0):
        quotient = apply("floor_divide", x, y)
        return either(x, x - y * quotient, apply("equal", quotient, 0))
    demand(not x.is_float, "fmod of floats, whose remainders are exact: no formula here is; compute them by Div, Floor, Mul and Sub")
    quotient = apply("floor_divide", apply("abs", x), apply("abs", y))
    rest = either(apply("abs", x), apply("abs", x) - apply("abs", y) * quotient, apply("equal", quotient, 0))
    return either(-rest, rest, x < 0)


def wrapped(x: Value, type_: str) -> Value:
    """An integer as one of fewer bits."""
    bits = BITS[type_]
    low = -(2**(bits - 1)) if type_[0] == "i" else 0
    return Value((x - 2**bits * apply("floor_divide", x - low, 2**bits)).x, type_)


def _shifted_left(x: Value, k: int, bits: int) -> Value:
    """No intermediate leaves the type: the bits that remain are cut off first."""
    if k == 0:
        return x
    half = 2**(bits - k - 1)
    if x.type[0] == "u":
        return (x - 2 * half * apply("floor_divide", x, 2 * half)) * 2**k
    return (x - 2 * half * apply("floor_divide", apply("floor_divide", x, half) + 1, 2)) * 2**k


@operator("BitShift")
def _shift(s: Step) -> Value:
    """By as many places as there are bits, or by fewer than none, all of them leave."""
    x, count, bits = s[0], s[1], BITS[s[0].type]
    is_right = s.attr("direction") == "RIGHT"
    demand(is_right or bits <= 32, "shifts of 64 bits")
    result = where(x < 0, -1, 0, x.type) if is_right else x * 0
    for k in range(min(bits, 63)):
        moved = apply("floor_divide", x, 2**k) if is_right else _shifted_left(x, k, bits)
        result = where(apply("equal", count, k), moved, result, x.type)
    return result


def _bit(x: Value, k: int) -> Value:
    return apply("floor_divide", x, 2**k) - 2 * apply("floor_divide", x, 2**(k + 1))


_BITWISE = {"BitwiseAnd": "logical_and", "BitwiseOr": "logical_or", "BitwiseXor": "not_equal"}


@operator(*_BITWISE)
def _bitwise(s: Step) -> Value:
    x, y, bits, signed, join = s[0], s[1], BITS[s[0].type], s[0].type[0] == "i", _BITWISE[s.op]
    demand(bits <= 32, "operations on 64 bits")
    total: Any = where(apply(join, _bit(x, 0), _bit(y, 0)), 1, 0, x.type)
    for k in range(1, bits - signed):
        total = total + where(apply(join, _bit(x, k), _bit(y, k)), 2**k, 0, x.type)
    if signed:  # 2^31 itself is none of its type
        is_negative = apply(join, x < 0, y < 0)
        total = where(is_negative, total - (2**(bits - 1) - 1), total, x.type) - where(is_negative, 1, 0, x.type)
    return total


@operator("BitwiseNot")
def _bitwise_not(s: Step) -> Value:
    demand(s[0].type != "u64", "operations on 64 bits")
    return (-1 if s[0].type[0] == "i" else 2**BITS[s[0].type] - 1) - s[0]


@operator("Dropout")
def _dropout(s: Step) -> Any:
    s.pass_over("ratio", "seed", "is_test")
    roomy(s[0].shape)
    is_training = bool(s.array(2, numpy.array(False))) and (not s.has(1) or float(s.array(1)) != 0)
    demand(not is_training, "random numbers")
    return [s[0], known(numpy.ones(s[0].shape, bool), "bool")]
