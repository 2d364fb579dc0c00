# SPDX-License-Identifier: Apache-2.0
"""Columns of the operators that move elements: by the functions of a namespace of arrays that has NumPy's names."""
from __future__ import annotations

from typing import Any, Callable, Collection

from ._columns import Column, FLOATS, INTEGERS


def _functions(xp: Any) -> dict[str, tuple[str, Callable[..., Any]]]:
    """By operator: the name in the namespace that it needs, and its function."""
    def concat(x: Any, y: Any, *, axis: str = "1", **_: Any) -> Any:
        return xp.concatenate((x, y), axis=int(axis))

    def flip(x: Any, *, axis: str = "1", **_: Any) -> Any:
        return xp.flip(x, int(axis))

    def roll(x: Any, *, axis: str = "1", shift: int = 1, **_: Any) -> Any:
        return xp.roll(x, int(shift), int(axis))

    def pad(x: Any, *, mode: str = "constant", top: int = 0, bottom: int = 1, left: int = 1, right: int = 1, value: float = 0.0,
            **_: Any) -> Any:
        constant = {"constant_values": value} if mode == "constant" else {}
        return xp.pad(x, ((top, bottom), (left, right)), mode=mode, **constant)

    def take_along_axis(x: Any, indices: Any, **_: Any) -> Any:
        return xp.take_along_axis(x, indices, 1)

    def transpose(x: Any, *, perm: str = "021", **_: Any) -> Any:
        return xp.transpose(x, tuple(int(axis) for axis in str(perm).zfill(3)))

    def trilu(x: Any, *, upper: bool = False, k: int = 0, **_: Any) -> Any:
        return (xp.triu if upper else xp.tril)(x, int(k))

    def masked_fill(x: Any, mask: Any, *, value: float = 0.0, **_: Any) -> Any:
        return xp.where(mask, xp.asarray(value, dtype=x.dtype), x)

    def index_select(x: Any, indices: Any, *, axis: str = "0", **_: Any) -> Any:
        return xp.take(x, indices, axis=int(axis))

    def embedding(table: Any, tokens: Any, *, scale: float = 1.0, **_: Any) -> Any:
        rows = xp.take(table, tokens, axis=0)
        return rows if scale == 1 else rows * xp.asarray(scale, dtype=table.dtype)  # XLA's product flushes subnormal numbers

    return {"index_select": ("take", index_select), "embedding": ("take", embedding), "concat": ("concatenate", concat), "flip": ("flip", flip), "roll": ("roll", roll), "pad": ("pad", pad),
            "take_along_axis": ("take_along_axis", take_along_axis), "transpose": ("transpose", transpose), "trilu": ("triu", trilu),
            "masked_fill": ("where", masked_fill)}


def _types(op: str, floats: Collection[str], integers: Collection[str]) -> tuple[str, ...]:
    if op == "masked_fill":
        return tuple(f"{dtype}-bool-{dtype}" for dtype in floats)
    if op == "embedding":
        return tuple(f"{dtype}-{places}-{dtype}" for dtype in floats for places in ("i64", "i32"))
    if op == "index_select":
        return tuple(f"{dtype}-i64-{dtype}" for dtype in (*floats, *integers) if dtype not in ("u8", "i16"))
    if op == "take_along_axis":
        return tuple(f"{dtype}-i64-{dtype}" for dtype in (*floats, *integers))
    return (*floats, *integers) if op != "pad" else (*floats, *(one for one in integers if one not in ("i16", "bool")))


def movement(xp: Any, floats: Collection[str] = FLOATS, integers: Collection[str] = (*INTEGERS, "bool"), name: str = "",
             product: str = "") -> list[Column]:
    """Columns of those operators whose function the namespace has. product: fields of the contract of rows that are scaled."""
    def extra(_: Any, attrs: Any) -> str:
        return product if attrs.get("scale", 1) != 1 else ""
    return [Column(op, function, _types(op, floats, integers), name, extra) for op, (needed, function) in _functions(xp).items()
            if hasattr(xp, needed)]
