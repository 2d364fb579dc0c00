# SPDX-License-Identifier: Apache-2.0
"""Everyday mistakes of kernels, each computed by NumPy in f64: what was done, and what a failing check says of it."""
import math
from typing import Any, Callable, NamedTuple

import numpy as np

import assay


class Mistake(NamedTuple):
    done: str
    says: str
    op: Any
    shapes: list[tuple[int, ...]]
    wrong: Callable[..., np.ndarray]
    attrs: dict[str, Any] = {}
    size: float = 1  # of the first operand's numbers


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def attention(q, k, v, scale=None, mask=None, head_of=lambda h, group: h // group, softcap=None):
    heads = [head_of(h, q.shape[1] // k.shape[1]) for h in range(q.shape[1])]
    scores = q @ np.swapaxes(k[:, heads], -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ v[:, heads]


def seen(q, k, ahead=0, behind=None):
    """Which keys a query sees that sees itself, `ahead` more, and no more than `behind` before."""
    i, j = np.indices((q.shape[2], k.shape[2]))
    i = i + k.shape[2] - q.shape[2]
    return (j <= i + ahead) & (True if behind is None else j >= i - behind)


def rms_norm(x, gamma, eps=1e-5):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * gamma


def layer_norm(x, gamma, beta, eps=1e-5, ddof=0):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True, ddof=ddof) + eps) * gamma + beta


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    return np.vectorize(math.erf)(x)


def rope(x, cos, sin, sign=1):
    half = x.shape[-1] // 2
    a, b, c, s = x[..., :half], x[..., half:], cos[:, None], sign * sin[:, None]
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


def rope_of_neighbours(x, cos, sin):
    halves = np.concatenate([x[..., ::2], x[..., 1::2]], -1)
    turned, half = rope(halves, cos, sin), x.shape[-1] // 2
    return np.stack([turned[..., :half], turned[..., half:]], -1).reshape(x.shape)


def correlate(x, w, pad=0):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w)


def swiglu(x, w, v):
    xp = assay.namespace(x)
    return xp.silu(x @ w) * (x @ v)


def cross_entropy(x, target):
    """The loss of each row; `target` is 1 at the right class and 0 elsewhere."""
    xp = assay.namespace(x)
    return xp.sum(-target * xp.log_softmax(x, axis=-1), axis=-1)


def gelu(x):
    return x / 2 * (1 + erf(x / math.sqrt(2)))


def frames(x, window, n=16, hop=4, factor=1.0):
    """The spectra of frames, real and imaginary parts along the last axis."""
    y = np.fft.rfft(np.lib.stride_tricks.sliding_window_view(x, n, -1)[:, ::hop] * window) * factor
    return np.stack([y.real, y.imag], -1)


def hann(n, symmetric):
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / (n - symmetric))


def statistics_over(x, gamma, beta, axis):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5) * gamma + beta


def over_part(x, gamma, terms):
    return x / np.sqrt((x[:, :terms] ** 2).mean(-1, keepdims=True) + 1e-6) * gamma


def exponentials(q, k):
    return np.exp(q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1]))


QKV = [(1, 2, 16, 24)] * 3
GROUPED = [(1, 4, 16, 24), (1, 2, 16, 24), (1, 2, 16, 24)]
NORM = [(16, 48), (48,), (48,)]
TURNED = [(2, 8, 3, 16), (8, 8), (8, 8)]

