# SPDX-License-Identifier: Apache-2.0
"""Resize: each result is a weighted sum of a few elements along each axis, at places that follow from extents and by weights that
kernels compute."""
from __future__ import annotations

import math
from typing import Any

import numpy

from ._cases import Unmapped, demand
from ._onnx_arrays import MOST_PLACES, Value, apply, known, move, reduce, reshape, roomy, traced_index
from ._onnx_steps import Step, operator, place_in


def _coordinate(mode: str, i: Any, scale: float, was: int, now: int, region: tuple[float, float]) -> Any:
    """The place in the image of result i, a fraction; of an index that is traced the arithmetic of it."""
    if mode == "half_pixel":
        return (i + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        exact = was * scale
        return was / 2 * (1 - now / exact) + (i + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (i + 0.5) / scale - 0.5 if now > 1 else 0.0
    if mode == "align_corners":
        return i * (was - 1) / (now - 1) if now > 1 else 0.0
    if mode == "asymmetric":
        return i / scale
    if mode == "tf_crop_and_resize":
        start, end = region
        return start * (was - 1) + i * (end - start) * (was - 1) / (now - 1) if now > 1 else 0.5 * (start + end) * (was - 1)
    raise Unmapped(f"coordinates by {mode[:40]}")


_NEAREST = {"round_prefer_floor": lambda x: math.ceil(x - 0.5), "round_prefer_ceil": lambda x: math.floor(x + 0.5), "floor": math.floor,
            "ceil": math.ceil}


def _cubic(t: Value, is_near: numpy.ndarray, a: float) -> Value:
    near = (a + 2) * t * t * t - (a + 3) * t * t + 1
    return apply("where", Value(is_near, "bool"), near, a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a, type_=t.type)


def _nearest(s: Step, x: Value, axis: int, at: numpy.ndarray) -> Value:
    usual = "floor" if s.op == "Upsample" or s.opset < 11 else "round_prefer_floor"
    choose, last = _NEAREST[s.attr("nearest_mode", usual)], x.shape[axis] - 1
    return move(x, numpy.array([min(max(choose(one), 0), last) for one in at]), axis, 1)


def _weighted(s: Step, x: Value, axis: int, at: numpy.ndarray, rounded: Value, scale: float) -> Value:
    """Sums along the axis by weights. rounded: the coordinates, as a kernel computes them; which elements count follows from exact
    ones, as weights are 0 where one leaves."""
    is_linear, was = s.attr("mode") == "linear", x.shape[axis]
    wide = min(scale, 1.0) if s.attr("antialias", 0) else 1.0
    span = (1 if is_linear else 2) / wide
    first = numpy.ceil(at - span).astype(int)
    roomy([len(at), math.floor(2 * span) + 1])
    places = first[:, None] + numpy.arange(math.floor(2 * span) + 1)
    exact = numpy.abs(at[:, None] - places) * wide
    counts = exact < (1 if is_linear else 2)
    if s.attr("exclude_outside", 0):
        counts &= (places >= 0) & (places < was)
    t = apply("abs", (reshape(rounded, (len(at), 1)) - known(places, "i64")) * wide)
    weights = 1 - t if is_linear else _cubic(t, exact <= 1, s.attr("cubic_coeff_a", -0.75))
    weights = apply("where", Value(counts, "bool"), weights, 0, type_="f32")
    if s.attr("antialias", 0) or s.attr("exclude_outside", 0):
        weights = weights / reduce("sum", weights, [1])
    weights = reshape(weights, (*places.shape, *(1,) * (x.rank - axis - 1)))
    return reduce("sum", move(x, numpy.clip(places, 0, was - 1), axis, 1) * weights, [axis + 1], keepdims=False)


def _along(s: Step, x: Value, axis: int, now: int, scale: float, region: tuple[float, float], asked: str) -> Value:
    was = x.shape[axis]
    demand(now <= MOST_PLACES, f"Resize to more than {MOST_PLACES} elements of an axis")
    at = numpy.array([_coordinate(asked, i, scale, was, now, region) for i in range(now)], float)
    if s.attr("mode", "nearest") == "nearest":
        made = _nearest(s, x, axis, at)
    else:
        index = traced_index(s.trace, now)
        rounded = _coordinate(asked, index, scale, was, now, region) if now > 1 else known(at, "f32")
        made = _weighted(s, x, axis, at, rounded, scale)
    if asked == "tf_crop_and_resize":
        outside = numpy.array([not 0 <= one <= was - 1 for one in at]).reshape(-1, *(1,) * (x.rank - axis - 1))
        if outside.any():
            made = apply("where", Value(outside, "bool"), s.attr("extrapolation_value", 0.0), made, type_=x.type)
    return Value(made.x, x.type)


@operator("Resize", "Upsample")
def _resize(s: Step) -> Any:
    x = s[0]
    s.pass_over("nearest_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value", "keep_aspect_ratio_policy")  # of some modes alone
    axes = [place_in(axis, x.rank) for axis in s.attr("axes", range(x.rank))]
    is_old = s.op == "Upsample" or s.opset < 11
    scales = s.array(1 if is_old else 2)
    sizes = None if is_old else s.array(3)
    regions, asked = s.array(1), s.attr("coordinate_transformation_mode", "asymmetric" if is_old else "half_pixel")
    if sizes is not None and sizes.size:
        factors = [int(size) / x.shape[axis] for size, axis in zip(sizes, axes)]
        policy, extents = s.attr("keep_aspect_ratio_policy", "stretch"), [int(size) for size in sizes]
        if policy != "stretch":
            one = min(factors) if policy == "not_larger" else max(factors)
            factors = [one] * len(axes)
            extents = [math.floor(one * x.shape[axis] + 0.5) for axis in axes]
    else:
        demand(scales is not None and scales.size, f"{s.op} has neither scales nor sizes: give one of them")
        factors = [float(one) for one in scales]
        extents = [math.floor(x.shape[axis] * one) for axis, one in zip(axes, factors)]
    for k, axis in enumerate(axes):
        region = (float(regions[k]), float(regions[k + len(axes)])) if asked == "tf_crop_and_resize" else (0.0, 1.0)
        if extents[k] != x.shape[axis] or asked == "tf_crop_and_resize" or factors[k] != 1:
            x = _along(s, x, axis, extents[k], factors[k], region, asked)
    return x
