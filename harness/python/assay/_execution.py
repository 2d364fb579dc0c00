# SPDX-License-Identifier: Apache-2.0
"""A kernel made ready for one case, and executed."""
from __future__ import annotations

from typing import Any, Sequence

from ._frameworks import Operand, Place, WrongResult, framework
from ._kernels import Kernel, KernelCase

DEVICE_CLOCK, COPIES = 1, 2  # of python_calls.h


class Execution:
    def __init__(self, kernel: Kernel, case: KernelCase, order: Sequence[str], inputs: Sequence[Operand],
                 outputs: Sequence[Operand]) -> None:
        self._kernel, self._order, self._inputs, self._outputs = kernel, order, inputs, outputs
        self.name, self._attrs = kernel.name, kernel.attributes(case)
        if getattr(kernel.function, "takes_result_types", False):
            self._attrs = {**self._attrs, "result_types": tuple(operand.type for operand in outputs)}
        self.operands = len(inputs) + len(outputs)
        self.framework = framework(kernel.framework, kernel.device)
        self.framework.select()
        self._memory = [self.framework.memory(operand) for operand in (*inputs, *outputs)]
        if kernel.compiles:
            self._compile()

    def _compile(self) -> None:
        """Calls it on zeros of the same layout: what compiles at its first call does so in the time that is for that."""
        tools, count = self.framework, len(self._inputs)
        zeros = [memory.zeros() for memory in self._memory]
        given = {operand.name: tools.given(array, operand) for array, operand in zip(zeros, self._inputs)}
        operands = self._kernel.operands(self._order, given)
        tools.complete(self._kernel.function(*operands, **self._keywords(zeros[count:])[0]))

    def _keywords(self, views: Sequence[Any]) -> tuple[dict[str, Any], list[Any]]:
        """The attributes, and `out` where the kernel writes to arrays of these views; those arrays."""
        if not self._kernel.takes_out:
            return self._attrs, []
        outputs = [self.framework.output(view, operand) for view, operand in zip(views, self._outputs)]
        return {**self._attrs, "out": outputs[0] if len(outputs) == 1 else tuple(outputs)}, outputs

    def run(self, places: Sequence[Place]) -> tuple[float, int]:
        """The kernel's own seconds, and flags. Raises what the kernel raises."""
        kernel, tools, count = self._kernel, self.framework, len(self._inputs)
        tools.select()  # a kernel may have left another one
        seen = [memory.at(place, False) for memory, place in zip(self._memory[:count], places)]
        given = {operand.name: tools.given(view, operand) for operand, view in zip(self._inputs, seen)}
        operands = kernel.operands(self._order, given)
        views = [memory.at(place, True) for memory, place in zip(self._memory[count:], places[count:])]
        keywords, outputs = self._keywords(views)
        result, seconds, by_device = tools.timed(lambda: kernel.function(*operands, **keywords))
        if kernel.takes_out:
            for array, view in zip(outputs, views):
                tools.finish_output(array, view)
        else:
            self._store(result, views)
        copies = not all(tools.shares(view) for view in seen)
        return seconds, (DEVICE_CLOCK if by_device else 0) | (COPIES if copies else 0)

    def _store(self, result: Any, views: Sequence[Any]) -> None:
        names = ", ".join(operand.name for operand in self._outputs)
        if result is None:
            raise WrongResult(f"it returned nothing; return {names}, or take out= and write there")
        results = [result] if len(views) == 1 and not isinstance(result, tuple) else result
        if not isinstance(results, (tuple, list)) or len(results) != len(views):
            count = f" of {len(results)}" if isinstance(results, (tuple, list)) else ""
            raise WrongResult(f"it returned {type(results).__name__}{count}, where a tuple of {len(views)} is expected: "
                              f"{names}")
        for one, view, operand in zip(results, views, self._outputs):
            self.framework.store(one, view, operand)
