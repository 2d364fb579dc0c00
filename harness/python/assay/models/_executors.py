# SPDX-License-Identifier: Apache-2.0
"""Runtimes that execute a model of ONNX."""
from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from .._errors import Error, UsageError

# Takes a model, its operands, and whether its graph may be optimised, and returns its outputs.
Executor = Callable[[Any, Mapping[str, Any], bool], Sequence[Any]]


def _onnxruntime(provider: str) -> Executor:
    try:
        import onnxruntime
    except ImportError as error:
        raise Error(f"watch_onnx: the model is executed by ONNX Runtime, which cannot be imported here: {error}") from None
    there = onnxruntime.get_available_providers()
    if provider not in there:
        raise UsageError(f"watch_onnx: there is no provider {provider}; there are {', '.join(there)}, and openvino where that is installed")

    def execute(model: Any, operands: Mapping[str, Any], optimised: bool) -> Sequence[Any]:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        level = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=[provider])
        return session.run(None, dict(operands))
    return execute


def _openvino() -> Executor:
    try:
        import openvino
    except ImportError as error:
        raise Error(f"watch_onnx: OpenVINO cannot be imported here: {error}") from None
    core = openvino.Core()

    def execute(model: Any, operands: Mapping[str, Any], optimised: bool) -> Sequence[Any]:
        compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        taken = {name for port in compiled.inputs for name in port.names}  # what only says a shape is folded
        made = compiled({name: array for name, array in operands.items() if name in taken})
        return [made[output] for output in compiled.outputs]
    return execute


def executor_of(provider: Any) -> Executor:
    """provider: a function that is one, "openvino", or a provider of ONNX Runtime."""
    if callable(provider):
        return provider
    return _openvino() if provider == "openvino" else _onnxruntime(provider)
