# SPDX-License-Identifier: Apache-2.0
"""Faults that public reports describe, each made again with NumPy: where it was reported, what the kernel did, and what a failing check says of it."""
import math
from typing import Any, Callable, NamedTuple

import numpy as np

import assay
from mistakes import attention, layer_norm, rope, softmax

RNG = np.random.default_rng(0)


def normals(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


class Judged(NamedTuple):
    op: Any
    operands: list[Any]
    wrong: Any
    attrs: dict[str, Any] = {}
    dtypes: dict[str, str] = {}


class Report(NamedTuple):
    where: str
    done: str
    says: str
    make: Callable[[], Judged]


def bf16(x):
    """The nearest numbers of bf16, in f32."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)


def tf32(x):
    """The nearest numbers of 11 bits."""
    fraction, exponent = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(np.rint(np.ldexp(fraction, 11)), exponent - 11)


def words(x):
    return (np.ascontiguousarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def of_layer_norm(rows=16, n=48):
    dy, x, gamma = normals(rows, n), normals(rows, n), 1 + normals(n) / 10
    return dy, x, x.mean(1), 1 / np.sqrt(x.var(1) + 1e-5), gamma


def gradients(dy, x, mean, rstd, gamma, times=1, terms=slice(None)):
    z, g = (x - mean[:, None]) * rstd[:, None], dy * gamma
    of_g, of_gz = g.mean(1, keepdims=True), (g * z)[:, terms].sum(1, keepdims=True) / x.shape[1]
    return [rstd[:, None] * (g - times * of_g - z * of_gz), (dy * z).sum(0), dy.sum(0)]


def of_gradients(**wrong):
    operands = of_layer_norm()
    return Judged("layer_norm_backward", list(operands), gradients(*operands, **wrong))


def summed_in_bf16():
    dy, x = bf16(normals(64, 16)), bf16(normals(64, 16))
    mean, rstd, gamma = x.mean(1), 1 / np.sqrt(x.var(1) + 1e-5), bf16(1 + normals(16) / 10)
    right, sums = gradients(dy, x, mean, rstd, gamma), np.zeros((2, 16), np.float32)
    for row, z in zip(dy, (x - mean[:, None]) * rstd[:, None]):
        sums = bf16(sums + [row * z, row])
    return Judged("layer_norm_backward", [words(dy), words(x), mean, rstd, words(gamma)], [words(bf16(right[0])), *map(words, sums)],
                  {}, dict.fromkeys(("dy", "x", "gamma", "dx", "dgamma", "dbeta"), "bf16"))


def with_padding():
    x, gamma, beta = normals(16, 48) + 1, normals(48), normals(48)
    mean = x.mean(1, keepdims=True)
    variance = (((x - mean) ** 2).sum(1, keepdims=True) + 16 * mean ** 2) / 48
    return Judged("layer_norm", [x, gamma, beta], (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta)


def eps_over_n():
    x, gamma, beta = normals(16, 48) / 20, normals(48), normals(48)
    distance = x - x.mean(1, keepdims=True)
    return Judged("layer_norm", [x, gamma, beta], distance / np.sqrt((distance ** 2).sum(1, keepdims=True) / (48 + 1e-5)) * gamma + beta)


def by_powers():
    x = 2 * normals(8, 24)
    e = 2.0 ** np.floor((x - x.max(1, keepdims=True)) / math.log(2))
    return Judged("softmax", [x], e / e.sum(1, keepdims=True), {"axis": 1})


def without_maximum():
    x = 60 * normals(8, 24)
    with np.errstate(all="ignore"):
        e = np.exp(x)
        return Judged("softmax", [x], e / e.sum(1, keepdims=True), {"axis": 1})


def top_left():
    q, k, v = normals(1, 2, 6, 16), normals(1, 2, 20, 16), normals(1, 2, 20, 16)
    i, j = np.indices((6, 20))
    return Judged("attention", [q, k, v], attention(q, k, v, mask=j <= i), {"causal": 1})


def of_heads(queries, keys, head_of):
    q, k, v = normals(1, queries, 8, 16), normals(1, keys, 8, 16), normals(1, keys, 8, 16)
    return Judged("attention", [q, k, v], attention(q, k, v, head_of=head_of))


def fixed_scale():
    q, k, v = normals(1, 2, 8, 16), normals(1, 2, 8, 16), normals(1, 2, 8, 16)
    return Judged("attention", [q, k, v], attention(q, k, v, scale=0.5))


def half_a_head():
    q, k, v = normals(1, 2, 8, 32), normals(1, 2, 8, 32), normals(1, 2, 8, 32)
    wrong = attention(q, k, v)
    wrong[..., 16:] = 0
    return Judged("attention", [q, k, v], wrong)


def angles():
    turns = RNG.uniform(0, 6, (8, 8))
    return normals(1, 8, 2, 16), np.cos(turns).astype("f"), np.sin(turns).astype("f")


def other_order():
    x, cos, sin = angles()
    return Judged("rope", [x, cos, sin], np.stack(np.split(rope(x, cos, sin), 2, axis=-1), -1).reshape(x.shape))


def rounded_positions():
    place, step, x = np.arange(300), 1e4 ** -(np.arange(8) / 8), normals(1, 300, 1, 16)
    turns, wrong = np.outer(place, step), np.outer(bf16(place), step)
    return Judged("rope", [x, np.cos(turns).astype("f"), np.sin(turns).astype("f")], rope(x, np.cos(wrong), np.sin(wrong)))


def every_second_angle():
    x, cos, sin = angles()
    at = np.minimum(2 * np.arange(8), 7)
    return Judged("rope", [x, cos, sin], rope(x, cos[:, at], sin[:, at]))


def pooled(extent, k, stride, pad, windows, divisor, **attrs):
    x = normals(2, 3, extent, extent)
    y = np.zeros((2, 3, windows, windows))
    for i, j in np.ndindex(windows, windows):
        top, left = i * stride - pad, j * stride - pad
        window = x[:, :, max(top, 0):top + k, max(left, 0):left + k]
        y[:, :, i, j] = window.sum((2, 3)) / (divisor or window.shape[2] * window.shape[3])
    return Judged("avg_pool", [x], y, {"k": k, "stride": stride, "pad": pad, **attrs})


def quantized(rounded):
    x = 60 * normals(16, 64)
    x[:, ::3] = np.round(x[:, ::3]) + 0.5
    return Judged("quantize", [x, np.float32(1)], rounded(x).astype(np.int8))


def cut(x):
    return np.clip(x, -128, 127)


def product(k, wrong, rows=16):
    a, b = normals(rows, k), normals(k, 24)
    return Judged("matmul", [a, b], wrong(a.astype(float), b))


def written_up_to(rows):
    def wrong(a, b):
        y = a @ b
        y[rows:] = 0
        return y
    return wrong


def read_as_vectors(a, b, width=8):
    flat, k = np.append(a.ravel(), np.zeros(width)), np.arange(a.shape[1])
    lane = np.arange(b.shape[1]) % width
    return np.einsum("mkn,kn->mn", flat[np.arange(len(a))[:, None, None] * a.shape[1] + k[:, None] + lane], b)


def of_labels(smoothing, loss_of):
    logits, labels = normals(24, 10), RNG.integers(0, 10, 24)
    labels[::4] = 3
    logs = np.log(softmax(logits.astype(float)))
    return Judged("cross_entropy", [logits, labels], np.asarray(loss_of(-logs[np.arange(24), labels], -logs.mean(1), labels != 3)),
                  {"ignore": 3, "smoothing": smoothing})


def with_nan(op, wrong, shape=(64,), **attrs):
    x = normals(*shape)
    x.flat[5] = np.nan
    return Judged(op, [x], wrong(x), attrs)


def integers(op, wrong, low, high, shape=(40,), dtype=np.int64, **attrs):
    x = RNG.integers(low, high, shape).astype(dtype)
    return Judged(op, [x], wrong(x), attrs)


def error_function(x):
    return np.array([1 if np.isnan(value) else math.erf(value) for value in x])


REPORTS = [
    Report("tenstorrent/tt-metal 53204", "dx subtracts the mean of dy gamma twice", "the formula with 24 in place of 48", lambda: of_gradients(times=2)),
    Report("tenstorrent/tt-metal 53204", "of a running sum the last block of 16 is left",
           "the formula with sum((dy * gamma) * ((x - mean) * rstd)) without its first 32 terms", lambda: of_gradients(terms=slice(32, None))),
    Report("karpathy/llm.c 428", "dgamma and dbeta are summed in bf16",
           "the formula with running sums sum(dy) in bf16, as all operands", summed_in_bf16),
    Report("linkedin/Liger-Kernel 518", "lanes behind the row count in the variance",
           "the formula with sum((x - mean(x)) * (x - mean(x))) with 16 lanes of padding", with_padding),
    Report("xlite-dev/LeetCUDA 317", "eps is added to n, not to the variance",
           "the formula with 0 in place of 1e-05", eps_over_n),
    Report("Maratyszcza/NNPACK 174", "exponentials are powers of two", "the formula with exp(x - max(x)) without the fraction of its exponent in base 2", by_powers),
    Report("tenstorrent/tt-metal 12661", "the maximum is not subtracted, and large exponentials overflow",
           "the formula with exponentials from which the maximum was not subtracted, infinite beyond f32", without_maximum),
    Report("NVIDIA/cutlass 2336", "the causal mask is aligned top left", "align=tl", top_left),
    Report("PSAL-POSTECH/ONNXim 33", "all heads read key head 0", "the formula with query heads that all read key head 0", lambda: of_heads(6, 3, lambda h, group: 0)),
    Report("PSAL-POSTECH/ONNXim 33", "heads are divided by the number of key heads",
           "the formula with query heads divided by the number of key heads, not of those that share one", lambda: of_heads(8, 4, lambda h, group: h // 4)),
    Report("ekzhang/jax-js 180", "key heads are tiled, not repeated", "the formula with elements(v), and what is read alike, in turn, not in blocks",
           lambda: of_heads(6, 3, lambda h, group: h % 3)),
    Report("BobMcDear/attorch 14", "the scale is 0.5 whatever the head's size", "scale=0.5", fixed_scale),
    Report("gittensor-ai-lab/sparkinfer 425", "the first half of each head is written", "the output o all 0 where it is wrong",
           half_a_head),
    Report("vllm-project/vllm-metal 44", "pairs are written in another order than they are read", "the output y with 2 parts along axis 3 that lie in turn", other_order),
    Report("microsoft/onnxruntime 26390", "pair i reads the angle 2 i",
           "the operands cos and sin with pair 2 i, at most the last one, in place of pair i", every_second_angle),
    Report("apple/coremltools 2844", "windows that hang over the edge are divided by k²",
           "the formula with a division by whole windows in place of sum(elements(elements(x))) / (elements(index of rows counted) * elements(index of columns counted))",
           lambda: pooled(7, 2, 3, 0, 3, 4, ceil=1)),
    Report("microsoft/onnxruntime 29629", "the same, where padding counts",
           "the formula with a division by whole windows in place of sum(elements(elements(x))) / (elements(index of rows counted) * elements(index of columns counted))",
           lambda: pooled(6, 3, 2, 1, 4, 9, ceil=1, count_pad=1)),
    Report("kulinseth/pytorch 273", "padding does not count", "count_pad=0", lambda: pooled(8, 3, 2, 1, 4, None, count_pad=1)),
    Report("m87-labs/kestrel 162", "gelu by erf where the model has that by tanh", "approx=none",
           lambda: (lambda x: Judged("gelu", [x], np.array([v / 2 * math.erfc(-v / 2 ** 0.5) for v in x.astype(float)]), {"approx": "tanh"}))(normals(256))),
    Report("tenstorrent/tt-metal 56525", "ties are rounded away from zero", "the output q rounded with ties away from 0",
           lambda: quantized(lambda x: cut(np.sign(x) * np.floor(np.abs(x) + 0.5)))),
    Report("weicj/vLLM-2080Ti-Definitive 109", "codes are floor(x + 0.5)", "the output q rounded with ties up", lambda: quantized(lambda x: cut(np.floor(x + 0.5)))),
    Report("sgl-project/sglang-jax 1598", "codes are cut, not rounded", "the formula with max(min(x / scale, 127), -128) rounded toward 0", lambda: quantized(lambda x: cut(np.trunc(x)))),
    Report("ROCm/aiter 4637", "codes beyond 127 wrap round", "the formula with what wraps round in place of max(min(x / scale, 127), -128)",
           lambda: quantized(lambda x: np.rint(x).astype(np.int64))),
    Report("tile-ai/tilelang-ascend 1341", "the tail of k is dropped", "the formula with sum(a * b) without its last 8 terms", lambda: product(72, lambda a, b: a[:, :64] @ b[:64])),
    Report("helmholtz-analytics/heat 573", "the first block of k is added again", "the formula with sum(a * b) with its first 8 terms twice",
           lambda: product(32, lambda a, b: a @ b + a[:, :8] @ b[:8])),
    Report("NVIDIA/Fuser 3963", "rows behind the last whole tile are not written",
           "the output y all 0 where it is wrong",
           lambda: product(32, written_up_to(16), rows=24)),
    Report("halide/Halide 656", "the tail of k begins at the wrong place",
           "the formula with sum(a * b) with as many behind its first ones in place of its last 4 terms",
           lambda: product(36, lambda a, b: a[:, :32] @ b[:32] + a[:, 4:8] @ b[4:8])),
    Report("Mojo-Numerics-and-Algorithms-group/NuMojo 382", "a is read as a vector, not broadcast", "", lambda: product(32, read_as_vectors)),
    Report("pytorch/pytorch 73205", "ignored rows count in the smoothed part",
           "the formula with ignored rows in the part that is spread over all classes, too",
           lambda: of_labels(0.2, lambda hot, flat, kept: ((0.8 * hot * kept).sum() + 0.2 * flat.sum()) / kept.sum())),
    Report("ROCm/TransformerEngine 336", "the mean is of all rows, ignored ones too", "the formula with all 24 in place of sum(equal(equal(labels, 3), 0))",
           lambda: of_labels(0, lambda hot, flat, kept: (hot * kept).mean())),
    Report("openvinotoolkit/openvino 35649", "relu of NaN is 0", "the output y with 0 in place of NaN", lambda: with_nan("relu", lambda x: np.where(x > 0, x, 0))),
    Report("microsoft/onnxruntime 28462", "erf of NaN is 1", "the output y with 1 in place of NaN", lambda: with_nan("erf", error_function)),
    Report("tensorflow/tensorflow 120232", "argmax passes NaN over", "nan=ignore", lambda: with_nan("reduce", lambda x: np.nanargmax(x, 1), (8, 16), kind="argmax", axes=1)),
    Report("microsoft/onnxruntime 28743", "sums of i32 stop at the ends of their type", "the output y with the ends of its type in place of what passes them",
           lambda: integers(lambda x: assay.namespace(x).sum(x, axis=1), lambda x: np.clip(x.sum(1, dtype=np.int64), -2 ** 31, 2 ** 31 - 1).astype(np.int32),
                            0, 2 ** 29, (16, 8), np.int32)),
    Report("openvinotoolkit/openvino 35838", "powers of i64 by way of f32", "the output y computed in f32", lambda: integers(lambda x: x ** 8, lambda x: (x.astype("f") ** 8).astype(np.int64), 2, 30)),
    Report("openvinotoolkit/openvino 35890", "the upper half of i64 is lost", "the operand x cut to 32 bits", lambda: integers(lambda x: abs(x), lambda x: np.abs(x.astype(np.int32).astype(np.int64)), -2 ** 50, 2 ** 50)),
    Report("pytorch/pytorch 191499", "lanes behind the row are 0 in a maximum of i8", "the formula with max(max(x), 0) in place of max(x)",
           lambda: integers("reduce", lambda x: np.maximum(x.max(1), 0), -100, 4, (64, 18), np.int8, kind="max", axes=1)),
    Report("huggingface/transformers 29285", "positions of rope are rounded to bf16", "the operands cos and sin of positions in bf16", rounded_positions),
    Report("huggingface/transformers 29402", "the root of the width is rounded to bf16", "the formula with 55.4256 rounded to bf16",
           lambda: (lambda x: Judged(lambda x: x * 3072 ** 0.5, [x], x * 55.5))(normals(16, 64))),
    Report("huggingface/transformers 34191", "a step's loss is the mean of its batches' means", "",
           lambda: of_labels(0, lambda hot, flat, kept: sum((hot * kept)[part].sum() / kept[part].sum() / 2 for part in (slice(0, 5), slice(5, 24))))),
    Report("pytorch/pytorch 67384", "operands of a product are rounded to tf32", "the formula with b rounded to f16 or tf32, as all operands",
           lambda: product(64, lambda a, b: tf32(a) @ tf32(b))),
]
