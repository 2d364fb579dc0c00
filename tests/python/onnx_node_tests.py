# SPDX-License-Identifier: Apache-2.0
"""The node tests of the package onnx as folders, and the arrays of an imported case."""
import builtins
import pathlib
import tempfile
import warnings

import numpy
import onnx
from onnx import numpy_helper

import assay
from assay import _define
from assay.importers import onnx as importer

TYPES = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "<u2", "e4m3": "u1", "e5m2": "u1", "i8": "i1", "u8": "u1", "bool": "?",
         "i16": "<i2", "i32": "<i4", "i64": "<i8"}
NARROW = ("bf16", "e4m3", "e5m2")


def collect():
    """The tests by name. Earlier versions of onnx use names that NumPy has dropped."""
    for name in ("float", "int", "bool", "object"):
        if name not in vars(numpy):
            setattr(numpy, name, getattr(builtins, name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        return {test.name: test for test in collect_testcases(None) if test.model is not None}


def _message(value, info):
    kind = info.type.WhichOneof("value")
    if isinstance(value, onnx.TensorProto):
        return value
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    made = numpy_helper.from_array(numpy.asarray(value), info.name)
    if info.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:  # of which earlier versions have the bits
        made.data_type = onnx.TensorProto.BFLOAT16
    return made


def write(test, folder):
    """Writes the folder that a release has of the test."""
    folder = pathlib.Path(folder)
    for number, data in enumerate(test.data_sets):
        place = folder / f"test_data_set_{number}"
        place.mkdir(parents=True, exist_ok=True)
        for kind, values, infos in zip(("input", "output"), data, (test.model.graph.input, test.model.graph.output)):
            for i, (value, info) in enumerate(zip(values, infos)):
                if value is not None:
                    (place / f"{kind}_{i}.pb").write_bytes(_message(value, info).SerializeToString())
    (folder / "model.onnx").write_bytes(test.model.SerializeToString())


def read(test):
    """The outcomes of the importer, with tensors."""
    with tempfile.TemporaryDirectory() as folder:
        write(test, folder)
        return list(importer.read(folder, with_tensors=True))


def judge(case, outputs, **options):
    types = {one.name: one.dtype for one in (*case.inputs, *case.outputs) if one.dtype in NARROW}
    if case.definition:
        _define.register(case.definition)
    return assay.check(case.op, {one.name: array_of(one) for one in case.inputs}, outputs, dtypes=types, **case.attrs, **options)


def array_of(operand):
    return numpy.frombuffer(operand.data, TYPES[operand.dtype]).reshape(operand.shape).copy()


def with_all_scaled(operand, array):
    """The array with all elements 2^-8 off; None of types and values of which that may be a right result, or the same."""
    is_wide = operand.dtype in ("f64", "f32") and numpy.isfinite(array).any()
    return None if not is_wide or (array[numpy.isfinite(array)] % 1 == 0).all() else array * array.dtype.type(1 + 2**-8)


def with_one_wrong(operand, array):
    """The array with one element that is visibly wrong: far off, or another condition."""
    flat = array.reshape(-1)
    at = flat.size // 2
    if operand.dtype in ("f64", "f32", "f16"):
        flat[at] = flat[at] * 2 + 1000 if numpy.isfinite(flat[at]) else 1
    elif operand.dtype == "bf16":
        flat[at] ^= 0x4100
    elif operand.dtype in ("e4m3", "e5m2"):
        flat[at] = flat[at] ^ 0x51 if (flat[at] ^ 0x51) & 0x7f != 0x7f else 0x38
    elif operand.dtype == "bool":
        flat[at] = not flat[at]
    elif operand.dtype in ("i8", "u8"):
        flat[at] ^= 1 if set(flat.tolist()) <= {0, 1} else 0x40
    else:
        flat[at] += 7
    return array
