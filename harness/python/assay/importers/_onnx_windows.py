# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools: elements are moved into windows, and these are reduced."""
from __future__ import annotations

import math
from typing import Any, Sequence

import numpy

from ._cases import demand
from ._onnx_arrays import Value, apply, einsum, known, move, reduce, reshape, roomy, transpose
from ._onnx_elements import is_nan
from ._onnx_steps import Step, operator
from ._onnx_sums import centred, per_channel
from ._onnx_types import quantized


class Windows:
    """Where the windows of a convolution or a pool lie, an entry for each axis of the image."""

    def __init__(self, s: Step, image: Sequence[int], kernel: Sequence[int]) -> None:
        axes = len(image)
        self.image, self.kernel = list(image), list(kernel)
        demand(list(s.attr("kernel_shape") or kernel) == self.kernel, f"kernel_shape of {s.op} is not that of its weights: make it {self.kernel}")
        self.strides, self.dilations = s.attr("strides") or [1] * axes, s.attr("dilations") or [1] * axes
        pads, auto, self.ceil = s.attr("pads") or [0] * 2 * axes, s.attr("auto_pad", "NOTSET"), s.attr("ceil_mode", 0)
        if auto == "VALID":
            pads = [0] * 2 * axes
        self.reach = [(k - 1) * d + 1 for k, d in zip(kernel, self.dilations)]
        self.before, self.behind = list(pads[:axes]), list(pads[axes:])
        for k in range(axes if auto.startswith("SAME") else 0):
            whole = max((-(-image[k] // self.strides[k]) - 1) * self.strides[k] + self.reach[k] - image[k], 0)
            self.before[k] = (whole + 1) // 2 if auto == "SAME_LOWER" else whole // 2
            self.behind[k] = whole - self.before[k]

    def outputs(self, axis: int) -> int:
        free = self.image[axis] + self.before[axis] + self.behind[axis] - self.reach[axis]
        count = (-(-free // self.strides[axis]) if self.ceil else free // self.strides[axis]) + 1
        # No window begins in the padding behind the image.
        return count - int(self.ceil and (count - 1) * self.strides[axis] >= self.image[axis] + self.before[axis])

    def places(self, axis: int) -> numpy.ndarray:
        """The place in the image for each window and each place in it, whether the image has that or not."""
        roomy([self.outputs(axis), self.kernel[axis]])
        first = numpy.arange(self.outputs(axis)) * self.strides[axis] - self.before[axis]
        return first[:, None] + numpy.arange(self.kernel[axis]) * self.dilations[axis]

    def is_inside(self, axis: int, padded: bool = False) -> numpy.ndarray:
        places, more = self.places(axis), (self.before[axis], self.behind[axis]) if padded else (0, 0)
        return (places >= -more[0]) & (places < self.image[axis] + more[1])

    def of(self, x: Value, repeated: bool = False) -> Value:
        """[n, c, windows..., places in them...]. repeated: instead of padding an element of the same window."""
        axes = len(self.image)
        for axis in range(axes):
            places, inside = self.places(axis), self.is_inside(axis)
            demand(inside.any(1).all() or not repeated, "windows of padding alone")
            other = places[numpy.arange(len(places)), inside.argmax(1)][:, None] if repeated else -1
            x = move(x, numpy.where(inside, places, other), 2 + 2 * axis, 1)
        return transpose(x, [0, 1, *range(2, 2 + 2 * axes, 2), *range(3, 2 + 2 * axes, 2)])


def _convolved(x: Value, w: Value, windows: Windows, groups: int) -> Value:
    axes = len(windows.image)
    apart, letters, kernel = windows.of(x), "opqr"[:axes], "hijk"[:axes]
    apart = reshape(apart, (apart.shape[0], groups, x.shape[1] // groups, *apart.shape[2:]))
    weights = reshape(w, (groups, w.shape[0] // groups, *w.shape[1:]))
    made = einsum(f"ngc{letters}{kernel},gmc{kernel}->ngm{letters}", apart, weights)
    return reshape(made, (x.shape[0], w.shape[0], *made.shape[3:]))


@operator("Conv", "ConvInteger")
def _conv(s: Step) -> Value:
    x, w, bias = s[0], s[1], s.get(2)
    if s.op == "ConvInteger":
        x, w, bias = centred(x, s.get(2)), centred(w, s.get(3), 0), None
    y = _convolved(x, w, Windows(s, x.shape[2:], w.shape[2:]), s.attr("group", 1))
    return y + per_channel(bias, y.rank) if bias is not None else y


@operator("QLinearConv")
def _qlinear_conv(s: Step) -> Value:
    x, w = centred(s[0], s[2]), centred(s[3], s[5], 0)
    y = _convolved(x, w, Windows(s, x.shape[2:], w.shape[2:]), s.attr("group", 1))
    y = y + per_channel(s[8], y.rank) if s.has(8) else y
    of_w = per_channel(s[4], y.rank) if math.prod(s[4].shape) > 1 else reshape(s[4], ())
    return quantized(Value((y * (reshape(s[1], ()) * of_w)).x, "f32"), reshape(s[6], ()), reshape(s[7], ()), s[7].type)


@operator("ConvTranspose")
def _conv_transpose(s: Step) -> Value:
    """Each result gathers the products that an image's element gives it."""
    x, w, groups = s[0], s[1], s.attr("group", 1)
    axes, image, kernel = x.rank - 2, x.shape[2:], w.shape[2:]
    demand(tuple(s.attr("kernel_shape") or kernel) == kernel, f"kernel_shape of {s.op} is not that of its weights: make it {kernel}")
    strides, dilations = s.attr("strides") or [1] * axes, s.attr("dilations") or [1] * axes
    more, pads = s.attr("output_padding") or [0] * axes, list(s.attr("pads") or [0] * 2 * axes)
    auto, asked = s.attr("auto_pad", "NOTSET"), s.attr("output_shape")
    for k in range(axes):
        whole = strides[k] * (image[k] - 1) + more[k] + (kernel[k] - 1) * dilations[k] + 1
        if asked or auto.startswith("SAME"):
            total = whole - (asked[k] if asked else image[k] * strides[k])
            pads[k] = max(total // 2 if auto == "SAME_UPPER" else total - total // 2, 0)
            pads[k + axes] = total - pads[k]
        roomy([whole, kernel[k]])
        results = numpy.arange(whole - pads[k] - pads[k + axes])[:, None]
        at = results + pads[k] - numpy.arange(kernel[k]) * dilations[k]
        exists = (at % strides[k] == 0) & (at >= 0) & (at < image[k] * strides[k])
        x = move(x, numpy.where(exists, at // strides[k], -1), 2 + 2 * k, 1)
    letters, places = "opqr"[:axes], "hijk"[:axes]
    c = x.shape[1] // groups
    x = reshape(x, (x.shape[0], groups, c, *x.shape[2:]))
    weights = reshape(w, (groups, c, *w.shape[1:]))
    pairs = "".join(a + b for a, b in zip(letters, places))
    y = einsum(f"ngc{pairs},gcm{places}->ngm{letters}", x, weights)
    y = reshape(y, (y.shape[0], -1, *y.shape[3:]))
    return y + per_channel(s[2], y.rank) if s.has(2) else y


def _counts(windows: Windows, padded: bool) -> Value:
    axes = len(windows.image)
    counts = numpy.ones((), int)
    for axis in range(axes):
        counts = counts[..., None] * windows.is_inside(axis, padded).sum(1)
    return known(counts, "i64")


@operator("AveragePool", "LpPool", "GlobalAveragePool", "GlobalLpPool")
def _average_pool(s: Step) -> Value:
    x, is_global = s[0], s.op.startswith("Global")
    windows = Windows(s, x.shape[2:], x.shape[2:] if is_global else s.attr("kernel_shape"))
    axes, p = len(windows.image), s.attr("p", 2)
    apart = windows.of(x)
    inner = range(2 + axes, 2 + 2 * axes)
    if s.op.endswith("AveragePool"):
        total = reduce("sum", apart, inner, keepdims=False)
        return total / _counts(windows, bool(s.attr("count_include_pad", 0)))
    size = apply("abs", apart)
    power = size
    for _ in range(p - 1):
        power = power * size
    total = reduce("sum", power, inner, keepdims=False)
    return total if p == 1 else apply("sqrt", total) if p == 2 else apply("pow", total, 1 / p)


@operator("MaxPool", "GlobalMaxPool")
def _max_pool(s: Step) -> Any:
    x = s[0]
    windows = Windows(s, x.shape[2:], x.shape[2:] if s.op == "GlobalMaxPool" else s.attr("kernel_shape"))
    axes = len(windows.image)
    apart, inner = windows.of(x, repeated=True), range(2 + axes, 2 + 2 * axes)
    top = reduce("max", apart, inner)
    y = reshape(top, top.shape[:2 + axes])
    if s.outputs < 2:
        s.pass_over("storage_order")
        return y
    demand(x.type in ("f64", "f32") and x.is_operand,
           "places of maxima that may be equal, of which ONNX takes any: numbers of f32 or f64 that are an operand seldom are")
    numbers = numpy.arange(math.prod(x.shape))
    order = 0
    if s.attr("storage_order", 0):  # the first axis of the image the fastest
        order = numpy.arange(math.prod(x.shape)).reshape(*x.shape[:2], *x.shape[2:][::-1]).transpose(0, 1, *range(x.rank - 1, 1, -1))
        numbers = order.reshape(-1)
    index = windows.of(known(numbers.reshape(x.shape), "i64"), repeated=True)
    is_it = apply("logical_or", apply("equal", apart, top), is_nan(apart))
    first = reduce("min", apply("where", is_it, index, math.prod(x.shape), type_="i64"), inner, keepdims=False)
    return [y, first]
