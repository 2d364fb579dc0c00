# SPDX-License-Identifier: Apache-2.0
"""Rules by the names of PyTorch's functions: questions to ``assay.check`` that say what a function computes."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence, Union


class Unjudged(Exception):
    """A call that no rule covers; the text says why."""


class Question(NamedTuple):
    """One judgement on a call: an operator, or a function to trace, its operands, and the tensors to judge."""
    op: Union[str, Callable[..., Any]]
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    attrs: Mapping[str, Any] = {}
    # Makes questions about parts of the outputs, where judging takes much longer than the call, of a function that gives elements of an
    # output which are furthest from their values in f64, or None.
    parts: Any = None
    elements: int = 0  # of the whole outputs, where these are a part of them
    plan: Any = None  # questions with an equal one are the same but for the elements of their tensors


class Exact(NamedTuple):
    """A result that is demanded bit for bit: what NumPy's own moves make of the operands."""
    expected: Any
    got: Any
    fault: str = "elements are not those that were moved there"  # of those that differ


Answer = Union[Question, Exact]
# A call's arguments by the names of its schema, and the tensors that it returned.
Rule = Callable[[Mapping[str, Any], Sequence[Any]], Iterable[Answer]]

FORMULAS: dict[str, Callable[..., Any]] = {}  # functions of traced arrays, by the names that their rules have
RULES: dict[str, Rule] = {}  # by "add", or "max.dim" where the overloads differ


