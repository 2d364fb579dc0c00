# SPDX-License-Identifier: Apache-2.0
"""``Watch.error_at_output``: what the roundings of all calls together do to the results, by propagating their errors to first order."""
from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional, Sequence

from .._errors import Error, UsageError
from ._background import tensors_in
from ._calls import full_name, is_view, name_of, without_modes
from ._tape import Step, Tape


class OutputError(NamedTuple):
    """Root mean squares over the elements of one result."""
    op: str
    site: Any
    shape: tuple[int, ...]
    size: float      # of the result in f64
    expected: float  # error from rounding alone: errors like those of each call, with random signs
    real: float      # error of the recorded program

    @property
    def noise_floor(self) -> float:
        """How far apart two stacks are whose calls are as accurate as these, and whose errors have nothing in common."""
        return math.sqrt(2) * self.expected

    def __str__(self) -> str:
        where = f" in {self.site.module}" if self.site.module else ""
        return (f"{self.op}{where}{', backward' if self.site.backward else ''} {'x'.join(map(str, self.shape))}: error {self.real:.3g}, from rounding alone "
                f"{self.expected:.3g}; two correct stacks differ by {self.noise_floor:.3g}, of results of {self.size:.3g}")


def _widened(value: Any) -> Any:
    """Tensors and types of floating-point numbers in f64; others as they are."""
    import torch
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value.clone()
    return torch.float64 if isinstance(value, torch.dtype) and value.is_floating_point else value


def _rms(tensor: Any) -> float:
    return float(tensor.double().square().mean().sqrt()) if tensor.numel() else 0.0


class _Propagation:
    """The recorded program, once in its own types, once in f64, and some times in f64 with errors of all calls."""

    def __init__(self, tape: Tape, trials: int, seed: int) -> None:
        import torch
        self._own = tape.start(lambda x: x.clone())
        self._wide = [tape.start(_copied_wide, _widened) for _ in range(trials + 1)]  # the first one without errors
        self._draw = torch.Generator().manual_seed(seed)

    def step(self, step: Step) -> None:
        if step.drawn:
            for playing in (self._own, *self._wide):
                playing.take(step, playing.redrawn(step, playing.arguments(step)[0]))
            return
        args, kwargs = self._own.arguments(step)
        alone = None if is_view(step.function) else self._run(step, *_mapped_wide(args, kwargs))
        own = step.function(*args, **kwargs)
        self._own.take(step, own)
        for trial, playing in enumerate(self._wide):
            result = self._run(step, *playing.arguments(step))
            playing.take(step, result)
            if alone is not None:
                for mine, exact, theirs in zip(tensors_in(own), tensors_in(alone), tensors_in(result)):
                    self._disturb(mine, exact, theirs, trial)

    def _disturb(self, own: Any, exact: Any, theirs: Any, trial: int) -> None:
        import torch
        if not own.is_floating_point():
            theirs.copy_(own)  # decisions are those of the recorded program
        elif trial > 0:
            error = (own.double() - exact).nan_to_num_(0, 0, 0)
            signs = torch.randint(0, 2, own.shape, generator=self._draw, dtype=torch.float64).mul_(2).sub_(1)
            theirs.add_(error.cpu().mul_(signs).to(theirs.device))

    def _run(self, step: Step, args: Any, kwargs: Any) -> Any:
        reads_bits = step.function._schema.overload_name == "dtype" and name_of(step.function) == "view"
        try:
            if not reads_bits:
                return step.function(*args, **kwargs)
            error: Exception = ValueError("it reads bits, which numbers of another type do not have")
        except (RuntimeError, TypeError) as raised:
            error = raised
        raise Error(f"error_at_output: {full_name(name_of(step.function))} cannot be executed in float64: {error}") from error

    def of(self, number: int, step: Step) -> Optional[OutputError]:
        own, exact = self._own.value(number), self._wide[0].value(number)
        if not own.is_floating_point() or not own.numel():
            return None
        trials = [_rms(each.value(number) - exact) for each in self._wide[1:]]
        return OutputError(full_name(name_of(step.function)), step.site, tuple(own.shape), _rms(exact), math.sqrt(sum(x * x for x in trials) / len(trials)),
                           _rms(own.double() - exact))


def _copied_wide(tensor: Any) -> Any:
    return tensor.to(dtype=_widened(tensor.dtype), copy=True)


def _mapped_wide(args: Any, kwargs: Any) -> Any:
    from ._tape import mapped
    return mapped((args, kwargs), _widened)


def errors_at(tape: Tape, tensors: Sequence[Any], trials: int, seed: int) -> list[OutputError]:
    import torch
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise UsageError(f"error_at_output: trials={trials!r} is no positive integer")
    wanted = [tape.number_of(each) for each in tensors] or tape.outputs()
    makers = {number: step for step in tape.steps for number in step.results}
    with torch.no_grad(), without_modes():
        propagation = _Propagation(tape, trials, seed)
        for step in tape.steps:
            propagation.step(step)
        found = [propagation.of(number, makers[number]) for number in wanted]
    return [each for each in found if each is not None]
