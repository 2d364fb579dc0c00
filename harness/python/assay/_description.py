# SPDX-License-Identifier: Apache-2.0
"""A description of an operator, read where the worker has it (backends/abi/assay_backend.h)."""
from __future__ import annotations

from ctypes import POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64
from typing import Any, NamedTuple

from ._frameworks import Operand, type_name
from ._kernels import KernelCase


class _Attr(Structure):
    _fields_ = [("struct_size", c_uint64), ("key", c_char_p), ("type", c_int32), ("flags", c_uint32), ("i", c_int64),
                ("f", c_double), ("s", c_char_p), ("ints", POINTER(c_int64)), ("floats", POINTER(c_double)),
                ("count", c_uint64), ("type_code", c_uint8), ("bits", c_uint8), ("reserved", c_uint16 * 3)]


class _Tensor(Structure):
    _fields_ = [("struct_size", c_uint64), ("name", c_char_p), ("code", c_uint8), ("bits", c_uint8),
                ("reserved", c_uint16), ("rank", c_int32), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("alias", c_uint32), ("flags", c_uint32)]


class Op(Structure):
    _fields_ = [("struct_size", c_uint64), ("op", c_char_p), ("n_inputs", c_uint64),
                ("inputs", POINTER(POINTER(_Tensor))), ("n_outputs", c_uint64), ("outputs", POINTER(POINTER(_Tensor))),
                ("n_attrs", c_uint64), ("attrs", POINTER(POINTER(_Attr))), ("flags", c_uint64)]


class Description(NamedTuple):
    case: KernelCase
    inputs: list[Operand]
    outputs: list[Operand]


def _operand(tensor: Any) -> Operand:
    return Operand(tensor.name.decode(), tensor.code, tensor.bits, tuple(tensor.shape[:tensor.rank]),
                   tuple(tensor.strides[:tensor.rank]))


def _value(attr: Any, kind: str) -> Any:
    if attr.type == 0:
        return bool(attr.i) if kind == "flag" else attr.i
    if attr.type == 1:
        return attr.f
    if attr.type == 2:
        return attr.s.decode()
    if attr.type == 3:
        return tuple(attr.ints[:attr.count])
    if attr.type == 4:
        return bool(attr.i)
    if attr.type == 6:
        return tuple(attr.floats[:attr.count])
    return type_name(attr.type_code, attr.bits)


def read(address: int, defaults: Any) -> Description:
    """`defaults`: type and default of each attribute, by operator. Of type "flag" are integers that are 0 or 1."""
    op = Op.from_address(address)
    name = op.op.decode()
    known = defaults.get(name, {}).get("attrs", {})
    inputs = [_operand(op.inputs[i].contents) for i in range(op.n_inputs)]
    outputs = [_operand(op.outputs[i].contents) for i in range(op.n_outputs)]
    attrs = {}
    for i in range(op.n_attrs):
        attr = op.attrs[i].contents
        key = attr.key.decode()
        attrs[key] = _value(attr, known.get(key, ("int", ""))[0])
    operands = inputs + outputs
    case = KernelCase(name, tuple(type_name(o.code, o.bits) for o in operands), {o.name: o.shape for o in operands}, attrs)
    return Description(case, inputs, outputs)
