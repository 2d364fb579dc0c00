# SPDX-License-Identifier: Apache-2.0
"""Runs a graph of ONNX over values (_onnx_arrays.py): by the table of operators, and of what that lacks by the function that
ONNX itself defines it by."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from .._errors import UsageError
from .._traced import Trace
from . import _onnx_elements, _onnx_indices, _onnx_moves, _onnx_networks, _onnx_resize  # noqa: F401
from . import _onnx_sums, _onnx_training, _onnx_types, _onnx_windows  # noqa: F401
from ._cases import Unmapped, demand
from ._onnx_arrays import Value, concat, known, move, reshape
from ._onnx_tensors import CODES, decoded
from ._onnx_steps import OPERATORS, NeedsKnown, Step, defaults_of, operator, place_in, schema_of, value_of

_TRAINING, _TRAINING_OPSET = "ai.onnx.preview.training", 1
_DOMAINS = ("", "ai.onnx", _TRAINING)
# Earlier opsets broadcast along a stated axis, or train unless an attribute says otherwise.
_SINCE = dict.fromkeys(("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Less", "Greater", "Pow", "PRelu", "Gemm",
                        "BatchNormalization", "Dropout"), 7) | {"Tile": 6, "Scan": 9}
_NOT_OF_ONNX = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)  # of what its attributes say
_MOST_STEPS = 1000  # of a loop
_ELEMENTS_OF_A_NODE = 1 << 14


def _attribute(one: Any) -> Any:
    found = value_of(one)
    return known(*decoded(found)) if one.type == 4 else found


def _function_of(node: Any, opset: int, inputs: Sequence[Optional[Value]]) -> tuple[Any, dict[str, Any]]:
    """The function of a node that is one by ONNX's own definition, and its usual attributes."""
    import onnx
    absent, schema = Unmapped(f"no operator {node.op_type[:40]} here"), schema_of(node.op_type, opset, node.domain)
    if schema is None:
        raise absent
    for one in node.attribute:
        demand(one.name in schema.attributes, f"{one.name[:40]}: an attribute that {node.op_type[:40]} does not have at opset {opset}")
    if getattr(schema, "has_context_dependent_function", False):
        types = [_type_of(value).SerializeToString() for value in inputs]
        found = schema.get_context_dependent_function(node.SerializeToString(), types)
    elif schema.has_function:
        found = schema.function_body
    else:
        raise absent
    function = onnx.FunctionProto()
    function.ParseFromString(found if isinstance(found, bytes) else found.SerializeToString())
    return function, {name: one.default_value for name, one in schema.attributes.items() if one.default_value.type}


def _type_of(value: Optional[Value]) -> Any:
    import onnx
    made = onnx.TypeProto()
    if value is not None:
        made.tensor_type.elem_type = CODES[value.type]
        made.tensor_type.shape.SetInParent()
        for extent in value.shape:
            made.tensor_type.shape.dim.add().dim_value = extent
    return made


def _key_of(node: Any) -> tuple[str, str, str]:
    """The name that a node calls a function of the model by; overloads are there since version 10 of the file format."""
    return node.domain, node.op_type, getattr(node, "overload", "")


def _copy_of(message: Any) -> Any:
    made = type(message)()
    made.CopyFrom(message)
    return made


class Budget:
    """Counts executed nodes, and the elements of constants that they make, of a whole definition."""

    def __init__(self, most: int = 20_000) -> None:
        self.most = self.left = most

    def spend(self, results: Sequence[Optional[Value]]) -> None:
        self.left -= 1 + sum(one.x.size for one in results if one is not None and one.is_known) // _ELEMENTS_OF_A_NODE
        demand(self.left >= 0, f"more than {self.most} nodes to execute, loops and functions unrolled: import a part of the graph")


