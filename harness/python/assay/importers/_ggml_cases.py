# SPDX-License-Identifier: Apache-2.0
"""Cases of ggml whose operators are definitions: which one, and what a case states of it."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

from . import _ggml_elements as elements
from . import _ggml_formulas as formulas
from ._cases import NO_FORM, Case, as_rows, count_elements, demand, format_number
from ._ggml_blocks import BLOCKS, types_of
from ._windows import AXES, attributes_of, count_outputs

if TYPE_CHECKING:
    from .ggml import Variables

_MOST_STEPS = 2**32  # products of a case: an hour, as golden values of definitions are evaluated
_MOST_OPERANDS = 64  # of operations one after the other


def defined(data: dict[str, Any], types: Sequence[str], attrs: Mapping[str, Any]) -> Case:
    stated = "-".join(types) if len(set(types)) > 1 else types[0]
    demand(stated in data["types"] or "-".join(types) in data["types"], f"{data['op']} has no types {stated}")
    return Case(data["op"], [*types] if len(set(types)) > 1 else [types[0]], dict(attrs), definition=data)


def _kind(has: Variables, key: str) -> str:
    """The name of a block, or "" of a plain type."""
    name = has.texts.get(key, "f32")
    return name if name in BLOCKS else has.type(key) and ""


def _types(has: Variables, key: str) -> list[str]:
    kind = _kind(has, key)
    return types_of(kind) if kind else [has.type(key)]


def _count(extent: int, kind: str) -> int:
    """Blocks of a row."""
    size = BLOCKS[kind].count if kind else 1
    demand(extent % size == 0, f"a row of {extent} elements, which are no whole blocks")
    return extent // size


def _limited(*extents: int) -> None:
    demand(count_elements(extents) <= _MOST_STEPS, f"a definition with more than {_MOST_STEPS} products")


def _batches(has: Variables) -> tuple[bool, dict[str, int]]:
    bs, nr = has.numbers("bs", [10, 10]), has.numbers("nr", [2, 2])
    if count_elements(nr) == 1:
        return False, {"b": count_elements(bs)}
    return True, {"b1": bs[1], "r1": nr[1], "b0": bs[0], "r0": nr[0]}


def mul_mat(has: Variables) -> Case:
    m, n, k, o = has.integers(m=32, n=32, k=32, o=1)
    demand(o <= 1, "o: a sum of several products")
    demand(min(m, n, k) >= 1, "an extent is not from 1 to 2^31")
    kind, (repeated, batches) = _kind(has, "type_a"), _batches(has)
    _limited(m, n, k, *batches.values())
    return defined(formulas.mul_mat(kind, repeated), [*_types(has, "type_a"), has.type("type_b"), "f32"],
                   batches | {"m": m, "n": n, "k": _count(k, kind)})


def out_prod(has: Variables) -> Case:
    m, n, k = has.integers(m=32, n=32, k=32)
    kind, (repeated, batches) = _kind(has, "type_a"), _batches(has)
    _limited(m, n, k, *batches.values())
    return defined(formulas.out_prod(kind, repeated, has.flag("trans_b")), [*_types(has, "type_a"), has.type("type_b"), "f32"],
                   batches | {"m": _count(m, kind), "n": n, "k": k})


def mul_mat_id(has: Variables) -> Case:
    m, n, k, experts, used = has.integers(m=32, n=32, k=32, n_mats=8, n_used=2)
    kind = _kind(has, "type_a")
    _limited(m, n, k, used)
    return defined(formulas.mul_mat_id(kind, has.flag("b")), [*_types(has, "type_a"), "i32", has.type("type_b"), "f32"],
                   {"experts": experts, "m": m, "k": _count(k, kind), "n": n, "used": used})


def get_rows(has: Variables) -> Case:
    n, rows, picked, *batches = has.integers(n=10, m=5, r=3, be1=1, be2=1, b=1)
    demand(batches == [1, 1, 1], "a table for each of the batch")
    kind = _kind(has, "type")
    return defined(formulas.get_rows(kind), [*_types(has, "type"), "i32", "f32"],
                   {"m": rows, "n": _count(n, kind), "r": picked // 2 if has.flag("v") else picked})


def _heads_below(heads: int) -> int:
    """The largest power of two among them, of which ggml's slopes follow."""
    return 1 << heads.bit_length() - 1


