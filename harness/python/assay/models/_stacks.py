# SPDX-License-Identifier: Apache-2.0
"""Proofs of several equal calls at once: their operands lie one behind the other along a first axis, so that NumPy is called once for all."""
from __future__ import annotations

from typing import Any, Callable

from . import _layer_proofs  # noqa: F401  (it adds proofs)
from ._proofs import PROOFS, Proof, _mean, _product, _sum, is_allowed

STACKED: dict[str, Callable[..., Any]] = {}  # by the functions' names: their proof's function, for operands with one axis more


def _aligned(proof: Proof) -> Callable[..., Any]:
    """A function of single elements: operands of fewer axes get theirs behind the first one, so that they broadcast as without it."""
    def function(**given: Any) -> Any:
        rank = max(each.ndim for each in given.values() if hasattr(each, "ndim"))
        return proof.function(**{name: _with_rank(each, rank) for name, each in given.items()})
    return function


def _with_rank(x: Any, rank: int) -> Any:
    return x.reshape(x.shape[0], *(1,) * (rank - x.ndim), *x.shape[1:]) if hasattr(x, "ndim") and x.ndim < rank else x


STACKED.update({name: _aligned(PROOFS[name]) for name in (
    "add sub mul div neg abs relu threshold_backward exp log sin cos tanh pow rsqrt silu silu_backward softplus softplus_backward sigmoid_backward "
    "tanh_backward gelu gelu_backward").split()})
STACKED.update(clone=PROOFS["clone"].function, mm=_product, bmm=_product)


def _stacked(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        STACKED.update(dict.fromkeys(names, function))
        return function
    return made


def _behind(dim: int) -> int:
    return dim if dim < 0 else dim + 1


def _axes(x: Any, dim: Any) -> Any:
    """All axes but the first one, where none are named."""
    return list(range(1, x.ndim)) if dim is None or dim == [] else [_behind(each) for each in (dim if isinstance(dim, (list, tuple)) else (dim,))]


@_stacked("sum")
def _sums(self, dim=None, keepdim=False): return _sum(self, _axes(self, dim), keepdim)


@_stacked("mean")
def _means(self, dim=None, keepdim=False): return _mean(self, _axes(self, dim), keepdim)


@_stacked("addmm")
def _affine(self, mat1, mat2):
    product, count, sizes = _product(mat1, mat2)
    row = _with_rank(self, 3)
    return product + row, count, lambda step=1: sizes(step) + abs(row)


@_stacked("cat")
def _cat(tensors, dim=0): return PROOFS["cat"].function(tensors, _behind(dim))


@_stacked("stack")
def _stack(tensors, dim=0): return PROOFS["stack"].function(tensors, _behind(dim))


@_stacked("_unsafe_view")
def _view(self, size): return self.reshape(self.shape[0], *size)


@_stacked("select_backward")
def _select_backward(grad_output, input_sizes, dim, index):
    return PROOFS["select_backward"].function(grad_output, [grad_output.shape[0], *input_sizes], _behind(dim), index)


@_stacked("slice_backward")
def _slice_backward(grad_output, input_sizes, dim, start, end, step):
    return PROOFS["slice_backward"].function(grad_output, [grad_output.shape[0], *input_sizes], _behind(dim), start, end, step)


def are_proven(proof: Proof, name: str, given: Any, output: Any) -> bool:
    """Whether all of the calls have right results. Raises anything where the proof does not know such operands."""
    import numpy
    with numpy.errstate(all="ignore"):
        found = STACKED[name](**given)
        return is_allowed(output, *found[0], calls=len(output)) if proof.is_layer else proof.is_right([output], found)