class Interpreter:
    """functions: those of the model, by _key_of()."""

    def __init__(self, opset: int, trace: Trace, functions: Mapping[tuple[str, str, str], Any], budget: Optional[Budget] = None) -> None:
        self.opset, self.trace, self.functions, self.budget = opset, trace, functions, budget or Budget()

    def run(self, nodes: Any, scope: Mapping[str, Value], outputs: Sequence[str]) -> list[Value]:
        names = dict(scope)
        self.budget.spend([])  # bodies of loops may be empty
        for node in nodes:
            inputs = [names.get(name) if name else None for name in node.input]
            missing = any(value is None for value, name in zip(inputs, node.input) if name)
            demand(not missing, f"{node.op_type[:40]} takes a tensor that no node before it makes")
            try:
                made = self._node(node, inputs, names)
            except UsageError:  # of the tracer, which is a ValueError
                raise
            except _NOT_OF_ONNX:
                raise Unmapped(f"{node.op_type[:40]} has operands or attributes that ONNX does not permit: check the model by "
                               "onnx.checker") from None
            except Unmapped as unmapped:
                unmapped.node = getattr(unmapped, "node", f"node {node.name or ', '.join(node.output)} ({node.op_type})")  # type: ignore[attr-defined]
                raise
            results = made if isinstance(made, (list, tuple)) else [made]
            self.budget.spend(results)
            needs = frozenset().union(*(value.needs for value in inputs if value is not None))
            for name, value in zip(node.output, results):
                if value is None:  # nobody takes it
                    continue
                names[name] = Value(value.x, value.type)
                names[name].needs = frozenset() if value.is_known else needs | value.needs
        demand(all(name in names for name in outputs), "an output that no node makes")
        return [names[name] for name in outputs]

    def _node(self, node: Any, inputs: Sequence[Optional[Value]], names: Mapping[str, Value]) -> Any:
        is_own = _key_of(node) in self.functions
        make = OPERATORS.get(node.op_type) if node.domain in _DOMAINS and not is_own else None
        if make is None:
            return self._function(node, inputs)
        least = _SINCE.get(node.op_type, 0)
        demand(self.opset >= least, f"{node.op_type} before opset {least}, where it computes otherwise: convert the model by "
               "onnx.version_converter")
        defaults = defaults_of(schema_of(node.op_type, _TRAINING_OPSET if node.domain == _TRAINING else self.opset, node.domain))
        step = Step(node.op_type, self.opset, inputs, {one.name: _attribute(one) for one in node.attribute}, len(node.output), defaults)
        step.trace = self.trace
        step.run = lambda graph, given: self.run(graph.node, {**names, **{one.name: known(*decoded(one)) for one in graph.initializer},
                                                              **dict(zip((one.name for one in graph.input), given))},
                                                 [one.name for one in graph.output])
        made = make(step)
        step.check_attributes()
        return made

    def _function(self, node: Any, inputs: Sequence[Optional[Value]]) -> Any:
        own_function = self.functions.get(_key_of(node))
        function, usual = (_copy_of(own_function), {}) if own_function is not None else _function_of(node, self.opset, inputs)
        given = {name: value for name, value in zip(function.input, inputs) if value is not None}
        stated = usual | {one.name: one for one in (*getattr(function, "attribute_proto", ()), *node.attribute)}
        for inner in function.node:
            _fill_in(inner, stated, given, set(function.input))
        own = max((one.version for one in function.opset_import if one.domain in ("", "ai.onnx")), default=self.opset)
        body = Interpreter(own, self.trace, self.functions, self.budget)
        wanted = iter(body.run(function.node, given, [name for name, there in zip(function.output, node.output) if there]))
        return [next(wanted) if there else None for there in node.output]


def _fill_in(inner: Any, stated: Mapping[str, Any], given: Mapping[str, Value], formal: set[str]) -> None:
    """Gives a node of a function the attributes of its call, and leaves out the operands that the call has not."""
    for one in [one for one in inner.attribute if one.ref_attr_name]:
        name, of = one.name, one.ref_attr_name
        inner.attribute.remove(one)
        if of in stated:
            inner.attribute.add().CopyFrom(stated[of])
            inner.attribute[-1].name = name
    for k, name in enumerate(inner.input):
        if name in formal and name not in given:
            inner.input[k] = ""


@operator("If")
def _if(s: Step) -> Any:
    branches = s.attr("else_branch"), s.attr("then_branch")
    return s.run(branches[bool(s.array(0).reshape(-1)[0])], [])


def _stacked(parts: Sequence[Value], axis: int = 0) -> Value:
    demand(parts, "a loop without a step")
    axis = place_in(axis, parts[0].rank + 1)
    return concat([reshape(one, (*one.shape[:axis], 1, *one.shape[axis:])) for one in parts], axis)


@operator("Loop")
def _loop(s: Step) -> Any:
    body = s.attr("body")
    most, carried = s.array(0), [s[k] for k in range(2, len(s.inputs))]
    goes_on, scanned = bool(s.array(1, known(True, "bool").x)), []
    count = 0
    while goes_on and (most is None or count < int(most)):
        demand(count < _MOST_STEPS, f"a loop of more than {_MOST_STEPS} steps")
        condition, *results = s.run(body, [known(count, "i64"), known(True, "bool"), *carried])
        if not condition.is_known:
            raise NeedsKnown(condition.needs)
        goes_on, carried = bool(condition.x), results[:len(carried)]
        scanned.append(results[len(carried):])
        count += 1
    return [*carried, *(_stacked(parts) for parts in zip(*scanned))]


@operator("Scan")
def _scan(s: Step) -> Any:
    body, count = s.attr("body"), s.attr("num_scan_inputs")
    carried, sequences = s.values()[:-count], s.values()[-count:]
    axes = s.attr("scan_input_axes", [0] * count)
    backwards, scanned = s.attr("scan_input_directions", [0] * count), []
    for step in range(sequences[0].shape[axes[0]]):
        demand(step < _MOST_STEPS, f"a loop of more than {_MOST_STEPS} steps")
        parts = []
        for one, axis, back in zip(sequences, axes, backwards):
            at = one.shape[axis] - 1 - step if back else step
            shape = [extent for k, extent in enumerate(one.shape) if k != axis % one.rank]
            parts.append(reshape(move(one, [at], axis % one.rank, 1), shape))
        results = s.run(body, [*carried, *parts])
        carried = results[:len(carried)]
        scanned.append(results[len(carried):])
    out = list(zip(*scanned))
    ways = s.attr("scan_output_directions", [0] * len(out))
    places = s.attr("scan_output_axes", [0] * len(out))
    return [*carried, *(_stacked(parts[::-1] if back else parts, axis) for parts, axis, back in zip(out, places, ways))]
