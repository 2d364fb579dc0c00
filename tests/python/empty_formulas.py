# SPDX-License-Identifier: Apache-2.0
"""Operators in NumPy, with extents that empty_test.py replaces by 0 one after the other."""
import numpy as np


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


def attention_backward(q, k, v, dout):
    """Query heads share one key head."""
    scale = 1 / np.sqrt(q.shape[-1])
    p, e = softmax(q @ k.swapaxes(-1, -2) * scale), dout @ v.swapaxes(-1, -2)
    g = p * (e - (p * e).sum(-1, keepdims=True)) * scale
    return {"dq": g @ k, "dk": (g.swapaxes(-1, -2) @ q).sum(1, keepdims=True), "dv": (p.swapaxes(-1, -2) @ dout).sum(1, keepdims=True)}


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


def gated_delta_step(q, k, v, gate, beta, state):
    kept = gate[..., None, None] * state
    new = kept + (beta[..., None] * (v - np.einsum("bhvd,bhd->bhv", kept, k)))[..., None] * k[..., None, :]
    return {"o": np.einsum("bhvd,bhd->bhv", new, q), "new_state": new}


def gated_delta_rule(q, k, v, gate, beta, state):
    q, k = (x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6) for x in (q, k))
    o = np.zeros((*q.shape[:3], v.shape[3]))
    for t in range(q.shape[2]):
        step = gated_delta_step(q[..., t, :], k[..., t, :], v[..., t, :], gate[..., t], beta[..., t], state)
        o[..., t, :], state = step["o"], step["new_state"]
    return {"o": o, "new_state": state}


def associative_scan(a, b):
    h = b.copy()
    for t in range(1, b.shape[1]):
        h[:, t] += a[:, t] * h[:, t - 1]
    return h


def top_p_mask(logits, top_p=0.9):
    order = np.argsort(-logits, -1, kind="stable")
    p = np.take_along_axis(softmax(logits), order, -1)
    mask = np.zeros(logits.shape, bool)
    np.put_along_axis(mask, order, p.cumsum(-1) - p < top_p, -1)
    return mask


