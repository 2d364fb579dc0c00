# SPDX-License-Identifier: Apache-2.0
"""Everyday mistakes, and what a failing check says of each: causes_test.py [CLASS]."""
import math
import pathlib
import re
import unittest

import numpy as np

import assay
import mistakes
import narrow
from full import FULL
from mistakes import layer_norm, rms_norm, softmax

GUIDE = pathlib.Path(__file__).parents[2] / "harness/tools/explain/README.md"


def attention(q, k, v, scale=None, causal=False):
    return mistakes.attention(q, k, v, scale, mistakes.seen(q, k) if causal else None)


def operands_of(mistake):
    rng = np.random.default_rng(0)
    operands = [rng.standard_normal(shape) for shape in mistake.shapes]
    operands[0] *= mistake.size
    if mistake.op == "softmax_backward":
        operands[0] = softmax(operands[0])
    if mistake.op == "stft":
        operands[1] = mistakes.hann(16, 0)
    if mistake.op is mistakes.cross_entropy:
        operands[1] = np.eye(32)[rng.integers(0, 32, 16)]
    return [x.astype(np.float32) for x in operands]


class EverydayMistakes(unittest.TestCase):
    def test_each_is_named_and_stands_in_the_guide(self):
        rows = GUIDE.read_text(encoding="utf-8").splitlines()
        for mistake in mistakes.MISTAKES:
            with self.subTest(mistake.done):
                operands = operands_of(mistake)
                got = mistake.wrong(*(x.astype(np.float64) for x in operands)).astype(np.float32)
                verdict = assay.check(mistake.op, operands, got, explain="full", **mistake.attrs)
                self.assertFalse(verdict.passed_strictly)
                self.assertRegex(verdict.cause, mistake.says)
                name = mistake.op if isinstance(mistake.op, str) else mistake.op.__name__
                self.assertIn(f"| `{name}` | {mistake.done} | {verdict.cause} |", rows)

    def test_damage_of_no_such_kind_has_no_cause(self):
        rng = np.random.default_rng(1)
        damages = {"noise": lambda y: y + 0.01 * rng.standard_normal(y.shape), "a factor": lambda y: 1.013 * y, "an addend": lambda y: y + 0.07,
                   "a row": lambda y: y * np.where(np.arange(len(y)) == 1, 0.9, 1).reshape(-1, *[1] * (y.ndim - 1)),
                   "every third": lambda y: y * np.where(np.arange(y.size) % 3, 1, 1.3).reshape(y.shape)}
        for turn, (op, shapes, right) in enumerate(mistakes.RIGHT):
            operands = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
            exact = right(*(x.astype(np.float64) for x in operands))
            self.assertTrue(assay.check(op, operands, exact.astype(np.float32)).passed)
            for k, (name, damage) in enumerate(damages.items()):
                if not FULL and (turn + k) % len(damages) > 0:
                    continue  # one of five of each operator
                with self.subTest(op, damage=name):
                    verdict = assay.check(op, operands, damage(exact).astype(np.float32), explain="full")
                    self.assertFalse(verdict.passed_strictly)
                    self.assertEqual(verdict.cause, "")


