# SPDX-License-Identifier: Apache-2.0
"""ATen functions that move elements without arithmetic, and those that add what was moved."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Iterator, Optional, Sequence

import numpy

from ._places import places_in_windows
from ._rules import Answer, Exact, Question, Unjudged, is_tensor, rule, traced, values_of


def bits(tensor: Any) -> Any:
    """The bits of the tensor's elements, as an array of NumPy."""
    import torch
    host = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if host.dtype == torch.bool or not host.dtype.itemsize in (1, 2, 4, 8) or host.is_complex():
        if host.is_complex():
            raise Unjudged("complex numbers that are moved")
        return host.numpy()
    return host.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[host.dtype.itemsize]).numpy()


def _scalar(value: Any, like: Any) -> Any:
    import torch
    return bits(torch.tensor([value.item() if is_tensor(value) else value], dtype=like.dtype))[0]


# Arguments that say which elements are moved.
_PLACES = ("index", "indices", "mask")


def _moved(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The rule of functions that only move: the function makes, of bits in NumPy's arrays, those that are expected."""
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def ask(outputs: Any, **arguments: Any) -> Exact:
            tensors = filter(is_tensor, values_of({name: value for name, value in arguments.items() if name not in _PLACES}))
            if any(x.dtype != outputs[0].dtype and x.dim() > 0 for x in tensors):
                raise Unjudged("elements that are moved and converted at once")
            return Exact(function(like=outputs[0], **arguments), bits(outputs[0]))
        parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "like"]
        ask.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return rule(*names)(ask)
    return made


@_moved("clone", "contiguous", "alias_copy", "detach_copy", "lift_fresh_copy")
def _clone(like, self): return bits(self)


@_moved("_unsafe_view", "_reshape_copy", "view_copy")
def _view(like, self, size): return bits(self).reshape(like.shape)


@rule("copy")
def _copy(outputs: Any, self: Any, src: Any) -> Any:
    return _converted(src.expand(outputs[0].shape), outputs[0])


@rule("_to_copy")
def _to_copy(outputs: Any, self: Any) -> Any: return _converted(self, outputs[0])


def _converted(x: Any, y: Any) -> Any:
    import torch
    if x.dtype == y.dtype:
        return Exact(bits(x), bits(y))
    if y.dtype == torch.bool:
        return Exact(bits(x != 0), bits(y))
    if not x.dtype.is_floating_point and not y.dtype.is_floating_point:
        return Exact(x.cpu().numpy().astype(y.cpu().numpy().dtype), y.cpu().numpy())
    if not y.dtype.is_floating_point:
        ends, whole = torch.iinfo(y.dtype), x.double().trunc()
        if not bool(((whole >= ends.min) & (whole < float(ends.max + 1))).all()):
            raise Unjudged("numbers that are converted to an integer type which does not have them")
        return Exact(whole.cpu().numpy().astype(y.cpu().numpy().dtype), y.cpu().numpy())
    return Question("cast", {"x": x.reshape(-1)}, {"y": y.reshape(-1)})


@_moved("cat")
def _cat(like, tensors, dim=0):
    return numpy.concatenate([bits(x) for x in tensors if x.dim() == like.dim()], axis=dim)


@_moved("stack")
def _stack(like, tensors, dim=0):
    return numpy.stack([bits(x) for x in tensors], axis=dim)


@_moved("repeat")
def _repeat(like, self, repeats):
    return numpy.tile(bits(self), tuple(repeats))


@_moved("expand_copy")
def _expand(like, self, size): return numpy.broadcast_to(bits(self), like.shape)


@_moved("t_copy", "transpose_copy", "squeeze_copy", "unsqueeze_copy")
def _turned(like, self, dim0=None, dim1=None, dim=None):
    x = bits(self)
    if dim is not None or x.ndim < 2:
        return x.reshape(like.shape)
    return x.swapaxes(0, 1) if dim0 is None and x.ndim == 2 and like.shape == x.T.shape else x.swapaxes(dim0, dim1)


