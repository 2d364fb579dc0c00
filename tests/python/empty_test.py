# SPDX-License-Identifier: Apache-2.0
"""Extents of 0, in every operator, beside NumPy's answer: empty_test.py [CLASS]."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import assay

NOTHING = "the result has 0 elements, so that there was nothing to judge"


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return e / e.sum(axis, keepdims=True)


def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax(scores) @ v  # without keys: sums of no terms


def conv(x, w):
    y = np.zeros((x.shape[0], w.shape[0], x.shape[2] - w.shape[2] + 1))
    for t in range(w.shape[2]):
        y += np.einsum("nci,oc->noi", x[:, :, t:t + y.shape[2]], w[:, :, t])
    return y


def norm(x, *axes):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def rms(x, gamma):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gamma


def layer_norm_backward(dy, x, mean, rstd, gamma):
    z, g = (x - mean[:, None]) * rstd[:, None], dy * gamma
    dx = rstd[:, None] * (g - g.mean(-1, keepdims=True) - z * (g * z).mean(-1, keepdims=True))
    return {"dx": dx, "dgamma": (dy * z).sum(0), "dbeta": dy.sum(0)}


def rope(x, cos, sin):
    first, second = np.split(x, 2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


def scatter_add(x, indices, updates):
    y = x.copy()
    np.add.at(y, indices, updates)
    return y


def selective_scan(u, delta, a_log, b_t, c_t, d_skip):
    h, y = np.zeros((u.shape[0], *a_log.shape)), d_skip[:, None] * u
    for t in range(u.shape[2]):
        h = np.exp(delta[:, :, None, t] * -np.exp(a_log)) * h + (delta * u)[:, :, None, t] * b_t[:, None, :, t]
        y[:, :, t] += (h * c_t[:, None, :, t]).sum(-1)
    return y


def top_k(x, k):
    places = np.argsort(-x, -1, kind="stable")[:, :k]
    return {"values": np.take_along_axis(x, places, -1), "indices": places}


def quantised(x, scale):
    return np.clip(np.rint(x / scale), -128, 127).astype(np.int8)


def pooled(x, reduce):
    """Windows of 2 by 2 at a stride of 2."""
    n, c, h, w = x.shape
    return reduce(x.reshape(n, c, h // 2, 2, w // 2, 2), (3, 5))


def batch_norm_training(x, gamma, beta, mean, variance):
    of_x = x.mean((0, 2)), x.var((0, 2), ddof=1)
    y = norm(x, 0, 2) * gamma[:, None] + beta[:, None]
    return {"y": y, "new_mean": 0.9 * mean + 0.1 * of_x[0], "new_var": 0.9 * variance + 0.1 * of_x[1]}


def cross_entropy(logits, labels):
    return -np.log(softmax(logits))[np.arange(len(labels)), labels].mean()


def cross_entropy_backward(logits, labels, dy):
    return (softmax(logits) - np.eye(logits.shape[1])[labels]) * dy / max(len(labels), 1)


def weighted(q, k, v, bias=0.0, sinks=None):
    """o and the logarithms of sums, of scores with a bias; sinks are scores of heads without a value."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + bias
    e = np.exp(scores)
    total = e.sum(-1) + (0 if sinks is None else np.exp(sinks)[:, None])
    return {"o": e @ v / total[..., None], "lse": np.log(total)}


def alibi(q, k, v, slopes):
    l, s = q.shape[2], k.shape[2]
    distance = abs(np.arange(l)[:, None] + s - l - np.arange(s))
    return weighted(q, k, v, -slopes[:, None, None] * distance)["o"]


def ragged(q, k, v, q_ends, k_ends):
    """One sequence of heads that share one key head."""
    return np.einsum("ths,shd->thd", softmax(np.einsum("thd,sjd->ths", q, k) / np.sqrt(q.shape[-1])), np.repeat(v, q.shape[1], 1))


def paged_decode(q, keys, values, table, lengths):
    """The data are the same everywhere."""
    return np.full(q.shape, 0.75)


