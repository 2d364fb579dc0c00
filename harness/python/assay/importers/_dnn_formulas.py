# SPDX-License-Identifier: Apache-2.0
"""Definitions of oneDNN's primitives with their attributes, as its developer guide states them. What a definition is made of is its
key: drivers' words, types, and the structure of attributes; extents, paddings and numbers are attributes of cases."""
from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any, Optional, Sequence

from . import _formulas as fn
from ._cases import demand
from ._dnn_attributes import BINARY, Attributes, axes_of, centred, finished, is_along, mask_word, operand, scaled, store
from ._dnn_eltwise import BACKWARD, FORWARD
from ._formulas import Formula, Term, apply, reshape, sum_of, where
from ._windows import add_strides, gathered, is_inside, joined, scattered

Made = tuple[dict[str, Any], list[str]]  # a definition, and the types of its operands
_once = lru_cache(maxsize=None)
_MOST_NAME = 90
_DEFINED: dict[str, Any] = {}  # by name


def start(words: Sequence[str], doc: str, whole: bool = False) -> Formula:
    f = Formula("dnn_" + "_".join(word for word in words if word), doc, [""])
    f.whole = whole
    return f


def _is_whole(types: Sequence[str], bias: str, has: Attributes) -> bool:
    """Whether this is a sum of integers, and nothing behind it."""
    return types[-1] == "i32" and set(types[:-1]) <= {"i8", "u8"} and not bias and has == Attributes()


def _shortened(name: str, told_by: str) -> str:
    return f"{name[:_MOST_NAME - 9].rstrip('_')}_{hashlib.sha256(told_by.encode()).hexdigest()[:8]}"


def end(f: Formula, has: Optional[Attributes] = None) -> Made:
    """The definition under a name that tells it from others of its driver: attributes and types are part of it."""
    types = f.types[0].split("-")
    f.types[0] = types[0] if len(set(types)) == 1 else f.types[0]
    name = "_".join([f.op, *(has.words() if has else []), *(types if len(set(types)) > 1 else types[:1])])
    f.op = name if len(name) <= _MOST_NAME else _shortened(name, name)
    data = f.data()
    known = {one["name"] for one in (*data["inputs"], *data["attributes"])}
    for what, factors in (("scale", has.scales), ("zero", has.zeros)) if has else ():
        for argument, _ in factors:
            demand(f"{what}_{argument}" in known, f"a {what} of {argument} that the formula has no place for")
    if _DEFINED.setdefault(f.op, data) != data:  # words that leave a part of the key out may not end an import
        data["op"] = _shortened(name, json.dumps(data))
    return data, types


def _with_bias(f: Formula, y: Term, axes: str, dtype: str) -> Term:
    return y + operand(f, "bias", axes, dtype, "offset") if dtype else y


@_once
def matmul(batch: tuple[str, ...], types: tuple[str, ...], bias: tuple[str, int], group: int, has: Attributes) -> Made:
    """batch: for each batch axis which operands have it, "a", "b" or "ab". group: elements of k that share factors; 0: no groups."""
    f = start(["matmul", *batch, bias[0] and f"bias{mask_word(bias[1])}", f"k{group}" if group else ""], "post-ops(scales (src - zero) (wei - zero) + bias) / scale + zero",
              _is_whole(types, bias[0], has))
    names = [f"d{k}" for k in range(len(batch))]
    of_a, of_b = ([name if letter in who else "" for name, who in zip(names, batch)] for letter in "ab")
    k = f"{group}*k" if group else "k"
    a = operand(f, "src", axes_of([*of_a, "m", k], -1), types[0])
    b = operand(f, "wei", axes_of([*of_b, k, "n"], -1), types[1])
    if group:
        a, b = (reshape(x, k, f"k {group}") for x in (a, b))
    dims_a, dims_b = [*of_a, "m", "k"], [*of_b, "k", "n"]
    last = len(batch)
    a, b = centred(f, a, "src", has, dims_a), centred(f, b, "wei", has, dims_b)
    inside = is_along("src", has, last + 1), is_along("wei", has, last)
    a = scaled(f, a, "src", has, dims_a) if inside[0] else a
    b = scaled(f, b, "wei", has, dims_b) if inside[1] else b
    y = sum_of(a * b, f"k {group}" if group else "k")
    y = y if inside[0] else scaled(f, y, "src", has, dims_a)
    y = y if inside[1] else scaled(f, y, "wei", has, dims_b)
    dims = [*names, "m", "n"]
    y = _with_bias(f, y, axes_of(dims, bias[1]), bias[0])
    store(f, "dst", finished(f, y, has, dims, types[2]), axes_of(dims, -1), types[2])
    return end(f, has)


