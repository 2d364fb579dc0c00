# SPDX-License-Identifier: Apache-2.0
"""Sessions of ONNX Runtime, of models with one node each, made by the package onnx when a case first needs them.

The nodes are those of the ONNX operator specification, at the newest version of opset that both packages know.
"""
from __future__ import annotations

import ctypes
import functools

import ml_dtypes
import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

from .._frameworks import Unavailable, Unsupported

OWN = "com.microsoft"  # domain of nodes that only ONNX Runtime has
NEWEST, OLDEST = 23, 17  # 23 is the first opset with Attention and RMSNormalization


class _Elements(dict):
    def __missing__(self, name):
        raise Unsupported(f"onnx {onnx.__version__} has no type {name}; install with: pip install --upgrade onnx")


_NAMES = {"float32": "FLOAT", "float64": "DOUBLE", "float16": "FLOAT16", "bfloat16": "BFLOAT16", "int8": "INT8", "uint8": "UINT8",
          "int16": "INT16", "int32": "INT32", "int64": "INT64", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
          "bool": "BOOL", "float8_e4m3fn": "FLOAT8E4M3FN", "float8_e5m2": "FLOAT8E5M2"}
ELEMENTS = _Elements({name: getattr(TensorProto, element) for name, element in _NAMES.items() if hasattr(TensorProto, element)})
NUMPY = {element: name for name, element in ELEMENTS.items()}


def _loads(opset: int, ir: int) -> bool:
    one = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1]), helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "probe", [one[0]], [one[1]])
    try:
        onnxruntime.InferenceSession(made_of(graph, opset, ir), options_at(), providers=["CPUExecutionProvider"])
    except Exception:  # onnxruntime has a class for each of its statuses, and none above them all
        return False
    return True


@functools.lru_cache(maxsize=None)
def versions() -> tuple[int, int]:
    """The newest opset and version of the file format (IR) that this ONNX Runtime loads, of those that the package onnx knows."""
    known = {(row[2], row[1]) for row in helper.VERSION_TABLE if OLDEST <= row[2] <= NEWEST}
    for opset, ir in sorted(known, reverse=True):
        if _loads(opset, ir):
            return opset, ir
    raise Unavailable(f"framework onnxruntime: onnxruntime {onnxruntime.__version__} and onnx {onnx.__version__} share no opset from "
                      f"{OLDEST} on; install with: pip install --upgrade onnxruntime onnx (onnxruntime 1.12 is the oldest that serves)")


def made_of(graph, opset=0, ir=0) -> bytes:
    """A model of this graph, of versions() unless others are given, and of nodes of ONNX Runtime's own."""
    opset, ir = (opset, ir) if opset else versions()
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(OWN, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir).SerializeToString()


def _type_problem(formals, types) -> str:
    """Why operands of these types, None for one left out, are none of a node; "" where they are. Operands whose types a
    specification calls by one name have the same."""
    same: dict = {}
    for i, dtype in enumerate(types):
        formal = formals[min(i, len(formals) - 1)]
        if dtype is None:
            continue
        if f"tensor({_NAMES.get(dtype, dtype).lower()})" not in formal.types:
            return f"takes no {dtype} as {formal.name}"
        if same.setdefault(formal.type_str, dtype) != dtype:
            return f"takes no {dtype} as {formal.name} beside {same[formal.type_str]}"
    return ""


def demand_node(node: str, attrs=(), types=None, since: int = 1) -> None:
    """Raises Unsupported if the opset has no such node, not with these attributes or types, or one from before `since`."""
    opset = versions()[0]
    why = f"opset {opset}, the newest of ONNX Runtime {onnxruntime.__version__} with onnx {onnx.__version__}"
    try:
        schema = onnx.defs.get_schema(node, opset)
    except Exception:  # SchemaError, which versions of onnx keep in different places
        raise Unsupported(f"{why}, has no node {node}") from None
    if schema.since_version < since:
        raise Unsupported(f"in {why}, the node {node} is another one than since opset {since}")
    missing = sorted(set(attrs) - set(schema.attributes))
    if missing:
        raise Unsupported(f"in {why}, the node {node} has no attribute {missing[0]}")
    problem = _type_problem(schema.inputs, types or ())
    if problem:
        raise Unsupported(f"in {why}, the node {node} {problem}")