def w4a16(x, packed, scale, zero):
    codes = np.stack([packed % 16, packed // 16], 1).reshape(2 * len(packed), packed.shape[1]).astype(np.float64)
    per = codes.shape[0] // max(len(scale), 1)
    return x @ ((codes - zero.repeat(per, 0)) * scale.repeat(per, 0))


def conv_way_back(dy, w):
    """The transposed convolution of one tap."""
    return np.einsum("nohw,oc->nchw", dy, w[:, :, 0, 0])


def causal_conv1d(x, w, bias, state):
    z = np.concatenate([state, x], -1)
    k, l = w.shape[1], x.shape[2]
    return {"y": sum(w[:, j, None] * z[..., j:j + l] for j in range(k)) + bias[:, None], "new_state": z[..., l:]}


def linear_attention(q, k, v, gate):
    s, y = np.zeros((*q.shape[:2], q.shape[3], v.shape[3])), np.zeros((*q.shape[:3], v.shape[3]))
    for t in range(q.shape[2]):
        s = gate[..., t, None, None] * s + k[..., t, :, None] * v[..., t, None, :]
        y[..., t, :] = np.einsum("bhd,bhdv->bhv", q[..., t, :], s)
    return y


def kv_cache_write(cache, x, slots):
    y = cache.copy()
    y[slots] = x
    return y


def rms_norm_backward(dy, x, rstd, gamma):
    z, g = x * rstd[:, None], dy * gamma
    return {"dx": rstd[:, None] * (g - z * (g * z).mean(-1, keepdims=True)), "dgamma": (dy * z).sum(0)}


def moe_fused(x, w1, w3, w2, experts_of, weights):
    """With the first expert of all."""
    gate = x @ w1[0]
    return weights.sum(1, keepdims=True) * (gate / (1 + np.exp(-gate)) * (x @ w3[0]) @ w2[0])


def gated(x): return x[:, :x.shape[1] // 2] * x[:, x.shape[1] // 2:]


# By operator: the function in NumPy, extents that it is tried with, and whatever is no extent.
FORMULAS = {
    "attention": (attention, dict(b=2, h=2, hkv=2, l=3, s=5, d=4, dv=4), {}),
    "cast": (lambda x: x.astype(np.float16), dict(n=4), {}),
    "conv": (conv, dict(n=2, c=3, o=4, i=6, k=3), {"layouts": {"x": "[n,c,i]", "w": "[o,c,k]"}}),
    "cumsum": (lambda x: x.cumsum(-1), dict(rows=3, n=4), {}),
    "dequantize": (lambda q, scale: q * scale, dict(rows=3, n=4), {"q": "int8"}),
    "fft": (np.fft.fft, dict(batch=2, n=4), {"x": "complex64", "layouts": {"x": "[batch,n]"}}),
    "fused_add_rms_norm": (lambda x, residual, gamma: {"y": rms(x + residual, gamma), "residual_out": x + residual}, dict(rows=3, n=4), {}),
    "gather": (lambda table, indices: table[indices], dict(v=3, n=4, d=5), {"indices": "int64"}),
    "group_norm": (lambda x, gamma, beta: norm(x, 2, 3) * gamma[..., None] + beta[..., None], dict(b=2, g=3, c=4, n=5), {}),
    "layer_norm": (lambda x, gamma, beta: {"y": norm(x, 1) * gamma + beta, "mean": x.mean(1), "rstd": 1 / np.sqrt(x.var(1) + 1e-5)},
                   dict(rows=3, n=4), {"attrs": {"stats": 1}}),
    "layer_norm_backward": (layer_norm_backward, dict(rows=3, n=4), {}),
    "matmul": (lambda a, b: a @ b, dict(batch=2, m=3, n=4, k=5), {}),
    "quantize": (quantised, dict(rows=3, n=4), {}),
    "reduce": (lambda x: x.sum(1), dict(rows=3, n=4), {"layouts": {"x": "[rows,n]"}, "attrs": {"axes": "1"}}),
    "rms_norm": (rms, dict(rows=3, n=4), {}),
    "rope": (rope, dict(b=2, l=3, h=2, d=4), {"layouts": {"x": "[b,l,h,d]", "cos": "[l,d/2]", "sin": "[l,d/2]"}}),
    "scatter_add": (scatter_add, dict(rows=3, n=4, d=5), {"indices": "int64"}),
    "selective_scan": (selective_scan, dict(b=2, c=3, s=4, l=5), {}),
    "silu_and_mul": (lambda x: x[:, :x.shape[1] // 2] * x[:, x.shape[1] // 2:], dict(rows=3, n=4), {}),
    "softmax": (softmax, dict(rows=3, n=4), {"layouts": {"x": "[rows,n]"}}),
    "softmax_backward": (lambda y, dy: y * (dy - (y * dy).sum(-1, keepdims=True)), dict(rows=3, n=4), {}),
    "sort": (lambda x: {"values": np.sort(x, -1), "indices": np.argsort(x, -1, kind="stable")}, dict(rows=3, n=4), {}),
    "top_k": (top_k, dict(rows=3, k=2, n=4), {}),
    "cast": (lambda x: x.astype(np.float32), dict(n=4), {"x": "int32"}),
    "where": (np.where, dict(n=4), {"c": "bool"}),
    "masked_fill": (lambda x, mask: np.where(mask, 0.0, x), dict(n=4), {"mask": "bool"}),
    "batch_norm": (lambda x, gamma, beta, mean, variance: (x - mean[:, None]) / np.sqrt(variance[:, None] + 1e-5) * gamma[:, None] + beta[:, None],
                   dict(n=2, c=3, s=4), {}),
    "batch_norm_training": (batch_norm_training, dict(n=2, c=3, s=4), {}),
    "instance_norm": (lambda x, gamma, beta: norm(x, 2) * gamma[:, None] + beta[:, None], dict(n=2, c=3, s=4), {}),
    "log_softmax_backward": (lambda y, dy: dy - np.exp(y) * dy.sum(-1, keepdims=True), dict(rows=3, n=4), {}),
    "cross_entropy": (cross_entropy, dict(rows=3, n=4), {"labels": "int64"}),
    "cross_entropy_backward": (cross_entropy_backward, dict(rows=3, n=4), {"labels": "int64"}),
    "kl_div": (lambda x, target: (np.exp(target) * (target - x)).mean(), dict(rows=3, n=4), {}),
    "mse": (lambda x, target: ((x - target) ** 2).mean(), dict(rows=3, n=4), {}),
    "adaptive_avg_pool": (lambda x: pooled(x, np.mean), dict(n=2, c=3, h=4, w=6), {"attrs": {"oh": 2, "ow": 3}}),
    "avg_pool": (lambda x: pooled(x, np.mean), dict(n=2, c=3, h=4, w=6), {"attrs": {"k": 2}}),
    "max_pool": (lambda x: {"y": pooled(x, np.max), "indices": np.zeros((*x.shape[:2], x.shape[2] // 2, x.shape[3] // 2), np.int64)},
                 dict(n=2, c=3), {"attrs": {"k": 2}, "layouts": {"x": "[n,c,2,2]"}}),
    "concat": (lambda x, y: np.concatenate([x, y], 1), dict(rows=3, n=4, m=5), {}),
    "flip": (lambda x: x[:, ::-1], dict(rows=3, n=4), {}),
    "roll": (lambda x: np.roll(x, 1, 1), dict(rows=3, n=4), {}),
    "pad": (lambda x: np.pad(x, ((0, 1), (1, 1))), dict(rows=3, n=4), {}),
    "transpose": (lambda x: x.swapaxes(1, 2), dict(a=2, b=3, c=4), {}),
    "trilu": (np.tril, dict(b=2, rows=3, n=4), {}),
    "one_hot": (lambda indices: np.eye(3, dtype=np.float32)[indices], dict(n=4), {"attrs": {"classes": 3}}),
    "take_along_axis": (lambda x, indices: np.take_along_axis(x, indices, -1), dict(rows=3, n=4, k=5), {}),
    "clamped_swiglu": (lambda x: x[:, ::2] / (1 + np.exp(-1.702 * x[:, ::2])) * (x[:, 1::2] + 1), dict(rows=3, n=4), {}),
    "gelu_and_mul": (gated, dict(rows=3, n=4), {}),
    "grouped_gemm": (lambda x, w, ends: x @ w.sum(0), dict(rows=3, k=4, groups=1, n=5), {"ends": "int64"}),
    "moe_permute": (lambda x, experts: {"y": x.repeat(experts.shape[1], 0), "source": np.arange(experts.size)}, dict(t=3, k=1, d=4),
                    {"experts_of": "int64", "attrs": {"experts": 2}}),
    "moe_route": (lambda x: {"weights": softmax(x)[:, :2], "experts_of": np.argsort(-x, -1, kind="stable")[:, :2]}, dict(t=3, experts=4), {"attrs": {"k": 2}}),
    "moe_unpermute": (lambda x, places, weights: (x[places] * weights[..., None]).sum(1), dict(rows=3, t=3, k=2, d=4), {"places": "int64"}),
    "attention_lse": (weighted, dict(b=2, h=2, hkv=1, l=3, s=5, d=4, dv=4), {}),
    "sink_attention": (lambda q, k, v, sinks: weighted(q, k, v, sinks=sinks)["o"], dict(b=2, h=2, hkv=1, l=3, s=5, d=4, dv=4), {}),
    "alibi_attention": (alibi, dict(b=2, h=2, hkv=1, l=3, s=5, d=4, dv=4), {}),
    "paged_decode": (paged_decode, dict(b=2, h=2, hkv=1, d=4, pages=3, page=2, blocks=2), {"table": "int32", "lengths": "int32"}),
    "ragged_attention": (ragged, dict(t=3, s=5, h=2, hkv=1, d=4, sequences=1), {"q_ends": "int32", "k_ends": "int32"}),
    "lse_merge": (lambda o, lse: {"o": (softmax(lse, 0)[..., None] * o).sum(0), "lse": np.log(np.exp(lse).sum(0))}, dict(parts=2, rows=3, n=4), {}),
    "scaled_mm": (lambda a, b, scale_a, scale_b: a.astype(float) @ b.astype(float) * scale_a * scale_b, dict(m=3, k=4, n=5), {"a": "int8", "b": "int8"}),
    "w4a16_mm": (w4a16, dict(rows=3, k=4, groups=2, n=5), {"packed": "uint8", "zero": "uint8"}),
    "requantize": (lambda q, scale: np.clip(np.rint(q * scale), -128, 127).astype(np.int8), dict(rows=3, n=4), {"q": "int32"}),
    "conv_transpose": (lambda x, w: np.einsum("nchw,co->nohw", x, w[:, :, 0, 0]), dict(n=2, c=3, o=4, h=5, w=6, k=1), {}),
    "conv_backward_data": (conv_way_back, dict(n=2, c=3, o=4), {"layouts": {"dy": "[n,o,5,6]", "weights": "[o,c,1,1]"}, "attrs": {"h": 5, "w": 6}}),
    "conv_backward_weights": (lambda dy, x: np.einsum("nohw,nchw->oc", dy, x)[..., None, None], dict(n=2, c=3, o=4),
                              {"layouts": {"dy": "[n,o,5,6]", "x": "[n,c,5,6]"}, "attrs": {"k": 1}}),
    "lp_pool": (lambda x: pooled(x * x, np.sum) ** 0.5, dict(n=2, c=3, h=4, w=6), {"attrs": {"k": 2}}),
    "causal_conv1d": (causal_conv1d, dict(b=2, c=3, l=5), {"layouts": {"x": "[b,c,l]", "w": "[c,3]", "bias": "[c]", "state": "[b,c,2]"}}),
    "linear_attention": (linear_attention, dict(b=2, h=2, l=3, d=4, dv=5), {}),
    "kv_cache_write": (kv_cache_write, dict(size=3, n=2, h=2, d=4), {"slots": "int64"}),
    "rms_norm_backward": (rms_norm_backward, dict(rows=3, n=4), {}),
    "rope_backward": (lambda dy, cos, sin: rope(dy, cos, -sin), dict(b=2, l=3, h=2, d=4),
                      {"layouts": {"dy": "[b,l,h,d]", "cos": "[l,d/2]", "sin": "[l,d/2]"}}),
    "embedding_backward": (lambda dy, indices: scatter_add(np.zeros((3, dy.shape[1])), indices, dy), dict(n=4, d=5), {"indices": "int64", "attrs": {"v": 3}}),
    "moe_fused": (moe_fused, dict(t=3, k=2, experts=2, d=4, h=5), {"experts_of": "int64"}),
    "embedding": (lambda table, tokens: table[tokens], dict(v=3, b=2, l=4, d=5), {"tokens": "int64"}),
    "index_select": (lambda x, indices: x[indices], dict(rows=3, n=4, k=5), {"indices": "int64"}),
    **{op: (getattr(np, op), dict(n=4), {}) for op in (
        "equal greater greater_equal isfinite isinf isnan less less_equal logical_and logical_not logical_or logical_xor not_equal").split()},
}
# Cases that have no answer, by operator and extent, and why.
REFUSED = {
    ("attention", "d"): "d=0 must be at least 1: scores of no terms",
    ("attention", "hkv"): "hkv=0 must be at least 1 for h=2",
    ("conv", "i"): "i=0 of axis 0 must be at least 1: along nothing",
    ("conv", "k"): "k=0 of axis 0 must be at least 1: along nothing",
    ("fft", "n"): "n=0: every length must be at least 1",
    ("gather", "v"): r"\[v\] has no elements, so that there are no places along it",
    ("scatter_add", "rows"): r"\[rows\] has no elements, so that there are no places along it",
    ("top_k", "n"): "k must not be more than n",
    ("batch_norm_training", "n"): "n s must be at least 2: one element has no variance",
    ("batch_norm_training", "s"): "n s must be at least 2: one element has no variance",
    ("take_along_axis", "n"): r"\[n\] has no elements, so that there are no places along it",
    ("w4a16_mm", "k"): "k=0 must be at least",
    ("kv_cache_write", "size"): r"\[size\] has no elements, so that there are no places along it",
    ("embedding", "v"): r"\[v\] has no elements, so that there are no places along it",
    ("index_select", "rows"): r"\[rows\] has no elements, so that there are no places along it",
    ("moe_unpermute", "rows"): r"\[rows\] has no elements, so that there are no places along it",
    **{tuple(one.split(":")): f"{one.split(':')[1]}=0 must be at least" for one in (  # means and places of nothing
        "cross_entropy:rows cross_entropy:n cross_entropy_backward:rows cross_entropy_backward:n kl_div:rows kl_div:n mse:rows mse:n "
        "adaptive_avg_pool:h adaptive_avg_pool:w avg_pool:h avg_pool:w pad:rows pad:n grouped_gemm:groups moe_permute:k "
        "moe_route:experts lse_merge:parts w4a16_mm:groups scaled_mm:k conv_transpose:c conv_transpose:h conv_transpose:w conv_transpose:k "
        "lp_pool:h lp_pool:w causal_conv1d:l linear_attention:d kv_cache_write:n "
        "moe_fused:k moe_fused:experts moe_fused:d moe_fused:h paged_decode:hkv paged_decode:d "
        "paged_decode:pages paged_decode:page paged_decode:blocks ragged_attention:s ragged_attention:hkv ragged_attention:d "
        "ragged_attention:sequences attention_lse:hkv attention_lse:s attention_lse:d sink_attention:hkv sink_attention:s sink_attention:d "
        "alibi_attention:hkv alibi_attention:s alibi_attention:d ").split()},
}
OPERATORS = dict(assay.operators())
FORMULAS.update((op, (lambda x, *others: x, dict(n=4), {})) for op, parts in OPERATORS.items()  # functions of each element
                if op not in FORMULAS and set(parts["layouts"].values()) == {"[n]"})
REPLACED = {("attention", "h"): {"hkv": 0}}  # extents that have to be 0 beside


ENDS = {"ends": "rows", "q_ends": "t", "k_ends": "s", "lengths": "page"}  # the extent at which parts end


def made(op, extents):
    """Inputs of these extents."""
    _, _, other = FORMULAS[op]
    layouts = other.get("layouts") or assay.operators()[op]["layouts"]
    inputs = {}
    for name in assay.operators()[op]["inputs"]:
        shape = [eval(part, {}, dict(extents)) for part in layouts[name].strip("[]").replace("/", "//").split(",") if part]  # "2*n"
        if name in ENDS:
            inputs[name] = np.full(shape, extents[ENDS[name]], other.get(name, "int64"))
            continue
        inputs[name] = np.full(shape, 0.75).astype(other.get(name, "float32")) if name != "indices" else np.zeros(shape, np.int64)
    return inputs


def wide(array):
    return array.astype(np.float64) if array.dtype == np.float32 else array


class Empty(unittest.TestCase):
    def test_every_operator_is_there(self):
        self.assertEqual(set(FORMULAS), set(OPERATORS))

    def answer(self, op, extents):
        function, _, other = FORMULAS[op]
        inputs = made(op, extents)
        more = {"k": extents["k"]} if op == "top_k" else {}
        with np.errstate(all="ignore"), np.testing.suppress_warnings() as quiet:
            quiet.filter(RuntimeWarning)
            results = function(*(wide(x) for x in inputs.values()), **more)
        results = results if isinstance(results, dict) else {assay.operators()[op]["outputs"][0]: results}
        return inputs, {name: y.astype(np.float32) if y.dtype == np.float64 else y.astype(np.complex64) if y.dtype.kind == "c" else y
                        for name, y in results.items()}, {**other.get("attrs", {}), **more}

    def test_numpys_answer_passes_and_another_does_not(self):
        for op, (_, extents, _) in FORMULAS.items():
            for key in extents:
                with self.subTest(op=op, key=key):
                    self.judge(op, key, {**extents, key: 0, **REPLACED.get((op, key), {})})

    def test_rows_of_functions_of_two_numbers(self):
        for per, y in (("row", ones(0)), ("column", ones(4)), ("tensor", ones())):
            verdict = assay.check("add", [ones(0, 4), y], ones(0, 4), per=per)
            self.assertEqual((verdict.verdict, verdict.reason), ("pass", NOTHING), per)

    def judge(self, op, key, extents):
        if (op, key) in REFUSED:
            inputs, attrs = made(op, extents), FORMULAS[op][2].get("attrs", {})
            layouts = {name: np.zeros((0,), np.float32) for name in assay.operators()[op]["outputs"]}
            with self.assertRaisesRegex(assay.UsageError, REFUSED[op, key]):
                assay.check(op, inputs, layouts, **({"k": 2} if op == "top_k" else {}), **attrs)
            return
        inputs, outputs, attrs = self.answer(op, extents)
        self.assertTrue(any(x.size == 0 for x in [*inputs.values(), *outputs.values()]))
        verdict = assay.assert_close(op, inputs, outputs, **attrs)
        verdict = assay.check(op, inputs, outputs, **attrs)
        has_elements = any(y.size for y in outputs.values())
        self.assertRegex(verdict.reason, "^$" if has_elements else f"^(output \\w+: )?{NOTHING}$")
        for name, y in outputs.items():
            if y.size == 0:
                continue
            wrong = {**outputs, name: np.where(np.isnan(y), 0, y + 1).astype(y.dtype)}
            self.assertEqual(assay.check(op, inputs, wrong, **attrs).verdict, "mismatch", name)
            unwritten = {**outputs, name: np.full_like(y, 77)}
            self.assertEqual(assay.check(op, inputs, unwritten, **attrs).verdict, "mismatch", name)


def total(x):
    return assay.namespace(x).sum(x)


def mean(x):
    return assay.namespace(x).mean(x, axis=-1)


def variance(x):
    xp = assay.namespace(x)
    return xp.mean((x - xp.mean(x, axis=-1, keepdims=True)) ** 2, axis=-1)


def product(x):
    return assay.namespace(x).prod(x, axis=-1)


def largest(x):
    return assay.namespace(x).max(x, axis=-1)


def whether_any(x):
    return assay.namespace(x).any(x > 0, axis=-1)


def whether_all(x):
    return assay.namespace(x).all(x > 0, axis=-1)


def first(x):
    return x[:, 0]


def affine(a, b, c):
    return a @ b * 2 + c


def of_a_slice(x):
    return assay.namespace(x).sum(x[:, 2:2], axis=-1)


def in_reverse(x):
    return x[:, ::-1]


def in_fours(x):
    return assay.namespace(x).reshape(x, (-1, 4))


def rolled(x):
    return assay.namespace(x).roll(x, 1, axis=-1)


def joined(x, y):
    return assay.namespace(x).concat([x, y], axis=-1)


def ones(*shape):
    return np.ones(shape, np.float32)


class EmptyTraced(unittest.TestCase):
    """Traced functions beside the same functions of NumPy's arrays."""

    def judge(self, function, *inputs):
        with np.errstate(all="ignore"), np.testing.suppress_warnings() as quiet:
            quiet.filter(RuntimeWarning)
            y = np.asarray(function(*inputs), np.float32)
        verdict = assay.check(function, list(inputs), y)
        self.assertEqual((verdict.verdict, verdict.reason), ("pass", "" if y.size else NOTHING), function.__name__)
        if y.size:
            wrong = np.where(np.isnan(y), 0, y + 1).astype(np.float32)
            self.assertEqual(assay.check(function, list(inputs), wrong).verdict, "mismatch", function.__name__)

    def test_they_are_numpys(self):
        for function in (total, mean, variance, product, in_reverse, in_fours, rolled):
            for shape in ((3, 0), (0, 4)):
                self.judge(function, ones(*shape))
        self.judge(largest, ones(0, 4))
        for function in (whether_any, whether_all):
            y = function(ones(3, 0))
            self.assertEqual(assay.check(function, [ones(3, 0)], y).verdict, "pass")
            self.assertEqual(assay.check(function, [ones(3, 0)], ~y).verdict, "mismatch")
        self.judge(first, ones(0, 4))
        self.judge(of_a_slice, ones(3, 4))
        self.judge(affine, ones(3, 0), ones(0, 4), ones(4))
        self.judge(affine, ones(0, 3), ones(3, 4), ones(4))
        self.judge(joined, ones(3, 4), ones(3, 0))
        self.judge(joined, ones(3, 0), ones(3, 0))

    def test_softmax_and_logsumexp_of_nothing_are_those_of_the_operators(self):
        for name in ("softmax", "log_softmax"):
            verdict = assay.check(lambda x, name=name: getattr(assay.namespace(x), name)(x, axis=-1), [ones(3, 0)], ones(3, 0))
            self.assertEqual((verdict.verdict, verdict.reason), ("pass", NOTHING), name)
        for keepdims, shape in ((False, (3,)), (True, (3, 1))):
            def function(x, keepdims=keepdims):
                return assay.namespace(x).logsumexp(x, axis=-1, keepdims=keepdims)
            self.assertTrue(assay.check(function, [ones(3, 0)], np.full(shape, -np.inf, np.float32)).passed)
            self.assertEqual(assay.check(function, [ones(3, 0)], ones(*shape)).verdict, "mismatch")
            self.assertTrue(assay.check(function, [ones(3, 4)], ones(*shape) + np.log(np.float32(4))).passed)

    def test_other_extents_may_be_large(self):
        x = np.empty((0, 2**30, 2**30), np.float32)
        for verdict in (assay.check(lambda x: -x, [x], x), assay.check("softmax", [x], x, axis=0)):
            self.assertEqual((verdict.verdict, verdict.reason), ("pass", NOTHING))

    def test_what_numpy_refuses_is_refused(self):
        with self.assertRaisesRegex(assay.UsageError, "has no elements, so that there is no Max along it"):
            assay.check(largest, [ones(3, 0)], ones(3))
        with self.assertRaisesRegex(assay.UsageError, "index 0 of an axis of 0 elements"):
            assay.check(first, [ones(3, 0)], ones(3))

    def test_an_index_into_a_stated_axis_needs_an_element(self):
        @assay.operator("first_of_rows")
        def first_of_rows(x: "rows n"):  # noqa: F722
            return x[:, 0]
        with self.assertRaisesRegex(assay.UsageError, "n=0 must be at least 1"):
            assay.check(first_of_rows, [ones(3, 0)], ones(3))
        self.assertTrue(assay.check(first_of_rows, [ones(0, 3)], ones(0)))


SUITE = """
matmul dtypes=f32|f16 m=0|3 n=5 k=0|4 bias=0|1 fill=normal
matmul dtypes=i8-i8-i32 m=3 n=5 k=0 batch=0|2 fill=normal
reduce dtypes=f32 shape=3x0|0x3 axes=1 kind=sum|prod|mean|logsumexp fill=special
softmax dtypes=f32 shape=0x3|3x0 log=0|1 fill=normal
attention dtypes=f32 b=0|1 h=2 l=0|3 s=0|5 d=4 mask=none|add fill=special
conv dtypes=f32 n=0|1 c=0|3 o=0|4 i=6x6 k=3 bias=1 fill=normal
fft dtypes=c64 kind=c2c n=8 batch=0 fill=normal
layer_norm dtypes=f32 rows=0|3 n=0|4 stats=0|1 fill=normal
layer_norm_backward dtypes=f32 rows=0|3 n=0|4 fill=normal
selective_scan dtypes=f32 b=2 c=3 s=0|2 l=0|4 fill=normal
top_k dtypes=f32 rows=0|3 n=4 k=0|2 fill=normal
scatter_add dtypes=f32-i64-f32-f32 rows=3 n=0|4 d=0|5 fill=normal
tanh dtypes=f32 n=0 fill=special|edges|coded
"""
KERNELS = """
import numpy as np
import assay

@assay.kernel("reduce", contract="acc=f64;math=4", name="numpy")
def fold(x, *, axes, kind, keepdims, tie, nan):
    return {"sum": np.sum, "prod": np.prod}[kind](x, axis=tuple(axes), dtype=np.float64).astype(x.dtype)

@assay.kernel("reduce", contract="acc=f64;math=4", name="one")
def one(x, *, axes, kind, keepdims, tie, nan):
    return np.ones(len(x), x.dtype)
"""


class EmptyRuns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def assay(self, *words):
        return subprocess.run([os.environ["ASSAY_PROGRAM"], *words], cwd=self.dir, capture_output=True, text=True, timeout=280,
                              env={**os.environ, "ASSAY_GOLDEN_STORE": str(self.dir / "store")})

    def records(self, *words):
        out = self.dir / f"out{len(list(self.dir.iterdir()))}"
        done = self.assay("run", "--out", str(out), "--progress", "none", *words)
        lines = (out / "results.jsonl").read_text().splitlines() if out.exists() else []
        return done, [json.loads(line) for line in lines]

    def test_files_without_elements_are_checked(self):
        arrays = {"a": ones(3, 0), "b": ones(0, 4), "y": 0 * ones(3, 4)}
        for name, array in arrays.items():
            np.save(self.dir / f"{name}.npy", array)
        header = json.dumps({"a": {"dtype": "F32", "shape": [3, 0], "data_offsets": [0, 0]}}).encode()
        (self.dir / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
        for a in ("a.npy", "a.safetensors", "a.safetensors:a"):
            done = self.assay("check", "--op", "matmul", "--input", f"a={a}", "--input", "b=b.npy", "--output", "y=y.npy")
            self.assertEqual(done.returncode, 0, a + done.stdout + done.stderr)
            self.assertRegex(done.stdout, "^pass [(]bit_exact[)]")
        np.save(self.dir / "y.npy", ones(3, 4))
        done = self.assay("check", "--op", "matmul", "--input", "a=a.npy", "--input", "b=b.npy", "--output", "y=y.npy")
        self.assertEqual(done.returncode, 1, done.stdout)
        for name, shape in (("a", (0, 3)), ("b", (3, 4)), ("y", (0, 4))):
            np.save(self.dir / f"{name}.npy", ones(*shape))
        done = self.assay("check", "--op", "matmul", "--input", "a=a.npy", "--input", "b=b.npy", "--output", "y=y.npy")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"reason: {NOTHING}", done.stdout)

    def test_backends_get_them_or_answer_unsupported(self):
        (self.dir / "empty.suite").write_text(SUITE)
        self.records("--suite", "empty.suite", "--backend", "cpu,onednn", "--no-perf")
        done, records = self.records("--suite", "empty.suite", "--backend", "cpu,onednn")  # whose golden values are stored
        self.assertEqual({r["verdict"] for r in records}, {"pass", "unsupported", "inconclusive"}, done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        for record in records:
            has_none = record["verdict"] == "inconclusive"
            self.assertEqual(has_none, record["reason"].endswith(NOTHING), record)
            self.assertEqual(has_none, record["elements"] == 0 and record["verdict"] != "unsupported", record)
        self.assertEqual({r["backend"] for r in records}, {"cpu", "onednn"})

    def test_a_kernel_without_terms_is_judged(self):
        (self.dir / "kernels.py").write_text(KERNELS)
        cases = [word for kind in ("sum", "prod") for word in ("--case", f"reduce/f32/shape=3x0,axes=1,kind={kind}/fill=normal/seed=0")]
        done, records = self.records("--kernels", "kernels.py", "--python", sys.executable, "--backend", "kernels", *cases)
        self.assertEqual(done.returncode, 1, done.stderr)
        verdicts = {(r["implementation"], r["attrs"]["kind"] if "attrs" in r else r["shape"]): r["verdict"] for r in records}
        self.assertEqual(sorted(verdicts.values()), ["mismatch", "pass", "pass", "pass"], verdicts)


if __name__ == "__main__":
    unittest.main(verbosity=2)
