# SPDX-License-Identifier: Apache-2.0
"""The nodes of a model of ONNX, each a case of its own: equal ones once, with how many nodes are so."""
from __future__ import annotations

import math
from typing import Any, Iterator

from ._cases import Case, Found, Unmapped, Unusable, demand, show_path

_MOST_ELEMENTS = 1 << 26  # of a tensor that is made to be read
_MOST_KNOWN = 1 << 10     # elements of integers that may be places, shapes or paddings, whose numbers a node needs


class _Shapes:
    """Types and shapes of all values of a model, and the numbers of small constants."""

    def __init__(self, model: Any) -> None:
        import onnx
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        self._stated = {one.name: one for one in (*graph.input, *graph.output, *graph.value_info)}
        self._constants = {one.name: one for one in graph.initializer}
        for node in graph.node:
            values = [one.t for one in node.attribute if one.name == "value"]
            if node.op_type == "Constant" and values:
                self._constants[node.output[0]] = values[0]
        self.nodes = [node for node in graph.node if node.op_type != "Constant"]
        self.name = graph.name

    def number(self, name: str) -> Any:
        """The TensorProto of a constant whose numbers say what is computed; else None."""
        constant = self._constants.get(name)
        is_known = constant is not None and math.prod(constant.dims) <= _MOST_KNOWN and (constant.data_type in (6, 7, 9) or not constant.dims)
        return constant if is_known else None

    def zeros(self, name: str) -> Any:
        """A TensorProto of the value's type and shape."""
        import onnx
        from ._onnx_tensors import bytes_each
        constant = self._constants.get(name)
        dims, code = (constant.dims, constant.data_type) if constant is not None else self._shape(name)
        demand(math.prod(dims) <= _MOST_ELEMENTS, f"a tensor of more than 2^{int(math.log2(_MOST_ELEMENTS))} elements")
        return onnx.TensorProto(dims=dims, data_type=code, raw_data=bytes(math.prod(dims) * bytes_each(code)))

    def _shape(self, name: str) -> tuple[list[int], int]:
        stated = self._stated.get(name)
        kind = stated.type.tensor_type if stated is not None and stated.type.HasField("tensor_type") else None
        fixed = kind is not None and kind.elem_type and kind.HasField("shape") and all(one.dim_value > 0 for one in kind.shape.dim)
        demand(fixed, "values without a fixed shape: give the model's inputs one, as onnx.tools.update_model_dims does")
        return [one.dim_value for one in kind.shape.dim], kind.elem_type  # type: ignore[union-attr]


def _alone(model: Any, node: Any) -> tuple[Any, dict[str, str], dict[str, str]]:
    """A model of the node, whose names are those of all nodes like it; names of its inputs and outputs in the whole."""
    import onnx
    made = onnx.ModelProto(ir_version=model.ir_version)
    made.opset_import.extend(model.opset_import)
    made.functions.extend(model.functions)
    one = made.graph.node.add()
    one.CopyFrom(node)
    one.name, one.doc_string, made.graph.name = "", "", "node"
    words = {name: f"x{place}" for place, name in enumerate(dict.fromkeys(node.input)) if name}
    results = {name: f"y{place}" for place, name in enumerate(node.output) if name}
    one.input[:] = [words.get(name, "") for name in node.input]
    one.output[:] = [results.get(name, "") for name in node.output]
    return made, words, results


def _case_of(model: Any, shapes: _Shapes, node: Any) -> Case:
    import onnx
    from ._onnx_tensors import without_data
    from .onnx import map_shapes
    demand(not any(one.HasField("g") or one.graphs for one in node.attribute), "bodies of loops and branches")
    made, words, results = _alone(model, node)
    demand(words, "new tensors")
    inputs, blanks = {}, {}
    for name, word in words.items():
        number = shapes.number(name)
        inputs[word] = tensor = number or shapes.zeros(name)
        value = onnx.helper.make_tensor_value_info(word, tensor.data_type, list(tensor.dims))
        made.graph.input.append(value)
        blanks[word] = number or without_data(value)
    outputs = {word: shapes.zeros(name) for name, word in results.items()}
    made.graph.output.extend(onnx.helper.make_tensor_value_info(word, one.data_type, list(one.dims)) for word, one in outputs.items())
    return map_shapes(made, inputs, blanks, outputs)


def read_nodes(path: str) -> Iterator[Found]:
    import onnx
    try:
        model = onnx.load(path)
        shapes = _Shapes(model)
    except Exception as error:  # of Protocol Buffers, files and the package's own
        raise Unusable(f"{show_path(path)}: it is no model whose shapes the package onnx infers: {type(error).__name__}: {error}".split("\n")[0]) from None
    found: dict[Any, list[Any]] = {}
    for node in shapes.nodes:
        called = f"{node.op_type} {node.name or node.output[0]}"
        try:
            case = _case_of(model, shapes, node)
        except Unmapped as reason:
            yield Found(show_path(path), called, None, f"{node.op_type}: {reason}")
            continue
        known = found.setdefault((case.op, *case.dtypes, *map(str, case.attrs.items())), [0, called, case])
        known[0] += 1
    for count, called, case in sorted(found.values(), key=lambda one: -one[0]):
        yield Found(show_path(path), called, case, label=f"calls-{count}", count=count)