@_once
def inner_product(types: tuple[str, ...], bias: str, has: Attributes) -> Made:
    """The image counts as part of k."""
    f = start(["ip", bias and "bias"], "post-ops(scales src wei^T + bias) / scale + zero", _is_whole(types, bias, has))
    src, wei = operand(f, "src", "mb k", types[0]), operand(f, "wei", "oc k", types[1])
    y = sum_of(centred(f, src, "src", has, ["mb", "k"]) * centred(f, wei, "wei", has, ["oc", "k"]), "k")
    y = scaled(f, scaled(f, y, "src", has, ["mb", "k"]), "wei", has, ["oc", "k"])
    y = _with_bias(f, y, "oc", bias)
    store(f, "dst", finished(f, y, has, ["mb", "oc"], types[2]), "mb oc", types[2])
    return end(f, has)


@_once
def inner_product_backward(of_weights: bool, types: tuple[str, ...], bias: str) -> Made:
    f = start(["ip", "bwd_w" if of_weights else "bwd_d", bias and f"bias_{bias}"], "a gradient of an inner product")
    dst = operand(f, "diff_dst", "mb oc", types[2])
    if not of_weights:
        store(f, "diff_src", sum_of(dst * operand(f, "wei", "oc k", types[1]), "oc"), "mb k", types[0])
        return end(f)
    store(f, "diff_wei", sum_of(dst * operand(f, "src", "mb k", types[0]), "mb"), "oc k", types[1])
    if bias:
        f.output("diff_bias", sum_of(dst, "mb"), "oc", bias)
    return end(f)


def _image(axes: str) -> tuple[str, str, str]:
    return joined("i", axes), joined("o", axes), joined("k", axes)


@_once
def conv(axes: str, turned: bool, types: tuple[str, ...], bias: str, has: Attributes) -> Made:
    """turned: the gradient of a convolution as an operator, whose source lies where that has the destination."""
    word, of_src, of_dst = ("deconv", "o", "i") if turned else ("conv", "i", "o")
    f = start([f"{word}{len(axes)}d", bias and "bias"], f"post-ops(scales {word}(src - zero, wei) + bias) / scale + zero", _is_whole(types, bias, has))
    k = joined("k", axes)
    src = operand(f, "src", f"mb g ic {joined(of_src, axes)}", types[0])
    wei = operand(f, "wei", f"g oc ic {k}", types[1])
    add_strides(f, axes)
    dims, of_wei = ["mb", "g ic", *(of_src + axis for axis in axes)], ["g oc", ""]
    src, wei = centred(f, src, "src", has, dims), centred(f, wei, "wei", has, of_wei)
    y = sum_of((scattered if turned else gathered)(src, axes) * wei, f"ic {k}")
    y = _with_bias(f, scaled(f, scaled(f, y, "src", has, dims), "wei", has, of_wei), "g oc", bias)
    dims = ["mb", "g oc", *(of_dst + axis for axis in axes)]
    store(f, "dst", finished(f, y, has, dims, types[2]), axes_of(dims, -1), types[2])
    return end(f, has)


@_once
def conv_backward(axes: str, of_weights: bool, types: tuple[str, ...], bias: str) -> Made:
    f = start([f"conv{len(axes)}d", "bwd_w" if of_weights else "bwd_d", bias and f"bias_{bias}"], "a gradient of a convolution")
    i, o, k = _image(axes)
    dst = operand(f, "diff_dst", f"mb g oc {o}", types[2])
    if not of_weights:
        wei = operand(f, "wei", f"g oc ic {k}", types[1])
        add_strides(f, axes)
        store(f, "diff_src", sum_of(scattered(dst, axes) * wei, f"oc {k}"), f"mb g ic {i}", types[0])
        return end(f)
    src = operand(f, "src", f"mb g ic {i}", types[0])
    add_strides(f, axes)
    store(f, "diff_wei", sum_of(dst * gathered(src, axes), f"mb {o}"), f"g oc ic {k}", types[1])
    if bias:
        f.output("diff_bias", sum_of(dst, f"mb {o}"), "g oc", bias)
    return end(f)


