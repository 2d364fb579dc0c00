# SPDX-License-Identifier: Apache-2.0
"""Traced arrays whose elements are chosen by places or by their order: take, sort, topk, arange, pad."""
from __future__ import annotations

import numbers
from typing import Any, Optional, Sequence

from ._axes import Axis, Dims, check_extent, fault, roots_of
from ._places import extent_of
from ._traced import Trace, Traced, map_function, place_of


class Extent(Traced):
    """How many elements an axis has, which a case says."""

    def __init__(self, trace: Trace, axis: Axis) -> None:
        self.trace, self.axis, self.dims, self.is_condition = trace, axis, (), False
        self._node: Optional[str] = None

    @property
    def name(self) -> str:  # type: ignore[override]
        if self._node is None:
            self._node = self.trace.add("extent", [], (), [self.axis.root()]).name
        return self._node


def _index(trace: Trace, axis: Axis) -> Traced:
    made = trace.add("index", [], (axis.root(),), [axis.root()])
    return made if axis.root().extent != 1 else trace.add("sum", [made.name], (None,), [axis.root()])


def arange(start: Any, stop: Any = None, step: int = 1) -> Traced:
    """Integers from start, in steps. Of an extent such as x.shape[0] all places along that axis."""
    if isinstance(start, Extent) and stop is None and step == 1:
        return _index(start.trace, start.axis)
    first, end = (0, start) if stop is None else (start, stop)
    if not all(isinstance(k, numbers.Integral) for k in (first, end, step)) or step == 0:
        raise fault(f"arange({start}, {stop}, {step}): give integers, or one extent such as x.shape[0]; compute with what that returns")
    chosen = range(int(first), int(end), int(step))
    if not chosen:
        raise fault("arange without elements")
    trace = Trace.latest()
    index = _index(trace, trace.fixed(len(chosen), Traced(trace, "", ())))
    return index if chosen == range(len(chosen)) else index * chosen.step + chosen.start


def _axis_at(x: Any, place: int, function: str) -> Axis:
    if x.dims[place] is None:
        raise fault(f"{function} along an axis of one element that broadcasts: give that axis a name, or leave it out")
    return x.dims[place].root()


def _apart(indices: Traced, axes: Sequence[Axis], kept: Sequence[int] = ()) -> Traced:
    """The places with axes of their own, but for those that are to be shared."""
    for k, axis in enumerate(indices.dims):
        if axis is not None and k not in kept and axis.root() in axes:
            indices = indices.trace.moved(indices, k, indices.trace.copy_of(axis))
    return indices


def _speaks_of(indices: Traced, axis: Axis) -> None:
    """An operand that is taken as places has such a role, unless another one is stated."""
    trace, operand = indices.trace, indices.trace.inputs.get(indices.name)
    if trace.has_types and indices.name not in trace.integers:
        raise fault("places that are real numbers, which may be fractions: take integers, or xp.floor(x) and xp.round(x)")
    if operand is None or operand in trace.spoken:
        return
    if trace.indices.setdefault(operand, ("places", axis))[1].root() is not axis:
        raise fault(f"{operand} has places along two axes; state one of them as its role, as roles={{\"{operand}\": \"places {axis.name}\"}}")


def _gather(x: Traced, indices: Traced, axis: Axis, dims: Dims) -> Traced:
    _speaks_of(indices, axis)
    made = x.trace.add("gather", [x.name, indices.name], dims, [axis])
    made.is_condition = x.is_condition
    return made


def _taken_at(x: Traced, place: int, axis: Axis, indices: Any) -> Traced:
    """Elements at places that are known."""
    import numpy
    known = numpy.asarray(indices)
    if known.dtype.kind not in "iu" or known.size == 0 or known.ndim > 1 or known.min() < 0:
        raise fault(f"take: places are integers from 0, in a list or in an array of the function's arguments, not {indices}")
    axis.require(int(known.max()) + 1, "take")
    target = x.trace.fixed(known.size, x)
    dims = (*x.dims[:place], target, *x.dims[place + 1:])
    made = x.trace.add("take", [x.name], dims, [axis], to=[target], places=[int(k) for k in known.flat])
    if known.size == 1:
        rest = () if known.ndim == 0 else (None,)
        made = x.trace.add("sum", [made.name], (*x.dims[:place], *rest, *x.dims[place + 1:]), [target])
    made.is_condition = x.is_condition
    return made


def take(x: Traced, indices: Any, axis: Optional[int] = None) -> Traced:
    """Elements along one axis at places, whose axes stand where it stood."""
    if not isinstance(x, Traced) or (axis is None and x.ndim != 1):
        raise fault("take takes an array of the function's arguments and places along one axis, as axis=0")
    place = place_of(x, 0 if axis is None else axis, "take")
    along = _axis_at(x, place, "take")
    if not isinstance(indices, Traced):
        return _taken_at(x, place, along, indices)
    others = roots_of((*x.dims[:place], *x.dims[place + 1:]))
    indices = _apart(indices, others)
    return _gather(x, indices, along, (*x.dims[:place], *indices.dims, *x.dims[place + 1:]))


