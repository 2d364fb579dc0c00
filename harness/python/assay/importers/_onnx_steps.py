# SPDX-License-Identifier: Apache-2.0
"""A node of a graph that is interpreted, and the table of operators that are known."""
from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

from ._cases import demand
from ._onnx_arrays import Value

OPERATORS: dict[str, Callable[[Step], Any]] = {}  # by the names of ONNX: each returns a value, or a list of all


class NeedsKnown(Exception):
    """An operator needs the numbers of a value, which follow from these operands of the graph."""

    def __init__(self, operands: frozenset[str]) -> None:
        self.operands = operands


class Step:
    def __init__(self, op: str, opset: int, inputs: Sequence[Optional[Value]], attributes: dict[str, Any], outputs: int) -> None:
        self.op, self.opset, self.inputs, self.attributes, self.outputs = op, opset, list(inputs), attributes, outputs
        self.run: Any = None  # runs a graph, of operators that have one as an attribute
        self.trace: Any = None

    def has(self, position: int) -> bool:
        return position < len(self.inputs) and self.inputs[position] is not None

    def __getitem__(self, position: int) -> Value:
        demand(self.has(position), "it lacks one of its tensors")
        return self.inputs[position]  # type: ignore[return-value]

    def get(self, position: int) -> Optional[Value]:
        return self.inputs[position] if self.has(position) else None

    def values(self) -> list[Value]:
        return [self[k] for k in range(len(self.inputs))]

    def attr(self, name: str, usual: Any = None) -> Any:
        return self.attributes.get(name, usual)

    def array(self, position: int, usual: Any = None) -> Any:
        """The numbers of an operand, which become part of the definition."""
        value = self.get(position)
        if value is None:
            return usual
        if not value.is_known:
            raise NeedsKnown(value.needs)
        return value.x

    def integers(self, position: int, name: str = "", usual: Any = None) -> Any:
        """A list that is an operand, or an attribute in earlier versions."""
        found = self.array(position)
        return self.attr(name, usual) if found is None else [int(one) for one in found.reshape(-1)]

    def axis(self, usual: int, of: int = 0) -> int:
        return place_in(self.attr("axis", usual), self[of].rank)


def place_in(axis: int, rank: int) -> int:
    demand(-rank <= axis < rank, "an axis that its tensor does not have")
    return axis % rank


def operator(*names: str) -> Callable[[Any], Any]:
    def made(function: Any) -> Any:
        OPERATORS.update(dict.fromkeys(names, function))
        return function
    return made
