# SPDX-License-Identifier: Apache-2.0
"""Rules by the names of JAX's primitives: questions on what one equation of a jaxpr computes, from its parameters and arrays."""
from __future__ import annotations

import inspect
import math
from typing import Any, Callable, Mapping, Sequence

from .._namespace import TRACED as xp
from ._rules import Answer, Exact, Question, Unjudged

Params = Mapping[str, Any]
Arrays = Sequence[Any]  # of NumPy
RULES: dict[str, Callable[[Params, Arrays, Arrays], Answer]] = {}

# Functions of single elements that the library has as operators, and sums of two.
_UNARY = {"exp": "exp", "exp2": "exp2", "log": "log", "log1p": "log1p", "expm1": "expm1", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos",
          "atan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "logistic": "sigmoid",
          "sqrt": "sqrt", "rsqrt": "rsqrt", "erf": "erf", "erfc": "erfc", "square": "square"}
_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "add_any": "add"}
# Results that have one right answer in every type, by NumPy's name.
_EXACT = {"neg": "negative", "abs": "abs", "sign": "sign", "floor": "floor", "ceil": "ceil", "max": "maximum", "min": "minimum", "lt": "less", "le": "less_equal",
          "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal", "is_finite": "isfinite"}
_OF_INTEGERS = {**_EXACT, "add": "add", "sub": "subtract", "mul": "multiply", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
                "not": "invert", "add_any": "add"}


def is_real(array: Any) -> bool:
    return array.dtype.kind == "f" or array.dtype.name.startswith(("bfloat", "float"))


def rule(*names: str) -> Callable[[Any], Any]:
    def made(function: Any) -> Any:
        RULES.update(dict.fromkeys(names, function))
        return function
    return made


def exact(expected: Any, got: Any) -> Exact:
    """Equal values; NaN is equal to NaN."""
    import numpy
    expected = numpy.asarray(expected, got.dtype)
    if expected.shape == got.shape and is_real(got):
        both = numpy.isnan(expected) & numpy.isnan(got)
        expected, got = numpy.where(both, numpy.zeros((), got.dtype), expected), numpy.where(both, numpy.zeros((), got.dtype), got)
    return Exact(expected, got)


def ask(name: str, params: Params, given: Arrays, made: Arrays) -> Answer:
    """Raises Unjudged where there is no rule."""
    import numpy
    for each in (*given, *made):
        if each.dtype.kind == "c":
            raise Unjudged("complex numbers")
    if name in _OF_INTEGERS and not any(map(is_real, given)):
        with numpy.errstate(all="ignore"):
            return exact(getattr(numpy, _OF_INTEGERS[name])(*given), made[0])
    found = RULES.get(name)
    if found is None:
        raise Unjudged("random numbers" if name.startswith(("random_", "threefry")) else f"no rule for {name}")
    return found(params, given, made)


def _traced(name: str, params: Params, function: Callable[..., Any], given: Arrays, made: Arrays) -> Question:
    """`function` depends on the parameters alone."""
    names = [f"x{place}" for place in range(len(given))]

    def call(**arrays: Any) -> Any:
        return {"y": function(*arrays.values())}

    call.__name__ = name if name.isidentifier() else "jax"
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in names])
    plan = ("jax", name, repr(sorted(params.items(), key=lambda item: item[0])), *((each.shape, each.dtype.name) for each in (*given, *made)))
    return Question(call, dict(zip(names, given)), {"y": made[0]}, plan=plan)


def _elements(op: str, names: Sequence[str], given: Arrays, made: Arrays) -> Question:
    import numpy
    flat = [numpy.broadcast_to(each, made[0].shape).reshape(-1) for each in given]
    return Question(op, dict(zip(names, flat)), {names[-1]: made[0].reshape(-1)})


for _name, _op in _UNARY.items():
    RULES[_name] = lambda params, given, made, op=_op: _elements(op, ("x", "y"), given, made)
for _name, _op in _BINARY.items():
    RULES[_name] = lambda params, given, made, op=_op: _elements(op, ("x", "y", "z"), given, made)


def _by_numpy(function: str) -> Any:
    def asked(params: Params, given: Arrays, made: Arrays) -> Exact:
        import numpy
        with numpy.errstate(all="ignore"):
            return exact(getattr(numpy, function)(*given), made[0])
    return asked


RULES.update({name: _by_numpy(function) for name, function in _EXACT.items()})


@rule("integer_pow")
def _integer_pow(params: Params, given: Arrays, made: Arrays) -> Answer:
    n = params["y"]
    if not is_real(given[0]):
        return exact(given[0] ** n, made[0])
    return _traced("integer_pow", params, lambda x: 1 / x ** -n if n < 0 else x ** n, given, made)


