# SPDX-License-Identifier: Apache-2.0
"""``assay.watch_onnx``: each node of a model of ONNX, executed alone and judged from its own operands, and then with its
neighbours, as the runtime's optimiser likes."""
from __future__ import annotations

import time
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Optional

from .._errors import Error, UsageError
from ._executors import Executor, executor_of
from ._onnx_inputs import demand_fit, demand_inputs
from ._rules import Question, Unjudged
from ._sites import Site
from .watch import Node, Watch

_NODES_TOGETHER = 8  # that an optimiser may make one of


class Segment(NamedTuple):
    """Some nodes one behind the other, as a model of their own."""
    model: Any
    inputs: list[str]
    outputs: list[str]


class _Graph:
    def __init__(self, model: Any) -> None:
        import onnx
        self._shell = onnx.ModelProto()  # the model without its graph, whose weights may be large
        self._shell.ir_version = model.ir_version
        self._shell.opset_import.extend(model.opset_import)
        self._shell.functions.extend(model.functions)
        self._shell.graph.name = model.graph.name
        self.nodes = list(model.graph.node)
        self.constants = {one.name: one for one in model.graph.initializer}
        self.types = {one.name: one for one in (*model.graph.input, *model.graph.output, *model.graph.value_info)}
        self._last_use = {name: index for index, node in enumerate(self.nodes) for name in self.taken([node])}
        self._last_use.update({one.name: len(self.nodes) for one in model.graph.output})
        self._helper = onnx.helper

    def taken(self, nodes: Iterable[Any]) -> list[str]:
        """Values that the nodes take from elsewhere, bodies of loops and branches included."""
        made: set[str] = set()
        found: dict[str, None] = {}
        for node in nodes:
            inner = [name for one in node.attribute for graph in (*([one.g] if one.HasField("g") else []), *one.graphs)
                     for name in self._taken_by(graph)]
            found.update(dict.fromkeys(name for name in (*node.input, *inner) if name and name not in made))
            made.update(node.output)
        return list(found)

    def is_used(self, name: str, end: int) -> bool:
        """Whether nodes from `end` on take the value, or the model gives it."""
        return self._last_use.get(name, -1) >= end

    def keep(self, values: Mapping[str, Any]) -> None:
        """Makes constants of them, as weights are in models that have them as nodes."""
        from onnx import numpy_helper
        self.constants.update({name: numpy_helper.from_array(array, name) for name, array in values.items()})

    def _taken_by(self, graph: Any) -> list[str]:
        own = {one.name for one in (*graph.input, *graph.initializer)}
        return [name for name in self.taken(graph.node) if name not in own] + [one.name for one in graph.output if one.name not in own and
                                                                               not any(one.name in node.output for node in graph.node)]

    def segment(self, begin: int, end: int, values: Mapping[str, Any]) -> Segment:
        """Nodes begin to end - 1. Their outputs are what others take of them, or the model gives."""
        import onnx
        nodes = self.nodes[begin:end]
        inputs = [name for name in self.taken(nodes) if name not in self.constants]
        outputs = [name for node in nodes for name in node.output
                   if name and name not in self.constants and (self.is_used(name, end) or end - begin == 1)]
        model = onnx.ModelProto()
        model.CopyFrom(self._shell)
        graph = model.graph
        graph.node.extend(nodes)
        graph.initializer.extend(self.constants[name] for name in self.taken(nodes) if name in self.constants)
        for name in inputs:
            code = onnx.helper.np_dtype_to_tensor_dtype(values[name].dtype)
            graph.input.append(self._helper.make_tensor_value_info(name, code, values[name].shape))
        for name in outputs:
            graph.output.append(self.types.get(name) or onnx.ValueInfoProto(name=name))
        return Segment(model, inputs, outputs)


