# SPDX-License-Identifier: Apache-2.0
"""Arrays that compute nothing and write down what would be computed: the graph of a function (DEFINITIONS.md). Shapes are
axes, whose extents are known where arrays are at hand; broadcasting joins axes that are as long."""
from __future__ import annotations

import math
import numbers
import threading
from typing import Any, Optional, Sequence

from ._axes import Axis, Dims, check_extent, checked, fault, is_integer, roots_of

_MOST_NODES = 10_000


class Exact(float):
    """A number of which more digits count than a double has."""

    def __new__(cls, digits: str) -> Exact:
        made = super().__new__(cls, digits)
        made.digits = digits  # type: ignore[attr-defined]
        return made


def _number(value: Any) -> Optional[str]:
    if isinstance(value, Exact):
        return value.digits  # type: ignore[attr-defined]
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if not isinstance(value, numbers.Real):
        return None
    if not math.isfinite(value):
        raise fault(f"the constant {value}: constants are finite; a mask takes a large number, such as -2.0 ** 100, of which "
                    "an exponential is as surely zero, and which f32 and bf16 hold as it is")
    value = float(value)
    # 2.0 ** 100 is that, not its first 17 digits.
    return str(int(value)) if value.is_integer() and abs(value) < 2**128 else repr(value)


class Trace:
    """The nodes of one function, in the order in which they were made."""
    _here = threading.local()

    def __init__(self) -> None:
        self._here.latest = self
        self.nodes: list[dict[str, Any]] = []
        self.axes: list[Axis] = []  # of inputs, and copies of them
        self.arrays: list[Dims] = []  # of inputs and nodes: none has an axis twice
        self.inputs: dict[str, str] = {}  # inputs by the names of their values
        self.spoken: dict[str, tuple[str, Axis]] = {}  # inputs that are places, lengths or ends along an axis, by their roles
        self.indices: dict[str, tuple[str, Axis]] = {}  # other inputs that are taken as places
        self.has_types = False  # whether it is known which operands are integers
        self.integers: set[str] = set()  # names of values that are integers, whatever the data
        self.types: dict[str, str] = {}  # of integers, by their nodes
        self.measured: set[str] = set()  # names of values whose extents were asked for

    @classmethod
    def latest(cls) -> Trace:
        """The trace of the function that this thread traces, for arrays that are made of none of its arguments."""
        return cls._here.latest

    def add(self, function: str, of: Sequence[str], dims: Dims, axes: Sequence[Axis] = (), **more: Any) -> Traced:
        if len(self.nodes) == _MOST_NODES:
            raise fault(f"more than {_MOST_NODES} operations: is a loop without an end in the function?")
        roots = roots_of(dims)
        if len(set(roots)) < len(roots):
            raise fault("the result would have one axis twice: give arrays of its own to one of the operands")
        name = f"%{len(self.nodes)}"  # no argument has such a name
        self.nodes.append({"name": name, "f": function, "of": list(of), "axes": list(axes), **more})
        self.arrays.append(dims)
        counted = of[1:] if function == "where" else of[:1] if function == "gather" else of
        if function in _INTEGERS or function in _OF_INTEGERS and all(x in self.integers or x.lstrip("-").isdecimal() for x in counted):
            self.integers.add(name)
        if of and function in _MOVES and of[0] in self.types:
            self.types[name] = self.types[of[0]]
        return Traced(self, name, dims)

    def fixed(self, extent: int, beside: Traced) -> Axis:
        """An axis of that extent in all cases, none of `beside`."""
        check_extent(extent)
        for axis in self.axes:
            if axis.root() is axis and axis.fixed and axis.extent == extent and axis not in roots_of(beside.dims):
                return axis
        self.axes.append(Axis(f"{extent}#{len(self.axes)}", extent, stated=True, fixed=True))
        return self.axes[-1]

    def multiple(self, of: Axis, times: int) -> Axis:
        """The axis of so many times the elements of another one."""
        if times == 1:
            return of.root()
        for axis in self.axes:
            if axis.root() is axis and axis.times == times and axis.of is not None and axis.of.root() is of.root():
                return axis
        self.axes.append(Axis(f"{times}*{of.root().name}", None, True, of.root(), times))
        return self.axes[-1]

    def copy_of(self, axis: Axis) -> Axis:
        """Another axis that is as long."""
        root = axis.origin()
        self.axes.append(Axis(f"{root.name}#{len(self.axes)}", root.extent, True, root))
        return self.axes[-1]

    def _stand_together(self, one: Axis, two: Axis) -> bool:
        return any({one, two} <= set(roots_of(dims)) for dims in self.arrays)

    def align(self, x: Traced, place: int, target: Axis) -> Traced:
        """x with `target` at a place: the axis there becomes that one, or x is read along it where both are needed."""
        there, target = x.dims[place].root(), target.root()  # type: ignore[union-attr]
        if there is target:
            return x
        known = there.extent is not None and target.extent is not None
        if known and there.extent != target.extent:
            raise fault(f"axes of {target.extent} and of {there.extent} elements do not broadcast")
        is_copy = there.origin() is target.origin()  # of the other, or both of a third one
        if not (there.stated and target.stated or is_copy or self._stand_together(there, target)):
            target.join(there)
            return x
        if not known and there.origin() is not target.origin():
            raise fault(f"axes '{target.name}' and '{there.name}' stand beside each other: give both one name where they are as long")
        return self.moved(x, place, target)

    def moved(self, x: Traced, place: int, target: Axis) -> Traced:
        """x, of which that axis is called another one, which is as long."""
        for other, axis in enumerate(x.dims):
            if other != place % x.ndim and axis is not None and axis.root() is target.root():
                x = self.moved(x, other, self.copy_of(axis))  # as of a transpose: the name is needed at the other place
        dims = tuple(target if k == place % x.ndim else axis for k, axis in enumerate(x.dims))
        made = self.add("at", [x.name], dims, [x.dims[place].root(), target])  # type: ignore[union-attr]
        made.is_condition = x.is_condition
        return made