@rule("pow")
def _pow(params: Params, given: Arrays, made: Arrays) -> Question:
    import numpy
    return _traced("pow", params, lambda x, y: x ** y, [numpy.broadcast_to(each, made[0].shape).astype(made[0].dtype) for each in given], made)


@rule("reduce_sum")
def _sum(params: Params, given: Arrays, made: Arrays) -> Answer:
    import numpy
    axes = tuple(params["axes"])
    if not is_real(given[0]):
        return exact(numpy.sum(given[0], axes, dtype=made[0].dtype), made[0])
    return _traced("reduce_sum", {"axes": axes}, lambda x: xp.sum(x, axis=axes), given, made)


@rule("cumsum")
def _cumsum(params: Params, given: Arrays, made: Arrays) -> Answer:
    import numpy
    axis = params["axis"]
    if params["reverse"]:
        given, made = [numpy.flip(given[0], axis)], [numpy.flip(made[0], axis)]
    if not is_real(given[0]):
        return exact(numpy.cumsum(given[0], axis, dtype=made[0].dtype), made[0])
    return _traced("cumsum", {"axis": axis}, lambda x: xp.cumulative_sum(x, axis=axis), given, made)


def _reduced(name: str, function: str) -> None:
    def asked(params: Params, given: Arrays, made: Arrays) -> Exact:
        import numpy
        axes = tuple(params["axes"])
        return exact(getattr(numpy, function)(given[0], axes[0] if name.startswith("arg") else axes), made[0])
    RULES[name] = asked


for _name, _op in {"reduce_max": "max", "reduce_min": "min", "argmax": "argmax", "argmin": "argmin"}.items():
    _reduced(_name, _op)


def _bitwise(name: str, function: str) -> None:
    def asked(params: Params, given: Arrays, made: Arrays) -> Exact:
        import numpy
        return exact(getattr(numpy, function).reduce(given[0], axis=tuple(params["axes"])), made[0])
    RULES[name] = asked


for _name, _op in {"reduce_and": "bitwise_and", "reduce_or": "bitwise_or", "reduce_xor": "bitwise_xor"}.items():
    _bitwise(_name, _op)


@rule("dot_general")
def _product(params: Params, given: Arrays, made: Arrays) -> Answer:
    import numpy
    ((left, right), (batch_left, batch_right)) = params["dimension_numbers"]
    a, b = given
    if not is_real(a) or not is_real(b):
        raise Unjudged("products of matrices of integers")
    rows = [k for k in range(a.ndim) if k not in (*left, *batch_left)]
    columns = [k for k in range(b.ndim) if k not in (*right, *batch_right)]
    shape = (math.prod(a.shape[k] for k in batch_left), math.prod(a.shape[k] for k in rows), math.prod(b.shape[k] for k in columns))
    terms = math.prod(a.shape[k] for k in left)
    a = numpy.transpose(a, (*batch_left, *rows, *left)).reshape(shape[0], shape[1], terms)
    b = numpy.transpose(b, (*batch_right, *right, *columns)).reshape(shape[0], terms, shape[2])
    y = made[0].reshape(shape)
    a, b, y = (a[0], b[0], y[0]) if shape[0] == 1 else (a, b, y)
    return Question("matmul", {"a": a, "b": b}, {"y": y})


@rule("conv_general_dilated")
def _convolution(params: Params, given: Arrays, made: Arrays) -> Question:
    import numpy
    spec = params["dimension_numbers"]
    pads = params["padding"]
    if any(k != 1 for k in params["lhs_dilation"]) or params["batch_group_count"] != 1 or any(low != high or low < 0 for low, high in pads):
        raise Unjudged("convolutions that are transposed, or padded on one side")
    x, w = numpy.transpose(given[0], spec.lhs_spec), numpy.transpose(given[1], spec.rhs_spec)
    return Question("conv", {"x": x, "w": w}, {"y": numpy.transpose(made[0], spec.out_spec)},
                    {"stride": tuple(params["window_strides"]), "pad": tuple(low for low, _ in pads), "dilation": tuple(params["rhs_dilation"]),
                     "groups": params["feature_group_count"]})