def _drawn(model: Any, constants: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Operands by the shapes that the model states."""
    import numpy
    import onnx
    draw, made = numpy.random.default_rng(seed), {}
    for one in model.graph.input:
        if one.name in constants:
            continue
        stated = one.type.tensor_type
        shape = [extent.dim_value for extent in stated.shape.dim]
        if not one.type.HasField("tensor_type") or min(shape, default=1) < 1:
            extents = "x".join(extent.dim_param or str(extent.dim_value) for extent in stated.shape.dim) or "none"
            raise UsageError(f"watch_onnx: the model states the extents {extents} of its input {one.name}, which are not all positive numbers; give an array "
                             f"for it (inputs={{\"{one.name}\": array, ...}}, --inputs FILE.npz), or fix them with onnx.tools.update_model_dims")
        kind_of = getattr(onnx.helper, "tensor_dtype_to_np_dtype", None) or onnx.mapping.TENSOR_TYPE_TO_NP_TYPE.__getitem__  # the latter before 1.13
        dtype = kind_of(stated.elem_type)
        made[one.name] = draw.standard_normal(shape).astype(dtype) if dtype.kind == "f" else numpy.zeros(shape, dtype)
    return made


def _arrays(operands: Iterable[Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Arrays, and the types that these do not say."""
    import numpy
    kinds = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": "u2", "i8": "i1", "u8": "u1", "i16": "i2", "i32": "i4", "i64": "i8", "bool": "?",
             "e4m3": "u1", "e5m2": "u1"}
    arrays, types = {}, {}
    for one in operands:
        arrays[one.name] = numpy.frombuffer(one.data, kinds[one.dtype]).reshape(tuple(one.shape))
        if one.dtype in ("bf16", "e4m3", "e5m2"):
            types[one.name] = one.dtype
    return arrays, types


def question_of(segment: Segment, operands: Mapping[str, Any], results: Mapping[str, Any]) -> Question:
    """The question whether these are the nodes' results. Raises Unjudged where assay has no formula of one of them."""
    from onnx import numpy_helper
    from .._define import register
    from ..importers._cases import Unmapped
    from ..importers.onnx import case_of

    def protos(arrays: Mapping[str, Any]) -> dict[str, Any]:
        return {name: numpy_helper.from_array(array, name) for name, array in arrays.items()}
    try:
        case = case_of(segment.model, protos(operands), protos(results))
    except Unmapped as unmapped:
        raise Unjudged(str(unmapped)) from None
    if case.definition is not None:
        register(case.definition)
    inputs, types = _arrays(case.inputs)
    outputs, others = _arrays(case.outputs)
    return Question(case.op, inputs, outputs, {**case.attrs, **({"dtypes": {**types, **others}} if types or others else {})})


