# SPDX-License-Identifier: Apache-2.0
"""Functions of --operators as models of OpenVINO."""
from __future__ import annotations

import functools

import numpy
import openvino
from openvino import opset15 as opset

from .._frameworks import Unsupported
from .._types import BY_FRAMEWORK, BY_NAME
from ._symbols import number_type, results_in, symbols_of
from .openvino_models import model

NODES = {"exp": opset.exp, "log": opset.log, "tanh": opset.tanh, "erf": opset.erf, "sin": opset.sin, "cos": opset.cos,
         "sigmoid": opset.sigmoid, "sqrt": opset.sqrt, "abs": opset.abs, "negative": opset.negative, "relu": opset.relu,
         "add": opset.add, "subtract": opset.subtract, "multiply": opset.multiply, "divide": opset.divide, "pow": opset.power,
         "maximum": opset.maximum, "minimum": opset.minimum, "less": opset.less, "greater": opset.greater,
         "less_equal": opset.less_equal, "greater_equal": opset.greater_equal, "equal": opset.equal, "not_equal": opset.not_equal,
         "where": opset.select, "logical_and": opset.logical_and, "logical_or": opset.logical_or, "logical_not": opset.logical_not,
         "isnan": opset.is_nan, "isinf": opset.is_inf}
REDUCTIONS = {"sum": opset.reduce_sum, "mean": opset.reduce_mean, "max": opset.reduce_max, "min": opset.reduce_min,
              "prod": opset.reduce_prod}


ELEMENTS = {"float64": openvino.Type.f64, "float32": openvino.Type.f32, "float16": openvino.Type.f16, "bfloat16": openvino.Type.bf16}


def _integers(values):
    return opset.constant(numpy.array(values, numpy.int64))


def _logsumexp(x, axes, keepdims):
    """There is no such node: the logarithm of the sum of exponentials below the largest."""
    top = opset.reduce_max(x, _integers(axes), True)
    summed = opset.log(opset.reduce_sum(opset.exp(opset.subtract(x, top)), _integers(axes), keepdims))
    return opset.add(summed, top if keepdims else opset.squeeze(top, _integers(axes)))


SPECIAL = {
    "logsumexp": _logsumexp,
    "gelu": lambda x, approximate: opset.gelu(x, "TANH" if approximate == "tanh" else "ERF"),
    "softmax": opset.softmax,
    "log_softmax": opset.log_softmax,
    "cumulative_sum": lambda x, axis: opset.cumsum(x, _integers(axis)),
    "expand_dims": lambda x, axis: opset.unsqueeze(x, _integers([axis])),
    "permute_dims": lambda x, axes: opset.transpose(x, _integers(axes)),
    "slice": lambda x, axis, begin, end: opset.slice(x, *(_integers([v]) for v in (begin, end, 1, axis))),
    "matmul": lambda x, y: opset.matmul(x, y, False, False),
}


def _make(dtype, name, values, **attrs):
    element = ELEMENTS[dtype]
    values = [opset.constant(value, element) if isinstance(value, float) else value for value in values]
    if name in NODES:
        return NODES[name](*values)
    if name in REDUCTIONS:
        return REDUCTIONS[name](*values, _integers(attrs["axes"]), attrs["keepdims"])
    if name == "rsqrt":
        return opset.divide(opset.constant(1.0, element), opset.sqrt(*values))
    if name == "cast":
        return opset.convert(*values, BY_FRAMEWORK[attrs.get("to", dtype)].name)
    if name not in SPECIAL:
        raise Unsupported(f"OpenVINO has no node for {name}")
    return SPECIAL[name](*values, **attrs)


def compiled(body):
    """graph() of _defined.exported()."""
    @functools.wraps(body)
    def nodes(*parameters, **attrs):
        types = [BY_NAME[p.get_element_type().to_string()].framework for p in parameters]
        stored = attrs.get("result_types", ())
        dtype = number_type((*types, *stored))
        values, shapes = [p.output(0) for p in parameters], [tuple(p.shape) for p in parameters]
        symbols = symbols_of(functools.partial(_make, dtype), values, types, shapes, dtype)
        results = results_in(body(*symbols, **attrs), dtype, stored)
        return [opset.convert(value, value.get_element_type().to_string()) if value in [p.output(0) for p in parameters] else value
                for value in results]
    return model(nodes)