def flash_attention(has: Variables) -> Case:
    both = "hs" in has.texts  # its former name
    d, dv = has.integer("hs" if both else "hsk", 0), has.integer("hs" if both else "hsv", 0)
    heads_kv, keys, queries = has.integers(nh=0, kv=0, nb=0)
    group, batch = has.numbers("nr23", [1, 1]) if "nr23" in has.texts else (has.integer("nr", 1), 1)
    demand(d and dv, "it lacks hsk")
    usual = has.texts.get("type_KV", "f16")
    for key in ("type_K", "type_V"):
        has.texts.setdefault(key, usual)
    kinds = _kind(has, "type_K"), _kind(has, "type_V")
    mask, sinks, shared = (has.flag(key) for key in ("mask", "sinks", "v_is_view_of_k"))
    bias, softcap = has.real("max_bias", 0), has.real("logit_softcap", 0)
    demand(mask or not bias, "max_bias without a mask")
    padded = [-(-extent // size) * size for extent, kind in zip((d, dv), kinds) for size in [BLOCKS[kind].count if kind else 1]]
    _limited(batch, heads_kv, group, queries, keys, sum(padded))
    types = ["f32", *_types(has, "type_K"), *([] if shared else _types(has, "type_V")), *["f16"] * mask, *["f32"] * sinks, "f32"]
    attrs = {"b": batch, "hkv": heads_kv, "group": group, "l": queries, "s": keys, "d": _count(padded[0], kinds[0]),
             "dv": _count(padded[1], kinds[1]), "scale": format_number(1 / d**0.5)}
    attrs |= {"softcap": format_number(softcap)} if softcap else {}
    attrs |= {"max_bias": format_number(bias), "below": _heads_below(heads_kv * group)} if bias else {}
    return defined(formulas.flash_attention(*kinds, mask, sinks, bias > 0, softcap > 0, shared), types, attrs)


def soft_max(has: Variables) -> Case:
    n3, n2, rows, n = _four(has.extents("ne"))
    r2, r3 = has.numbers("nr23", [1, 1])
    mask, sinks, bias = has.flag("mask"), has.flag("sinks"), has.real("max_bias", 0)
    demand(mask or not bias, "max_bias without a mask")
    count_elements([n3, r3, n2, r2, rows, n])
    types = [has.type("type"), *([has.type("m_prec")] if mask else []), *["f32"] * sinks, has.type("type")]
    attrs = {"r3": r3, "n3": n3, "r2": r2, "n2": n2, "l": rows, "s": n, "scale": format_number(has.real("scale", 1))}
    attrs |= {"max_bias": format_number(bias), "below": _heads_below(n2 * r2)} if bias else {}
    return defined(formulas.soft_max(mask, sinks, bias > 0), types, attrs)


def soft_max_back(has: Variables) -> Case:
    demand(has.real("max_bias", 0) == 0, "max_bias: a gradient through a mask")
    return defined(formulas.soft_max_back(), [has.type("type")], as_rows(has.extents("ne")) | {"scale": format_number(has.real("scale", 1))})


def _four(shape: list[int]) -> list[int]:
    demand(len(shape) == 4, NO_FORM)
    return shape


def _image(axes: str, i: Sequence[int], k: Sequence[int], stride: Sequence[int], pad: Sequence[int], dilation: Sequence[int]) -> dict[str, int]:
    demand(min(*stride, *dilation) >= 1, "a stride or a dilation of 0")
    outputs = [count_outputs(*one[:3], 2 * one[3], one[4]) for one in zip(i, k, stride, pad, dilation)]
    demand(min(outputs) >= 1, "no window fits into the padded image")
    extents = {f"{what}{axis}": value for what, values in (("i", i), ("o", outputs), ("k", k)) for axis, value in zip(axes, values)}
    return extents | dict(attributes_of(axes, stride, pad, dilation))


def _settings(has: Variables, form: str, keys: str, usual: int = 1) -> list[int]:
    return [has.integer(form.format(key), usual) for key in keys]


def im2col(has: Variables) -> Case:
    x, w = _four(has.extents("ne_input")), _four(has.extents("ne_kernel"))
    flat = not has.flag("is_2D")
    axes = "w" if flat else "hw"
    settings = [_settings(has, what + "{}", "0" if flat else "10", usual) for what, usual in (("s", 1), ("p", 0), ("d", 1))]
    if flat:  # [batch, channels, width] as ggml's [width, channels, batch]
        demand(x[0] == 1, "is_2D=0 with four axes")
        n, c, image, kernel = x[1], x[2], x[3:], w[3:]
    else:
        n, c, image, kernel = x[0], x[1], x[2:], w[2:]
    return defined(formulas.im2col(len(axes)), [has.type("type_input"), has.type("dst_type")],
                   {"n": n, "c": c} | _image(axes, image, kernel, *settings))


def im2col_3d(has: Variables) -> Case:
    x, w, c = _four(has.extents("ne_input")), _four(has.extents("ne_kernel")), has.integer("IC", 3)
    x = [extent - 2 for extent in x] if has.flag("v") else x
    demand(min(x) >= 1 and c >= 1 and x[0] % c == 0, NO_FORM)
    settings = [_settings(has, what + "{}", "210", usual) for what, usual in (("s", 1), ("p", 0), ("d", 1))]
    return defined(formulas.im2col(3), [has.type("type_input"), has.type("dst_type")],
                   {"n": x[0] // c, "c": c} | _image("dhw", x[1:], w[1:], *settings))


def conv_2d(own_kernels: bool) -> Callable[[Variables], Case]:
    def map_case(has: Variables) -> Case:
        x, w = _four(has.extents("ne_input")), _four(has.extents("ne_kernel"))
        demand(w[1] == (1 if own_kernels else x[1]), "input and kernel have different channels")
        demand(not own_kernels or w[0] == x[1], "input and kernel have different channels")
        ends = ("", "") if own_kernels else ("1", "0")
        settings = [[has.integer(name + end, usual) for end in ends] for name, usual in (("stride", 1), ("padding", 0), ("dilation", 1))]
        attrs = _image("hw", x[2:], w[2:], *settings)
        _limited(x[0], *w, attrs["oh"], attrs["ow"])
        return defined(formulas.conv(2, own_kernels), ["f32", has.type("type_kernel"), "f32"],
                       {"n": x[0], "c": x[1]} | ({} if own_kernels else {"o": w[0]}) | attrs)
    return map_case


def conv_3d(has: Variables) -> Case:
    def dims(keys: str) -> list[int]:
        return [has.integer(key, 1) for key in keys.split()]

    n, c, o = dims("N IC OC")
    attrs = _image("dhw", dims("ID IH IW"), dims("KD KH KW"), dims("s2 s1 s0"), dims("p2 p1 p0"), dims("d2 d1 d0"))
    _limited(n, c, o, *(attrs[what + axis] for what in "ok" for axis in "dhw"))
    return defined(formulas.conv(3, False), ["f32", has.type("type_kernel"), "f32"], {"n": n, "c": c, "o": o} | attrs)


def conv_transpose(rank: int) -> Callable[[Variables], Case]:
    def map_case(has: Variables) -> Case:
        x, w, axes = _four(has.extents("ne_input")), _four(has.extents("ne_kernel")), AXES[rank]
        stride = has.integer("s0" if rank == 1 else "stride", 1)
        demand((has.integer("p0", 0), has.integer("d0", 1)) == (0, 1) and stride >= 1, "p0, d0: ggml has them as 0 and 1")
        n, c, image, kernel = (1, x[2], x[3:], w[3:]) if rank == 1 else (x[0], x[1], x[2:], w[2:])
        m = w[2] if rank == 1 else w[1]
        demand((w[1] if rank == 1 else w[0]) == c, "input and kernel have different channels")
        outputs = [(i - 1) * stride + k for i, k in zip(image, kernel)]
        _limited(n, c, m, *outputs, *kernel)
        extents = {f"{what}{axis}": value for what, values in (("o", image), ("i", outputs), ("k", kernel)) for axis, value in zip(axes, values)}
        return defined(formulas.conv_transpose(rank), ["f32", has.type("kernel_type") if rank == 2 else "f32", "f32"],
                       {"n": n, "c": c, "m": m} | extents | {f"stride_{axis}": stride for axis in axes})
    return map_case


def col2im(has: Variables) -> Case:
    k, o, count, stride, pad = has.integers(K=4, OC=3, T_in=7, s0=2, p0=0)
    length = (count - 1) * stride + k - 2 * pad
    demand(length >= 1, "no output is left")
    return defined(formulas.col2im(), [has.type("type")], {"ow": count, "o": o, "kw": k, "iw": length, "stride_w": stride, "pad_w": pad})


def pool(rank: int) -> Callable[[Variables], Case]:
    def map_case(has: Variables) -> Case:
        x, axes = _four(has.extents("ne_input")), AXES[rank]
        kind = has.texts.get("pool_type", "avg")
        demand(kind in ("avg", "max"), f"no pool {kind[:40]} here")
        k, stride, pad = (_settings(has, what + "{}", "10"[2 - rank:], usual) for what, usual in (("k", 3), ("s", 1), ("p", 0)))
        attrs = _image(axes, x[4 - rank:], k, stride, pad, [1] * rank)
        return defined(formulas.pool(kind, rank), [has.type("type_input"), "f32"], {"n": count_elements(x[:4 - rank])} | attrs)
    return map_case


def rope(back: bool) -> Callable[[Variables], Case]:
    def map_case(has: Variables) -> Case:
        shape, dtype = _four(has.extents("ne_a")), has.type("type")
        mode, turned, offset = has.integers(mode=0, n_dims=10, n_offs=0)
        demand(mode in (0, 2, 8, 24, 40), f"mode={mode}: no such pairs are known here")
        turned = shape[-1] if mode == 24 else turned  # images: halves of the whole
        demand(turned % 2 == 0 and 0 < turned + offset <= shape[-1], "n_dims: more than a row has")
        types = [dtype] if dtype == "f32" else [dtype, "f32", "f32", dtype]
        return defined(formulas.rope("halves" if mode else "neighbours", back), types,
                       dict(zip("blhd", shape)) | {"p": turned // 2, "offset": offset})
    return map_case


def _permutation(has: Variables, key: str) -> list[int]:
    """ggml's axis i becomes that of the number at i; all zeros: none."""
    order = has.numbers(key, [0, 0, 0, 0])
    order = order if any(order) else [0, 1, 2, 3]
    demand(sorted(order) == [0, 1, 2, 3], NO_FORM)
    return order


def _copied(shape: list[int], order: list[int], kind: str, types: list[str]) -> Case:
    demand(not kind or order[0] == 0, "blocks along another axis")
    places = tuple(3 - order[3 - place] for place in range(4))
    extents = dict(zip("abcd", [*shape[:3], _count(shape[3], kind)]))
    return defined(formulas.copy(places, kind), types, extents)


def copy(has: Variables) -> Case:
    target = has.texts.get("type_dst", "f32")
    demand(target not in BLOCKS, "type_dst: codes of blocks, of which several are right")
    order = _permutation(has, "permute_src")
    if has.flag("_src_transpose"):
        order = [{0: 1, 1: 0}.get(place, place) for place in order]
    return _copied(_four(has.extents("ne_src")), order, _kind(has, "type_src"), [*_types(has, "type_src"), has.type("type_dst")])


def duplicate(key: str) -> Callable[[Variables], Case]:
    def map_case(has: Variables) -> Case:
        shape, order = _four(has.extents("ne")), _permutation(has, "permute")
        if key == "cont" and order == [0, 1, 2, 3]:
            demand(not has.flag("use_view_slice"), "use_view_slice: the last row of a view")
            order = [1, 0, 2, 3]
        dtype = has.type("type")
        return _copied(shape, order, "", [dtype, dtype])
    return map_case


def concat(has: Variables) -> Case:
    a, more, dim = _four(has.extents("ne_a")), has.integer("ne_b_d", 1), 3 - has.integer("dim", 2)
    demand(more >= 1 and 0 <= dim < 4, NO_FORM)
    return defined(formulas.concat(), [has.type("type")], {"outer": count_elements(a[:dim]), "na": a[dim], "nb": more, "n": a[dim] + more,
                                                           "inner": count_elements(a[dim + 1:])})


def _repeated(has: Variables, shape: list[int]) -> dict[str, int]:
    repeats = has.numbers("nr", [1, 1, 1, 1])[::-1]
    return {f"{what}{3 - place}": values[place] for place in range(4) for what, values in (("r", repeats), ("n", shape))}


def repeat(back: bool) -> Callable[[Variables], Case]:
    def map_case(has: Variables) -> Case:
        demand(not has.flag("v"), "v: a part of the tensor")
        data = formulas.repeat_back() if back else formulas.repeat()
        return defined(data, [has.type("type")], _repeated(has, _four(has.extents("ne"))))
    return map_case


def binary(op: str) -> Callable[[Variables], Case]:
    def map_case(has: Variables) -> Case:
        demand(not has.flag("src_overlap"), "src_overlap: operands are parts of one tensor")
        count = has.integer("nf", 1)
        demand(1 <= count <= _MOST_OPERANDS, f"nf is not from 1 to {_MOST_OPERANDS}")
        return defined(formulas.binary(op, count), [has.type("type")], _repeated(has, _four(has.extents("ne"))))
    return map_case


def unary(op: str) -> Callable[[Variables], Case]:
    def map_case(has: Variables) -> Case:
        shape = has.extents("ne_a" if "ne_a" in has.texts else "ne")
        return defined(elements.unary(op), [has.type("type")], {"n": count_elements(shape)})
    return map_case


def glu(op: str) -> Callable[[Variables], Case]:
    def map_case(has: Variables) -> Case:
        form = "split" if has.flag("split") else "swapped" if has.flag("swapped") else ""
        attrs = as_rows(has.extents("ne_a"))
        demand(form == "split" or attrs["n"] % 2 == 0, "rows of an odd length have no halves")
        attrs["n"] //= 1 if form == "split" else 2
        return defined(elements.glu(op, form), [has.type("type")], attrs)
    return map_case


def swiglu_oai(has: Variables) -> Case:
    return defined(elements.swiglu_oai(), [has.type("type")], as_rows(has.extents("ne_a")) | {
        "alpha": format_number(has.real("alpha", 1.702)), "limit": format_number(has.real("limit", 7))})


def with_numbers(op: str, **numbers: tuple[str, float]) -> Callable[[Variables], Case]:
    def map_case(has: Variables) -> Case:
        shape = has.extents("ne_a" if "ne_a" in has.texts else "ne")
        return defined(elements.with_numbers(op), [has.type("type")], {"n": count_elements(shape)} | {
            name: format_number(has.real(*key)) for name, key in numbers.items()})
    return map_case


def norm(kind: str) -> Callable[[Variables], Case]:
    def map_case(has: Variables) -> Case:
        shape = has.extents("ne")
        shape = [extent // 2 for extent in shape] if has.flag("v") and kind != "rms_norm" else shape
        return defined(elements.norm(kind), [has.type("type")], as_rows(shape) | {"eps": format_number(has.real("eps", 1e-6))})
    return map_case


def group_norm(has: Variables) -> Case:
    n, c, h, w = _four(has.extents("ne"))
    groups = has.integer("num_groups", 32)
    demand(groups and c % groups == 0, "the groups do not divide the channels")
    return defined(elements.norm("norm"), [has.type("type")], {"rows": n * groups, "n": c // groups * h * w,
                                                               "eps": format_number(has.real("eps", 1e-6))})


def rows_of(make: Callable[[], dict[str, Any]], *reals: tuple[str, float]) -> Callable[[Variables], Case]:
    def map_case(has: Variables) -> Case:
        return defined(make(), [has.type("type")], as_rows(has.extents("ne")) | {key: format_number(has.real(key, usual)) for key, usual in reals})
    return map_case


def silu_back(has: Variables) -> Case:
    return defined(elements.silu_back(), [has.type("type")], {"n": count_elements(has.extents("ne"))})


def ssm_conv(has: Variables) -> Case:
    a, b = _four(has.extents("ne_a")), _four(has.extents("ne_b"))
    demand(a[0] == 1 and a[2] == b[2] and a[3] >= b[3], NO_FORM)
    return defined(elements.ssm_conv(), [has.type("type")], {"s": a[1], "c": a[2], "w": a[3], "k": b[3], "t": a[3] - b[3] + 1})


def add_id(has: Variables) -> Case:
    n, experts, used, tokens = has.integers(n_embd=128, n_experts=16, n_experts_used=8, n_token=10)
    return defined(elements.add_id(), [has.type("type_a"), has.type("type_b"), "i32", "f32"],
                   {"tokens": tokens, "used": used, "n": n, "experts": experts})


def pad(has: Variables) -> Case:
    shape = _four(has.extents("ne_a"))
    demand(not has.flag("circular"), "circular: elements of the other end as padding")
    form = has.integer("tfrm", 0)
    demand(form <= 2, NO_FORM)
    shape = [(extent + 1) // 2 for extent in shape] if form == 1 else [shape[0], shape[3], shape[2], shape[1]] if form == 2 else shape
    left = [has.integer(f"lp{k}", 0) for k in (3, 2, 1, 0)]
    right = [has.integer(f"rp{k}", has.integer(f"pad_{k}", 0)) for k in (3, 2, 1, 0)]
    attrs = {}
    for k, before, inside, behind in zip("3210", left, shape, right):
        attrs |= {f"left_{k}": before, f"n{k}": inside, f"o{k}": before + inside + behind}
    return defined(elements.pad(), [has.type("type")], attrs)


def accumulate(has: Variables) -> Case:
    demand("stride_dim" in has.texts, "no stride_dim: versions that do not state it add b at other places")
    a, b = _four(has.extents("ne_a")), _four(has.extents("ne_b"))
    return defined(elements.accumulate(), [has.type("type")], {f"{what}{3 - place}": shape[place] for what, shape in (("n", a), ("m", b))
                                                               for place in range(4)})
