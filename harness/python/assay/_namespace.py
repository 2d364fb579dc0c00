# SPDX-License-Identifier: Apache-2.0
"""assay.namespace(x): the functions of an array's kind, by the names of the array API standard 2023.12, and those that
networks need beside it."""
from __future__ import annotations

import math
import numbers
import sys
from typing import Any, Optional, Sequence, Union

from . import _chosen
from ._axes import checked, fault, is_integer, roots_of
from ._errors import UsageError
from ._places import extent_of, indices, join, reshape
from ._traced import CONDITIONS, Exact, Traced, broadcast, map_function, place_of, places_of, reduce
from ._types import framework_name

Axes = Union[int, Sequence[int], None]

_MAPS = {"exp": 1, "log": 1, "log1p": 1, "tanh": 1, "erf": 1, "sin": 1, "cos": 1, "sigmoid": 1, "sqrt": 1, "rsqrt": 1, "abs": 1,
         "negative": 1, "relu": 1, "add": 2, "subtract": 2, "multiply": 2, "divide": 2, "maximum": 2, "minimum": 2, "where": 3,
         "floor_divide": 2, **dict.fromkeys(("exp2", "expm1", "log2", "log10", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh",
                                             "atanh"), 1), **CONDITIONS}  # operands
_REDUCTIONS = ("sum", "mean", "prod", "max", "min")


class Networks:
    """Functions that are made of others, alike for each kind of array."""

    def square(self, x: Any) -> Any: return x * x
    def pow(self, x: Any, y: Any) -> Any: return x**y
    def silu(self, x: Any) -> Any: return x * self.sigmoid(x)  # type: ignore[attr-defined]

    def fmax(self, x: Any, y: Any) -> Any: return self._less_nan(x, y, self.maximum(x, y))  # type: ignore[attr-defined]
    def fmin(self, x: Any, y: Any) -> Any: return self._less_nan(x, y, self.minimum(x, y))  # type: ignore[attr-defined]

    def _less_nan(self, x: Any, y: Any, extreme: Any) -> Any:
        """The other number beside a NaN; in `extreme`, which is one of the two, NaN wins."""
        for one, other in ((x, y), (y, x)):
            if not isinstance(one, numbers.Real):
                extreme = self.where(self.isnan(one), other, extreme)  # type: ignore[attr-defined]
        return extreme

    def vecdot(self, x: Any, y: Any, axis: int = -1) -> Any:
        return self.sum(x * y, axis=axis)  # type: ignore[attr-defined]

    def one_hot(self, indices: Any, num_classes: Any) -> Any:
        """A condition: whether each of the classes, which are a last axis, is the one that is named."""
        return indices[..., None] == self.arange(num_classes)  # type: ignore[attr-defined]

    def var(self, x: Any, axis: Axes = None, correction: float = 0, keepdims: bool = False) -> Any:
        if correction != 0:
            raise fault("var: only correction=0 is there, the mean of the squared deviations")
        deviation = x - self.mean(x, axis=axis, keepdims=True)  # type: ignore[attr-defined]
        return self.mean(deviation * deviation, axis=axis, keepdims=keepdims)  # type: ignore[attr-defined]

    def std(self, x: Any, axis: Axes = None, correction: float = 0, keepdims: bool = False) -> Any:
        return self.sqrt(self.var(x, axis, correction, keepdims))  # type: ignore[attr-defined]

    def softmax(self, x: Any, axis: Axes = -1) -> Any:
        e = self.exp(x - self.max(x, axis=axis, keepdims=True))  # type: ignore[attr-defined]
        return e / self.sum(e, axis=axis, keepdims=True)  # type: ignore[attr-defined]

    def log_softmax(self, x: Any, axis: Axes = -1) -> Any:
        """The largest is taken off first, as the logarithm is small beside large numbers."""
        below = x - self.max(x, axis=axis, keepdims=True)  # type: ignore[attr-defined]
        return below - self.log(self.sum(self.exp(below), axis=axis, keepdims=True))  # type: ignore[attr-defined]


