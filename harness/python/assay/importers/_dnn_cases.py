# SPDX-License-Identifier: Apache-2.0
"""Problems of benchdnn that become definitions: which one, and what a case states of it."""
from __future__ import annotations

from functools import lru_cache
from typing import Any, Mapping, Sequence

from . import _benchdnn_maps as maps
from . import _dnn_formulas as formulas
from ._cases import NO_FORM, Case, count_elements, demand, find_type, format_number, parse_extents, parse_float
from ._dnn_attributes import _WHOLE, BINARY, TYPES, Attributes, attributes_of
from ._dnn_eltwise import BACKWARD, ELTWISE, FORWARD, function_of
from ._windows import attributes_of as attributes_of_windows

Choice = Mapping[str, str]
_MOST_STEPS = 2**33  # products of a case
# Algorithms whose results are no larger than 1 or their operand, alpha and beta being within 1.
_BOUNDED = frozenset("abs clip clip_v2 elu gelu_erf gelu_tanh hardsigmoid logistic mish relu round sqrt swish tanh".split())


def _case(made: formulas.Made, attrs: Mapping[str, Any], has: Attributes = Attributes()) -> Case:
    data, types = made
    return Case(data["op"], types if len(set(types)) > 1 else types[:1], {**attrs, **has.numbers()}, definition=data)


def _limited(*extents: int) -> None:
    demand(count_elements(extents) <= _MOST_STEPS, f"a definition with more than {_MOST_STEPS} products")


def _attributes(choice: Choice, driver: str, ndims: int, grouped: bool = False) -> Attributes:
    return attributes_of(choice["attr-post-ops"], choice["attr-scales"], choice["attr-zero-points"], driver, ndims, grouped)


def _plain(choice: Choice) -> None:
    demand(not any(choice[key] for key in ("attr-post-ops", "attr-scales", "attr-zero-points")), "attributes of a gradient")


def _remapped(has: Attributes, places: Mapping[int, int]) -> Attributes:
    """Masks of the axes that are left. places: of each former axis that is left."""
    def mask_of(mask: int) -> int:
        made = 0
        for old, new in places.items():
            made |= (mask >> old & 1) << new if mask != _WHOLE else 0
        return mask if mask == _WHOLE else made

    factors = [tuple((name, one._replace(mask=mask_of(one.mask))) for name, one in found) for found in (has.scales, has.zeros)]
    return Attributes(tuple(one._replace(mask=mask_of(one.mask)) for one in has.post_ops), *factors)


def _merged(shape: Sequence[int], marks: Sequence[Any], has: Attributes, first: int = 0) -> tuple[list[int], list[Any], Attributes, dict[int, int]]:
    """Axes of one mark that stand beside each other as one, none of one element: their extents and marks, and masks of these."""
    masks = [one.mask for one in has.post_ops] + [one.mask for _, one in (*has.scales, *has.zeros)]
    extents: list[int] = []
    kept: list[Any] = []
    places: dict[int, int] = {}
    last = None
    for place, (extent, mark) in enumerate(zip(shape, marks)):
        if extent == 1 and mark is not True:  # True: an axis that stays
            continue
        whole = (mark, [mask != _WHOLE and mask >> place & 1 for mask in masks])
        if whole == last and mark is not True:
            extents[-1] *= extent
        else:
            extents.append(extent)
            kept.append(mark)
        last = whole
        places[place] = len(extents) - 1
    return extents, kept, _remapped(has, places), places


def _dims(extents: Sequence[int]) -> dict[str, int]:
    return {f"d{k}": extent for k, extent in enumerate(extents)}


