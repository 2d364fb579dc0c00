# SPDX-License-Identifier: Apache-2.0
"""Further mistakes of kernels, of operators whose operands are more than random numbers, and causes over shapes and types."""
import math
import pathlib
import unittest
from typing import Any, Callable, NamedTuple

import numpy as np

import assay
from full import FULL
from mistakes import attention, correlate, layer_norm, rms_norm, rope, seen, sigmoid, softmax

GUIDE = pathlib.Path(__file__).parents[2] / "harness/tools/explain/README.md"
RNG = np.random.default_rng(0)


def normals(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def positive(*shape):
    return np.abs(normals(*shape))


def codes(*shape):
    return RNG.integers(-127, 128, shape).astype(np.int8)


def transposed(x, w):
    n, _, rows, columns = x.shape
    o, k = w.shape[1:3]
    y = np.zeros((n, o, rows - 1 + k, columns - 1 + k))
    for i, j in np.ndindex(rows, columns):
        y[:, :, i:i + k, j:j + k] += np.einsum("nc,coij->noij", x[:, :, i, j], w)
    return y


def batch_norm(x, gamma, beta, mean, deviation):
    return (x - mean[:, None]) / deviation[:, None] * gamma[:, None] + beta[:, None]


def by_groups(x, packed, scale, zero):
    """A product with weights of 4 bits."""
    weights = np.empty((2 * len(packed), packed.shape[1]))
    weights[::2], weights[1::2] = packed & 15, packed >> 4
    group = np.arange(len(weights)) * len(scale) // len(weights)
    return x @ ((weights - zero.astype(float)[group]) * scale[group])


def written(cache, x, slots):
    cache = cache.copy()
    cache[slots] = x
    return cache


def scores(q, k, head_of=lambda h, group: h // group):
    heads = [head_of(h, q.shape[1] // k.shape[1]) for h in range(q.shape[1])]
    return heads, q @ np.swapaxes(k[:, heads], -1, -2) / math.sqrt(q.shape[-1])


def with_sinks(q, k, v, sinks, head_of=lambda h, group: h // group):
    heads, s = scores(q, k, head_of)
    e = np.exp(s)
    return e / (e.sum(-1, keepdims=True) + np.exp(sinks)[:, None, None]) @ v[:, heads]


def with_lse(q, k, v, of_sum):
    heads, s = scores(q, k)
    return [softmax(s) @ v[:, heads], of_sum(s)]


def alibi(q, k, v, slopes):
    i, j = np.indices((q.shape[2], k.shape[2]))
    return softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]) - slopes[:, None, None] * np.abs(i - j)) @ v


def windows(x, k=3, stride=2):
    return np.lib.stride_tricks.sliding_window_view(x, (k, k), (2, 3))[:, :, ::stride, ::stride]


def padded(x, by, mode="constant"):
    return np.pad(x, ((0, 0), (0, 0), (by, by), (by, by)), mode=mode)


def causal_conv(x, w, bias, state):
    z, k = np.concatenate([state, x], -1), w.shape[1]
    return [sum(w[:, j][:, None] * z[:, :, j:j + x.shape[2]] for j in range(k)) + bias[:, None], z[:, :, 1 - k:]]


def silu_backward(dy, x):
    g, u = np.split(x, 2, 1)
    s = sigmoid(g)
    return np.concatenate([dy * u * s * (1 + g * (1 - s)), dy * g * s], 1)


def attention_backward(q, k, v, dout, outer=None, of_group=lambda x: x.sum(2)):
    """dq, dk and dv, the last two of groups of query heads; `outer` is the scale of dq and dk."""
    heads, s = scores(q, k)
    p, e = softmax(s), dout @ np.swapaxes(v[:, heads], -1, -2)
    g = p * (e - (p * e).sum(-1, keepdims=True)) * (outer or q.shape[-1] ** -0.5)
    groups = [x.reshape(len(q), k.shape[1], -1, *x.shape[2:]) for x in (g.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ dout)]
    return [g @ k[:, heads], *map(of_group, groups)]


def cut(x):
    """x in bf16, whose further bits are cut off."""
    return (x.astype(np.float32).view(np.uint32) & np.uint32(0xffff0000)).view(np.float32).astype(float)


def shifted_rope(x, cos, sin):
    angle = np.outer(np.arange(len(cos)) + 1, 1e4 ** (-np.arange(cos.shape[1]) / cos.shape[1]))
    return rope(x, np.cos(angle), np.sin(angle))


def delta_step(q, k, v, gate, beta, state):
    kept = state * gate[..., None, None]
    state = kept + (beta[..., None] * (v - np.einsum("bhvd,bhd->bhv", kept, k)))[..., None] * k[:, :, None]
    return [np.einsum("bhvd,bhd->bhv", state, q), state]


def of_e4m3(codes):
    exponent, digits = codes >> 3 & 15, codes & 7
    return np.where(codes & 128, -1.0, 1.0) * np.where(exponent, (8 + digits) * 2.0 ** (exponent - 10.0), digits * 2.0 ** -9)


def by_blocks(a, b, scale_a, scale_b, bias_a=127, bias_b=127):
    """A product of numbers of e4m3, 32 of which have a power of two in common."""
    spread = [np.repeat(2.0 ** (s.astype(float) - bias), 32, axis) for s, bias, axis in ((scale_a, bias_a, 1), (scale_b, bias_b, 0))]
    return (of_e4m3(a) * spread[0] @ (of_e4m3(b) * spread[1])).astype(np.float32)


class Further(NamedTuple):
    op: str
    done: str
    says: str  # a part of the cause; "": none is named
    operands: list[np.ndarray]
    wrong: Callable[..., Any]
    attrs: dict[str, Any] = {}


ANGLE = np.outer(np.arange(16), 1e4 ** (-np.arange(4) / 4))
TABLES = [np.cos(ANGLE).astype(np.float32), np.sin(ANGLE).astype(np.float32)]
NORMED = [normals(4, 6, 10), normals(6), normals(6), normals(6), positive(6) / 100]
CODES = [codes(8, 32), np.array(0.037, np.float32), np.array(3, np.int8)]
NIBBLES = [normals(4, 32), RNG.integers(0, 256, (16, 24)).astype(np.uint8), positive(4, 24), RNG.integers(0, 16, (4, 24)).astype(np.uint8)]
CACHE = [normals(20, 2, 8), normals(5, 2, 8), np.array([3, 7, 1, 12, 9], np.int64)]
ADDED = [normals(16, 48), normals(16, 48), normals(48)]
QKV, GROUPED = [normals(1, 2, 8, 24) for _ in range(3)], [normals(1, 4, 6, 24), normals(1, 2, 6, 24), normals(1, 2, 6, 24)]
PADDED = (np.arange(8) < 6).astype(np.int8) * np.ones((8, 1), np.int8)
RANKS, GATED = [normals(4, 32)], [normals(16, 64)]
WITH_DOUT = [*GROUPED, normals(1, 4, 6, 24)]
STATE = [normals(2, 4, 12), normals(4, 4), normals(4), normals(2, 4, 3)]
GATE = [normals(2, 3, 8), normals(2, 3, 8) / 3, normals(2, 3, 4), RNG.random((2, 3), np.float32), RNG.random((2, 3), np.float32), normals(2, 3, 4, 8)]
BLOCKS = [RNG.integers(0, 120, (16, 64)).astype(np.uint8), RNG.integers(0, 120, (64, 24)).astype(np.uint8),
          RNG.integers(120, 134, (16, 2)).astype(np.uint8), RNG.integers(120, 134, (2, 24)).astype(np.uint8)]
E4M3 = {"dtypes": {"a": "e4m3", "b": "e4m3"}}
FURTHER = [
    Further("gated_delta_step", "the gate is left out", "gate all 1", GATE, lambda q, k, v, g, b, s: delta_step(q, k, v, 1 + 0 * g, b, s)),
    Further("gated_delta_step", "the gate is taken for its logarithm", "exponential of operand gate", GATE, lambda q, k, v, g, b, s: delta_step(q, k, v, np.exp(g), b, s)),
    Further("gated_delta_step", "the logarithm of the gate is taken for it", "logarithm of operand gate", GATE, lambda q, k, v, g, b, s: delta_step(q, k, v, np.log(g), b, s)),
    Further("mx_mm", "both scales have a bias of 128", "output y divided by 4", BLOCKS, lambda *x: by_blocks(*x, 128, 128), E4M3),
    Further("mx_mm", "the scale of b has a bias of 128", "128 in place of 127", BLOCKS, lambda *x: by_blocks(*x, 127, 128), E4M3),
    Further("conv_transpose", "the kernel is flipped", "reversed", [normals(2, 3, 6, 5), normals(3, 4, 3, 3)], lambda x, w: transposed(x, w[:, :, ::-1, ::-1])),
    Further("conv_transpose", "channels in and out are exchanged", "axes 0 and 1", [normals(2, 4, 6, 5), normals(4, 4, 3, 3)], lambda x, w: transposed(x, w.swapaxes(0, 1))),
    Further("batch_norm", "eps outside of the root", "in place of", NORMED, lambda x, g, b, m, v: batch_norm(x, g, b, m, np.sqrt(v) + 1e-3), {"eps": 1e-3}),
    Further("rms_norm", "a mean of squares of n - 1", "47 in place of 48", [normals(16, 48), normals(48)], lambda x, g: rms_norm(x, g * math.sqrt(47 / 48), 1e-6 * 47 / 48)),
    Further("group_norm", "statistics of each channel, not of a group", "along one of their axes", [normals(2, 3, 4, 10), normals(3, 4), normals(3, 4)],
            lambda x, g, b: (x - x.mean(3, keepdims=True)) / np.sqrt(x.var(3, keepdims=True) + 1e-5) * g[..., None] + b[..., None]),
    Further("scaled_mm", "the scales are exchanged", "scale_a and scale_b exchanged", [codes(16, 32), codes(32, 16), positive(16), positive(16)],
            lambda a, b, x, y: a.astype(float) @ b * y[:, None] * x, {"per": "row"}),
    Further("scaled_mm", "the scale of another row", "scale_a shifted", [codes(16, 32), codes(32, 24), positive(16), positive(24)],
            lambda a, b, x, y: a.astype(float) @ b * np.roll(x, 1)[:, None] * y, {"per": "row"}),
    Further("dequantize", "the zero point is added", "q + zero", CODES, lambda q, s, z: (q.astype(float) + z) * s),
    Further("dequantize", "the zero point is subtracted behind the scale", "in place of (q - zero) * scale", CODES, lambda q, s, z: q.astype(float) * s - z),
    Further("w4a16_mm", "the halves of a byte are exchanged", "x with neighbours", NIBBLES, lambda x, p, s, z: by_groups(x, p >> 4 | (p & 15) << 4, s, z)),
    Further("w4a16_mm", "the scale of another group", "scale shifted", NIBBLES, lambda x, p, s, z: by_groups(x, p, np.roll(s, 1, 0), z)),
    Further("kv_cache_write", "the slot is off by one", "index of size - 1", CACHE, lambda c, x, s: written(c, x, s + 1)),
    Further("kv_cache_write", "the last token is not written", "operand cache in place of the output", CACHE, lambda c, x, s: written(c, x[:-1], s[:-1])),
    Further("fused_add_rms_norm", "the norm is of x without the residual", "except where it is stored", ADDED, lambda x, r, g: [rms_norm(x, g, 1e-6), x + r]),
    Further("fused_add_rms_norm", "the sum is not stored", "operand residual in place of the output", ADDED, lambda x, r, g: [rms_norm(x + r, g, 1e-6), r]),
    Further("sink_attention", "the sinks are left out", "in place of", [*GROUPED, normals(4)], lambda q, k, v, s: with_sinks(q, k, v, s - 1e3)),
    Further("sink_attention", "the sink of another head", "sinks shifted", [*GROUPED, normals(4)], lambda q, k, v, s: with_sinks(q, k, v, np.roll(s, 1))),
    Further("sink_attention", "query heads read key heads in turn", "in turn, not in blocks", [*GROUPED, normals(4)], lambda q, k, v, s: with_sinks(q, k, v, s, lambda h, _: h % 2)),
    Further("attention_lse", "lse in base 2", "lse multiplied by 1.4427", GROUPED, lambda q, k, v: with_lse(q, k, v, lambda s: np.log2(np.exp(s).sum(-1)))),
    Further("attention_lse", "lse without the maximum", "in place of", GROUPED, lambda q, k, v: with_lse(q, k, v, lambda s: np.log(np.exp(s - s.max(-1, keepdims=True)).sum(-1)))),
    Further("attention", "the soft cap behind the mask", "soft cap behind the mask", QKV,
            lambda q, k, v: softmax(2 * np.tanh(np.where(seen(q, k), scores(q, k)[1], -1e9) / 2)) @ v, {"causal": 1, "softcap": 2}),
    Further("attention", "a mask of padding is ignored", "first slice along axis 1 of operand mask", [*QKV, PADDED], lambda q, k, v, _: attention(q, k, v)),
    Further("alibi_attention", "the sign of the slopes", "slopes negated", [*QKV, positive(2)], lambda q, k, v, s: alibi(q, k, v, -s)),
    Further("alibi_attention", "slopes are scaled like scores", "in place of", [*QKV, positive(2)], lambda q, k, v, s: alibi(q, k, v, s / math.sqrt(24))),
    Further("rope", "positions begin at 1", "begin at 1", [normals(2, 16, 3, 8), *TABLES], shifted_rope),
    Further("rope", "the second half is not turned", "operand x in place of the output", [normals(2, 16, 3, 8), *TABLES],
            lambda x, c, s: np.concatenate([rope(x, c, s)[..., :4], x[..., 4:]], -1)),
    Further("matmul", "the last tile of rows is dropped", "output y all 0 where", [normals(40, 32), normals(32, 24)], lambda a, b: np.where(np.arange(40)[:, None] < 32, a @ b, 0)),
    Further("cross_entropy", "labels are off by one", "logits shifted", [normals(16, 10), RNG.integers(0, 10, 16)],
            lambda x, t: np.log(np.exp(x).sum(1)) - x[np.arange(16), (t + 1) % 10], {"reduction": "none"}),
    Further("avg_pool", "padding is counted", "count_pad=1", [normals(2, 3, 8, 8)], lambda x: windows(padded(x, 1)).mean((-1, -2)), {"k": 3, "pad": 1}),
    Further("causal_conv1d", "the window is flipped", "w reversed", STATE, lambda x, w, b, s: causal_conv(x, w[:, ::-1], b, s)),
    Further("causal_conv1d", "the state is left out", "state all 0", STATE, lambda x, w, b, s: causal_conv(x, w, b, 0 * s)[:1] + [causal_conv(x, w, b, s)[1]]),
    Further("cumprod", "products do not include their own factor", "without its own term", [positive(4, 12)],
            lambda x: np.cumprod(np.concatenate([np.ones((4, 1)), x[:, :-1]], 1), 1)),
    Further("cumprod", "products from the end", "from the end", [positive(4, 12)], lambda x: np.cumprod(x[:, ::-1], 1)[:, ::-1]),
    Further("all_reduce", "each rank adds its own data twice", "own data of each rank twice", RANKS, lambda x: x.sum(0) + x),
    Further("all_reduce", "each rank leaves out its own data", "own data of each rank left out", RANKS, lambda x: x.sum(0) - x),
    Further("all_gather", "elements of ranks lie in turn", "4 parts along axis 1 that lie in turn", RANKS, lambda x: np.tile(x.T.reshape(1, -1), (4, 1))),
    Further("attention", "the scale is of a head of half the size", "scale=0.288675134594813", QKV, lambda q, k, v: attention(q, k, v, 12 ** -0.5)),
    Further("attention_backward", "the scale of dq and dk is missing", "where it is alike", WITH_DOUT, lambda q, k, v, d: attention_backward(q, k, v, d, 1)),
    Further("attention_backward", "dk and dv are of the first query head of each group", "along the same axes", WITH_DOUT,
            lambda q, k, v, d: attention_backward(q, k, v, d, of_group=lambda x: x[:, :, 0])),
    Further("silu_and_mul", "the gate of quick_gelu", "1.702", GATED, lambda x: x[:, :32] * sigmoid(1.702 * x[:, :32]) * x[:, 32:]),
    Further("silu_and_mul", "the gate of gelu", "erf", GATED, lambda x: x[:, :32] * (1 + np.vectorize(math.erf)(x[:, :32] / math.sqrt(2))) / 2 * x[:, 32:]),
    Further("silu_and_mul_backward", "the halves of dx are exchanged", "output dx shifted by 32 along axis 1, round the end",
            [normals(16, 32), *GATED], lambda d, x: np.roll(silu_backward(d, x), 32, 1)),
    Further("matmul", "a relu that nobody asked for", "0 in place of negative values", [normals(16, 32), normals(32, 24)], lambda a, b: np.maximum(a @ b, 0)),
    Further("matmul", "small results are cut to zero", "0 in place of its smallest values", [normals(16, 32), normals(32, 24)],
            lambda a, b: np.where(abs(a @ b) < 1, 0, a @ b)),
    Further("matmul", "both operands are cut to bf16", "cut to bf16, as all operands", [normals(16, 32), normals(32, 24)], lambda a, b: cut(a) @ cut(b)),
]


def run(op, operands, wrong, **attrs):
    """The verdict on results that `wrong` computes in f64 and stores in the type of the first float."""
    stored = next((x.dtype for x in operands if x.dtype.kind in "fc"), np.float32)
    results = wrong(*(x.astype({"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype)) for x in operands))
    results = [y.astype(stored) for y in results] if isinstance(results, list) else results.astype(stored)
    return assay.check(op, operands, results, explain="full", **attrs)


class FurtherMistakes(unittest.TestCase):
    def test_each_stands_in_the_guide_with_what_is_said_of_it(self):
        rows = GUIDE.read_text(encoding="utf-8").splitlines()
        for turn, mistake in enumerate(FURTHER):
            if not FULL and "attention" in mistake.op and turn % 3:
                continue  # these take as long as all others together
            with self.subTest(f"{mistake.op}: {mistake.done}"):
                verdict = run(mistake.op, mistake.operands, mistake.wrong, **mistake.attrs)
                self.assertFalse(verdict.passed_strictly)
                self.assertIn(mistake.says, verdict.cause)
                self.assertEqual(mistake.says == "", verdict.cause == "", verdict.cause)
                self.assertIn(f"| `{mistake.op}` | {mistake.done} | {verdict.cause or '*unexplained*'} |", rows)


class CausesOverShapesAndTypes(unittest.TestCase):
    def has_cause(self, cause, op, shapes, wrong, types=("f2", "f4", "f8") if FULL else ("f2", "f4"), **attrs):
        for dtype in types:
            for of in shapes:
                with self.subTest(cause, dtype=dtype, shapes=of):
                    x = [normals(*shape) + (1j * normals(*shape) if dtype[0] == "c" else 0) for shape in of]
                    self.assertIn(cause, run(op, [a.astype(dtype) for a in x], wrong, **attrs).cause)

    def test_weights_with_one_more_or_twice_and_offsets_before_them(self):
        of_rms, of_layers = [[(16, 48), (48,)], [(5, 130), (130,)]], [[(16, 48), (48,), (48,)], [(5, 130), (130,), (130,)]]
        self.has_cause("* (gamma + 1) in place of", "rms_norm", of_rms, lambda x, g: rms_norm(x, g + 1, 1e-6))
        self.has_cause("* gamma) * gamma in place of", "rms_norm", of_rms, lambda x, g: rms_norm(x, g * g, 1e-6))
        self.has_cause("* (gamma + 1) in place of", "layer_norm", of_layers, lambda x, g, b: layer_norm(x, g + 1, b))
        self.has_cause("+ beta) * gamma in place of", "layer_norm", of_layers, lambda x, g, b: layer_norm(x, g, b * g))

    def test_halves_that_lie_in_turn(self):
        shapes = [[(16, 64)], [(3, 34)]]
        self.has_cause("halves along axis 1 that lie in turn", "silu_and_mul", shapes, lambda x: x[:, ::2] * sigmoid(x[:, ::2]) * x[:, 1::2])
        self.has_cause("halves along axis 1 that lie in turn", "gelu_and_mul", shapes,
                       lambda x: x[:, ::2] / 2 * (1 + np.vectorize(math.erf)(x[:, ::2] / math.sqrt(2))) * x[:, 1::2])

    def test_images_that_are_padded_by_something_else(self):
        for mode, cause in (("edge", "by its edges"), ("reflect", "by its mirror image"), ("wrap", "by its other end")):
            both = (1, [[(2, 3, 9, 8), (4, 3, 3, 3)]]), (2, [[(1, 2, 7, 12), (3, 2, 5, 5)]])
            for pad, shapes in both[:1 + (FULL or mode == "edge")]:
                self.has_cause(cause, "conv", shapes, lambda x, w, mode=mode, pad=pad: correlate(padded(x, pad, mode), w), pad=[pad, pad])
        self.has_cause("by its edges", "avg_pool", [[(2, 3, 9, 8)], [(1, 2, 6, 6)]], lambda x: windows(padded(x, 1, "edge")).mean((-1, -2)), k=3, pad=1)

    def test_transforms_that_are_normalised_otherwise(self):
        for n in (64, 60):
            for cause, wrong, attrs in ((f"the output y divided by {n}", lambda x: np.fft.fft(x) / x.shape[-1], {}),
                                        ("norm=ortho", lambda x: np.fft.fft(x) / math.sqrt(x.shape[-1]), {}),
                                        ("norm=none", lambda x: np.fft.ifft(x) * x.shape[-1], {"dir": "inv", "norm": "backward"})):
                self.has_cause(cause, "fft", [[(3, n)]], wrong, ["c8", "c16"], **attrs)

    def test_operands_and_sums_in_f16(self):
        def product(a, b):
            a, b, y = a.astype(np.float16).astype(float), b.astype(np.float16).astype(float), np.zeros((len(a), b.shape[1]))
            for k in range(len(b)):
                y = (y + a[:, k:k + 1] * b[k]).astype(np.float16).astype(float)
            return y
        self.has_cause("running sums sum(a * b) in f16 or tf32, as all operands", "matmul", [[(16, 64), (64, 24)], [(33, 40), (40, 20)]], product, ["f4"])

    def test_convolutions_are_searched_as_formulas(self):
        def in_f16(x, w):
            windows, y = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3)), np.zeros((len(x), len(w), *(np.array(x.shape[2:]) - 2)))
            for c, i, j in np.ndindex(*w.shape[1:]):
                y = (y + windows[:, None, c, :, :, i, j] * w[None, :, c, i, j, None, None]).astype(np.float16).astype(float)
            return y
        shapes = [[(2, 3, 8, 9), (4, 3, 3, 3)]]
        self.has_cause("running sums sum(elements(x) * w) in f16", "conv", shapes, in_f16, ["f4"])
        self.has_cause("sum(abs(elements(x) * w)) in place of", "conv", shapes, lambda x, w: correlate(abs(x), abs(w)), ["f4"])

    def test_causal_masks_that_are_off_by_one(self):
        for queries, keys in ((16, 33), *[(24, 24), (256, 256)] * FULL):
            shapes = [[(1, 2, queries, 32), (1, 2, keys, 32), (1, 2, keys, 32)]]
            self.has_cause("a causal mask that shows one key more", "attention", shapes, lambda q, k, v: attention(q, k, v, mask=seen(q, k, 1)), causal=1)
        # The first query sees no key then.
        self.has_cause("a causal mask that shows one key less", "attention", [[(1, 2, 16, 24), (1, 2, 33, 24), (1, 2, 33, 24)]],
                       lambda q, k, v: attention(q, k, v, mask=seen(q, k, -1)), causal=1)

    def test_wrong_bits_are_no_cause_of_their_own(self):
        logits = normals(8, 60) * 2
        p = softmax(logits)
        for wrong in (p >= 0.1, p >= 0.2 * p.max(-1, keepdims=True)):
            verdict = assay.check("min_p_mask", [logits], wrong, min_p=0.1, explain="full")
            self.assertFalse(verdict)
            self.assertNotIn("where it is wrong", verdict.cause)


if __name__ == "__main__":
    unittest.main()
