# SPDX-License-Identifier: Apache-2.0
"""Traced arrays whose elements stand elsewhere: joined, split, one behind the other."""
from __future__ import annotations

import math
import numbers
from typing import Any, Optional, Sequence, Union

from ._axes import Axis, check_extent, fault, roots_of
from ._traced import Traced, map_function


def extent_of(x: Traced, place: int, function: str) -> int:
    axis = x.dims[place]
    extent = 1 if axis is None else axis.root().extent
    if extent is None:
        raise fault(f"{function} along axis {axis.root().name}, whose extent differs from case to case: "  # type: ignore[union-attr]
                    "an axis such as \"4\" has it")
    return extent


def indices(x: Any, function: str) -> list[Any]:
    """Indices along the last two axes of x, as its elements have them."""
    if not isinstance(x, Traced) or x.ndim < 2:
        raise fault(f"{function} takes an array with two axes at least: add some with x[None]")
    return [0 if axis is None else x.trace.add("index", [], (axis, *(None,) * behind), roots_of([axis]))
            for behind, axis in zip((1, 0), x.dims[-2:])]


def _whole_axis(parts: Sequence[Traced], place: int) -> tuple[Axis, list[list[str]]]:
    """The axis of all parts together, and where each of them begins on it, as a sum."""
    trace, axes = parts[0].trace, [x.dims[place] for x in parts]
    roots = roots_of(axes)
    extents = [1 if axis is None else axis.root().extent for axis in axes]
    if None not in extents:
        beginnings = [[str(sum(extents[:k]))] for k in range(len(parts))]  # type: ignore[arg-type]
        beside = Traced(trace, "", tuple(axis for x in parts for axis in x.dims))
        return trace.fixed(sum(extents), beside), beginnings  # type: ignore[arg-type]
    of = roots[0].origin()
    if len(roots) < len(parts) or any(axis.origin() is not of for axis in roots):
        raise fault("concat of axes whose extents differ from case to case: parts of one and the same axis are there")
    name = f"{len(parts)}*{of.name}"
    for axis in trace.axes:
        if axis.root() is axis and axis.name == name and axis not in {a for x in parts for a in roots_of(x.dims)}:
            return axis, [[of.name] * k for k in range(len(parts))]
    trace.axes.append(Axis(name, stated=True, of=of, times=len(parts)))
    return trace.axes[-1], [[of.name] * k for k in range(len(parts))]


def join(parts: Sequence[Traced], place: int) -> Traced:
    """Arrays one behind the other along an axis: each where it belongs, and by conditions on the index there chosen from."""
    trace = parts[0].trace
    whole, beginnings = _whole_axis(parts, place)
    moved = []
    for x, beginning in zip(parts, beginnings):
        dims = (*x.dims[:place], whole, *x.dims[place + 1:])
        if x.dims[place] is None:  # alike all along
            moved.append(x.with_dims((*x.dims[:place], None, *x.dims[place + 1:])))
            continue
        start = [part[1:] if part.startswith("-") else f"-{part}" for part in beginning if part != "0"]
        moved.append(trace.add("at", [x.name], dims, [x.dims[place].root(), whole], start=start))  # type: ignore[union-attr]
        moved[-1].is_condition = x.is_condition
    after = (None,) * (parts[0].ndim - place - 1)
    index = trace.add("index", [], (whole, *after), [whole])
    result = moved[-1]
    for x, beginning in reversed(list(zip(moved[:-1], beginnings[1:]))):
        end: Any = 0
        for part in beginning:
            end = int(part) if part.isdecimal() else trace.add("extent", [], (), [whole.of.root()]) + end  # type: ignore[union-attr]
        result = map_function("where", map_function("less", index, end), x, result)
    return result


def _groups(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Places of axes in either shape that have as many elements together, as few as possible."""
    if 0 in old:
        return [(list(range(len(old))), list(range(len(new))))]
    groups, a, b = [], 0, 0
    while a < len(old) or b < len(new):
        one, two = [a] if a < len(old) else [], [b] if b < len(new) else []
        a, b = a + len(one), b + len(two)
        while (left := math.prod(old[k] for k in one)) != (right := math.prod(new[k] for k in two)):
            if left < right:
                one.append(a)
                a += 1
            else:
                two.append(b)
                b += 1
        groups.append((one, two))
    return groups


def reshape(x: Traced, shape: Union[int, Sequence[int]]) -> Traced:
    """x with other axes, row-major."""
    asked = [shape] if not isinstance(shape, (tuple, list)) else list(shape)
    if any(not isinstance(extent, numbers.Integral) for extent in asked):
        raise fault(f"reshape to {asked}: extents are integers, of which one may be -1")
    new = [int(extent) for extent in asked]  # type: ignore[arg-type]
    old = [extent_of(x, place, "reshape") for place in range(x.ndim)]
    total = math.prod(old)
    if new.count(-1) == 1 and (rest := -math.prod(new)) > 0 and total % rest == 0:
        new[new.index(-1)] = total // rest
    if any(extent < 0 for extent in new) or math.prod(new) != total:
        raise fault(f"reshape of {total} elements to the shape {tuple(new)}")
    dims: list[Optional[Axis]] = []
    node = x
    for one, two in _groups(old, new):
        gone = [place for place in one if old[place] != 1]
        come = [place for place in two if new[place] != 1]
        if [old[place] for place in gone] == [new[place] for place in come]:
            axes: list[Optional[Axis]] = [x.dims[place] for place in gone]
        else:
            axes = []
            for place in come:
                beside = Traced(x.trace, "", (*node.dims, *dims, *axes))
                axes.append(x.trace.fixed(new[place], beside))
            from_axes = roots_of(x.dims[place] for place in gone)
            for axis in from_axes:
                check_extent(axis.extent)  # type: ignore[arg-type]
                axis.origin().fixed = True  # whose parts have these extents alone
            x.trace.arrays.append((*from_axes, *axes))  # which stay apart
            kept = tuple(axis for axis in node.dims if axis is not None and axis.root() not in from_axes)
            node = x.trace.add("reshape", [node.name], (*kept, *axes), from_axes, to=list(axes))
        rest_axes = iter(axes)
        dims += [next(rest_axes) if new[place] != 1 else None for place in two]
    return node.with_dims(dims, x.is_condition)
