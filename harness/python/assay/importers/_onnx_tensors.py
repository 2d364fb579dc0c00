# SPDX-License-Identifier: Apache-2.0
"""Tensors of ONNX by their numbers, in all types but texts. Types that assay lacks are held by wider ones, exactly."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy

from ._cases import LARGEST_EXTENT, demand
from ._onnx_call import DAMAGED, DATA_ELSEWHERE, bytes_of

ELEMENTS = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64", 12: "u32", 13: "u64",
            16: "bf16", 17: "e4m3", 18: "e4m3fnuz", 19: "e5m2", 20: "e5m2fnuz", 21: "u4", 22: "i4", 23: "e2m1", 24: "e8m0", 25: "u2",
            26: "i2"}  # of TensorProto.DataType
CODES = {name: code for code, name in ELEMENTS.items()}
_REFUSED = {0: DAMAGED, 8: "texts", 14: "complex numbers", 15: "complex numbers"}
_NEW_TYPE = "elements of a type that ONNX has added since: cast them to one of its earlier types"
STORED = {"u16": "i32", "u32": "i64", "u64": "i64", "u4": "u8", "u2": "u8", "i4": "i8", "i2": "i8",
          "e4m3fnuz": "f32", "e5m2fnuz": "f32", "e2m1": "f32", "e8m0": "f32"}
_BYTES = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "i8": "i1", "u8": "u1", "i16": "<i2", "u16": "<u2", "i32": "<i4", "u32": "<u4",
          "i64": "<i8", "u64": "<u8", "bool": "u1", "bf16": "<u2"}
# Bits of the exponent and behind the point, bias, and the codes of NaN without a sign; e5m2 has infinities.
SMALL = {"e4m3": (4, 3, 7, 127), "e4m3fnuz": (4, 3, 8, -1), "e5m2": (5, 2, 15, 125), "e5m2fnuz": (5, 2, 16, -1), "e2m1": (2, 1, 1, 99)}
_BITS_EACH = {"u4": 4, "i4": 4, "e2m1": 4, "u2": 2, "i2": 2}


def bytes_each(code: int) -> int:
    """Size of an element, by the type's number in ONNX."""
    demand(code in ELEMENTS, _REFUSED.get(code, _NEW_TYPE))
    demand(ELEMENTS[code] not in _BITS_EACH, "elements of less than a byte")
    return numpy.dtype(_BYTES.get(ELEMENTS[code], "u1")).itemsize


def _small_number(type_: str, code: int) -> float:
    if type_ == "e8m0":
        return math.nan if code == 255 else 2.0**(code - 127)
    exponent_bits, mantissa_bits, bias, nan = SMALL[type_]
    sign_at = exponent_bits + mantissa_bits
    sign, size = code >> sign_at, code & (1 << sign_at) - 1
    if nan < 0 and code == 1 << sign_at or 0 <= nan <= size:
        return math.nan
    exponent, mantissa = size >> mantissa_bits, size & (1 << mantissa_bits) - 1
    if type_ == "e5m2" and size == 124:
        return -math.inf if sign else math.inf
    number = math.ldexp(mantissa + ((1 << mantissa_bits) if exponent else 0), max(exponent, 1) - bias - mantissa_bits)
    return -number if sign else number


def _unpacked(data: bytes, bits: int, count: int) -> numpy.ndarray:
    codes = numpy.frombuffer(data, numpy.uint8)
    parts = numpy.stack([codes >> shift & 2**bits - 1 for shift in range(0, 8, bits)], 1)
    return parts.reshape(-1)[:count]