def staged(x, change=lambda w, points: w):
    """The transform along the last axis by stages of two, of whose twiddles `change` makes others."""
    n = x.shape[-1]
    if n == 1:
        return x
    even, odd = staged(x[..., ::2], change), staged(x[..., 1::2], change)
    odd = odd * change(np.exp(-2j * np.pi * np.arange(n // 2) / n), n)
    return np.concatenate([even + odd, even - odd], -1)


def staged_by_four(x, turn):
    n = x.shape[-1]
    if n == 1:
        return x
    a, b, c, d = (staged_by_four(x[..., r::4], turn) * np.exp(-2j * np.pi * r * np.arange(n // 4) / n) for r in range(4))
    return np.concatenate([a + b + c + d, a - c - turn * (b - d), a - b + c - d, a - c + turn * (b - d)], -1)


def of_pairs(x):
    """A real line as half as many complex numbers, taken apart by conjugated twiddles."""
    n, even, odd = x.shape[-1], np.fft.fft(x[..., ::2]), np.fft.fft(x[..., 1::2])
    places = np.arange(n // 2 + 1)
    return even[..., places % (n // 2)] + np.exp(2j * np.pi * places / n) * odd[..., places % (n // 2)]


def in_f32(w):
    return w.astype(np.complex64).astype(np.complex128)


def one_in_f32(w, points):
    return np.where((np.arange(len(w)) == 5) & (points == 64), in_f32(w), w)


BIT_REVERSED = [int(f"{i:06b}"[::-1], 2) for i in range(64)]
REAL = {"kind": "r2c"}
# Each has what was done, by which words it is named, the type of the operand [3, 64], what was computed, and attributes.
TRANSFORMS = [
    ("not normalised", "norm=none", "c8", np.fft.fft, {"norm": "ortho"}),
    ("normalised, which nobody asked for", "output y divided by 64", "c8", lambda x: np.fft.fft(x) / 64, {}),
    ("inverse, not forward", "dir=inv", "c8", lambda x: np.fft.ifft(x) * 64, {}),
    ("the operand is not put into bit-reversed order", "operand x in bit-reversed order along axis 1", "c8", lambda x: np.fft.fft(x[:, BIT_REVERSED]), {}),
    ("results are left in bit-reversed order", "output y in bit-reversed order along axis 1", "c8", lambda x: np.fft.fft(x)[:, BIT_REVERSED], {}),
    ("results are conjugated", "output y conjugated", "c8", lambda x: np.fft.fft(x).conj(), {}),
    ("the operand is conjugated", "operand x conjugated", "c8", lambda x: np.fft.fft(x.conj()), {}),
    ("real and imaginary parts are exchanged", "output y with real and imaginary parts exchanged", "c8", lambda x: 1j * np.fft.fft(x).conj(), {}),
    ("the sign of the last stage's twiddles", "conjugated twiddles in its stage of 64 points", "c8",
     lambda x: staged(x, lambda w, points: w.conj() if points == 64 else w), {}),
    ("a stage in the middle without twiddles", "no twiddles in its stage of 16 points", "c8",
     lambda x: staged(x, lambda w, points: w ** 0 if points == 16 else w), {}),
    ("a stage of radix 4 that turns the other way", "butterflies that turn the other way in all its stages", "c8", lambda x: staged_by_four(x, -1j), {}),
    ("zero frequency in the middle", "halves|shifted by 32", "c8", lambda x: np.fft.fftshift(np.fft.fft(x), 1), {}),
    ("the half spectrum is one bin late", "output y shifted by 1 along axis 1", "f4", lambda x: np.fft.rfft(x)[:, [0, *range(32)]], REAL),
    ("pairs of reals, taken apart by twiddles of the other sign", "pairs of reals", "f4", of_pairs, REAL),
    ("twiddles in f32, of a transform in f64", "twiddles in f32 in all its stages", "c16", lambda x: staged(x, lambda w, points: in_f32(w)), {}),
    ("one twiddle of the last stage in f32", "twiddles in f32 in its stage of 64 points .* where it is wrong", "c16", lambda x: staged(x, one_in_f32), {}),
]


class Transforms(unittest.TestCase):
    def test_each_mistake_is_named_and_stands_in_the_guide(self):
        rows = GUIDE.read_text(encoding="utf-8").splitlines()
        rng = np.random.default_rng(0)
        self.assertLess(np.abs(staged_by_four(np.eye(64) + 0j, 1j) - np.fft.fft(np.eye(64))).max(), 1e-12)
        for done, says, dtype, wrong, attrs in TRANSFORMS:
            with self.subTest(done):
                x = rng.standard_normal((3, 64))
                x = (x + 1j * rng.standard_normal((3, 64)) if dtype[0] == "c" else x).astype(dtype)
                got = wrong(x.astype(np.complex128 if dtype[0] == "c" else np.float64))
                verdict = assay.check("fft", [x], got.astype(np.complex128 if dtype == "c16" else np.complex64), explain="full", **attrs)
                self.assertFalse(verdict.passed_strictly)
                self.assertRegex(verdict.cause, says)
                self.assertIn(f"| `fft` | {done} | {verdict.cause} |", rows)

    def test_other_damage_has_no_cause(self):
        rng = np.random.default_rng(1)
        x = (rng.standard_normal((3, 64)) + 1j * rng.standard_normal((3, 64))).astype(np.complex64)
        exact = np.fft.fft(x.astype(np.complex128))
        for name, got in (("noise", exact + 0.01 * rng.standard_normal(exact.shape)), ("a factor", 1.013 * exact),
                          ("two stages", staged(x.astype(np.complex128), lambda w, points: w.conj() if points in (8, 64) else w))):
            with self.subTest(name):
                verdict = assay.check("fft", [x], got.astype(np.complex64), explain="full")
                self.assertFalse(verdict.passed_strictly)
                self.assertEqual(verdict.cause, "")


class Causes(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(0)

    def normals(self, *shape):
        return self.rng.standard_normal(shape)

    def reason(self, op, inputs, wrong, **attrs):
        """The reason why results fail that `wrong` computes in f64 and stores in f32."""
        inputs = [x.astype(np.float32) if x.dtype == np.float64 else x for x in inputs]
        exact = [x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs]
        result = wrong(*exact)
        verdict = assay.check(op, inputs, result.astype(np.float32) if result.dtype == np.float64 else result, **attrs)
        self.assertFalse(verdict.passed_strictly, verdict.explanation)
        return verdict.reason

    def is_named(self, cause, op, inputs, wrong, **attrs):
        self.assertRegex(self.reason(op, inputs, wrong, **attrs), f"; it is the right result of {cause}")

    def has_cause(self, cause, op, inputs, wrong, **attrs):
        self.assertIn(f"; it is the right result of {cause}", self.reason(op, inputs, wrong, **attrs))

    def test_attributes(self):
        q, k, v = (self.normals(1, 2, 16, 24) for _ in range(3))
        for cause, wrong in (("scale=1(,|$)", lambda q, k, v: attention(q, k, v, 1.0)),
                             ("scale=0.04166", lambda q, k, v: attention(q, k, v, 1 / 24)),
                             ("causal=1", lambda q, k, v: attention(q, k, v, causal=True))):
            with self.subTest(cause):
                self.is_named(cause, "attention", [q, k, v], wrong)
        erf, x = np.vectorize(math.erf), self.normals(1000)
        self.is_named("approx=tanh", "gelu", [x], lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
        self.is_named("approx=none", "gelu", [x], lambda x: x / 2 * (1 + erf(x / math.sqrt(2))), approx="tanh")
        x = self.normals(16, 64)
        self.is_named("axis=0", "softmax", [self.normals(24, 24)], lambda x: softmax(x, 0))
        self.is_named("log=1", "softmax", [x], lambda x: np.log(softmax(x)))
        self.is_named("kind=mean", "reduce", [x], lambda x: x.mean(1), axes=[1], kind="sum")
        small = self.normals(8, 64) * 1e-3
        self.is_named("eps=1e-05", "rms_norm", [small, np.ones(64)], lambda x, gamma: rms_norm(x, gamma, 1e-5), eps=1e-6)

    def test_operands(self):
        a, b = self.normals(32, 32), self.normals(32, 32)
        self.is_named("(transb=1|the last two axes of operand b exchanged)", "matmul", [a, b], lambda a, b: a @ b.T)
        self.is_named("the operands a and b exchanged", "matmul", [a, b], lambda a, b: b @ a)
        x, gamma, beta = self.normals(16, 48), self.normals(48), self.normals(48)
        for cause, wrong in (("the operand gamma all 1", lambda x, gamma, beta: layer_norm(x, 1, beta)),
                             ("the operand beta all 0", lambda x, gamma, beta: layer_norm(x, gamma, 0)),
                             ("the operand gamma shifted by -1 along axis 0", lambda x, gamma, beta: layer_norm(x, np.roll(gamma, -1), beta)),
                             ("the operand beta negated", lambda x, gamma, beta: layer_norm(x, gamma, -beta)),
                             ("the operands gamma and beta exchanged", lambda x, gamma, beta: layer_norm(x, beta, gamma))):
            with self.subTest(cause):
                self.is_named(cause, "layer_norm", [x, gamma, beta], wrong)
        q, k, v = (self.normals(1, 1, 8, 16) for _ in range(3))
        self.is_named("the operand k reversed along axis 2, or of the operand v reversed along axis 2", "attention", [q, k, v], lambda q, k, v: attention(q, k, v[:, :, ::-1]))
        signal, kernel = self.normals(1, 2, 40), self.normals(3, 2, 5)
        self.is_named("the operand w reversed along axis 2", "conv", [signal, kernel], lambda x, w: np.stack(
            [sum(np.convolve(x[0, c], w[o, c], "valid") for c in range(2)) for o in range(3)])[None])

    def test_a_quick_search_that_ends_early_says_so(self):
        def explanation(op, *shapes):
            *operands, noise = (self.normals(*shape).astype(np.float32) for shape in shapes)
            return assay.check(op, operands, noise).explanation
        note = "note: a quick search for causes ended without one; explain='full' searches longer"
        self.assertIn(note, explanation("layer_norm", (64, 256), (256,), (256,), (64, 256)))
        self.assertNotIn("quick search", explanation("relu", (640,), (640,)))  # all is tried

    def test_two_mistakes_at_once(self):
        x, gamma, beta = self.normals(16, 48), self.normals(48), self.normals(48)
        if FULL:  # the next one has such a pair, too
            self.has_cause("two mistakes: the operand beta all 0, and the formula with 47 in place of 48", "layer_norm",
                           [x, gamma, beta], lambda x, gamma, beta: layer_norm(x, gamma, 0, ddof=1), explain="full")
        self.has_cause("two mistakes: the operand gamma all 1, and the formula with sum(x * x) in place of mean(x * x)", "rms_norm", [x, gamma],
                       lambda x, gamma: x / np.sqrt((x * x).sum(1, keepdims=True) + 1e-6), explain="full")
        self.has_cause("two mistakes: the formula with ", "rms_norm", [x, gamma],
                       lambda x, gamma: x / ((x * x).sum(1, keepdims=True) + 1e-6) * gamma, explain="full")

    def test_a_number_that_nobody_would_guess_is_found(self):
        x, gamma, beta = self.normals(16, 48), self.normals(48), self.normals(48)
        for eps in (0.1, 0.0437):
            far = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps) * gamma + beta
            self.assertEqual(assay.check("layer_norm", [x, gamma, beta], far, explain="full").cause, f"eps={eps}")
        q, k, v = (self.normals(1, 2, 8, 16) for _ in range(3))
        self.is_named("scale=0.37", "attention", [q, k, v], lambda q, k, v: attention(q, k, v, 0.37))

    def test_formulas_of_ones_own(self):
        def scaled(x, bias):
            return 2.0 * assay.namespace(x).tanh(x + bias)
        self.is_named("the operand bias all 0", scaled, [self.normals(8, 32), self.normals(32)], lambda x, bias: 2 * np.tanh(x))

    def test_elements_of_complex_operands_move_as_a_whole(self):
        x = (self.normals(4, 24) + 1j * self.normals(4, 24)).astype(np.complex64)
        self.is_named("(dir=inv|.*the operand x reversed along axis 1)", "fft", [x],
                      lambda x: np.fft.fft(x[:, ::-1].astype(np.complex128)).astype(np.complex64))

    def test_sums_of_blocks_in_few_bits(self):
        def in_blocks(terms, size, after_each):
            total = np.zeros(terms.shape[:-1])
            for first in range(0, terms.shape[-1], size):
                block = np.zeros(terms.shape[:-1])
                for k in range(first, min(first + size, terms.shape[-1])):
                    block = block + terms[..., k]
                    block = block.astype(np.float16).astype(float) if after_each else block
                total += block.astype(np.float16)
            return total
        a, b, x = self.normals(16, 64), self.normals(64, 32), self.normals(64, 300)
        self.has_cause("the formula with sum(a * b) in blocks of 32 terms in f16", "matmul", [a, b],
                       lambda a, b: in_blocks(a[:, None, :] * b.T, 32, True), explain="full")
        self.has_cause("the formula with sum(x) in blocks of 64 terms, each rounded to f16", "reduce", [x],
                       lambda x: in_blocks(x, 64, False), axes=[1], kind="sum", explain="full")

    def test_operands_in_other_layouts_and_in_few_bits(self):
        q, k, v = (self.normals(2, 4, 16, 24) for _ in range(3))
        for cause, wrong in (("the first slice along axis 1 of operand v in place of all", lambda q, k, v: attention(q, k, v[:, :1].repeat(4, 1))),
                             ("the output o reversed along axis 1", lambda q, k, v: attention(q, k, v)[:, ::-1]),
                             ("the output o stored as if axes 1 and 2 lay in the other order",
                              lambda q, k, v: attention(q, k, v).transpose(0, 2, 1, 3).reshape(q.shape))):
            with self.subTest(cause):
                self.has_cause(cause, "attention", [q, k, v], wrong, explain="full")
        x, w = self.normals(2, 4, 8, 8), self.normals(6, 4, 3, 3)
        scale = np.abs(x).max().astype(np.float32) / 127
        self.has_cause("the operand x in int8 with one scale for all", "conv", [x, w], lambda x, w: mistakes.correlate(np.round(x / scale) * scale, w),
                       explain="full")
        self.has_cause("the operand x read as if axis 1 lay behind axis 3", "conv", [x, w],
                       lambda x, w: mistakes.correlate(x.reshape(2, 8, 8, 4).transpose(0, 3, 1, 2), w), explain="full")
        a, b, c = self.normals(16, 64), self.normals(64, 32), self.normals(16, 32)
        self.is_named(r"the formula with .sum\(a \* b\) \+ .*\) \* 0.7 in place of", "matmul", [a, b, c],
                      lambda a, b, c: 0.7 * (a @ b + 1.7 * c), alpha=0.7, beta=1.7, explain="full")
        rows = self.normals(16, 64)
        self.has_cause("the formula with sum(exp(x - max(x))) without every second term", "softmax", [rows],
                       lambda x: np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True))[:, ::2].sum(1, keepdims=True),
                       explain="full")

    def test_one_value_of_an_attribute_is_named_and_what_was_left_out(self):
        a, b, c = self.normals(16, 24), self.normals(24, 32), self.normals(16, 32)
        self.assertRegex(self.reason("matmul", [a, b, c], lambda a, b, c: a @ b, beta=0.5), "result of the operand c all 0$")
        q, k, v = (self.normals(1, 2, 16, 24) for _ in range(3))
        self.is_named("window=0", "attention", [q, k, v], lambda q, k, v: attention(q, k, v, causal=True), causal=True, window=4)

    def test_a_case_by_which_anything_holds_is_no_cause(self):
        q, k, v = (self.normals(1, 1, 16, 32).astype(np.float16) for _ in range(3))
        wrong = (attention(q, k, v) * 1.2).astype(np.float16)
        for result in (wrong, np.full_like(wrong, 0.25)):
            self.assertNotIn("right result of", assay.check("attention", [q, k, v], result).reason)

    def test_single_numbers_of_few_digits_have_no_cause(self):
        """One of some hundred other cases comes near a number of three digits by chance."""
        def loss(x, z):
            return assay.namespace(x).mean((x - z) * (x - z))
        for dtype, store in narrow.ROUND.items():
            for seed in range(10 if FULL else 4):
                rng = np.random.default_rng(seed)
                x, z = (narrow.normals(rng, store, 8, 20) for _ in range(2))
                for factor in (1.1, 0.9, 1.3, 0.5):
                    verdict = assay.check(loss, [x, z], store(np.float32(factor) * ((x - z) ** 2).mean()), dtypes=dict(x=dtype, z=dtype, y=dtype))
                    self.assertEqual((verdict.passed, verdict.cause), (False, ""), (dtype, seed, factor))

    def test_an_output_of_one_constant_has_no_cause(self):
        x = self.normals(8, 512).astype(np.float32)
        self.assertNotIn("right result of", assay.check("reduce", [x], np.zeros(8, np.float32), axes=[1], kind="sum").reason)

    def test_a_result_that_holds_by_what_was_declared_has_no_cause(self):
        x = self.normals(8, 64).astype(np.float32)
        verdict = assay.check("reduce", [x], x.sum(1, dtype=np.float64).astype(np.float32), axes=[1], kind="sum",
                              contract="acc=f16", require="acc=f32")
        self.assertFalse(verdict)
        self.assertNotIn("right result of", verdict.reason)

    def test_other_faults_have_no_such_cause(self):
        a, b = self.normals(32, 32), self.normals(32, 32)
        tile = np.indices((32, 32)).max(0) < 8
        for name, wrong in (("noise", lambda a, b: a @ b + 1e-2 * self.normals(32, 32)),
                            ("noise in a tile", lambda a, b: a @ b + tile * self.normals(32, 32)),
                            ("a factor", lambda a, b: 1.01 * (a @ b)),
                            ("a factor in a tile", lambda a, b: np.where(tile, 1.01, 1) * (a @ b))):
            with self.subTest(name):
                self.assertNotIn("right result of", self.reason("matmul", [a, b], wrong))

    def test_a_factor_of_one_row_is_no_rounding_of_all(self):
        """Some rounding of the row's sum comes near any small factor, but it says one number, and other rows say nothing."""
        q, k, v = (self.normals(1, 1, 16, 16) for _ in range(3))
        for factor in 1 + np.array([3e-5, 4e-5, 6e-5, 1e-4, 2e-4, 3e-4, 2e-3] if FULL else [4e-5, 1e-4, 3e-4]):
            for row in range(0, 8, 2 if FULL else 8):
                one = np.where(np.arange(16) == row, factor, 1)[:, None]
                self.assertNotIn("right result of", self.reason("softmax", [self.normals(16, 40)], lambda x, one=one: softmax(x) * one), (factor, row))
                if FULL or factor == 1 + 1e-4:
                    self.assertNotIn("right result of", self.reason("attention", [q, k, v], lambda q, k, v, one=one: attention(q, k, v) * one), (factor, row))

    def test_a_factor_of_all_elements_is_no_rounding_of_a_constant(self):
        """Some rounding of a constant comes near any small factor, which says one number however many elements have it."""
        x, gamma = self.normals(12, 48), self.normals(48)
        for factor in np.geomspace(2e-5, 4e-4, 48)[::1 if FULL else 24]:
            self.assertNotIn("rounded to", self.reason("rms_norm", [x, gamma], lambda x, g, f=factor: rms_norm(x, g, 1e-6) * (1 + f)), factor)

    def test_an_output_is_rounded_only_where_its_errors_are_those_of_that_rounding(self):
        x = self.normals(64 if FULL else 16, 300)

        def running(x):
            mean = np.zeros(len(x))
            for k, column in enumerate(x.T):
                mean = narrow.bits(mean + (column - mean) / (k + 1), 16)
            return mean
        self.assertNotIn("output y rounded", self.reason("reduce", [x], running, axes=[1], kind="mean", explain="full"))

    def test_a_running_sum_that_is_stored_once_is_named(self):
        a, b = self.normals(40, 200), self.normals(200, 24)
        self.assertIn("behaves like bf16 a running sum after 192 of 200 terms (mid=bf16)", self.reason(
            "matmul", [a, b], lambda a, b: narrow.bf16(a[:, :192] @ b[:192]) + a[:, 192:] @ b[192:]))

    def test_a_bug_of_some_places_is_named_with_them(self):
        a, b = self.normals(32, 40), self.normals(40, 32)
        tile = np.indices((32, 32)).max(0) < 8
        self.has_cause("the formula with sum(a * b) without its last 8 terms where it is wrong", "matmul", [a, b],
                      lambda a, b: np.where(tile, a[:, :32] @ b[:32], a @ b))
        self.has_cause("the output y all 0 where it is wrong", "matmul", [a, b], lambda a, b: np.where(tile, 0, a @ b))
        self.has_cause("the operand c all 0 where it is wrong", "matmul", [a, b, self.normals(32, 32)],
                       lambda a, b, c: a @ b + np.where(tile, 0, 2 * c), beta=2)

    def test_a_single_wrong_number_tells_what_it_is_where_others_are_right(self):
        a, b = self.normals(16, 32), self.normals(32, 16)
        here = np.arange(256).reshape(16, 16) == 137
        self.has_cause("the formula with sum(a * b) without its last term where it is wrong", "matmul", [a, b],
                      lambda a, b: np.where(here, a[:, :-1] @ b[:-1], a @ b))
        self.has_cause("the output y rounded to 12 bits where it is wrong", "exp", [self.normals(256)],
                      lambda x: np.where(here.ravel(), narrow.bits(np.exp(x), 12), np.exp(x)))
        for factor in (0.91, 1.17, 1.3):  # no mistake that is tried
            self.assertNotIn("right result of", self.reason("matmul", [a, b], lambda a, b: np.where(here, factor, 1) * (a @ b)))
        # Small whole numbers come out of many mistakes.
        few = np.zeros((4, 4))
        few[1, 2] = 1
        self.assertNotIn("right result of", self.reason("matmul", [few, few.T], lambda a, b: 0 * a))

    def test_wrong_elements_of_all_outputs_bear_witness(self):
        x = self.normals(18, 67).astype(np.float32)
        means = np.where(np.arange(18) == 17, x[:, :-1].sum(1, dtype=float) / 67, x.mean(1, dtype=float))
        centred = x - means[:, None]
        rstd = 1 / np.sqrt((centred ** 2).mean(1) + 1e-5)
        verdict = assay.check("layer_norm", [x, np.ones(67, np.float32), np.zeros(67, np.float32)],
                              [y.astype(np.float32) for y in (centred * rstd[:, None], means, rstd)], stats=1)
        self.assertIn("the formula with sum(x) without its last term where it is wrong", verdict.reason)

    def test_values_that_are_stored_elsewhere_are_named(self):
        a, b = self.normals(32, 40), self.normals(40, 32)
        # More than columns of b in each other's place.
        self.has_cause("the output y with neighbours along axis 1 exchanged", "matmul", [a, b, self.normals(32, 32)],
                       lambda a, b, c: (a @ b + 2 * c)[:, np.arange(32) ^ 1], beta=2)
        self.has_cause("the output y shifted by 1 along axis 0 where it is wrong", "matmul", [a, b],
                      lambda a, b: (a @ b)[np.minimum(np.arange(32), 30)])
        self.has_cause("the output y shifted by 1 along axis 1, round the end", "matmul", [a, b, self.normals(32, 32)],
                       lambda a, b, c: np.roll(a @ b + 2 * c, 1, 1), beta=2)
        wide = b[:, :20]
        self.has_cause("the output y stored as its transpose lies", "matmul", [a, wide], lambda a, b: (a @ b).T.reshape(32, 20))
        self.has_cause("the output y read as if its transpose lay there", "matmul", [a, wide], lambda a, b: (a @ b).reshape(20, 32).T)
        self.has_cause("the operand a read as if its transpose lay there", "matmul", [a, b],
                      lambda a, b: a.reshape(40, 32).T @ b)

    def test_a_spectrum_in_fewer_bits_is_named(self):
        x = self.normals(4, 64) + 1j * self.normals(4, 64)

        def rounded(x):
            y = np.fft.fft(x)
            return y.real.astype(np.float16) + 1j * y.imag.astype(np.float16)
        self.has_cause("the output y rounded to f16", "fft", [x.astype(np.complex64)], rounded)

    def test_a_flipped_bit_is_named(self):
        a, b = self.normals(32, 40), self.normals(40, 32)

        def flips(bit, every):
            def product(a, b):
                y = (a.astype(float) @ b).astype("f")
                y.view("u4").flat[5::every] ^= np.uint32(1 << bit)
                return y
            return product
        self.has_cause("the output y with bit 21 flipped where it is wrong", "matmul", [a, b], flips(21, 256))
        self.has_cause("the output y with bit 30 flipped where it is wrong", "matmul", [a, b], flips(30, 1024))
        # A single one is told where it is off by 2^13 times what the right ones are.
        self.has_cause("the output y with bit 24 flipped where it is wrong", "matmul", [a, b], flips(24, 1024))
        self.assertNotIn("flipped", self.reason("matmul", [a[:16], b[:, :16]], flips(12, 1024)))

    def test_numbers_that_are_kept_in_fewer_bits_are_named(self):
        def softmax(x, of_exp, of_sum):
            e = of_exp(np.exp(x - x.max(1, keepdims=True)))
            return e / of_sum(e.sum(1, keepdims=True))

        x = self.normals(16, 50)
        self.has_cause("the formula with exp(x - max(x)) rounded to bf16", "softmax", [x], lambda x: softmax(x, lambda e: narrow.bits(e, 8), np.positive))
        self.has_cause("the formula with sum(exp(x - max(x))) rounded to 12 bits", "softmax", [x],
                      lambda x: softmax(x, np.positive, lambda s: narrow.bits(s, 12)))

        def running(x):
            total = np.zeros(len(x))
            for column in x.T:
                total = narrow.bits(total + column, 8)
            return total

        self.has_cause("the formula with running sums sum(x) in bf16", "reduce", [np.abs(self.normals(64, 30))], running, axes=[1],
                      kind="sum")

    def test_few_bits_of_an_output_and_the_exponents_of_f16_hide_nothing(self):
        x = narrow.bf16(self.normals(32, 130))

        def rounded(x):
            e = narrow.f16(np.exp(x - x.max(1, keepdims=True)))
            return narrow.bf16(e / e.sum(1, keepdims=True))
        verdict = assay.check("softmax", [x], rounded(x), dtypes=dict(x="bf16", y="bf16"), contract="acc=f32; math=4")
        self.assertIn("the formula with exp(x - max(x)) rounded to f16", verdict.reason)
        large = 2e4 * np.abs(self.normals(64, 30))  # of which some are infinite in f16
        self.has_cause("the formula with x rounded to f16", "reduce", [large], lambda x: narrow.f16(x).sum(1, dtype=float), axes=[1],
                      kind="sum")

        def spilled(x):
            total = np.zeros(len(x))
            for first in range(0, 120, 16):
                total = narrow.bits(total + x[:, first:first + 16].sum(1), 8)
            return total
        self.has_cause("the formula with running sums sum(x) rounded to bf16 every 16 terms", "reduce", [np.abs(self.normals(64, 120))],
                      spilled, axes=[1], kind="sum")

    def test_a_rounding_that_fits_by_chance_is_not_named_where_another_cause_fits_better(self):
        """No element is beyond its bound: the statistic alone fails, and the reciprocal of 48 in 16 bits explains three quarters of it."""
        rng = np.random.default_rng(1)
        x, gamma, beta = (rng.standard_normal(shape).astype(np.float32) for shape in ((8, 48), 48, 48))
        wide = x.astype(np.float64)
        wrong = (wide - wide.mean(-1, keepdims=True)) / (wide.std(-1, keepdims=True) + 1e-5) * gamma + beta
        verdict = assay.check("layer_norm", [x, gamma, beta], wrong.astype(np.float32), explain="full")
        self.assertFalse(verdict)
        self.assertLess(verdict.margins["bound"], 1)
        self.assertRegex(verdict.cause, r"^(eps=2e-05|the formula with 1 / \(sqrt\(mean\(\.\.\.\)\) \+ 1e-05\))")

    def test_a_mask_hides_no_cause(self):
        q, k, v = (self.normals(1, 2, 16, 24) for _ in range(3))
        seen = np.tril(np.ones((16, 16), np.int8))

        def in_base_2(q, k, v, mask):
            scores = np.where(mask, q @ k.swapaxes(-1, -2) / math.sqrt(24), -np.inf)
            e = np.exp2(scores - scores.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True) @ v
        self.has_cause("the formula with exp in base 2 in place of exp(", "attention", [q, k, v, seen], in_base_2)

    def test_a_large_case_is_tried_on_some_slices_first(self):
        a, b = self.normals(512, 512), self.normals(512, 512)
        self.is_named("transb=1", "matmul", [a, b], lambda a, b: a @ b.T)


if __name__ == "__main__":
    unittest.main()
