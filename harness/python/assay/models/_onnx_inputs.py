# SPDX-License-Identifier: Apache-2.0
"""Whether arrays are those that a model of ONNX takes. What is not would be judged as it was not meant, or end in a runtime's own words."""
from __future__ import annotations

from typing import Any, Iterable, Mapping

from .._errors import UsageError


def demand_inputs(model: Any, constants: Iterable[str], given: Mapping[str, Any]) -> None:
    """Raises UsageError unless there is an array for each input of the graph, no other, and each of the type and extents that it states."""
    wanted = {one.name: one for one in model.graph.input if one.name not in constants}
    there = f"the model has {', '.join(wanted) or 'no input'}"
    if missing := [name for name in wanted if name not in given]:
        raise UsageError(f"watch_onnx: no array for the input {missing[0]}; {there}")
    if more := [name for name in given if name not in wanted]:
        raise UsageError(f"watch_onnx: an array for {more[0]}, which is no input of the model; {there}")
    known: dict[str, tuple[str, int]] = {}  # inputs and extents by the names that models give these
    for name, one in wanted.items():
        if one.type.HasField("tensor_type"):
            _demand_tensor(one, given[name], known)


def _demand_tensor(one: Any, array: Any, known: dict[str, tuple[str, int]]) -> None:
    import onnx
    stated, what = one.type.tensor_type, f"watch_onnx: the array for {one.name} "
    try:
        code = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    except (AttributeError, KeyError, ValueError):
        raise UsageError(f"{what}is {type(array).__name__} with dtype {getattr(array, 'dtype', None)}, which ONNX has not; give an array of NumPy") from None
    if stated.elem_type and stated.elem_type != code:
        raise UsageError(f"{what}has dtype {array.dtype}; the model states {onnx.TensorProto.DataType.Name(stated.elem_type).lower()}")
    if not stated.HasField("shape"):
        return
    extents = [each.dim_param or (each.dim_value if each.HasField("dim_value") else "?") for each in stated.shape.dim]
    if len(extents) != len(array.shape) or any(isinstance(e, int) and e > 0 and e != n for e, n in zip(extents, array.shape)):
        raise UsageError(f"{what}has the extents {'x'.join(map(str, array.shape)) or 'none'}; the model states {'x'.join(map(str, extents)) or 'none'}")
    for extent, n in zip(extents, array.shape):
        other, count = known.setdefault(extent, (one.name, n)) if isinstance(extent, str) and extent != "?" else ("", n)
        if count != n:
            raise UsageError(f"{what}has {n} for the extent {extent}, and that for {other} has {count}; the model states one number for both")


def demand_fit(model: Any, given: Mapping[str, Any], error: Exception) -> None:
    """Asked after a runtime's error. Raises UsageError where extents that the model leaves open do not fit its nodes, as ONNX infers them."""
    import onnx
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for one in fixed.graph.input:
        if one.name in given and one.type.HasField("tensor_type"):
            one.CopyFrom(onnx.helper.make_tensor_value_info(one.name, one.type.tensor_type.elem_type, given[one.name].shape))
    try:
        onnx.shape_inference.infer_shapes(model, strict_mode=True)
    except Exception:  # it says nothing of models with nodes that ONNX does not know, or of more than 2 GB
        return
    try:
        onnx.shape_inference.infer_shapes(fixed, strict_mode=True)
    except Exception as why:
        lines = str(why).strip().splitlines()
        said = next((line for line in lines if "op_type" in line), lines[-1])  # later ones follow from that
        raise UsageError(f"watch_onnx: the arrays' extents do not fit the model's nodes: {said}; give arrays of other extents") from error
