# SPDX-License-Identifier: Apache-2.0
"""Results that NumPy proves right in f64, without golden values and a bound: they are correctly rounded, or closer to the value in f64
than any bound of f32 is. Whatever is not proven is judged."""
from __future__ import annotations

import functools
import inspect
import math
from typing import Any, Callable, NamedTuple, Optional, Sequence

from ._places import are_in_windows
from ._rules import Unjudged, accepted, is_tensor, values_of

_U = 2.0 ** -24  # unit roundoff of f32
# A sum of n terms has a bound of at least 2 (n - 1) _U times the sum of their sizes (golden/bound/bound.h). Half of that is permitted here, as
# f64 is off by less than the rest, and at most this: some ten standard deviations of random roundings, of which twenty fail.
_SHARE = 8 * _U
_MOST_COPIED = 1 << 22    # elements of an array at a time
_MOST_AT_ONCE = 1 << 13   # elements of a layer's result that are compared at a time, so that all of them stay in the cache
_MOST_PRODUCTS = 1 << 23  # of a matrix product; a larger one is sampled sooner than multiplied in f64


class Proof(NamedTuple):
    function: Callable[..., Any]  # values in f64, and what else `is_right` takes; operands are arrays, numbers stay numbers
    is_right: Callable[..., bool]  # whether outputs, in f32, are right by what the function gives
    is_exact: bool = False  # only correctly rounded results pass, by whatever contract
    groups: tuple[tuple[int, ...], ...] = ((0,),)  # outputs that are judged, those of one node together
    most: int = 1 << 26  # elements of operands and results: proofs make copies in f64, some more than others
    is_layer: bool = False  # the first of each function is judged all the same, not the first of each number of terms


PROOFS: dict[str, Proof] = {}  # by the functions' names


