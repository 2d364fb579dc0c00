# SPDX-License-Identifier: Apache-2.0
"""Maps a problem of benchdnn's drivers and one choice of its options to a case."""
from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Mapping, NamedTuple

from ._cases import (LARGEST_EXTENT, NO_EXTENT, NO_FORM, Case, Unmapped, as_rows, count_elements, demand, find_type,
                     join_axes, join_dims, parse_extent, parse_extents, parse_integer)

from ._dnn_attributes import TYPES
from ._windows import count_outputs

Choice = Mapping[str, str]

_ENTRY = re.compile("_*([^0-9]*)([0-9]*)")
_KNOWN = {"g", "mb", "ic", "oc"} | {what + axis for what in "iokspd" for axis in "dhw"}


# A problem meets many choices of the options; what it says is read once.
_once = lru_cache(maxsize=1 << 16)


@_once
def types_of(text: str, count: int, option: str = "dt") -> list[str]:
    """The types of "f16:f16:f32", or one for all tensors; --cfg has "u8s8s32"."""
    names = text.split(":") if option == "dt" else re.findall("bf[^fbsu]*|.[^fbsu]*", text, re.S)
    types = [find_type(TYPES, name) for name in names]
    number = {2: "two", 3: "three"}.get(count) if option == "cfg" else count
    demand(len(types) in (1, count), f"--{option} has not one type or {number}")
    return types if len(types) == count else types * count


def _demand_forward(choice: Choice) -> None:
    demand(choice["dir"].startswith("FWD"), f"dir={choice['dir']}: this gradient is no operator here")


def parse_mask(text: str) -> int:
    """A small number: a mask of axes, or an axis."""
    value = parse_integer(text)
    demand(value is not None and 0 <= value < 1 << 16, f"{text[:40]} is no number of axes")
    return value


def shape_with(problem: str, batch: str) -> list[int]:
    shape = parse_extents(problem)
    if batch not in ("", "0"):
        shape[0] = parse_extent(batch)
    return shape


def _batched_product(a: list[int], b: list[int], transa: bool) -> dict[str, Any]:
    """Batches of both operands that are equal, or rows of a that all meet one b."""
    demand(len(a) == len(b) and a[-1] == b[-2], "the shapes of a product do not fit each other")
    batch = count_elements(a[:-2])
    sizes = {"m": a[-2], "n": b[-1], "k": a[-1]}
    if a[:-2] == b[:-2]:
        return sizes | {"batch": batch}
    demand(all(extent == 1 for extent in b[:-2]) and not transa, "operands are repeated over the batch")
    return sizes | {"m": count_elements([batch, a[-2]])}


def map_matmul(choice: Choice, problem: str) -> Case:
    parts = problem.split(":")
    demand(len(parts) in (2, 3), NO_FORM)
    a, b = parse_extents(parts[0]), parse_extents(parts[1])
    demand(len(a) >= 2 and len(b) >= 2, NO_FORM)
    demand(not choice["encoding"], "encoding: sparse tensors")
    types = types_of(choice["dt"], 3)
    bias, transa = choice["bia-dt"] != "undef", choice["stag"] == "transposed"
    demand(not bias or choice["bia-dt"] == choice["dt"].split(":")[-1], "the bias has another type than the output")
    demand(not bias or parse_integer(choice["bia-mask"]) == 1 << len(a) - 1, "the bias does not go along n alone")
    return Case("matmul", types, _batched_product(a, b, transa) | {
        "transa": int(transa), "transb": int(choice["wtag"] == "transposed"), "bias": int(bias)})


@_once
def read_entries(descriptor: str, batch: str) -> Mapping[str, int]:
    """The numbers of ic3ih8oc4oh8kh3ph1."""
    entries: dict[str, int] = {}
    at = len(descriptor) - len(descriptor.lstrip("_"))
    while at < len(descriptor):
        match = _ENTRY.match(descriptor, at)
        at = match.end()
        key, digits = match.groups()
        if not key and not digits:
            break  # underscores at the end
        value = parse_integer(digits)
        demand(key in _KNOWN and value is not None, NO_FORM)
        demand(value <= LARGEST_EXTENT, NO_EXTENT)
        entries[key] = value
    entries = {"mb": 2, "g": 1} | entries
    if batch not in ("", "0"):
        entries["mb"] = parse_extent(batch)
    for key in ("mb", "g", "ic"):
        demand(entries.get(key, 0) >= 1, f"the descriptor has no {key} from 1 on")
    return entries


