# SPDX-License-Identifier: Apache-2.0
"""benchdnn's attributes, as its documentation of knobs has them, and oneDNN's formulas of post-ops, scales and zero points.
The structure of an attribute makes a definition; its numbers are attributes of a case."""
from __future__ import annotations

from functools import lru_cache
from typing import Callable, NamedTuple, Optional, Sequence

from . import _formulas as fn
from ._cases import Unmapped, demand, find_type, format_number, parse_float, parse_integer
from ._dnn_eltwise import ELTWISE, FORWARD, function_of
from ._formulas import Formula, Term, apply, sum_of, where

TYPES = {"f64": "f64", "f32": "f32", "f16": "f16", "bf16": "bf16", "f8_e4m3": "e4m3", "f8_e5m2": "e5m2", "s8": "i8",
         "u8": "u8", "s32": "i32"}
_BINARY: dict[str, Callable[[Term, Term], Term]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y, "max": fn.maximum,
    "min": fn.minimum, "eq": lambda x, y: where(apply("equal", x, y), 1, 0), "ne": lambda x, y: where(apply("not_equal", x, y), 1, 0),
    "ge": lambda x, y: where(x >= y, 1, 0), "gt": lambda x, y: where(x > y, 1, 0), "le": lambda x, y: where(x <= y, 1, 0),
    "lt": lambda x, y: where(x < y, 1, 0)}
BINARY = _BINARY
_WHOLE = -1  # a mask of all axes


class PostOp(NamedTuple):
    kind: str  # sum, prelu, binary or eltwise
    name: str
    dtype: str = ""  # of its operand; "": that of the destination
    mask: int = 0
    numbers: tuple[float, ...] = ()


class Factor(NamedTuple):
    """Scales or zero points of an argument."""
    mask: int
    value: Optional[float]  # of a common one
    dtype: str
    groups: tuple[int, ...]


class Attributes(NamedTuple):
    post_ops: tuple[PostOp, ...] = ()
    scales: tuple[tuple[str, Factor], ...] = ()
    zeros: tuple[tuple[str, Factor], ...] = ()

    @property
    def masks(self) -> list[int]:
        return [one.mask for one in self.post_ops] + [one.mask for name, one in (*self.scales, *self.zeros) if name == "dst"]

    def structure(self) -> Attributes:
        """All that makes a definition another one: without numbers, which are attributes of a case."""
        def plain(factors: tuple[tuple[str, Factor], ...]) -> tuple[tuple[str, Factor], ...]:
            return tuple((name, one._replace(value=None if one.value is None else 1.0)) for name, one in factors)
        return Attributes(tuple(one._replace(numbers=()) for one in self.post_ops), plain(self.scales), plain(self.zeros))

    def words(self) -> list[str]:
        """s_src: a number. sv_src, sv_src_2: an operand, with its mask, which src1 would run into without the line between them."""
        made = [f"{one.name}{mask_word(one.mask)}" for one in self.post_ops]
        return made + [f"{what}_{name}" if one.value is not None else "_".join(filter(None, (f"{what}v", name, mask_word(one.mask))))
                       for what, factors in (("s", self.scales), ("z", self.zeros)) for name, one in factors]

    def numbers(self) -> dict[str, str]:
        """Attributes of a case."""
        made = {}
        for k, one in enumerate(self.post_ops):
            made |= {f"{name}{k}": format_number(value) for name, value in zip(names_of(one), one.numbers)}
        for what, factors in (("scale", self.scales), ("zero", self.zeros)):
            made |= {f"{what}_{name}": format_number(one.value) for name, one in factors if one.value is not None}
        return made


def mask_word(mask: int) -> str:
    return "" if mask == 0 else "all" if mask == _WHOLE else str(mask)


def names_of(one: PostOp) -> list[str]:
    if one.kind == "sum":
        return ["scale", "zero"]
    return ["alpha", "beta"][:ELTWISE[one.name]] if one.kind == "eltwise" else []