def _adds(is_right: Callable[..., bool], *names: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        PROOFS.update(dict.fromkeys(names, Proof(function, is_right, **more)))
        return function
    return made


def _exact(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function that gives the value in f64, or a selection of operands, the proof of results that are it, rounded once."""
    return _adds(lambda outputs, golden: _has_bits(outputs[0], golden), *names, is_exact=True)


def _close(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function the proof of results within a share of the sizes of their terms: it gives the value in f64, how many terms
    each result has at least, and a function that gives the sum of their sizes, which is asked for where the value's own does not do."""
    def is_right(outputs: Sequence[Any], found: Any) -> bool:
        y, (golden, terms, sizes) = outputs[0], found
        if terms < 2 or golden.shape != y.shape:
            return terms == 1 and _has_bits(y, golden)
        share, error = min((terms - 1) * _U, _SHARE), abs(y - golden).astype("f4")
        if not sizes.__code__.co_argcount:  # a sum, whose own size is often enough
            return _is_within(error, share, abs(golden)) or _is_within(error, share, sizes())
        return terms >= 256 and _is_within(error, share, sizes(8 if terms >= 4096 else 2)) or _is_within(error, share, sizes())
    return _adds(is_right, *names, most=1 << 40)


def _near(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function that gives the value in f64 the proof of results within 2 _U of it: half of what functions have, 4 units in the last
    place."""
    def is_right(outputs: Sequence[Any], golden: Any) -> bool:
        y = outputs[0]
        return golden.dtype == "f8" and golden.shape == y.shape and _is_within(abs(y - golden), 2 * _U, abs(golden))
    return _adds(is_right, *names, most=1 << 24)


def bounded(*names: str, groups: tuple[tuple[int, ...], ...] = ((0,),)) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function the proof of a layer's results: for each output that is judged it gives the value in f64, and how far the result may be
    from that before it is rounded."""
    def is_right(outputs: Sequence[Any], found: Any) -> bool:
        places = [place for group in groups for place in group]
        return all(place >= len(outputs) or outputs[place] is None or given is not None and is_allowed(outputs[place], *given)
                   for place, given in zip(places, found, strict=True))
    return _adds(is_right, *names, groups=groups, most=1 << 20, is_layer=True)


def is_allowed(y: Any, golden: Any, allowed: Any, calls: int = 1) -> bool:
    """By its own rounding besides. Where zeros in place of many elements of one of the calls might be allowed, a judgement says that it is
    inconclusive."""
    import numpy
    if golden.shape != y.shape or y.dtype != "f4" or y.ndim == 0:
        return False
    rows = len(y) if calls > 1 or y.ndim == 1 else max(1, _MOST_AT_ONCE * len(y) // max(y.size, 1))
    allowed, small = numpy.broadcast_to(allowed, y.shape), 0
    for first in range(0, len(y), rows or 1):
        found = _count_small(*(each[first:first + rows] for each in (y, golden, allowed)), calls)
        if found is None:
            return False
        small += found
    return 4 * small * calls <= y.size


def _count_small(y: Any, golden: Any, allowed: Any, calls: int) -> Optional[int]:
    """How many elements of one of the calls are small beside what they may be off, at most; None: some are off by more."""
    import numpy
    error = numpy.subtract(golden, y)
    size, allowed = abs(y), allowed.astype("f4", copy=False)
    small = size < 32 * allowed
    size *= numpy.float32(_U)
    size += allowed
    if not ((numpy.abs(error, out=error).astype("f4") <= size).all() and size.max(initial=0) < math.inf):
        return None
    return int(numpy.count_nonzero(small) if calls == 1 else numpy.count_nonzero(small.reshape(calls, -1), axis=1).max(initial=0))


def _is_within(error: Any, share: float, size: Any) -> bool:
    """Infinite sizes, which operands or f32 itself may give, have a share for any error: they prove nothing."""
    import numpy
    bound = size * size.dtype.type(share)
    return bool((error <= bound).all() and numpy.max(bound, initial=0) < math.inf)


def _has_bits(y: Any, golden: Any) -> bool:
    import numpy
    golden = numpy.asarray(golden)
    if y.dtype != "f4":
        return golden.dtype == y.dtype and numpy.array_equal(golden, y)
    return golden.shape == y.shape and bool((golden.astype("f4", copy=False).view("i4") == y.view("i4")).all())


def _arithmetic(name: str, numpys: str) -> None:
    import numpy
    function = getattr(numpy, numpys)

    @_exact(name)
    def _(self: Any, other: Any) -> Any:
        if self.dtype.kind == "i":
            return function(self, other)
        other = other if hasattr(other, "shape") else numpy.float32(other)  # as PyTorch has it
        if self.dtype == "f4" and other.dtype == "f4":
            return function(self, other)  # correctly rounded by IEEE 754, as what f64 has would be
        return function(self, other, dtype="f8")


for _name, _numpys in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("div", "divide")):
    _arithmetic(_name, _numpys)


@_exact("neg")
def _neg(self): return -self


@_exact("abs")
def _abs(self): return abs(self)


@_exact("relu")
def _relu(self):
    import numpy
    return numpy.where(self <= 0, self.dtype.type(0), self)


@_exact("threshold_backward")
def _threshold_backward(grad_output, self, threshold):
    import numpy
    return numpy.where(self <= threshold, grad_output.dtype.type(0), grad_output)


@_exact("clone", "_to_copy")
def _clone(self): return self


@_exact("cat")
def _cat(tensors, dim=0):
    import numpy
    return numpy.concatenate(tensors, dim)


@_exact("stack")
def _stack(tensors, dim=0):
    import numpy
    return numpy.stack(tensors, dim)


@_exact("embedding")
def _embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False): return weight[indices]


@_exact("_unsafe_view")
def _view(self, size): return self.reshape(size)


def _is_pool(outputs: Sequence[Any], found: Any) -> bool:
    golden, x, window = found
    return _has_bits(outputs[0], golden) and (outputs[1] is None or bool(are_in_windows(x, *outputs[:2], *window).all()))


@_adds(_is_pool, "max_pool2d_with_indices", is_exact=True, groups=((0,), (1,)))
def _max_pool(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    import numpy
    kernel, stride, padding, dilation = ([each] * 2 if isinstance(each, int) else list(each) * (2 // max(len(each), 1)) for each in
                                         (kernel_size, stride or kernel_size, padding, dilation))
    if ceil_mode or self.dtype.kind != "f":
        raise Unjudged("windows beyond the end")
    padded = numpy.pad(self, [(0, 0)] * (self.ndim - 2) + [(p, p) for p in padding], constant_values=-math.inf)
    ends = [(n - d * (k - 1) - 1) // s * s + 1 for n, k, s, d in zip(padded.shape[-2:], kernel, stride, dilation)]
    made = functools.reduce(numpy.maximum, [padded[..., i * dilation[0]:i * dilation[0] + ends[0]:stride[0], j * dilation[1]:j * dilation[1] + ends[1]:stride[1]]
                                            for i in range(kernel[0]) for j in range(kernel[1])])
    return made, self, (kernel, stride, padding, dilation)


@_exact("select_backward")
def _select_backward(grad_output, input_sizes, dim, index):
    import numpy
    made = numpy.zeros(input_sizes, grad_output.dtype)
    numpy.moveaxis(made, dim, 0)[index] = grad_output
    return made


@_exact("slice_backward")
def _slice_backward(grad_output, input_sizes, dim, start, end, step):
    import numpy
    made = numpy.zeros(input_sizes, grad_output.dtype)
    numpy.moveaxis(made, dim, 0)[start:end:step] = numpy.moveaxis(grad_output, dim, 0)
    return made


def _function(name: str) -> None:
    @_near(name)
    def _(self: Any) -> Any:
        import numpy
        return getattr(numpy, name)(self, dtype="f8")


for _name in ("exp", "log", "sin", "cos", "tanh"):
    _function(_name)


@_near("pow")
def _pow(self, exponent):
    import numpy
    if not hasattr(self, "shape"):
        return float(numpy.float32(self)) ** exponent.astype("f8")
    if hasattr(exponent, "shape"):
        raise Unjudged("another power")
    return self.astype("f8") ** exponent


@_exact("argmax")
def _argmax(self, dim=None, keepdim=False):
    if dim is None:
        return self.reshape(-1).argmax()
    return self.argmax(dim, keepdims=keepdim)


@_near("rsqrt")
def _rsqrt(self):
    import numpy
    return 1 / numpy.sqrt(self, dtype="f8")


def _over(self: Any, dim: Any) -> Any:
    return tuple(range(self.ndim)) if dim is None or dim == [] else tuple(dim) if isinstance(dim, (list, tuple)) else (dim,)


@_close("sum")
def _sum(self, dim=None, keepdim=False):
    axes = _over(self, dim)
    return self.sum(axes, dtype="f8", keepdims=keepdim), _count(self, axes), lambda: _sizes(self, tuple(axis % self.ndim for axis in axes), keepdim)


def _sizes(x: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    """The sum of sizes, of a large array some rows at a time."""
    import numpy
    rows = max(1, _MOST_COPIED * len(x) // max(x.size, 1)) if x.ndim else 1
    if not x.ndim or len(x) <= rows:
        return abs(x).sum(axes, dtype="f8", keepdims=keepdim)
    parts = [abs(x[first:first + rows]).sum(axes, dtype="f8", keepdims=keepdim) for first in range(0, len(x), rows)]
    return sum(parts) if 0 in axes else numpy.concatenate(parts)


@_close("mean")
def _mean(self, dim=None, keepdim=False):
    total, count, sizes = _sum(self, dim, keepdim)
    return total / count, count, lambda: sizes() / count


def _count(self: Any, axes: Sequence[int]) -> int:
    return math.prod(self.shape[axis] for axis in axes)


@_close("mm", "bmm")
def _product(self, mat2):
    if self.size * mat2.shape[-1] > _MOST_PRODUCTS:
        raise Unjudged("a large product")
    def sizes(step: int = 1) -> Any:
        return abs(self[..., ::step]) @ abs(mat2[..., ::step, :])  # in f32, whose error is nothing beside the factor 2 above
    return self.astype("f8") @ mat2.astype("f8"), self.shape[-1], sizes


@_close("addmm")
def _affine(self, mat1, mat2):
    product, count, sizes = _product(mat1, mat2)
    return product + self, count, lambda step=1: sizes(step) + abs(self)


_PLACES = ("indices",)  # arguments whose integers are no numbers to compute with


def _array(name: str, value: Any, dtype: Any) -> Any:
    """Elements of tensors on the host, those of 16 bits in f64, which NumPy has. Integers beside floating-point numbers become such, where
    they have the same value there."""
    if not is_tensor(value):
        return [_array(name, each, dtype) for each in value] if isinstance(value, (list, tuple)) and value and is_tensor(value[0]) else value
    made = value.detach()
    if value.dtype == dtype or name in _PLACES:
        return (made if dtype.itemsize >= 4 or name in _PLACES else made.double()).numpy(force=True)
    if value.dtype not in _integers() or not dtype.is_floating_point or value.numel() > 0 and int(value.abs().max()) >= 1 << 24:
        raise Unjudged("several types")
    return made.numpy(force=True).astype("f4")


@functools.cache
def _integers() -> tuple[Any, ...]:
    import torch
    return torch.int64, torch.int32


def proof_of(call: Any) -> Optional[Proof]:
    return PROOFS.get(call.base) if call.overload in _OVERLOADS else None


def measure(proof: Proof, base: str, dtype: Any, most: int, size: int) -> Any:
    """Equal for calls of which the first one is judged, for its effective bits and bias: of a layer all, else those of about so many terms."""
    return base, dtype, 0 if proof.is_layer else (most // max(size, 1)).bit_length()


# Overloads with results of one type, whose arguments the functions above name.
_OVERLOADS = ("", "Tensor", "Scalar", "Tensor_Scalar", "dim", "dim_IntList", "default")


@functools.lru_cache(4096)
def _names_of(function: Callable[..., Any], names: tuple[str, ...]) -> Optional[tuple[str, ...]]:
    """Arguments of a call, where the proof takes all of them."""
    return names if set(names) <= set(inspect.signature(function).parameters) else None


def prove(proof: Proof, call: Any, outputs: Sequence[Any], most: int = 0) -> Optional[bool]:
    """Whether the outputs, which are right results of the call, are finite; None: nobody knows that they are right. Raises anything where
    the proof does not know such tensors. `most`: elements of operands and results, where that is not the proof's own number."""
    import numpy
    import torch
    first = next(each for each in outputs if each is not None)
    dtype, given = first.dtype, call.arguments
    if type(first) is not torch.Tensor or not (dtype == torch.float32 or proof.is_exact and dtype in (torch.bfloat16, torch.float16, *_integers())):
        return None
    if _names_of(proof.function, tuple(given)) is None:
        given = accepted(call.base, proof.function, given, given.defaults)
    size = sum([each.numel() for each in values_of(given) if is_tensor(each)], first.numel())
    if size > (most or proof.most) * dtype.itemsize // 4:  # those of 16 bits become f64 themselves
        return None
    arrays = {name: _array(name, value, dtype) for name, value in given.items()}
    with numpy.errstate(all="ignore"):
        found = proof.function(**arrays)
        if dtype.itemsize >= 4:
            made = [None if each is None else each.detach().numpy(force=True) for each in outputs]
            if not proof.is_right(made, found):
                return None
            return not proof.is_exact or bool(numpy.isfinite(made[0]).all())  # other proofs are of finite values alone
    if isinstance(found, tuple):
        raise Unjudged("several results of 16 bits")
    rounded = torch.as_tensor(found).to(dtype)
    is_right = rounded.shape == first.shape and torch.equal(rounded.view(torch.int16), first.view(torch.int16))
    return bool(first.isfinite().all()) if is_right else None
