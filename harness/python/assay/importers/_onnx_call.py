# SPDX-License-Identifier: Apache-2.0
"""A node of ONNX with the tensors of one data set."""
from __future__ import annotations

import math
import struct
from typing import Any, Optional, Sequence

from ._cases import LARGEST_EXTENT, count_elements, demand

DATA_ELSEWHERE = "a tensor whose data are damaged, or in another file: save the model with its data, by onnx.save"
DAMAGED = "a damaged file, or none of ONNX"
# TensorProto.DataType: assay's type, and the bytes of an element. bool is read as i8.
_TYPES = {1: ("f32", 4), 2: ("u8", 1), 3: ("i8", 1), 6: ("i32", 4), 7: ("i64", 8), 9: ("i8", 1), 10: ("f16", 2), 11: ("f64", 8),
          14: ("c64", 8), 15: ("c128", 16), 16: ("bf16", 2), 17: ("e4m3", 1), 19: ("e5m2", 1)}
_BOOL = 9
_INTEGERS = {"u8": "B", "i8": "b", "i32": "i", "i64": "q"}


def bytes_of(proto: Any, bytes_each: int) -> bytes:
    """Fields of integers hold narrow floats by their bits, and those below a byte as they are packed."""
    if proto.HasField("raw_data"):
        return proto.raw_data
    reals = struct.pack(f"<{len(proto.float_data)}f", *proto.float_data) + struct.pack(f"<{len(proto.double_data)}d", *proto.double_data)
    numbers = [*proto.int32_data, *proto.int64_data, *proto.uint64_data]
    return reals + b"".join((one & 2**64 - 1).to_bytes(8, "little")[:bytes_each] for one in numbers)


class Tensor:
    """A TensorProto. dtype: None of a type that is none here; size and data: 0 and empty where it or an extent is none."""

    def __init__(self, proto: Any) -> None:
        demand(proto.data_type and len(proto.dims) <= 16, DAMAGED)
        self.shape = list(proto.dims)
        self.is_bool = proto.data_type == _BOOL
        self.dtype, bytes_each = _TYPES.get(proto.data_type, (None, 0))
        self.size, self.data = 0, b""
        if self.dtype is None:
            return
        demand(all(0 <= extent <= LARGEST_EXTENT for extent in self.shape), DAMAGED)
        if 0 in self.shape:
            return
        self.size = count_elements(self.shape)
        self.data = bytes_of(proto, bytes_each)
        demand(len(self.data) == self.size * bytes_each, DATA_ELSEWHERE)

    def integers(self) -> list[int]:
        if self.dtype not in _INTEGERS:
            return []
        return list(struct.unpack(f"<{self.size}{_INTEGERS[self.dtype]}", self.data))

    def count(self, begin: int, end: Optional[int] = None) -> int:
        return math.prod(self.shape[begin:end])

    def axis(self, stated: int) -> int:
        """The axis counted from the front."""
        rank = len(self.shape)
        demand(-rank <= stated < rank, "an axis that its tensor does not have")
        return stated % rank


class Node:
    def __init__(self, proto: Any) -> None:
        self.op: str = proto.op_type
        self.domain: str = proto.domain
        self.inputs = list(proto.input)  # "": left out
        self.outputs = list(proto.output)
        self.attributes: dict[str, Any] = {}  # the first of each name
        for attribute in proto.attribute:
            self.attributes.setdefault(attribute.name, attribute)


class Call:
    """None among the tensors: left out, or not there."""

    def __init__(self, node: Node, opset: int, inputs: Sequence[Optional[Tensor]], outputs: Sequence[Optional[Tensor]]) -> None:
        self.opset, self.inputs, self.outputs = opset, inputs, outputs
        self._op, self._attributes = node.op, node.attributes

    def check(self, is_of_one: bool, known: frozenset[str]) -> None:
        """Checks what every map relies on: the first operands are there, all types are here, no attribute is new."""
        demand(self.has(0) and (is_of_one or self.has(1)) and self.outputs and self.outputs[0], "it lacks one of its tensors")
        for tensor in [*self.inputs, *self.outputs]:
            if tensor is None:
                continue
            may_be_empty = self.has(1) and tensor is self.inputs[1] and self._op.startswith("Reduce")  # the list of axes
            demand(tensor.dtype, f"elements of a type that {self._op} of assay does not take")
            demand(tensor.size or may_be_empty, "a tensor without elements")
            demand(not tensor.is_bool or self._op == "Attention", f"conditions, where {self._op} of assay takes numbers")
        for name in self._attributes:
            demand(name in known, f"{name[:40]}: an attribute that is not known here")

    def has(self, position: int) -> bool:
        return position < len(self.inputs) and self.inputs[position] is not None

    def types(self, *positions: int) -> list[str]:
        """The types of these inputs and of the first output."""
        return [self.inputs[i].dtype for i in positions] + [self.outputs[0].dtype]

    def states(self, name: str) -> bool:
        return name in self._attributes

    def integer(self, name: str, usual: int) -> int:
        return self._attributes[name].i if name in self._attributes else usual

    def real(self, name: str, usual: float) -> float:
        return self._attributes[name].f if name in self._attributes else usual

    def text(self, name: str, usual: str) -> str:
        return self._attributes[name].s.decode(errors="replace") if name in self._attributes else usual

    def integers(self, name: str) -> list[int]:
        return list(self._attributes[name].ints) if name in self._attributes else []
