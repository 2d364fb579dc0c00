# SPDX-License-Identifier: Apache-2.0
"""Arrays of a graph that is being exported: operators and functions of them become nodes of a framework. Their shapes are
known, so that a function may ask for them."""
from __future__ import annotations

import numbers
from typing import Any, Callable, Sequence

import numpy

from .._frameworks import Unsupported
from .._namespace import Axes, Networks
from .._types import OTHER_NAMES, framework_name
from ._columns import FLOATS

_LOGICAL = {"logical_and", "logical_or", "logical_not"}
_CONDITIONS = {"less", "greater", "less_equal", "greater_equal", "equal", "not_equal", "isnan", "isinf", *_LOGICAL}
_MAPS = {"exp", "log", "log1p", "tanh", "erf", "sin", "cos", "sigmoid", "sqrt", "rsqrt", "abs", "negative", "relu", "add", "subtract",
         "multiply", "divide", "maximum", "minimum", "where", *_CONDITIONS}
_MOVES = {"expand_dims", "permute_dims", "slice"}  # conditions stay conditions
_REDUCTIONS = {"sum", "mean", "prod", "max", "min", "logsumexp"}


class Symbol:
    """A value of the graph, and its shape: numbers of the case's floating-point type, or a condition. make: makes a node of a
    function's name; its operands are values, and numbers that the framework stores in that type."""
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __init__(self, make: Callable[..., Any], value: Any, shape: Sequence[int], is_condition: bool = False) -> None:
        self.make, self.value, self.shape, self.is_condition = make, value, tuple(shape), is_condition
        self.assay_namespace = _Namespace(make)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def _of(self, name: str, *operands: Any) -> Any:
        return getattr(self.assay_namespace, name)(*operands)

    def __add__(self, y: Any) -> Any: return self._of("add", self, y)
    def __radd__(self, y: Any) -> Any: return self._of("add", y, self)
    def __sub__(self, y: Any) -> Any: return self._of("subtract", self, y)
    def __rsub__(self, y: Any) -> Any: return self._of("subtract", y, self)
    def __mul__(self, y: Any) -> Any: return self._of("multiply", self, y)
    def __rmul__(self, y: Any) -> Any: return self._of("multiply", y, self)
    def __truediv__(self, y: Any) -> Any: return self._of("divide", self, y)
    def __rtruediv__(self, y: Any) -> Any: return self._of("divide", y, self)
    def __pow__(self, y: Any) -> Any: return self._of("pow", self, y)
    def __rpow__(self, y: Any) -> Any: return self._of("pow", y, self)
    def __matmul__(self, y: Any) -> Any: return self._of("matmul", self, y)
    def __neg__(self) -> Any: return self._of("negative", self)
    def __pos__(self) -> Any: return self
    def __abs__(self) -> Any: return self._of("abs", self)
    def __lt__(self, y: Any) -> Any: return self._of("less", self, y)
    def __gt__(self, y: Any) -> Any: return self._of("greater", self, y)
    def __le__(self, y: Any) -> Any: return self._of("less_equal", self, y)
    def __ge__(self, y: Any) -> Any: return self._of("greater_equal", self, y)
    def __eq__(self, y: Any) -> Any: return self._of("equal", self, y)
    def __ne__(self, y: Any) -> Any: return self._of("not_equal", self, y)
    def __and__(self, y: Any) -> Any: return self._of("logical_and", self, y)
    def __or__(self, y: Any) -> Any: return self._of("logical_or", self, y)
    def __xor__(self, y: Any) -> Any: return self._of("not_equal", self, y)
    def __invert__(self) -> Any: return self._of("logical_not", self)

    @property
    def T(self) -> Any:
        return self.assay_namespace.permute_dims(self, range(self.ndim)[::-1])

    @property
    def mT(self) -> Any:
        return self.assay_namespace.permute_dims(self, [*range(self.ndim - 2), self.ndim - 1, self.ndim - 2])

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if not all(k is None or k is Ellipsis or isinstance(k, slice) and k == slice(None) for k in keys):
            raise Unsupported("the graph that is exported has no slices")
        keys = keys if any(k is Ellipsis for k in keys) else (*keys, Ellipsis)
        taken, made, place = sum(isinstance(k, slice) for k in keys), self, 0
        for k in keys:
            if k is None:
                made = self.assay_namespace.expand_dims(made, place)
            place += self.ndim - taken if k is Ellipsis else 1
        return made

    def astype(self, dtype: Any) -> Any:
        return self.assay_namespace.astype(self, dtype)

    def __bool__(self) -> bool:
        raise Unsupported("a branch on data, which a graph does not have")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unsupported(f"the graph that is exported has no {name} of arrays")