def axes_in(entries: Mapping[str, int]) -> str:
    """The axes "dhw", "hw" or "w", from the first that has an entry."""
    return next((axes for axes in ("dhw", "hw", "w") if any(what + axes[0] in entries for what in "iko")), "")


class _Axis(NamedTuple):
    i: int
    k: int
    stride: int
    pad: int
    dilation: int  # 1 for dense kernels
    o: int  # windows, of which the last ones may reach into padding of another width


def _deduce_axis(entries: Mapping[str, int], axis: str) -> _Axis:
    """An axis as it is stated and deduced: the output from the padding, or the padding from the output."""
    i, k, stride = entries.get("i" + axis, 0), entries.get("k" + axis, 0), entries.get("s" + axis, 1)
    dilation, o = entries.get("d" + axis, 0) + 1, entries.get("o" + axis, 0)
    demand(min(i, k, stride) >= 1, f"the descriptor lacks i{axis}, k{axis} or s{axis}")
    reach = (k - 1) * dilation + 1
    demand(reach <= LARGEST_EXTENT, NO_EXTENT)
    deduced = max((o - 1) * stride - i + reach, 0) // 2 if o > 0 else 0
    pad = entries.get("p" + axis, deduced)
    demand(pad <= LARGEST_EXTENT, NO_EXTENT)
    return _Axis(i, k, stride, pad, dilation, o or count_outputs(i, k, stride, 2 * pad, dilation))


def deduce_axes(entries: Mapping[str, int]) -> list[_Axis]:
    axes: list[_Axis] = []
    for axis in axes_in(entries):
        is_stated = any(what + axis in entries for what in "iko")
        axes.append(_deduce_axis(entries, axis) if is_stated or not axes else axes[-1])  # square, or a cube
    demand(axes, "the descriptor has no extent of an image")
    return axes


def count_positions(entries: Mapping[str, int]) -> int:
    """The product of the image's extents; 1 without an image."""
    extents: list[int] = []
    for axis in axes_in(entries):
        demand("i" + axis in entries or extents, "the descriptor has no extent of an image")
        extents.append(entries.get("i" + axis) or extents[-1] if extents else entries["i" + axis])
    return count_elements(extents)


def _types_of_weights(choice: Choice) -> list[str]:
    _demand_forward(choice)
    return types_of(choice["cfg"], 3, "cfg") if choice["cfg"] else types_of(choice["dt"], 3)


def _bias_of_weights(choice: Choice) -> int:
    return int(choice["dir"] == "FWD_B" or choice["bia-dt"] != "undef")


@_once
def _windows(problem: str, batch: str) -> Mapping[str, str]:
    """Extents, strides and paddings, which are equal at both ends."""
    axes = deduce_axes(read_entries(problem, batch))
    even = all(one.o == count_outputs(one.i, one.k, one.stride, 2 * one.pad, one.dilation) for one in axes)
    demand(even, "padding that differs between both ends")
    return dict(zip(("i", "k", "stride", "pad", "dilation"), map(join_dims, zip(*axes))))


def map_conv(choice: Choice, problem: str) -> Case:
    types, entries = _types_of_weights(choice), read_entries(problem, choice["mb"])
    demand("oc" in entries, "the descriptor has no oc from 1 on")
    return Case("conv", types, {"n": entries["mb"], "c": entries["ic"], "o": entries["oc"], **_windows(problem, choice["mb"]),
                                "groups": entries["g"], "bias": _bias_of_weights(choice)})


