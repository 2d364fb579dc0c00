# SPDX-License-Identifier: Apache-2.0
"""A node of a graph that is interpreted, and the table of operators that are known."""
from __future__ import annotations

import functools
from typing import Any, Callable, Mapping, Optional, Sequence

from ._cases import Unmapped, demand
from ._onnx_arrays import Value

OPERATORS: dict[str, Callable[[Step], Any]] = {}  # by the names of ONNX: each returns a value, or a list of all


class NeedsKnown(Exception):
    """An operator needs the numbers of a value, which follow from these operands of the graph."""

    def __init__(self, operands: frozenset[str]) -> None:
        self.operands = operands


def value_of(attribute: Any) -> Any:
    """The value of an AttributeProto: numbers, texts, lists of them, or the message of a tensor or a graph."""
    fields = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 6: "floats", 7: "ints", 8: "strings"}
    if attribute.type not in fields:
        raise Unmapped(f"the attribute {attribute.name[:40]} is of a kind that is not read: numbers, texts, a tensor or a graph are")
    found = getattr(attribute, fields[attribute.type])
    if attribute.type in (3, 8):
        return found.decode(errors="replace") if attribute.type == 3 else [one.decode(errors="replace") for one in found]
    return list(found) if attribute.type in (6, 7) else found


@functools.lru_cache(maxsize=1024)
def schema_of(op: str, opset: int, domain: str) -> Any:
    """ONNX's own description of an operator; None if this version of the package onnx has none."""
    import onnx
    try:
        return onnx.defs.get_schema(op, opset, "" if domain == "ai.onnx" else domain)
    except Exception:  # SchemaError, which versions of onnx keep in different places
        return None


def defaults_of(schema: Any) -> dict[str, Any]:
    stated = schema.attributes if schema is not None else {}
    return {name: value_of(one.default_value) for name, one in stated.items() if one.default_value.type}


class Step:
    """An attribute that no function asks for changes nothing here, but may in ONNX: check_attributes() refuses it."""

    def __init__(self, op: str, opset: int, inputs: Sequence[Optional[Value]], attributes: dict[str, Any], outputs: int,
                 defaults: Mapping[str, Any]) -> None:
        self.op, self.opset, self.inputs, self.attributes, self.outputs = op, opset, list(inputs), attributes, outputs
        self.defaults = defaults  # of ONNX, for attributes that the node does not state
        self.asked: set[str] = set()
        self.run: Any = None  # runs a graph, of operators that have one as an attribute
        self.trace: Any = None

    def has(self, position: int) -> bool:
        return position < len(self.inputs) and self.inputs[position] is not None

    def __getitem__(self, position: int) -> Value:
        demand(self.has(position), f"{self.op} lacks its input {position}")
        return self.inputs[position]  # type: ignore[return-value]

    def get(self, position: int) -> Optional[Value]:
        return self.inputs[position] if self.has(position) else None

    def values(self) -> list[Value]:
        return [self[k] for k in range(len(self.inputs))]

    def attr(self, name: str, usual: Any = None) -> Any:
        """The attribute, else `usual`, else ONNX's default."""
        self.asked.add(name)
        return self.attributes.get(name, self.defaults.get(name) if usual is None else usual)

    def pass_over(self, *names: str) -> None:
        """Declares attributes that change no result of this node."""
        self.asked.update(names)

    def check_attributes(self) -> None:
        for name in sorted(self.attributes.keys() - self.asked):
            demand(name in self.defaults and self.attributes[name] == self.defaults[name],
                   f"{name[:40]}: an attribute of {self.op} that is not known here, at opset {self.opset}")

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