@lru_cache(maxsize=1 << 14)
def _mask(policy: str, of_weights: bool, driver: str, ndims: int, grouped: bool) -> int:
    """A mask of the argument's axes, as benchdnn deduces it from a policy."""
    if policy.isdecimal() and len(policy) < 10:
        mask = int(policy)
        return _WHOLE if mask >= (1 << ndims) - 1 else mask
    usual = {"common": 0, "per_tensor": _WHOLE, "per_dim_0": 1, "per_dim_1": 2, "per_oc": 2, "per_dim_01": 3, "per_ocic": 3, "per_dim_2": 4, "per_dim_3": 8}
    demand(policy in usual, f"no policy {policy[:40]} here")
    if driver == "matmul" and policy in ("per_dim_1", "per_oc", "per_ocic"):
        return (1 << ndims - 1) + (1 << ndims - 2) * (policy == "per_ocic")
    if driver in ("conv", "deconv", "ip") and of_weights and policy != "common":
        demand(policy == "per_oc", f"scales of weights {policy}")
        return 3 if grouped else 1
    return usual[policy]


def _number(text: str) -> float:
    value = parse_float(text.rstrip("*"))
    if value is None:
        raise Unmapped(f"{text[:40]} is no finite number")
    return value


def _post_op(text: str, driver: str, ndims: int) -> PostOp:
    name, *parts = text.split(":")
    plain = name.removeprefix("eltwise_").removeprefix("binary_").lower()
    if plain == "sum":
        demand(len(parts) <= 3, f"post-op {text[:40]}")
        scale, zero = (_number(part) if part else usual for part, usual in zip([*parts[:2], "", ""], (1.0, 0.0)))
        return PostOp("sum", "sum", find_type(TYPES, parts[2]) if len(parts) > 2 else "", _WHOLE, (scale, zero))
    if plain == "prelu":
        demand(len(parts) <= 1, f"post-op {text[:40]}")
        return PostOp("prelu", "prelu", "f32", _mask(parts[0] if parts else "common", False, driver, ndims, False))
    if plain in _BINARY:
        demand(1 <= len(parts) <= 3, f"post-op {text[:40]}")
        return PostOp("binary", plain, find_type(TYPES, parts[0]), _mask(parts[1] if len(parts) > 1 else "common", False, driver, ndims, False))
    demand(plain in ELTWISE, f"no post-op {plain[:40]} here")
    # benchdnn reads alpha and beta alone; a scale behind them is left over from earlier versions.
    numbers = [_number(part) for part in parts[:2]] + [0.0] * 2
    return PostOp("eltwise", function_of(plain), "", 0, tuple(numbers[:ELTWISE[plain]]))


def _factors(text: str, what: str, usual: str, driver: str, ndims: int, grouped: bool) -> tuple[tuple[str, Factor], ...]:
    found = {}
    for one in text.split("+"):
        name, policy, *parts = [*one.split(":"), ""][:max(2, one.count(":") + 1)]
        name = {"src0": "src"}.get(name, name)
        demand(name in ("src", "wei", "dst", "src1"), f"{what} of {name[:40]}")
        value = None
        if policy == "common":
            demand(parts, f"{what}: a common one without its value")
            value = _number(parts.pop(0))
        dtype = find_type(TYPES, parts[0]) if parts and parts[0] else usual
        groups = tuple(parse_integer(part) or 0 for part in parts[1].split("x")) if len(parts) > 1 and parts[1] else ()
        demand(all(group >= 1 for group in groups) and len(parts) <= 2, f"{what}: groups that are no numbers")
        found[name] = Factor(_mask(policy, name == "wei", driver, ndims, grouped), value, dtype, groups)
    return tuple(found.items())


@lru_cache(maxsize=1 << 14)
def attributes_of(post_ops: str, scales: str, zeros: str, driver: str, ndims: int, grouped: bool = False) -> Attributes:
    return Attributes(tuple(_post_op(one, driver, ndims) for one in post_ops.split("+")) if post_ops else (),
                      _factors(scales, "attr-scales", "f32", driver, ndims, grouped) if scales else (),
                      _factors(zeros, "attr-zero-points", "i32", driver, ndims, grouped) if zeros else ())


