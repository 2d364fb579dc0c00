# SPDX-License-Identifier: Apache-2.0
"""Definitions of ggml's operators that assay lacks. Axes are named from the outermost, which ggml has last."""
from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any, Callable, Optional, Sequence

from . import _formulas as fn
from ._formulas import Formula, Term, apply, at, gather, reshape, sum_of, where, windows
from ._ggml_blocks import BLOCKS, add_blocks, types_of
from ._windows import AXES, add_strides, gathered, is_inside, joined, scattered

Data = dict[str, Any]
WEIGHTS, ACTIVATIONS = ("f32", "f16", "bf16"), ("f32", "f16", "bf16")
_once = lru_cache(maxsize=None)


def is_block(kind: str) -> bool:
    return kind in BLOCKS


def _name(op: str, *parts: str) -> str:
    return "_".join(["ggml", op, *(part for part in parts if part)])


def _all_types(*operands: Sequence[str]) -> list[str]:
    return ["-".join(types) for types in itertools.product(*operands)]


def _with_blocks(kinds: Sequence[str], *others: Sequence[str]) -> list[str]:
    """Lists of types of weights, which are blocks or plain, and of the other operands."""
    weights = [[(one,) for one in types_of(kind)] if is_block(kind) else [WEIGHTS] for kind in kinds]
    return _all_types(*itertools.chain(*weights), *others)


def _row(kind: str, count: str) -> str:
    """An axis of so many blocks or elements."""
    return f"{BLOCKS[kind].count}*{count}" if is_block(kind) else count


def _weights(f: Formula, name: str, kind: str, axes: str, last: str) -> tuple[Term, str]:
    """An operand of weights, and its axes in the place of the last one."""
    if not is_block(kind):
        return f.input(name, f"{axes} {last}"), last
    return add_blocks(f, name, kind, f"{axes} {last}"), f"{last} {BLOCKS[kind].elements}"


def _split(x: Term, kind: str, count: str) -> Term:
    """x whose axis of whole rows becomes those of blocks and their elements."""
    return reshape(x, _row(kind, count), f"{count} {BLOCKS[kind].elements}") if is_block(kind) else x


def _whole(x: Term, kind: str, count: str) -> Term:
    return reshape(x, f"{count} {BLOCKS[kind].elements}", _row(kind, count)) if is_block(kind) else x


_BATCHES = {False: ("b", "b"), True: ("b1 b0", "b1 r1 b0 r0")}  # of weights and of the other operand, repeated or not


@_once
def mul_mat(kind: str, repeated: bool) -> Data:
    f = Formula(_name("mul_mat", "repeated" * repeated, kind), "y = x a^T, rows of a being weights", _with_blocks([kind], ACTIVATIONS, ["f32"]))
    of_a, of_x = _BATCHES[repeated]
    a, k = _weights(f, "a", kind, f"{of_a} m", "k")
    x = _split(f.input("x", f"{of_x} n {_row(kind, 'k')}"), kind, "k")
    f.output("y", sum_of(x * a, k), f"{of_x} n m")
    return f.data()


@_once
def out_prod(kind: str, repeated: bool, transposed: bool) -> Data:
    f = Formula(_name("out_prod", "repeated" * repeated, "transposed" * transposed, kind), "y = sum over k of b_k a_k^T",
                _with_blocks([kind], ACTIVATIONS, ["f32"]))
    of_a, of_b = _BATCHES[repeated]
    a, _ = _weights(f, "a", kind, f"{of_a} k", "m")
    b = f.input("b", f"{of_b} n k" if transposed else f"{of_b} k n")
    f.output("y", _whole(sum_of(b * a, "k"), kind, "m"), f"{of_b} n {_row(kind, 'm')}")
    return f.data()


@_once
def mul_mat_id(kind: str, shared: bool) -> Data:
    """shared: all experts of a token get the same row."""
    f = Formula(_name("mul_mat_id", "shared" * shared, kind), "y = x a^T with a of the expert that ids names",
                _with_blocks([kind], ["i32"], ["f32"], ["f32"]))
    a, k = _weights(f, "a", kind, "experts m", "k")
    ids = f.input("ids", "n used", places_of="experts")
    x = _split(f.input("x", f"n {'' if shared else 'used '}{_row(kind, 'k')}"), kind, "k")
    f.output("y", sum_of(x * gather(a, "experts", ids), k), "n used m")
    return f.data()


