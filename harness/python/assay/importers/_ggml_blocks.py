# SPDX-License-Identifier: Apache-2.0
"""ggml's blocks of quantised numbers as operands: each field of a block (ggml-common.h) is one, codes as the bytes that lie in
memory, and the formula takes these apart as ggml's dequantize_row functions do (ggml-quants.c)."""
from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from ._formulas import Formula, Term, apply, at, choose, remainder, sum_of, where

_IQ4 = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
_E2M1 = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)  # doubled


class Field(NamedTuple):
    name: str
    type: str
    axes: str  # within a block


class Block(NamedTuple):
    elements: str  # axes within a block, in the order of its elements
    count: int
    fields: Sequence[Field]
    dequantised: Callable[..., Term]  # of the fields


def _bits(byte: Term, width: int, *places: tuple[str, int]) -> Term:
    """So many bits of a byte, behind as many as the indices of axes say, each times a number. Quotients of quotients stay exact."""
    for place in places:
        byte = apply("floor_divide", byte, choose(byte.formula.index(place[0]), _powers(place)))
    return remainder(byte, 1 << width)


def _powers(place: tuple[str, int]) -> list[int]:
    axis, bits = place
    return [1 << bits * k for k in range(int(axis.partition("#")[0]))]


def _row(x: Term, axis: str, k: int) -> Term:
    single = f"1#{axis}"
    return sum_of(at(x, axis, single, [str(k)]), single)


def _q5(qh: Term, qs: Term) -> Term:
    return _bits(qs, 4, ("2", 4)) + 16 * _bits(qh, 1, ("8", 1))


def _scales_of_k4(scales: Term) -> tuple[Term, Term]:
    """Scales and minima of 6 bits, of eight groups in 12 bytes: their upper two bits lie in the bytes of the first four groups."""
    low, mins, high = (_row(scales, "3", k) for k in range(3))
    is_first = scales.formula.index("2#h") <= 0
    upper = [16 * apply("floor_divide", one, 64) for one in (low, mins)]
    return (where(is_first, remainder(low, 64), remainder(high, 16) + upper[0]),
            where(is_first, remainder(mins, 64), apply("floor_divide", high, 16) + upper[1]))


def _q4_k(d: Term, dmin: Term, scales: Term, qs: Term) -> Term:
    scale, least = _scales_of_k4(scales)
    return d * scale * _bits(qs, 4, ("2", 4)) - dmin * least


def _q5_k(d: Term, dmin: Term, scales: Term, qh: Term, qs: Term) -> Term:
    scale, least = _scales_of_k4(scales)
    code = _bits(qs, 4, ("2", 4)) + 16 * _bits(qh, 1, ("2#h", 4), ("2#c", 2), ("2", 1))
    return d * scale * code - dmin * least


def _q6_k(ql: Term, qh: Term, scales: Term, d: Term) -> Term:
    code = _bits(ql, 4, ("2#h", 4)) + 16 * _bits(qh, 2, ("2#h", 4), ("2#o", 2))
    return d * scales * (code - 32)


def _q3_k(hmask: Term, qs: Term, scales: Term, d: Term) -> Term:
    rows = [_row(scales, "3", k) for k in range(3)]
    low = _bits(where(scales.formula.index("2#j") <= 0, rows[0], rows[1]), 4, ("2#n", 4))
    scale = low + 16 * _bits(rows[2], 2, ("2#n", 4), ("2#j", 2)) - 32
    code = _bits(qs, 2, ("2#j", 4), ("2#c", 2)) + 4 * _bits(hmask, 1, ("2#n", 4), ("2#j", 2), ("2#c", 1)) - 4
    return d * scale * code


def _iq4_xs(d: Term, scales_h: Term, scales_l: Term, qs: Term) -> Term:
    scale = _bits(scales_l, 4, ("2#p", 4)) + 16 * _bits(scales_h, 2, ("2#c", 4), ("2#p", 2)) - 32
    return d * scale * choose(_bits(qs, 4, ("2", 4)), _IQ4)