@_once
def pool(axes: str, kind: str, types: tuple[str, ...], has: Attributes) -> Made:
    """kind: max, avg_p of all of a window, or avg_np of what of it lies in the image."""
    f = start([f"pool{len(axes)}d", kind], f"{kind} of each window")
    i, o, k = _image(axes)
    x = operand(f, "src", f"mb c {i}", types[0])
    add_strides(f, axes)
    apart, inside = gathered(x, axes), is_inside(f, axes)
    if kind == "max":
        y = fn.reduce("max", where(inside, apart, -(2**127)), k)
    else:
        y = fn.reduce("mean", apart, k) if kind == "avg_p" else sum_of(apart, k) / fn.maximum(sum_of(where(inside, 1, 0), k), 1)
    dims = ["mb", "c", *(f"o{axis}" for axis in axes)]
    store(f, "dst", finished(f, y, has, dims, types[1]), f"mb c {o}", types[1], bounded=has == Attributes())
    return end(f, has)


@_once
def softmax(dims: tuple[str, ...], along: str, log: bool, types: tuple[str, ...], has: Attributes) -> Made:
    f = start(["logsoftmax" if log else "softmax", *dims], "post-ops(scale softmax(src)) / scale")
    x = operand(f, "src", " ".join(dims), types[0])
    if log:
        d = -fn.reduce("below_max", x, along)
        y = d - fn.log(fn.reduce("rescaled_sum", fn.exp(d), along))
    else:
        y = fn.softmax(x, along)
    y = scaled(f, y, "src", has, dims)
    store(f, "dst", finished(f, y, has, dims, types[1]), " ".join(dims), types[1])
    return end(f, has)


@_once
def softmax_backward(log: bool, types: tuple[str, ...]) -> Made:
    """dims: outer, the axis, inner."""
    f = start(["logsoftmax" if log else "softmax", "bwd"], "a gradient of softmax by its result")
    y = operand(f, "dst", "outer n inner", types[1], "offset" if log else "positive")
    dy = operand(f, "diff_dst", "outer n inner", types[1])
    dx = dy - fn.exp(y) * sum_of(dy, "n") if log else y * (dy - sum_of(dy * y, "n"))
    store(f, "diff_src", dx, "outer n inner", types[0])
    return end(f)


@_once
def reduction(dims: tuple[str, ...], kind: str, types: tuple[str, ...], has: Attributes) -> Made:
    """dims: those that are reduced are called r0, r1, ...; all of them are one in the result."""
    f = start(["reduction", kind, *dims], f"post-ops({kind} along r)", kind != "mean" and _is_whole(types, "", has))
    x, axes = operand(f, "src", " ".join(dims), types[0], "positive" if kind == "norm_lp" else "data"), " ".join(dim for dim in dims if dim[0] == "r")
    if kind in ("sum", "mean", "max", "min", "prod"):
        y = fn.reduce(kind, x, axes)
    else:
        p, eps, size = f.real("p", 1), f.real("eps", 0), fn.absolute(x)
        y = sum_of(apply("pow", size, p), axes)
        y = fn.maximum(y, eps) if "_max" in kind else y + eps
        y = y if "power" in kind else apply("pow", y, 1 / p)
    left = ["" if dim[0] == "r" else dim for dim in dims]
    y = finished(f, y, has, left, types[1])
    store(f, "dst", y, axes_of(left, -1) or "1", types[1])
    return end(f, has)


def _norm(driver: str, axes: tuple[str, str, str], dims: Sequence[str], flags: str, training: bool, types: tuple[str, ...],
          of_scale: str, has: Attributes) -> Made:
    """axes: those that have statistics of their own, those that these are of, and those of the weights."""
    lines, terms, weights = axes
    f = start([driver, flags, of_scale * bool(set(flags) & {"C", "H"}), "training" * training], "post-ops(scale (gamma (src - mean) / sqrt(variance + eps) + beta)) / scale")
    eps, x = f.real("eps", 1 / 16, positive=True), operand(f, "src", f"{lines} {terms}", types[0])
    given = "G" in flags
    mean = operand(f, "mean", lines, "f32", "offset") if given else fn.reduce("updated_mean", x, terms)
    c = x - mean
    variance = operand(f, "variance", lines, "f32", "positive") if given else fn.mean_of(c * c, terms)
    y = c * apply("rsqrt", variance + eps)
    y = y * operand(f, "gamma", weights, of_scale, "weight") if "C" in flags else y
    y = y + operand(f, "beta", weights, of_scale, "offset") if "H" in flags else y
    y = scaled(f, y, "src", has, dims)
    store(f, "dst", finished(f, y, has, dims, types[1]), f"{lines} {terms}", types[1])
    if training and not given:
        f.output("mean", mean, lines, "f32")
        f.output("variance", variance, lines, "f32")
    return end(f, has)


@_once
def layer_norm(flags: str, training: bool, types: tuple[str, ...], of_scale: str, has: Attributes) -> Made:
    """dims: rows and n."""
    return _norm("lnorm", ("rows", "n", "n"), ["rows", "n"], flags, training, types, of_scale, has)