@_moved("permute_copy")
def _permute(like, self, dims): return bits(self).transpose(tuple(dims))


@_moved("roll")
def _roll(like, self, shifts, dims=()):
    shifts = tuple(shifts)
    if not dims:
        return numpy.roll(bits(self), shifts[0])
    return numpy.roll(bits(self), shifts, tuple(dims))


@_moved("flip")
def _flip(like, self, dims):
    return numpy.flip(bits(self), tuple(dims))


@_moved("tril")
def _tril(like, self, diagonal=0):
    return numpy.tril(bits(self), diagonal)


@_moved("triu")
def _triu(like, self, diagonal=0):
    return numpy.triu(bits(self), diagonal)


@_moved("constant_pad_nd")
def _pad(like, self, pad, value=0):
    x = bits(self)
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2]))[::-1]
    inner = x[tuple(slice(max(-low, 0), x.shape[k] - max(-high, 0)) for k, (low, high) in enumerate(pairs))]
    return numpy.pad(inner, [(max(low, 0), max(high, 0)) for low, high in pairs], constant_values=_scalar(value, like))


@_moved("index_select")
def _index_select(like, self, dim, index):
    return bits(self).take(index.cpu().numpy(), axis=dim) if self.dim() else bits(self)


@_moved("gather")
def _gather(like, self, dim, index, sparse_grad=False):
    if not self.dim():
        return bits(self).reshape(like.shape)
    shape = list(index.shape)
    shape[dim] = self.shape[dim]
    return numpy.take_along_axis(bits(self)[tuple(map(slice, shape))], index.cpu().numpy(), axis=dim)


@_moved("index", "_unsafe_index")
def _index(like, self, indices): return bits(self)[_places(indices)]


def _places(indices: Sequence[Optional[Any]]) -> tuple[Any, ...]:
    """A mask may be of u8, too, which NumPy takes for places."""
    return tuple(slice(None) if i is None else (i.bool() if i.dtype.itemsize == 1 else i).cpu().numpy() for i in indices)


@_moved("index_put", "_unsafe_index_put")
def _index_put(like, self, indices, values, accumulate=False):
    if accumulate:
        raise Unjudged("index_put that adds")
    made = bits(self).copy()
    chosen = numpy.arange(made.size).reshape(made.shape)[_places(indices)]
    if numpy.unique(chosen).size != chosen.size:
        raise Unjudged("index_put that writes one element twice")
    made[_places(indices)] = bits(values)
    return made


@_moved("scatter.src", "scatter.value", "scatter")
def _scatter(like, self, dim, index, src=None, value=None):
    made, places = bits(self).copy(), index.cpu().numpy()
    if made.ndim == 0:
        raise Unjudged("scatter into a single number")
    where = list(numpy.indices(places.shape))
    where[dim] = places
    flat = numpy.ravel_multi_index(tuple(where), made.shape) if places.size else places
    if src is not None and numpy.unique(flat).size != flat.size:
        raise Unjudged("scatter that writes one element twice")
    made[tuple(where)] = _scalar(value, like) if src is None else bits(src)[tuple(map(slice, places.shape))]
    return made


def _zeros(like: Any, shape: Sequence[int]) -> Any: return numpy.zeros(tuple(shape), bits(like).dtype)


def _slice(start: Any, end: Any, step: int) -> slice: return slice(start, None if end is None or end > 2**62 else end, step)


def _placed(made: Any, dim: int, where: Any, src: Any) -> Any:
    """The array with the elements of `src` there along an axis."""
    made[(slice(None),) * (dim % made.ndim) + (where,)] = bits(src)
    return made


def _on_diagonal(made: Any, src: Any, offset: int, dim1: int, dim2: int) -> Any:
    n = numpy.arange(src.shape[-1])
    numpy.moveaxis(made, (dim1, dim2), (-2, -1))[..., n + max(-offset, 0), n + max(offset, 0)] = bits(src)
    return made


