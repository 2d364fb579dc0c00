# SPDX-License-Identifier: Apache-2.0
"""Conversions of types, and codes with scales."""
from __future__ import annotations

import math
from typing import Any

import numpy

from ._cases import demand
from ._onnx_arrays import BITS, FLOATS, Value, apply, known, move, reshape
from ._onnx_elements import clipped, either, nearest, truncated, where, wrapped
from ._onnx_steps import Step, operator
from ._onnx_tensors import ELEMENTS, SMALL, numbers_of

_STEPS = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
_WIDER = {"f64": (), "f32": ("f64",), "f16": ("f64", "f32"), "bf16": ("f64", "f32"), "e8m0": ("f64", "f32", "bf16")}


def _round_small(x: Value, type_: str, saturate: bool) -> Value:
    """To the nearest number of a small type, ties to an even one; e2m1 has no NaN, and 0 for it."""
    numbers = numbers_of(type_)
    size = apply("abs", x)
    made: Any = size * 0
    steps = [(low, high, high) for low, high in zip(numbers, numbers[1:])]
    if not saturate and type_ != "e2m1":
        steps.append((numbers[-1], 2 * numbers[-1] - numbers[-2], math.nan))
    for k, (low, high, becomes) in enumerate(steps):
        passes = apply("less_equal" if k % 2 else "less", (low + high) / 2, size, type_="bool")
        made = where(passes, becomes, made, "f32")
    if type_ == "e2m1":
        made = where(apply("not_equal", x, x), 0, made, "f32")
    return Value(either(-made, made, x < 0).x, type_)


def _is_held(from_: str, to: str) -> bool:
    """Whether the type has all integers of the other one."""
    low = 0 if to[0] == "u" else 1
    return BITS[to] - low >= BITS[from_] - (from_[0] == "i") and not (from_[0] == "i" and to[0] == "u")


def cast(x: Value, to: str, saturate: bool = True) -> Value:
    if to == x.type:
        return x
    if to == "bool":
        return apply("not_equal", x, 0)
    if x.type == "bool":
        return Value(x.x.astype(numpy.float64 if to in FLOATS else numpy.int64) if x.is_known else x.x.with_dims(x.x.dims, False), to)
    if to in SMALL and saturate:
        x = clipped(x, -numbers_of(to)[-1], numbers_of(to)[-1])
    if x.is_known and to != "e8m0":
        whole = known(numpy.trunc(x.x) if to in BITS else x.x, to)
        return whole if to not in BITS or BITS[to] == 64 else wrapped(whole, to)
    if to in BITS:
        whole = truncated(x) if x.is_float else x
        if x.is_float and BITS[to] >= 8 or not x.is_float and _is_held(x.type, to):
            return Value(whole.x, to)
        return wrapped(whole, to)
    demand(to in FLOATS, f"conversions to {to}")
    if to in _STEPS:  # what has all numbers of the other one rounds nothing
        widens = x.type in FLOATS and to in _WIDER.get(x.type, ("f64", "f32", "f16", "bf16"))
        return Value(x.x if widens else x.x.astype(_STEPS[to]), to)
    demand(to != "e8m0", "conversions to e8m0")
    return Value(x.x, to) if to in ("e4m3", "e5m2") else _round_small(x, to, saturate)


@operator("Cast")
def _cast(s: Step) -> Value: return cast(s[0], ELEMENTS[s.attr("to")], bool(s.attr("saturate", 1)))
@operator("CastLike")
def _cast_like(s: Step) -> Value: return cast(s[0], s[1].type, bool(s.attr("saturate", 1)))


def _along_axis(scale: Value, like: Value, axis: int, block: int) -> Value:
    if scale.rank == like.rank and block:
        repeated = numpy.minimum(numpy.arange(like.shape[axis]) // block, scale.shape[axis] - 1)
        return move(scale, repeated, axis, 1)
    if scale.rank == 0 or scale.rank == like.rank:
        return scale
    return reshape(scale, [-1 if k == axis else 1 for k in range(like.rank)])


def quantized(x: Value, scale: Value, zero: Any, to: str) -> Value:
    quotient = Value((x / scale).x, "f32")
    if to in BITS:
        bits, signed = BITS[to], to[0] == "i"
        low = -(2**(bits - 1)) if signed else 0
        codes = nearest(quotient) if zero is None else nearest(quotient) + zero
        return Value(clipped(codes, low, low + 2**bits - 1).x, to)
    return cast(quotient, to)


@operator("QuantizeLinear")
def _quantize(s: Step) -> Value:
    axis, block = s.attr("axis", 1), s.attr("block_size", 0)
    axis = axis % s[0].rank if s[0].rank else 0
    zero = s.get(2)
    stated = s.attr("output_dtype", 0)
    to = zero.type if zero else ELEMENTS[stated or 2]
    demand(not stated or ELEMENTS[stated] == to, "output_dtype of QuantizeLinear is not the type of its zero point: leave one out")
    placed = zero and _along_axis(zero, s[0], axis, block)
    return quantized(s[0], _along_axis(s[1], s[0], axis, block), placed, to)


@operator("DequantizeLinear")
def _dequantize(s: Step) -> Value:
    axis, block = s.attr("axis", 1), s.attr("block_size", 0)
    axis = axis % s[0].rank if s[0].rank else 0
    scale, to = s[1], ELEMENTS[s.attr("output_dtype", 0)] if s.attr("output_dtype", 0) else s[1].type
    x = Value(s[0].x, to)
    if s.has(2):
        x = x - Value(_along_axis(s[2], s[0], axis, block).x, to)
    return Value((x * _along_axis(scale, s[0], axis, block)).x, to)
