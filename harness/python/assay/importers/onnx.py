# SPDX-License-Identifier: Apache-2.0
"""Models of ONNX, read with the package onnx: its node tests, which are folders with model.onnx and test_data_set_0/input_0.pb,
output_0.pb, ..., and files of models. A node that is one of assay's operators becomes a case of that; other graphs become
definitions (_onnx_definitions.py)."""
from __future__ import annotations

import os
import warnings
from typing import Any, Iterator, Mapping, Optional, Sequence

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


def _load_tensors(folder: str, kind: str, names: Sequence[str]) -> dict[str, Any]:
    """input_0.pb, input_1.pb, ... as far as they are there, by the graph's names, not those in the files."""
    import onnx
    tensors: dict[str, Any] = {}
    for i, name in enumerate(names):
        file = f"{kind}_{i}.pb"
        path = os.path.join(folder, file)
        if not os.path.exists(path):
            continue
        try:
            with open(path, "rb") as stream:
                tensors.setdefault(name, _parse(onnx.TensorProto(), stream.read()))
                Tensor(tensors[name])
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


def _load(path: str) -> _Model:
    import onnx
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except OSError:
        raise Unmapped("a model that cannot be read") from None
    return _Model(_parse(onnx.ModelProto(), data))


class _Model:
    def __init__(self, proto: Any) -> None:
        self.proto = proto
        demand(self.proto.HasField("graph"), DAMAGED)
        self.graph = self.proto.graph
        demand(self.graph.node, "a graph without a node")
        self._inputs = [value.name for value in self.graph.input]
        self._outputs = [value.name for value in self.graph.output]
        are_tensors = all(value.type.WhichOneof("value") in (None, "tensor_type") for value in (*self.graph.input, *self.graph.output))
        demand(are_tensors, "sequences or optional tensors")
        self._initializers = {tensor.name: tensor for tensor in reversed(self.graph.initializer)}
        own = [entry.version for entry in self.proto.opset_import if entry.domain in ("", "ai.onnx")]
        self._opset = max(own, default=0)

    def map_set(self, folder: str, with_tensors: bool) -> Case:
        """The case of a test's data."""
        return self.map_tensors(self._initializers | _load_tensors(folder, "input", self._inputs),
                                _load_tensors(folder, "output", self._outputs), with_tensors)

    def map_tensors(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any], with_tensors: bool) -> Case:
        """The case of these operands and results, each a TensorProto."""
        try:
            return self._map_node({name: Tensor(one) for name, one in inputs.items()}, {name: Tensor(one) for name, one in outputs.items()},
                                  with_tensors)
        except Unmapped as unmapped:
            first = unmapped
        demand(str(first) != DAMAGED, DAMAGED)
        demand(outputs, "no expected output")
        try:
            return self._define(inputs, outputs, with_tensors)
        except Unmapped as unmapped:
            of_map = self._is_mapped() and str(unmapped).startswith("no operator")  # what lacks for assay's own says more
            raise (first if of_map else unmapped) from None

    def map_file(self) -> Case:
        """The case of a model without data: fills make them."""
        from ._onnx_tensors import without_data
        inputs = {value.name: without_data(value) for value in self.graph.input if value.name not in self._initializers}
        try:
            return self._define(self._initializers | inputs, {name: None for name in self._outputs}, False)
        except Unmapped as unmapped:
            place = getattr(unmapped, "node", "")
            raise Unmapped(f"{place}: {unmapped}" if place else str(unmapped)) from None

    def _define(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any], with_tensors: bool) -> Case:
        from ._onnx_definitions import define
        case = define(self.proto, self._opset, inputs, outputs)
        if not with_tensors:
            case.inputs, case.outputs = [], []
        return case

    def _is_mapped(self) -> bool:
        node = self.graph.node[0]
        return len(self.graph.node) == 1 and node.domain in ("", "ai.onnx") and node.op_type in OPERATORS

    def _map_node(self, tensors: Mapping[str, Tensor], results: Mapping[str, Tensor], with_tensors: bool) -> Case:
        demand(self._is_mapped(), "none of assay's operators")
        node = Node(self.graph.node[0])
        call = Call(node, self._opset, [tensors.get(name) if name else None for name in node.inputs],
                    [results.get(name) if name else None for name in node.outputs])
        known, map_node = OPERATORS[node.op]
        call.check(node.op in OPERATORS_OF_ONE, known)
        case, inputs, outputs = map_node(call)
        if with_tensors:
            case.inputs, case.outputs = _operands(inputs, call.inputs), _operands(outputs, call.outputs)
        return case


def case_of(proto: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Case:
    """The case, with its tensors, of a model that was executed on these."""
    return _Model(proto).map_tensors(inputs, outputs, True)


def map_shapes(proto: Any, inputs: Mapping[str, Any], blanks: Mapping[str, Any], outputs: Mapping[str, Any]) -> Case:
    """The case of a node alone, without data. inputs, outputs: TensorProto; blanks: the inputs of which shapes alone matter as Blank."""
    model = _Model(proto)
    try:
        return model._map_node({name: Tensor(one) for name, one in inputs.items()}, {name: Tensor(one) for name, one in outputs.items()}, False)
    except Unmapped:
        return model._define(blanks, dict.fromkeys(outputs), False)


def _read_test(folder: str, with_tensors: bool) -> Iterator[Found]:
    where, name = show_path(folder), show_path(os.path.basename(folder.rstrip("/")))
    try:
        test = _load(os.path.join(folder, _MODEL))
        sets = sorted(entry for entry in os.listdir(folder) if entry.startswith("test_data_set_"))
        demand(sets, "no test_data_set_0 with its tensors")
    except Unmapped as unmapped:
        yield Found(where, name, None, str(unmapped))
        return
    for data_set in sets:
        yield attempt(where, name, name, lambda: test.map_set(os.path.join(folder, data_set), with_tensors))


def read(path: str, with_tensors: bool, by_node: bool = False) -> Iterator[Found]:
    if by_node:
        if not os.path.isfile(path):
            raise Unusable(f"{show_path(path)}: --as suite takes the nodes of models; it is no file: give a model")
        from ._onnx_nodes import read_nodes
        yield from read_nodes(path)
        return
    if os.path.isfile(path):
        if with_tensors:
            raise Unusable(f"{show_path(path)}: a model without data; give --out a name that ends in .suite, or a folder of tests")
        name = show_path(os.path.basename(path))
        yield attempt(show_path(path), name, name, lambda: _load(path).map_file())
        return
    folders = _test_folders(path)
    if not folders:
        raise Unusable(f"{show_path(path)}: there is no {_MODEL} in it; give a model, a folder of ONNX's node tests, or one of them")
    for test in folders:
        yield from _read_test(test, with_tensors)