def accepted(called: str, function: Callable[..., Any], arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that the function takes. Raises Unjudged where another one is not at its default."""
    named = _parameters(function)
    for name, value in arguments.items():
        if name not in named and name not in _OF_STORAGE and not _is(value, defaults.get(name)):
            # No elements of tensors, which would make a reason of their own of each call.
            raise Unjudged(f"{called} with {name}" + (f"={value!r}" if isinstance(value, (bool, int, float, str)) else ""))
    return {name: value for name, value in arguments.items() if name in named}


@functools.lru_cache(4096)
def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


# These say where and how a result is stored, and nothing of its values.
_OF_STORAGE = ("layout", "device", "pin_memory", "non_blocking", "memory_format", "dtype", "copy", "out", "generator")


def _is(value: Any, default: Any) -> bool:
    return value is None or value is default or type(value) in (bool, int, float, str) and value == default


class Defaults(dict):
    """Arguments of a call, and what its schema has for those that were left out."""

    def __init__(self, arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        super().__init__(arguments)
        self.defaults = defaults


def formula(*names: str, promotes: bool = False, judged: Sequence[int] = (0,)) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function of traced arrays the rule of ATen functions. Its parameters are arguments of the schema; it returns the
    outputs whose places are `judged`. `promotes`: operands are converted to the type of the arithmetic first."""
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def rule(arguments: Mapping[str, Any], outputs: Sequence[Any]) -> Iterable[Answer]:
            taken = accepted(names[0], function, arguments, getattr(arguments, "defaults", {}))
            if arguments.get("dtype") is not None:  # PyTorch converts operands to it before it computes
                taken = {name: value.to(arguments["dtype"]) if is_tensor(value) else value for name, value in taken.items()}
            results = [outputs[place] for place in judged]
            if any(each is None for each in results):
                raise Unjudged(f"{names[0]}: some of the outputs without the others")
            yield traced(function, promoted(taken, results[0]) if promotes else taken, results)
        RULES.update(dict.fromkeys(names, rule))
        FORMULAS.update(dict.fromkeys(names, function))
        return function
    return made


def formulas(table: Mapping[str, Callable[..., Any]]) -> None:
    """Makes each function of the table the rule of the ATen function that it stands under, as `formula` does."""
    for name, function in table.items():
        formula(name)(function)


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function that returns or yields questions the rule of ATen functions. Its parameters are `outputs` and arguments
    of the schema."""
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def asked(arguments: Mapping[str, Any], outputs: Sequence[Any]) -> Iterable[Answer]:
            found = function(outputs, **accepted(names[0], function, arguments, getattr(arguments, "defaults", {})))
            return [found] if isinstance(found, (Question, Exact)) else found
        RULES.update(dict.fromkeys(names, asked))
        return function
    return made


def is_tensor(value: Any) -> bool:
    return hasattr(value, "untyped_storage")


def values_of(arguments: Mapping[str, Any]) -> list[Any]:
    """The arguments, those in lists by themselves."""
    return [each for value in arguments.values() for each in (value if isinstance(value, (list, tuple)) else [value])]


def traced(function: Callable[..., Any], arguments: Mapping[str, Any], outputs: Sequence[Any]) -> Question:
    """The question whether the outputs are those of the function. Tensors among its arguments, also in lists, are operands;
    the rest are constants."""
    operands: dict[str, Any] = {}
    for name, value in arguments.items():
        if is_tensor(value):
            operands[name] = value
        elif isinstance(value, (list, tuple)) and value and all(map(is_tensor, value)):
            operands.update({f"{name}_{place}": each for place, each in enumerate(value)})

    def restored(arrays: Mapping[str, Any], name: str, value: Any) -> Any:
        if name in arrays:
            return arrays[name]
        return [arrays[f"{name}_{place}"] for place in range(len(value))] if f"{name}_0" in arrays else value

    def call(**arrays: Any) -> Any:
        made = function(**{name: restored(arrays, name, value) for name, value in arguments.items()})
        made = made if isinstance(made, (tuple, list)) else (made,)
        return {f"y{place}": value for place, value in enumerate(made)}

    call.__name__ = "aten"
    call.may_leave_unread = True  # type: ignore[attr-defined]  # calls have operands that only other modes read
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in operands])
    return Question(call, operands, {f"y{place}": each for place, each in enumerate(outputs)}, plan=_plan(function, arguments, outputs))


def _plan(function: Callable[..., Any], arguments: Mapping[str, Any], outputs: Sequence[Any]) -> Any:
    """All that tracing the function depends on; None where it holds what cannot be compared."""
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    if any(map(is_tensor, held)):
        return None
    plan = (function.__code__, function.__defaults__, tuple(map(sign, held)), tuple((name, sign(each)) for name, each in arguments.items()),
            tuple(map(sign, outputs)))
    try:
        hash(plan)
    except TypeError:
        return None
    return plan


def sign(value: Any) -> Any:
    if is_tensor(value):
        return tuple(value.shape), value.dtype
    if isinstance(value, (list, tuple)):
        return (type(value), *map(sign, value))
    return type(value), repr(value) if isinstance(value, float) else value  # 0.0 and -0.0 are equal


def promoted(arguments: Mapping[str, Any], output: Any) -> dict[str, Any]:
    """Arguments as PyTorch's type promotion converts them before it computes: integers beside floating-point numbers, and
    scalars in tensors of no axis."""
    import torch
    tensors = [each for each in arguments.values() if is_tensor(each)]
    real = [each for each in tensors if each.dtype.is_floating_point]
    counted = [each for each in real if each.dim() > 0] or real or (tensors if output.dtype == torch.bool else [output])
    kind = functools.reduce(torch.promote_types, [each.dtype for each in counted])
    if kind == torch.bool:
        return dict(arguments)

    def convert(value: Any) -> Any:
        if is_tensor(value):
            narrower = value.dtype.is_floating_point and kind.is_floating_point and value.dtype.itemsize < kind.itemsize
            return value if value.dtype == kind or narrower or value.dtype == torch.bool and not kind.is_floating_point else value.to(kind)
        if isinstance(value, float) and kind.is_floating_point and output.dtype == torch.bool:
            return float(torch.tensor(value, dtype=kind))  # what a number is compared with is of that type
        return value

    return {name: convert(value) for name, value in arguments.items()}
