# SPDX-License-Identifier: Apache-2.0
"""ATen's products: matrices, convolutions with their gradients, attention."""
from __future__ import annotations

import itertools
from typing import Any, Callable, Iterator, Optional, Sequence

import numpy

from .._namespace import TRACED as xp
from ._rules import Question, Unjudged, formula, rule, traced


def product(a: Any, b: Any, y: Any, c: Any = None, alpha: float = 1, beta: float = 0) -> Question:
    """alpha a b + beta c; c broadcasts, a row of it as a bias."""
    operands, attrs = {"a": a, "b": b}, {"alpha": alpha}
    if c is not None and beta == 1 and c.dim() == 1 and c.shape[0] == y.shape[-1]:
        operands["bias"] = c
    elif c is not None and beta != 0:
        operands["c"] = c.expand(y.shape)
        attrs["beta"] = beta
    return Question("matmul", operands, {"y": y}, {name: value for name, value in attrs.items() if value != 1 or name == "beta"})


@rule("mm")
def _mm(outputs: Any, self: Any, mat2: Any) -> Question: return product(self, mat2, outputs[0])


@rule("bmm")
def _bmm(outputs: Any, self: Any, mat2: Any) -> Question: return _batched(self, mat2, outputs[0])


def _batched(a: Any, b: Any, y: Any, **more: Any) -> Question:
    if y.shape[0] == 1:  # one product has no axis of batches
        a, b, y = a[0], b[0], y[0]
    return product(a, b, y, **more)


@rule("addmm")
def _addmm(outputs: Any, self: Any, mat1: Any, mat2: Any, beta: float = 1, alpha: float = 1) -> Question:
    return product(mat1, mat2, outputs[0], self, alpha, beta)


@rule("baddbmm")
def _baddbmm(outputs: Any, self: Any, batch1: Any, batch2: Any, beta: float = 1, alpha: float = 1) -> Question:
    c = self.expand(outputs[0].shape)
    return _batched(batch1, batch2, outputs[0], c=c[0] if c.shape[0] == 1 else c, alpha=alpha, beta=beta)


@rule("mv")
def _mv(outputs: Any, self: Any, vec: Any) -> Question: return product(self, vec[:, None], outputs[0][:, None])


@rule("addmv")
def _addmv(outputs: Any, self: Any, mat: Any, vec: Any, beta: float = 1, alpha: float = 1) -> Question:
    return product(mat, vec[:, None], outputs[0][:, None], self.expand(outputs[0].shape)[:, None], alpha, beta)


@rule("dot", "vdot")
def _dot(outputs: Any, self: Any, tensor: Any = None, other: Any = None) -> Question:
    return product(self[None], (other if tensor is None else tensor)[:, None], outputs[0].reshape(1, 1))


def _each(value: Any, axes: int) -> list[int]:
    value = [value] if isinstance(value, int) else list(value)
    return value * axes if len(value) == 1 else value


def _conv(x: Any, w: Any, y: Any, bias: Any = None, **dims: Any) -> Question:
    operands = {"x": x, "w": w, **({} if bias is None else {"bias": bias})}
    axes = x.dim() - 2
    return Question("conv", operands, {"y": y}, {name: value if isinstance(value, int) else tuple(_each(value, axes))
                                                 for name, value in dims.items()})


def _spread(x: Any, stride: Sequence[int], shape: Sequence[int]) -> Any:
    """x with zeros between its elements, along the last axes, and behind them up to `shape`."""
    made = x.new_zeros((*x.shape[:2], *shape))
    made[(slice(None), slice(None), *(slice(0, (n - 1) * s + 1, s) for n, s in zip(x.shape[2:], stride)))] = x
    return made


def _data_gradient(dy: Any, w: Any, dx: Any, stride: Any, pad: Any, dilation: Any, groups: int, bias: Any = None) -> Question:
    """The gradient of a convolution's x, which is what a transposed one computes: the convolution of dy, zeros between its
    elements, with the kernel turned round. Zeros add nothing to a sum of products."""
    axes = w.dim() - 2
    stride, pad, dilation = (_each(value, axes) for value in (stride, pad, dilation))
    reach = [d * (k - 1) for d, k in zip(dilation, w.shape[2:])]
    spread = [n + 2 * p - r for n, p, r in zip(dx.shape[2:], pad, reach)]
    outer = [r - p for r, p in zip(reach, pad)]
    if any(p < 0 for p in outer):
        raise Unjudged("the gradient of a convolution that pads by more than its kernel reaches")
    o, c = w.shape[0] // groups, w.shape[1]
    turned = w.reshape(groups, o, c, *w.shape[2:]).transpose(1, 2).reshape(groups * c, o, *w.shape[2:]).flip(tuple(range(2, axes + 2)))
    return _conv(_spread(dy, stride, spread), turned, dx, bias, stride=1, pad=outer, dilation=dilation, groups=groups)