@_once
def get_rows(kind: str) -> Data:
    f = Formula(_name("get_rows", kind), "y = the rows of a that ids names", _with_blocks([kind], ["i32"], ["f32"]))
    a, _ = _weights(f, "a", kind, "m", "n")
    ids = f.input("ids", "r", places_of="m")
    f.output("y", _whole(gather(a, "m", ids), kind, "n"), f"r {_row(kind, 'n')}")
    return f.data()


def _slopes(f: Formula, head: Term) -> Term:
    """ALiBi: m0^(h+1) of the first `below` heads, which are a power of two, and odd powers of the root of m0 of the others."""
    bias, below = f.real("max_bias", 8), f.integer("below", 2, positive=True)
    m0, m1 = apply("pow", 2, -(bias / below)), apply("pow", 2, -(0.5 * bias / below))
    return where(head < below, apply("pow", m0, head + 1), apply("pow", m1, fn.maximum(2 * (head - below) + 1, 0)))


def _with_sinks(s: Term, sinks: Optional[Term], axis: str) -> Term:
    """softmax; a sink is one more logit, of which no result comes. The factor is that of the larger maximum."""
    if sinks is None:
        return fn.softmax(s, axis)
    top = fn.reduce("max", s, axis)
    e = fn.exp(-fn.reduce("below_max", s, axis))
    largest = fn.maximum(top, sinks)
    factor = fn.exp(apply("strict", top - largest))
    return e * factor / (fn.reduce("rescaled_sum", e, axis) * factor + fn.exp(apply("strict", sinks - largest)))


@_once
def flash_attention(k_kind: str, v_kind: str, mask: bool, sinks: bool, bias: bool, softcap: bool, shared: bool) -> Data:
    """shared: V is the beginning of each row of K."""
    variant = "".join(word for word, there in (("m", mask), ("s", sinks), ("b", bias), ("c", softcap), ("k", shared)) if there)
    kinds = k_kind if k_kind == v_kind else f"{k_kind or 'plain'}_{v_kind or 'plain'}"
    f = Formula(_name("flash_attn", variant, kinds), "y = softmax(scale q k^T + mask) v",
                _with_blocks_after("f32", [k_kind] if shared else [k_kind, v_kind], *[["f16"]] * mask, *[["f32"]] * sinks, ["f32"]))
    scale = f.real("scale", 0.125)
    q = _split(f.input("q", f"b hkv group l {_row(k_kind, 'd')}"), k_kind, "d")
    k, d = _weights(f, "k", k_kind, "b hkv s", "d")
    v = at(k, "d", "dv") if shared else _weights(f, "v", v_kind, "b hkv s", "dv")[0]
    s = sum_of(q * k, d) * scale
    if softcap:
        cap = f.real("softcap", 10)
        s = cap * fn.tanh(s / cap)
    if mask:
        m = f.input("mask", "b l s", "offset")
        s = s + (m * _slopes(f, f.index("hkv") * f.extent("group") + f.index("group")) if bias else m)
    p = _with_sinks(s, f.input("sinks", "hkv group", "offset") if sinks else None, "s")
    y = sum_of(p * v, "s")
    # Along an axis that is moved a block has all elements (ops/formula/block.h): the weights are evaluated once for all of them.
    y, last = (_whole(y, v_kind, "dv"), _row(v_kind, "dv")) if v_kind else (at(y, "dv", "1*dv"), "1*dv")
    f.output("y", y, f"b l hkv group {last}")
    return f.data()


def _with_blocks_after(first: str, kinds: Sequence[str], *others: Sequence[str]) -> list[str]:
    return [f"{first}-{types}" for types in _with_blocks(kinds, *others)]


