# SPDX-License-Identifier: Apache-2.0
"""A graph of ONNX as a definition: it is interpreted over traced arrays of the shapes that its tensors have. Operands that say
where elements go, such as shapes, axes and indices, are part of the definition."""
from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from typing import Any, Mapping, NamedTuple, Optional, Sequence

import numpy

from .._define import _described, _input
from .._errors import UsageError
from .._traced import Trace, Traced
from ._cases import Case, Operand, Unmapped, demand
from ._onnx_arrays import FLOATS, Value, known, traced
from ._onnx_interpreter import Budget, Interpreter
from ._onnx_steps import NeedsKnown
from ._onnx_tensors import CODES, DAMAGED, STORED, Blank, decoded, stored

_MOST_BYTES = 1 << 20  # of a model
_MOST_NUMBERS = 16  # that are no integers and say where elements go, as the scales of Resize


class _Operand(NamedTuple):
    values: Optional[numpy.ndarray]  # None: there are no data
    type: str
    shape: tuple[int, ...]


def _operand(name: str, proto: Any) -> _Operand:
    try:
        if isinstance(proto, Blank):
            return _Operand(None, *proto)
        values, type_ = decoded(proto)
    except Unmapped as unmapped:
        raise Unmapped(f"{name[:40]}: {unmapped}" if str(unmapped) == DAMAGED else str(unmapped)) from None
    return _Operand(values, type_, values.shape)


def _named(names: Sequence[str]) -> dict[str, str]:
    """A word for each name, each another one."""
    words: dict[str, str] = {}
    for name in names:
        word = re.sub(r"\W", "_", name) or "_"
        word = word if word[0].isalpha() else f"t{word}"
        while word in words.values():
            word += "_"
        words[name] = word
    return words


def _scope(trace: Trace, operands: Mapping[str, _Operand], fixed: frozenset[str], words: Mapping[str, str]) \
        -> tuple[dict[str, Value], dict[str, Any]]:
    scope, inputs = {}, {}
    for name, operand in operands.items():
        if operand.values is not None and name in fixed:
            scope[name] = known(operand.values, operand.type)
            continue
        dims: tuple = ()
        for extent in operand.shape:
            dims = (*dims, trace.fixed(extent, Traced(trace, "", dims)))
        inputs[name] = dims
        scope[name] = Value(_input(trace, words[name], dims, operand.type == "bool"), operand.type)
        scope[name].needs, scope[name].is_operand = frozenset([name]), True
    return scope, inputs


def _reachable(nodes: Sequence[dict], outputs: Sequence[str]) -> set[str]:
    wanted = set(outputs)
    for node in reversed(nodes):
        if node["name"] in wanted:
            wanted.update(node["of"])
    return wanted


def _interpret(proto: Any, opset: int, operands: Mapping[str, _Operand], outputs: Sequence[str], words: Mapping[str, str]) \
        -> tuple[Trace, dict[str, Any], list[Value]]:
    fixed: frozenset[str] = frozenset()
    functions = {(one.domain, one.name, getattr(one, "overload", "")): one for one in proto.functions}
    budget = Budget()
    while True:
        trace = Trace()
        scope, inputs = _scope(trace, operands, fixed, words)
        try:
            values = Interpreter(opset, trace, functions, budget).run(proto.graph.node, scope, outputs)
        except NeedsKnown as error:
            demand(error.operands, "a shape or a place that is computed in floating point")
            for name in error.operands:
                operand = operands[name]
                is_data = operand.type in FLOATS and math.prod(operand.shape) > _MOST_NUMBERS
                demand(name not in fixed and not is_data, "a shape or a place that is computed from the data")
                demand(operand.values is not None, f"{name[:40]} says where elements go and has no numbers: make it an initializer")
            fixed |= error.operands
            continue
        if not inputs:  # all that operands say is in the definition, which keeps them as its form
            _, inputs = _scope(trace, operands, frozenset(), words)
            demand(inputs, "no operand: the result is a constant")
        return trace, inputs, values


