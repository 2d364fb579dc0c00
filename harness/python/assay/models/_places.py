# SPDX-License-Identifier: Apache-2.0
"""Whether indices beside extremes name elements that have these values."""
from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence

from ._rules import Answer, Exact, Unjudged

_FAULT = "indices name no element with the result"
_NOT_FIRST = "indices are not those of the first element with the result"


def are_in_windows(x: Any, y: Any, indices: Any, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]) -> Any:
    """For each result y of a pool of maxima over the last two axes of x, whether its index, a place in a plane of x, lies in its window and x has y
    there. Arrays of NumPy."""
    import numpy
    planes, extents = x.reshape(*x.shape[:-2], -1), x.shape[-2:]
    are_right = (indices >= 0) & (indices < planes.shape[-1])
    at = numpy.take_along_axis(planes, numpy.where(are_right, indices, 0).reshape(*planes.shape[:-1], -1), -1).reshape(y.shape)
    are_right &= (at == y) | (at != at) & (y != y)
    for axis, places in ((-2, indices // extents[-1]), (-1, indices % extents[-1])):
        first = numpy.arange(y.shape[axis]) * stride[axis] - padding[axis]
        away = places - (first[:, None] if axis == -2 else first)
        are_right &= (away >= 0) & (away % dilation[axis] == 0) & (away // dilation[axis] < kernel[axis])
    return are_right


def places_in_windows(x: Any, y: Any, indices: Any, *window: Sequence[int]) -> Exact:
    import numpy
    x, y = ((each.float() if each.dtype.is_floating_point and each.dtype.itemsize < 4 else each).numpy(force=True) for each in (x, y))
    are_right = are_in_windows(x, y, indices.numpy(force=True), *window)
    return Exact(numpy.ones_like(are_right), are_right, _FAULT)


def _places(x: Any, y: Any, indices: Any, dim: int, is_first: bool) -> Exact:
    """Along one axis. `is_first`: of equal elements the first one is to be named."""
    import numpy
    if x.dim() == 0:
        x, y, indices, dim = x.reshape(1), y.reshape(1), indices.reshape(1), 0
    x, y = ((each.float() if each.dtype.is_floating_point and each.dtype.itemsize < 4 else each).numpy(force=True) for each in (x, y))
    indices, dim = indices.numpy(force=True), dim % x.ndim
    if y.ndim < x.ndim:
        y, indices = numpy.expand_dims(y, dim), numpy.expand_dims(indices, dim)
    if is_first:
        return Exact(((x == y) | (x != x) & (y != y)).argmax(dim, keepdims=True), indices, _NOT_FIRST)
    are_right = (indices >= 0) & (indices < x.shape[dim])
    at = numpy.take_along_axis(x, numpy.where(are_right, indices, 0), dim)
    are_right &= (at == y) | (at != at) & (y != y)
    return Exact(numpy.ones_like(are_right), are_right, _FAULT)


def with_places(usual: Any, is_first: bool, arguments: Mapping[str, Any], outputs: Sequence[Any]) -> Iterator[Answer]:
    """Judges what the usual rule does, and the indices beside it."""
    yield from usual(arguments, outputs)
    if len(outputs) > 1 and arguments.get("dim") is not None:
        if outputs[1] is None or outputs[0].numel() == 0:
            raise Unjudged("values without their places")
        yield _places(arguments["self"], outputs[0], outputs[1], arguments["dim"], is_first)
