# SPDX-License-Identifier: Apache-2.0
"""Definitions of operators that assay lacks (DEFINITIONS.md), written with axes by their names: operands that lack an axis are the
same along it. One definition serves every case of its structure, since a case states the extents of its axes and its attributes."""
from __future__ import annotations

from typing import Any, Iterable, Mapping, Sequence, Union

from .._traced import Exact, _number

Number = Union[int, float]


class Term:
    """A value of a formula: an operand, an attribute or a node."""

    def __init__(self, formula: Formula, name: str) -> None:
        self.formula, self.name = formula, name

    def __add__(self, y: Any) -> Term: return apply("add", self, y)
    def __radd__(self, y: Any) -> Term: return apply("add", y, self)
    def __sub__(self, y: Any) -> Term: return apply("subtract", self, y)
    def __rsub__(self, y: Any) -> Term: return apply("subtract", y, self)
    def __mul__(self, y: Any) -> Term: return apply("multiply", self, y)
    def __rmul__(self, y: Any) -> Term: return apply("multiply", y, self)
    def __truediv__(self, y: Any) -> Term: return apply("divide", self, y)
    def __rtruediv__(self, y: Any) -> Term: return apply("divide", y, self)
    def __neg__(self) -> Term: return apply("negative", self)
    def __lt__(self, y: Any) -> Term: return apply("less", self, y)
    def __le__(self, y: Any) -> Term: return apply("less_equal", self, y)
    def __gt__(self, y: Any) -> Term: return apply("less", y, self)
    def __ge__(self, y: Any) -> Term: return apply("less_equal", y, self)


class Formula:
    """A definition in the making. axes: names, extents such as "32", and multiples such as "2*n"."""

    def __init__(self, op: str, doc: str, types: Iterable[str]) -> None:
        self.op, self.doc, self.types = op, doc, list(types)
        self.whole = False  # integers alone, up to the result
        self._axes: dict[str, dict[str, Any]] = {}
        self._attributes: list[dict[str, Any]] = []
        self._inputs: list[dict[str, Any]] = []
        self._nodes: list[dict[str, Any]] = []
        self._outputs: list[dict[str, Any]] = []

    def axes(self, text: str) -> list[str]:
        for word in text.split():
            if word in self._axes:
                continue
            times, star, of = word.partition("*")
            if star:
                self.axes(of)
                self._axes[word] = {"name": word, "of": of, "times": int(times)}
            else:
                extent = word.partition("#")[0]  # "2#b": another axis of two elements
                self._axes[word] = {"name": word, "extent": int(extent)} if extent.isdecimal() else {"name": word, "doc": f"extent {word}"}
        return text.split()

    def integer(self, name: str, usual: int = 0, positive: bool = False) -> Term:
        self._attributes.append({"name": name, "kind": "integer", "default": str(usual), "doc": f"{name} of the case", "positive": positive})
        return Term(self, name)

    def real(self, name: str, usual: float, positive: bool = False) -> Term:
        self._attributes.append({"name": name, "kind": "real", "default": repr(float(usual)), "doc": f"{name} of the case",
                                 "positive": positive})
        return Term(self, name)

    def input(self, name: str, axes: str, role: str = "data", places_of: str = "") -> Term:
        made = {"name": name, "axes": self.axes(axes), "role": role}
        self._inputs.append(made | {"role": "places", "along": self.axes(places_of)[0]} if places_of else made)
        return Term(self, name)

    def node(self, function: str, of: Sequence[Any] = (), axes: str = "", **more: Any) -> Term:
        name = f"%{len(self._nodes)}"  # no operand has such a name
        texts = [one.name if isinstance(one, Term) else _number(one) for one in of]
        self._nodes.append({"name": name, "f": function, "of": texts, "axes": self.axes(axes), **more})
        return Term(self, name)

    def index(self, axis: str) -> Term:
        return self.node("index", axes=axis)

    def extent(self, axis: str) -> Term:
        return self.node("extent", axes=axis)

    def output(self, name: str, value: Term, axes: str, type_: str = "", saturates: bool = False) -> None:
        made = {"name": name, "is": value.name, "axes": self.axes(axes)}
        self._outputs.append(made | ({"type": type_} if type_ else {}) | ({"saturates": True} if saturates else {}))

    def data(self) -> dict[str, Any]:
        """Axes that follow from others stand behind them."""
        axes = sorted(self._axes.values(), key=lambda one: "of" in one)
        return {"op": self.op, "doc": self.doc, "types": self.types, "axes": axes, "attributes": self._attributes,
                "inputs": self._inputs, "nodes": self._nodes, "outputs": self._outputs}


