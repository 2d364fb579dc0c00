# SPDX-License-Identifier: Apache-2.0
"""The types of elements: their names here and elsewhere, and DLPack's code and bits."""
from __future__ import annotations

from typing import Any, NamedTuple


class ElementType(NamedTuple):
    name: str  # "f32", as suites have it
    framework: str  # of NumPy or ml_dtypes, PyTorch and JAX
    code: int  # DLPack's
    bits: int
    others: tuple[str, ...] = ()  # names in other programs

    @property
    def is_numpys(self) -> bool:
        """Else NumPy needs the package ml_dtypes for it."""
        return self.framework not in ("bfloat16", "float8_e4m3fn", "float8_e5m2")


ALL = (ElementType("f64", "float64", 2, 64, ("double", "fp64")), ElementType("f32", "float32", 2, 32, ("float", "single", "fp32")),
       ElementType("f16", "float16", 2, 16, ("half", "fp16")), ElementType("bf16", "bfloat16", 4, 16),
       ElementType("e4m3", "float8_e4m3fn", 10, 8, ("e4m3fn", "fp8")), ElementType("e5m2", "float8_e5m2", 12, 8),
       ElementType("i8", "int8", 0, 8), ElementType("u8", "uint8", 1, 8), ElementType("i16", "int16", 0, 16, ("short",)),
       ElementType("i32", "int32", 0, 32, ("int",)), ElementType("i64", "int64", 0, 64, ("long",)),
       ElementType("bool", "bool", 6, 8), ElementType("c64", "complex64", 5, 64),
       ElementType("c128", "complex128", 5, 128, ("complex",)))
BY_NAME = {one.name: one for one in ALL}
BY_FRAMEWORK = {one.framework: one for one in ALL}
BY_DLPACK = {(one.code, one.bits): one for one in ALL}
OTHER_NAMES = {other: one.name for one in ALL for other in (one.framework, *one.others)}


def framework_name(dtype: Any) -> str:
    """The name of a type that is given as a class of NumPy, a type of a framework, a class of Python or a name."""
    name = getattr(dtype, "__name__", str(dtype)).split(".")[-1]
    name = {"float": "float64", "int": "int64"}.get(name, name)
    return BY_NAME[OTHER_NAMES[name]].framework if name in OTHER_NAMES else name