@_moved("slice_scatter")
def _slice_scatter(like, self, src, dim=0, start=None, end=None, step=1):
    return _placed(bits(self).copy(), dim, _slice(start, end, step), src)


@_moved("select_scatter")
def _select_scatter(like, self, src, dim, index):
    return _placed(bits(self).copy(), dim, index, src)


@_moved("slice_backward")
def _slice_backward(like, grad_output, input_sizes, dim, start, end, step):
    return _placed(_zeros(like, input_sizes), dim, _slice(start, end, step), grad_output)


@_moved("select_backward")
def _select_backward(like, grad_output, input_sizes, dim, index):
    return _placed(_zeros(like, input_sizes), dim, index, grad_output)


@_moved("masked_fill")
def _masked_fill(like, self, mask, value):
    return numpy.broadcast_to(numpy.where(mask.cpu().numpy(), _scalar(value, like), bits(self)), like.shape)


@_moved("masked_select")
def _masked_select(like, self, mask):
    x, m = numpy.broadcast_arrays(bits(self), mask.cpu().numpy())
    return x[m]


@_moved("masked_fill")
def _masked_fill(like, self, mask, value):
    return numpy.where(mask.cpu().numpy(), _scalar(value, like), bits(self))


@_moved("fill", "fill.Scalar", "fill.Tensor")
def _fill(like, self, value):
    return numpy.full(like.shape, _scalar(value, like))


@_moved("zero")
def _zero(like, self):
    return _zeros(like, like.shape)


