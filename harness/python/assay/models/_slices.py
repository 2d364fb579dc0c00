# SPDX-License-Identifier: Apache-2.0
"""Large reductions in slices along an axis that they keep: each is judged with the terms of its own elements alone, so that judging takes memory for
one of them."""
from __future__ import annotations

import functools
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from ._rules import RULES, Answer, Defaults, is_tensor

_MOST_ELEMENTS = 1 << 23  # of one slice's operands


class Slices(NamedTuple):
    """Parts of one call, to be proven or judged one after the other."""
    pieces: Iterable[tuple[Defaults, list[Any]]]  # arguments and outputs
    ask: Callable[[Any, Any], Iterable[Answer]]  # the rule of each part
    most: Optional[int]  # of the parts that are not proven, so many are judged

    def judged(self, count: int) -> set[int]:
        """Which of so many parts: the ends, and some between."""
        few = count if self.most is None else min(self.most, count)
        return {round(k * (count - 1) / max(few - 1, 1)) for k in range(few)}


Cut = Callable[[Mapping[str, Any], Sequence[Any]], Optional[tuple[Mapping[str, int], Sequence[Optional[int]]]]]


def _in_slices(cut: Cut, *names: str, elements: int = _MOST_ELEMENTS, most: Optional[int] = None) -> None:
    """`cut`: the axis along which each operand, by its name, and each output is cut; None: there is none."""
    for name in names:
        RULES[name] = functools.partial(_ask, RULES[name], cut, elements, most)


def _ask(usual: Any, cut: Cut, elements: int, most: Optional[int], arguments: Defaults, outputs: Sequence[Any]) -> Iterator[Any]:
    size = sum(each.numel() for each in arguments.values() if is_tensor(each))
    axes = cut(arguments, outputs) if size > _MOST_ELEMENTS else None
    if axes is None:
        yield from usual(arguments, outputs)
    else:
        yield Slices(_parts(arguments, outputs, axes, -(-size // elements)), usual, most)


def _parts(arguments: Defaults, outputs: Sequence[Any], axes: Any, count: int) -> Iterator[tuple[Defaults, list[Any]]]:
    of_operands, of_outputs = axes
    name, axis = next(iter(of_operands.items()))
    extent = arguments[name].shape[axis]
    step = -(-extent // min(count, extent))
    for first in range(0, extent, step):
        n = min(step, extent - first)
        given = {name: each.narrow(of_operands[name], first, n) if name in of_operands and is_tensor(each) else each for name, each in arguments.items()}
        yield Defaults(given, arguments.defaults), [each if each is None or axis is None or each.numel() == 0 else each.narrow(axis, first, n)
                                                    for each, axis in zip(outputs, of_outputs)]


def _of_sums(arguments: Mapping[str, Any], outputs: Sequence[Any]) -> Any:
    """The longest axis that is kept."""
    x, dim = arguments["self"], arguments.get("dim")
    rank = x.dim()
    along = {each % rank for each in (dim if isinstance(dim, (list, tuple)) else [dim])} if dim not in (None, []) and rank else set(range(rank))
    kept = [axis for axis in range(rank) if axis not in along]
    if not kept:
        return None
    axis = max(kept, key=lambda each: x.shape[each])
    return {"self": axis}, [axis if arguments.get("keepdim") else axis - sum(each < axis for each in along)] * len(outputs)


def _of_channels(arguments: Mapping[str, Any], outputs: Sequence[Any]) -> Any:
    if arguments["input"].shape[1] < 2:
        return None
    return {"input": 1, "weight": 0, "bias": 0, "running_mean": 0, "running_var": 0, "grad_out": 1, "save_mean": 0, "save_invstd": 0}, [1, 0, 0, 0, 0]


def _of_images(arguments: Mapping[str, Any], outputs: Sequence[Any]) -> Any:
    axis = max(range(arguments["self"].dim() - 2), key=lambda each: arguments["self"].shape[each], default=None)
    return None if axis is None else ({"self": axis}, [axis] * len(outputs))


_in_slices(_of_sums, *(name for name in ("sum", "mean", "prod", "amax", "amin", "max.dim", "min.dim", "any", "all", "argmax", "argmin", "logsumexp", "var", "std",
                                         "var_mean", "std_mean", "linalg_vector_norm", "norm", "count_nonzero", "nansum") if name in RULES))
_in_slices(_of_channels, "native_batch_norm", "_native_batch_norm_legit", "native_batch_norm_backward", elements=1 << 20, most=4)
_in_slices(_of_images, "max_pool2d_with_indices", "avg_pool2d")
