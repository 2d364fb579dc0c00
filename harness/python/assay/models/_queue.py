# SPDX-License-Identifier: Apache-2.0
"""Calls whose like was judged before: those with the same function, shapes and constants share a plan. Large ones are proven where they are; of
small ones the tensors are copied and proven together later, as NumPy and Python need longer to be called than to compute a few thousand elements."""
from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple, Optional, Sequence

from ._background import Job
from ._calls import Call, _form, full_name
from ._proofs import PROOFS, _OVERLOADS, _PLACES
from ._rules import Unjudged, accepted
from ._stacks import STACKED, are_proven

_MOST_ELEMENTS = 1 << 14  # of operands and result of a small call
_MOST_BYTES = 1 << 25     # of all copies
_MOST_KEPT = 1 << 19      # bytes of a plan's copies whose memory is used again
_MOST_CALLS = 1 << 12
_MOST_PLANS = 1 << 14
MOST_FAILURES = 2        # one after the other of a plan's proofs, before its calls are judged at once


class _Slot(NamedTuple):
    """Stands for a tensor among a plan's arguments."""
    place: int


class Entry(NamedTuple):
    """A small call that waits."""
    index: int
    site: Any
    job: Job  # what it is judged to be goes here


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
        self.shape: tuple[int, ...] = ()  # of the first result, known with the first call
        self.dtype, self.bytes = "", 4 * size  # the latter of its operands
        self.waiting: list[Entry] = []
        self.failures = 0  # of proofs, one after the other: soon nobody tries any more
        self.buffers: list[Any] = []  # copies of operands and results, each with an axis for calls before its own

    def filled(self, value: Any, arrays: Sequence[Any]) -> Any:
        """The arguments with these arrays in their slots."""
        if type(value) is _Slot:
            return arrays[value.place]
        if isinstance(value, list):
            return [self.filled(each, arrays) for each in value]
        return {name: self.filled(each, arrays) for name, each in value.items()} if isinstance(value, dict) else value

    def take_result(self, result: Any) -> None:
        """Remembers the first result's shape and type, which follow from those of the operands."""
        self.shape, self.dtype = tuple(result.shape), str(result.dtype)[6:]

    def row(self) -> int:
        """That of the buffers which the next call is copied to."""
        row = len(self.waiting)
        if self.buffers and row == len(self.buffers[0]):
            import numpy
            self.buffers = [numpy.concatenate([each, numpy.empty_like(each)]) for each in self.buffers]
        return row

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


