# SPDX-License-Identifier: Apache-2.0
"""Proofs of a network's layers by NumPy in f64: convolutions, norms, attention, activations, and their gradients. Each gives values in f64 and
how far a result may be from them, half of its bound (of gelu two thirds): terms of a sum have 2 (n - 1) _U of their sizes, each further operation _U of
its result, a function 4 _U (golden/bound/bound.h)."""
from __future__ import annotations

import functools
import math
from typing import Any, Sequence

from ._proofs import _SHARE, _U, bounded
from ._rules import Unjudged

_MOST_COLUMNS = 1 << 21  # elements of the matrix that a convolution is a product with


def _share(terms: Any) -> Any:
    """Half of what the bound of a sum has for each unit of its terms' sizes, and no more than proofs of sums permit."""
    import numpy
    return numpy.clip((terms - 1) * _U, 0, _SHARE) if isinstance(terms, (int, float)) else numpy.clip((terms - 1) * _U, 0, _SHARE).astype("f4")


def _each(value: Any, axes: int) -> list[int]:
    return list(value) * axes if len(value) == 1 else list(value)


@functools.lru_cache(256)
def _taps(n: int, k: int, out: int, stride: int, padding: int, dilation: int) -> tuple[Any, Any, Any]:
    """How many products along one axis each output, each element of the kernel and each input has a part in."""
    import numpy
    places = numpy.arange(out)[:, None] * stride - padding + numpy.arange(k) * dilation
    inside = (places >= 0) & (places < n)
    return inside.sum(1), inside.sum(0), numpy.bincount(places[inside], minlength=n)


def _over_axes(counts: Sequence[Any]) -> Any:
    import numpy
    return functools.reduce(numpy.multiply.outer, counts)