def axes_of(dims: Sequence[str], mask: int) -> str:
    """Axes of the dimensions that a mask names; dims has those of each, which may be several or none."""
    return " ".join(dim for place, dim in enumerate(dims) if dim and (mask == _WHOLE or mask >> place & 1))


_INTEGERS = ("i8", "u8", "i32")


def operand(f: Formula, name: str, axes: str, dtype: str, role: str = "data") -> Term:
    """An input, whose type joins the list of the definition's types. Of no axis: one element. oneDNN computes attributes in f32, which
    holds integers of 8 bits as they are, so that no register of integers limits what is computed."""
    f.types[0] = f"{f.types[0]}-{dtype}" if f.types[0] else dtype
    x = f.input(name, axes, role) if axes else sum_of(f.input(name, f"1#{name}", role), f"1#{name}")
    return x if f.whole or dtype not in _INTEGERS else f.node("round", [x], type="f32")


def factor_of(f: Formula, what: str, name: str, one: Factor, dims: Sequence[str]) -> Term:
    if one.value is not None:
        return f.real(f"{what}_{name}", 1) if what == "scale" else f.integer(f"{what}_{name}", 0)
    return operand(f, f"{what}_{name}", axes_of(dims, one.mask), one.dtype, "weight" if what == "scale" else "zero")


def centred(f: Formula, x: Term, name: str, has: Attributes, dims: Sequence[str]) -> Term:
    """x less its zero points."""
    zeros = dict(has.zeros)
    return x - factor_of(f, "zero", name, zeros[name], dims) if name in zeros else x


def scaled(f: Formula, x: Term, name: str, has: Attributes, dims: Sequence[str]) -> Term:
    scales = dict(has.scales)
    return x * factor_of(f, "scale", name, scales[name], dims) if name in scales else x


def is_along(name: str, has: Attributes, place: int) -> bool:
    """Whether an argument's scales differ along a dimension."""
    one = dict(has.scales).get(name)
    return one is not None and (one.mask == _WHOLE or bool(one.mask >> place & 1))


def finished(f: Formula, y: Term, has: Attributes, dims: Sequence[str], dtype: str) -> Term:
    """post-ops(y) / scale + zero of the destination."""
    for k, one in enumerate(has.post_ops):
        numbers = [f.integer(f"zero{k}", 0) if name == "zero" else f.real(f"{name}{k}", 1) for name in names_of(one)]
        axes = axes_of(dims, one.mask)
        if one.kind == "sum":
            y = y + numbers[0] * (operand(f, f"sum{k}", axes, one.dtype or dtype, "offset") - numbers[1])
        elif one.kind == "binary":
            role = {"mul": "weight", "div": "weight", "add": "offset", "sub": "offset"}.get(one.name, "data")
            y = _BINARY[one.name](y, operand(f, f"{one.name}{k}", axes, one.dtype, role))
        elif one.kind == "prelu":
            y = where(y > 0, y, y * operand(f, f"prelu{k}", axes, one.dtype, "weight"))
        else:
            y = FORWARD[one.name](y, *numbers)
    zeros, scales = dict(has.zeros), dict(has.scales)
    if "dst" in scales:
        y = y / factor_of(f, "scale", "dst", scales["dst"], dims)
    return y + factor_of(f, "zero", "dst", zeros["dst"], dims) if "dst" in zeros else y


def store(f: Formula, name: str, y: Term, axes: str, dtype: str, bounded: bool = False) -> None:
    """The first output: integers are rounded to the nearest, and saturate; whole sums in i32 are what they are. bounded: no result is
    larger than the operands can be."""
    demand(bounded or dtype not in ("e4m3", "e5m2"), "results in 8 bits of floating point, whose overflow oneDNN leaves open")
    f.types[0] += f"-{dtype}"
    f.output(name, y, axes, saturates=dtype in _INTEGERS and not f.whole)