def matmul(choice: Choice, problem: str) -> Case:
    parts = problem.split(":")
    demand(len(parts) in (2, 3), NO_FORM)
    demand(not choice["encoding"], "encoding: sparse tensors")
    a, b = parse_extents(parts[0]), parse_extents(parts[1])
    demand(len(a) == len(b) >= 2 and a[-1] == b[-2], "the shapes of a product do not fit each other")
    types, has = maps.types_of(choice["dt"], 3), _attributes(choice, "matmul", len(a))
    demand(all(x == y or 1 in (x, y) for x, y in zip(a[:-2], b[:-2])), "the shapes of a product do not fit each other")
    shape = [max(x, y) for x, y in zip(a[:-2], b[:-2])]
    bias_mask = maps.parse_mask(choice["bia-mask"]) if choice["bia-dt"] != "undef" else 0
    marks = [("ab" if x == y else "a" if x > y else "b", bias_mask >> place & 1) for place, (x, y) in enumerate(zip(a[:-2], b[:-2]))]
    extents, kept, has, places = _merged([*shape, a[-2], b[-1]], [*marks, True, True], has)
    bias = ("", 0)
    if choice["bia-dt"] != "undef":
        bias = find_type(TYPES, choice["bia-dt"]), sum(1 << new for new in {new for old, new in places.items() if bias_mask >> old & 1})
    groups = [group for name, one in (*has.scales, *has.zeros) for group in _group_of(name, one.groups) if group > 1]
    demand(len(set(groups)) <= 1, "groups of several lengths")
    group = groups[0] if groups else 0
    demand(all(_group_of(name, one.groups) == [group] or not _is_along_k(name, one.mask, len(extents)) for name, one in (*has.scales, *has.zeros)) or not group,
           "factors of each k beside those of groups")
    demand(not group or a[-1] % group == 0, "groups that do not divide k")
    _limited(*extents, a[-1])
    attrs = _dims(extents[:-2]) | {"m": a[-2], "n": b[-1], "k": a[-1] // group if group else a[-1]}
    return _case(formulas.matmul(tuple(mark[0] for mark in kept[:-2]), tuple(types), bias, group, has.structure()), attrs, has)


def _group_of(name: str, groups: Sequence[int]) -> list[int]:
    """Elements of k that share a factor; those of other axes have to be 1."""
    if not groups:
        return []
    demand(len(groups) == 2 and name in ("src", "wei"), "groups along other axes than k")
    along, other = (groups[1], groups[0]) if name == "src" else (groups[0], groups[1])
    demand(other == 1, "groups along other axes than k")
    return [along]


def _is_along_k(name: str, mask: int, ndims: int) -> bool:
    place = {"src": ndims - 1, "wei": ndims - 2}.get(name)
    return place is not None and (mask == _WHOLE or bool(mask >> place & 1))


def _bias(choice: Choice) -> str:
    """f32 unless it is stated."""
    if choice["bia-dt"] != "undef":
        return find_type(TYPES, choice["bia-dt"])
    return "f32" if choice["dir"] in ("FWD_B", "BWD_WB") else ""


def _types(choice: Choice) -> tuple[str, ...]:
    return tuple(maps.types_of(choice["cfg"], 3, "cfg") if choice["cfg"] else maps.types_of(choice["dt"], 3))


def inner_product(choice: Choice, problem: str) -> Case:
    entries, types = maps.read_entries(problem, choice["mb"]), _types(choice)
    demand("oc" in entries, "the descriptor has no oc from 1 on")
    k = count_elements([entries["ic"], maps.count_positions(entries)])
    attrs = {"mb": entries["mb"], "oc": entries["oc"], "k": k}
    _limited(*attrs.values())
    if not choice["dir"].startswith("FWD"):
        demand(choice["dir"] in ("BWD_D", "BWD_W", "BWD_WB"), f"dir={choice['dir'][:40]}: no such direction")
        _plain(choice)
        return _case(formulas.inner_product_backward(choice["dir"] != "BWD_D", types, _bias(choice) if choice["dir"] == "BWD_WB" else ""), attrs)
    has = _attributes(choice, "ip", 2 + len(maps.axes_in(entries)))
    return _case(formulas.inner_product(types, _bias(choice), has.structure()), attrs, has)


@lru_cache(maxsize=1 << 12)
def _windows(problem: str, batch: str, turned: bool = False) -> tuple[str, dict[str, int]]:
    """The image's axes, and the extents and windows of a problem, which meets many choices. turned: source and result change places."""
    entries = maps.read_entries(problem, batch)
    if turned:
        names = {what + axis: other + axis for what, other in ("io", "oi") for axis in "dhw"}
        demand(any("o" + axis in entries for axis in "dhw"), "the descriptor has no extent of the result")
        entries = {names.get(key, key): value for key, value in entries.items()}
    found = maps.deduce_axes(entries)
    axes = "dhw"[3 - len(found):]
    demand(min(one.o for one in found) >= 1, "no window fits into the padded image")
    extents = {f"{what}{axis}": getattr(one, what) for what in "iok" for axis, one in zip(axes, found)}
    return axes, extents | dict(attributes_of_windows(axes, *zip(*((one.stride, one.pad, one.dilation) for one in found))))


@lru_cache(maxsize=1 << 12)
def _convolution(problem: str, batch: str, turned: bool = False) -> tuple[str, bool, dict[str, int]]:
    """The image's axes, whether there are groups, and what a case states."""
    entries = maps.read_entries(problem, batch)
    g, ic, oc = entries["g"], entries["ic"], entries.get("oc", 0)
    demand(oc and oc % g == 0 and ic % g == 0, "the groups do not divide the channels")
    axes, windows = _windows(problem, batch, turned)
    attrs = {"mb": entries["mb"], "g": g, "ic": ic // g, "oc": oc // g} | windows
    _limited(*(attrs[key] for key in ("mb", "g", "ic", "oc")), *(attrs[what + axis] for what in "ok" for axis in axes))
    return axes, g > 1, attrs


def conv(choice: Choice, problem: str) -> Case:
    axes, grouped, attrs = _convolution(problem, choice["mb"])
    types = _types(choice)
    if not choice["dir"].startswith("FWD"):
        demand(choice["dir"] in ("BWD_D", "BWD_W", "BWD_WB"), f"dir={choice['dir'][:40]}: no such direction")
        _plain(choice)
        return _case(formulas.conv_backward(axes, choice["dir"] != "BWD_D", types, _bias(choice) if choice["dir"] == "BWD_WB" else ""), attrs)
    has = _attributes(choice, "conv", 2 + len(axes), grouped)
    return _case(formulas.conv(axes, False, types, _bias(choice), has.structure()), attrs, has)


def deconv(choice: Choice, problem: str) -> Case:
    demand(choice["dir"].startswith("FWD"), f"dir={choice['dir'][:40]}: a gradient")
    axes, grouped, attrs = _convolution(problem, choice["mb"], True)
    has = _attributes(choice, "deconv", 2 + len(axes), grouped)
    return _case(formulas.conv(axes, True, _types(choice), _bias(choice), has.structure()), attrs, has)


def pool(choice: Choice, problem: str) -> Case:
    demand(choice["dir"].startswith("FWD"), f"dir={choice['dir'][:40]}: a gradient")
    entries = maps.read_entries(problem, choice["mb"])
    kind = {"pooling_max": "max", "pooling_avg_include_padding": "avg_p", "pooling_avg_exclude_padding": "avg_np"}.get(choice["alg"], choice["alg"])
    demand(kind in ("max", "avg_p", "avg_np"), f"no pool {kind[:40]} here")
    axes, windows = _windows(problem, choice["mb"])
    for axis in axes:  # a window of padding alone has no maximum, and a mean of nothing
        first, last = -windows[f"pad_{axis}"], (windows[f"o{axis}"] - 1) * windows[f"stride_{axis}"] - windows[f"pad_{axis}"]
        demand(first + (windows[f"k{axis}"] - 1) * windows[f"dilation_{axis}"] >= 0 and last < windows[f"i{axis}"], "windows of padding alone")
    has = _attributes(choice, "pool", 2 + len(axes))
    types = maps.types_of(choice["dt"], 2)
    return _case(formulas.pool(axes, kind, tuple(types), has.structure()), {"mb": entries["mb"], "c": entries["ic"]} | windows, has)


def softmax(choice: Choice, problem: str) -> Case:
    shape, axis = maps.shape_with(problem, choice["mb"]), maps.parse_mask(choice["axis"])
    demand(0 <= axis < len(shape), f"axis={axis} of {len(shape)} axes")
    types, log = (find_type(TYPES, choice["sdt"]), find_type(TYPES, choice["ddt"])), choice["alg"] in ("logsoftmax", "softmax_log")
    demand(log or choice["alg"] in ("softmax", "softmax_accurate"), f"no softmax {choice['alg'][:40]} here")
    if not choice["dir"].startswith("FWD"):
        _plain(choice)
        return _case(formulas.softmax_backward(log, types), {"outer": count_elements(shape[:axis] or [1]), "n": shape[axis],
                                                             "inner": count_elements(shape[axis + 1:] or [1])})
    has = _attributes(choice, "softmax", len(shape))
    extents, kept, has, _ = _merged(shape, [place == axis or "other" for place in range(len(shape))], has)
    names = ["n" if mark is True else f"d{k}" for k, mark in enumerate(kept)]
    return _case(formulas.softmax(tuple(names), "n", log, types, has.structure()), dict(zip(names, extents)), has)


def reduction(choice: Choice, problem: str) -> Case:
    parts = problem.split(":")
    demand(len(parts) == 2, NO_FORM)
    x, y = parse_extents(parts[0]), parse_extents(parts[1])
    demand(len(x) == len(y) and all(b in (a, 1) for a, b in zip(x, y)) and x != y, "no axis is reduced")
    kind = {"mul": "prod"}.get(choice["alg"], choice["alg"])
    is_norm = kind.startswith("norm_lp_")
    demand(kind in ("sum", "mean", "max", "min", "prod", "norm_lp_max", "norm_lp_sum", "norm_lp_power_p_max", "norm_lp_power_p_sum"), f"no reduction {kind[:40]} here")
    has = _attributes(choice, "reduction", len(x))
    extents, kept, has, _ = _merged(x, ["r" if a != b else "d" for a, b in zip(x, y)], has)
    names = [f"{mark}{k}" for k, mark in enumerate(kept)]
    attrs: dict[str, Any] = dict(zip(names, extents))
    if is_norm:
        p, eps = parse_float(choice["p"]), parse_float(choice["eps"] or "0")
        demand(p and p >= 1 and eps is not None, "p or eps is no number that a norm has")
        attrs |= {"p": format_number(p), "eps": format_number(eps)}
    types = find_type(TYPES, choice["sdt"]), find_type(TYPES, choice["ddt"])
    demand(kind != "prod" or types[0] not in ("i8", "u8", "i32"), "products of integers, which leave the range of their types")
    case = _case(formulas.reduction(tuple(names), kind, types, has.structure()), attrs, has)
    case.fill = "near_one" if kind == "prod" else "normal"
    return case


def _norm(choice: Choice) -> tuple[str, tuple[str, ...], str]:
    flags = choice["flags"].upper()
    demand(set(flags) <= set("GCH"), f"flags={flags[:40]}: there are G, C and H")
    return "".join(sorted(flags)), tuple(maps.types_of(choice["dt"], 2)), find_type(TYPES, choice["ss-dt"])


def _without_masks(choice: Choice, driver: str, ndims: int) -> Attributes:
    has = _attributes(choice, driver, ndims)
    demand(not any(one.mask for one in has.post_ops) and not has.zeros and all(one.mask == 0 for _, one in has.scales), "factors of each channel behind a norm")
    return has


def layer_norm(choice: Choice, problem: str) -> Case:
    shape, (flags, types, of_scale) = parse_extents(problem), _norm(choice)
    demand(len(shape) >= 2, NO_FORM)
    attrs = {"rows": count_elements(shape[:-1]), "n": shape[-1]}
    if choice["dir"] in ("BWD_D", "BWD_DW"):
        _plain(choice)
        return _case(formulas.layer_norm_backward(flags, choice["dir"] == "BWD_DW", types, of_scale), attrs)
    demand(choice["dir"] in ("FWD_D", "FWD_I"), f"dir={choice['dir'][:40]}: no such direction")
    has = _without_masks(choice, "lnorm", len(shape))
    return _case(formulas.layer_norm(flags, choice["dir"] == "FWD_D", types, of_scale, has.structure()), attrs, has)


def group_norm(choice: Choice, problem: str) -> Case:
    demand(choice["dir"] in ("FWD_D", "FWD_I"), f"dir={choice['dir'][:40]}: a gradient")
    entries, (flags, types, of_scale) = maps.read_entries(problem, choice["mb"]), _norm(choice)
    groups, channels, positions = entries["g"], entries["ic"], maps.count_positions(entries)
    demand(channels % groups == 0, "the groups do not divide the channels")
    has = _without_masks(choice, "gnorm", 4)
    attrs = {"mb": entries["mb"], "g": groups, "c": channels // groups, "n": positions}
    return _case(formulas.group_norm(flags, choice["dir"] == "FWD_D", types, of_scale, has.structure()), attrs, has)


def eltwise(choice: Choice, problem: str) -> Case:
    shape, alg = maps.shape_with(problem, choice["mb"]), choice["alg"].removeprefix("eltwise_")
    demand(alg in ELTWISE, f"no elementwise operator {alg[:40]} here")
    numbers, count = [parse_float(choice[key]) for key in ("alpha", "beta")], ELTWISE[alg]
    demand(None not in numbers, "alpha or beta is no finite number")
    stated = {name: format_number(value) for name, value in zip(("alpha", "beta")[:count], numbers)}
    demand(alg != "soft_relu" or numbers[0], "alpha=0 of soft_relu, which divides by it")
    demand(not alg.startswith("clip") or numbers[0] <= numbers[1], "alpha above beta of clip")
    dtype = maps.types_of(choice["dt"], 1)[0]
    if choice["dir"] == "BWD_D":
        _plain(choice)
        demand(alg in BACKWARD and dtype[0] != "i" and dtype != "u8", f"no gradient of {alg} here")
        demand(alg not in ("relu_dst", "elu_dst") or numbers[0] >= 0, f"a negative alpha of {alg}, which oneDNN does not support")
        return _case(formulas.eltwise_backward(alg, count, dtype), {"n": count_elements(shape)} | stated)
    demand(choice["dir"].startswith("FWD") and function_of(alg) in FORWARD, f"dir={choice['dir'][:40]}: no such direction")
    has = _attributes(choice, "eltwise", len(shape))
    extents, _, has, _ = _merged(shape, [""] * len(shape), has)
    extents = extents or [1]
    bounded = function_of(alg) in _BOUNDED and has == Attributes() and max(map(abs, numbers)) <= 1
    return _case(formulas.eltwise(tuple(_dims(extents)), function_of(alg), count, (dtype, dtype), bounded, has.structure()), _dims(extents) | stated, has)


def binary(choice: Choice, problem: str) -> Case:
    parts = problem.split(":")
    demand(len(parts) == 2, NO_FORM)
    a, b = parse_extents(parts[0]), parse_extents(parts[1])
    b += [1] * (len(a) - len(b))
    demand(len(a) == len(b) and all(x == y or 1 in (x, y) for x, y in zip(a, b)), "shapes that do not broadcast")
    alg, sources = choice["alg"], maps.types_of(choice["sdt"], 2)
    demand(alg in BINARY, f"no binary operator {alg[:40]} here")
    demand(alg not in ("eq", "ne") or "i" not in "".join(sources) and "u8" not in sources, f"{alg} of integers: those that are drawn are seldom equal")
    has = _attributes(choice, "binary", len(a))
    marks = ["ab" if x == y else "a" if x > y else "b" for x, y in zip(a, b)]
    extents, kept, has, _ = _merged([max(x, y) for x, y in zip(a, b)], marks, has)
    extents, kept = (extents, kept) if extents else ([1], ["ab"])
    names = tuple(_dims(extents))
    lacks = tuple("_".join(name for name, mark in zip(names, kept) if who not in mark) for who in "ab")
    types = (*sources, find_type(TYPES, choice["ddt"]))
    return _case(formulas.binary(names, lacks, alg, types, has.structure()), _dims(extents), has)


def prelu(choice: Choice, problem: str) -> Case:
    _plain(choice)
    parts = problem.split(":")
    demand(len(parts) == 2, NO_FORM)
    a, b = parse_extents(parts[0]), parse_extents(parts[1])
    demand(len(a) == len(b) and all(y in (x, 1) for x, y in zip(a, b)), "shapes that do not broadcast")
    extents, kept, _, _ = _merged(a, [x == y and "both" or "one" for x, y in zip(a, b)], Attributes())
    extents, kept = (extents, kept) if extents else ([1], ["both"])
    names, types = tuple(_dims(extents)), tuple(maps.types_of(choice["sdt"], 2))
    back = not choice["dir"].startswith("FWD")
    demand("i32" not in types and not (back and set(types) & {"i8", "u8"}), "integers whose products or sums leave their type")
    single = tuple(name for name, mark in zip(names, kept) if mark == "one")
    return _case(formulas.prelu(names, single, back, types), _dims(extents))
