# SPDX-License-Identifier: Apache-2.0
"""ggml's operators in NumPy, in f64, as ggml's own sources state them: an evaluation that knows nothing of definitions. Operands are
those of a case by name; results are in the order of ggml's memory."""
import math
import re

import numpy as np

IQ4 = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])
FP4 = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12])


def variables(text):
    name, _, rest = text.strip().partition("(")
    found = dict(re.findall(r"(\w+)=(\[[^]]*\]|[^,)]*)", rest.rpartition(")")[0]))
    words = [word for word in re.split(r",(?![^[]*\])", rest.rpartition(")")[0]) if "=" not in word]
    return name, {key: [int(x) for x in value[1:-1].split(",")] if value[0] == "[" else value for key, value in found.items()} | dict.fromkeys(words, "1")


def dequantised(kind, fields):
    """Numbers of whole rows: the last axis has the blocks, one after the other."""
    scales = fields["d"].shape[:-1] if kind == "nvfp4" else fields["d"].shape
    lead, count = scales[:-1], math.prod(scales)
    f = {key: value.reshape(count, -1) for key, value in fields.items()}
    u = {key: value.astype(np.int64) for key, value in f.items() if key not in ("d", "m", "dmin")}
    d, qs = f["d"], u.get("qs")
    nibbles = lambda q: np.concatenate([q & 15, q >> 4], 1)
    if kind == "q4_0":
        y = d * (nibbles(qs) - 8)
    elif kind == "q4_1":
        y = d * nibbles(qs) + f["m"]
    elif kind in ("q5_0", "q5_1"):
        bits = np.unpackbits(u["qh"].astype(np.uint8), axis=1, bitorder="little").astype(np.int64)
        code = nibbles(qs) | bits << 4
        y = d * (code - 16) if kind == "q5_0" else d * code + f["m"]
    elif kind == "q8_0":
        y = d * qs
    elif kind == "q1_0":
        y = np.where(np.unpackbits(qs.astype(np.uint8), axis=1, bitorder="little") == 1, d, -d)
    elif kind == "q2_0":
        y = d * (np.stack([qs >> 2 * k & 3 for k in range(4)], 2).reshape(len(qs), -1) - 1)
    elif kind == "iq4_nl":
        y = d * IQ4[nibbles(qs)]
    elif kind == "nvfp4":
        groups = qs.reshape(-1, 4, 8)
        y = (d[..., None] * 0.5 * FP4[np.concatenate([groups & 15, groups >> 4], 2)]).reshape(len(qs), -1)
    elif kind in ("q4_K", "q5_K"):
        s, parts = u["scales"], []
        for j in range(8):
            if j < 4:
                scale, least = s[:, j] & 63, s[:, j + 4] & 63
            else:
                scale, least = s[:, j + 4] & 15 | s[:, j - 4] >> 6 << 4, s[:, j + 4] >> 4 | s[:, j] >> 6 << 4
            q = qs[:, 32 * (j // 2):32 * (j // 2) + 32] >> 4 * (j % 2) & 15
            if kind == "q5_K":
                q = q | (u["qh"] >> j & 1) << 4
            parts.append(d * scale[:, None] * q - f["dmin"] * least[:, None])
        y = np.concatenate(parts, 1)
    elif kind == "q6_K":
        parts = []
        for n in range(2):
            for quarter in range(4):
                low = u["ql"][:, 64 * n + 32 * (quarter % 2):][:, :32] >> 4 * (quarter // 2) & 15
                code = (low | (u["qh"][:, 32 * n:][:, :32] >> 2 * quarter & 3) << 4) - 32
                scale = np.repeat(u["scales"][:, 8 * n + 2 * quarter:][:, :2], 16, 1)
                parts.append(d * scale * code)
        y = np.concatenate(parts, 1)
    elif kind == "q2_K":
        parts = []
        for k in range(16):
            n, j, s = k // 8, k // 2 % 4, k % 2
            q = qs[:, 32 * n + 16 * s:][:, :16] >> 2 * j & 3
            scale = u["scales"][:, k:k + 1]
            parts.append(d * (scale & 15) * q - f["dmin"] * (scale >> 4))
        y = np.concatenate(parts, 1)
    elif kind == "q3_K":
        parts, s = [], u["scales"]
        for k in range(16):
            low = (s[:, k % 8] & 15) if k < 8 else (s[:, k % 8] >> 4)
            scale = (low | (s[:, 8 + k % 4] >> 2 * (k // 4) & 3) << 4) - 32
            n, j, half = k // 8, k // 2 % 4, k % 2
            q = qs[:, 32 * n + 16 * half:][:, :16] >> 2 * j & 3
            high = u["hmask"][:, 16 * half:][:, :16] >> 4 * n + j & 1
            parts.append(d * scale[:, None] * (q - np.where(high == 1, 0, 4)))
        y = np.concatenate(parts, 1)
    elif kind == "tq2_0":
        y = d * np.concatenate([(qs[:, 32 * j:][:, :32] >> 2 * k & 3) - 1 for j in range(2) for k in range(4)], 1)
    elif kind == "iq4_xs":
        high = u["scales_h"][:, 0] | u["scales_h"][:, 1] << 8
        parts = []
        for k in range(8):
            scale = (u["scales_l"][:, k // 2] >> 4 * (k % 2) & 15 | (high >> 2 * k & 3) << 4) - 32
            parts.append(d * scale[:, None] * IQ4[nibbles(qs[:, 16 * k:16 * k + 16])])
        y = np.concatenate(parts, 1)
    else:
        raise NotImplementedError(kind)
    return y.reshape(*lead, -1)


def operand(x, name, kind):
    """An operand as numbers, whatever its type."""
    if name in x:
        return x[name]
    fields = {key[len(name) + 1:]: value for key, value in x.items() if key.startswith(name + "_")}
    return dequantised(kind, fields)


def _batches(v):
    return v.get("bs", [1, 1]), v.get("nr", [1, 1])


def mul_mat(v, x):
    m, n, k = (int(v[key]) for key in "mnk")
    (b0, b1), (r0, r1) = _batches(v)
    a, b = operand(x, "a", v["type_a"]).reshape(b1, b0, m, k), x["x"].reshape(b1 * r1, b0 * r0, n, k)
    return np.einsum("zymk,zynk->zynm", np.repeat(np.repeat(a, r1, 0), r0, 1), b)


def out_prod(v, x):
    m, n, k = (int(v[key]) for key in "mnk")
    (b0, b1), (r0, r1) = _batches(v)
    a = np.repeat(np.repeat(operand(x, "a", v["type_a"]).reshape(b1, b0, k, m), r1, 0), r0, 1)
    b = x["b"].reshape(b1 * r1, b0 * r0, *((n, k) if v.get("trans_b") == "1" else (k, n)))
    return np.einsum("zykm,zykn->zynm", a, b.swapaxes(2, 3) if v.get("trans_b") == "1" else b)


def mul_mat_id(v, x):
    a, ids, b = operand(x, "a", v["type_a"]), x["ids"], x["x"]
    b = b[:, None] if v["b"] == "1" else b
    return np.stack([np.stack([a[e] @ b[t, u if v["b"] != "1" else 0] for u, e in enumerate(row)]) for t, row in enumerate(ids)])


def get_rows(v, x):
    return operand(x, "a", v["type"])[x["ids"]]


def _softmax(s, sinks=None):
    top = s.max(-1, keepdims=True)
    top = top if sinks is None else np.maximum(top, sinks)
    e = np.exp(s - top)
    return e / (e.sum(-1, keepdims=True) + (0 if sinks is None else np.exp(sinks - top)))


def _slopes(bias, heads):
    if bias <= 0:
        return np.ones(heads)
    below = 1 << int(math.floor(math.log2(heads)))
    m0, m1 = 2.0 ** (-bias / below), 2.0 ** (-bias / 2 / below)
    return np.array([m0 ** (h + 1) if h < below else m1 ** (2 * (h - below) + 1) for h in range(heads)])


def flash_attn_ext(v, x):
    d, dv = int(v["hsk"]), int(v["hsv"])
    q = x["q"]  # [b, hkv, group, l, d]
    batch, hkv, group, rows, _ = q.shape
    k = operand(x, "k", v["type_K"])
    values = k if v.get("v_is_view_of_k") == "1" else operand(x, "v", v["type_V"])
    of_v = values.shape[-1] if v.get("v_is_view_of_k") != "1" else dv
    heads, cap = hkv * group, float(v["logit_softcap"])
    slopes, y = _slopes(float(v["max_bias"]), heads), np.empty((batch, rows, heads, of_v))
    for b in range(batch):
        for h in range(heads):
            s = q[b, h // group, h % group] @ k[b, h // group].T / math.sqrt(d)
            s = cap * np.tanh(s / cap) if cap else s
            s = s + slopes[h] * x["mask"][b] if v["mask"] == "1" else s
            sink = x["sinks"].reshape(-1)[h] if v["sinks"] == "1" else None
            y[b, :, h] = _softmax(s, sink) @ values[b, h // group, :, :of_v]
    return y


def soft_max(v, x):
    a = x["x"]
    r3, n3, r2, n2, rows, n = a.shape
    a = a.reshape(r3 * n3, r2 * n2, rows, n) * float(v["scale"])
    slopes, y = _slopes(float(v["max_bias"]), r2 * n2), np.empty_like(a)
    for i3 in range(r3 * n3):
        for i2 in range(r2 * n2):
            s = a[i3, i2]
            s = s + slopes[i2] * x["mask"][i3 % n3, i2 % n2] if v["mask"] == "1" else s
            y[i3, i2] = _softmax(s, x["sinks"].reshape(-1)[i2] if v["sinks"] == "1" else None)
    return y


def soft_max_back(v, x):
    return float(v["scale"]) * x["y"] * (x["dy"] - (x["y"] * x["dy"]).sum(-1, keepdims=True))


def _patches(x, kernel, stride, pad, dilation, fill=0.0):
    """[..., outputs of each axis, places in the kernel]; the last axes of x are the image."""
    rank = len(kernel)
    image = x.shape[-rank:]
    padded = np.pad(x, [(0, 0)] * (x.ndim - rank) + [(p, p) for p in pad], constant_values=fill)
    outputs = [(i + 2 * p - d * (k - 1) - 1) // s + 1 for i, k, s, p, d in zip(image, kernel, stride, pad, dilation)]
    made = np.empty((*x.shape[:-rank], *outputs, *kernel))
    for place in np.ndindex(*kernel):
        cut = tuple(slice(at * d, at * d + (o - 1) * s + 1, s) for at, o, s, d in zip(place, outputs, stride, dilation))
        made[(..., *(slice(None),) * rank, *place)] = padded[(..., *cut)]
    return made


def _numbers(v, form, keys, usual):
    return [int(v.get(form.format(key), usual)) for key in keys]


def im2col(v, x):
    keys = "0" if v.get("is_2D") == "0" else "210" if "s2" in v else "10"
    kernel = v["ne_kernel"][:len(keys)][::-1]
    made = _patches(x["x"], kernel, *(_numbers(v, what + "{}", keys, usual) for what, usual in (("s", 1), ("p", 0), ("d", 1))))
    rank = len(keys)
    return made.transpose(0, *range(2, 2 + rank), 1, *range(2 + rank, 2 + 2 * rank))


def conv(v, x):
    if "IC" in v:
        settings = [_numbers(v, what + "{}", "210", 1) for what in "spd"]
    elif "stride0" in v:
        settings = [_numbers(v, what + "{}", "10", 1) for what in ("stride", "padding", "dilation")]
    else:
        settings = [[int(v[what])] * 2 for what in ("stride", "padding", "dilation")]
    w, kernel = x["w"], x["w"].shape[-len(settings[0]):]
    made, rank = _patches(x["x"], kernel, *settings), len(kernel)
    if w.ndim == rank + 1:  # each channel's own
        return (made * w.reshape(1, w.shape[0], *(1,) * rank, *kernel)).sum(tuple(range(-rank, 0)))
    y = np.tensordot(made, w, ([1, *range(2 + rank, 2 + 2 * rank)], [1, *range(2, 2 + rank)]))
    return np.moveaxis(y, -1, 1)


def conv_transpose(v, a):
    x, w = a["x"], a["w"]
    rank, stride = x.ndim - 2, int(v.get("s0", v.get("stride", 1)))
    y = np.zeros((x.shape[0], w.shape[1], *((i - 1) * stride + k for i, k in zip(x.shape[2:], w.shape[2:]))))
    for at in np.ndindex(*x.shape[2:]):
        cut = tuple(slice(i * stride, i * stride + k) for i, k in zip(at, w.shape[2:]))
        y[(slice(None), slice(None), *cut)] += np.tensordot(x[(slice(None), slice(None), *at)], w, ([1], [0]))
    return y


def col2im_1d(v, a):
    x, stride, pad = a["x"], int(v["s0"]), int(v["p0"])
    count, o, k = x.shape
    y = np.zeros((o, (count - 1) * stride + k))
    for t in range(count):
        y[:, t * stride:t * stride + k] += x[t]
    return y[:, pad:y.shape[1] - pad]


def pool(v, a):
    keys = "10" if "k1" in v else "0"
    kernel, settings = _numbers(v, "k{}", keys, 1), [_numbers(v, what + "{}", keys, usual) for what, usual in (("s", 1), ("p", 0))]
    ones, inner = [1] * len(keys), tuple(range(-len(keys), 0))
    if v["pool_type"] == "max":
        return _patches(a["x"], kernel, *settings, ones, np.finfo(np.float32).min).max(inner)
    total = _patches(a["x"], kernel, *settings, ones).sum(inner)
    counts = _patches(np.ones_like(a["x"]), kernel, *settings, ones).sum(inner)
    return total / math.prod(kernel) if len(keys) == 2 else np.where(counts > 0, total / np.maximum(counts, 1), 0)


def rope(v, a, back=False):
    x, cos, sin = a["x"], a["cos"][None, :, None], a["sin"][None, :, None] * (-1 if back else 1)
    mode, turned, first = int(v["mode"]), int(v["n_dims"]), int(v.get("n_offs", 0))
    turned = x.shape[-1] if mode == 24 else turned
    places = first + np.arange(turned).reshape(-1, 2).T if mode == 0 else first + np.arange(turned).reshape(2, -1)
    y = x.copy()
    one, two = x[..., places[0]], x[..., places[1]]
    y[..., places[0]], y[..., places[1]] = one * cos - two * sin, one * sin + two * cos
    return y


def _ordered(v, key):
    order = v.get(key, [0] * 4)
    return order if any(order) else [0, 1, 2, 3]


def copied(v, a):
    x, order = operand(a, "x", v.get("type_src", v.get("type"))), _ordered(v, "permute_src" if "type_src" in v else "permute")
    made = np.moveaxis(x, range(4), [3 - order[3 - k] for k in range(4)])
    turned = v.get("_src_transpose") == "1" or "use_view_slice" in v and order == [0, 1, 2, 3]
    return made.swapaxes(-1, -2) if turned else made


def concat(v, a):
    return np.concatenate([a["a"], a["b"]], 1)


def binary(op):
    def evaluate(v, a):
        shape = [n * r for n, r in zip(v["ne"][::-1], v["nr"][::-1])]
        y = a["a"].reshape(shape)
        for k in range(int(v.get("nf", 1))):
            y = op(y, np.tile(a[f"b{k}"], v["nr"][::-1]))
        return y
    return evaluate


def repeat_back(v, a):
    return a["x"].sum((0, 2, 4, 6))


def _erf(x):
    return np.vectorize(math.erf)(x)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _hard(x):
    return np.clip((x + 3) / 6, 0, 1)


UNARY = {"abs": np.abs, "sgn": np.sign, "neg": np.negative, "step": lambda x: (x > 0) * 1.0, "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
         "relu": lambda x: np.maximum(x, 0), "sigmoid": _sigmoid, "silu": lambda x: x * _sigmoid(x), "expm1": np.expm1,
         "gelu_quick": lambda x: x * _sigmoid(1.702 * x), "hardsigmoid": _hard, "hardswish": lambda x: x * _hard(x),
         "softplus": lambda x: np.log1p(np.exp(x)), "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
         "round": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), "sqr": np.square, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos}
GLU = {"reglu": UNARY["relu"], "swiglu": UNARY["silu"], "geglu_quick": UNARY["gelu_quick"],
       "geglu": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), "geglu_erf": lambda x: x / 2 * (1 + _erf(x / math.sqrt(2)))}


def glu(function):
    def evaluate(v, a):
        gate, x = (a["a"], a["b"]) if v.get("split") == "1" else np.split(a["a"], 2, -1)
        gate, x = (x, gate) if v.get("swapped") == "1" else (gate, x)
        return function(gate) * x
    return evaluate


def swiglu_oai(v, a):
    alpha, limit = float(v["alpha"]), float(v["limit"])
    x, g = np.minimum(a["a"], limit), np.clip(a["b"], -limit, limit)
    return x * _sigmoid(alpha * x) * (g + 1)


def rms_norm_back(v, a):
    x, dy, eps = a["x"], a["dy"], float(v["eps"])
    total = (x * x).sum(-1, keepdims=True)
    return (dy - x * (x * dy).sum(-1, keepdims=True) / (total + eps * x.shape[-1])) / np.sqrt(total / x.shape[-1] + eps)


def norm(v, a):
    x = a["x"]
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + float(v["eps"]))


def ssm_conv(v, a):
    x, w = a["x"], a["w"]
    return np.stack([(x[:, :, t:t + w.shape[1]] * w).sum(-1) for t in range(x.shape[2] - w.shape[1] + 1)], 1)


def pad(v, a):
    pairs = [(int(v.get(f"lp{k}", 0)), int(v.get(f"rp{k}", v.get(f"pad_{k}", 0)))) for k in (3, 2, 1, 0)]
    return np.pad(a["x"], pairs)


def cross_entropy_loss(v, a):
    x = a["x"] - a["x"].max(-1, keepdims=True)
    return -(a["labels"] * (x - np.log(np.exp(x).sum(-1, keepdims=True)))).sum() / x.shape[0]


def acc(v, a):
    y = a["a"].copy()
    y[tuple(slice(extent) for extent in a["b"].shape)] += a["b"]
    return y


def _with(*keys):
    return lambda v: [float(v[key]) for key in keys]


REFERENCES = {
    "MUL_MAT": mul_mat, "OUT_PROD": out_prod, "MUL_MAT_ID": mul_mat_id, "GET_ROWS": get_rows, "FLASH_ATTN_EXT": flash_attn_ext,
    "SOFT_MAX": soft_max, "SOFT_MAX_BACK": soft_max_back, "IM2COL": im2col, "IM2COL_3D": im2col, "CONV_2D": conv, "CONV_2D_DW": conv,
    "CONV_3D": conv, "CONV_TRANSPOSE_1D": conv_transpose, "CONV_TRANSPOSE_2D": conv_transpose, "COL2IM_1D": col2im_1d, "POOL_1D": pool,
    "POOL_2D": pool, "ROPE": rope, "ROPE_BACK": lambda v, a: rope(v, a, True), "CPY": copied, "DUP": copied, "CONT": copied, "CONCAT": concat,
    "REPEAT": lambda v, a: np.tile(a["x"], v["nr"][::-1]), "REPEAT_BACK": repeat_back, "ADD": binary(np.add), "SUB": binary(np.subtract),
    "MUL": binary(np.multiply), "DIV": binary(np.divide), "NORM": norm, "GROUP_NORM": norm, "RMS_NORM_BACK": rms_norm_back,
    "RMS_NORM": lambda v, a: a["x"] / np.sqrt((a["x"]**2).mean(-1, keepdims=True) + float(v["eps"])),
    "L2_NORM": lambda v, a: a["x"] / np.maximum(np.sqrt((a["x"]**2).sum(-1, keepdims=True)), float(v["eps"])),
    "SWIGLU_OAI": swiglu_oai, "LEAKY_RELU": lambda v, a: np.where(a["x"] > 0, a["x"], float(v["negative_slope"]) * a["x"]),
    "CLAMP": lambda v, a: np.clip(a["x"], float(v["min"]), float(v["max"])),
    "SCALE": lambda v, a: a["x"] * float(v["scale"]) + float(v["bias"]), "SSM_CONV": ssm_conv, "ADD_ID": lambda v, a: a["a"] + a["b"][a["ids"]],
    "SILU_BACK": lambda v, a: a["dy"] * _sigmoid(a["x"]) * (1 + a["x"] * _sigmoid(-a["x"])),
    "PAD": pad, "CROSS_ENTROPY_LOSS": cross_entropy_loss, "ACC": acc,
    **{name.upper(): (lambda function: lambda v, a: function(a["x"]))(function) for name, function in UNARY.items()},
    **{name.upper(): glu(function) for name, function in GLU.items()}}


def evaluate(text, inputs):
    name, v = variables(text)
    return REFERENCES[name](v, inputs)
