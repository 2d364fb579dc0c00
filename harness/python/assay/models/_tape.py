# SPDX-License-Identifier: Apache-2.0
"""A recording of a watched program: its calls in their order, and the tensors that it began with, so that it can be executed again
elsewhere, in another type, or with other roundings."""
from __future__ import annotations

import weakref
from typing import Any, Callable, NamedTuple

from .._errors import Error, UsageError
from ._background import copied, tensors_in
from ._calls import why_unjudgeable
from ._rules import Unjudged, is_tensor


class Place:
    """Stands for a tensor among recorded arguments."""
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Step(NamedTuple):
    function: Any
    args: Any
    kwargs: Any
    results: list[int]  # numbers of its tensors
    drawn: list[Any]  # results that no execution repeats, as they were
    site: Any

    def taken(self) -> set[int]:
        found: set[int] = set()
        mapped((self.args, self.kwargs), lambda each: found.add(each.number) if isinstance(each, Place) else None)
        return found


class _Leaf(NamedTuple):
    """A tensor that no recorded call returned: one from before the block, or another object for memory that is known."""
    memory: Any  # place among the storages, or Place of a result
    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(each, change) for each in value) if type(value) in (list, tuple) else change(value)
    if isinstance(value, dict):
        return {name: mapped(each, change) for name, each in value.items()}
    return change(value)


class Tape:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._leaves: dict[int, _Leaf] = {}  # by number
        self._storages: list[tuple[Any, Any]] = []  # what leaves lie in, and a copy of how it was at first
        self._numbers: dict[int, tuple[Any, int]] = {}  # by id() of tensors that live
        self._memory: dict[int, Any] = {}  # where a storage comes from: as in a leaf
        self._weak: list[Any] = []  # keep addresses of storages from being used again
        self._count = 0

    def arguments(self, function: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """To be asked for before the call, which may write into them."""
        if not hasattr(function, "_schema"):
            raise Unjudged(why_unjudgeable(function))
        return mapped((args, dict(kwargs)), self._place)

    def add(self, function: Any, arguments: tuple[Any, Any], result: Any, site: Any) -> None:
        from torch.multiprocessing.reductions import StorageWeakRef
        tensors = list(tensors_in(result))
        drawn = copied(tensors) if why_unjudgeable(function) == "random numbers" else []
        numbers = []
        for each in tensors:
            storage = each.untyped_storage()
            numbers.append(self._number(each) or self._new(each))
            if storage._cdata not in self._memory:
                self._weak.append(StorageWeakRef(storage))
                self._memory[storage._cdata] = Place(numbers[-1])
        self.steps.append(Step(function, *arguments, numbers, drawn, site))

    def number_of(self, tensor: Any) -> int:
        """That of the result in its memory."""
        if not is_tensor(tensor):
            raise UsageError(f"watch: {tensor!r} is no tensor; give results of the block that was recorded")
        memory = self._memory.get(tensor.untyped_storage()._cdata)
        if not isinstance(memory, Place):
            raise Error("watch: this tensor was not made in the block that was recorded, as a .grad is not to which it adds; "
                        "call zero_grad() before the block")
        return memory.number

    def outputs(self) -> list[int]:
        """Results of floating-point numbers that no later call takes."""
        taken: set[int] = set()
        for step in self.steps:
            if why_unjudgeable(step.function) != "new tensors":
                taken |= {number for each in step.taken() for number in self._same(each)}
        return [number for step in self.steps for number in step.results if number not in taken]

    def _same(self, number: int) -> set[int]:
        leaf = self._leaves.get(number)
        return {number, leaf.memory.number} if leaf is not None and isinstance(leaf.memory, Place) else {number}

    def _place(self, value: Any) -> Any:
        if not is_tensor(value):
            return value
        number = self._number(value)
        if number == 0:
            number = self._new(value)
            self._keep(value, number)
        return Place(number)

    def _number(self, tensor: Any) -> int:
        known = self._numbers.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else 0

    def _new(self, tensor: Any) -> int:
        self._count += 1
        self._numbers[id(tensor)] = weakref.ref(tensor), self._count
        return self._count

    def _keep(self, tensor: Any, number: int) -> None:
        import torch
        storage = tensor.untyped_storage()
        if storage._cdata not in self._memory:
            self._memory[storage._cdata] = len(self._storages)
            self._storages.append((storage, storage.clone()))
        self._leaves[number] = _Leaf(self._memory[storage._cdata], tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())

    def start(self, convert: Callable[[Any], Any], change: Callable[[Any], Any] = lambda value: value) -> Playing:
        return Playing(self, convert, change)


class Playing:
    """One execution of a tape, step by step. `convert`: a new tensor of one of the beginning, elsewhere or in another type; `change`: that
    of arguments that are no tensors, such as types and devices."""

    def __init__(self, tape: Tape, convert: Callable[[Any], Any], change: Callable[[Any], Any]) -> None:
        self._tape, self._convert, self._change = tape, convert, change
        self._flat: dict[Any, Any] = {}
        self.values: dict[int, Any] = {}  # all of them: views keep memory anyway

    def arguments(self, step: Step) -> tuple[Any, Any]:
        return mapped((step.args, step.kwargs), lambda each: self.value(each.number) if isinstance(each, Place) else self._change(each))

    def value(self, number: int) -> Any:
        if number not in self.values:
            self.values[number] = self._leaf(self._tape._leaves[number])
        return self.values[number]

    def _leaf(self, leaf: _Leaf) -> Any:
        import torch
        if isinstance(leaf.memory, Place):
            base = self.value(leaf.memory.number)
            same = (tuple(base.shape), tuple(base.stride()), base.storage_offset()) == (leaf.shape, leaf.strides, leaf.offset)
            return base if same else base.as_strided(leaf.shape, leaf.strides, leaf.offset)
        key = leaf.memory, leaf.dtype
        if key not in self._flat:
            storage = self._tape._storages[leaf.memory][1]
            whole = torch.empty(0, dtype=leaf.dtype, device=storage.device).set_(storage, 0, (len(storage) // leaf.dtype.itemsize,), (1,))
            self._flat[key] = self._convert(whole)
        return self._flat[key].as_strided(leaf.shape, leaf.strides, leaf.offset)

    def take(self, step: Step, result: Any) -> None:
        self.values.update(zip(step.results, tensors_in(result)))

    def redrawn(self, step: Step, args: Any) -> Any:
        """The random numbers that were recorded, stored where the call had them."""
        made = [self._convert(each) for each in step.drawn]
        if step.function._schema.name.endswith("_"):
            return args[0].copy_(made[0])
        return made
