# SPDX-License-Identifier: Apache-2.0
"""assay.namespace of PyTorch's tensors: PyTorch's functions under the names of the array API standard. torch.compile traces
calls of them, so that each is a plain function."""
from __future__ import annotations

import operator
from typing import Any

import torch
import torch.nn.functional as F

from .._namespace import Axes, Networks
from .._types import framework_name


def _axes(x: Any, axis: Axes) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)


def _tensor(x: Any, like: Any) -> Any:
    return x if x is None or isinstance(x, torch.Tensor) else torch.full((), x, dtype=like.dtype, device=like.device)


def _of_tensors(function: Any) -> Any:
    """A function of two tensors, of which one may be a number."""
    def call(x: Any, y: Any) -> Any:
        like = x if isinstance(x, torch.Tensor) else y
        return function(_tensor(x, like), _tensor(y, like))
    return call


class _Torch(Networks):
    def __init__(self, dtype: torch.dtype, device: str) -> None:
        """dtype: of numbers that are chosen by conditions. device: where arrays are made that are made of no others."""
        self._dtype, self._device = dtype, device

    add, subtract, multiply, divide = operator.add, operator.sub, operator.mul, operator.truediv
    negative, pow, matmul = operator.neg, operator.pow, operator.matmul
    less, greater, less_equal, greater_equal = operator.lt, operator.gt, operator.le, operator.ge
    equal, not_equal = operator.eq, operator.ne
    maximum, minimum = staticmethod(_of_tensors(torch.maximum)), staticmethod(_of_tensors(torch.minimum))
    fmax, fmin = staticmethod(_of_tensors(torch.fmax)), staticmethod(_of_tensors(torch.fmin))
    logical_and, logical_or = staticmethod(_of_tensors(torch.logical_and)), staticmethod(_of_tensors(torch.logical_or))
    silu, square = staticmethod(F.silu), staticmethod(torch.square)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        if not isinstance(x, torch.Tensor) and not isinstance(y, torch.Tensor):  # PyTorch would take its default type
            x = torch.full((), x, dtype=self._dtype, device=condition.device)
        return torch.where(condition.bool(), x, y)

    def clip(self, x: Any, min: Any = None, max: Any = None) -> Any:
        if isinstance(min, torch.Tensor) or isinstance(max, torch.Tensor):
            min, max = _tensor(min, x), _tensor(max, x)
        return torch.clamp(x, min, max)

    def tensordot(self, x: Any, y: Any, axes: Any = 2) -> Any: return torch.tensordot(x, y, dims=axes)
    def astype(self, x: Any, dtype: Any, /) -> Any: return x.to(getattr(torch, framework_name(dtype)))
    def reshape(self, x: Any, shape: Any) -> Any: return torch.reshape(x, (shape,) if isinstance(shape, int) else tuple(shape))
    def flip(self, x: Any, axis: Axes = None) -> Any: return torch.flip(x, _axes(x, axis))
    def roll(self, x: Any, shift: Any, axis: Axes = None) -> Any: return torch.roll(x, shift, axis)
    def tril(self, x: Any, k: int = 0) -> Any: return torch.tril(x, k)
    def triu(self, x: Any, k: int = 0) -> Any: return torch.triu(x, k)
    def concat(self, arrays: Any, axis: int = 0) -> Any: return torch.concat(list(arrays), axis)
    def stack(self, arrays: Any, axis: int = 0) -> Any: return torch.stack(list(arrays), axis)

    def any(self, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
        return torch.any(x, _axes(x, axis), keepdim=keepdims)

    def all(self, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
        return torch.all(x, _axes(x, axis), keepdim=keepdims)

    def sum(self, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
        return torch.sum(x, _axes(x, axis), keepdim=keepdims)

    def mean(self, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
        return torch.mean(x if x.is_floating_point() else x.to(self._dtype), _axes(x, axis), keepdim=keepdims)

    def max(self, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
        return torch.amax(x, _axes(x, axis), keepdim=keepdims)

    def min(self, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
        return torch.amin(x, _axes(x, axis), keepdim=keepdims)

    def var(self, x: Any, axis: Axes = None, correction: float = 0, keepdims: bool = False) -> Any:
        return torch.var(x, _axes(x, axis), correction=correction, keepdim=keepdims)

    def std(self, x: Any, axis: Axes = None, correction: float = 0, keepdims: bool = False) -> Any:
        return torch.std(x, _axes(x, axis), correction=correction, keepdim=keepdims)

    def prod(self, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
        for place in sorted((a % x.ndim for a in _axes(x, axis)), reverse=True):  # torch.prod takes one axis
            x = torch.prod(x, place, keepdim=keepdims)
        return x

    def softmax(self, x: Any, axis: Axes = -1) -> Any:
        return F.softmax(x, axis) if isinstance(axis, int) else super().softmax(x, axis)

    def log_softmax(self, x: Any, axis: Axes = -1) -> Any:
        return F.log_softmax(x, axis) if isinstance(axis, int) else super().log_softmax(x, axis)

    def gelu(self, x: Any, approximate: str = "none") -> Any: return F.gelu(x, approximate=approximate)
    def cumulative_sum(self, x: Any, axis: int = -1) -> Any: return torch.cumsum(x, axis)
    def expand_dims(self, x: Any, axis: int = 0) -> Any: return torch.unsqueeze(x, axis)
    def permute_dims(self, x: Any, axes: Any) -> Any: return torch.permute(x, tuple(axes))
    def split(self, x: Any, parts: int, axis: int = -1) -> Any: return torch.chunk(x, parts, axis)

    def arange(self, start: Any, stop: Any = None, step: Any = 1) -> Any:
        return torch.arange(*((start,) if stop is None else (start, stop, step)), device=self._device)

    def take(self, x: Any, indices: Any, axis: Any = None) -> Any:
        indices, axis = torch.as_tensor(indices, device=x.device).long(), (axis or 0) % x.ndim
        taken = torch.index_select(x, axis, indices.reshape(-1))
        return taken.reshape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]))

    def take_along_axis(self, x: Any, indices: Any, axis: int = -1) -> Any: return torch.take_along_dim(x, indices.long(), axis)

    def sort(self, x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        return torch.sort(x, dim=axis, descending=descending, stable=stable)[0]

    def argsort(self, x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        return torch.sort(x, dim=axis, descending=descending, stable=stable)[1]

    def topk(self, x: Any, k: int, axis: int = -1, largest: bool = True) -> Any: return tuple(torch.topk(x, k, axis, largest))
    def argmax(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any: return torch.argmax(x, axis, keepdims)
    def argmin(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any: return torch.argmin(x, axis, keepdims)

    def scatter_add(self, x: Any, indices: Any, updates: Any, axis: int = 0) -> Any:
        return torch.index_add(x, axis, indices.long(), updates)

    def pad(self, x: Any, pad_width: Any, constant_values: Any = 0) -> Any:
        return F.pad(x, [n for before_and_after in reversed(pad_width) for n in before_and_after], value=constant_values)

    def logsumexp(self, x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
        return torch.logsumexp(x, _axes(x, axis), keepdim=keepdims)


_OF_TYPES = {(dtype, device): _Torch(dtype, device) for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16)
             for device in ("cpu", "cuda", "xpu", "mps")}


def namespace_of(x: Any) -> _Torch:
    dtype = x.dtype if (x.dtype, "cpu") in _OF_TYPES else torch.float32
    return _OF_TYPES.get((dtype, x.device.type)) or _Torch(dtype, x.device.type)