class _Walk:
    def __init__(self, watch: Watch, graph: _Graph, execute: Executor, values: dict[str, Any], fused: bool) -> None:
        self.watch, self.graph, self.execute, self.values, self.fused = watch, graph, execute, values, fused

    def _run(self, segment: Segment, optimised: bool) -> dict[str, Any]:
        try:
            made = self.execute(segment.model, {name: self.values[name] for name in segment.inputs}, optimised)
        except Exception as error:  # each runtime has its own
            first = segment.model.graph.node[0]
            raise Error(f"watch_onnx: the runtime does not execute {first.op_type} {first.name or first.output[0]} by itself: {error}") from error
        return dict(zip(segment.outputs, made))

    def _judged(self, begin: int, end: int, segment: Segment, results: Mapping[str, Any], kind: str) -> Optional[Node]:
        """The node of the results; None if they are not judged, whose reason is counted."""
        import numpy
        nodes = self.graph.nodes[begin:end]
        operands = {name: self.values[name] for name in segment.inputs}
        constants = {name: self.graph.constants[name] for name in self.graph.taken(nodes) if name in self.graph.constants}
        from onnx import numpy_helper
        whole = {**{name: numpy_helper.to_array(one) for name, one in constants.items()}, **operands}
        begun = time.perf_counter()
        try:
            question = question_of(segment, whole, results)
            node = self.watch.judged(question)
        except Unjudged as why:
            self.watch.unjudged[f"{kind}{nodes[0].op_type}: {why}"] += 1
            return None
        except Exception as error:  # readers of ONNX raise anything
            self.watch.unjudged[f"{kind}{nodes[0].op_type}: {type(error).__name__}: {error}".split("\n")[0][:160]] += 1
            return None
        finally:
            self.watch.seconds += time.perf_counter() - begun
        first = results[segment.outputs[0]]
        is_finite = all(numpy.isfinite(one).all() for one in results.values() if one.dtype.kind == "f")
        was_finite = all(numpy.isfinite(one).all() for one in whole.values() if one.dtype.kind == "f")
        names = [node.name or node.output[0] for node in nodes]
        return node._replace(index=begin + 1, op=kind + "+".join(node.op_type for node in nodes), site=Site(" to ".join(dict.fromkeys((names[0], names[-1]))), ""),
                             shape=tuple(first.shape), dtype=str(first.dtype), finite=is_finite or not was_finite, question=question if node.failed else None)

    def each(self) -> None:
        for index in range(len(self.graph.nodes)):
            segment = self.graph.segment(index, index + 1, self.values)
            results = self._run(segment, False)
            self.watch.calls += 1
            if not self.graph.taken(self.graph.nodes[index:index + 1]):
                self.watch.unjudged["new tensors"] += 1
                self.graph.keep(results)
                continue
            if (node := self._judged(index, index + 1, segment, results, "")) is not None:
                self.watch.add(node)
            self.values.update(results)
            if not self.fused:  # groups take values again
                self.values = {name: value for name, value in self.values.items() if self.graph.is_used(name, index + 1)}

    def _failing(self, begin: int, end: int) -> Optional[Node]:
        """The optimised nodes, where their results are neither those of the single ones nor right."""
        import numpy
        segment = self.graph.segment(begin, end, self.values)
        if not segment.outputs:
            return None
        results = self._run(segment, True)
        if all(numpy.array_equal(results[name], self.values[name], equal_nan=self.values[name].dtype.kind == "f") for name in segment.outputs):
            return None
        node = self._judged(begin, end, segment, results, "optimised ")
        return node if node is not None and node.failed else None

    def together(self) -> None:
        """Windows of nodes, each made smaller as long as it fails."""
        count = len(self.graph.nodes)
        for start in range(0, max(count - 1, 0), _NODES_TOGETHER // 2):
            begin, end = start, min(start + _NODES_TOGETHER, count)
            found = self._failing(begin, end)
            while found is not None and end - begin > 1:
                smaller = next(((b, e, node) for b, e in ((begin, end - 1), (begin + 1, end)) if (node := self._failing(b, e)) is not None), None)
                if smaller is None:
                    break
                begin, end, found = smaller
            alone = {node.index for node in self.watch.failures if not node.op.startswith("optimised")}
            known = any(node.op == found.op and node.index == found.index for node in self.watch.nodes) if found is not None else True
            if not known and not alone & set(range(begin + 1, end + 1)):
                self.watch.add(found)


def watch_onnx(model: Any, inputs: Optional[Mapping[str, Any]] = None, provider: Any = "CPUExecutionProvider", sample: Optional[int] = 4096,
               contract: Optional[str] = None, fused: bool = False, seed: int = 0, on_node: Optional[Callable[[Node], None]] = None) -> Watch:
    """Judges each node of a model of ONNX from the operands that it has in the whole.

    model: a path, or a ModelProto, with its weights.
    inputs: arrays by the names of the graph's inputs; None: normal numbers by the shapes that the model states, zeros of integers.
    provider: of ONNX Runtime, or "openvino", or a function of a model, its operands and whether its graph may be optimised, that
        returns the outputs.
    sample, contract, on_node: as those of ``watch``.
    fused: also execute neighbours together, with all optimisations, and name the smallest group whose results are wrong where those of
        its nodes are right.

    Needs the packages onnx and onnxruntime. An interrupt (KeyboardInterrupt) has what was judged until then as its member ``watch``. Raises UsageError where the model is none or says too little, and Error where the runtime
    cannot execute a node.
    """
    try:
        import onnx
    except ImportError as error:
        raise Error(f"watch_onnx: models are read by the package onnx, which cannot be imported here: {error}") from None
    if isinstance(model, (str, bytes)) or hasattr(model, "__fspath__"):
        try:
            model = onnx.load(model)
        except Exception as error:  # of Protocol Buffers, files and the package's own
            raise UsageError(f"watch_onnx: {model!r} is no model that the package onnx reads: {type(error).__name__}: {error}") from None
    graph = _Graph(model)
    given = dict(inputs) if inputs is not None else _drawn(model, graph.constants, seed)
    demand_inputs(model, graph.constants, given)
    watch = Watch(sample, 1, contract, 20, on_node)
    walk = _Walk(watch, graph, executor_of(provider), given, fused)
    try:
        try:
            walk.each()
        except Error as error:
            demand_fit(model, given, error)
            raise
        if fused:
            walk.together()
    except KeyboardInterrupt as interrupt:
        interrupt.watch = watch  # type: ignore[attr-defined]  # what was judged until then
        raise
    return watch