@_once
def soft_max(mask: bool, sinks: bool, bias: bool) -> Data:
    variant = "".join(word for word, there in (("m", mask), ("s", sinks), ("b", bias)) if there)
    f = Formula(_name("soft_max", variant), "y = softmax(scale x + mask)",
                _all_types(["f32"], *[["f32", "f16"]] * mask, *[["f32"]] * sinks, ["f32"]))
    scale = f.real("scale", 1)
    s = f.input("x", "r3 n3 r2 n2 l s") * scale
    if mask:
        m = f.input("mask", "n3 n2 l s", "offset")
        s = s + (m * _slopes(f, f.index("r2") * f.extent("n2") + f.index("n2")) if bias else m)
    y = _with_sinks(s, f.input("sinks", "r2 n2", "offset") if sinks else None, "s")
    f.output("y", y, "r3 n3 r2 n2 l s")
    return f.data()


@_once
def soft_max_back() -> Data:
    f = Formula(_name("soft_max_back"), "dx = scale y (dy - sum y dy)", ["f32"])
    scale = f.real("scale", 1)
    dy, y = f.input("dy", "rows n"), f.input("y", "rows n", "positive")
    f.output("dx", scale * y * (dy - sum_of(y * dy, "n")), "rows n")
    return f.data()


@_once
def im2col(rank: int) -> Data:
    axes = AXES[rank]
    f = Formula(_name(f"im2col_{rank}d"), "the elements of each window, one behind the other", _all_types(WEIGHTS, WEIGHTS))
    x = f.input("x", f"n c {joined('i', axes)}")
    add_strides(f, axes)
    f.output("y", gathered(x, axes), f"n {joined('o', axes)} c {joined('k', axes)}")
    return f.data()


@_once
def conv(rank: int, own_kernels: bool) -> Data:
    """own_kernels: each channel has one of its own."""
    axes = AXES[rank]
    f = Formula(_name(f"conv_{rank}d", "dw" * own_kernels), "a convolution", _all_types(["f32"], WEIGHTS, ["f32"]))
    x = f.input("x", f"n c {joined('i', axes)}")
    w = f.input("w", f"{'' if own_kernels else 'o '}c {joined('k', axes)}")
    add_strides(f, axes)
    y = sum_of(gathered(x, axes) * w, joined("k", axes) if own_kernels else f"c {joined('k', axes)}")
    f.output("y", y, f"n {'c' if own_kernels else 'o'} {joined('o', axes)}")
    return f.data()


@_once
def conv_transpose(rank: int) -> Data:
    axes = AXES[rank]
    f = Formula(_name(f"conv_transpose_{rank}d"), "the products that each input gives its outputs, added", _all_types(["f32"], WEIGHTS, ["f32"]))
    x = f.input("x", f"n c {joined('o', axes)}")  # what scattered() calls an output
    w = f.input("w", f"c m {joined('k', axes)}")
    add_strides(f, axes)
    f.output("y", sum_of(scattered(x, axes) * w, f"c {joined('k', axes)}"), f"n m {joined('i', axes)}")
    return f.data()


@_once
def col2im() -> Data:
    f = Formula(_name("col2im_1d"), "columns added where their windows lie", ["f32", "f16", "bf16"])
    x = f.input("x", "ow o kw")
    f.integer("stride_w", 1, positive=True)
    f.integer("pad_w", 0)
    taken = windows(x, "ow", ["pad_w"], {"iw": "1", "1*kw": "-1"}, "stride_w")
    f.output("y", sum_of(where(apply("equal", f.index("1*kw"), f.index("kw")), taken, 0), "kw 1*kw"), "o iw")
    return f.data()


@_once
def pool(kind: str, rank: int) -> Data:
    """The mean of a plane counts the padding, that of a row does not; a maximum of padding alone is the lowest number of f32."""
    axes = AXES[rank]
    f = Formula(_name(f"pool_{rank}d", kind), f"{kind} of each window", _all_types(["f32", "f16"], ["f32"]))
    x = f.input("x", f"n {joined('i', axes)}")
    add_strides(f, axes)
    k = joined("k", axes)
    apart, inside = gathered(x, axes), is_inside(f, axes)
    if kind == "max":
        y = fn.reduce("max", where(inside, apart, -(2**128 - 2**104)), k)
    elif rank == 2:
        y = fn.reduce("mean", apart, k)
    else:
        y = sum_of(apart, k) / fn.maximum(sum_of(where(inside, 1, 0), k), 1)
    f.output("y", y, f"n {joined('o', axes)}")
    return f.data()