_D, _M, _MIN = Field("d", "f16", ""), Field("m", "f16", ""), Field("dmin", "f16", "")
_QS = Field("qs", "u8", "16")
_K4 = Field("scales", "u8", "3 2#c 2")
_OF_K = "2#h 2#c 2 32"

BLOCKS = {
    "q1_0": Block("16 8", 128, [_D, _QS], lambda d, qs: d * (2 * _bits(qs, 1, ("8", 1)) - 1)),
    "q2_0": Block("16 4", 64, [_D, _QS], lambda d, qs: d * (_bits(qs, 2, ("4", 2)) - 1)),
    "q4_0": Block("2 16", 32, [_D, _QS], lambda d, qs: d * (_bits(qs, 4, ("2", 4)) - 8)),
    "q4_1": Block("2 16", 32, [_D, _M, _QS], lambda d, m, qs: d * _bits(qs, 4, ("2", 4)) + m),
    "q5_0": Block("2 2#b 8", 32, [_D, Field("qh", "u8", "2 2#b"), Field("qs", "u8", "2#b 8")],
                  lambda d, qh, qs: d * (_q5(qh, qs) - 16)),
    "q5_1": Block("2 2#b 8", 32, [_D, _M, Field("qh", "u8", "2 2#b"), Field("qs", "u8", "2#b 8")],
                  lambda d, m, qh, qs: d * _q5(qh, qs) + m),
    "q8_0": Block("32", 32, [_D, Field("qs", "i8", "32")], lambda d, qs: d * qs),
    "iq4_nl": Block("2 16", 32, [_D, _QS], lambda d, qs: d * choose(_bits(qs, 4, ("2", 4)), _IQ4)),
    "nvfp4": Block("4 2 8", 64, [Field("d", "e4m3", "4"), Field("qs", "u8", "4 8")],
                   lambda d, qs: 0.5 * d * choose(_bits(qs, 4, ("2", 4)), _E2M1)),
    "q2_K": Block("2#n 4 2 16", 256, [Field("scales", "u8", "2#n 4 2"), Field("qs", "u8", "2#n 2 16"), _D, _MIN],
                  lambda scales, qs, d, dmin: d * remainder(scales, 16) * _bits(qs, 2, ("4", 2)) - dmin * apply("floor_divide", scales, 16)),
    "q3_K": Block("2#n 2#j 2#c 2 16", 256, [Field("hmask", "u8", "2 16"), Field("qs", "u8", "2#n 2 16"),
                                            Field("scales", "u8", "3 2#c 2"), _D], _q3_k),
    "q4_K": Block(_OF_K, 256, [_D, _MIN, _K4, Field("qs", "u8", "2#h 2#c 32")], _q4_k),
    "q5_K": Block(_OF_K, 256, [_D, _MIN, _K4, Field("qh", "u8", "32"), Field("qs", "u8", "2#h 2#c 32")], _q5_k),
    "q6_K": Block("2#n 2#h 2#o 2 16", 256, [Field("ql", "u8", "2#n 2#o 2 16"), Field("qh", "u8", "2#n 2 16"),
                                            Field("scales", "i8", "2#n 2#h 2#o 2"), _D], _q6_k),
    "tq2_0": Block("2 4 32", 256, [Field("qs", "u8", "2 32"), _D], lambda qs, d: d * (_bits(qs, 2, ("4", 2)) - 1)),
    "iq4_xs": Block("2#b 2#c 2#p 2 16", 256, [_D, Field("scales_h", "u8", "2#b"), Field("scales_l", "u8", "2#b 2#c"),
                                              Field("qs", "u8", "2#b 2#c 2#p 16")], _iq4_xs)}


def add_blocks(formula: Formula, name: str, kind: str, axes: str) -> Term:
    """Operands of the fields of blocks, which lie along the given axes, and their numbers, of which Block.elements are further axes."""
    block = BLOCKS[kind]
    role = {"f16": "weight", "e4m3": "positive"}
    fields = [formula.input(f"{name}_{one.name}", f"{axes} {one.axes}", role.get(one.type, "data")) for one in block.fields]
    return block.dequantised(*fields)


def types_of(kind: str) -> list[str]:
    return [one.type for one in BLOCKS[kind].fields]
