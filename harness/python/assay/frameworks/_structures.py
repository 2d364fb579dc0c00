# SPDX-License-Identifier: Apache-2.0
"""Columns `torch-structured` and their like: each function of a framework on operands that are no dense arrays, though they have
the same values, and with out=. Results are judged as those of dense operands are."""
from __future__ import annotations

import copy
import functools
import importlib
import math
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from .. import _kernels
from .._frameworks import Unsupported, WrongResult

POISON = 0x7f  # each byte beside the elements: numbers near the largest, so that a wrong read shows
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


class Arrays(NamedTuple):
    """Functions of a framework's arrays. poisoned: makes one of a shape, and of the type of another. octets: the bytes of its
    elements along a further axis, dense. transposed: a copy with the axes in reverse order in memory. broadcast: to a shape."""
    poisoned: Callable[..., Any]
    octets: Callable[[Any], Any]
    transposed: Callable[[Any], Any]
    broadcast: Callable[..., Any]


def _every_second(axes: int) -> tuple[Any, ...]:
    return (*(slice(1, None, 2),) * axes, ...)  # with the ellipsis an array of no axes stays an array


def _gapped(arrays: Arrays, x: Any) -> tuple[Any, Any]:
    """A view of x's shape, of every second element along each axis, and the array that it is a view of."""
    around = arrays.poisoned([2 * extent + 1 for extent in x.shape], x)
    return around[_every_second(x.ndim)], around


def _sliced(arrays: Arrays, x: Any) -> Any:
    view, _ = _gapped(arrays, x)
    view[...] = x
    return view


def _expanded(arrays: Arrays, x: Any) -> Any:
    """With stride 0 along each axis whose elements are all as the first, to the bit."""
    octets, kept = arrays.octets(x), [slice(None)] * x.ndim
    for axis in range(x.ndim):
        first = (slice(None),) * axis + (slice(1),)
        if bool((octets == octets[first]).all()):
            kept[axis] = slice(1)
    return arrays.broadcast(x[(*kept, ...)], tuple(x.shape))


def _same(arrays: Arrays, x: Any, y: Any) -> bool:
    return bool((arrays.octets(x) == arrays.octets(y)).all())


def on_operands(arrays: Arrays, operand: Callable[[Any], Any]) -> Wrap:
    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*operands: Any, **attrs: Any) -> Any:
            return function(*(x if x is None else operand(x) for x in operands), **attrs)
        return call
    return wrap


class Outputs:
    """Has functions write to out=, where they take it. `kind`: "out", arrays with gaps and with axes in reverse order; "in-place",
    an operand; "overlap", memory that begins one element behind an operand's."""
    REFUSALS: tuple[type[BaseException], ...] = (RuntimeError, ValueError)

    def __init__(self, arrays: Arrays, kind: str) -> None:
        self._arrays, self._kind = arrays, kind
        self.calls, self.refusal = 0, ""

    def call(self, functions: Sequence[Callable[..., Any]], args: Sequence[Any], named: dict[str, Any]) -> Any:
        """The result of the first function; that which another call has in out=, if its bits differ."""
        plain = functions[0](*args, **named)
        results = tuple(plain) if isinstance(plain, (tuple, list)) else (plain,)
        if "out" in named or not all(hasattr(one, "dtype") and hasattr(one, "ndim") for one in results):
            return plain
        for function in functions:
            try:
                for given, outs, around in self._tries(args, results):
                    function(*given, **named, out=outs[0] if len(outs) == 1 else tuple(outs))
                    self.calls += 1
                    if not all(map(self._is_clean, outs, around)):
                        raise WrongResult(f"{getattr(function, '__name__', function)}: it writes beside the elements of out=")
                    if not all(_same(self._arrays, one, out) for one, out in zip(results, outs)):
                        return outs[0] if len(outs) == 1 else tuple(outs)
                break
            except TypeError:  # it takes no out=
                continue
            except self.REFUSALS as why:
                self.refusal = str(why).partition("\n")[0]
                break
        return plain

    def _tries(self, args: Sequence[Any], results: Sequence[Any]) -> Iterator[tuple[Sequence[Any], list[Any], list[Any]]]:
        arrays = self._arrays
        if self._kind == "out":
            pairs = [_gapped(arrays, one) for one in results]
            yield args, [view for view, _ in pairs], [around for _, around in pairs]
            yield args, [arrays.transposed(arrays.poisoned(one.shape, one)) for one in results], []
            return
        for x in args if len(results) == 1 else ():
            if not hasattr(x, "dtype") or x.shape != results[0].shape or x.dtype != results[0].dtype or x.ndim == 0:
                continue
            count, later = math.prod(x.shape), self._kind == "overlap"
            memory = arrays.poisoned([count + later], x)
            own = memory[:count].reshape(x.shape)
            own[...] = x
            yield [own if one is x else one for one in args], [memory[later:].reshape(x.shape)], []

    def _is_clean(self, out: Any, around: Any) -> bool:
        wanted = self._arrays.poisoned(around.shape, out)
        wanted[_every_second(out.ndim)] = out
        return _same(self._arrays, around, wanted)


def with_out(outputs: Callable[[], Outputs], entered: Callable[..., Any]) -> Wrap:
    """entered(outputs, function, operands, attrs): the results of the function, whose calls go through outputs.call."""
    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*operands: Any, **attrs: Any) -> Any:
            made = outputs()
            results = entered(made, function, operands, attrs)
            if made.calls == 0:
                raise Unsupported(made.refusal or "none of its functions takes out= of this kind")
            return results
        call.may_refuse = True  # type: ignore[attr-defined]
        return call
    return wrap


def of_operands(arrays: Arrays) -> dict[str, Wrap]:
    kinds = {"sliced": functools.partial(_sliced, arrays), "transposed": arrays.transposed,
             "expanded": functools.partial(_expanded, arrays)}
    return {name: on_operands(arrays, operand) for name, operand in kinds.items()}


def register_structured(framework: str) -> None:
    """Puts a kernel for each structure in the place of each that is registered, but for those that compile by themselves."""
    module = importlib.import_module(f"{__package__}.{framework}_structures")
    plain = [one for one in _kernels.registered() if one.device == "cpu" and not one.name.startswith(("compile", "jit"))]
    _kernels.registered().clear()
    for kernel in plain:
        for name, wrap in module.structures().items():
            one = copy.copy(kernel)
            one.function, one.name = wrap(kernel.function), f"{kernel.name}-{name}"
            one.compiles = kernel.compiles or getattr(one.function, "may_refuse", False)
            _kernels.registered().append(one)
