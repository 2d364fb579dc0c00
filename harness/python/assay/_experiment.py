# SPDX-License-Identifier: Apache-2.0
"""Judging what a callable computes: where several causes explain its result, it is called again to tell them apart."""
from __future__ import annotations

import inspect
import json
from typing import Any, Callable, Iterator, Mapping, Union

from ._verdict import Verdict

_CAUSE, _OR = "; it is the right result of ", ", or of "
_FACTOR = 0.7  # of an attribute: no power of two, which causes may share


def _call(kernel: Callable[..., Any], inputs: Any, attrs: Mapping[str, Any]) -> Any:
    """The result of the kernel, to which attributes are given that it has arguments for. It gets copies, as it may write into its operands."""
    try:
        arguments = inspect.signature(kernel).parameters.values()
        takes_all = any(a.kind is a.VAR_KEYWORD for a in arguments)
    except ValueError:  # built-in functions of PyTorch and NumPy tell nobody which arguments they have
        arguments, takes_all = (), True
    taken = {key: value for key, value in attrs.items() if takes_all or any(a.name == key for a in arguments)}
    if isinstance(inputs, Mapping):
        return kernel(**{name: _copied(x) for name, x in inputs.items()}, **taken)
    return kernel(*map(_copied, inputs if isinstance(inputs, (list, tuple)) else [inputs]), **taken)


def _copied(array: Any) -> Any:
    copy = getattr(array, "clone", None) or getattr(array, "copy", None)
    return copy() if copy is not None else array


def _with_other_order(array: Any) -> Any:
    """Puts the numbers in another order; other arrays than those of floats in NumPy stay as they are."""
    import numpy as np
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fc":
        return array
    return np.random.default_rng(array.size).permutation(array.reshape(-1)).reshape(array.shape)


def _experiments(inputs: Any, attrs: Mapping[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yields a text of the difference, the inputs and the attributes of each further call."""
    for key, value in attrs.items():
        if isinstance(value, float) and value != 0:
            yield f"{key}={_FACTOR * value:g}", inputs, {**attrs, key: _FACTOR * value}
    if isinstance(inputs, Mapping):
        other: Any = {name: _with_other_order(x) for name, x in inputs.items()}
    else:
        other = [_with_other_order(x) for x in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
    yield "the inputs in another order", other, dict(attrs)


def check_kernel(op: Union[str, Callable[..., Any]], inputs: Any, kernel: Callable[..., Any], judged: Mapping[str, Any],
                 attrs: Mapping[str, Any]) -> Verdict:
    """The verdict on what `kernel` makes of the inputs. Its causes are those that also explain the further results."""
    from ._check import check
    verdict = check(op, inputs, _call(kernel, inputs, attrs), **judged, **attrs)
    causes, notes = list(verdict.causes), []
    for what, other_inputs, other_attrs in _experiments(inputs, attrs):
        if len(causes) < 2:
            break
        try:
            other = check(op, other_inputs, _call(kernel, other_inputs, other_attrs), **judged, **other_attrs)
        except Exception:  # the kernel or the operator does not take such data
            continue
        kept = [cause for cause in causes if cause in other.causes]
        if other.passed_strictly or len(kept) == len(causes):
            continue
        notes.append(f"experiment: {what}: explained by {_OR.join(kept) or 'none of these causes'}")
        if not kept:
            break
        causes = kept
    if not notes:
        return verdict
    reason = verdict.reason.partition(_CAUSE)[0] + _CAUSE + _OR.join(causes)
    record = json.dumps({**json.loads(verdict._json), "causes": causes})
    return Verdict(verdict.verdict, verdict.class_, reason, "\n".join([verdict.explanation.rstrip("\n"), *notes, ""]), record)
