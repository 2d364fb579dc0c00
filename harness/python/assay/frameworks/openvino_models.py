# SPDX-License-Identifier: Apache-2.0
"""Models of OpenVINO for the CPU, made of a function of its nodes when a case first needs them."""
from __future__ import annotations

import functools

import ml_dtypes
import numpy
import openvino
from openvino import opset15 as opset

# f32: without the hint operands of f32 become bf16 on processors with instructions for that (docs.openvino.ai, "CPU Device":
# "the bf16 inference precision is used by default" there). It leaves models of bf16 in bf16.
SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
_ELEMENTS = {"bfloat16": openvino.Type.bf16}
_core = openvino.Core()


def _bits(array):
    """Converts to the forms that OpenVINO takes from NumPy: complex numbers as an axis of two reals, bf16 as uint16."""
    if array.dtype.kind == "c":
        return numpy.ascontiguousarray(array).view(array.real.dtype).reshape(*array.shape, 2)
    array = numpy.ascontiguousarray(array).reshape(array.shape)
    return array.view(numpy.uint16) if array.dtype.name in _ELEMENTS else array


def _tensor(array, kept):
    """A view, which keeps nothing alive itself: `kept` does."""
    bits = _bits(array)
    kept.append(bits)
    return openvino.Tensor(bits, list(bits.shape), _element(array))


def _element(array):
    name = array.real.dtype.name
    return _ELEMENTS.get(name) or openvino.Type(array.real.dtype)


def _result(port):
    dtype = ml_dtypes.bfloat16 if port.element_type == openvino.Type.bf16 else port.element_type.to_dtype()
    return numpy.empty(tuple(port.shape), dtype)


def _compile(body, operands, attrs):
    parameters = [None if o is None else opset.parameter(list(_bits(o).shape), _element(o)) for o in operands]
    results = body(*parameters, **attrs)
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    model = openvino.Model(results, [p for p in parameters if p is not None])
    return _core.compile_model(model, "CPU", SETTINGS)


def model(body):
    """The function of nodes as one of arrays: compiled once for each set of shapes, types and attributes."""
    made = {}

    @functools.wraps(body)
    def call(*operands, **attrs):
        key = (tuple(attrs.items()), *(None if o is None else (o.dtype.name, o.shape) for o in operands))
        if key not in made:
            made[key] = _compile(body, operands, attrs).create_infer_request()
        request, kept = made[key], []
        for i, operand in enumerate(o for o in operands if o is not None):
            request.set_input_tensor(i, _tensor(operand, kept))
        results = [_result(port) for port in request.model_outputs]
        for i, result in enumerate(results):
            request.set_output_tensor(i, _tensor(result, kept))
        request.infer()
        return results[0] if len(results) == 1 else tuple(results)

    call.compiles = True
    return call
