# SPDX-License-Identifier: Apache-2.0
"""PyTorch's functions on structured operands, and with out=."""
from __future__ import annotations

import functools
import math

import torch
from torch.overrides import TorchFunctionMode

from ._structures import POISON, Arrays, Outputs, of_operands, on_operands, with_out


def _poisoned(shape, like):
    octets = torch.full((math.prod(shape) * like.element_size(),), 1 if like.dtype == torch.bool else POISON, dtype=torch.uint8)
    return octets.view(like.dtype).reshape(tuple(shape))


def _transposed(x):
    reverse = tuple(reversed(range(x.ndim)))
    return x.permute(reverse).contiguous().permute(reverse)


ARRAYS = Arrays(_poisoned, lambda x: x.contiguous().unsqueeze(-1).view(torch.uint8), _transposed, torch.broadcast_to)


def _lazy(x):
    """Conjugated or negated in memory, with the bit that tells functions so."""
    if x.is_complex():
        return x.conj().resolve_conj().conj()
    return torch._neg_view(x.neg()) if x.is_floating_point() else x


class _Calls(TorchFunctionMode):
    """Methods and functions in Python do not take out=; functions of that name in C do."""

    def __init__(self, outputs):
        super().__init__()
        self._outputs = outputs

    def __torch_function__(self, function, types, args=(), kwargs=None):
        named = [getattr(where, getattr(function, "__name__", ""), None) for where in (torch, torch._C._nn)]
        return self._outputs.call([function, *(one for one in named if one not in (None, function))], args, kwargs or {})


def _entered(outputs, function, operands, attrs):
    with _Calls(outputs):
        return function(*operands, **attrs)


def structures():
    kinds = {kind: with_out(functools.partial(Outputs, ARRAYS, kind), _entered) for kind in ("out", "in-place", "overlap")}
    return {**of_operands(ARRAYS), "lazy": on_operands(ARRAYS, _lazy), **kinds}
