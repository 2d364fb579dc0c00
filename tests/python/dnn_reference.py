# SPDX-License-Identifier: Apache-2.0
"""oneDNN's primitives in NumPy, in f64, by its developer guide: an evaluation that knows nothing of definitions. Operands are those of a
case by name, in the shapes that the problem states."""
import math
import re

import numpy as np

from ggml_reference import _patches

_DEFAULTS = {"dir": "FWD_D", "alg": "", "axis": "1", "p": "1", "eps": "0", "alpha": "0", "beta": "0", "flags": "", "mb": "0", "bia-dt": "undef",
             "bia-mask": "2", "attr-post-ops": "", "attr-scales": "", "attr-zero-points": ""}
_ALGS = {"reduction": "sum", "eltwise": "relu", "softmax": "softmax", "pool": "max", "binary": "add"}


def parse(text):
    driver, options, problem = "", dict(_DEFAULTS), ""
    for word in text.split():
        if word.startswith("--") and "=" in word:
            name, _, value = word[2:].partition("=")
            options[name] = value
        elif word.startswith("--"):
            driver = word[2:]
        else:
            problem = re.sub(r'_?n"[^"]*"$', "", word)
    options["alg"] = (options["alg"] or _ALGS.get(driver, "")).lower()
    if driver in ("conv", "ip", "deconv") and "--dir=" not in text:
        options["dir"] = "FWD_B"
    return driver, options, problem


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _soft_relu(x, a=1):
    return np.logaddexp(0, a * x) / a


_erf = np.vectorize(math.erf, otypes=[float])
_C = math.sqrt(2 / math.pi)
FORWARD = {
    "abs": lambda s, a, b: np.abs(s), "clip": lambda s, a, b: np.clip(s, a, b), "clip_v2": lambda s, a, b: np.clip(s, a, b),
    "elu": lambda s, a, b: np.where(s > 0, s, a * np.expm1(np.minimum(s, 0))), "exp": lambda s, a, b: np.exp(s),
    "gelu_erf": lambda s, a, b: 0.5 * s * (1 + _erf(s / math.sqrt(2))), "gelu_tanh": lambda s, a, b: 0.5 * s * (1 + np.tanh(_C * (s + 0.044715 * s**3))),
    "hardsigmoid": lambda s, a, b: np.clip(a * s + b, 0, 1), "hardswish": lambda s, a, b: s * np.clip(a * s + b, 0, 1), "linear": lambda s, a, b: a * s + b,
    "log": lambda s, a, b: np.log(s), "logistic": lambda s, a, b: _sigmoid(s), "mish": lambda s, a, b: s * np.tanh(_soft_relu(s)),
    "pow": lambda s, a, b: a * np.power(s, b), "relu": lambda s, a, b: np.where(s > 0, s, a * s), "round": lambda s, a, b: np.rint(s),
    "soft_relu": lambda s, a, b: _soft_relu(s, a), "sqrt": lambda s, a, b: np.sqrt(s), "square": lambda s, a, b: s * s,
    "swish": lambda s, a, b: s * _sigmoid(a * s), "tanh": lambda s, a, b: np.tanh(s)}


def _gelu_tanh(s):
    g = np.tanh(_C * (s + 0.044715 * s**3))
    return 0.5 * (1 + g) * (1 + _C * (s + 0.134145 * s**3) * (1 - g))


def _mish(s):
    omega = np.exp(3 * s) + 4 * np.exp(2 * s) + np.exp(s) * (4 * s + 6) + 4 * (s + 1)
    delta = np.exp(2 * s) + 2 * np.exp(s) + 2
    return np.exp(s) * omega / delta**2