@_once
def rope(pairs: str, back: bool) -> Data:
    """pairs: halves or neighbours. Tables have the cosine and sine of each position and pair; `offset`: of the part that is turned."""
    f = Formula(_name("rope", pairs, "back" * back), "pairs of elements turned by the angle of their position",
                ["f32", "f16-f32-f32-f16"])
    offset = f.integer("offset", 0)
    x, cos, sin = f.input("x", "b l h d"), f.input("cos", "l p", "table"), f.input("sin", "l p", "table")
    index, p, sin = f.index("d") - offset, f.extent("p"), -sin if back else sin
    if pairs == "halves":
        one, two = at(x, "d", "p", ["offset"]), at(x, "d", "p", ["offset", "p"])
        first, second = at(one * cos - two * sin, "p", "d", ["-offset"]), at(one * sin + two * cos, "p", "d", ["-offset", "-p"])
        turned = where(index < p, first, second)
    else:
        one, two = (windows(x, "d", ["offset", k], {"p": "2"}) for k in "01")
        first, second = (windows(y, "p", ["-offset", k], {"d": "1"}, "2") for y, k in ((one * cos - two * sin, "0"), (one * sin + two * cos, "-1")))
        turned = where(apply("equal", fn.remainder(index, 2), 0), first, second)
    f.output("y", where(apply("logical_and", index >= 0, index < 2 * p), turned, x), "b l h d")
    return f.data()


_PLAIN = ("f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64")


@_once
def copy(places: tuple[int, ...], kind: str) -> Data:
    """places: of the source's axes in the result, both from the outermost."""
    f = Formula(_name("cpy", "".join(map(str, places)), kind), "y = x with its axes in another order",
                _with_blocks([kind], ["f32"]) if is_block(kind) else [*_all_types(WEIGHTS, WEIGHTS), *(f"{t}-{t}" for t in _PLAIN[3:])])
    names = ["a", "b", "c", "d"]
    x, _ = _weights(f, "x", kind, "a b c", "d")
    row = _row(kind, "d")
    x = _whole(x, kind, "d")
    out = [""] * 4
    for name, place in zip([*names[:3], row], places):
        out[place] = name
    f.output("y", x, " ".join(out))
    return f.data()


@_once
def concat() -> Data:
    f = Formula(_name("concat"), "a and b one behind the other", [*_PLAIN])
    a, b = f.input("a", "outer na inner"), f.input("b", "outer nb inner")
    f.output("y", where(f.index("n") < f.extent("na"), at(a, "na", "n"), at(b, "nb", "n", ["-na"])), "outer n inner")
    return f.data()


_REPEATED = "r3 n3 r2 n2 r1 n1 r0 n0"
_SINGLE = "n3 n2 n1 n0"


@_once
def repeat() -> Data:
    f = Formula(_name("repeat"), "x, repeated along each axis", [*_PLAIN])
    x = f.input("x", _SINGLE)
    for axis in ("r3", "r2", "r1", "r0"):
        x = where(f.index(axis) >= 0, x, 0)
    f.output("y", x, _REPEATED)
    return f.data()


@_once
def repeat_back() -> Data:
    f = Formula(_name("repeat_back"), "the sum of all repetitions", ["f32"])
    f.output("y", sum_of(f.input("x", _REPEATED), "r3 r2 r1 r0"), _SINGLE)
    return f.data()


BINARY: dict[str, Callable[[Any, Any], Term]] = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
                                                 "div": lambda x, y: x / y}


@_once
def binary(op: str, count: int) -> Data:
    """count: of second operands, one operation after the other."""
    f = Formula(_name(op, str(count) if count > 1 else ""), f"{op} of a and b, which is repeated along each axis", ["f32", "f16", "bf16"])
    x = f.input("a", _REPEATED)
    for k in range(count):
        x = BINARY[op](x, f.input(f"b{k}", _SINGLE))
    f.output("y", x, _REPEATED)
    return f.data()