class Queue:
    """Holds small calls until `flush`, which hands those that are not proven to `judge`."""

    def __init__(self, is_exact: bool, node: Callable[[Plan, Entry, bool], Any], judge: Callable[[Plan, Entry, int], Any]) -> None:
        """`is_exact`: only results that are correctly rounded are proven here. `node`: of a right result that stays finite or does not."""
        import torch
        from torch.utils._python_dispatch import _disable_current_modes
        self._is_exact, self._node, self._judge = is_exact, node, judge
        self._count_modes, self._without_modes = torch._C._len_torch_dispatch_stack, _disable_current_modes
        self._types = (torch.Tensor, torch.nn.Parameter)
        self._plans: dict[Any, Optional[Plan]] = {}  # None: nobody proves such calls
        self._seen: set[Any] = set()  # the first of equal calls is judged, or proven, as if there were no plan
        self._waiting: list[Plan] = []
        self._count = self._bytes = 0

    def plan(self, function: Any, args: Sequence[Any], kwargs: Any) -> Optional[tuple[Plan, list[Any]]]:
        """For a call that is proven here, its plan and arrays of its operands, of a small one none: these are copied. To be asked for before it
        runs, as it may write into them."""
        tensors: list[Any] = []
        key, types = [function], self._types
        try:
            for value in args:
                kind = type(value)
                if kind in types:
                    tensors.append(value)
                    key += value.shape, value.dtype
                else:
                    key.append(self._sign(value, tensors))
            if kwargs:
                key += [(name, self._sign(each, tensors)) for name, each in kwargs.items()]
            plan = self._plans.get(known := tuple(key), self)
            if plan is self:
                plan = self._plan(known, function, args, kwargs)
            if plan is None:
                return None
            if plan.failures > MOST_FAILURES:
                return plan, []
            arrays = self.arrays(tensors)
        except (TypeError, RuntimeError):  # an argument without a hash; a tensor on a device, or a conjugate
            return None
        if not plan.is_small:
            return plan, arrays
        if not plan.buffers:
            self._make_buffers(plan, arrays)
        row = plan.row()
        for buffer, array in zip(plan.buffers, arrays):
            buffer[row] = array
        return plan, []

    def arrays(self, tensors: Sequence[Any]) -> list[Any]:
        """Their elements, where they are."""
        if self._count_modes():  # which would take these for calls of the model
            with self._without_modes():
                return [each.detach().numpy() for each in tensors]
        return [each.detach().numpy() if each.requires_grad else each.numpy() for each in tensors]

    def _make_buffers(self, plan: Plan, arrays: Sequence[Any]) -> None:
        import numpy
        plan.buffers = [numpy.empty((4, *each.shape), each.dtype) for each in arrays]

    def _sign(self, value: Any, tensors: list[Any]) -> Any:
        kind = type(value)
        if kind in self._types:
            tensors.append(value)
            return value.shape, value.dtype
        if kind is list or kind is tuple:
            return tuple([self._sign(each, tensors) for each in value])
        return kind, value if value or kind is not float else repr(value)  # 0.0 and -0.0 are equal

    def _plan(self, key: Any, function: Any, args: Sequence[Any], kwargs: Any) -> Optional[Plan]:
        if key not in self._seen:
            if len(self._seen) >= _MOST_PLANS:
                self._seen.clear(), self._plans.clear()
            self._seen.add(key)
            return None
        self._plans[key] = None
        base = _form(function).base
        if base in PROOFS and (PROOFS[base].is_exact or not self._is_exact):
            try:
                self._plans[key] = Plan(function, args, kwargs, self._types)
            except Unjudged:
                pass
        return self._plans[key]

    def put(self, plan: Plan, entry: Entry, result: Any) -> bool:
        """A small call and its result. Returns whether so many wait by now that they should be proven. Raises anything where the result cannot be
        read."""
        import numpy
        array = self.arrays((result,))[0]
        if not plan.dtype:
            plan.take_result(result)
        if len(plan.buffers) == len(plan.shapes):
            plan.buffers.append(numpy.empty((len(plan.buffers[0]), *plan.shape), array.dtype))
        output = plan.buffers[-1]
        if array.shape != output.shape[1:] or array.dtype != output.dtype:
            raise ValueError("a result of another shape or type than that of an equal call")
        output[len(plan.waiting)] = array
        if not plan.waiting:
            self._waiting.append(plan)
        plan.waiting.append(entry)
        self._count += 1
        self._bytes += plan.bytes
        return self._count >= _MOST_CALLS or self._bytes > _MOST_BYTES

    def flush(self) -> None:
        """Proves or judges all that wait. Interrupted, it begins again with the plan that it was at."""
        while self._waiting:
            plan = self._waiting[-1]
            self._settle(plan, 0, len(plan.waiting))
            plan.waiting.clear()
            if len(plan.buffers[0]) * plan.bytes > _MOST_KEPT:
                plan.buffers = []
            self._waiting.pop()
        self._count = self._bytes = 0

    def _settle(self, plan: Plan, first: int, last: int) -> None:
        """Proves these; where they are not all right, halves of them."""
        are_right = plan.are_right(first, last)
        if are_right is False and last - first > 1:
            middle = (first + last) // 2
            self._settle(plan, first, middle)
            self._settle(plan, middle, last)
        elif are_right is False:
            plan.failures += 1
            plan.waiting[first].job.found = self._judge(plan, plan.waiting[first], first)
        else:
            import numpy
            plan.failures = 0
            for row in range(first, last):
                is_finite = are_right or bool(numpy.isfinite(plan.buffers[-1][row]).all()) or plan.stays_finite([each[row] for each in plan.buffers[:-1]])
                plan.waiting[row].job.found = self._node(plan, plan.waiting[row], is_finite)