BACKWARD = {
    "abs": lambda s, a, b: np.sign(s), "clip": lambda s, a, b: (s > a) & (s <= b), "clip_v2": lambda s, a, b: (s > a) & (s < b),
    "elu": lambda s, a, b: np.where(s > 0, 1, a * np.exp(np.minimum(s, 0))), "exp": lambda s, a, b: np.exp(s),
    "gelu_erf": lambda s, a, b: 0.5 + 0.5 * _erf(s / math.sqrt(2)) + s / math.sqrt(2 * math.pi) * np.exp(-0.5 * s * s),
    "gelu_tanh": lambda s, a, b: _gelu_tanh(s), "hardsigmoid": lambda s, a, b: np.where((a * s + b > 0) & (a * s + b < 1), a, 0),
    "hardswish": lambda s, a, b: np.where(a * s + b > 1, 1, np.where(a * s + b > 0, 2 * a * s + b, 0)), "linear": lambda s, a, b: a + 0 * s,
    "log": lambda s, a, b: 1 / s, "logistic": lambda s, a, b: _sigmoid(s) * (1 - _sigmoid(s)), "mish": lambda s, a, b: _mish(s),
    "pow": lambda s, a, b: a * b * np.power(s, b - 1), "relu": lambda s, a, b: np.where(s > 0, 1, a), "soft_relu": lambda s, a, b: _sigmoid(a * s),
    "sqrt": lambda s, a, b: 1 / (2 * np.sqrt(s)), "square": lambda s, a, b: 2 * s,
    "swish": lambda s, a, b: _sigmoid(a * s) * (1 + a * s * (1 - _sigmoid(a * s))), "tanh": lambda s, a, b: 1 - np.tanh(s)**2,
    "exp_dst": lambda d, a, b: d, "logistic_dst": lambda d, a, b: d * (1 - d), "sqrt_dst": lambda d, a, b: 1 / (2 * d), "tanh_dst": lambda d, a, b: 1 - d * d,
    "elu_dst": lambda d, a, b: np.where(d > 0, 1, d + a), "relu_dst": lambda d, a, b: np.where(d > 0, 1, a), "clip_v2_dst": lambda d, a, b: (d > a) & (d < b)}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum, "eq": np.equal,
          "ne": np.not_equal, "ge": np.greater_equal, "gt": np.greater, "le": np.less_equal, "lt": np.less}


def _mask(policy, driver, ndims, of_weights=False, grouped=False):
    if policy.isdecimal():
        return int(policy)
    if driver == "matmul" and policy in ("per_oc", "per_dim_1"):
        return 1 << ndims - 1
    if driver == "matmul" and policy == "per_ocic":
        return 3 << ndims - 2
    if of_weights and driver in ("conv", "deconv", "ip") and policy == "per_oc":
        return 3 if grouped else 1
    return {"common": 0, "per_tensor": (1 << ndims) - 1, "per_dim_0": 1, "per_dim_1": 2, "per_oc": 2, "per_dim_01": 3, "per_ocic": 3, "per_dim_2": 4,
            "per_dim_3": 8}[policy]


def _masked(shape, mask):
    return [extent if mask >> k & 1 else 1 for k, extent in enumerate(shape)]