def apply(function: str, *operands: Any) -> Term:
    formula = next(one.formula for one in operands if isinstance(one, Term))
    return formula.node(function, operands)


def reduce(function: str, x: Term, axes: str) -> Term:
    return x.formula.node(function, [x], axes)


def sum_of(x: Term, axes: str) -> Term:
    return reduce("sum", x, axes)


def where(condition: Term, x: Any, y: Any) -> Term:
    return apply("where", condition, x, y)


def at(x: Term, old: str, new: str, start: Sequence[str] = (), stride: int = 1) -> Term:
    """x along `old` at start + stride i for each i of the axis `new`; zeros beyond its ends."""
    return x.formula.node("at", [x], f"{old} {new}", start=list(start), stride=stride)


def windows(x: Term, old: str, start: Sequence[str], strides: Mapping[str, str], divisor: str = "") -> Term:
    """x along `old` at (start + the sum of index and stride of each new axis) / divisor; zeros where that is no place."""
    more = {"divisor": divisor} if divisor else {}
    return x.formula.node("windows", [x], " ".join([old, *strides]), start=list(start), strides=list(strides.values()), **more)


def gather(x: Term, axis: str, places: Term) -> Term:
    return x.formula.node("gather", [x, places], axis)


def reshape(x: Term, old: str, new: str) -> Term:
    return x.formula.node("reshape", [x], old, to=x.formula.axes(new))


def choose(index: Term, numbers: Sequence[Number]) -> Term:
    """The number at an index, which is an integer below their count."""
    made: Any = numbers[-1]
    for k in range(len(numbers) - 2, -1, -1):
        made = where(index <= k, numbers[k], made)
    return made


def remainder(x: Term, divisor: Any) -> Term:
    """x - divisor floor(x / divisor), for integers."""
    return x - divisor * apply("floor_divide", x, divisor)


def sigmoid(x: Term) -> Term: return apply("sigmoid", x)
def silu(x: Term) -> Term: return x * sigmoid(x)
def relu(x: Term) -> Term: return apply("relu", x)
def exp(x: Term) -> Term: return apply("exp", x)
def log(x: Term) -> Term: return apply("log", x)
def tanh(x: Term) -> Term: return apply("tanh", x)
def absolute(x: Term) -> Term: return apply("abs", x)
def square(x: Term) -> Term: return x * x
def minimum(x: Any, y: Any) -> Term: return apply("minimum", x, y)
def maximum(x: Any, y: Any) -> Term: return apply("maximum", x, y)


def gelu_erf(x: Term) -> Term:
    return 0.5 * x * apply("one_minus_erf", x * Exact("-0.70710678118654752440084436210484903928"))


def gelu_tanh(x: Term) -> Term:
    inner = x + Exact("0.044715") * (x * x * x)
    return 0.5 * x * apply("one_minus_tanh", Exact("-0.79788456080286535587989211986876373695") * inner)


def softplus(x: Term) -> Term:
    """log(1 + exp(x)), which overflows nowhere."""
    return relu(x) + apply("log1p", exp(-absolute(x)))


def expm1(x: Term) -> Term:
    """exp(x) - 1 without cancellation near 0: 2 tanh(x/2) / (1 - tanh(x/2)), below 1/2."""
    t = tanh(0.5 * x)
    return where(absolute(x) < 0.5, 2 * t / (1 - t), exp(x) - 1)


def softmax(x: Term, axis: str) -> Term:
    e = exp(-reduce("below_max", x, axis))
    return e / reduce("rescaled_sum", e, axis)


def mean_of(x: Term, axes: str) -> Term:
    return reduce("mean", x, axes)


def centred(x: Term, axes: str) -> Term:
    return x - reduce("updated_mean", x, axes)