def reduction(node: str, axes) -> tuple[list, dict]:
    """The axes of a reduction as a further operand, or as an attribute, which opsets before 18 have but for ReduceSum."""
    if "axes" in onnx.defs.get_schema(node, versions()[0]).attributes:
        return [], {"axes": tuple(int(axis) for axis in axes)}
    return [numpy.array(axes, numpy.int64)], {}


def session_of(model: bytes, options, providers: list):
    """Raises Unsupported where ONNX Runtime says that it has no kernel of a node for these types."""
    try:
        return onnxruntime.InferenceSession(model, options, providers=providers)
    except Exception as error:
        if "NOT_IMPLEMENTED" not in str(error):
            raise
        raise Unsupported(f"ONNX Runtime has no kernel: {error}") from None


def options_at(level="ORT_ENABLE_ALL"):
    """Options of a session that optimises graphs to this level and writes no log."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    return options


@functools.lru_cache(maxsize=256)
def _session(provider, node, operands, results, attrs, since, domain):
    if not domain:
        demand_node(node, [name for name, _ in attrs], [o and o[0] for o in operands], since)
    inputs = [helper.make_tensor_value_info(f"x{i}", ELEMENTS[dtype], list(shape))
              for i, (dtype, shape) in enumerate(o for o in operands if o is not None)]
    names = iter(info.name for info in inputs)
    outputs = [helper.make_tensor_value_info(f"y{i}", ELEMENTS[dtype], None) for i, dtype in enumerate(results)]
    made = helper.make_node(node, ["" if o is None else next(names) for o in operands], [o.name for o in outputs], domain=domain,
                            **{name: list(value) if isinstance(value, tuple) else value for name, value in attrs})
    graph = helper.make_graph([made], node, inputs, outputs)
    options = options_at()
    if provider != "CPUExecutionProvider":  # which takes what another one does not have, without a word
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    try:
        session = session_of(made_of(graph), options, [provider])
    except Exception as error:
        if "fallback to CPU" not in str(error):
            raise
        raise Unsupported(f"{provider} has no device here, or not the node {node} of these types") from None
    if provider not in session.get_providers():
        raise Unsupported(f"ONNX Runtime has no device here for {provider}, and would compute on the CPU instead")
    return session


def _value(array):
    """NumPy has no bf16 and fp8 of its own: their bits travel with the type beside. ONNX Runtime (1.32) takes these as if they were
    dense, whatever their strides (onnxruntime_proofs.py)."""
    if array.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        bits = numpy.ascontiguousarray(array).reshape(array.shape).view(numpy.uint16 if array.dtype.itemsize == 2 else numpy.uint8)
        if not hasattr(onnxruntime.OrtValue, "ortvalue_from_numpy_with_onnx_type"):
            raise Unsupported(f"ONNX Runtime {onnxruntime.__version__} takes no arrays of {array.dtype.name} from Python")
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, ELEMENTS[array.dtype.name])
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


def _array(value):
    name = NUMPY[value.element_type()]
    if not hasattr(ml_dtypes, name):
        return value.numpy()
    # numpy() refuses bf16 and e5m2, and has e4m3 as bits.
    dtype, shape = numpy.dtype(getattr(ml_dtypes, name)), value.shape()
    data = ctypes.string_at(value.data_ptr(), dtype.itemsize * numpy.prod(shape, dtype=int))
    return numpy.frombuffer(data, dtype).reshape(shape)


def run(provider, node, operands, results, since=1, domain="", **attrs):
    """The outputs of one node. operands: arrays, None for one left out; results: names of types; since: the opset whose node is
    meant, and those after it; domain: OWN for a node that is none of ONNX."""
    key = tuple(None if o is None else (o.dtype.name, o.shape) for o in operands)
    session = _session(provider, node, key, tuple(results), tuple(sorted(attrs.items())), since, domain)
    feed = {f"x{i}": _value(o) for i, o in enumerate(o for o in operands if o is not None)}
    outputs = [_array(value) for value in session.run_with_ort_values(None, feed)]
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