def _factor(o, x, what, name, shape, driver, grouped=False):
    """A scale or a zero point of an argument of that shape; None: it has none."""
    for one in o["attr-scales" if what == "scale" else "attr-zero-points"].split("+"):
        words = one.split(":")
        if {"src0": "src"}.get(words[0], words[0]) != name:
            continue
        if words[1] == "common":
            return float(words[2].rstrip("*"))
        own = _masked(shape, _mask(words[1], driver, len(shape), name == "wei", grouped))
        value = x[f"{what}_{name}"]
        if len(words) > 3 and "x" in words[3]:
            groups = [int(g) for g in words[3].split("x")]
            last = value.reshape(*own[:-2], *(extent // g for extent, g in zip(own[-2:], groups)))
            return np.repeat(np.repeat(last, groups[0], -2), groups[1], -1)
        return value.reshape(own)
    return None


def _real(o, x, name, shape, driver, grouped=False):
    """scale (x - zero) of an argument."""
    value = x[name].reshape(shape)
    zero, scale = (_factor(o, x, what, name, shape, driver, grouped) for what in ("zero", "scale"))
    value = value - zero if zero is not None else value
    return value * scale if scale is not None else value


def _finished(o, x, y, driver):
    for k, one in enumerate(o["attr-post-ops"].split("+") if o["attr-post-ops"] else []):
        name, *words = one.split(":")
        name = name.removeprefix("eltwise_").removeprefix("binary_")
        if name == "sum":
            scale, zero = (float(words[i]) if len(words) > i else usual for i, usual in ((0, 1), (1, 0)))
            y = y + scale * (x[f"sum{k}"].reshape(y.shape) - zero)
        elif name in BINARY:
            y = BINARY[name](y, x[f"{name}{k}"].reshape(_masked(y.shape, _mask(words[1] if len(words) > 1 else "common", driver, y.ndim)))) * 1.0
        elif name == "prelu":
            y = np.where(y > 0, y, y * x[f"prelu{k}"].reshape(_masked(y.shape, _mask(words[0] if words else "common", driver, y.ndim))))
        else:
            a, b = (float(words[i]) if len(words) > i else 0.0 for i in (0, 1))
            y = FORWARD[name.removesuffix("_dst")](y, a, b)
    scale, zero = (_factor(o, x, what, "dst", y.shape, driver) for what in ("scale", "zero"))
    y = y / scale if scale is not None else y
    return y + zero if zero is not None else y


def _shape(text):
    return [int(extent) for extent in text.split("x")]


def matmul(o, problem, x):
    a, b = (_shape(one) for one in problem.split(":")[:2])
    y = _real(o, x, "src", a, "matmul") @ _real(o, x, "wei", b, "matmul")
    if o["bia-dt"] != "undef":
        y = y + x["bias"].reshape(_masked(y.shape, int(o["bia-mask"])))
    return _finished(o, x, y, "matmul")


def _entries(text):
    found = dict(re.findall("([a-z]+)([0-9]+)", text))
    return {key: int(value) for key, value in found.items()}


def inner_product(o, problem, x):
    direction = o["dir"].upper()
    if direction == "BWD_D":
        return x["diff_dst"] @ x["wei"]
    if direction.startswith("BWD"):
        return (x["diff_dst"].T @ x["src"], x["diff_dst"].sum(0)) if direction == "BWD_WB" else x["diff_dst"].T @ x["src"]
    y = _real(o, x, "src", x["src"].shape, "ip") @ _real(o, x, "wei", x["wei"].shape, "ip").T
    spatial = [axis for axis in "dhw" if re.search(f"i{axis}[0-9]", problem)]
    y = y + x["bias"] if "bias" in x else y
    return _finished(o, x, y.reshape(*y.shape), "ip") if spatial is not None else y


def _geometry(problem, deconv=False):
    """Strides, paddings on the left and dilations of each axis."""
    e = _entries(problem)
    axes = next(axes for axes in ("dhw", "hw", "w") if any(what + axes[0] in e for what in "iko"))
    made = []
    for axis in axes:
        if not any(what + axis in e for what in "iok") and made:
            made.append(made[-1])
            continue
        i, k, s, d = e.get("i" + axis, 0), e["k" + axis], e.get("s" + axis, 1), e.get("d" + axis, 0) + 1
        whole, part = (e["o" + axis], i) if deconv else (i, e.get("o" + axis, 0))
        p = e.get("p" + axis, max((part - 1) * s - whole + (k - 1) * d + 1, 0) // 2 if part else 0)
        made.append((s, p, d))
    return [list(one) for one in zip(*made)]


def _grown(y, x, w, strides, pads, dilations, image):
    """Adds each source's products to the places that its kernel reaches: y[n, o, ...] of x[n, i, ...] and w[i, o, ...]."""
    for at in np.ndindex(*x.shape[2:]):
        for place in np.ndindex(*w.shape[2:]):
            to = [i * s + k * d - p for i, k, s, p, d in zip(at, place, strides, pads, dilations)]
            if all(0 <= t < extent for t, extent in zip(to, image)):
                y[(slice(None), slice(None), *to)] += x[(slice(None), slice(None), *at)] @ w[(slice(None), slice(None), *place)]
    return y


def _seen(x, w_shape, outputs, strides, pads, dilations):
    """The source in the windows of so many outputs, which padding on the right completes."""
    rank = len(outputs)
    more = [max((o - 1) * s + (k - 1) * d + 1 - i - p, 0) for o, s, k, d, i, p in zip(outputs, strides, w_shape, dilations, x.shape[2:], pads)]
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads, more)])
    made = _patches(x, w_shape, strides, [0] * rank, dilations)
    return made[(slice(None), slice(None), *(slice(o) for o in outputs))]