def map_inner_product(choice: Choice, problem: str) -> Case:
    types, entries = _types_of_weights(choice), read_entries(problem, choice["mb"])
    demand("oc" in entries, "the descriptor has no oc from 1 on")
    k = count_elements([entries["ic"], count_positions(entries)])
    return Case("matmul", types, {"m": entries["mb"], "n": entries["oc"], "k": k, "transb": 1,
                                  "bias": _bias_of_weights(choice)})


def map_softmax(choice: Choice, problem: str) -> Case:
    shape = shape_with(problem, choice["mb"])
    x, y = find_type(TYPES, choice["sdt"]), find_type(TYPES, choice["ddt"])
    log, axis = choice["alg"] in ("logsoftmax", "softmax_log"), choice["axis"]
    if choice["dir"].startswith("FWD"):
        return Case("softmax", [x, y], {"shape": join_dims(shape), "axis": axis, "log": int(log)})
    demand(not log and axis == str(len(shape) - 1), "dir=BWD_D: here is only the gradient of a softmax along the last axis")
    return Case("softmax_backward", [y, y, x], as_rows(shape))


def map_reduction(choice: Choice, problem: str) -> Case:
    parts = problem.split(":")
    demand(len(parts) == 2, NO_FORM)
    x_shape, y_shape = parse_extents(parts[0]), parse_extents(parts[1])
    axes = [i for i, pair in enumerate(zip(x_shape, y_shape)) if pair[0] != pair[1]]
    demand(len(x_shape) == len(y_shape) and all(y_shape[i] == 1 for i in axes),
           "the shapes of a reduction do not fit each other")
    demand(axes, "no axis is reduced")
    kind = {"mul": "prod"}.get(choice["alg"], choice["alg"])
    if (kind, choice["p"], choice["eps"]) == ("norm_lp_sum", "2", ""):
        kind = "l2"
    demand(kind in ("sum", "mean", "max", "min", "prod", "l2"), f"no reduction {kind} here")
    types = [find_type(TYPES, choice["sdt"]), find_type(TYPES, choice["ddt"])]
    return Case("reduce", types, {"shape": join_dims(x_shape), "axes": join_axes(axes), "kind": kind, "keepdims": 1},
                "near_one" if kind == "prod" else "normal")


def _demand_scale_and_shift(choice: Choice) -> None:
    flags = choice["flags"]
    demand("G" not in flags, "flags=G: mean and variance come from outside")
    demand("C" in flags and "H" in flags, f"flags={flags}: a norm here has scale and shift")


def _norm_types(choice: Choice, between: int) -> list[str]:
    x, y = types_of(choice["dt"], 2)
    return [x, *[find_type(TYPES, choice["ss-dt"])] * between, y]


def map_layer_norm(choice: Choice, problem: str) -> Case:
    shape = parse_extents(problem)
    _demand_scale_and_shift(choice)
    if choice["dir"] == "BWD_DW":
        dy, *others = _norm_types(choice, 4)
        return Case("layer_norm_backward", [dy, dy, *others[1:]], as_rows(shape))
    _demand_forward(choice)
    return Case("layer_norm", _norm_types(choice, 2), as_rows(shape))


def map_group_norm(choice: Choice, problem: str) -> Case:
    _demand_forward(choice)
    _demand_scale_and_shift(choice)
    entries = read_entries(problem, choice["mb"])
    groups, channels, positions = entries["g"], entries["ic"], count_positions(entries)
    demand(channels % groups == 0, "the groups do not divide the channels")
    return Case("group_norm", _norm_types(choice, 2), {"b": entries["mb"], "g": groups, "c": channels // groups,
                                                       "n": positions})


def map_eltwise(choice: Choice, problem: str) -> Case:
    _demand_forward(choice)
    elements = {"n": count_elements(shape_with(problem, choice["mb"]))}
    types, alg = types_of(choice["dt"], 1), choice["alg"]
    if alg in ("exp", "log", "tanh"):
        return Case(alg, types, elements)
    if alg in ("gelu_erf", "gelu_tanh"):
        return Case("gelu", types, elements | {"approx": "none" if alg == "gelu_erf" else "tanh"})
    raise Unmapped(f"no elementwise operator {alg} here")
