# SPDX-License-Identifier: Apache-2.0
"""Results that NumPy proves right in f64, without golden values and a bound: they are correctly rounded, or closer to the value in f64
than any bound of f32 is. Whatever is not proven is judged."""
from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple, Optional, Sequence

from ._rules import Unjudged, accepted, is_tensor

_U = 2.0 ** -24  # unit roundoff of f32
# A sum of n terms has a bound of at least 2 (n - 1) _U times the sum of their sizes (golden/bound/bound.h). Half of that is permitted here, as
# f64 is off by less than the rest, and at most this: some ten standard deviations of random roundings, of which twenty fail.
_SHARE = 8 * _U
_MOST_PRODUCTS = 1 << 23  # of a matrix product; a larger one is sampled sooner than multiplied in f64


class Proof(NamedTuple):
    prove: Callable[..., bool]  # whether the result, in f32, is right; operands and result are arrays, numbers stay numbers
    is_exact: bool = True       # only correctly rounded results pass, by whatever contract


PROOFS: dict[str, Proof] = {}  # by the functions' names


def _exact(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function that gives the value in f64, or a selection of operands, the proof of results that are it, rounded once."""
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def prove(y: Any, **given: Any) -> bool:
            return _has_bits(y, function(**given))
        prove.__wrapped__ = function  # type: ignore[attr-defined]
        PROOFS.update(dict.fromkeys(names, Proof(prove)))
        return function
    return made


def _close(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function the proof of results within a share of the sizes of their terms: it gives the value in f64, how many terms
    each result has at least, and a function that gives the sum of their sizes, which is asked for where the value's own does not do."""
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def prove(y: Any, **given: Any) -> bool:
            golden, terms, sizes = function(**given)
            if terms < 2 or golden.shape != y.shape or y.dtype != "f4":
                return terms == 1 and _has_bits(y, golden)
            share, error = min((terms - 1) * _U, _SHARE), abs(y - golden)
            return _is_within(error, share, abs(golden)) or _is_within(error, share, sizes())
        prove.__wrapped__ = function  # type: ignore[attr-defined]
        PROOFS.update(dict.fromkeys(names, Proof(prove, False)))
        return function
    return made


def _near(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function that gives the value in f64 the proof of results within 2 _U of it: half of what functions have, 4 units in the last
    place."""
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def prove(y: Any, **given: Any) -> bool:
            golden = function(**given)
            return golden.dtype == "f8" and golden.shape == y.shape and _is_within(abs(y - golden), 2 * _U, abs(golden))
        prove.__wrapped__ = function  # type: ignore[attr-defined]
        PROOFS.update(dict.fromkeys(names, Proof(prove, False)))
        return function
    return made


def _is_within(error: Any, share: float, size: Any) -> bool:
    """Infinite sizes, which operands or f32 itself may give, have a share for any error: they prove nothing."""
    return bool((error <= share * size).all() and (size < math.inf).all())


def _has_bits(y: Any, golden: Any) -> bool:
    import numpy
    golden = numpy.asarray(golden)
    return golden.shape == y.shape and bool((golden.astype("f4", copy=False).view("i4") == y.view("i4")).all())


def _arithmetic(name: str) -> None:
    @_exact(name)
    def _(self: Any, other: Any) -> Any:
        import numpy
        if not hasattr(other, "shape"):
            other = numpy.float64(numpy.float32(other))  # as PyTorch has it
        return getattr(numpy, {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide"}[name])(self, other, dtype="f8")


for _name in ("add", "sub", "mul", "div"):
    _arithmetic(_name)


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


@_exact("clone")
def _clone(self): return self


@_exact("_unsafe_view")
def _view(self, size): return self.reshape(size)


@_exact("select_backward")
def _select_backward(grad_output, input_sizes, dim, index):
    import numpy
    made = numpy.zeros(input_sizes, grad_output.dtype)
    numpy.moveaxis(made, dim, 0)[index] = grad_output
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
    if hasattr(exponent, "shape") or not hasattr(self, "shape"):
        raise Unjudged("another power")
    return self.astype("f8") ** exponent


@_near("rsqrt")
def _rsqrt(self):
    import numpy
    return 1 / numpy.sqrt(self, dtype="f8")


def _over(self: Any, dim: Any) -> Any:
    return tuple(range(self.ndim)) if dim is None or dim == [] else tuple(dim) if isinstance(dim, (list, tuple)) else (dim,)


@_close("sum")
def _sum(self, dim=None, keepdim=False):
    axes = _over(self, dim)
    return self.sum(axes, dtype="f8", keepdims=keepdim), _count(self, axes), lambda: abs(self).sum(axes, dtype="f8", keepdims=keepdim)


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
    a, b = self.astype("f8"), mat2.astype("f8")
    return a @ b, a.shape[-1], lambda: abs(self) @ abs(mat2)  # in f32, whose error is nothing beside the factor 2 above


@_close("addmm")
def _affine(self, mat1, mat2):
    product, count, sizes = _product(mat1, mat2)
    return product + self, count, lambda: sizes() + abs(self)


def _array(tensor: Any, dtype: Any) -> Any:
    """Its elements on the host, those of 16 bits in f64, which NumPy has."""
    if tensor.dtype != dtype:
        raise Unjudged("several types")
    tensor = tensor.detach()
    return (tensor if tensor.dtype.itemsize == 4 else tensor.double()).numpy(force=True)


def proof_of(call: Any) -> Optional[Proof]:
    return PROOFS.get(call.base) if call.overload in _OVERLOADS else None


# Overloads with one result of floating-point numbers, whose arguments the functions above name.
_OVERLOADS = ("", "Tensor", "Scalar", "Tensor_Scalar", "dim", "dim_IntList", "default")


def is_proven(proof: Proof, call: Any, y: Any) -> bool:
    """Whether y is the right result of the call. Raises anything where the proof does not know such tensors."""
    import numpy
    import torch
    if y.dtype not in (torch.float32, torch.bfloat16, torch.float16) or type(y) is not torch.Tensor:
        return False
    given = accepted(call.base, proof.prove.__wrapped__, call.arguments, call.arguments.defaults)  # type: ignore[attr-defined]
    arrays = {name: _array(value, y.dtype) if is_tensor(value) else value for name, value in given.items()}
    with numpy.errstate(all="ignore"):
        if y.dtype == torch.float32:
            return proof.prove(y.detach().numpy(force=True), **arrays)
        golden = proof.prove.__wrapped__(**arrays)  # type: ignore[attr-defined]
    if not proof.is_exact:
        return False
    rounded = torch.as_tensor(golden).to(y.dtype)
    return rounded.shape == y.shape and torch.equal(rounded.view(torch.int16), y.view(torch.int16))
