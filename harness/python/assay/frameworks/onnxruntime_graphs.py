# SPDX-License-Identifier: Apache-2.0
"""Functions of --operators as models of ONNX, which ONNX Runtime executes: a session for each set of types, shapes and
attributes."""
from __future__ import annotations

import functools

import numpy
from onnx import helper, numpy_helper

from .._frameworks import Unsupported
from ._symbols import number_type, results_in, symbols_of
from .onnxruntime_models import ELEMENTS, demand_node, made_of, options_at, reduction, session_of

NODES = {"exp": "Exp", "log": "Log", "tanh": "Tanh", "erf": "Erf", "sin": "Sin", "cos": "Cos", "sigmoid": "Sigmoid", "sqrt": "Sqrt",
         "abs": "Abs", "negative": "Neg", "relu": "Relu", "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div",
         "pow": "Pow", "maximum": "Max", "minimum": "Min", "less": "Less", "greater": "Greater", "less_equal": "LessOrEqual",
         "greater_equal": "GreaterOrEqual", "equal": "Equal", "where": "Where", "matmul": "MatMul", "gelu": "Gelu",
         "softmax": "Softmax", "log_softmax": "LogSoftmax", "logical_and": "And", "logical_or": "Or", "logical_not": "Not",
         "isnan": "IsNaN", "isinf": "IsInf"}
REDUCTIONS = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd",
              "logsumexp": "ReduceLogSumExp"}
# Nodes that take a function's attributes as further operands.
OPERANDS = {"cumulative_sum": "CumSum", "expand_dims": "Unsqueeze", "slice": "Slice"}


class _Graph:
    """dtype: of numbers."""

    def __init__(self, dtype: str) -> None:
        self.dtype, self.nodes, self.constants = dtype, [], []

    def constant(self, values, dtype="int64") -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.array(values, dtype), name))
        return name

    def node(self, kind, operands, **attrs) -> str:
        demand_node(kind, attrs)
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attrs))
        return name

    def make(self, name, values, **attrs) -> str:
        values = [self.constant(value, self.dtype) if isinstance(value, float) else value for value in values]
        if name in NODES:
            return self.node(NODES[name], values, **attrs)
        if name in REDUCTIONS:
            operands, axes = reduction(REDUCTIONS[name], attrs["axes"])
            return self.node(REDUCTIONS[name], [*values, *map(self.constant, operands)], keepdims=int(attrs["keepdims"]), **axes)
        if name == "rsqrt":
            return self.node("Reciprocal", [self.node("Sqrt", values)])
        if name == "not_equal":
            return self.node("Not", [self.node("Equal", values)])
        if name == "cast":
            return self.node("Cast", values, to=ELEMENTS[attrs.get("to", self.dtype)])
        if name == "permute_dims":
            return self.node("Transpose", values, perm=attrs["axes"])
        if name == "slice":
            attrs = {"begin": [attrs["begin"]], "end": [attrs["end"]], "axis": [attrs["axis"]]}
        elif name == "expand_dims":
            attrs = {"axis": [attrs["axis"]]}
        elif name != "cumulative_sum":
            raise Unsupported(f"ONNX has no node for {name}")
        return self.node(OPERANDS[name], [*values, *map(self.constant, attrs.values())])


def _session(body, operands, attrs, level):
    types = [o.dtype.name for o in operands]
    stored = attrs.get("result_types", ())
    graph = _Graph(number_type((*types, *stored)))
    inputs = [helper.make_tensor_value_info(f"x{i}", ELEMENTS[o.dtype.name], list(o.shape)) for i, o in enumerate(operands)]
    symbols = symbols_of(graph.make, [info.name for info in inputs], types, [o.shape for o in operands], graph.dtype)
    values = results_in(body(*symbols, **attrs), graph.dtype, stored)
    results = [graph.node("Identity", [value]) for value in values]  # an input may be a result, and one value be two
    outputs = [helper.make_tensor_value_info(name, ELEMENTS[dtype], None)
               for name, dtype in zip(results, stored or [graph.dtype] * len(results))]
    made = helper.make_graph(graph.nodes, "definition", inputs, outputs, graph.constants)
    return session_of(made_of(made), options_at(level), ["CPUExecutionProvider"])


def compiled(level):
    """graph() of _defined.exported(), at that level of ONNX Runtime's optimisations."""
    def graph(body):
        sessions = {}

        @functools.wraps(body)
        def call(*operands, **attrs):
            key = (tuple(attrs.items()), *((o.dtype.name, o.shape) for o in operands))
            if key not in sessions:
                sessions[key] = _session(body, operands, attrs, level)
            results = sessions[key].run(None, {f"x{i}": o for i, o in enumerate(operands)})
            return results[0] if len(results) == 1 else tuple(results)
        return call
    return graph