class _Convolution:
    """The matrix of patches of x, and how many terms sums over it have."""

    def __init__(self, x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> None:
        import numpy
        axes = x.ndim - 2
        stride, padding, dilation = (_each(value, axes) for value in (stride, padding, dilation))
        self.kernel, self.groups, self.images, self.channels = w.shape[2:], groups, *x.shape[:2]
        self.out = out = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, p, s, d in zip(x.shape[2:], self.kernel, padding, stride, dilation))
        if x.shape[0] * x.shape[1] * math.prod(self.kernel) * math.prod(out) > _MOST_COLUMNS:
            raise Unjudged("a large convolution")
        self.padded = [n + 2 * p for n, p in zip(x.shape[2:], padding)]
        self.inside = (slice(None), slice(None), *(slice(p, p + n) for n, p in zip(x.shape[2:], padding)))
        self.places = [(slice(None), slice(None), *(slice(k * d, k * d + (o - 1) * s + 1, s) for k, o, s, d in zip(place, out, stride, dilation)))
                       for place in numpy.ndindex(*self.kernel)]
        self.taps = [_taps(*each) for each in zip(x.shape[2:], self.kernel, out, stride, padding, dilation)]
        self.weights = w.reshape(groups, w.shape[0] // groups, -1)
        self.wide_weights = self.weights.astype("f8")
        padded = numpy.zeros((self.channels, self.images, *self.padded), "f4")
        padded[self.inside] = x.swapaxes(0, 1)
        columns = numpy.empty((self.channels, len(self.places), self.images, *out), "f4")
        for k, place in enumerate(self.places):
            columns[:, k] = padded[place]
        self.columns = columns.reshape(groups, self.channels // groups * len(self.places), -1)
        self.wide_columns = self.columns.astype("f8")

    def rows(self, y: Any) -> Any:
        """Elements of outputs as rows of each group."""
        return y.swapaxes(0, 1).reshape(self.groups, y.shape[1] // self.groups, -1)

    def outputs(self, rows: Any) -> Any:
        return rows.reshape(-1, self.images, *self.out).swapaxes(0, 1)

    def inputs(self, columns: Any) -> Any:
        """The sum of each input's parts of the matrix."""
        import numpy
        parts = columns.reshape(self.channels, len(self.places), self.images, *self.out)
        made = numpy.zeros((self.channels, self.images, *self.padded), columns.dtype)
        for k, place in enumerate(self.places):
            made[place] += parts[:, k]
        return made[self.inside].swapaxes(0, 1)


@bounded("convolution")
def _convolution(input, weight, stride, padding, dilation, transposed, output_padding, groups, bias=None):
    if transposed:
        raise Unjudged("a transposed convolution")
    conv = _Convolution(input, weight, stride, padding, dilation, groups)
    golden, sizes = conv.outputs(conv.wide_weights @ conv.wide_columns), conv.outputs(abs(conv.weights) @ abs(conv.columns))
    if bias is not None:
        row = bias.reshape(-1, *(1,) * (input.ndim - 2))
        golden, sizes = golden + row, sizes + abs(row)
    return [(golden, _share(weight.shape[1] * _over_axes([taps[0] for taps in conv.taps])) * sizes)]


@bounded("convolution_backward", groups=((0,), (1,), (2,)))
def _convolution_backward(grad_output, input, weight, stride, padding, dilation, transposed, output_padding, groups, output_mask, bias_sizes=None):
    if transposed:
        raise Unjudged("a transposed convolution")
    conv = _Convolution(input, weight, stride, padding, dilation, groups)
    rows, found = conv.rows(grad_output), [None, None, None]
    wide_rows = rows.astype("f8")
    if output_mask[0]:
        share = _share(weight.shape[0] // groups * _over_axes([taps[2] for taps in conv.taps]))
        found[0] = conv.inputs(_turned(conv.wide_weights) @ wide_rows), share * conv.inputs(_turned(abs(conv.weights)) @ abs(rows))
    if output_mask[1]:
        share = _share(conv.images * _over_axes([taps[1] for taps in conv.taps]))
        found[1] = (wide_rows @ _turned(conv.wide_columns)).reshape(weight.shape), share * (abs(rows) @ _turned(abs(conv.columns))).reshape(weight.shape)
    if output_mask[2]:
        found[2] = wide_rows.sum(2).reshape(-1), _share(rows.shape[2]) * abs(wide_rows).sum(2).reshape(-1)
    return found


def _channels(values: Any, x: Any) -> Any:
    return values.astype("f8").reshape(1, -1, *(1,) * (x.ndim - 2))


@bounded("native_batch_norm", groups=((0,), (1, 2)))
def _batch_norm(input, weight=None, bias=None, running_mean=None, running_var=None, training=False, momentum=0.1, eps=1e-5):
    import numpy
    if not training:
        raise Unjudged("inference, which PyTorch computes as a multiple and a sum")
    x, axes = input.astype("f8"), (0, *range(2, input.ndim))
    n, mean = x.size // x.shape[1], x.mean(axes, keepdims=True)
    deviation = x - mean
    scale = 1 / numpy.sqrt((deviation * deviation).mean(axes, keepdims=True) + eps)
    y = _affine(deviation * scale, _size_of_norm(x, deviation, scale, axes, n), None if weight is None else _channels(weight, x),
                None if bias is None else _channels(bias, x))
    return [y, (mean.reshape(-1), _share(n) * abs(x).mean(axes)), (scale.reshape(-1), (_share((n + 1) / 2) * scale).reshape(-1))]


def _size_of_norm(x: Any, deviation: Any, scale: Any, axes: Any, n: int) -> Any:
    """The mean is a sum, and the scale a root of one, which has half of its relative error."""
    return (_share((n + 1) / 2) * abs(deviation) + _share(n) * abs(x).mean(axes, keepdims=True)) * scale


def _affine(y: Any, size: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    y, size = (y, size) if weight is None else (y * weight, size * abs(weight))
    return (y, size) if bias is None else (y + bias, size)


@bounded("native_layer_norm", groups=((0, 1, 2),))
def _layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    import numpy
    n = math.prod(normalized_shape)
    x = input.reshape(-1, n).astype("f8")
    mean, sizes = x.mean(1, keepdims=True), abs(x).mean(1, keepdims=True)
    deviation = x - mean
    scale = 1 / numpy.sqrt((deviation * deviation).mean(1, keepdims=True) + eps)
    size = _size_of_norm(x, deviation, scale, (1,), n)
    y, size = _affine(deviation * scale, size, *(None if each is None else each.reshape(n).astype("f8") for each in (weight, bias)))
    stats = input.shape[:input.ndim - len(normalized_shape)] + (1,) * len(normalized_shape)
    return [(y.reshape(input.shape), size.reshape(input.shape)), (mean.reshape(stats), (_share(n) * sizes).reshape(stats)),
            (scale.reshape(stats), (_share((n + 1) / 2) * scale).reshape(stats))]


def _norm_gradient(dy: Any, z: Any, scale: Any, g: Any, axes: Any, sums: Any, n: int) -> list[tuple[Any, Any]]:
    """Gradients of a normalised x, along `axes`, and of its weight and bias, along `sums`. `g`: dy by the weight."""
    size_g, size_gz = abs(g).mean(axes, keepdims=True), abs(g * z).mean(axes, keepdims=True)
    dx = scale * (g - g.mean(axes, keepdims=True) - z * (g * z).mean(axes, keepdims=True))
    size = scale * (_U * abs(g) + _share(n) * (size_g + abs(z) * size_gz))
    share = _share(math.prod(dy.shape[axis] for axis in sums))
    return [(dx, size), ((dy * z).sum(sums), share * abs(dy * z).sum(sums)), (dy.sum(sums), share * abs(dy).sum(sums))]


@bounded("native_layer_norm_backward", groups=((0,), (1, 2)))
def _layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    n = math.prod(normalized_shape)
    x, dy = (each.reshape(-1, n).astype("f8") for each in (input, grad_out))
    scale = rstd.reshape(-1, 1).astype("f8")
    dx, dgamma, dbeta = _norm_gradient(dy, (x - mean.reshape(-1, 1)) * scale, scale, dy if weight is None else dy * weight.reshape(n), (1,), (0,), n)
    return [tuple(each.reshape(input.shape) for each in dx), *(tuple(each.reshape(normalized_shape) for each in one) for one in (dgamma, dbeta))]


@bounded("native_batch_norm_backward", groups=((0, 1, 2),))
def _batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask):
    if not train:
        raise Unjudged("inference")
    axes = (0, *range(2, input.ndim))
    scale = _channels(save_invstd, input)
    g = grad_out.astype("f8")
    dx, *others = _norm_gradient(g, (input - _channels(save_mean, input)) * scale, scale, g, axes, axes, input.size // input.shape[1])
    return [dx if weight is None else _affine(*dx, _channels(weight, input), None), *others]


def _turned(x: Any) -> Any:
    return x.swapaxes(-1, -2)


def _scores(query: Any, key: Any, scale: Any, is_causal: bool) -> tuple[Any, Any, Any, Any]:
    """Queries and keys in f64, their products by the scale, and which of these count."""
    import numpy
    if query.ndim != 4 or query.shape[:2] != key.shape[:2] or query.shape[0] * query.shape[1] * query.shape[2] * max(key.shape[2], query.shape[3]) > _MOST_COLUMNS:
        raise Unjudged("attention of large or of shared heads")
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    q, k = query.astype("f8"), key.astype("f8")
    return q, k, factor, numpy.tri(q.shape[2], k.shape[2], dtype=bool) if is_causal else numpy.ones((q.shape[2], k.shape[2]), bool)


@bounded("_scaled_dot_product_flash_attention_for_cpu")
def _attention(query, key, value, dropout_p=0, is_causal=False, attn_mask=None, scale=None):
    import numpy
    if dropout_p or attn_mask is not None:
        raise Unjudged("dropout or a mask")
    q, k, factor, seen = _scores(query, key, scale, is_causal)
    scores = numpy.where(seen, factor * (q @ _turned(k)), -math.inf)
    p = numpy.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return [(p @ value.astype("f8"), 4 * _share(seen.sum(1))[:, None] * (p @ abs(value)))]


@bounded("_scaled_dot_product_flash_attention_for_cpu_backward", groups=((0,), (1,), (2,)))
def _attention_backward(grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask=None, scale=None):
    import numpy
    if dropout_p or attn_mask is not None:
        raise Unjudged("dropout or a mask")
    q, k, factor, seen = _scores(query, key, scale, is_causal)
    stored = logsumexp if logsumexp.shape == query.shape[:3] else _turned(logsumexp)
    exponents = numpy.where(seen, factor * (q @ _turned(k)) - stored[..., None], -math.inf)
    p = numpy.exp(exponents)
    dy, v = grad_out.astype("f8"), value.astype("f8")
    ds = p * (dy @ _turned(v) - (dy * out).sum(-1, keepdims=True))
    # Errors of sums over a head, and of exp and its argument: a quarter of their bounds, as statistics of all elements have less.
    sizes = _share(v.shape[3]) / 2 * p * (abs(dy) @ _turned(abs(v)) + abs(dy * out).sum(-1, keepdims=True))
    of_p = p * (2 * _U + numpy.where(seen, abs(exponents), 0) * _U / 2 + _share(q.shape[3]) / 2 * abs(factor) * (abs(q) @ _turned(abs(k))))
    return [(factor * (ds @ k), abs(factor) * (sizes @ abs(k))), (factor * (_turned(ds) @ q), abs(factor) * (_turned(sizes) @ abs(q))),
            (_turned(p) @ dy, _turned(of_p) @ abs(dy))]


def _sigmoid(x: Any) -> Any:
    import numpy
    return 1 / (1 + numpy.exp(-x, dtype="f8"))


@bounded("silu")
def _silu(self):
    s = _sigmoid(self)
    return [(self * s, abs(self) * s * _U * (1.5 + 6 * (1 - s)))]


@bounded("silu_backward")
def _silu_backward(grad_output, self):
    s = _sigmoid(self)
    slope = 1 + self * (1 - s)
    return [(grad_output * s * slope, abs(grad_output) * s * _U * (5 * abs(slope) + 3 * abs(self) * (1 - s)))]


@bounded("softplus_backward")
def _softplus_backward(grad_output, self, beta, threshold):
    import numpy
    s = numpy.where(self * beta > threshold, 1, _sigmoid(self * beta))
    return [(grad_output * s, numpy.where(s == 1, 0, abs(grad_output) * s * _U * (1.5 + 6 * (1 - s))))]


@bounded("softplus")
def _softplus(self, beta=1, threshold=20):
    import numpy
    x = numpy.minimum(self * beta, threshold, dtype="f8")
    y = numpy.where(self * beta > threshold, self, numpy.log1p(numpy.exp(x)) / beta)
    return [(y, numpy.where(self * beta > threshold, 0, 3 * _U * (abs(y) + _sigmoid(x) / abs(beta))))]


@bounded("sigmoid_backward")
def _sigmoid_backward(grad_output, output):
    golden = grad_output.astype("f8") * (1 - output.astype("f8")) * output
    return [(golden, 2 * _U * abs(golden))]


@bounded("tanh_backward")
def _tanh_backward(grad_output, output):
    square = output.astype("f8") ** 2
    return [(grad_output * (1 - square), _U * abs(grad_output))]


def _normal(x: Any) -> tuple[Any, Any]:
    """The distribution and the density of normal numbers. NumPy has no erf."""
    import numpy
    import torch
    x = x.astype("f8")
    return torch.special.erfc(torch.from_numpy(x * -math.sqrt(0.5))).numpy() / 2, numpy.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@bounded("gelu")
def _gelu(self, approximate="none"):
    if approximate != "none":
        raise Unjudged("by tanh")
    return [(self * _normal(self)[0], 2.5 * _U * abs(self.astype("f8")))]


@bounded("gelu_backward")
def _gelu_backward(grad_output, self, approximate="none"):
    if approximate != "none":
        raise Unjudged("by tanh")
    cdf, pdf = _normal(self)
    return [(grad_output * (cdf + self * pdf), 4 * _U * abs(grad_output) * (1 + abs(self) * pdf))]


@bounded("embedding_dense_backward")
def _embedding_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    import numpy
    if padding_idx >= 0 or scale_grad_by_freq:
        raise Unjudged("another one")
    rows, places = grad_output.reshape(indices.size, -1).astype("f8"), indices.reshape(-1)
    golden, sizes = (numpy.zeros((num_weights, rows.shape[1])) for _ in range(2))
    numpy.add.at(golden, places, rows)
    numpy.add.at(sizes, places, abs(rows))
    return [(golden, _share(numpy.bincount(places, minlength=num_weights))[:, None] * sizes)]


@bounded("max_pool2d_with_indices_backward")
def _max_pool_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    import numpy
    plane = math.prod(self.shape[-2:])
    places = (numpy.arange(self.size // plane)[:, None] * plane + indices.reshape(-1, math.prod(indices.shape[-2:]))).reshape(-1)
    golden, sizes = (numpy.bincount(places, each.reshape(-1), self.size).reshape(self.shape) for each in (grad_output, abs(grad_output)))
    return [(golden, _share(numpy.bincount(places, minlength=self.size).reshape(self.shape)) * sizes)]
