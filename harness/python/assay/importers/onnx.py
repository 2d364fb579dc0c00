# SPDX-License-Identifier: Apache-2.0
"""The node tests of ONNX: folders with model.onnx and test_data_set_0/input_0.pb, output_0.pb, ..., read with the package
onnx."""
from __future__ import annotations

import os
import warnings
from typing import Any, Iterator, Optional, Sequence

from ._cases import Case, Found, Operand, Unmapped, Unusable, attempt, count_elements, demand, show_path
from ._onnx_call import DAMAGED, Call, Node, Tensor
from ._onnx_maps import OPERATORS, OPERATORS_OF_ONE, Place

_MODEL = "model.onnx"


def _parse(message: Any, data: bytes) -> Any:
    from google.protobuf.message import DecodeError
    try:
        with warnings.catch_warnings(record=True) as left_out:  # some versions warn of bytes that they do not take
            warnings.simplefilter("always")
            message.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError):
        raise Unmapped(DAMAGED) from None
    demand(not left_out, DAMAGED)
    return message


def _test_folders(folder: str) -> list[str]:
    if os.path.exists(os.path.join(folder, _MODEL)):
        return [folder]
    found = [place for place, _, files in os.walk(folder) if _MODEL in files]
    return sorted(found, key=lambda place: place.split("/"))


def _load_tensors(folder: str, kind: str, names: Sequence[str]) -> dict[str, Tensor]:
    """input_0.pb, input_1.pb, ... as far as they are there, by the graph's names, not those in the files."""
    import onnx
    tensors: dict[str, Tensor] = {}
    for i, name in enumerate(names):
        file = f"{kind}_{i}.pb"
        path = os.path.join(folder, file)
        if not os.path.exists(path):
            continue
        try:
            with open(path, "rb") as stream:
                tensors.setdefault(name, Tensor(_parse(onnx.TensorProto(), stream.read())))
        except (Unmapped, OSError) as error:
            raise Unmapped(f"{file}: {error}") from None
    return tensors


def _operands(places: Sequence[Place], tensors: Sequence[Optional[Tensor]]) -> list[Operand]:
    operands = []
    for name, position, shape in places:
        tensor = tensors[position] if position < len(tensors) else None
        demand(tensor and count_elements(shape) == tensor.size, "tensors that do not fit the node's attributes")
        operands.append(Operand(name, tensor.dtype, shape, tensor.data))
    return operands


class _Test:
    def __init__(self, folder: str) -> None:
        import onnx
        try:
            with open(os.path.join(folder, _MODEL), "rb") as stream:
                data = stream.read()
        except OSError:
            raise Unmapped("a model that cannot be read") from None
        model = _parse(onnx.ModelProto(), data)
        demand(model.HasField("graph"), DAMAGED)
        self._inputs = [value.name for value in model.graph.input]
        self._outputs = [value.name for value in model.graph.output]
        self._initializers = {tensor.name: Tensor(tensor) for tensor in reversed(model.graph.initializer)}
        demand(len(model.graph.node) == 1, "a graph of other than one node")
        self._node = Node(model.graph.node[0])
        own = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
        self._opset = max(own, default=0)
        demand(self._node.domain in ("", "ai.onnx") and self._node.op in OPERATORS, f"no operator {self._node.op[:40]} here")
        self.sets = sorted(name for name in os.listdir(folder) if name.startswith("test_data_set_"))
        demand(self.sets, "no test_data_set_0 with its tensors")

    def map_set(self, folder: str, with_tensors: bool) -> Case:
        tensors = self._initializers | _load_tensors(folder, "input", self._inputs)
        results = _load_tensors(folder, "output", self._outputs)
        call = Call(self._node, self._opset, [tensors.get(name) if name else None for name in self._node.inputs],
                    [results.get(name) if name else None for name in self._node.outputs])
        known, map_node = OPERATORS[self._node.op]
        call.check(self._node.op in OPERATORS_OF_ONE, known)
        case, inputs, outputs = map_node(call)
        if with_tensors:
            case.inputs, case.outputs = _operands(inputs, call.inputs), _operands(outputs, call.outputs)
        return case


def _read_test(folder: str, with_tensors: bool) -> Iterator[Found]:
    where, name = show_path(folder), show_path(os.path.basename(folder.rstrip("/")))
    try:
        test = _Test(folder)
    except Unmapped as unmapped:
        yield Found(where, name, None, str(unmapped))
        return
    for data_set in test.sets:
        yield attempt(where, name, name, lambda: test.map_set(os.path.join(folder, data_set), with_tensors))


def read(folder: str, with_tensors: bool) -> Iterator[Found]:
    folders = _test_folders(folder)
    if not folders:
        raise Unusable(f"{show_path(folder)}: there is no {_MODEL} in it; give a folder of ONNX's node tests, or one of them")
    for test in folders:
        yield from _read_test(test, with_tensors)
