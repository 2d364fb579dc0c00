# SPDX-License-Identifier: Apache-2.0
"""``Watch.replay``: the recorded calls from the same beginning, on another device or by another function, beside those that were recorded."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional

from .._errors import Error, UsageError
from ._background import tensors_in
from ._calls import full_name, is_view, name_of, without_modes
from ._tape import Step, Tape

Execute = Callable[[Any, Any, Any], Any]  # of a function of PyTorch, its arguments, and those by name


class Difference(NamedTuple):
    """A call whose result is another one in the replay, whatever it began with there."""
    index: int  # among the recorded calls, views included
    op: str
    site: Any
    elements: int  # that differ
    of: int
    largest: float  # difference over the largest element; NaN where one of them is

    def __str__(self) -> str:
        where = f" in {self.site.module}" if self.site.module else ""
        return f"{self.op}{where}{', backward' if self.site.backward else ''}: {self.elements} of {self.of} elements differ, at most by {self.largest:.3g} of the largest"


class _Given:
    """Sites of the recorded calls."""

    def __init__(self) -> None:
        self.site: Any = None

    def here(self) -> Any:
        return self.site

    def note(self) -> None:
        """Their sites are known."""


class Replay:
    """``watch``: the replay's own calls, judged; ``differences``: what differs from the recorded program, in its order."""

    def __init__(self, watch: Any, differences: list[Difference], calls: int) -> None:
        self.watch, self.differences, self.calls = watch, differences, calls

    @property
    def first_difference(self) -> Optional[Difference]:
        return self.differences[0] if self.differences else None

    def __bool__(self) -> bool:
        """Whether all bits are equal, and the replay's results right."""
        return bool(self.watch) and not self.differences

    def __str__(self) -> str:
        first = f"; first {self.first_difference}" if self.differences else ""
        return f"{len(self.differences)} of {self.calls} calls differ from the recorded ones{first}\n{self.watch}"


def difference_of(index: int, step: Step, old: Any, new: Any) -> Optional[Difference]:
    import torch
    from ._aten_moves import bits
    for one, other in zip(tensors_in(old), tensors_in(new)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return Difference(index, full_name(name_of(step.function)), step.site, one.numel(), one.numel(), float("nan"))
        count = int((bits(one) != bits(other)).sum()) if not one.is_complex() else int((one.cpu() != other.cpu()).sum())
        if count:
            wide, others = (each.detach().cpu().to(torch.complex128 if each.is_complex() else torch.float64) for each in (one, other))
            most = float(wide.abs().max())
            return Difference(index, full_name(name_of(step.function)), step.site, count, one.numel(), float((wide - others).abs().max()) / most if most else float("inf"))
    return None


def moved_to(device: Any) -> Callable[[Any], Any]:
    import torch
    return lambda value: torch.device(device) if isinstance(value, torch.device) and device is not None else value


def replay(tape: Tape, watch: Any, device: Any, execute: Optional[Execute]) -> Replay:
    import torch
    sites = watch._sites = _Given()
    differences = []

    def run(function: Any) -> Callable[..., Any]:
        return function if execute is None else lambda *args, **kwargs: execute(function, args, kwargs)

    with torch.no_grad(), without_modes():
        old = tape.start(lambda x: x.clone())
        new = tape.start(lambda x: x.to(device, copy=True) if device is not None else x.clone(), moved_to(device))
        for index, step in enumerate(tape.steps):
            sites.site = step.site
            results = []
            for playing in (old, new):
                args, kwargs = playing.arguments(step)
                if step.drawn:
                    result = playing.redrawn(step, args)
                elif playing is old:
                    result = step.function(*args, **kwargs)
                else:
                    try:
                        result = watch.execute(step.function, args, kwargs, run(step.function))
                    except (RuntimeError, TypeError) as error:
                        raise Error(f"replay: {full_name(name_of(step.function))} cannot be executed there: {error}") from error
                    given, due = (len(list(tensors_in(each))) for each in (result, results[0]))
                    if given != due:
                        raise UsageError(f"replay: execute gave {given} tensors for {full_name(name_of(step.function))}, which has {due}; return what the call returns")
                playing.take(step, result)
                results.append(result)
            has_values = not is_view(step.function) and "empty" not in name_of(step.function)  # that program or runtime put there
            found = difference_of(index, step, *results) if has_values else None
            differences += [found] if found is not None else []
        watch._take(True)
    return Replay(watch, differences, len(tape.steps))