def _weight_gradient(dy: Any, x: Any, dw: Any, stride: Any, pad: Any, dilation: Any, groups: int) -> Question:
    """The gradient of a convolution's w: the convolution of x with dy, images and channels exchanged."""
    axes = x.dim() - 2
    stride, pad, dilation = (_each(value, axes) for value in (stride, pad, dilation))
    padded = x.new_zeros((*x.shape[:2], *((k - 1) * d + (n - 1) * s + 1
                                          for k, d, n, s in zip(dw.shape[2:], dilation, dy.shape[2:], stride))))
    inside = [(min(n + p, e) - p) for n, p, e in zip(x.shape[2:], pad, padded.shape[2:])]
    padded[(slice(None), slice(None), *(slice(p, p + n) for p, n in zip(pad, inside)))] = \
        x[(slice(None), slice(None), *(slice(0, n) for n in inside))]
    n, c, o = x.shape[0], x.shape[1] // groups, dy.shape[1] // groups
    images = padded.reshape(n, groups, c, *padded.shape[2:]).transpose(0, 2).reshape(c, groups * n, *padded.shape[2:])
    kernels = dy.reshape(n, groups * o, *dy.shape[2:]).transpose(0, 1)
    return _conv(images, kernels, dw.transpose(0, 1), stride=dilation, dilation=stride, groups=groups)


@rule("convolution", "cudnn_convolution", "mkldnn_convolution")
def _convolution(outputs: Any, input: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int, bias: Any = None,
                 transposed: bool = False, output_padding: Any = 0) -> Question:
    if transposed:
        return _data_gradient(input, weight, outputs[0], stride, padding, dilation, groups, bias)
    return _conv(input, weight, outputs[0], bias, stride=stride, pad=padding, dilation=dilation, groups=groups)


@rule("convolution_backward")
def _convolution_backward(outputs: Any, grad_output: Any, input: Any, weight: Any, stride: Any, padding: Any, dilation: Any,
                          transposed: bool, groups: int, output_mask: Any, output_padding: Any = 0, bias_sizes: Any = None) -> Iterator[Question]:
    if transposed:
        raise Unjudged("the gradient of a transposed convolution")
    if output_mask[0]:
        yield _data_gradient(grad_output, weight, outputs[0], stride, padding, dilation, groups)
    if output_mask[1]:
        yield _weight_gradient(grad_output, input, outputs[1], stride, padding, dilation, groups)
    if output_mask[2]:
        axes = tuple(range(2, grad_output.dim()))
        yield Question("reduce", {"x": grad_output}, {"y": outputs[2]}, {"axes": (0, *axes), "kind": "sum"})


def _attention(outputs: Any, query: Any, key: Any, value: Any, causal: bool, mask: Optional[Any], scale: Optional[float],
               dropout: float) -> Question:
    if dropout:
        raise Unjudged("attention with dropout")
    if query.dim() != 4:
        raise Unjudged(f"attention of tensors with {query.dim()} axes")
    operands = {"q": query, "k": key, "v": value}
    # A query whose keys are all masked has 0 from PyTorch 2.5 on, and NaN before.
    attrs: dict[str, Any] = {"causal": int(causal), "align": "tl", "masked_rows": "nan" if bool(outputs[0].isnan().any()) else "zero"}
    if scale is not None:
        attrs["scale"] = scale
    if mask is not None:
        scores = (*query.shape[:3], key.shape[2])
        whole = mask.dim() < 3 or all(n == 1 for n in mask.shape[:-2])
        operands["mask"] = mask.reshape(mask.shape[-2:]).expand(scores[-2:]) if whole else mask.expand(scores)
        attrs.update(mask="add", mask_per_head=int(not whole))
        if mask.dtype != query.dtype:
            raise Unjudged(f"a mask in {mask.dtype} beside {query.dtype}")
    return Question("attention", operands, {"o": outputs[0]}, attrs)


@rule("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention", "_scaled_dot_product_cudnn_attention",
      "_scaled_dot_product_efficient_attention", "_scaled_dot_product_fused_attention_overrideable")
def _fused_attention(outputs: Any, query: Any, key: Any, value: Any, dropout_p: float = 0, is_causal: bool = False, attn_mask: Any = None,
                     attn_bias: Any = None, scale: Any = None, compute_log_sumexp: bool = True, return_debug_mask: bool = False) -> Question:
    return _attention(outputs, query, key, value, is_causal, attn_mask if attn_bias is None else attn_bias, scale, dropout_p)