def sparse_mm(values, places, b):
    a = np.zeros((len(values), len(b)))
    for i in range(values.shape[1]):
        a[np.arange(len(a)), i // 2 * 4 + places[:, i]] += values[:, i]
    return a @ b


def kv_cache_write(cache, x, slots):
    y = cache.copy()
    y[slots] = x
    return y


def rms_norm_backward(dy, x, rstd, gamma):
    z, g = x * rstd[:, None], dy * gamma
    return {"dx": rstd[:, None] * (g - z * (g * z).mean(-1, keepdims=True)), "dgamma": (dy * z).sum(0)}


def silu_and_mul_backward(dy, x):
    g, u = np.split(x, 2, -1)
    s = 1 / (1 + np.exp(-g))
    return np.concatenate([dy * u * (s * (1 + g * (1 - s))), dy * g * s], -1)


def moe_fused(x, w1, w3, w2, experts_of, weights):
    """With the first expert of all."""
    gate = x @ w1[0]
    return weights.sum(1, keepdims=True) * (gate / (1 + np.exp(-gate)) * (x @ w3[0]) @ w2[0])


def gated(x): return x[:, :x.shape[1] // 2] * x[:, x.shape[1] // 2:]


# By operator: the function in NumPy, extents that it is tried with, and whatever is no extent.
FORMULAS = {
    "attention": (attention, dict(b=2, h=2, hkv=2, l=3, s=5, d=4, dv=4), {}),
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
    "cumprod": (lambda x: np.cumprod(x, -1), dict(rows=3, n=4), {}),
    "argsort": (lambda x: np.argsort(x, -1, kind="stable"), dict(rows=3, n=4), {}),
    "silu_and_mul_backward": (silu_and_mul_backward, dict(rows=3, n=4), {}),
    "sort": (lambda x: {"values": np.sort(x, -1), "indices": np.argsort(x, -1, kind="stable")}, dict(rows=3, n=4), {}),
    "top_k": (top_k, dict(rows=3, k=2, n=4), {}),
    "floor_divide": (np.floor_divide, dict(n=4), {"x": "int32", "y": "int32"}),
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
    "resize": (lambda x: x[..., ::2, ::2], dict(n=2, c=3, h=4, w=6), {"attrs": {"oh": 2, "ow": 3}}),
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
    "attention_backward": (attention_backward, dict(b=2, h=2, hkv=1, l=3, s=5, d=4, dv=4), {}),
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
    "fft_conv": (lambda x, kernel: x, dict(b=2, c=3, l=4), {}),  # without batches or channels
    "stft": (lambda x, window: np.zeros((len(x), x.shape[1] - len(window) + 1, len(window) // 2 + 1, 2)), dict(b=2, l=5, n=4), {}),
    "gated_delta_step": (gated_delta_step, dict(b=2, h=2, d=4, dv=5), {}),
    "gated_delta_rule": (gated_delta_rule, dict(b=2, h=2, l=3, d=4, dv=5), {}),
    "associative_scan": (associative_scan, dict(rows=2, n=4), {}),
    "top_p_mask": (top_p_mask, dict(rows=2, n=4), {}),
    "min_p_mask": (lambda logits: softmax(logits) >= 0.1 * softmax(logits).max(-1, keepdims=True, initial=0), dict(rows=2, n=4), {}),
    "llm_int8_mm": (lambda x, a, b, scale_a, scale_b, is_outlier: np.where(is_outlier, x, a * scale_a[:, None]) @ b * scale_b, dict(m=3, k=4, n=5),
                    {"a": "int8", "b": "int8", "is_outlier": "bool"}),
    "sparse_mm": (sparse_mm, dict(m=3, k=4, n=5), {"places": "uint8", "layouts": {"values": "[m,k/2]", "places": "[m,k/2]", "b": "[k,n]"}}),
    "philox_uniform": (lambda words: (words >> 8) / 2 ** 24, dict(n=4), {"words": "int64"}),
    "dropout": (lambda x: {"y": x / 0.9, "mask": np.ones(len(x), bool)}, dict(n=4), {}),
    "stochastic_round": (lambda x, random: x.astype(np.float16), dict(n=4), {"random": "int32"}),
    "grid_sample": (lambda x, grid: np.full((*x.shape[:2], *grid.shape[1:3]), 0.75), dict(n=2, c=3, h=8, w=8, oh=2, ow=3), {}),
    "mx_mm": (lambda a, b, scale_a, scale_b: np.zeros((len(a), b.shape[1])), dict(m=3, k=4, n=5),  # of codes of zero
              {**dict.fromkeys(("a", "b", "scale_a", "scale_b"), "uint8"), "attrs": {"codes": "e2m3"},
               "layouts": {"a": "[m,k]", "b": "[k,n]", "scale_a": "[m,1]", "scale_b": "[1,n]"}}),
    "philox": (lambda counters, key: counters, dict(n=4), {"counters": "int64", "key": "int64", "layouts": {"counters": "[n,4]", "key": "[2]"}}),
    "kv_cache_write": (kv_cache_write, dict(size=3, n=2, h=2, d=4), {"slots": "int64"}),
    "rms_norm_backward": (rms_norm_backward, dict(rows=3, n=4), {}),
    "rope_backward": (lambda dy, cos, sin: rope(dy, cos, -sin), dict(b=2, l=3, h=2, d=4),
                      {"layouts": {"dy": "[b,l,h,d]", "cos": "[l,d/2]", "sin": "[l,d/2]"}}),
    "embedding_backward": (lambda dy, indices: scatter_add(np.zeros((3, dy.shape[1])), indices, dy), dict(n=4, d=5), {"indices": "int64", "attrs": {"v": 3}}),
    "all_reduce": (lambda x: x.sum(0, keepdims=True).repeat(len(x), 0), dict(ranks=2, n=4), {}),
    "reduce_scatter": (lambda x: x.sum(0).reshape(2, -1), dict(ranks=2, n=4), {}),
    "all_gather": (lambda x: x.reshape(1, -1).repeat(len(x), 0), dict(ranks=2, n=4), {}),
    "moe_fused": (moe_fused, dict(t=3, k=2, experts=2, d=4, h=5), {"experts_of": "int64"}),
    "embedding": (lambda table, tokens: table[tokens], dict(v=3, b=2, l=4, d=5), {"tokens": "int64"}),
    "index_select": (lambda x, indices: x[indices], dict(rows=3, n=4, k=5), {"indices": "int64"}),
    **{op: (getattr(np, op), dict(n=4), {}) for op in (
        "equal greater greater_equal isfinite isinf isnan less less_equal logical_and logical_not logical_or logical_xor not_equal").split()},
}
