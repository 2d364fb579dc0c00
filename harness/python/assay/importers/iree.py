# SPDX-License-Identifier: Apache-2.0
"""Calls of matmul and attention as the generators of IREE's end-to-end tests write them (output_calls_mlir)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator

from ._cases import Case, Found, Unmapped, attempt, demand, find_type, parse_extents, read_text, show_path

_TYPES = {"f64": "f64", "f32": "f32", "f16": "f16", "bf16": "bf16", "f8E4M3FN": "e4m3", "f8E5M2": "e5m2", "i8": "i8",
          "ui8": "u8", "i32": "i32"}


@dataclass
class _Call:
    where: str
    name: str
    description: str = ""  # "Matmul shape (MxKxN): 1x10x10"
    scale: str = ""  # "1.0"
    accumulates: bool = False
    transposes_rhs: bool = False
    has_scales: bool = False


def _between(text: str, begin: str, end: str) -> str:
    """The text between the first `begin` and the next `end`."""
    return text.partition(begin)[2].partition(end)[0]


def _read_calls(path: str) -> list[_Call]:
    """Functions without parameters are the calls; others are what they call."""
    calls: list[_Call] = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if "func @" in line and "()" in line:
            calls.append(_Call(f"{show_path(path)}:{number}", _between(line, "func @", "(")))
        if not calls:
            continue
        call = calls[-1]
        call.description = _between(line, 'description = "', '"') or call.description
        call.scale = _between(line, "%scale = arith.constant ", " ") or call.scale
        call.transposes_rhs |= "%transpose_rhs = arith.constant 1 " in line
        call.accumulates |= "%acc_dim0 = " in line
        call.has_scales |= "%lhs_scale" in line
    return calls


def _shape(call: _Call, count: int) -> list[int]:
    shape = parse_extents(_between(call.description, ": ", " "))
    demand(len(shape) == count, "its description has another number of extents than it names")
    return shape


def _map_matmul(call: _Call, batched: bool) -> Case:
    """The types are in names such as matmul_1x10xf16_times_10x10xf16_into_1x10xf32_1_10_10_0."""
    demand(not call.has_scales, "operands in blocks with scales")
    *batch, m, k, n = _shape(call, 4 if batched else 3)
    operands = (call.name.partition("_times_")[0], _between(call.name, "_times_", "_into_"),
                _between(call.name, "_into_", "_"))
    types = [find_type(_TYPES, operand.rpartition("x")[2]) for operand in operands]
    return Case("matmul", types, {"m": m, "n": n, "k": k, "batch": batch[0] if batch else 1,
                                  "transb": int(call.transposes_rhs), "beta": int(call.accumulates)})


def _map_attention(call: _Call) -> Case:
    batch, m, k1, k2, _, n = _shape(call, 6)
    names = _between(call.name, "_dtype_", "\n").split("_")[:4]
    types = [find_type(_TYPES, name) for name in names + [""] * (4 - len(names))]
    case = Case("attention", types, {"b": batch, "h": 1, "l": m, "s": k2, "d": k1, "dv": n})
    if call.description.endswith("(causal masked)"):
        case.attrs |= {"causal": 1, "align": "tl"}
    if call.scale:
        case.attrs["scale"] = call.scale
    return case


def _map_call(call: _Call) -> Case:
    for kind, batched in (("Matmul shape", False), ("Batch matmul shape", True)):
        if call.description.startswith(kind):
            return _map_matmul(call, batched)
    if call.description.startswith("Attention shape"):
        return _map_attention(call)
    demand(call.description, "a function without description")
    raise Unmapped(f"no operator for '{call.description.partition(' shape')[0][:40]}' here")


def read(path: str) -> Iterator[Found]:
    for call in _read_calls(path):
        yield attempt(call.where, call.name, "", lambda: _map_call(call))