def conv(o, problem, x, deconv=False):
    """Operands have an axis of groups beside each of channels."""
    strides, pads, dilations = _geometry(problem, deconv)
    direction, driver = o["dir"].upper(), "deconv" if deconv else "conv"
    grouped = re.match("_*g[0-9]", problem) is not None and _entries(problem)["g"] > 1
    if direction.startswith("BWD"):
        dst = x["diff_dst"]
        groups = dst.shape[1]
        if direction == "BWD_D":
            image = x["image"]
            return np.stack([_grown(np.zeros((dst.shape[0], x["wei"].shape[2], *image)), dst[:, g], x["wei"][g], strides, pads, dilations, image)
                             for g in range(groups)], 1)
        kernel = x["kernel"]
        rank = len(kernel)
        seen = [_seen(x["src"][:, g], kernel, dst.shape[3:], strides, pads, dilations) for g in range(groups)]
        weights = np.stack([np.tensordot(dst[:, g], seen[g], ([0, *range(2, 2 + rank)], [0, *range(2, 2 + rank)])) for g in range(groups)])
        return (weights, dst.sum((0, *range(3, 3 + rank)))) if direction == "BWD_WB" else weights
    wei = x["wei"]
    groups = wei.shape[0]
    flat = [x["src"].shape[0], x["src"].shape[1] * x["src"].shape[2], *x["src"].shape[3:]]
    zero, scale = (_factor(o, x, what, "src", flat, driver) for what in ("zero", "scale"))
    src = x["src"].reshape(flat) - (0 if zero is None else zero)
    src = (src * (1 if scale is None else scale)).reshape(x["src"].shape)
    of_wei = [*wei.shape[:2]] if grouped else [wei.shape[0] * wei.shape[1]]
    factor = _factor(o, x, "scale", "wei", [*of_wei, wei.shape[2], *wei.shape[3:]], driver, grouped)
    if factor is not None:
        wei = wei * (factor if np.ndim(factor) == 0 else factor.reshape(wei.shape[0], wei.shape[1], *(1,) * (wei.ndim - 2)))
    outputs, rank = x["outputs"], wei.ndim - 3
    made = []
    for g in range(groups):
        if deconv:
            made.append(_grown(np.zeros((src.shape[0], wei.shape[1], *outputs)), src[:, g], wei[g].swapaxes(0, 1), strides, pads, dilations, outputs))
        else:
            seen = _seen(src[:, g], wei.shape[3:], outputs, strides, pads, dilations)
            made.append(np.moveaxis(np.tensordot(seen, wei[g], ([1, *range(2 + rank, 2 + 2 * rank)], [1, *range(2, 2 + rank)])), -1, 1))
    y = np.concatenate(made, 1)
    y = y + x["bias"].reshape(1, -1, *(1,) * rank) if "bias" in x else y
    return _finished(o, x, y, driver)


def pool(o, problem, x):
    strides, pads, dilations = _geometry(problem)
    image, kernel, outputs = x["src"].shape[2:], x["kernel"], x["outputs"]
    inner = tuple(range(-len(kernel), 0))
    count = _seen(np.ones((1, 1, *image)), kernel, outputs, strides, pads, dilations)
    seen = _seen(x["src"], kernel, outputs, strides, pads, dilations)
    if "max" in o["alg"]:
        y = np.where(count > 0, seen, -np.inf).max(inner)
    else:
        y = seen.sum(inner) / (count.sum(inner) if o["alg"] in ("avg_np", "pooling_avg_exclude_padding") else math.prod(kernel))
    return _finished(o, x, y, "pool")


def _with_batch(problem, o):
    shape = _shape(problem)
    return [int(o["mb"]) if o["mb"] not in ("", "0") else shape[0], *shape[1:]]


def softmax(o, problem, x):
    shape, axis = _with_batch(problem, o), int(o["axis"])
    log = o["alg"].lower() in ("logsoftmax", "softmax_log")
    if o["dir"].upper().startswith("BWD"):
        y, dy = x["dst"].reshape(shape), x["diff_dst"].reshape(shape)
        return dy - np.exp(y) * dy.sum(axis, keepdims=True) if log else y * (dy - (dy * y).sum(axis, keepdims=True))
    src = x["src"].reshape(shape).astype(float)
    d = src - src.max(axis, keepdims=True)
    total = np.exp(d).sum(axis, keepdims=True)
    y = d - np.log(total) if log else np.exp(d) / total
    scale = _factor(o, x, "scale", "src", shape, "softmax")
    return _finished(o, x, y * (1 if scale is None else scale), "softmax")


def reduction(o, problem, x):
    a, b = (_shape(one) for one in problem.split(":"))
    axes = tuple(k for k, pair in enumerate(zip(a, b)) if pair[0] != pair[1])
    src, alg, p, eps = x["src"].reshape(a).astype(float), o["alg"], float(o["p"]), float(o["eps"] or 0)
    if alg in ("sum", "mean", "max", "min"):
        y = getattr(src, alg)(axes, keepdims=True)
    elif alg == "mul":
        y = src.prod(axes, keepdims=True)
    else:
        y = (np.abs(src)**p).sum(axes, keepdims=True)
        y = np.maximum(y, eps) if alg.endswith("_max") else y + eps
        y = y if "power" in alg else y**(1 / p)
    return _finished(o, x, y, "reduction")


