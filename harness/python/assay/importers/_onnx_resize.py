# SPDX-License-Identifier: Apache-2.0
"""Resize: each result is a weighted sum of a few elements along each axis, at places and by weights that follow from extents."""
from __future__ import annotations

import math
from typing import Any

import numpy

from ._cases import Unmapped, demand
from ._onnx_arrays import Value, apply, known, move, reduce
from ._onnx_steps import Step, operator, place_in


def _coordinate(mode: str, i: int, scale: float, was: int, now: int, region: tuple[float, float]) -> float:
    """The place in the image of result i, a fraction."""
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


def _cubic(t: float, a: float) -> float:
    t = abs(t)
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0


def _taps(s: Step, at: float, scale: float, was: int) -> list[tuple[int, float]]:
    """Places and weights of one result."""
    mode = s.attr("mode", "nearest")
    if mode == "nearest":
        usual = "floor" if s.op == "Upsample" or s.opset < 11 else "round_prefer_floor"
        return [(min(max(_NEAREST[s.attr("nearest_mode", usual)](at), 0), was - 1), 1.0)]
    wide = min(scale, 1.0) if s.attr("antialias", 0) else 1.0
    reach, weight = (1, lambda t: max(1 - abs(t), 0.0)) if mode == "linear" else (2, lambda t: _cubic(t, s.attr("cubic_coeff_a", -0.75)))
    span = reach / wide
    found = [(place, weight((at - place) * wide)) for place in range(math.ceil(at - span), math.floor(at + span) + 1)]
    if s.attr("exclude_outside", 0):
        found = [(place, w) for place, w in found if 0 <= place < was]
    total = sum(w for _, w in found)
    taps: dict[int, float] = {}
    for place, w in found:
        place = min(max(place, 0), was - 1)
        taps[place] = taps.get(place, 0.0) + w / total
    return [(place, w) for place, w in taps.items() if w != 0]


def _along(s: Step, x: Value, axis: int, now: int, scale: float, region: tuple[float, float], asked: str) -> Value:
    was = x.shape[axis]
    at = [_coordinate(asked, i, scale, was, now, region) for i in range(now)]
    taps = [_taps(s, one, scale, was) for one in at]
    most = max(map(len, taps))
    places = numpy.array([[place for place, _ in one] + [-1] * (most - len(one)) for one in taps])
    weights = numpy.array([[w for _, w in one] + [0.0] * (most - len(one)) for one in taps])
    if most == 1:
        made = move(x, places[:, 0], axis, 1)
        if (weights != 1).any():
            made = made * known(weights[:, 0].reshape(-1, *(1,) * (x.rank - axis - 1)), "f64")
    else:
        weighted = move(x, places, axis, 1) * known(weights.reshape(now, most, *(1,) * (x.rank - axis - 1)), "f64")
        made = reduce("sum", weighted, [axis + 1], keepdims=False)
    if asked == "tf_crop_and_resize":
        outside = numpy.array([not 0 <= one <= was - 1 for one in at]).reshape(-1, *(1,) * (x.rank - axis - 1))
        if outside.any():
            made = apply("where", Value(outside, "bool"), s.attr("extrapolation_value", 0.0), made, type_=x.type)
    return Value(made.x, x.type)


@operator("Resize", "Upsample")
def _resize(s: Step) -> Any:
    x = s[0]
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
        demand(scales is not None and scales.size, "neither scales nor sizes")
        factors = [float(one) for one in scales]
        extents = [math.floor(x.shape[axis] * one) for axis, one in zip(axes, factors)]
    for k, axis in enumerate(axes):
        region = (float(regions[k]), float(regions[k + len(axes)])) if asked == "tf_crop_and_resize" else (0.0, 1.0)
        if extents[k] != x.shape[axis] or asked == "tf_crop_and_resize" or factors[k] != 1:
            x = _along(s, x, axis, extents[k], factors[k], region, asked)
    return x
