# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX that put elements at places which an operand lists."""
from __future__ import annotations

import math
from typing import Sequence

import numpy

from ._cases import demand
from ._onnx_arrays import Value, apply, move, reduce, reshape, roomy, transpose
from ._onnx_moves import places
from ._onnx_steps import Step, operator


@operator("Gather")
def _gather(s: Step) -> Value:
    axis = s.axis(0)
    return move(s[0], _from_front(s.op, s.array(1), s[0].shape[axis]), axis, 1)


def _from_front(op: str, index: numpy.ndarray, extent: int) -> numpy.ndarray:
    """Indices, of which negative ones count from the end."""
    demand(((index >= -extent) & (index < extent)).all(), f"{op} has an index beyond its axis: give indices from {-extent} to {extent - 1}")
    return numpy.where(index < 0, index + extent, index)


def _grid(shape: Sequence[int]) -> list[numpy.ndarray]:
    """The index along each axis of each element."""
    roomy([len(shape) or 1, *shape])
    return list(numpy.indices(shape))


@operator("GatherElements")
def _gather_elements(s: Step) -> Value:
    axis, index = s.axis(0), s.array(1)
    grid = _grid(index.shape)
    grid[axis] = _from_front(s.op, index, s[0].shape[axis])
    return move(s[0], places(s[0].shape)[tuple(grid)])


@operator("GatherND")
def _gather_nd(s: Step) -> Value:
    index, batch, from_ = s.array(1), s.attr("batch_dims", 0), places(s[0].shape)
    lead = index.shape[:batch]
    found = numpy.array([from_[at][tuple(numpy.moveaxis(index[at], -1, 0))] for at in numpy.ndindex(*lead)])
    return move(s[0], found.reshape(*lead, *found.shape[1:]))


_JOINED = {"add": lambda x, y: x + y, "mul": lambda x, y: x * y, "max": lambda x, y: apply("maximum", x, y),
           "min": lambda x, y: apply("minimum", x, y)}


_MOST_TURNS = 256


def _turns(targets: numpy.ndarray) -> numpy.ndarray:
    """How many targets before each one are the same."""
    order, numbers = numpy.argsort(targets, kind="stable"), numpy.arange(targets.size)
    placed = targets[order]
    begins = numpy.append(True, placed[1:] != placed[:-1])[:targets.size]
    turns = numpy.empty_like(targets)
    turns[order] = numbers - numpy.maximum.accumulate(numpy.where(begins, numbers, 0))
    return turns


def _scattered(x: Value, updates: Value, targets: numpy.ndarray, how: str) -> Value:
    """targets: the row-major place in x of each update. Several at one place come one after the other."""
    targets, numbers = targets.reshape(-1), numpy.arange(targets.size)
    turns = numpy.zeros_like(targets) if how == "none" else _turns(targets)
    count = int(turns.max(initial=-1)) + 1
    demand(count <= _MOST_TURNS, f"a scatter of more than {_MOST_TURNS} updates to one place")
    layers = numpy.full(roomy([count, math.prod(x.shape)]), -1)
    numpy.maximum.at(layers, (turns, targets), numbers)  # of several without reduction the last one stays
    for layer in layers:
        moved = move(updates, layer.reshape(x.shape))
        there = Value((layer >= 0).reshape(x.shape), "bool")
        x = apply("where", there, moved if how == "none" else _JOINED[how](x, moved), x, type_=x.type)
    return x


@operator("ScatterElements", "Scatter")
def _scatter_elements(s: Step) -> Value:
    axis, index = s.axis(0), s.array(1)
    grid = _grid(index.shape)
    grid[axis] = _from_front(s.op, index, s[0].shape[axis])
    return _scattered(s[0], s[2], places(s[0].shape)[tuple(grid)], s.attr("reduction", "none"))


@operator("ScatterND")
def _scatter_nd(s: Step) -> Value:
    return _scattered(s[0], s[2], places(s[0].shape)[tuple(numpy.moveaxis(s.array(1), -1, 0))], s.attr("reduction", "none"))


@operator("TensorScatter")
def _tensor_scatter(s: Step) -> Value:
    axis, first = s.axis(-2), s.array(2)
    shape, index = s[1].shape, _grid(s[1].shape)
    first = numpy.zeros(shape[0], int) if first is None else first
    index[axis] = index[axis] + first[index[0]]
    if s.attr("mode", "linear") == "circular":
        index[axis] %= s[0].shape[axis]
    return _scattered(s[0], s[1], places(s[0].shape)[tuple(index)], "none")


@operator("ReverseSequence")
def _reverse_sequence(s: Step) -> Value:
    along, batch, shape = s.attr("time_axis", 0), s.attr("batch_axis", 1), s[0].shape
    grid = _grid(shape)
    lengths = s.array(1)[grid[batch]]
    grid[along] = numpy.where(grid[along] < lengths, lengths - 1 - grid[along], grid[along])
    return move(s[0], places(shape)[tuple(grid)])


@operator("Compress")
def _compress(s: Step) -> Value:
    chosen = numpy.flatnonzero(s.array(1))
    if s.attr("axis") is None:
        return move(s[0], chosen)
    return move(s[0], chosen, s.axis(0), 1)


@operator("MaxUnpool")
def _max_unpool(s: Step) -> Value:
    x, kernel = s[0], s.attr("kernel_shape")
    strides, pads = s.attr("strides", [1] * len(kernel)), s.attr("pads", [0] * 2 * len(kernel))
    inferred = [(extent - 1) * strides[k] + kernel[k] - pads[k] - pads[k + len(kernel)] for k, extent in enumerate(x.shape[2:])]
    shape = [int(extent) for extent in s.array(2)] if s.has(2) else [*x.shape[:2], *inferred]
    whole = roomy([*x.shape[:2], *inferred])
    roomy(shape)
    targets = numpy.full(math.prod(whole), -1)
    targets[_from_front(s.op, s.array(1), targets.size).reshape(-1)] = numpy.arange(s.array(1).size)
    apart = move(x, targets.reshape(whole))
    grow = [numpy.pad(numpy.arange(one), (0, extent - one), constant_values=-1) for one, extent in zip(inferred, shape[2:])]
    for k, index in enumerate(grow):
        apart = move(apart, index, 2 + k, 1)
    return apart


@operator("Col2Im")
def _col2im(s: Step) -> Value:
    image, block = s.integers(1), s.integers(2)
    axes = len(image)
    strides, dilations = s.attr("strides", [1] * axes), s.attr("dilations", [1] * axes)
    pads = s.attr("pads", [0] * 2 * axes)
    counts = [(image[k] + pads[k] + pads[k + axes] - dilations[k] * (block[k] - 1) - 1) // strides[k] + 1 for k in range(axes)]
    n, whole, _ = s[0].shape
    x = reshape(s[0], (n, whole // math.prod(block), *block, *counts))
    for k in range(axes):
        roomy([counts[k], block[k]])
        found = numpy.full(roomy([image[k], block[k]]), -1)  # what stands in the window's place of each place of the image
        for place, number in numpy.ndindex(block[k], counts[k]):
            at = number * strides[k] + place * dilations[k] - pads[k]
            if 0 <= at < image[k]:
                found[at, place] = place * counts[k] + number
        first, other = 2 + k, 2 + axes
        x = transpose(x, [*range(first + 1), other, *(j for j in range(first + 1, x.rank) if j != other)])
        x = reduce("sum", move(x, found, first, 2), [first + 1], keepdims=False)
    return x