@_once
def layer_norm_backward(flags: str, with_weights: bool, types: tuple[str, ...], of_scale: str) -> Made:
    """Statistics are operands: those of the forward pass, or constants (G), through which no gradient flows."""
    f = start(["lnorm", flags, of_scale * with_weights, "bwd_dw" if with_weights else "bwd_d"], "a gradient of layer normalization")
    eps, x = f.real("eps", 1 / 16, positive=True), operand(f, "src", "rows n", types[0])
    mean, variance = operand(f, "mean", "rows", "f32", "offset"), operand(f, "variance", "rows", "f32", "positive")
    dy = operand(f, "diff_dst", "rows n", types[1])
    r = apply("rsqrt", variance + eps)
    h = (x - mean) * r
    t = dy * operand(f, "gamma", "n", of_scale, "weight") if "C" in flags else dy
    dx = r * t if "G" in flags else r * (t - fn.mean_of(t, "n") - h * fn.mean_of(t * h, "n"))
    store(f, "diff_src", dx, "rows n", types[0])
    if with_weights and "C" in flags:
        f.output("diff_gamma", sum_of(dy * h, "rows"), "n", of_scale)
    if with_weights and "H" in flags:
        f.output("diff_beta", sum_of(dy, "rows"), "n", of_scale)
    return end(f)


@_once
def group_norm(flags: str, training: bool, types: tuple[str, ...], of_scale: str, has: Attributes) -> Made:
    return _norm("gnorm", ("mb g", "c n", "g c"), ["mb", "g c", "n"], flags, training, types, of_scale, has)


@_once
def eltwise(dims: tuple[str, ...], alg: str, numbers: int, types: tuple[str, ...], bounded: bool, has: Attributes) -> Made:
    f = start(["eltwise", alg, *dims], f"post-ops({alg}(src))")
    x = operand(f, "src", " ".join(dims), types[0], "positive" if alg in ("sqrt", "log", "pow") else "data")
    y = FORWARD[alg](x, *(f.real(name, 1) for name in ("alpha", "beta")[:numbers]))
    store(f, "dst", finished(f, y, has, dims, types[1]), " ".join(dims), types[1], bounded)
    return end(f, has)


@_once
def eltwise_backward(alg: str, numbers: int, dtype: str) -> Made:
    f = start(["eltwise", alg, "bwd"], f"the gradient of {alg}")
    dy = operand(f, "diff_dst", "n", dtype)
    x = operand(f, "dst" if alg.endswith("_dst") else "src", "n", dtype, "positive" if alg in ("sqrt", "log", "pow", "sqrt_dst") else "data")
    store(f, "diff_src", dy * BACKWARD[alg](x, *(f.real(name, 1) for name in ("alpha", "beta")[:numbers])), "n", dtype)
    return end(f)


@_once
def binary(dims: tuple[str, ...], lacks: tuple[str, str], alg: str, types: tuple[str, ...], has: Attributes) -> Made:
    """lacks: the axes of which each operand has one element."""
    f = start(["binary", alg, *dims, *(f"{who}1{axes}" for who, axes in zip("ab", lacks) if axes)], f"post-ops({alg} of two operands)")
    made = []
    for name, without, dtype in zip(("src", "src1"), lacks, types):
        own = ["" if dim in without.split("_") else dim for dim in dims]  # masks count all dimensions
        made.append(scaled(f, operand(f, name, axes_of(own, -1), dtype), name, has, own))
    y = BINARY[alg](*made)
    store(f, "dst", finished(f, y, has, dims, types[2]), " ".join(dims), types[2])
    return end(f, has)


@_once
def prelu(dims: tuple[str, ...], single: tuple[str, ...], back: bool, types: tuple[str, ...]) -> Made:
    """single: axes of which the weights have one element."""
    f = start(["prelu", *dims, "w", *single, "bwd" * back], "src, times weights where it is not positive")
    own = " ".join(dim for dim in dims if dim not in single)
    x, w = operand(f, "src", " ".join(dims), types[0]), operand(f, "wei", own, types[1], "weight")
    if not back:
        store(f, "dst", where(x > 0, x, x * w), " ".join(dims), types[0])
        return end(f)
    dy = operand(f, "diff_dst", " ".join(dims), types[0])
    store(f, "diff_src", where(x > 0, dy, dy * w), " ".join(dims), types[0])
    dw = where(x > 0, 0, dy * x)
    f.output("diff_wei", sum_of(dw, " ".join(single)) if single else dw, own or "1", types[1])
    return end(f)