@_moved("pixel_shuffle")
def _pixel_shuffle(like, self, upscale_factor):
    *batch, c, h, w = self.shape
    r, rank = upscale_factor, len(batch)
    x = bits(self).reshape(*batch, c // (r * r), r, r, h, w)
    return x.transpose(*range(rank), *(rank + k for k in (0, 3, 1, 4, 2))).reshape(like.shape)


@_moved("pixel_unshuffle")
def _pixel_unshuffle(like, self, downscale_factor):
    *batch, c, h, w = self.shape
    r, rank = downscale_factor, len(batch)
    x = bits(self).reshape(*batch, c, h // r, r, w // r, r)
    return x.transpose(*range(rank), *(rank + k for k in (0, 2, 4, 1, 3))).reshape(like.shape)


@_moved("channel_shuffle", "native_channel_shuffle")
def _channel_shuffle(like, self, groups):
    b, c, *rest = self.shape
    return bits(self).reshape(b, groups, c // groups, *rest).swapaxes(1, 2).reshape(like.shape)


@_moved("diagonal_backward")
def _diagonal_backward(like, grad_output, input_sizes, offset, dim1, dim2):
    return _on_diagonal(_zeros(like, input_sizes), grad_output, offset, dim1, dim2)


@_moved("embedding")
def _embedding(like, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return bits(weight)[indices.cpu().numpy()]


@rule("embedding_dense_backward")
def _embedding_backward(outputs: Any, grad_output: Any, indices: Any, num_weights: int, padding_idx: int = -1,
                        scale_grad_by_freq: bool = False) -> Question:
    if scale_grad_by_freq:
        raise Unjudged("gradients of an embedding that are scaled by their frequency")
    d = grad_output.shape[-1]
    counted = (indices.reshape(-1) != padding_idx).nonzero()[:, 0]
    return _added(outputs[0].new_zeros(num_weights, d), indices.reshape(-1)[counted], grad_output.reshape(-1, d)[counted], outputs[0])


def _added(x: Any, indices: Any, updates: Any, y: Any) -> Question:
    return Question("scatter_add", {"x": x, "indices": indices, "updates": updates}, {"y": y})


@rule("index_add")
def _index_add(outputs: Any, self: Any, dim: int, index: Any, source: Any, alpha: float = 1) -> Question:
    if alpha != 1 or self.dim() == 0:
        raise Unjudged("index_add with a factor, or to a single number")
    rows = lambda x: x.movedim(dim, 0).reshape(x.shape[dim], -1)  # noqa: E731
    return _added(rows(self), index, rows(source), rows(outputs[0]))


@rule("scatter_add")
def _scatter_add(outputs: Any, self: Any, dim: int, index: Any, src: Any) -> Question:
    return _added_along(outputs[0], self, dim, index, src[tuple(map(slice, index.shape))])


def _added_along(y: Any, x: Any, dim: int, index: Any, src: Any) -> Question:
    import torch
    if x.dim() == 0:
        raise Unjudged("scatter_add to a single number")
    strides, flat = [1] * x.dim(), torch.zeros_like(index)
    for k in reversed(range(x.dim() - 1)):
        strides[k] = strides[k + 1] * x.shape[k + 1]
    for k, n in enumerate(index.shape):
        along = index if k == dim % x.dim() else torch.arange(n, device=index.device).reshape([-1 if j == k else 1 for j in range(x.dim())])
        flat = flat + along * strides[k]
    return _added(x.reshape(-1, 1), flat.reshape(-1), src.reshape(-1, 1), y.reshape(-1, 1))


@rule("max_pool2d_with_indices_backward")
def _max_pool_backward(outputs: Any, grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
                       indices: Any) -> Question:
    planes = lambda x: x.reshape(-1, x.shape[-2] * x.shape[-1])  # noqa: E731
    return _added_along(planes(outputs[0]), planes(outputs[0].new_zeros(outputs[0].shape)), 1, planes(indices), planes(grad_output))


def _windows(x: Any, extents: Sequence[int], kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int], dilation: Sequence[int],
             beyond: float) -> Any:
    """Two axes more, the last ones: the elements that each output of a pool sees. `beyond` the ends stands that number."""
    shape = [max((n - 1) * s + (k - 1) * d + 1, p + e)
             for n, s, k, d, p, e in zip(extents, stride, kernel, dilation, pad, x.shape[-2:])]
    made = x.new_full((*x.shape[:-2], *shape), beyond)
    made[(..., *(slice(p, p + e) for p, e in zip(pad, x.shape[-2:])))] = x
    step = made.stride()
    return made.as_strided((*x.shape[:-2], *extents, *kernel),
                           (*step[:-2], *(s * t for s, t in zip(stride, step[-2:])), *(d * t for d, t in zip(dilation, step[-2:]))))


def _pair(value: Any, other: Any = None) -> list[int]:
    value = other if isinstance(value, (list, tuple)) and not value else value
    value = [value] if isinstance(value, int) else list(value)
    return value * 2 if len(value) == 1 else value


@rule("max_pool2d_with_indices")
def _max_pool(outputs: Any, self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> Iterator[Answer]:
    kernel = _pair(kernel_size)
    beyond = float("-inf") if self.dtype.is_floating_point else __import__("torch").iinfo(self.dtype).min
    seen = _windows(self, outputs[0].shape[-2:], kernel, _pair(stride, kernel), _pair(padding), _pair(dilation), beyond)
    yield Question("reduce", {"x": seen}, {"y": outputs[0]}, {"axes": (self.dim(), self.dim() + 1), "kind": "max"})
    yield places_in_windows(self, *outputs[:2], kernel, _pair(stride, kernel), _pair(padding), _pair(dilation))


@rule("avg_pool2d")
def _avg_pool(outputs: Any, self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
              divisor_override: Any = None) -> Question:
    if not self.dtype.is_floating_point:
        raise Unjudged("the mean of integers")
    kernel, pad, extents = _pair(kernel_size), _pair(padding), outputs[0].shape[-2:]
    stride = _pair(stride, kernel)
    seen = _windows(self, extents, kernel, stride, pad, (1, 1), 0)
    counts = []
    for n, s, k, p, e in zip(extents, stride, kernel, pad, self.shape[-2:]):
        low, high = ((-p, e + p) if count_include_pad else (0, e))
        counts.append([min(i * s - p + k, high) - max(i * s - p, low) for i in range(n)])
    import torch  # counts in bf16 are rounded from 257 on
    count = self.new_tensor([[divisor_override or a * b for b in counts[1]] for a in counts[0]],
                            dtype=torch.promote_types(self.dtype, torch.float32))
    return traced(lambda seen, count: _mean_of_windows(seen, count), {"seen": seen, "count": count}, outputs)


def _mean_of_windows(seen: Any, count: Any) -> Any:
    from .._namespace import TRACED as xp
    return xp.sum(seen, axis=(-1, -2)) / count


def _bitwise(name: str, numpys: str) -> None:
    @rule(name)
    def ask(outputs: Any, self: Any, other: Any = None) -> Exact:
        import torch
        kind = outputs[0].dtype
        given = [(each if is_tensor(each) else torch.tensor(each)).to(kind).cpu().numpy() for each in (self, other) if each is not None]
        return Exact(numpy.broadcast_to(getattr(numpy, numpys)(*given), outputs[0].shape), outputs[0].cpu().numpy())


for _name in ("and", "or", "xor", "not"):
    _bitwise(f"bitwise_{_name}", "bitwise_invert" if _name == "not" and hasattr(numpy, "bitwise_invert") else
             "invert" if _name == "not" else f"bitwise_{_name}")


@_moved("diag_embed")
def _diag_embed(like, self, offset=0, dim1=-2, dim2=-1):
    return _on_diagonal(_zeros(like, like.shape), self, offset, dim1, dim2)


@_moved("index_fill")
def _index_fill(like, self, dim, index, value):
    made = bits(self).copy()
    made[(slice(None),) * (dim % max(made.ndim, 1)) + (index.cpu().numpy(),)] = _scalar(value, like)
    return made


@_moved("take")
def _take(like, self, index): return bits(self).reshape(-1)[index.cpu().numpy()]


@_moved("rot90")
def _rot90(like, self, k=1, dims=(0, 1)): return numpy.rot90(bits(self), k, tuple(dims))


def _padded(mode: str, *names: str) -> None:
    @_moved(*names)
    def pad(like, self, padding):
        pairs = [(0, 0)] * (self.dim() - len(padding) // 2) + list(zip(padding[::2], padding[1::2]))[::-1]
        if any(number < 0 for pair in pairs for number in pair):
            raise Unjudged("padding by less than nothing")
        return numpy.pad(bits(self), pairs, mode=mode)


_padded("reflect", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
_padded("edge", "replication_pad1d", "replication_pad2d", "replication_pad3d")


@_moved("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def _nearest(like, self, output_size=None, scale_factors=None, scales=None, scales_d=None, scales_h=None, scales_w=None):
    """Where extents grow by whole factors, so that no rounding chooses the place."""
    made = bits(self)
    asked = scale_factors or [each for each in (scales, scales_d, scales_h, scales_w) if each is not None]
    if any(factor != int(factor) for factor in asked):
        raise Unjudged("upsampling by a fraction")
    for axis in range(2, self.dim()):
        if like.shape[axis] % self.shape[axis]:
            raise Unjudged("upsampling by a fraction")
        made = made.repeat(like.shape[axis] // self.shape[axis], axis=axis)
    return made


@rule("unsafe_split", "unsafe_split_with_sizes", "split_copy", "split_with_sizes_copy")
def _split(outputs: Any, self: Any, split_size: Any = None, split_sizes: Any = None, dim: int = 0) -> Iterator[Exact]:
    whole, first = bits(self), 0
    for each in outputs:
        last = first + each.shape[dim]
        yield Exact(whole[(slice(None),) * (dim % whole.ndim) + (slice(first, last),)], bits(each))
        first = last