class _Namespace(Networks):
    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        if name in _MAPS:
            return lambda *operands: self._map(name, operands)
        if name in _REDUCTIONS:
            return lambda x, axis=None, keepdims=False: self._reduce(name, x, axis, keepdims)
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unsupported(f"the graph that is exported has no function {name}")

    def _map(self, name: str, operands: Sequence[Any]) -> Symbol:
        if name == "where" and all(isinstance(x, Symbol) and x.is_condition for x in operands[1:]):
            chosen, one, other = operands
            return (self._condition(chosen) & one) | (~self._condition(chosen) & other)
        shape = numpy.broadcast_shapes(*(x.shape for x in operands if isinstance(x, Symbol)))
        return self._symbol(name, operands, shape)

    def _symbol(self, name: str, operands: Sequence[Any], shape: Sequence[int], **attrs: Any) -> Symbol:
        for x in operands:
            if not isinstance(x, (Symbol, numbers.Real)):
                raise Unsupported(f"{name} of {type(x).__name__}, which is no node of the graph")
        operands = self._as_taken(name, operands)
        values = [x.value if isinstance(x, Symbol) else float(x) for x in operands]
        is_condition = name in _CONDITIONS or (name in _MOVES and operands[0].is_condition)
        return Symbol(self._make, self._make(name, values, **attrs), shape, is_condition)

    def _as_taken(self, name: str, operands: Sequence[Any]) -> list[Any]:
        """Operands as conditions or as numbers, whichever the function takes."""
        if name in _LOGICAL:
            return [self._condition(x) for x in operands]
        if name == "where":
            return [self._condition(operands[0]), *map(self._number, operands[1:])]
        alike = name in _MOVES or (name in ("equal", "not_equal") and all(isinstance(x, Symbol) and x.is_condition for x in operands))
        return list(operands) if alike else [self._number(x) for x in operands]

    def _condition(self, x: Any) -> Any:
        if not isinstance(x, Symbol):
            raise Unsupported("a condition that is a number")
        return x if x.is_condition else x != 0.0

    def _number(self, x: Any) -> Any:
        is_number = not isinstance(x, Symbol) or not x.is_condition
        return x if is_number else Symbol(self._make, self._make("cast", [x.value]), x.shape)

    def astype(self, x: Symbol, dtype: Any, /) -> Symbol:
        """Numbers are stored in that type, and read again in the case's."""
        if framework_name(dtype) == "bool":
            return self._condition(x)
        stored = x.value if x.is_condition else self._make("cast", [x.value], to=framework_name(dtype))
        return Symbol(self._make, self._make("cast", [stored]), x.shape)

    def any(self, x: Symbol, axis: Axes = None, keepdims: bool = False) -> Symbol:
        return self._reduce("max", self._condition(x), axis, keepdims) != 0.0

    def all(self, x: Symbol, axis: Axes = None, keepdims: bool = False) -> Symbol:
        return self._reduce("min", self._condition(x), axis, keepdims) != 0.0

    def isfinite(self, x: Symbol) -> Symbol:
        return ~(self.isnan(x) | self.isinf(x))

    def clip(self, x: Symbol, min: Any = None, max: Any = None) -> Symbol:
        x = x if min is None else self.maximum(x, min)
        return x if max is None else self.minimum(x, max)

    def _reduce(self, name: str, x: Symbol, axis: Axes, keepdims: bool) -> Symbol:
        chosen = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else [axis]
        axes = sorted(a % x.ndim for a in chosen)
        shape = [1 if place in axes else n for place, n in enumerate(x.shape) if keepdims or place not in axes]
        return self._symbol(name, [x], shape, axes=axes, keepdims=keepdims)

    @staticmethod
    def _place(function: str, x: Symbol, axis: Axes) -> int:
        if not isinstance(axis, numbers.Integral):
            raise Unsupported(f"{function} along several axes")
        return int(axis) % x.ndim

    def pow(self, x: Any, y: Any) -> Symbol: return self._map("pow", [x, y])
    def gelu(self, x: Symbol, approximate: str = "none") -> Symbol: return self._symbol("gelu", [x], x.shape, approximate=approximate)
    def softmax(self, x: Symbol, axis: Axes = -1) -> Symbol: return self._along("softmax", x, axis)
    def log_softmax(self, x: Symbol, axis: Axes = -1) -> Symbol: return self._along("log_softmax", x, axis)
    def cumulative_sum(self, x: Symbol, axis: int = -1) -> Symbol: return self._along("cumulative_sum", x, axis)

    def _along(self, function: str, x: Symbol, axis: Axes) -> Symbol:
        return self._symbol(function, [x], x.shape, axis=self._place(function, x, axis))

    def expand_dims(self, x: Symbol, axis: int = 0) -> Symbol:
        place = axis % (x.ndim + 1)
        return self._symbol("expand_dims", [x], (*x.shape[:place], 1, *x.shape[place:]), axis=place)

    def permute_dims(self, x: Symbol, axes: Sequence[int]) -> Symbol:
        axes = [a % x.ndim for a in axes]
        return self._symbol("permute_dims", [x], [x.shape[a] for a in axes], axes=axes)

    def split(self, x: Symbol, parts: int, axis: int = -1) -> list[Symbol]:
        place = self._place("split", x, axis)
        extent = x.shape[place] // parts
        shape = (*x.shape[:place], extent, *x.shape[place + 1:])
        return [self._symbol("slice", [x], shape, axis=place, begin=k * extent, end=(k + 1) * extent) for k in range(parts)]

    def matmul(self, x: Symbol, y: Symbol) -> Symbol:
        batch = numpy.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        return self._symbol("matmul", [x, y], (*batch, *x.shape[-2:-1], *(y.shape[-1:] if y.ndim > 1 else ())))