def take_along_axis(x: Traced, indices: Traced, axis: int = -1) -> Traced:
    """Elements along one axis at places that each line along it has of its own."""
    if not isinstance(x, Traced) or not isinstance(indices, Traced) or x.ndim != indices.ndim:
        raise fault("take_along_axis takes an array of the function's arguments and one of places, with as many axes: add some with x[None]")
    place = place_of(x, axis, "take_along_axis")
    along = _axis_at(x, place, "take_along_axis")
    shared = []
    for k in range(x.ndim):
        if k != place and x.dims[k] is not None and indices.dims[k] is not None:
            indices = x.trace.align(indices, k, x.dims[k])  # type: ignore[arg-type]
            shared.append(k)
    others = roots_of(axis for k, axis in enumerate(x.dims) if k != place)
    indices = _apart(indices, others, shared)
    return _gather(x, indices, along, tuple(two if k == place or one is None else one for k, (one, two) in enumerate(zip(x.dims, indices.dims))))


def select(x: Any, axis: int, count: Optional[int], function: str, largest: bool, are_places: bool, ties: str) -> Traced:
    """The first numbers along an axis in descending or ascending order, or their places. `count`: so many; None: all."""
    place = place_of(x, axis, function)
    if count is not None and (not isinstance(count, numbers.Integral) or count < 1):
        raise fault(f"{function}: k={count}; give a positive integer that is known while the function is traced")
    if x.dims[place] is None:
        return map_function("subtract", x, x) if are_places else x
    along = x.dims[place].root()
    if count is not None:
        along.require(int(count), function)
    ranks = x.trace.copy_of(along) if count is None else x.trace.fixed(int(count), x)
    dims = (*x.dims[:place], ranks, *x.dims[place + 1:])
    name = ("places_of_" if are_places else "") + ("largest" if largest else "smallest")
    made = x.trace.add(name, [x.name], dims, [along], to=[ranks], ties=ties)
    made.is_condition = x.is_condition and not are_places
    if are_places:
        x.trace.types[made.name] = "i64"
    if count == 1:
        made = x.trace.add("sum", [made.name], (*x.dims[:place], None, *x.dims[place + 1:]), [ranks])
        if are_places:
            x.trace.types[made.name] = "i64"
    return made


def scatter_add(x: Traced, indices: Traced, updates: Traced, axis: int = 0) -> Traced:
    """x, to which updates are added at places along an axis, several at one place too."""
    if not all(isinstance(a, Traced) for a in (x, indices, updates)) or indices.ndim != 1 or x.ndim != updates.ndim:
        raise fault("scatter_add takes an array, places with one axis, and updates with as many axes as the array")
    place = place_of(x, axis, "scatter_add")
    to = _axis_at(x, place, "scatter_add")
    for k in range(x.ndim):
        if k != place and (x.dims[k] is None) != (updates.dims[k] is None):
            raise fault("scatter_add: the other axes of the updates are those of the array; none broadcasts")
        if k != place and x.dims[k] is not None:
            updates = x.trace.align(updates, k, x.dims[k])  # type: ignore[arg-type]
    count = _axis_at(updates, place, "scatter_add")
    if count is to or count in roots_of(x.dims):
        updates = x.trace.moved(updates, place, x.trace.copy_of(count))
    indices = x.trace.align(indices, 0, _axis_at(updates, place, "scatter_add"))
    _speaks_of(indices, to)
    return x.trace.add("scatter_add", [x.name, updates.name, indices.name], x.dims, [to])


def _padded(x: Traced, place: int, before: int, after: int, value: Any) -> Traced:
    extent = extent_of(x, place, "pad")
    check_extent(extent + before + after)
    axis, target = x.dims[place], x.trace.fixed(extent + before + after, x)
    dims = (*x.dims[:place], target, *x.dims[place + 1:])
    moved = x if axis is None else x.trace.add("at", [x.name], dims, [axis.root(), target], start=[str(-before)])
    if axis is not None and isinstance(value, numbers.Real) and value == 0:
        return moved
    index = x.trace.add("index", [], (target, *(None,) * (x.ndim - place - 1)), [target])
    inside = map_function("logical_and", map_function("less", before - 1, index), map_function("less", index, before + extent))
    return map_function("where", inside, moved, value)


def pad(x: Traced, pad_width: Sequence[Sequence[int]], constant_values: Any = 0) -> Traced:
    """x with further elements before and behind each axis, all of one number."""
    widths = list(pad_width) if isinstance(pad_width, (tuple, list)) else []
    is_whole = isinstance(x, Traced) and len(widths) == x.ndim and all(
        isinstance(w, (tuple, list)) and len(w) == 2 and all(isinstance(n, numbers.Integral) and n >= 0 for n in w) for w in widths)
    if not is_whole:
        raise fault(f"pad: pad_width={pad_width}; give how many elements are added before and behind each axis, as ((0, 0), (1, 1))")
    for place, (before, after) in enumerate(widths):
        if before or after:
            x = _padded(x, place, int(before), int(after), constant_values)
    return x
