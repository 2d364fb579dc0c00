# SPDX-License-Identifier: Apache-2.0
"""Sessions of ONNX Runtime, of models with one node each, made by the package onnx when a case first needs them.

The nodes are those of the ONNX operator specification, at the version of opset that both packages know.
"""
from __future__ import annotations

import ctypes
import functools

import ml_dtypes
import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

from .._frameworks import Unsupported

OPSET = min(23, onnx.defs.onnx_opset_version())  # the first one with Attention and RMSNormalization

ELEMENTS = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
            "bfloat16": TensorProto.BFLOAT16, "int8": TensorProto.INT8, "uint8": TensorProto.UINT8,
            "int32": TensorProto.INT32, "int64": TensorProto.INT64, "bool": TensorProto.BOOL, "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
            "float8_e5m2": TensorProto.FLOAT8E5M2}
NUMPY = {element: name for name, element in ELEMENTS.items()}


def _options():
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    return options


@functools.lru_cache(maxsize=256)
def _session(provider, node, operands, results, attrs):
    inputs = [helper.make_tensor_value_info(f"x{i}", ELEMENTS[dtype], list(shape))
              for i, (dtype, shape) in enumerate(o for o in operands if o is not None)]
    names = iter(info.name for info in inputs)
    outputs = [helper.make_tensor_value_info(f"y{i}", ELEMENTS[dtype], None) for i, dtype in enumerate(results)]
    made = helper.make_node(node, ["" if o is None else next(names) for o in operands], [o.name for o in outputs],
                            **{name: list(value) if isinstance(value, tuple) else value for name, value in attrs})
    graph = helper.make_graph([made], node, inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    options = _options()
    if provider != "CPUExecutionProvider":  # which takes what another one does not have, without a word
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=[provider])
    except Exception as error:
        if "fallback to CPU" not in str(error):
            raise
        raise Unsupported(f"{provider} has no device here, or not the node {node} of these types") from None
    if provider not in session.get_providers():
        raise Unsupported(f"ONNX Runtime has no device here for {provider}, and would compute on the CPU instead")
    return session


def _value(array):
    """numpy has no bf16 and fp8 of its own: their bits travel with the type beside."""
    array = numpy.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        bits = array.view(numpy.uint16 if array.dtype.itemsize == 2 else numpy.uint8)
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


def run(provider, node, operands, results, **attrs):
    """The outputs of one node. operands: arrays, None for one left out; results: names of types."""
    key = tuple(None if o is None else (o.dtype.name, o.shape) for o in operands)
    session = _session(provider, node, key, tuple(results), tuple(sorted(attrs.items())))
    feed = {f"x{i}": _value(o) for i, o in enumerate(o for o in operands if o is not None)}
    outputs = [_array(value) for value in session.run_with_ort_values(None, feed)]
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
