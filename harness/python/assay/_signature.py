# SPDX-License-Identifier: Apache-2.0
"""Calls of decorators that do not fit. Python's own TypeError says neither what to write nor which word may be meant."""
from __future__ import annotations

import functools
import inspect
import os
import sys
from typing import Any, Callable, Mapping, Optional, Sequence, TypeVar

from ._declaration import Knowledge, meant
from ._errors import UsageError

_HERE = os.path.dirname(os.path.realpath(__file__))
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _place_of_caller() -> str:
    """"my_test.py:5: ", of the innermost code that is not this package's; "" in a worker, which adds the place itself."""
    frame = sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(os.path.realpath(frame.f_code.co_filename)) == _HERE:
        frame = frame.f_back
    return "" if Knowledge.operators is not None else f"{frame.f_code.co_filename}:{frame.f_lineno}: "


def _misfit(signature: inspect.Signature, positional: Sequence[Any], named: Mapping[str, Any]) -> Optional[str]:
    """Explains why a call does not fit the signature; None if it fits."""
    parameters = signature.parameters
    ordered = [name for name, parameter in parameters.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    listed = ", ".join(name for name in parameters if name not in ordered)
    for name in named:
        if name not in parameters:
            return f"takes no {name}=; it takes {listed}{meant(name, parameters)}"
        if name in ordered[:len(positional)]:
            return f"is given {name} twice, without its name and as {name}="
    if len(positional) > len(ordered):
        return (f"takes nothing but {' and '.join(ordered)} without a name, and {positional[len(ordered)]!r} has none; "
                f"names are {listed}")
    given = {*ordered[:len(positional)], *named}
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in given:
            return f"needs {name}=, which is missing"
    return None


def says_what_it_takes(name: str, example: str) -> Callable[[_Function], _Function]:
    """Makes a function of fixed parameters refuse calls that do not fit with a UsageError, which says what is missing or
    unknown, where the call stands, and how one is written. What the function itself refuses gets the place, too."""
    def of(function: _Function) -> _Function:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*positional: Any, **named: Any) -> Any:
            __tracebackhide__ = True  # of pytest, in which nobody wants to read this code
            misfit = _misfit(signature, positional, named)
            if misfit is not None:
                raise UsageError(f"{_place_of_caller()}{name} {misfit}; write it as in {example}")
            try:
                return function(*positional, **named)
            except UsageError as error:  # of a value; its own traceback is of this package
                raise UsageError(_place_of_caller() + str(error)) from None
        return call  # type: ignore[return-value]
    return of
