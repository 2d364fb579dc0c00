# SPDX-License-Identifier: Apache-2.0
"""Calls whose like was judged before: those with the same function, shapes and constants share a plan. Large ones are proven where they are; of
small ones the tensors are copied and proven together later, as NumPy and Python need longer to be called than to compute a few thousand elements."""
from __future__ import annotations

from ctypes import memmove
from typing import Any, Callable, Optional, Sequence

from ._calls import _form
from ._plans import Plan
from ._proofs import PROOFS
from ._records import Records
from ._rules import Unjudged, is_tensor
from ._sites import Site

_MOST_BYTES = 1 << 25     # of all copies
_MOST_KEPT = 1 << 19      # bytes of a plan's copies whose memory is used again
_MOST_CALLS = 1 << 12
_MOST_PLANS = 1 << 14
MOST_FAILURES = 2        # one after the other of a plan's proofs, before its calls are judged at once


class Queue:
    """Holds small calls until `flush`, which has those judged that are not proven: `judge` gets a plan and the row of a call that waits."""

    def __init__(self, is_exact: bool, records: Records, judge: Callable[[Plan, int], Any]) -> None:
        """`is_exact`: only results that are correctly rounded are proven here."""
        import torch
        from torch.utils._python_dispatch import _disable_current_modes
        self._is_exact, self.records, self._judge = is_exact, records, judge
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
        key, types = [id(function)], self._types  # plans keep their functions
        try:
            for value in args:
                if type(value) in types:
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
            if not plan.is_small:
                return plan, self.arrays(tensors)
            if not plan.buffers:
                for array in self.arrays(tensors):
                    plan.add_buffer(array)
            self._copy(plan, 0, tensors)
            return plan, []
        except (TypeError, RuntimeError):  # an argument without a hash; a tensor on a device, or a conjugate
            return None

    def _copy(self, plan: Plan, first: int, tensors: Sequence[Any]) -> None:
        """To the plan's buffers from the first one on. Their shapes and types are known to be the plan's."""
        row = len(plan.waiting)
        if row >= len(plan.buffers[0]):
            plan.grow()
        for place, tensor in enumerate(tensors, first):
            if tensor.is_contiguous() and tensor.is_cpu and not tensor.is_neg() and (source := tensor.data_ptr()):
                address, size = plan.memory[place]
                memmove(address + row * size, source, size)
            else:
                plan.buffers[place][row] = self.arrays((tensor,))[0]

    def arrays(self, tensors: Sequence[Any]) -> list[Any]:
        """Their elements, where they are."""
        if self._count_modes():  # which would take these for calls of the model
            with self._without_modes():
                return [each.detach().numpy() for each in tensors]
        return [each.detach().numpy() if each.requires_grad else each.numpy() for each in tensors]

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

    def put(self, plan: Plan, index: int, site: Site, result: Any) -> bool:
        """A small call and its result. Returns whether so many wait by now that they should be proven. Raises anything where the result cannot be
        read."""
        waiting, place = plan.waiting, len(plan.shapes)
        if len(plan.buffers) == place:
            array = self.arrays((result,))[0]
            if plan.type is None:
                plan.take_result(result)
            plan.add_buffer(array)
        if type(result) not in self._types or result.shape != plan.shape or result.dtype != plan.type:
            raise ValueError("a result of another shape or type than that of an equal call")
        self._copy(plan, place, (result,))
        if not waiting:
            self._waiting.append(plan)
        waiting.append(index)
        plan.sites.append(self.records.number(site))
        self._count += 1
        self._bytes += plan.bytes
        return self._count >= _MOST_CALLS or self._bytes > _MOST_BYTES

    def prove(self, plan: Plan, index: int, site: Site, arrays: list[Any], result: Any) -> list[Any]:
        """Records of a large call's results; none: nobody knows that they are right."""
        outputs = [result] if is_tensor(result) else result
        try:
            made = [None if each is None else self.arrays((each,))[0] for each in outputs]
        except Exception:  # no tensor that NumPy can read
            return []
        if plan.type is None:
            plan.take_result(next(each for each in outputs if each is not None))
        if (is_right := plan.is_right(arrays, made)) is False:
            plan.failures += 1
            return []
        plan.failures = 0
        is_finite = is_right or plan.stays_finite(arrays)
        sizes = [sum([made[place].size for place in group if made[place] is not None]) for group in plan.proof.groups]
        number = self.records.number
        return [(index, number(site), number(plan.proven(size)), is_finite) for size in sizes if size]

    def flush(self) -> None:
        """Proves or judges all that wait. Interrupted, it begins again with the plan that it was at."""
        while self._waiting:
            plan = self._waiting[-1]
            found: list[Any] = []
            self._settle(plan, 0, len(plan.waiting), found)
            plan.settled += found
            plan.waiting.clear(), plan.sites.clear()
            if len(plan.buffers[0]) * plan.bytes > _MOST_KEPT:
                plan.buffers = []
            self._waiting.pop()
        self._count = self._bytes = 0

    def _settle(self, plan: Plan, first: int, last: int, found: list[Any]) -> None:
        """Proves these; where they are not all right, halves of them."""
        are_right = plan.are_right(first, last)
        if are_right is False and last - first > 1:
            middle = (first + last) // 2
            self._settle(plan, first, middle, found)
            self._settle(plan, middle, last, found)
        elif are_right is False:
            plan.failures += 1
            found.append(self._judge(plan, first))
        else:
            import numpy
            plan.failures = 0
            what = self.records.number(plan.proven(plan.buffers[-1][0].size))
            for row in range(first, last):
                is_finite = are_right or bool(numpy.isfinite(plan.buffers[-1][row]).all()) or plan.stays_finite([each[row] for each in plan.buffers[:-1]])
                found.append((plan.waiting[row], plan.sites[row], what, is_finite))
