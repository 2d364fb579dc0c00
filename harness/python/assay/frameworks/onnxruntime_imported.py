# SPDX-License-Identifier: Apache-2.0
"""Models that `assay import onnx` has put beside the definitions they became: ONNX Runtime executes them as they are."""
from __future__ import annotations

import base64
import functools
import json
from typing import Any, Callable, Iterator

import onnx
import onnxruntime

from .._declaration import Knowledge
from .._frameworks import Unsupported
from ._columns import Column
from ._defined import stored_intermediates
from .onnxruntime_models import NUMPY, _array, _value, options_at


@functools.cache
def _models() -> dict[str, tuple[str, bytes]]:
    """Types and model of each operator that has one."""
    found = {}
    for path in Knowledge.definitions:
        if not path.endswith(".json"):
            continue
        with open(path, encoding="utf-8") as file:
            for one in json.load(file)["operators"]:
                if one.get("onnx"):
                    found[one["op"]] = (one["types"][0], base64.b64decode(one["onnx"]))
    return found


def _type_name(value: Any) -> str:
    element = value.type.tensor_type.elem_type
    if element not in NUMPY:
        raise Unsupported(f"{value.name} has the type {onnx.TensorProto.DataType.Name(element)}, which no array here has")
    return NUMPY[element]


def _session(data: bytes, level: str) -> tuple[Any, list[tuple[str, str]]]:
    """The session, and name and type of each operand."""
    model = onnx.load_model_from_string(data)
    operands = [(value.name, _type_name(value)) for value in model.graph.input]
    for value in model.graph.output:
        _type_name(value)
    try:
        return onnxruntime.InferenceSession(data, options_at(level), providers=["CPUExecutionProvider"]), operands
    except Exception as error:
        raise Unsupported(f"ONNX Runtime does not take the model: {error}") from None


def _converted(array: Any, name: str) -> Any:
    """The numbers in the model's own type, for which the operand's may stand, as i8 for bool."""
    return array if array.dtype.name == name else array.astype(name)


def _kernel(data: bytes, level: str) -> Callable[..., Any]:
    sessions: list[Any] = []

    def call(*operands: Any, **attrs: Any) -> Any:
        if not sessions:
            sessions.append(_session(data, level))
        session, names = sessions[0]
        feed = {name: _value(_converted(array, type_)) for (name, type_), array in zip(names, operands)}
        results = [_array(one) for one in session.run_with_ort_values(None, feed)]
        results = [_converted(one, type_) for one, type_ in zip(results, attrs["result_types"])]
        return results[0] if len(results) == 1 else tuple(results)
    call.compiles = call.may_refuse = call.takes_result_types = True  # type: ignore[attr-defined]
    return call


def imported(level: str) -> Iterator[Column]:
    for op, (types, data) in _models().items():
        yield Column(op, _kernel(data, level), (types,), extra=lambda dtypes, attrs: stored_intermediates(dtypes))