def number_type(types: Sequence[str]) -> str:
    """The floating-point type of a case, as the framework's modules call it. Constants of its graph are stored in it."""
    return next((name for name in types if OTHER_NAMES.get(name) in FLOATS), types[0])


def symbols_of(make: Callable[..., Any], values: Sequence[Any], types: Sequence[str], shapes: Sequence[Sequence[int]], numbers_in: str) \
        -> list[Symbol]:
    """The arguments of a function. Integers that the type of numbers holds, such as conditions of ones and zeros, are numbers."""
    symbols = []
    for value, name, shape in zip(values, types, shapes):
        if name != numbers_in and name not in ("int8", "uint8"):
            raise Unsupported(f"an operand of {name} beside numbers of {numbers_in}")
        symbols.append(Symbol(make, value if name == numbers_in else make("cast", [value]), shape))
    return symbols


def results_in(result: Any, numbers_in: str, types: Sequence[str]) -> list[Any]:
    """Values of the symbols that a function returned, in these types."""
    results = result if isinstance(result, tuple) else (result,)
    if any(not isinstance(one, Symbol) for one in results):
        raise Unsupported("a result that is no node of the graph")
    values = []
    for one, dtype in zip(results, types or [numbers_in] * len(results)):
        is_stored_so = dtype == numbers_in and not one.is_condition
        values.append(one.value if is_stored_so else one.make("cast", [one.value], to=dtype))
    return values


def node_by_node(graph: Callable[..., Any]) -> Callable[[str], Callable[..., Any]]:
    """make() of symbols whose values are arrays of NumPy, by their floating-point type: each node is computed at once, in a graph that
    has no other. graph(body) is a function of arrays, and body one of symbols. Conditions are arrays of i8."""
    made: dict[Any, Callable[..., Any]] = {}

    def of(dtype: str) -> Callable[..., Any]:
        def make(name: str, values: Sequence[Any], **attrs: Any) -> Any:
            def body(*symbols: Symbol, **_: Any) -> Any:
                rest = iter(symbols)
                operands = [next(rest) if isinstance(value, numpy.ndarray) else value for value in values]
                return operands[0] if name == "cast" else symbols[0].assay_namespace._symbol(name, operands, (), **attrs)
            arrays = [value for value in values if isinstance(value, numpy.ndarray)]
            key = (dtype, name, repr(attrs), *((v.dtype.name, v.shape) if isinstance(v, numpy.ndarray) else v for v in values))
            if key not in made:
                made[key] = graph(body)
            return made[key](*arrays, result_types=("int8" if name in _CONDITIONS else attrs.get("to", dtype),))
        return make
    return of