def broadcast(arrays: Sequence[Traced], matrix: int = 0) -> tuple[list[Traced], Dims]:
    """The arrays, and the dims of a result, aligned at the last one (array API standard, Broadcasting). `matrix`: so many
    last axes of each stay out of it."""
    rank = max(0, *(x.ndim - matrix for x in arrays))
    joined: list[Optional[Axis]] = [None] * rank
    aligned = []
    for x in arrays:
        for place in range(-x.ndim, -matrix):
            axis, there = x.dims[place], joined[place + matrix]
            if axis is not None and there is not None:
                x = x.trace.align(x, place, there)
            elif axis is not None:
                if axis.root() in roots_of(joined):  # at another place, as in x[:, None] * x[None]
                    x = x.trace.moved(x, place, x.trace.copy_of(axis))
                joined[place + matrix] = x.dims[place]
        aligned.append(x)
    return aligned, tuple(axis and axis.root() for axis in joined)


class Traced:
    """An array of a function that is being traced."""

    __array_ufunc__ = None  # NumPy leaves operators to this class
    __hash__ = object.__hash__

    def __init__(self, trace: Trace, name: str, dims: Dims, is_condition: bool = False) -> None:
        self.trace, self.name, self.dims, self.is_condition = trace, name, dims, is_condition

    @property
    def ndim(self) -> int:
        return len(self.dims)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Numbers, and where an extent differs from case to case what can be computed with, and given to xp.arange."""
        from ._chosen import Extent
        self.trace.measured.add(self.name)
        extents = [1 if axis is None else axis.root().extent for axis in self.dims]
        return tuple(Extent(self.trace, axis) if extent is None else extent  # type: ignore
                     for axis, extent in zip(self.dims, extents))

    def with_dims(self, dims: Sequence[Optional[Axis]], is_condition: Optional[bool] = None) -> Traced:
        return Traced(self.trace, self.name, tuple(dims), self.is_condition if is_condition is None else is_condition)

    @checked
    def astype(self, dtype: Any) -> Traced:
        """Numbers that may be stored in a type of floating-point numbers: a kernel may round them to it, or not. Of conditions ones and
        zeros, in any type. bool: whether numbers are not 0."""
        from ._types import BY_FRAMEWORK, OTHER_NAMES, framework_name
        known = framework_name(dtype)
        if known == "bool":
            return self if self.is_condition else map_function("not_equal", self, 0)
        if self.is_condition and known in BY_FRAMEWORK:
            return self.with_dims(self.dims, False)
        short = OTHER_NAMES.get(known)
        if self.name in self.trace.integers and known.lstrip("u") in ("int8", "int16", "int32", "int64"):
            made = self.trace.add("nearest", [self.name], self.dims)
            self.trace.types[made.name] = short or known
            return made
        if short not in ("f64", "f32", "f16", "bf16"):
            raise fault(f"astype({known}) of {'conditions' if self.is_condition else 'numbers'}: bool and types of floating-point numbers are "
                        "there, such as numpy.float32 or \"bfloat16\", and of xp.floor(x) and other integers their types")
        return self.trace.add("round", [self.name], self.dims, type=short)

    @checked
    def reshape(self, *shape: Any) -> Traced:
        from ._places import reshape
        return reshape(self, shape[0] if len(shape) == 1 else shape)

    @property
    def T(self) -> Traced:
        return self.with_dims(self.dims[::-1])

    @property
    def mT(self) -> Traced:
        if self.ndim < 2:
            raise fault("mT of an array with fewer than two axes")
        return self.with_dims((*self.dims[:-2], self.dims[-1], self.dims[-2]))

    def __array_namespace__(self, api_version: Optional[str] = None) -> Any:
        from ._namespace import TRACED
        return TRACED

    def __add__(self, y: Any) -> Traced: return map_function("add", self, y)
    def __radd__(self, y: Any) -> Traced: return map_function("add", y, self)
    def __sub__(self, y: Any) -> Traced: return map_function("subtract", self, y)
    def __rsub__(self, y: Any) -> Traced: return map_function("subtract", y, self)
    def __mul__(self, y: Any) -> Traced: return map_function("multiply", self, y)
    def __rmul__(self, y: Any) -> Traced: return map_function("multiply", y, self)
    def __truediv__(self, y: Any) -> Traced: return map_function("divide", self, y)
    def __rtruediv__(self, y: Any) -> Traced: return map_function("divide", y, self)
    def __neg__(self) -> Traced: return map_function("negative", self)
    def __pos__(self) -> Traced: return self
    def __abs__(self) -> Traced: return map_function("abs", self)
    def __lt__(self, y: Any) -> Traced: return map_function("less", self, y)
    def __gt__(self, y: Any) -> Traced: return map_function("less", y, self)
    def __le__(self, y: Any) -> Traced: return map_function("less_equal", self, y)
    def __ge__(self, y: Any) -> Traced: return map_function("less_equal", y, self)
    def __eq__(self, y: Any) -> Traced: return map_function("equal", self, y)  # type: ignore[override]
    def __ne__(self, y: Any) -> Traced: return map_function("not_equal", self, y)  # type: ignore[override]
    def __and__(self, y: Any) -> Traced: return self._join("logical_and", y)
    def __or__(self, y: Any) -> Traced: return self._join("logical_or", y)
    def __xor__(self, y: Any) -> Traced: return self._join("not_equal", y)
    def __invert__(self) -> Traced: return self._join("logical_not")
    def __rpow__(self, y: Any) -> Traced: return map_function("pow", y, self)
    def __floordiv__(self, y: Any) -> Traced: return map_function("floor_divide", self, y)
    def __rfloordiv__(self, y: Any) -> Traced: return map_function("floor_divide", y, self)
    def __mod__(self, y: Any) -> Traced: return self - self // y * y
    def __rmod__(self, y: Any) -> Traced: return y - y // self * self

    def __pow__(self, y: Any) -> Traced:
        if not isinstance(y, numbers.Real) or y not in (1, 2, 3, 4):
            return map_function("pow", self, y)
        power = self
        for _ in range(int(y) - 1):
            power = power * self
        return power

    def __matmul__(self, y: Any) -> Traced:
        from ._namespace import TRACED
        return TRACED.matmul(self, y)

    def __rmatmul__(self, y: Any) -> Traced:
        from ._namespace import TRACED
        return TRACED.matmul(y, self)

    def __bool__(self) -> bool:
        raise fault("a branch on the data of a traced array: write both ways with xp.where(condition, x, y)")

    def __float__(self) -> float:
        raise fault("a number of a traced array: its elements, and extents that differ from case to case, are not known while "
                    "a function is traced")

    __int__ = __index__ = __complex__ = __round__ = __float__  # type: ignore[assignment]

    def _join(self, function: str, *others: Any) -> Traced:
        """& | ^ ~ of conditions alone: of numbers they are operations on bits."""
        if not all(isinstance(x, Traced) and x.is_condition for x in (self, *others)):
            raise fault("& | ^ ~ of numbers: they join conditions, such as (x > 0) & (x < 1); write xp.logical_and, logical_or or "
                        "logical_not for numbers")
        return map_function(function, self, *others)

    def _refuse_operator(self, *_: Any) -> Any:
        raise fault("this operator is not there for traced arrays, which take + - * / // % ** @ and, of conditions, & | ^ ~")

    __rand__ = __ror__ = __rxor__ = _refuse_operator
    __lshift__ = __rshift__ = _refuse_operator

    def __len__(self) -> int:
        if not self.dims or self.dims[0] is not None and self.dims[0].root().extent is None:
            raise fault("len() of an axis whose extent differs from case to case: take x.shape[0]")
        return self.shape[0]

    def __iter__(self) -> Any:
        raise fault("a loop over the elements of a traced array: use a reduction such as xp.sum(x, axis=0)")

    def _write(self, sign: str, made: Any) -> Any:
        """x += y of a result is a new array; of an argument it would change the caller's."""
        argument = self.trace.inputs.get(self.name)
        if argument is not None:
            raise fault(f"{argument} {sign}= ... writes into the argument {argument}, which is the caller's array: write {argument} = {argument} {sign} ...")
        return made

    def __iadd__(self, y: Any) -> Any: return self._write("+", self + y)
    def __isub__(self, y: Any) -> Any: return self._write("-", self - y)
    def __imul__(self, y: Any) -> Any: return self._write("*", self * y)
    def __itruediv__(self, y: Any) -> Any: return self._write("/", self / y)
    def __ifloordiv__(self, y: Any) -> Any: return self._write("//", self // y)
    def __imod__(self, y: Any) -> Any: return self._write("%", self % y)
    def __ipow__(self, y: Any) -> Any: return self._write("**", self ** y)
    def __imatmul__(self, y: Any) -> Any: return self._write("@", self @ y)
    def __iand__(self, y: Any) -> Any: return self._write("&", self & y)
    def __ior__(self, y: Any) -> Any: return self._write("|", self | y)
    def __ixor__(self, y: Any) -> Any: return self._write("^", self ^ y)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise fault("a write into the elements of a traced array: make a new array with xp.where(condition, x, y)")

    def __getitem__(self, key: Any) -> Traced:
        keys = list(key) if isinstance(key, tuple) else [key]
        for k in keys:
            if isinstance(k, slice):
                if k.step == 0 or not all(end is None or is_integer(end) for end in (k.start, k.stop, k.step)):
                    raise fault(f"the slice {k.start}:{k.stop}:{k.step}: its ends are integers, and its step is one that is not 0")
            elif not (k is None or k is Ellipsis or is_integer(k)):
                raise fault("an array as an index of a traced array: choose elements with xp.take(x, indices, axis=0) or "
                            "xp.where(condition, x, y), and parts with slices such as x[..., 2:8:2]")
        taken = sum(k is not None and k is not Ellipsis for k in keys)
        if taken > self.ndim or sum(k is Ellipsis for k in keys) > 1:
            raise fault(f"an index of {taken} axes for an array that has {self.ndim}")
        where = next((place for place, k in enumerate(keys) if k is Ellipsis), len(keys))
        keys[where:where + 1] = [slice(None)] * (self.ndim - taken)
        x, place, dims = self, 0, []
        for k in keys:  # one axis after the other
            if k is None:
                dims.append(None)
                continue
            x = x.taken(place, k)
            if isinstance(k, slice):
                dims.append(x.dims[place])
            place += 1
        return x.with_dims(dims)

    def taken(self, place: int, key: Any) -> Traced:
        """The array with the part of an axis that a slice or an index chooses; one element broadcasts."""
        axis = self.dims[place] and self.dims[place].root()  # type: ignore[union-attr]
        if key == slice(None):
            return self
        extent = 1 if axis is None else axis.extent
        if extent is None:
            return self._taken_of_any(place, key)
        if not isinstance(key, slice):
            if not -extent <= key < extent:
                raise fault(f"index {key} of an axis of {extent} elements")
            key = slice(key % extent, key % extent + 1)
        chosen = range(extent)[key]
        if chosen == range(extent):
            return self
        if axis is None:
            raise fault("a slice without elements of an axis of one element")
        return self._along(place, self.trace.fixed(len(chosen), self), [str(chosen.start)], chosen.step)

    def _taken_of_any(self, place: int, key: Any) -> Traced:
        """The method `taken` for an axis whose extent a case says: the first or last element, all in reverse, or one part of a multiple."""
        axis = self.dims[place].root()  # type: ignore[union-attr]
        if key in (0, -1) and not isinstance(key, slice):
            axis.require(1, "an index")
            return self._along(place, self.trace.fixed(1, self), ["0"] if key == 0 else [axis.name, "-1"], 1)
        if isinstance(key, slice) and (key.start, key.stop, key.step) == (None, None, -1):
            return self._along(place, axis, [axis.name, "-1"], -1)
        step = key.step if isinstance(key, slice) and key.stop is None and axis.of is not None else None
        if step is not None and step > 1 and axis.times % step == 0 and 0 <= (key.start or 0) < step:
            return self._along(place, self.trace.multiple(axis.of, axis.times // step), [str(key.start or 0)], step)
        raise fault(f"an index or a slice of axis {axis.name}, whose extent differs from case to case: x[0], x[-1], x[::-1] and, of an axis "
                    "such as \"2*n\", x[1::2] and xp.split are there; an axis such as \"4\" takes every slice")

    def _along(self, place: int, target: Axis, start: list[str], stride: int) -> Traced:
        """The array at start + stride i for each i of an axis, which stands in the place of its own."""
        axis = self.dims[place].root()  # type: ignore[union-attr]
        others = roots_of((*self.dims[:place], *self.dims[place + 1:]))
        target = self.trace.copy_of(target) if target in others else target
        dims = (*self.dims[:place], target, *self.dims[place + 1:])
        made = self.trace.add("at", [self.name], dims, [axis, target], start=start, stride=stride)
        if target.extent == 1:
            made = self.trace.add("sum", [made.name], (*self.dims[:place], None, *self.dims[place + 1:]), [target])
        made.is_condition = self.is_condition
        return made

    def __array__(self, *arguments: Any, **more: Any) -> Any:
        raise fault("a function of NumPy takes no traced array: take functions of assay.namespace(x), such as xp.exp(x)")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if isinstance(here := getattr(type(self), name, None), property):
            here.fget(self)  # raises what it has raised, which Python asks for here since faults are AttributeErrors
        raise fault(f"a traced array has no {name}: take it from assay.namespace(x), if that has it")


# Functions of integers whatever they take, and of integers where their operands are.
_MOVES = ("at", "reshape", "take", "gather")
_INTEGERS = {"index", "extent", "floor_divide", "nearest", "places_of_largest", "places_of_smallest", "less", "less_equal", "equal",
             "not_equal", "logical_and", "logical_or", "logical_not"}
_OF_INTEGERS = {"add", "subtract", "multiply", "negative", "abs", "maximum", "minimum", "where", "sum", "max", "min", "largest", "smallest", *_MOVES}
_ARITHMETIC = ("add", "subtract", "multiply", "divide", "negative")
CONDITIONS = {"less": 2, "less_equal": 2, "equal": 2, "not_equal": 2, "logical_and": 2, "logical_or": 2, "logical_not": 1}  # operands


def _is_condition(x: Any) -> bool:
    return isinstance(x, Traced) and x.is_condition


def map_function(function: str, *operands: Any) -> Traced:
    """A function of elements at the same place."""
    arrays = [x for x in operands if isinstance(x, Traced)]
    if not arrays:
        raise fault(f"{function} of numbers alone: use the module math")
    if len({id(x.trace) for x in arrays}) > 1:
        raise fault(f"{function} of an array that an earlier call of a function left behind")
    if function in _ARITHMETIC and all(x.is_condition for x in arrays) and len(arrays) == len(operands):
        raise fault("arithmetic of conditions, which NumPy has as logic: make numbers of them with xp.where(condition, 1.0, 0.0)")
    aligned, dims = broadcast(arrays)
    texts = []
    for x in operands:
        text = aligned.pop(0).name if isinstance(x, Traced) else _number(x)
        if text is None:
            raise fault(f"{function} takes arrays of the function's arguments and numbers, not {type(x).__name__}: make what "
                        "it holds an argument")
        texts.append(text)
    made = arrays[0].trace.add(function, texts, dims)
    made.is_condition = function in CONDITIONS or (function == "where" and all(_is_condition(x) for x in operands[1:]))
    return made


def places_of(x: Any, axis: Any, function: str) -> list[int]:
    """Axes from 0, ascending; None: all."""
    if not isinstance(x, Traced):
        raise fault(f"{function} takes an array of the function's arguments")
    places = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else [axis]
    if any(not isinstance(p, numbers.Integral) or not -x.ndim <= p < x.ndim for p in places):
        raise fault(f"{function}: axis={axis} of an array with {x.ndim} axes")
    found = sorted({int(p) % x.ndim for p in places})
    if len(found) < len(list(places)):
        raise fault(f"{function}: axis={axis} names an axis twice")
    return found


def place_of(x: Any, axis: Any, function: str) -> int:
    """The one axis, from 0."""
    if not is_integer(axis):
        raise fault(f"{function}: axis={axis}; give one axis, as axis=-1")
    return places_of(x, axis, function)[0]


def reduce(function: str, x: Any, axis: Any = None, keepdims: bool = False) -> Traced:
    """A function along axes; None: along all."""
    chosen = places_of(x, axis, function)
    dims = tuple(None if place in chosen else a for place, a in enumerate(x.dims) if keepdims or place not in chosen)
    along = roots_of(x.dims[place] for place in chosen)
    if along:
        return x.trace.add(function, [x.name], dims, along)
    return map_function("subtract", x, x).with_dims(dims) if function == "below_max" else x.with_dims(dims)
