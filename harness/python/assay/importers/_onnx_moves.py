# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX that change no numbers: elements stand elsewhere, or are chosen."""
from __future__ import annotations

import math
from typing import Any

import numpy

from ._onnx_arrays import Value, apply, concat, index_along, known, move, reduce, reshape, roomy, spread, traced_index, transpose
from ._onnx_elements import is_nan
from ._onnx_tensors import ELEMENTS
from ._onnx_steps import Step, operator, place_in


def places(shape: Any) -> numpy.ndarray:
    return numpy.arange(math.prod(roomy(shape))).reshape(shape)


@operator("Shape")
def _shape(s: Step) -> Value:
    return known(numpy.array(s[0].shape[slice(s.attr("start", 0), s.attr("end"))], numpy.int64), "i64")


@operator("Size")
def _size(s: Step) -> Value: return known(math.prod(s[0].shape), "i64")


@operator("Constant")
def _constant(s: Step) -> Value:
    for name, type_ in (("value_float", "f32"), ("value_floats", "f32"), ("value_int", "i64"), ("value_ints", "i64")):
        if name in s.attributes:
            return known(s.attr(name), type_)
    return s.attr("value")


@operator("ConstantOfShape")
def _constant_of_shape(s: Step) -> Value:
    value = s.attr("value")
    value = known([0.0], "f32") if value is None else value
    return Value(numpy.full(roomy(s.array(0)), value.x.reshape(-1)[0]), value.type)


@operator("Range")
def _range(s: Step) -> Value:
    start, limit, delta = (s.array(k).item() for k in range(3))
    count = max(math.ceil((limit - start) / delta), 0)
    roomy([count])
    if s[0].is_float and count > 1 and start == int(start) and delta == int(delta):  # whose functions are rounded as any are
        return Value((traced_index(s.trace, count) * int(delta) + int(start)).x, s[0].type)
    return known([start + k * delta for k in range(count)], s[0].type)


@operator("EyeLike")
def _eye(s: Step) -> Value:
    dtype = s.attr("dtype")
    return known(numpy.eye(*roomy(s[0].shape), k=s.attr("k", 0)), ELEMENTS[dtype] if dtype else s[0].type)


@operator("Reshape")
def _reshape(s: Step) -> Value:
    asked = s.integers(1, "shape")
    if not s.attr("allowzero", 0):
        asked = [s[0].shape[k] if extent == 0 else extent for k, extent in enumerate(asked)]
    return reshape(s[0], asked)


@operator("Flatten")
def _flatten(s: Step) -> Value:
    axis, shape = s.attr("axis", 1), s[0].shape
    axis = axis + len(shape) if axis < 0 else axis
    return reshape(s[0], (math.prod(shape[:axis]), math.prod(shape[axis:])))


@operator("Transpose")
def _transpose(s: Step) -> Value: return transpose(s[0], s.attr("perm", list(range(s[0].rank))[::-1]))


@operator("Squeeze")
def _squeeze(s: Step) -> Value:
    axes = s.integers(1, "axes")
    shape = s[0].shape
    gone = [k for k, extent in enumerate(shape) if extent == 1] if axes is None else [place_in(axis, len(shape)) for axis in axes]
    return reshape(s[0], [extent for k, extent in enumerate(shape) if k not in gone])


@operator("Unsqueeze")
def _unsqueeze(s: Step) -> Value:
    axes = s.integers(1, "axes")
    rank = s[0].rank + len(axes)
    come, rest = [axis % rank for axis in axes], iter(s[0].shape)
    return reshape(s[0], [1 if k in come else next(rest) for k in range(rank)])


@operator("Expand")
def _expand(s: Step) -> Value:
    return spread(s[0], numpy.broadcast_shapes(s[0].shape, tuple(int(extent) for extent in s.array(1))))


@operator("Concat")
def _concat(s: Step) -> Value: return concat(s.values(), s.axis(1))