def _norm(o, x, src, axes, spread):
    """Normalized, and its statistics; spread: makes an array of channels broadcast."""
    flags = o["flags"].upper()
    mean = x["mean"].reshape(src.mean(axes, keepdims=True).shape) if "G" in flags else src.mean(axes, keepdims=True)
    variance = x["variance"].reshape(mean.shape) if "G" in flags else ((src - mean)**2).mean(axes, keepdims=True)
    y = (src - mean) / np.sqrt(variance + 1 / 16)
    y = y * spread(x["gamma"]) if "C" in flags else y
    y = y + spread(x["beta"]) if "H" in flags else y
    return y, mean, variance


def layer_norm(o, problem, x):
    flags, direction = o["flags"].upper(), o["dir"].upper()
    if direction.startswith("BWD"):
        r = 1 / np.sqrt(x["variance"][:, None] + 1 / 16)
        h, dy = (x["src"] - x["mean"][:, None]) * r, x["diff_dst"]
        t = dy * x["gamma"] if "C" in flags else dy
        dx = r * t if "G" in flags else r * (t - t.mean(1, keepdims=True) - h * (t * h).mean(1, keepdims=True))
        more = [(dy * h).sum(0)] * ("C" in flags) + [dy.sum(0)] * ("H" in flags) if direction == "BWD_DW" else []
        return (dx, *more)
    y, mean, variance = _norm(o, x, x["src"].astype(float), 1, lambda one: one)
    scale = _factor(o, x, "scale", "src", x["src"].shape, "lnorm")
    y = _finished(o, x, y * (1 if scale is None else scale), "lnorm")
    return (y, mean, variance) if direction == "FWD_D" and "G" not in flags else y


def group_norm(o, problem, x):
    flags = o["flags"].upper()
    y, mean, variance = _norm(o, x, x["src"].astype(float), (2, 3), lambda one: one[None, :, :, None])
    scale = _factor(o, x, "scale", "src", x["src"].shape, "gnorm")
    y = _finished(o, x, y * (1 if scale is None else scale), "gnorm")
    return (y, mean, variance) if o["dir"].upper() == "FWD_D" and "G" not in flags else y


def eltwise(o, problem, x):
    shape, a, b = _with_batch(problem, o), float(o["alpha"]), float(o["beta"])
    alg = o["alg"].removeprefix("eltwise_")
    if o["dir"].upper() == "BWD_D":
        return x["diff_dst"] * BACKWARD[alg](x["dst" if alg.endswith("_dst") else "src"], a, b)
    return _finished(o, x, FORWARD[alg.removesuffix("_dst")](x["src"].reshape(shape).astype(float), a, b), "eltwise")


def binary(o, problem, x):
    a, b = (_shape(one) for one in problem.split(":"))
    b += [1] * (len(a) - len(b))
    scales = [_factor(o, x, "scale", name, shape, "binary") for name, shape in (("src", a), ("src1", b))]
    sources = [x[name].reshape(shape) * (1.0 if scale is None else scale) for name, shape, scale in zip(("src", "src1"), (a, b), scales)]
    return _finished(o, x, BINARY[o["alg"]](*sources) * 1.0, "binary")


def prelu(o, problem, x):
    a, b = (_shape(one) for one in problem.split(":"))
    src, wei = x["src"].reshape(a), x["wei"].reshape(b)
    if o["dir"].upper().startswith("FWD"):
        return np.where(src > 0, src, src * wei)
    dy = x["diff_dst"].reshape(a)
    axes = tuple(k for k, pair in enumerate(zip(a, b)) if pair[0] != pair[1])
    return np.where(src > 0, dy, dy * wei), np.where(src > 0, 0, dy * src).sum(axes, keepdims=True)


REFERENCES = {"matmul": matmul, "ip": inner_product, "conv": conv, "deconv": lambda o, p, x: conv(o, p, x, True), "pool": pool, "softmax": softmax,
              "reduction": reduction, "lnorm": layer_norm, "gnorm": group_norm, "eltwise": eltwise, "binary": binary, "prelu": prelu}


def evaluate(text, inputs, attrs=None):
    """attrs: of the case, for extents that no operand has."""
    driver, options, problem = parse(text)
    attrs = attrs or {}
    rank = [axis for axis in "dhw" if f"i{axis}" in attrs]
    more = {"image": [int(attrs[f"i{axis}"]) for axis in rank], "kernel": [int(attrs[f"k{axis}"]) for axis in rank],
            "outputs": [int(attrs[f"{'i' if driver == 'deconv' else 'o'}{axis}"]) for axis in rank]}
    return REFERENCES[driver](options, problem, inputs | more)