@formula("addr")
def _addr(self, vec1, vec2, beta=1, alpha=1):
    if self.is_condition:
        raise Unjudged("addr of bool, which is logic")
    return beta * self + alpha * vec1[:, None] * vec2


_turn = itertools.count()  # of heads, rows and columns that are judged
_FEW, _FEW_HEADS = 4, 2  # rows and columns that stand for all: the gradient of a head is as dear as some products of matrices


def _turned(x: Any) -> Any:
    return xp.permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _probabilities(grad_out, query, key, value, out, logsumexp, factor, seen=None):
    """Probabilities from the stored logarithms of sums (Dao et al., 2022, FlashAttention, appendix B.4), and gradients before the softmax."""
    p = xp.exp(factor * (query @ _turned(key)) - logsumexp[..., None])
    p = p if seen is None else xp.where(seen, p, 0)
    return p, p * (grad_out @ _turned(value) - xp.sum(grad_out * out, axis=-1, keepdims=True))


def _of_queries(key, factor, columns=None, **more):
    return factor * (_probabilities(key=key, factor=factor, **more)[1] @ (key if columns is None else columns))


def _of_keys(query, factor, columns=None, **more):
    return factor * (_turned(_probabilities(query=query, factor=factor, **more)[1]) @ (query if columns is None else columns))


def _of_values(grad_out, columns=None, **more):
    return _turned(_probabilities(grad_out=grad_out, **more)[0]) @ (grad_out if columns is None else columns)


def _gradients(**given): return _of_queries(**given), _of_keys(**given), _of_values(**given)


_FACTORS = {_of_queries: "key", _of_keys: "query", _of_values: "grad_out"}  # what each gradient is a product with


def _choose(first: Sequence[int], extent: int, count: int = _FEW) -> list[int]:
    """These places, one in turn, the ends, and some between: as many for all extents of one size."""
    places = dict.fromkeys([*first, next(_turn) % extent, 0, extent - 1, extent // 2, extent // 3, *range(min(extent, count))])
    return sorted(list(places)[:min(count, extent)])


def _few_rows(function: Any, given: Any, output: Any, furthest: Optional[Sequence[int]], factor: float) -> Question:
    """Few rows and columns of the gradient of two heads: those of the furthest elements, and others besides."""
    import torch
    places, count = [numpy.unravel_index(each, output.shape) for each in furthest or []], output.shape[1]
    heads = [divmod(head, count) for head in _choose([int(b * count + h) for b, h, *_ in places], output.shape[0] * count, _FEW_HEADS)]
    rows, columns = ([_choose([int(each[axis]) for each in places if tuple(each[:2]) == head], output.shape[axis]) for head in heads] for axis in (2, 3))

    def taken(name: str, tensor: Any) -> Any:
        if name == "seen" and function is not _of_queries:
            return torch.stack([tensor[head][:, some] for head, some in zip(heads, rows)])
        is_of_rows = (name in ("key", "value")) != (function is _of_queries)
        return torch.stack([tensor[head][some] if is_of_rows else tensor[head] for head, some in zip(heads, rows)])

    operands = {name: taken(name, tensor) for name, tensor in given.items()}
    operands["columns"] = torch.stack([given[_FACTORS[function]][head][:, some] for head, some in zip(heads, columns)])
    few = torch.stack([output[head][some][:, others] for head, some, others in zip(heads, rows, columns)])
    return traced(function, {**operands, "factor": factor}, [few])._replace(elements=output.numel())


@rule("_scaled_dot_product_flash_attention_for_cpu_backward")
def _attention_backward(outputs: Any, grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, dropout_p: float,
                        is_causal: bool, attn_mask: Any = None, scale: Any = None) -> Question:
    import torch
    if dropout_p or attn_mask is not None or query.shape[1] != key.shape[1]:
        raise Unjudged("gradients of attention with dropout, a mask or shared heads")
    factor = scale if scale is not None else query.shape[-1] ** -0.5
    stored = logsumexp if logsumexp.shape == query.shape[:3] else logsumexp.transpose(1, 2)
    given = {"grad_out": grad_out, "query": query, "key": key, "value": value, "out": out, "logsumexp": stored}
    if is_causal:
        given["seen"] = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool, device=query.device).tril().expand(*query.shape[:2], -1, -1)

    def few(furthest: Callable[[Any], Optional[Sequence[int]]]) -> list[Question]:
        return [_few_rows(function, given, output, furthest(output), factor) for function, output in zip((_of_queries, _of_keys, _of_values), outputs)]

    return traced(_gradients, {**given, "factor": factor}, outputs)._replace(parts=few)
