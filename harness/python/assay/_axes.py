# SPDX-License-Identifier: Apache-2.0
"""Axes of arrays that are being traced, and errors that name the line of a traced function."""
from __future__ import annotations

import functools
import inspect
import numbers
import os
import sys
from typing import Any, Callable, Iterable, Optional

from ._errors import UsageError

_MOST_ELEMENTS = 1 << 20  # along a fixed axis: kMostExtent of ops/definition_file.cc
_MOST_LEAST = 1024  # elements that an axis has to have: kMostTimes of ops/definition_file.cc


class TraceError(UsageError, AttributeError):
    """Also an AttributeError, so that hasattr() answers."""


def fault(text: str) -> UsageError:
    """An error of a traced function, with the line of its author that made it."""
    here, frame = os.path.dirname(__file__), sys._getframe(1)
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == here:
        frame = frame.f_back  # type: ignore[assignment]
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_name}: " if frame is not None else ""
    return TraceError(place + text)


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose caller is told which arguments it takes."""
    signature = inspect.signature(function)
    taken = ", ".join(name for name in signature.parameters if name != "self")

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            signature.bind(*arguments, **named)
        except TypeError as error:
            raise fault(f"{function.__name__}: {error}; a traced function takes {taken}") from None
        return function(*arguments, **named)
    return call


def is_integer(x: Any) -> bool:
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)


class Axis:
    """One axis of inputs or results. Axes that are joined are one. `stated`: an annotation has it. `of`: the axis whose
    extent times `times` is this one's. `fixed`: each case has that extent. `least`: no case has fewer elements."""

    def __init__(self, name: str, extent: Optional[int] = None, stated: bool = False, of: Optional[Axis] = None,
                 times: int = 1, fixed: bool = False) -> None:
        self.name, self.extent, self.stated, self.of, self.times, self.fixed = name, extent, stated, of, times, fixed
        self.least = 0
        self._joined: Optional[Axis] = None

    def root(self) -> Axis:
        return self if self._joined is None else self._joined.root()

    def origin(self) -> Axis:
        """The axis that this one is a copy of, or itself."""
        root = self.root()
        return root.of.origin() if root.of is not None and root.times == 1 else root

    def join(self, other: Axis) -> None:
        kept, gone = (other, self) if other.stated else (self, other)
        gone._joined = kept
        kept.fixed = kept.fixed or gone.fixed
        kept.extent = gone.extent if kept.extent is None else kept.extent
        kept.least = max(kept.least, gone.least)

    def require(self, least: int, function: str) -> None:
        """Refuses an axis, or later its cases, with fewer elements."""
        extent = self.root().extent
        if extent is not None and extent < least:
            raise fault(f"{function}: {least} elements of an axis of {extent}")
        if least > _MOST_LEAST:
            raise fault(f"{function}: needs {least} elements of an axis; a definition can demand {_MOST_LEAST} at most")
        origin = self.origin()
        origin.least = max(origin.least, least if origin.of is None else -(-least // origin.times))
        if origin.of is not None:
            origin.of.root().require(-(-least // origin.times), function)


def check_extent(extent: int) -> None:
    if extent > _MOST_ELEMENTS:
        raise fault(f"an axis of {extent} elements: slices, flip, roll, concat and reshape are there for axes of at most {_MOST_ELEMENTS} "
                    "elements; take a smaller array")


Dims = tuple[Optional[Axis], ...]  # None: one element, which broadcasts


def roots_of(dims: Iterable[Optional[Axis]]) -> list[Axis]:
    return [axis.root() for axis in dims if axis is not None]
