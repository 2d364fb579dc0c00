# SPDX-License-Identifier: Apache-2.0
"""Plans of calls whose like was judged before: which proof they have, and copies of those that wait for it."""
from __future__ import annotations

import math
from collections import deque
from typing import Any, NamedTuple, Optional, Sequence

from ._calls import Call, _form, full_name
from ._proofs import PROOFS, _OVERLOADS, _PLACES
from ._records import Proven
from ._rules import Unjudged, accepted
from ._stacks import STACKED, are_proven

_MOST_ELEMENTS = 1 << 14  # of operands and result of a small call


class _Slot(NamedTuple):
    """Stands for a tensor among a plan's arguments."""
    place: int


class Plan:
    """Calls with one function and equal arguments, but for the elements of their tensors."""

    def __init__(self, function: Any, args: Sequence[Any], kwargs: Any, types: Any) -> None:
        import torch
        self.shapes: list[tuple[int, ...]] = []
        kinds = set()

        def slot(value: Any, name: str) -> Any:
            if type(value) in types:
                self.shapes.append(tuple(value.shape))
                if name not in _PLACES:
                    kinds.add(value.dtype)
                return _Slot(len(self.shapes) - 1)
            return [slot(each, name) for each in value] if isinstance(value, (list, tuple)) else value

        form = _form(function)
        names = [name for name, *_ in form.arguments]
        self.function = function
        self.args = [slot(value, name) for name, value in zip(names, args)]
        self.kwargs = {name: slot(value, name) for name, value in kwargs.items()}
        self.base, self.full_name, self.proof = form.base, full_name(form.base), PROOFS[form.base]
        arguments = {name: self.args[place] if place < len(args) else self.kwargs.get(name, default) for place, (name, default, *_) in enumerate(form.arguments)}
        self.given = accepted(form.base, self.proof.function, arguments, form.defaults)
        self.constants_are_finite = all(math.isfinite(each) for each in arguments.values() if isinstance(each, float))
        is_of_integers = kinds == {torch.int64} and form.base in _OF_INTEGERS
        if kinds != {torch.float32} and not is_of_integers or form.overload not in _OVERLOADS or any(is_out for *_, is_out in form.arguments):
            raise Unjudged("tensors of other types, or another function")
        size = sum(map(math.prod, self.shapes))
        self.is_small = form.base in STACKED and size <= _MOST_ELEMENTS
        if not self.is_small and (size > self.proof.most or any(is_written for _, _, is_written, _ in form.arguments)):
            raise Unjudged("a call that writes, or too large a one")
        self.shape: tuple[int, ...] = ()  # of the first result, known with the first call, as its type is
        self.type: Any = None
        self.bytes = 4 * size  # of its operands
        self.waiting: list[int] = []  # indices of calls
        self.sites: list[int] = []  # numbers of theirs
        self.settled: deque[Any] = deque()  # what those of them that no longer wait are judged to be
        self.failures = 0  # of proofs, one after the other: soon nobody tries any more
        self.buffers: list[Any] = []  # copies of operands and results, each with an axis for calls before its own
        self.memory: list[tuple[int, int]] = []  # address of each buffer, and bytes of one of its calls

    def filled(self, value: Any, arrays: Sequence[Any]) -> Any:
        """The arguments with these arrays in their slots."""
        if type(value) is _Slot:
            return arrays[value.place]
        if isinstance(value, list):
            return [self.filled(each, arrays) for each in value]
        return {name: self.filled(each, arrays) for name, each in value.items()} if isinstance(value, dict) else value

    def take_result(self, result: Any) -> None:
        """Remembers the first result's shape and type, which follow from those of the operands."""
        self.shape, self.type = tuple(result.shape), result.dtype

    def proven(self, elements: int) -> Proven:
        return Proven(self.full_name, self.shape, str(self.type)[6:], self.proof.is_exact, elements)

    size = 0  # of no copy that a thread has

    def is_there(self) -> bool:
        return bool(self.settled)

    def take(self) -> Any:
        return self.settled.popleft()

    def add_buffer(self, array: Any) -> None:
        """One for copies of an operand, or of the results, which has this one's shape and type."""
        import numpy
        self.buffers.append(numpy.empty((len(self.buffers[0]) if self.buffers else 4, *array.shape), array.dtype))
        self._locate()

    def grow(self) -> None:
        import numpy
        self.buffers = [numpy.concatenate([each, numpy.empty_like(each)]) for each in self.buffers]
        self._locate()

    def _locate(self) -> None:
        self.memory = [(each.ctypes.data, each.nbytes // len(each)) for each in self.buffers]

    def are_right(self, first: int, last: int) -> Optional[bool]:
        """Whether all results of calls that wait are right; None: they are, and there are NaN or infinities among them."""
        import numpy
        *arrays, output = [each[first:last] for each in self.buffers]
        try:
            if not are_proven(self.proof, self.base, self.filled(self.given, arrays), output):
                return False
        except Exception:  # the proof does not take such operands; a judgement says more
            return False
        return True if not self.proof.is_exact or numpy.isfinite(output).all() else None

    def is_right(self, arrays: Sequence[Any], outputs: Sequence[Any]) -> Optional[bool]:
        """Whether the results of one call are right, in the manner of `are_right`."""
        import numpy
        try:
            with numpy.errstate(all="ignore"):
                if not self.proof.is_right(outputs, self.proof.function(**self.filled(self.given, arrays))):
                    return False
        except Exception:  # the proof does not take such operands; a judgement says more
            return False
        return True if not self.proof.is_exact or math.isfinite(outputs[0].sum()) or numpy.isfinite(outputs[0]).all() else None

    def call(self, row: int) -> tuple[Call, Any]:
        """A call that waits, and its result."""
        import torch
        tensors = [torch.from_numpy(each[row:row + 1].copy()).reshape(each.shape[1:]) for each in self.buffers]
        return Call(self.function, self.filled(self.args, tensors), self.filled(self.kwargs, tensors)), tensors[-1]

    def stays_finite(self, arrays: Sequence[Any]) -> bool:
        """Whether a right result with NaN or infinities has them from its operands."""
        import numpy
        return not (self.constants_are_finite and all(numpy.isfinite(each).all() for each in arrays))


_OF_INTEGERS = ("add", "sub", "mul", "clone", "cat", "stack", "_unsafe_view", "select_backward", "slice_backward")