MISTAKES = [
    Mistake("b is read as it lies, not transposed", "transb=1|last two axes of operand b", "matmul", [(32, 32), (32, 32)], lambda a, b: a @ b.T),
    Mistake("a and b are exchanged", "the operands a and b exchanged", "matmul", [(32, 32), (32, 32)], lambda a, b: b @ a),
    Mistake("beta is ignored", "the operand c all 0", "matmul", [(16, 24), (24, 32), (16, 32)], lambda a, b, c: a @ b, {"beta": 0.5}),
    Mistake("beta c is subtracted", "beta=-0.5|operand c negated", "matmul", [(16, 24), (24, 32), (16, 32)], lambda a, b, c: a @ b - 0.5 * c, {"beta": 0.5}),
    Mistake("alpha is ignored", "alpha=1", "matmul", [(16, 24), (24, 32)], lambda a, b: a @ b, {"alpha": 0.5}),
    Mistake("the scale is missing", "scale=1", "attention", QKV, lambda q, k, v: attention(q, k, v, 1.0)),
    Mistake("the scale is 1/d, not its root", "scale=0.04166", "attention", QKV, lambda q, k, v: attention(q, k, v, 1 / 24)),
    Mistake("no causal mask", "causal=0", "attention", QKV, lambda q, k, v: attention(q, k, v), {"causal": 1}),
    Mistake("a causal mask that nobody asked for", "causal=1", "attention", QKV, lambda q, k, v: attention(q, k, v, mask=seen(q, k))),
    Mistake("the causal mask is off by one: one key too many", "one key more", "attention", QKV, lambda q, k, v: attention(q, k, v, mask=seen(q, k, 1)), {"causal": 1}),
    Mistake("the window is one key short", "window=3", "attention", QKV, lambda q, k, v: attention(q, k, v, mask=seen(q, k, 0, 2)), {"causal": 1, "window": 4}),
    Mistake("query heads read key heads in turn, not in blocks", "elements.*in turn, not in blocks", "attention", GROUPED, lambda q, k, v: attention(q, k, v, head_of=lambda h, group: h % 2)),
    Mistake("the soft cap is missing", "softcap=0", "attention", QKV, lambda q, k, v: attention(q, k, v), {"softcap": 2}),
    Mistake("values in reverse order", "operand [kv] reversed along axis 2", "attention", QKV, lambda q, k, v: attention(q, k, v[:, :, ::-1])),
    Mistake("softmax along the wrong axis", "axis=0", "softmax", [(24, 24)], lambda x: softmax(x, 0)),
    Mistake("the logarithm is missing", "log=0", "softmax", [(16, 64)], softmax, {"log": 1}),
    Mistake("exponentials are not divided by their sum", "in place of", "softmax", [(16, 64)], lambda x: np.exp(x - x.max(-1, keepdims=True))),
    Mistake("mean instead of sum", "kind=mean", "reduce", [(16, 64)], lambda x: x.mean(1), {"axes": [1], "kind": "sum"}),
    Mistake("a mean that divides by n - 1", "in place of", "reduce", [(16, 64)], lambda x: x.sum(1) / 63, {"axes": [1], "kind": "mean"}),
    Mistake("the last term of each sum is missing", "without its last term", "reduce", [(16, 64)], lambda x: x[:, :-1].sum(1), {"axes": [1], "kind": "sum"}),
    Mistake("eps is 1e-6, not 1e-5", "eps=1e-06", "rms_norm", [(16, 48), (48,)], lambda x, g: rms_norm(x, g, 1e-6), {"eps": 1e-5}, 1e-3),
    Mistake("eps is left out", "0 in place of 1e-05", "layer_norm", NORM, lambda x, g, b: layer_norm(x, g, b, 0)),
    Mistake("gamma is missing", "operand gamma all 1", "layer_norm", NORM, lambda x, g, b: layer_norm(x, 1, b)),
    Mistake("beta is missing", "operand beta all 0", "layer_norm", NORM, lambda x, g, b: layer_norm(x, g, 0)),
    Mistake("gamma is off by one", "gamma shifted by -1", "layer_norm", NORM, lambda x, g, b: layer_norm(x, np.roll(g, -1), b)),
    Mistake("the variance divides by n - 1", "47 in place of 48", "layer_norm", NORM, lambda x, g, b: layer_norm(x, g, b, ddof=1)),
    Mistake("the mean is not subtracted", "in place of", "layer_norm", NORM, lambda x, g, b: x / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b),
    Mistake("the root is missing", "in place of", "rms_norm", [(16, 48), (48,)], lambda x, g: x / ((x * x).mean(-1, keepdims=True) + 1e-5) * g, {"eps": 1e-5}),
    Mistake("a sum of squares instead of their mean", "in place of", "rms_norm", [(16, 48), (48,)], lambda x, g: x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-5) * g, {"eps": 1e-5}),
    Mistake("eps outside of the root", "in place of", "rms_norm", [(16, 48), (48,)], lambda x, g: x / (np.sqrt((x * x).mean(-1, keepdims=True)) + 1e-5) * g, {"eps": 1e-5}, 1e-3),
    Mistake("gamma with 1 added", "gamma . 1", "layer_norm", NORM, lambda x, g, b: layer_norm(x, g + 1, b)),
    Mistake("gamma is applied twice", "gamma. . gamma in place", "rms_norm", [(16, 48), (48,)], lambda x, g: rms_norm(x, g * g, 1e-6)),
    Mistake("beta is added before gamma", "beta. . gamma in place", "layer_norm", NORM, lambda x, g, b: layer_norm(x, g, b * g)),
    Mistake("tanh for erf", "approx=tanh", "gelu", [(1000,)], lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    Mistake("erf for tanh", "approx=none", "gelu", [(1000,)], lambda x: x / 2 * (1 + erf(x / math.sqrt(2))), {"approx": "tanh"}),
    Mistake("the halves are exchanged", "halves along axis 1 exchanged", "silu_and_mul", [(16, 64)], lambda x: x[:, 32:] * sigmoid(x[:, 32:]) * x[:, :32]),
    Mistake("the halves lie in turn", "that lie in turn", "silu_and_mul", [(16, 64)], lambda x: x[:, ::2] * sigmoid(x[:, ::2]) * x[:, 1::2]),
    Mistake("silu without its factor x", "in place of", "silu_and_mul", [(16, 64)], lambda x: sigmoid(x[:, :32]) * x[:, 32:]),
    Mistake("turned the other way", "operand sin negated", "rope", TURNED, lambda x, c, s: rope(x, c, s, -1)),
    Mistake("pairs of neighbours, not of halves", "pairs of neighbours", "rope", TURNED, rope_of_neighbours),
    Mistake("sine and cosine are exchanged", "operands cos and sin exchanged", "rope", TURNED, lambda x, c, s: rope(x, s, c)),
    Mistake("the sum does not include its own term", "without its own term", "cumsum", [(4, 32)], lambda x: np.cumsum(x, 1) - x),
    Mistake("sums from the end", "from the end", "cumsum", [(4, 32)], lambda x: np.cumsum(x[:, ::-1], 1)[:, ::-1]),
    Mistake("the sum over the row is missing", "in place of", "softmax_backward", [(8, 32), (8, 32)], lambda y, dy: y * dy),
    Mistake("the kernel is flipped", "reversed", "conv", [(1, 2, 8, 8), (3, 2, 3, 3)], lambda x, w: correlate(x, w[:, :, ::-1, ::-1])),
    Mistake("padded by its edges", "padded by its edges", "conv", [(1, 2, 8, 8), (3, 2, 3, 3)],
            lambda x, w: correlate(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="edge"), w), {"pad": [1, 1]}),
    Mistake("the gate is not activated", "in place of", swiglu, [(16, 24), (24, 32), (24, 32)], lambda x, w, v: (x @ w) * (x @ v)),
    Mistake("gate and value are exchanged", "operands w and v exchanged", swiglu, [(16, 24), (24, 32), (24, 32)], lambda x, w, v: x @ w * (x @ v) * sigmoid(x @ v)),
    Mistake("statistics of the whole tensor", "over the whole tensor", "layer_norm", NORM, lambda x, g, b: statistics_over(x, g, b, (0, 1))),
    Mistake("statistics of columns", "along another axis", "layer_norm", NORM, lambda x, g, b: statistics_over(x, g, b, 0)),
    Mistake("the mean of squares is of the first half of the row", "of the first 24 terms", "rms_norm", [(16, 48), (48,)], lambda x, g: over_part(x, g, 24)),
    Mistake("the mean of squares is of the whole blocks of 32", "of the first 32 terms", "rms_norm", [(16, 48), (48,)], lambda x, g: over_part(x, g, 32)),
    Mistake("a variance in place of the mean of squares", "x - ", "rms_norm", [(16, 48), (48,)], lambda x, g: x / np.sqrt(x.var(-1, keepdims=True) + 1e-6) * g),
    Mistake("a column tile of 16 stands in place of the next", "shifted by 16 along axis . where it is wrong", "matmul", [(32, 24), (24, 64)],
            lambda a, b: a @ b[:, [*range(32), *range(16, 32), *range(48, 64)]]),
    Mistake("one block of k is added twice", "second 16 terms twice", "matmul", [(16, 64), (64, 32)], lambda a, b: a @ b + a[:, 16:32] @ b[16:32]),
    Mistake("softmax over queries", "softmax over queries", "attention", QKV, lambda q, k, v: (exponentials(q, k) / exponentials(q, k).sum(-2, keepdims=True)) @ v),
    Mistake("masked keys count in the sum of exponentials", "keys that the mask hides", "attention", [(1, 2, 16, 16)] * 3,
            lambda q, k, v: (exponentials(q, k) * seen(q, k) / exponentials(q, k).sum(-1, keepdims=True)) @ v, {"causal": 1}),
    Mistake("1 is added to the sum of exponentials", "1 in place of", "softmax", [(16, 64)], lambda x: np.exp(x - x.max(-1, keepdims=True)) / (
        1 + np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True))),
    Mistake("a key of zeros is added to the softmax", r"\+ exp\(", "softmax", [(16, 64)], lambda x: np.exp(x) / (1 + np.exp(x).sum(-1, keepdims=True))),
    Mistake("a relu gate for silu", "max", "silu_and_mul", [(16, 64)], lambda x: np.maximum(x[:, :32], 0) * x[:, 32:]),
    Mistake("the gate of quick_gelu", "1.702", "gelu", [(1000,)], lambda x: x * sigmoid(1.702 * x)),
    Mistake("beta is 2", "beta 2", "softplus", [(1000,)], lambda x: np.log1p(np.exp(2 * x)) / 2),
    Mistake("a maximum that begins at 0", "0 in place of negative values|max", "reduce", [(64, 3)], lambda x: np.maximum(x.max(1), 0), {"axes": [1], "kind": "max"}),
    Mistake("spectra are divided by the root of n", "output y divided by 4", "stft", [(2, 64), (16,)], lambda x, w: frames(x, w, factor=1 / 4), {"hop": 4}),
    Mistake("the window is left out", "window all 1", "stft", [(2, 64), (16,)], lambda x, w: frames(x, 1), {"hop": 4}),
    Mistake("a symmetric window", "symmetric Hann", "stft", [(2, 64), (16,)], lambda x, w: frames(x, hann(16, 1)), {"hop": 4}),
    Mistake("a convolution round the end", "goes round the end", "fft_conv", [(2, 3, 32), (3, 32)],
            lambda x, w: np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(w), 32)),
    Mistake("the sign of the loss", "in place of|negated", cross_entropy, [(16, 32), (16, 32)], lambda x, t: (t * np.log(softmax(x))).sum(-1)),
]

RIGHT = [
    ("attention", [(2, 1, 8, 24)] * 3, attention),
    ("softmax", [(16, 64)], softmax),
    ("rms_norm", [(8, 48), (48,)], lambda x, g: rms_norm(x, g, 1e-6)),
    ("layer_norm", [(8, 48), (48,), (48,)], layer_norm),
    ("rope", TURNED, rope),
    ("cumsum", [(4, 32)], lambda x: np.cumsum(x, 1)),
    ("gelu", [(1000,)], lambda x: x / 2 * (1 + erf(x / math.sqrt(2)))),
    ("silu_and_mul", [(16, 64)], lambda x: x[:, :32] * sigmoid(x[:, :32]) * x[:, 32:]),
    ("softplus", [(1000,)], lambda x: np.log1p(np.exp(x))),
    ("fft_conv", [(2, 1, 32), (1, 32)], lambda x, w: np.fft.irfft(np.fft.rfft(x, 64) * np.fft.rfft(w, 64), 64)[..., :32]),
    (swiglu, [(16, 24), (24, 32), (24, 32)], lambda x, w, v: x @ w * sigmoid(x @ w) * (x @ v)),
]
