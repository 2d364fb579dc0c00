# SPDX-License-Identifier: Apache-2.0
"""Values while a graph of ONNX is interpreted: arrays of NumPy where they are known, else traced ones (_traced.py). Functions
here take both, so that an operator is written once; what is known is computed, and rounded to its type."""
from __future__ import annotations

import math
from typing import Any, Optional, Sequence, Union

import numpy

from .._axes import roots_of
from .._namespace import TRACED
from .._traced import CONDITIONS, Trace, Traced, map_function
from .._traced import reduce as reduce_traced
from ._cases import demand
from ._onnx_tensors import SMALL, rounded

FLOATS = ("f64", "f32", "f16", "bf16", "e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e2m1", "e8m0")
BITS = {"i2": 2, "u2": 2, "i4": 4, "u4": 4, "i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64}  # of integers
_ROUNDED = {"f32": numpy.float32, "f16": numpy.float16}
_NARROW = ("bf16", *SMALL)
MOST_PLACES = 1 << 20
_MOST_ELEMENTS = 1 << 24
_MOST_RUNS = 4000


class Value:
    """type: as assay has it, or the name that a type of ONNX would have."""

    def __init__(self, x: Union[numpy.ndarray, Traced], type_: str) -> None:
        self.x, self.type = x if isinstance(x, Traced) else numpy.asarray(x), type_
        self.needs: frozenset[str] = frozenset()  # operands of the graph that it follows from
        self.is_operand = False  # of the graph, as it is

    @property
    def is_known(self) -> bool: return isinstance(self.x, numpy.ndarray)
    @property
    def shape(self) -> tuple[int, ...]: return tuple(self.x.shape)
    @property
    def rank(self) -> int: return len(self.shape)
    @property
    def is_float(self) -> bool: return self.type in FLOATS

    def __add__(self, y: Any) -> Value: return apply("add", self, y)
    def __radd__(self, y: Any) -> Value: return apply("add", y, self)
    def __sub__(self, y: Any) -> Value: return apply("subtract", self, y)
    def __rsub__(self, y: Any) -> Value: return apply("subtract", y, self)
    def __mul__(self, y: Any) -> Value: return apply("multiply", self, y)
    def __rmul__(self, y: Any) -> Value: return apply("multiply", y, self)
    def __truediv__(self, y: Any) -> Value: return apply("divide", self, y)
    def __rtruediv__(self, y: Any) -> Value: return apply("divide", y, self)
    def __neg__(self) -> Value: return apply("negative", self)
    def __lt__(self, y: Any) -> Value: return apply("less", self, y)
    def __le__(self, y: Any) -> Value: return apply("less_equal", self, y)
    def __gt__(self, y: Any) -> Value: return apply("less", y, self)
    def __ge__(self, y: Any) -> Value: return apply("less_equal", y, self)


def roomy(shape: Sequence[int]) -> list[int]:
    """The shape, of as many elements as a definition may hold."""
    extents = [int(extent) for extent in shape]
    demand(all(extent >= 0 for extent in extents) and math.prod(extents) <= _MOST_ELEMENTS, f"a tensor of more than {_MOST_ELEMENTS} elements")
    return extents


def known(x: Any, type_: str) -> Value:
    """Numbers as float64, integers as int64, conditions as bool."""
    array = numpy.asarray(x, bool if type_ == "bool" else numpy.float64 if type_ in FLOATS else numpy.int64)
    if type_ in _ROUNDED:
        with numpy.errstate(all="ignore"):
            array = array.astype(_ROUNDED[type_]).astype(numpy.float64)
    elif type_ in _NARROW:
        array = rounded(array, type_)
    return Value(array, type_)


_KNOWN = {"sigmoid": lambda x: 1 / (1 + numpy.exp(-x)), "rsqrt": lambda x: 1 / numpy.sqrt(x), "nearest": numpy.rint,
          "erf": lambda x: numpy.vectorize(math.erf)(x), "pow": numpy.power, "relu": lambda x: numpy.maximum(x, 0),
          "asin": numpy.arcsin, "acos": numpy.arccos, "atan": numpy.arctan}


def apply(name: str, *operands: Any, type_: Optional[str] = None) -> Value:
    """A function of elements at the same place, of values and numbers."""
    values = [one for one in operands if isinstance(one, Value)]
    if type_ is None:
        last = values[-1] if name == "where" else values[0]
        type_ = "bool" if name in CONDITIONS or name in ("isnan", "isinf") else last.type
    if all(one.is_known for one in values):
        roomy(numpy.broadcast_shapes(*(one.shape for one in values)))
        function = _KNOWN.get(name) or getattr(numpy, name)
        with numpy.errstate(all="ignore"):
            return known(function(*(one.x if isinstance(one, Value) else one for one in operands)), type_)
    trace = next(one.x.trace for one in values if not one.is_known)
    taken = [lift(trace, one.x if isinstance(one, Value) else numpy.asarray(one)) for one in operands]
    if name in ("add", "subtract", "multiply", "divide", "negative"):
        taken = [one.with_dims(one.dims, False) if isinstance(one, Traced) else one for one in taken]
    made = map_function(name, *taken)
    made.is_condition = type_ == "bool"
    return spread(Value(made, type_), numpy.broadcast_shapes(*(one.shape for one in values)))


def number(trace: Trace, value: Any) -> Any:
    """A number as an operand. Infinities and NaN are logarithms, since constants are finite."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, (bool, int)):
        return int(value)
    if math.isfinite(value):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    low = trace.add("log", ["-1" if math.isnan(value) else "0"], ())
    return -low if value == math.inf else low


def lift(trace: Trace, x: Union[numpy.ndarray, Traced]) -> Any:
    """A traced array as it is. Of a known one that has one number everywhere the number; else chosen by the index."""
    if isinstance(x, Traced):
        return x
    if x.size == 0:  # whatever stands there: spread() gives it the shape
        return 0
    for axis in range(x.ndim):
        if x.shape[axis] > 1 and _same(x, x.take([0], axis)):
            x = x.take([0], axis)
    if x.size == 1:
        return number(trace, x.reshape(-1)[0])
    flat = x.reshape(-1)
    along = trace.fixed(x.size, Traced(trace, "", ()))
    index = trace.add("index", [], (along,), [along])
    made = _chosen(trace, index, flat)
    made.is_condition = x.dtype == bool
    return TRACED.reshape(made, x.shape)


def _same(x: numpy.ndarray, y: numpy.ndarray) -> bool:
    return bool(numpy.all((x == y) | ((x != x) & (y != y))))


def _chosen(trace: Trace, index: Traced, flat: numpy.ndarray) -> Traced:
    if flat.dtype == numpy.int64 and len(set(numpy.diff(flat).tolist())) == 1:
        return index * int(flat[1] - flat[0]) + int(flat[0])
    ends = [i for i in range(1, flat.size) if not _same(flat[i], flat[i - 1])]
    demand(len(ends) < _MOST_RUNS, f"a constant of more than {_MOST_RUNS} different numbers one behind the other")
    made = number(trace, flat[-1])
    for end in reversed(ends):
        made = map_function("where", map_function("less", index, end), number(trace, flat[end - 1]), made)
    return made


def spread(value: Value, shape: Sequence[int]) -> Value:
    """The value, alike along axes that have one element, in this shape."""
    roomy(shape)
    if value.is_known:
        return Value(numpy.broadcast_to(value.x, shape), value.type)
    x = value.x.with_dims((None,) * (len(shape) - value.rank) + value.x.dims)
    for place, extent in enumerate(shape):
        if extent != 1 and x.dims[place] is None:
            axis = x.trace.fixed(extent, x)
            index = x.trace.add("index", [], (axis, *(None,) * (len(shape) - place - 1)), [axis])
            x = map_function("where", map_function("less_equal", 0, index), x, 0)
        demand(x.shape[place] == extent, f"shapes that do not broadcast: {value.shape} and {tuple(shape)}")
    x.is_condition = value.type == "bool"
    return Value(x, value.type)


def trace_of(*values: Value) -> Optional[Trace]:
    return next((one.x.trace for one in values if not one.is_known), None)


def traced(trace: Trace, value: Value) -> Traced:
    """A known value as an array of the trace."""
    if not value.is_known:
        return value.x
    x = lift(trace, value.x)
    if not isinstance(x, Traced):
        x = trace.add("add", [repr(x), "0"], ())
    x.is_condition = value.type == "bool"
    return spread(Value(x, value.type), value.shape).x


def empty(value: Value, shape: Sequence[int]) -> Value:
    """An array without elements, whose operand is that of the value."""
    return spread(reduce("max" if value.type == "bool" else "sum", value, range(value.rank), keepdims=False), shape)


def reduce(name: str, value: Value, axes: Sequence[int], keepdims: bool = True) -> Value:
    """The largest of nothing is -infinity and the smallest infinity; of conditions false and true."""
    axes = tuple(axis % value.rank for axis in axes)
    if name in ("max", "min") and 0 in (value.shape[axis] for axis in axes):
        demand(value.is_float or value.type == "bool", "a largest or smallest integer of none")
        return _extreme_of_none(name, value, axes, keepdims)
    if value.is_known:
        return known(getattr(numpy, name)(value.x, axis=axes, keepdims=keepdims), value.type)
    x = value.x.with_dims(value.x.dims, False) if name in ("sum", "mean", "prod") else value.x
    if not axes:
        return value
    made = TRACED.logsumexp(x, axes, keepdims) if name == "logsumexp" else reduce_traced(name, x, axes, keepdims)
    made.is_condition = value.type == "bool"
    return Value(made, value.type)


def _extreme_of_none(name: str, value: Value, axes: Sequence[int], keepdims: bool) -> Value:
    if value.is_known:
        shape = numpy.sum(value.x, axis=tuple(axes), keepdims=keepdims).shape
        return known(numpy.full(shape, (name == "min") if value.type == "bool" else -math.inf if name == "max" else math.inf), value.type)
    if value.type == "bool":
        made = reduce_traced(name, map_function("not_equal", value.x, 0), axes, keepdims)
        made.is_condition = True
        return Value(made, "bool")
    top = Value(reduce_traced("max_or_lowest", value.x, axes, keepdims), value.type)
    return top if name == "max" else -top


def reshape(value: Value, shape: Sequence[int]) -> Value:
    if value.is_known:
        return Value(value.x.reshape(shape), value.type)
    if 0 in shape:
        return empty(value, shape)
    return Value(TRACED.reshape(value.x, list(shape)), value.type)


def transpose(value: Value, axes: Sequence[int]) -> Value:
    if value.is_known:
        return Value(value.x.transpose(axes), value.type)
    return Value(value.x.with_dims(value.x.dims[axis] for axis in axes), value.type)


def index_along(value: Value, axis: int, type_: str = "i64") -> Value:
    """The index along an axis, as it broadcasts with the value."""
    shape = [extent if k == axis % value.rank else 1 for k, extent in enumerate(value.shape)]
    return Value(numpy.arange(value.shape[axis]).reshape(shape), type_)


def traced_index(trace: Trace, count: int) -> Value:
    """0, 1, 2, ..., of which functions are rounded as any are."""
    along = trace.fixed(count, Traced(trace, "", ()))
    return Value(trace.add("index", [], (along,), [along]), "f32") if count > 1 else known([0], "f32")


def move(value: Value, places: Any, first: int = 0, count: Optional[int] = None, fill: Any = 0) -> Value:
    """The value with other axes in the place of `count` from `first` on: those of `places`, whose elements are row-major
    places among the former ones, or -1, where `fill` stands."""
    places = numpy.asarray(places, numpy.int64)
    count = value.rank - first if count is None else count
    demand(places.size <= MOST_PLACES, f"more than {MOST_PLACES} elements that are moved")
    missing = places < 0
    if value.is_known:
        before, behind = value.shape[:first], value.shape[first + count:]
        moved = value.x.reshape(*before, -1, *behind).take(numpy.maximum(places, 0), axis=first)
        made = Value(moved, value.type)
    elif places.size == 0:
        return empty(value, (*value.shape[:first], *places.shape, *value.shape[first + count:]))
    else:
        if places.shape == value.shape[first:first + count] and (places.reshape(-1) == numpy.arange(places.size)).all():
            return value
        made = Value(_moved(value.x, places, first, count), value.type)
        if not isinstance(fill, Value) and fill == 0 and not all(axis is None for axis in value.x.dims[first:first + count]):
            return made
    if not missing.any():
        return made
    present = Value(~missing.reshape(*missing.shape, *(1,) * (value.rank - first - count)), "bool")
    return apply("where", present, made, fill, type_=value.type)


def _moved(x: Traced, places: numpy.ndarray, first: int, count: int) -> Traced:
    trace, old = x.trace, x.dims[first:first + count]
    before, behind = x.dims[:first], x.dims[first + count:]
    come: list = []
    for extent in places.shape:
        come.append(None if extent == 1 else trace.fixed(extent, Traced(trace, "", (*x.dims, *come))))
    gone = roots_of(old)
    if not gone:
        return spread(Value(x.with_dims((*before, *(None,) * places.ndim, *behind)), "bool" if x.is_condition else ""),
                      (*x.shape[:first], *places.shape, *x.shape[first + count:])).x
    to = [axis for axis in come if axis is not None] or [trace.fixed(1, x)]
    kept = roots_of((*before, *behind))
    made = trace.add("take", [x.name], (*kept, *to), gone, to=to, places=places.reshape(-1).tolist())
    if places.size == 1:
        made = trace.add("sum", [made.name], tuple(kept), to)
    return made.with_dims((*before, *come, *behind), x.is_condition)


def concat(values: Sequence[Value], axis: int) -> Value:
    values = [one for one in values if one.shape[axis] > 0] or values[:1]
    if len(values) == 1:
        return values[0]
    trace = trace_of(*values)
    if trace is None:
        return Value(numpy.concatenate([one.x for one in values], axis), values[0].type)
    made = TRACED.concat([traced(trace, one) for one in values], axis)
    made.is_condition = values[0].type == "bool"
    return Value(made, values[0].type)


def einsum(equation: str, *values: Value) -> Value:
    """Sums of products, of operands as "ij,jk->ik" has them; each axis one letter."""
    inputs, output = equation.split("->")
    terms = inputs.split(",")
    letters = output + "".join(sorted(set(inputs) - set(output) - {","}))
    product = None
    for term, value in zip(terms, values):
        aligned = transpose(value, [term.index(letter) for letter in letters if letter in term])
        shape = iter(aligned.shape)
        aligned = reshape(aligned, [next(shape) if letter in term else 1 for letter in letters])
        product = aligned if product is None else product * aligned
    return reduce("sum", product, range(len(output), len(letters)), keepdims=False)  # type: ignore[arg-type]
