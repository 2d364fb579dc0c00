# SPDX-License-Identifier: Apache-2.0
"""The functions of a framework as kernels: what is said of each beside its code, and how it is registered."""
from __future__ import annotations

import inspect
from typing import Any, Callable, Iterable, NamedTuple, Optional, Sequence, Union

from .._kernels import KernelCase, kernel

FLOATS = ("f64", "f32", "bf16", "f16")
INTEGERS = ("i8", "u8", "i16", "i32", "i64")
# Sums of integers, as the type of the operand and that of the register.
WIDER_SUMS = ("i8-i64", "u8-i64", "i16-i64", "i32-i64", "bool-i64")
Supports = Callable[[KernelCase], Any]


# Subnormal numbers that definitions flush on the CPU: measured, not documented. PyTorch's products, XLA's code and all of
# TensorFlow take them for zeros, OpenVINO's results become zeros.
FLUSHES = {"torch": "ftz=all", "jax": "ftz=all", "openvino": "ftz=out", "tensorflow": "ftz=all"}


def demanded(dtypes: Sequence[str], attrs: Any) -> str:
    """No framework documents a bound for its results. What the suites demand of everybody is declared of all, so that a
    run says where it does not hold."""
    if any(dtype in ("f32", "c64", "bf16", "f16", "e4m3", "e5m2") for dtype in dtypes):
        return "acc=f32;math=256"
    return "f64;math=8" if any(dtype in ("f64", "c128") for dtype in dtypes) else "acc=i32"


class Column(NamedTuple):
    """One function for one operator. extra: fields of the contract, beside those that are demanded or in their place.
    shown: attributes that it need not be told, as its operands show them. supports: see assay.kernel."""
    op: str
    function: Callable[..., Any]
    dtypes: Iterable[str] = FLOATS
    name: str = ""
    extra: Union[str, Callable[[Sequence[str], Any], str]] = ""
    shown: tuple[str, ...] = ()
    supports: Optional[Supports] = None


def joined(*texts: str) -> str:
    return ";".join(text for text in texts if text)


def tensor_cores(capability: str, dtype: str) -> str:
    """How NVIDIA's units of that compute capability add products of 16 bits, and of f32 operands in TF32: what the backend cuda
    declares of them (backends/cuda/devices.cc). An empty text where there is no such unit."""
    major = capability.partition(".")[0]
    if not major.isdigit() or int(major) < 7:  # JAX has "gfx90a" of AMD's there
        return ""
    terms = 8 if dtype == "f32" else 16
    return f"acc=tc<25,{terms}>" if int(major) >= 9 else f"acc=tc<24,{terms // 2}>"


def only(**wanted: Any) -> Supports:
    """Takes cases whose attributes are these; of a tuple, one of these."""
    def check(case: KernelCase) -> Any:
        for key, value in wanted.items():
            allowed = value if isinstance(value, tuple) else (value,)
            if case.attrs.get(key, allowed[0]) not in allowed:
                return f"it has no {key}={case.attrs[key]}"
        return True
    return check


def transforms(known: Any) -> Supports:
    """Takes transforms of these kinds and directions, scaled as libraries do it: not at all forward, by the number of elements
    the other way."""
    def check(case: KernelCase) -> Any:
        kind, direction, norm = (case.attrs[key] for key in ("kind", "dir", "norm"))
        if (kind, direction) not in known:
            return "of this sign there is none"
        return norm == "backward" or (norm == "none" and direction == "fwd") or f"it has no norm={norm}"
    return check


def _contract(column: Column) -> Callable[[Sequence[str], Any], str]:
    def text(dtypes: Sequence[str], attrs: Any) -> str:
        extra = column.extra(dtypes, attrs) if callable(column.extra) else column.extra
        fields = [field for field in f"{demanded(dtypes, attrs)};{extra}".split(";") if field]
        return ";".join({field.partition("=")[0]: field for field in fields}.values())
    return text


def _declared(column: Column) -> Callable[..., Any]:
    """The function with a signature that names all that it heeds: what it would only swallow makes a case unsupported."""
    def call(*operands: Any, **attrs: Any) -> Any:
        return column.function(*operands, **{key: value for key, value in attrs.items() if key not in column.shown})
    parameters = [p for p in inspect.signature(column.function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    parameters += [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None) for key in column.shown]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    for mark in ("compiles", "may_refuse", "takes_result_types"):
        setattr(call, mark, getattr(column.function, mark, False))
    return call


def register(columns: Iterable[Column], framework: str, name: str, device: str = "cpu", prefix: str = "") -> None:
    """`framework`: whose arrays the functions take. `name`: of the implementations that have none of their own."""
    for column in columns:
        kernel(column.op, contract=_contract(column), dtypes=list(column.dtypes), name=prefix + (column.name or name),
               framework=framework, device=device, supports=column.supports)(_declared(column))