def decoded(proto: Any) -> tuple[numpy.ndarray, str]:
    """The numbers, and the type's name."""
    demand(proto.data_type in ELEMENTS and len(proto.dims) <= 16, _REFUSED.get(proto.data_type, _NEW_TYPE))
    demand(all(0 <= extent <= LARGEST_EXTENT for extent in proto.dims), DAMAGED)
    type_, count = ELEMENTS[proto.data_type], math.prod(proto.dims)
    demand(count <= 1 << 24, "a tensor of more than 2^24 elements")
    bits = _BITS_EACH.get(type_, 8)
    each = numpy.dtype(_BYTES.get(type_, "u1")).itemsize
    data = bytes_of(proto, each)
    demand(len(data) == (-(-count * bits // 8) if bits < 8 else count * each), DATA_ELSEWHERE)
    codes = _unpacked(data, bits, count) if bits < 8 else numpy.frombuffer(data, _BYTES.get(type_, "u1"))
    return _numbers(type_, codes).reshape(tuple(proto.dims)), type_


def _numbers(type_: str, codes: numpy.ndarray) -> numpy.ndarray:
    if type_ == "bool":
        return codes != 0
    if type_ == "bf16":
        return (codes.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    if type_ == "e8m0" or type_ in SMALL:
        table = numpy.array([_small_number(type_, code) for code in range(2**_BITS_EACH.get(type_, 8))])
        return table[codes]
    if type_ in ("i4", "i2"):
        bits = _BITS_EACH[type_]
        return numpy.where(codes >= 2**(bits - 1), codes.astype(numpy.int64) - 2**bits, codes)
    if type_ == "u64":
        demand(not codes.size or int(codes.max()) < 2**63, "integers of 2^63 and more")
    return codes.astype(numpy.float64 if type_ in ("f64", "f32", "f16") else numpy.int64)


def numbers_of(type_: str) -> list[float]:
    """All finite numbers from 0 on, by their codes."""
    every = (_small_number(type_, code) for code in range(2**sum(SMALL[type_][:2])))
    return [one for one in every if math.isfinite(one)]


def rounded(values: numpy.ndarray, type_: str) -> numpy.ndarray:
    """The nearest numbers of a narrow float, ties to an even code; those beyond it are infinite, NaN, or for e2m1 the largest."""
    if type_ == "bf16":
        bits = values.astype(numpy.float32).view(numpy.uint32).astype(numpy.int64)
        near = ((bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16).astype(numpy.uint32).view(numpy.float32)
        return numpy.where(values != values, values, near).astype(numpy.float64)
    numbers = numpy.array(numbers_of(type_))
    beyond = {"e2m1": numbers[-1], "e5m2": math.inf}.get(type_, math.nan)
    middles = numpy.append(numbers[1:] + numbers[:-1], 3 * numbers[-1] - numbers[-2]) / 2
    at = numpy.searchsorted(middles, abs(values))
    at = at + (at % 2 == 1) * (abs(values) == numpy.append(middles, math.nan)[at])
    made = numpy.copysign(numpy.append(numbers, beyond)[at], values) + (0.0 if "fnuz" in type_ else -0.0)  # which has no -0
    return numpy.where(values != values, 0.0 if type_ == "e2m1" else values, made)


def stored(values: numpy.ndarray, type_: str) -> tuple[str, bytes]:
    """The type and the bytes of an operand with these numbers."""
    to = STORED.get(type_, type_)
    if to == "bf16":
        return to, (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    if to in SMALL:
        table = {_small_number(to, code): code for code in range(255, -1, -1)}
        nan = 127
        return to, bytes(nan if one != one else table[one] if one or math.copysign(1, one) > 0 else 128 for one in values.reshape(-1).tolist())
    return to, values.astype(_BYTES[to]).tobytes()


class Blank(NamedTuple):
    """A tensor of which nothing but type and shape is known."""
    type: str
    shape: tuple[int, ...]


def without_data(value: Any) -> Blank:
    """An input of a graph (ValueInfoProto)."""
    kind = value.type.tensor_type
    demand(kind.elem_type in ELEMENTS, _REFUSED.get(kind.elem_type, _NEW_TYPE))
    demand(kind.HasField("shape") and all(one.HasField("dim_value") for one in kind.shape.dim),
           f"{value.name[:40]} has no fixed shape: give it one, as onnx.tools.update_model_dims does")
    return Blank(ELEMENTS[kind.elem_type], tuple(one.dim_value for one in kind.shape.dim))