class _TracedNamespace(Networks):
    def __init__(self) -> None:
        vars(self).update({name: checked(getattr(self, name)) for name in names()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _MAPS:
            made = lambda *operands: self._map(name, operands)  # noqa: E731
        elif name in _REDUCTIONS:
            made = lambda x, axis=None, keepdims=False: reduce(name, x, axis, keepdims)  # noqa: E731
        else:
            raise fault(f"there is no function {name}; there are {', '.join(names())}")
        made.__name__ = name
        return made

    @staticmethod
    def _map(name: str, operands: Sequence[Any]) -> Traced:
        if len(operands) != _MAPS[name]:
            raise fault(f"{name} takes {_MAPS[name]} arrays or numbers, and gets {len(operands)}")
        return map_function(name, *operands)

    def greater(self, x: Any, y: Any) -> Traced: return map_function("less", y, x)
    def greater_equal(self, x: Any, y: Any) -> Traced: return map_function("less_equal", y, x)
    def isnan(self, x: Any) -> Traced: return map_function("not_equal", x, x)
    def isinf(self, x: Any) -> Traced: return map_function("less", sys.float_info.max, map_function("abs", x))
    def isfinite(self, x: Any) -> Traced: return map_function("less_equal", map_function("abs", x), sys.float_info.max)

    def clip(self, x: Any, min: Any = None, max: Any = None) -> Traced:
        """x between the limits; None: no limit."""
        if min is None and max is None:
            raise fault("clip without limits: give min, max or both")
        x = x if min is None else map_function("maximum", x, min)
        return x if max is None else map_function("minimum", x, max)

    def any(self, x: Traced, axis: Axes = None, keepdims: bool = False) -> Traced: return self._reduced("max", x, axis, keepdims)
    def all(self, x: Traced, axis: Axes = None, keepdims: bool = False) -> Traced: return self._reduced("min", x, axis, keepdims)

    @staticmethod
    def _reduced(function: str, x: Traced, axis: Axes, keepdims: bool) -> Traced:
        made = reduce(function, x if x.is_condition else map_function("not_equal", x, 0), axis, keepdims)
        made.is_condition = True
        return made

    def gelu(self, x: Traced, approximate: str = "none") -> Traced:
        """The function of torch.nn.functional.gelu. 1 + erf and 1 + tanh are functions of their own, which vanish where x is
        low."""
        half = map_function("multiply", 0.5, x)
        if approximate == "tanh":
            inner = x + Exact("0.044715") * (x * x * x)
            return half * map_function("one_minus_tanh", Exact("-0.79788456080286535587989211986876373695") * inner)
        if approximate != "none":
            raise fault(f"gelu: approximate is '{approximate}'; give none or tanh")
        return half * map_function("one_minus_erf", x * Exact("-0.70710678118654752440084436210484903928"))

    def _below_max(self, x: Traced, axis: Axes) -> Traced:
        return reduce("below_max", x, axis, True).with_dims(x.dims)

    def softmax(self, x: Traced, axis: Axes = -1) -> Traced:
        e = map_function("exp", -self._below_max(x, axis))
        return e / reduce("rescaled_sum", e, axis, True)

    def log_softmax(self, x: Traced, axis: Axes = -1) -> Traced:
        d = -self._below_max(x, axis)
        return d - map_function("log", reduce("rescaled_sum", map_function("exp", d), axis, True))

    def logsumexp(self, x: Traced, axis: Axes = None, keepdims: bool = False) -> Traced:
        """A row with an infinity gives that infinity: terms as large as the largest are 1, and no difference."""
        top = reduce("max_or_lowest", x, axis, True)
        e = map_function("exp", map_function("where", x < top, -self._below_max(x, axis), 0.0))
        return map_function("log", reduce("rescaled_sum", e, axis, keepdims)) + reduce("max_or_lowest", x, axis, keepdims)

    def cumulative_sum(self, x: Traced, axis: int = -1) -> Traced:
        along = roots_of([x.dims[place_of(x, axis, "cumulative_sum")]])
        return x.trace.add("cumsum", [x.name], x.dims, along) if along else x

    def astype(self, x: Traced, dtype: Any, /) -> Traced:
        places_of(x, None, "astype")
        return x.astype(dtype)

    def expand_dims(self, x: Traced, axis: int = 0) -> Traced:
        if not isinstance(x, Traced) or not isinstance(axis, numbers.Integral) or not -x.ndim - 1 <= axis <= x.ndim:
            raise fault(f"expand_dims: axis={axis} of an array with {getattr(x, 'ndim', 'no')} axes; give one axis")
        place = axis % (x.ndim + 1)
        return x.with_dims((*x.dims[:place], None, *x.dims[place:]))

    def permute_dims(self, x: Traced, axes: Sequence[int]) -> Traced:
        if not isinstance(axes, (tuple, list, range)) or places_of(x, tuple(axes), "permute_dims") != list(range(x.ndim)):
            raise fault(f"permute_dims: axes={axes} are not those of an array with {x.ndim} axes, each once")
        return x.with_dims(x.dims[a] for a in axes)

    def flip(self, x: Traced, axis: Axes = None) -> Traced:
        for place in places_of(x, axis, "flip"):
            x = x.taken(place, slice(None, None, -1))
        return x

    def roll(self, x: Traced, shift: int, axis: Axes = None) -> Traced:
        place = place_of(x, axis, "roll")
        if not isinstance(shift, numbers.Integral):
            raise fault(f"roll: shift={shift}; give one integer")
        extent = extent_of(x, place, "roll")
        first = -shift % max(extent, 1)
        return x if first == 0 else self.concat([x.taken(place, slice(first, None)), x.taken(place, slice(None, first))], axis)

    def concat(self, arrays: Sequence[Traced], axis: int = 0) -> Traced:
        """Arrays one behind the other; where extents differ from case to case, arrays of one and the same axis."""
        parts = list(arrays) if isinstance(arrays, (tuple, list)) else []
        if not parts or not all(isinstance(x, Traced) for x in parts):
            raise fault("concat and stack take a list of arrays of the function's arguments")
        place = place_of(parts[0], axis, "concat")
        if any(x.ndim != parts[0].ndim for x in parts):
            raise fault("concat of arrays with different numbers of axes: add some with x[None]")
        single = [[axis is None for axis in (*x.dims[:place], *x.dims[place + 1:])] for x in parts]
        if any(one != single[0] for one in single):
            raise fault("concat of arrays whose other axes differ, of which one has one element: concat does not broadcast; select "
                        "as many elements of each")
        return parts[0] if len(parts) == 1 else join(parts, place)

    def stack(self, arrays: Sequence[Traced], axis: int = 0) -> Traced:
        parts = arrays if isinstance(arrays, (tuple, list)) else []
        return self.concat([self.expand_dims(x, axis) if isinstance(x, Traced) else x for x in parts], axis)

    def reshape(self, x: Traced, shape: Union[int, Sequence[int]]) -> Traced:
        return reshape(x, shape)

    def remainder(self, x: Any, y: Any) -> Traced: return x - map_function("floor_divide", x, y) * y
    def floor(self, x: Traced) -> Traced: return map_function("floor_divide", x, 1)
    def round(self, x: Traced) -> Traced: return map_function("nearest", x)

    def ceil(self, x: Traced) -> Traced: return -self.floor(-x)
    def trunc(self, x: Traced) -> Traced: return self.where(x < 0, self.ceil(x), self.floor(x))
    def sign(self, x: Traced) -> Traced: return self.where(x > 0, 1, self.where(x < 0, -1, x))  # of zeros and NaN these
    def full_like(self, x: Traced, fill_value: Any) -> Traced: return self.where(x == x, fill_value, fill_value)
    def zeros_like(self, x: Traced) -> Traced: return self.full_like(x, 0)
    def ones_like(self, x: Traced) -> Traced: return self.full_like(x, 1)

    def einsum(self, subscripts: str, *arrays: Traced) -> Traced:
        """NumPy's, of letters that stand once in an operand: "bij,bkj->bik"."""
        given, arrow, result = str(subscripts).replace(" ", "").partition("->")
        terms = given.split(",")
        if not arrow:
            result = "".join(sorted(letter for letter in set(given) - {","} if given.count(letter) == 1))
        is_fit = len(terms) == len(arrays) and all(isinstance(x, Traced) and x.ndim == len(term) for term, x in zip(terms, arrays))
        if not is_fit or any(not term.isalpha() or len(set(term)) < len(term) for term in terms):
            raise fault(f"einsum: '{subscripts}' does not name each axis of {len(arrays)} arrays by a letter of its own, as \"ij,jk->ik\" does")
        if not set(result) <= set(given) or len(set(result)) < len(result):
            raise fault(f"einsum: '{subscripts}' has a letter behind the arrow that no operand has, or one twice")
        letters = result + "".join(dict.fromkeys(letter for letter in given if letter not in result + ","))
        product: Any = None
        for term, x in zip(terms, arrays):
            x = self.permute_dims(x, sorted(range(x.ndim), key=lambda axis: letters.index(term[axis])))
            x = x[tuple(slice(None) if letter in term else None for letter in letters)]
            product = x if product is None else product * x
        summed = tuple(range(len(result), len(letters)))
        return self.sum(product, axis=summed) if summed else product

    def tensordot(self, x: Traced, y: Traced, axes: Any = 2) -> Traced:
        """Sums of products over the last axes of x and the first of y, or over two lists of axes."""
        of_x, of_y = (range(x.ndim - axes, x.ndim), range(axes)) if is_integer(axes) else ([one] if is_integer(one) else one for one in axes)
        places = [{axis % of.ndim for axis in some if -of.ndim <= axis < of.ndim} for some, of in ((of_x, x), (of_y, y))]
        if not len(of_x) == len(of_y) == len(places[0]) == len(places[1]):
            raise fault(f"tensordot: axes={axes} does not pair axes of an array of {x.ndim} axes with those of one of {y.ndim}: give how many, or two "
                        "lists of as many different ones")
        left, right = list(range(x.ndim)), [x.ndim + axis for axis in range(y.ndim)]
        for one, other in zip(of_x, of_y):
            right[other] = left[one]
        kept = [axis for axis in left if axis not in right] + [axis for axis in right if axis not in left]
        term = lambda axes: "".join(chr(ord("a") + axis) for axis in axes)  # noqa: E731
        return self.einsum(f"{term(left)},{term(right)}->{term(kept)}", x, y)

    arange, take, take_along_axis = map(staticmethod, (_chosen.arange, _chosen.take, _chosen.take_along_axis))
    scatter_add, pad = map(staticmethod, (_chosen.scatter_add, _chosen.pad))

    def sort(self, x: Traced, axis: int = -1, descending: bool = False, stable: bool = True) -> Traced:
        return _chosen.select(x, axis, None, "sort", descending, False, "first")

    def argsort(self, x: Traced, axis: int = -1, descending: bool = False, stable: bool = True) -> Traced:
        return _chosen.select(x, axis, None, "argsort", descending, True, "first" if stable else "any")

    def topk(self, x: Traced, k: int, axis: int = -1, largest: bool = True) -> tuple[Traced, Traced]:
        """The largest numbers in descending order, or the smallest ones ascending, and their places. Equal ones stand in any order."""
        values, places = (_chosen.select(x, axis, k, "topk", largest, are_places, "any") for are_places in (False, True))
        return values, places

    def argmax(self, x: Traced, axis: Optional[int] = None, keepdims: bool = False) -> Traced:
        """The place of the first of the largest numbers."""
        if axis is None and (not isinstance(x, Traced) or x.ndim != 1):
            raise fault("argmax and argmin go along one axis, as axis=-1")
        place = place_of(x, 0 if axis is None else axis, "argmax")
        most = _chosen.select(x, place, 1, "argmax", True, True, "first")
        return most if keepdims else most.with_dims((*most.dims[:place], *most.dims[place + 1:]))

    def argmin(self, x: Traced, axis: Optional[int] = None, keepdims: bool = False) -> Traced:
        return self.argmax(map_function("negative", x), axis, keepdims)  # NaN is the smallest, too

    def tril(self, x: Traced, k: int = 0) -> Traced:
        row, column = indices(x, "tril")
        return self.where(map_function("less_equal", column, row + k), x, 0)

    def triu(self, x: Traced, k: int = 0) -> Traced:
        row, column = indices(x, "triu")
        return self.where(map_function("less_equal", row + k, column), x, 0)

    def split(self, x: Traced, parts: int, axis: int = -1) -> list[Traced]:
        """Equal parts along an axis of known extent, or one that an annotation calls "2*n", for two parts."""
        place = place_of(x, axis, "split")
        if not isinstance(parts, numbers.Integral) or parts < 1:
            raise fault(f"split into {parts}: give a number of equal parts, and take others by slices such as x[..., :2]")
        whole = x.dims[place] and x.dims[place].root()
        if whole is not None and whole.extent is not None:
            size, rest = divmod(whole.extent, parts)
            if rest:
                raise fault(f"split of {whole.extent} elements into {parts} equal parts")
            return [x.taken(place, slice(k * size, (k + 1) * size)) for k in range(parts)]
        if whole is None or whole.of is None or whole.times != parts:
            raise fault(f"split into {parts}: an annotation of an operator has to call the axis a multiple, as \"{parts}*n\"")
        part = whole.of.root()
        dims = (*x.dims[:place], part, *x.dims[place + 1:])
        return [x.trace.add("at", [x.name], dims, [whole, part], start=[part.name] * k) for k in range(parts)]

    def matmul(self, x: Any, y: Any) -> Traced:
        """Products of the last axis of x and the last but one of y; the others broadcast."""
        if not (isinstance(x, Traced) and isinstance(y, Traced)) or x.ndim == 0 or y.ndim == 0:
            raise fault("matmul takes two arrays of the function's arguments, each of one axis at least")
        if x.is_condition and y.is_condition:
            raise fault("matmul of conditions, which NumPy has as logic: make numbers of one with xp.where(condition, 1.0, 0.0)")
        inner = -2 if y.ndim > 1 else -1
        of_one = [x.dims[-1] is None, y.dims[inner] is None]
        if any(of_one) and not all(of_one):
            raise fault("matmul over an axis of one element that broadcasts: give that axis a name, or multiply")
        if y.ndim > 1 and y.dims[-1] is not None and y.dims[-1].root() in roots_of(x.dims):
            y = x.trace.moved(y, -1, x.trace.copy_of(y.dims[-1]))
        if all(of_one):  # a product each, and no sum
            if x.ndim > 1 and y.ndim > 1:
                return map_function("multiply", x, y)
            return map_function("multiply", x.with_dims(x.dims[:-1]), y.with_dims((*y.dims[:-2], *y.dims[-1:]) if y.ndim > 1 else ()))
        y = x.trace.align(y, inner, x.dims[-1])
        (x, y), batch = broadcast([x, y], matrix=2)
        rows, columns = x.dims[-2:-1] if x.ndim > 1 else (), y.dims[-1:] if y.ndim > 1 else ()
        dims = (*batch, *rows, *columns)
        if x.dims[-1].root() in roots_of(dims) or len(set(roots_of(dims))) < len(roots_of(dims)):
            raise fault("matmul: an axis of a matrix is one of the other operand's batch; give one of them an array of its own")
        return x.trace.add("contraction", [x.name, y.name], dims, roots_of(x.dims[-1:]))


class _NumPyNamespace(Networks):
    """NumPy's functions, and those of networks that it lacks."""

    def __getattr__(self, name: str) -> Any:
        import numpy
        older = "arc" + name[1:] if name in ("asin", "acos", "atan", "asinh", "acosh", "atanh") else name
        return getattr(numpy, older)

    def fmax(self, x: Any, y: Any) -> Any: return self.__getattr__("fmax")(x, y)
    def fmin(self, x: Any, y: Any) -> Any: return self.__getattr__("fmin")(x, y)
    def sigmoid(self, x: Any) -> Any: return 1 / (1 + self.exp(-x))
    def rsqrt(self, x: Any) -> Any: return 1 / self.sqrt(x)
    def relu(self, x: Any) -> Any: return self.maximum(x, 0)
    def permute_dims(self, x: Any, axes: Sequence[int]) -> Any: return self.transpose(x, axes)
    def concat(self, arrays: Sequence[Any], axis: int = 0) -> Any: return self.concatenate(arrays, axis)
    def cumulative_sum(self, x: Any, axis: int = -1) -> Any: return self.cumsum(x, axis=axis)
    def clip(self, x: Any, min: Any = None, max: Any = None) -> Any: return self.__getattr__("clip")(x, min, max)
    def expand_dims(self, x: Any, axis: int = 0) -> Any: return self.__getattr__("expand_dims")(x, axis)
    def split(self, x: Any, parts: int, axis: int = -1) -> Any: return self.__getattr__("split")(x, parts, axis=axis)

    def pad(self, x: Any, pad_width: Any, constant_values: Any = 0) -> Any:
        return self.__getattr__("pad")(x, pad_width, constant_values=constant_values)

    def sort(self, x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        return self.take_along_axis(x, self.argsort(x, axis, descending), axis)

    def argsort(self, x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        ascending = self.__getattr__("argsort")
        if not descending:
            return ascending(x, axis=axis, kind="stable")
        return x.shape[axis] - 1 - self.flip(ascending(self.flip(x, axis), axis=axis, kind="stable"), axis)

    def topk(self, x: Any, k: int, axis: int = -1, largest: bool = True) -> Any:
        places = self.take(self.argsort(x, axis, descending=largest), range(k), axis=axis)
        return self.take_along_axis(x, places, axis), places

    def scatter_add(self, x: Any, indices: Any, updates: Any, axis: int = 0) -> Any:
        made = self.moveaxis(x, axis, 0).copy()
        self.add.at(made, indices, self.moveaxis(updates, axis, 0))
        return self.moveaxis(made, 0, axis)

    def astype(self, x: Any, dtype: Any, /) -> Any:
        return self.asarray(x).astype(framework_name(dtype), copy=False)

    def erf(self, x: Any) -> Any:
        return self.vectorize(math.erf, otypes=[x.dtype])(x)

    def gelu(self, x: Any, approximate: str = "none") -> Any:
        if approximate == "tanh":
            return x / 2 * (1 + self.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
        return x / 2 * (1 + self.erf(x * math.sqrt(0.5)))

    def logsumexp(self, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
        top = self.max(x, axis=axis, keepdims=True)
        e = self.exp(self.where(x < top, x - top, self.zeros_like(x)))  # no difference of infinities
        return self.log(self.sum(e, axis=axis, keepdims=keepdims)) + self.max(x, axis=axis, keepdims=keepdims)


def names() -> list[str]:
    """The functions that can be traced."""
    own = [name for kind in (Networks, _TracedNamespace) for name in vars(kind) if not name.startswith("_")]
    return sorted({*_MAPS, *_REDUCTIONS, *own})


TRACED, NUMPY = _TracedNamespace(), _NumPyNamespace()


def namespace(x: Any) -> Any:
    """The functions for arrays of x's kind: a traced array, or one of NumPy, PyTorch or JAX. Raises UsageError for other
    kinds."""
    if isinstance(x, Traced):
        return TRACED
    kind = type(x).__module__.split(".")[0]
    if kind == "numpy":
        return NUMPY
    if kind == "torch":
        from .frameworks import torch_namespace
        return torch_namespace.namespace_of(x)
    if kind in ("jax", "jaxlib"):
        from .frameworks import jax_namespace
        return jax_namespace.NAMESPACE
    if hasattr(x, "assay_namespace"):  # arrays of graphs that are being exported
        return x.assay_namespace
    raise UsageError("assay.namespace takes traced arrays and those of NumPy, PyTorch and JAX, not "
                     f"{type(x).__module__}.{type(x).__name__}: convert it with numpy.asarray")