def _results(trace: Trace, values: Sequence[Value], expected: Mapping[str, Optional[_Operand]], words: Mapping[str, str]) -> dict[str, Traced]:
    made = {}
    for (name, other), value in zip(expected.items(), values):
        demand(other is None or other.shape == value.shape,
               f"{name[:40]}: a result of the shape {value.shape}, where {other and other.shape} is expected")
        made[words[name]] = traced(trace, value)
    return made


def _model(proto: Any, used: Sequence[str], operands: Mapping[str, _Operand], inputs: Mapping[str, Any], outputs: Sequence[str],
           is_form: bool) -> str:
    """The model whose inputs are the definition's operands, in base64: the others are initializers. "": it is too large. is_form: the
    definition has the numbers of all operands, and takes none."""
    import onnx
    made = onnx.ModelProto()
    made.CopyFrom(proto)
    graph = made.graph
    constants = [(name, one) for name, one in inputs.items() if (is_form or name not in used) and not isinstance(one, Blank)]
    results = [one for one in proto.graph.output if one.name in outputs]
    for field in (graph.input, graph.output, graph.initializer):
        del field[:]
    graph.output.extend(results)
    for name, one in constants:
        graph.initializer.add().CopyFrom(one)
        graph.initializer[-1].name = name
    for name in used:
        called = f"{name}__unused" if is_form and operands[name].values is not None else name
        graph.input.append(onnx.helper.make_tensor_value_info(called, CODES[operands[name].type], list(operands[name].shape)))
    data = made.SerializeToString()
    return base64.b64encode(data).decode() if len(data) <= _MOST_BYTES else ""


def define(proto: Any, opset: int, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Case:
    """A case of an operator of its own. inputs, outputs: tensors as ONNX has them, or Blank; None of a result: nobody expects any."""
    graph, words = proto.graph, _named([*inputs, *outputs])
    operands = {name: _operand(name, one) for name, one in inputs.items()}
    expected = {name: None if one is None else _operand(name, one) for name, one in outputs.items()}
    try:
        trace, all_dims, values = _interpret(proto, opset, operands, list(outputs), words)
        made = _results(trace, values, expected, words)
    except UsageError as error:
        raise Unmapped(f"not traced: {error}") from None
    wanted = _reachable(trace.nodes, [one.name for one in made.values()])
    needed = {name: dims for name, dims in all_dims.items() if words[name] in wanted}
    used = needed or all_dims
    trace.nodes[:] = [node for node in trace.nodes if node["name"] in wanted]
    conditions = {words[name]: "condition" for name in used if operands[name].type == "bool"}
    data = _described(trace, [(words[name], dims) for name, dims in used.items()], made, conditions)
    of_results = [other.type if other else value.type for other, value in zip(expected.values(), values)]
    types = [STORED.get(type_, type_) for type_ in (*(operands[name].type for name in used), *of_results)]
    for output, type_ in list(zip(data["outputs"], types[len(used):]))[1:]:
        output["type"] = type_
    listed = types[:len(used) + 1]
    data["types"] = ["-".join(listed)]
    data["onnx"] = _model(proto, list(used), operands, inputs, list(outputs), not needed)
    op = re.sub(r"\W", "_", graph.node[0].op_type)[:40] if len(graph.node) == 1 else "graph"
    name = f"onnx_{op}_{hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8]}"
    case = Case(name, listed if len(set(listed)) > 1 else listed[:1], {},
                definition={"op": name, "doc": f"{op} of ONNX, opset {opset}", **data})
    for to, names, tensors in ((case.inputs, used, operands), (case.outputs, outputs, expected)):
        for one in names:
            if tensors[one] is not None and tensors[one].values is not None:
                dtype, content = stored(tensors[one].values, tensors[one].type)
                to.append(Operand(words[one], dtype, list(tensors[one].shape), content))
    return case
