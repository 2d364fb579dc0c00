# SPDX-License-Identifier: Apache-2.0
"""ATen functions along axes: sums, extremes, orders, norms and losses."""
from __future__ import annotations

import functools
import math
from typing import Any

from .._namespace import TRACED as xp
from ._places import with_places
from ._rules import RULES, Exact, Question, Unjudged, formula, formulas, rule, traced


def _axes(dim: Any) -> Any:
    """None for all axes: PyTorch has an empty list for these, too."""
    return None if dim is None or isinstance(dim, (list, tuple)) and not dim else tuple(dim) if isinstance(dim, (list, tuple)) else dim


@formula("max.dim", "max.dim_max", judged=(0,))
def _max_dim(self, dim, keepdim=False): return xp.max(self, axis=dim, keepdims=keepdim)


@formula("min.dim", "min.dim_min", judged=(0,))
def _min_dim(self, dim, keepdim=False): return xp.min(self, axis=dim, keepdims=keepdim)


def _place(function: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    if dim is None:
        return function(xp.reshape(x, -1))
    return function(x, axis=dim, keepdims=keepdim)


@rule("cumprod")
def _cumprod(outputs: Any, self: Any, dim: int) -> Any:
    y = outputs[0]
    rows = [x.reshape(1, 1) if x.dim() == 0 else x.movedim(dim, -1).reshape(-1, x.shape[dim]) for x in (self.to(y.dtype), y)]
    if not y.dtype.is_floating_point:
        return Exact(rows[0].cpu().numpy().cumprod(1, dtype=rows[1].cpu().numpy().dtype), rows[1].cpu().numpy())
    return Question("cumprod", {"x": rows[0]}, {"y": rows[1]})


def _variance(x: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    axes = _axes(dim)
    places = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    count = math.prod(x.shape[place] for place in places)
    correction = 1 if correction is None else correction
    if count <= correction:
        raise Unjudged("the variance of too few elements")
    deviation = x - xp.mean(x, axis=axes, keepdims=True)
    return xp.sum(deviation * deviation, axis=axes, keepdims=keepdim) / (count - correction)


@formula("var")
def _var(self, dim=None, correction=None, keepdim=False, unbiased=True):
    return _variance(self, dim, correction if unbiased else 0, keepdim)


@formula("std")
def _std(self, dim=None, correction=None, keepdim=False, unbiased=True):
    return xp.sqrt(_variance(self, dim, correction if unbiased else 0, keepdim))


@formula("var_mean", judged=(0, 1))
def _var_mean(self, dim=None, correction=None, keepdim=False, unbiased=True):
    return _variance(self, dim, correction if unbiased else 0, keepdim), xp.mean(self, axis=_axes(dim), keepdims=keepdim)


@formula("linalg_vector_norm", "norm")
def _vector_norm(self, ord=2, dim=None, keepdim=False, p=2):
    kind, axes = (p if ord == 2 else ord), _axes(dim)
    if kind in (2, None):
        return xp.sqrt(xp.sum(self * self, axis=axes, keepdims=keepdim))
    if kind == 1:
        return xp.sum(xp.abs(self), axis=axes, keepdims=keepdim)
    if kind == math.inf:
        return xp.max(xp.abs(self), axis=axes, keepdims=keepdim)
    raise Unjudged(f"the norm of order {kind}")


@rule("topk")
def _topk(outputs: Any, self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Question:
    if not sorted:
        raise Unjudged("the largest elements in any order")
    return traced(lambda self: xp.topk(self, k, axis=dim, largest=largest), {"self": self}, outputs)


@rule("sort")
def _sort(outputs: Any, self: Any, dim: int = -1, descending: bool = False, stable: Any = None) -> Question:
    x = self.movedim(dim, -1).reshape(-1, self.shape[dim])
    values, indices = (each.movedim(dim, -1).reshape(x.shape) for each in outputs)
    return Question("sort", {"x": x}, {"values": values, "indices": indices},
                    {"descending": int(descending), "tie": "first" if stable else "any"})


def _softmax(op: str, **attrs: Any) -> None:
    @rule(op)
    def ask(outputs: Any, self: Any, dim: int, half_to_float: bool = False) -> Question:
        return Question("softmax", {"x": self}, {"y": outputs[0]}, {"axis": dim, **attrs})


_softmax("_softmax")
_softmax("_log_softmax", log=1)


@formula("_softmax_backward_data")
def _softmax_backward(grad_output, output, dim, input_dtype=None):
    product = grad_output * output
    return product - output * xp.sum(product, axis=dim, keepdims=True)


@formula("_log_softmax_backward_data")
def _log_softmax_backward(grad_output, output, dim, input_dtype=None):
    return grad_output - xp.exp(output) * xp.sum(grad_output, axis=dim, keepdims=True)


def _reduced(x: Any, reduction: int) -> Any:
    """ATen's enum: none, mean, sum."""
    return (lambda x: x, xp.mean, xp.sum)[reduction](x)


def _losses(x: Any, reduction: int) -> int:
    return math.prod(x.shape) if reduction == 1 else 1


def _huber(x: Any, y: Any, at: float, scale: float) -> Any:
    d = xp.abs(x - y)
    return xp.where(d < at, 0.5 * (d * d), at * (d - 0.5 * at)) * scale


@formula("smooth_l1_loss")
def _smooth_l1(self, target, reduction=1, beta=1.0):
    return _reduced(_huber(self, target, beta, 1 / beta) if beta else xp.abs(self - target), reduction)


@formula("binary_cross_entropy")
def _binary_cross_entropy(self, target, reduction=1):
    log = lambda x: xp.maximum(xp.log(x), -100)  # noqa: E731
    return _reduced((target - 1) * xp.maximum(xp.log1p(-self), -100) - target * log(self), reduction)


@formula("binary_cross_entropy_with_logits")
def _binary_cross_entropy_with_logits(self, target, reduction=1):
    return _reduced((1 - target) * self + xp.maximum(-self, 0) + xp.log1p(xp.exp(-xp.abs(self))), reduction)


def _weights_of_rows(target: Any, ignored: int) -> Any:
    return xp.where(target == ignored, 0.0, 1.0)


@formula("nll_loss_forward", judged=(0, 1))
def _nll_loss(self, target, reduction=1, ignore_index=-100):
    counted = _weights_of_rows(target, ignore_index)
    losses = -xp.sum(xp.where(xp.one_hot(target, self.shape[-1]), self, 0), axis=-1) * counted
    total = xp.sum(counted)
    if reduction == 0:
        raise Unjudged("losses of rows")
    return xp.sum(losses) if reduction == 2 else xp.sum(losses) / total, total


@formula("nll_loss_backward")
def _nll_loss_backward(grad_output, self, target, reduction, ignore_index, total_weight):
    if reduction == 0:
        raise Unjudged("losses of rows")
    each = -grad_output if reduction == 2 else -grad_output / total_weight
    chosen = xp.one_hot(target, self.shape[-1])
    return xp.where(chosen, each * _weights_of_rows(target, ignore_index)[..., None], 0)


@formula("nll_loss2d_forward", judged=(0, 1))
def _nll_loss2d(self, target, reduction=1, ignore_index=-100):
    return _nll_loss(xp.permute_dims(self, (0, 2, 3, 1)), target, reduction, ignore_index)


@formula("smooth_l1_loss_backward")
def _smooth_l1_backward(grad_output, self, target, reduction, beta):
    return _huber_slope(grad_output, self, target, beta, 1 / beta if beta else 1, reduction)


def _huber_slope(grad: Any, x: Any, y: Any, at: float, scale: float, reduction: int) -> Any:
    d = x - y
    return xp.clip(d, -at, at) * scale * grad / _losses(x, reduction)


@formula("binary_cross_entropy_backward")
def _binary_cross_entropy_backward(grad_output, self, target, reduction=1):
    return grad_output * (self - target) / xp.maximum((1 - self) * self, 1e-12) / _losses(self, reduction)


@formula("kl_div")
def _kl_div(self, target, reduction=1, log_target=False):
    if not log_target:
        raise Unjudged("kl_div of probabilities, whose logarithm at zero is none")
    return _reduced(xp.exp(target) * (target - self), reduction)


@formula("std_mean", judged=(0, 1))
def _std_mean(self, dim=None, correction=None, keepdim=False, unbiased=True):
    variance, mean = _variance(self, dim, correction if unbiased else 0, keepdim), xp.mean(self, axis=_axes(dim), keepdims=keepdim)
    return xp.sqrt(variance), mean


@formula("aminmax", judged=(0, 1))
def _aminmax(self, dim=None, keepdim=False):
    return xp.min(self, axis=dim, keepdims=keepdim), xp.max(self, axis=dim, keepdims=keepdim)


def _at_rank(outputs: Any, x: Any, rank: int, dim: Any, keepdim: bool) -> Question:
    """The number of that rank among those of its row."""
    if dim is None:
        return traced(lambda self: xp.sort(xp.reshape(self, -1))[rank], {"self": x}, outputs)

    def chosen(self):
        ranked = xp.take(xp.sort(self, axis=dim), [rank], axis=dim)
        return ranked if keepdim else xp.reshape(ranked, outputs[0].shape)
    return traced(chosen, {"self": x}, outputs)


@rule("kthvalue")
def _kthvalue(outputs: Any, self: Any, k: int, dim: int = -1, keepdim: bool = False) -> Question:
    return _at_rank(outputs[:1], self, k - 1, dim, keepdim)


@rule("median")
def _median(outputs: Any, self: Any, dim: Any = None, keepdim: bool = False) -> Question:
    if bool(self.isnan().any()):
        raise Unjudged("the median of NaN")
    return _at_rank(outputs[:1], self, ((self.numel() if dim is None else self.shape[dim]) - 1) // 2, dim, keepdim)


formulas({
    "sum": lambda self, dim=None, keepdim=False: xp.sum(self, axis=_axes(dim), keepdims=keepdim),
    "mean": lambda self, dim=None, keepdim=False: xp.mean(self, axis=_axes(dim), keepdims=keepdim),
    "prod": lambda self, dim=None, keepdim=False: xp.prod(self, axis=_axes(dim), keepdims=keepdim),
    "amax": lambda self, dim=None, keepdim=False: xp.max(self, axis=_axes(dim), keepdims=keepdim),
    "amin": lambda self, dim=None, keepdim=False: xp.min(self, axis=_axes(dim), keepdims=keepdim),
    "max": lambda self: xp.max(self),
    "min": lambda self: xp.min(self),
    "any": lambda self, dim=None, keepdim=False: xp.any(self, axis=_axes(dim), keepdims=keepdim),
    "all": lambda self, dim=None, keepdim=False: xp.all(self, axis=_axes(dim), keepdims=keepdim),
    "argmax": lambda self, dim=None, keepdim=False: _place(xp.argmax, self, dim, keepdim),
    "argmin": lambda self, dim=None, keepdim=False: _place(xp.argmin, self, dim, keepdim),
    "cumsum": lambda self, dim: xp.cumulative_sum(self, axis=dim),
    "logsumexp": lambda self, dim, keepdim=False: xp.logsumexp(self, axis=_axes(dim), keepdims=keepdim),
    "mse_loss": lambda self, target, reduction=1: _reduced((self - target) * (self - target), reduction),
    "mse_loss_backward": lambda grad_output, self, target, reduction: 2 * (self - target) * grad_output / _losses(self, reduction),
    "huber_loss": lambda self, target, reduction=1, delta=1.0: _reduced(_huber(self, target, delta, 1), reduction),
    "huber_loss_backward": lambda grad_output, self, target, reduction, delta: _huber_slope(grad_output, self, target, delta, 1, reduction),
    "count_nonzero": lambda self, dim=None: xp.astype(xp.sum(xp.where(self != 0, 1, 0), axis=_axes(dim)), "int64"),
    "nansum": lambda self, dim=None, keepdim=False: xp.sum(xp.where(xp.isnan(self), 0, self), axis=_axes(dim), keepdims=keepdim),
})

# The first of equal elements is what PyTorch documents for the extremes; of others it says that it may be any one.
RULES.update({name: functools.partial(with_places, RULES[name], is_first) for name, is_first in
              (("max.dim", True), ("max.dim_max", True), ("min.dim", True), ("min.dim_min", True), ("kthvalue", False), ("median", False))})