@rule("convert_element_type")
def _conversion(params: Params, given: Arrays, made: Arrays) -> Answer:
    x, y = given[0], made[0]
    if is_real(x) and is_real(y):
        return Question("cast", {"x": x.reshape(-1)}, {"y": y.reshape(-1)}) if x.dtype != y.dtype else exact(x, y)
    if is_real(x) and y.dtype.kind in "iu":
        raise Unjudged("numbers that are converted to integers")
    if is_real(y) and y.dtype.itemsize < 4 and x.size and max(-int(x.min()), int(x.max())) > 1 << 24:
        raise Unjudged("large integers that are converted to few bits")  # NumPy rounds them to f32 first
    return exact(x.astype(y.dtype), y)


@rule("select_n")
def _select(params: Params, given: Arrays, made: Arrays) -> Answer:
    import numpy
    which, *cases = given
    chosen = numpy.broadcast_to(which, made[0].shape).astype(int)
    return exact(numpy.choose(chosen, cases) if made[0].dtype.kind != "V" else numpy.where(chosen == 0, *cases[:2]), made[0])


@rule("broadcast_in_dim")
def _broadcast(params: Params, given: Arrays, made: Arrays) -> Answer:
    import numpy
    shape = [1] * len(params["shape"])
    for place, axis in enumerate(params["broadcast_dimensions"]):
        shape[axis] = given[0].shape[place]
    return exact(numpy.broadcast_to(given[0].reshape(shape), params["shape"]), made[0])


@rule("reshape", "squeeze", "expand_dims", "copy", "copy_p", "stop_gradient", "reduce_precision", "optimization_barrier")
def _same_elements(params: Params, given: Arrays, made: Arrays) -> Answer:
    if "exponent_bits" in params:
        raise Unjudged("no rule for reduce_precision")
    return exact(given[0].reshape(made[0].shape), made[0])


@rule("transpose")
def _transpose(params: Params, given: Arrays, made: Arrays) -> Answer: return exact(given[0].transpose(params["permutation"]), made[0])


@rule("rev")
def _rev(params: Params, given: Arrays, made: Arrays) -> Answer:
    import numpy
    return exact(numpy.flip(given[0], params["dimensions"]), made[0])


@rule("concatenate")
def _concatenate(params: Params, given: Arrays, made: Arrays) -> Answer:
    import numpy
    return exact(numpy.concatenate(given, params["dimension"]), made[0])


@rule("slice")
def _slice(params: Params, given: Arrays, made: Arrays) -> Answer:
    steps = params["strides"] or [1] * given[0].ndim
    return exact(given[0][tuple(map(slice, params["start_indices"], params["limit_indices"], steps))], made[0])


@rule("dynamic_slice")
def _dynamic_slice(params: Params, given: Arrays, made: Arrays) -> Answer:
    return exact(given[0][_window(given[0], given[1:], params["slice_sizes"])], made[0])


@rule("dynamic_update_slice")
def _dynamic_update_slice(params: Params, given: Arrays, made: Arrays) -> Answer:
    expected = given[0].copy()
    expected[_window(given[0], given[2:], given[1].shape)] = given[1]
    return exact(expected, made[0])


def _window(whole: Any, starts: Arrays, sizes: Sequence[int]) -> tuple[slice, ...]:
    """JAX moves a window that reaches beyond an end to within the array."""
    begins = [min(max(int(start), 0), extent - size) for start, extent, size in zip(starts, whole.shape, sizes)]
    return tuple(slice(begin, begin + size) for begin, size in zip(begins, sizes))


@rule("pad")
def _pad(params: Params, given: Arrays, made: Arrays) -> Answer:
    import numpy
    if any(low < 0 or high < 0 for low, high, _ in params["padding_config"]):
        raise Unjudged("pads that take elements away")
    expected = numpy.full(made[0].shape, given[1], given[0].dtype)
    expected[tuple(slice(low, low + max(extent + (extent - 1) * inner, 0), inner + 1)
                   for (low, _, inner), extent in zip(params["padding_config"], given[0].shape))] = given[0]
    return exact(expected, made[0])


@rule("gather")
def _gather(params: Params, given: Arrays, made: Arrays) -> Answer:
    """Whole rows of a table, as an embedding takes them."""
    import numpy
    table, places = given
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    axes = tuple(range(made[0].ndim - table.ndim + 1, made[0].ndim))
    if tuple(numbers.collapsed_slice_dims) != (0,) or tuple(numbers.start_index_map) != (0,) or tuple(sizes[1:]) != table.shape[1:] or \
            tuple(numbers.offset_dims) != axes or getattr(numbers, "operand_batching_dims", ()):
        raise Unjudged("no rule for gather of other than rows")
    rows = places[..., 0].astype(int)
    if rows.size and (rows.min() < 0 or rows.max() >= len(table)):
        raise Unjudged("places outside of a table")
    return exact(numpy.take(table, rows, 0), made[0])