@operator("Split")
def _split(s: Step) -> list[Value]:
    axis = s.axis(0)
    extent, sizes = s[0].shape[axis], s.integers(1, "split")
    if sizes is None:
        count = s.attr("num_outputs", s.outputs)
        size = -(-extent // count)
        sizes = [min(size, extent - k * size) for k in range(count)]
    ends = numpy.cumsum(sizes)
    return [move(s[0], numpy.arange(end - size, end), axis, 1) for size, end in zip(sizes, ends)]


@operator("Slice")
def _slice(s: Step) -> Value:
    starts, ends = s.integers(1, "starts"), s.integers(2, "ends")
    axes, steps = s.integers(3, "axes"), s.integers(4, "steps")
    x = s[0]
    for k, axis in enumerate(range(len(starts)) if axes is None else axes):
        axis, step = place_in(axis, x.rank), 1 if steps is None else steps[k]
        n, back = x.shape[axis], int(step < 0)
        start, end = (one + n if one < 0 else one for one in (starts[k], ends[k]))
        x = move(x, numpy.arange(min(max(start, 0), n - back), min(max(end, -back), n - back), step), axis, 1)
    return x


@operator("Tile")
def _tile(s: Step) -> Value:
    roomy([math.prod(s[0].shape), *s.integers(1)])
    return move(s[0], numpy.tile(places(s[0].shape), s.integers(1)))


@operator("Pad")
def _pad(s: Step) -> Value:
    x, pads = s[0], s.integers(1, "pads")
    axes = [place_in(axis, x.rank) for axis in (s.integers(3) or range(x.rank))]
    mode = s.attr("mode", "constant")
    fill = s.get(2) if s.opset >= 11 else s.attr("value", 0)
    for k, axis in enumerate(axes):
        before, behind = pads[k], pads[k + len(axes)]
        roomy([abs(before) + abs(behind)])
        index = numpy.arange(x.shape[axis])[max(-before, 0):x.shape[axis] - max(-behind, 0)]
        widths = [(max(before, 0), max(behind, 0))]
        index = numpy.pad(index, widths, mode, constant_values=-1) if mode == "constant" else numpy.pad(index, widths, mode)
        x = move(x, index, axis, 1, 0 if fill is None else fill)
    return x


@operator("Trilu")
def _trilu(s: Step) -> Value:
    k = int(s.array(1, numpy.array(0)).item())
    shape = s[0].shape[-2:]
    roomy(shape)
    kept = numpy.triu(numpy.ones(shape, bool), k) if s.attr("upper", 1) else numpy.tril(numpy.ones(shape, bool), k)
    return apply("where", Value(kept, "bool"), s[0], 0, type_=s[0].type)


@operator("OneHot")
def _one_hot(s: Step) -> Value:
    index, depth, values = s[0], int(s.array(1).reshape(-1)[0]), s[2]
    roomy([*index.shape, depth])
    axis = s.attr("axis", -1) % (index.rank + 1)
    shape = list(index.shape)
    index = reshape(index, [*shape[:axis], 1, *shape[axis:]])
    place = known(numpy.arange(depth).reshape(-1, *(1,) * (len(shape) - axis)), "i64")
    hot = apply("equal", place, apply("where", index < 0, index + depth, index, type_=index.type))
    off, on = (reshape(move(values, [k], 0, 1), []) for k in range(2))
    return apply("where", hot, on, off, type_=values.type)


@operator("DepthToSpace", "SpaceToDepth")
def _depth_to_space(s: Step) -> Value:
    b, (n, c, h, w) = s.attr("blocksize"), s[0].shape
    if s.op == "SpaceToDepth":
        order = (0, 3, 5, 1, 2, 4) if s.attr("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
        return reshape(transpose(reshape(s[0], (n, c, h // b, b, w // b, b)), order), (n, c * b * b, h // b, w // b))
    if s.attr("mode", "DCR") == "DCR":
        apart = transpose(reshape(s[0], (n, b, b, c // b**2, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        apart = transpose(reshape(s[0], (n, c // b**2, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return reshape(apart, (n, c // b**2, h * b, w * b))


@operator("Hardmax")
def _hardmax(s: Step) -> Value:
    axis, x = s.axis(-1 if s.opset >= 13 else 1), s[0]
    if s.opset < 13:
        x, axis = reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))), 1
    first = arg_extreme(x, axis, "max", False)
    made = apply("where", apply("equal", index_along(x, axis), first), 1, 0, type_=x.type)
    return reshape(made, s[0].shape)


def arg_extreme(x: Value, axis: int, kind: str, last: bool) -> Value:
    index, extent = index_along(x, axis), x.shape[axis]
    is_it = apply("equal", x, reduce(kind, x, [axis]))
    if x.is_float:  # a NaN is the extreme where there is one, as NumPy has it
        is_it = apply("logical_or", is_it, is_nan(x))
    if last:
        return reduce("max", apply("where", is_it, index, -1, type_="i64"), [axis])
    return reduce("min", apply("where", is_it, index, extent, type_="i64"), [axis])


@operator("ArgMax", "ArgMin")
def _arg(s: Step) -> Value:
    axis = s.axis(0)
    found = arg_extreme(s[0], axis, s.op[3:].lower(), bool(s.attr("select_last_index", 0)))
    return found if s.attr("keepdims", 1) else reshape(found, [e for k, e in enumerate(s[0].shape) if k != axis])
