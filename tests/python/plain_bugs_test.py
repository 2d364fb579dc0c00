# SPDX-License-Identifier: Apache-2.0
"""Plain bugs are no weaker arithmetic, and weaker arithmetics are: plain_bugs_test.py [CLASS]."""
import math
import unittest

import numpy as np

import assay
import narrow

ROUND = {"f32": lambda x: np.asarray(x, np.float32), **narrow.ROUND}


def erf(x):
    return np.vectorize(math.erf)(x)


class PlainBugs(unittest.TestCase):
    def is_mismatch(self, op, inputs, output, dtype, **attrs):
        """Fails the requirement of f32 sums, in every type."""
        names = [name for name, _ in inputs] + [output[0]]
        verdict = assay.check(op, dict(inputs), dict([output]), dtypes=dict.fromkeys(names, dtype), **attrs)
        self.assertEqual((verdict.verdict, verdict.arithmetic), ("mismatch", None), f"{op} {dtype}: {verdict.reason}")

    def elements(self, op, wrong, spread=2.0, offset=0.0):
        for dtype, store in ROUND.items():
            rng = np.random.default_rng(1)
            x = store((np.abs(rng.standard_normal(4096)) if offset else rng.standard_normal(4096)) * spread + offset)
            with self.subTest(op=op, dtype=dtype):
                self.is_mismatch(op, [("x", x)], ("y", store(wrong(x.astype(np.float64)))), dtype)

    def test_gelu_by_tanh_and_by_a_sigmoid(self):
        self.elements("gelu", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
        self.elements("gelu", lambda x: x / (1 + np.exp(-1.702 * x)))

    def test_a_root_by_one_newton_step(self):
        def root(x):
            bits = np.asarray(x, np.float32).view(np.uint32)
            y = (0x5F3759DF - (bits >> 1)).astype(np.uint32).view(np.float32).astype(np.float64)
            return y * (1.5 - 0.5 * x * y * y)
        self.elements("rsqrt", root, offset=0.1)

    def test_a_tanh_that_is_cut(self):
        self.elements("tanh", lambda x: np.where(np.abs(x) > 1.8, np.sign(x), np.tanh(x)))

    def test_every_fourth_column_is_one_ulp_up(self):
        for dtype in ("bf16", "f16"):
            store, rng = ROUND[dtype], np.random.default_rng(2)
            a, b = narrow.normals(rng, store, 64, 256), narrow.normals(rng, store, 256, 64)
            y = store(a.astype(np.float64) @ b)
            stored = y.astype(np.float16) if dtype == "f16" else (y.view(np.uint32) >> 16).astype(np.uint16)
            bits = stored.view(np.uint16).copy()
            bits[:, ::4] += 1
            with self.subTest(dtype=dtype):
                verdict = assay.check("matmul", [a, b], bits if dtype == "bf16" else bits.view(np.float16),
                                      dtypes=dict.fromkeys("aby", dtype))
                self.assertEqual((verdict.verdict, verdict.arithmetic), ("mismatch", None), verdict.reason)

    def test_a_convolution_that_is_padded_one_short(self):
        for dtype, store in ROUND.items():
            rng = np.random.default_rng(3)
            x, w = narrow.normals(rng, store, 1, 8, 6, 6), narrow.normals(rng, store, 4, 8, 3, 3)
            padded = np.pad(x, ((0, 0), (0, 0), (1, 0), (1, 0)))
            padded = np.pad(padded, ((0, 0), (0, 0), (0, 1), (0, 1)), mode="edge")  # the last row and column again
            windows = np.lib.stride_tricks.sliding_window_view(padded.astype(np.float64), (3, 3), (2, 3))
            y = store(np.einsum("ncijkl,ockl->noij", windows, w.astype(np.float64)))
            with self.subTest(dtype=dtype):
                self.is_mismatch("conv", [("x", x), ("w", w)], ("y", y), dtype, pad=1)

    def test_lost_terms_and_wrong_divisors_of_long_positive_sums(self):
        """A truncating matrix unit may lose as much, but only of products, and never the same share everywhere."""
        x = np.abs(np.random.default_rng(5).standard_normal((16, 8192))).astype(np.float32)
        w, rows = x[::-1].T.copy(), x.astype(np.float64)
        products = rows @ w
        second = products.copy()
        second[::2] -= rows[::2, -1:] * w[-1]
        for op, inputs, y, attrs in (
                ("reduce", [("x", x)], rows[:, :-1].sum(1), {"axes": 1}),
                ("reduce", [("x", x)], rows.sum(1) / 8193, {"axes": 1, "kind": "mean"}),
                ("matmul", [("a", x), ("b", w)], rows[:, :-1] @ w[:-1], {}),
                ("matmul", [("a", x), ("b", w)], second, {})):
            self.is_mismatch(op, inputs, ("y", y.astype(np.float32)), "f32", **attrs)
        narrow_x, narrow_w = narrow.bf16(x), narrow.bf16(w)
        exact = narrow_x.astype(np.float64) @ narrow_w
        lost = [np.outer(narrow_x[:, k], narrow_w[k]) for k in (-1, -2)]
        for wrong in (exact - lost[0] - lost[1], exact * 8192 / 8194, exact - 1e-4 * exact.mean()):
            verdict = assay.check("matmul", [narrow_x, narrow_w], wrong.astype(np.float32), dtypes={"a": "bf16", "b": "bf16"})
            self.assertEqual((verdict.passed_strictly, verdict.arithmetic), (False, None), verdict.reason)
            self.assertNotIn("behaves like", verdict.reason)


def truncating_unit(a, b, fraction_bits, block):
    """Products that are aligned to the largest of a block and of the running sum, and cut below the fraction bits."""
    total = np.zeros((a.shape[0], b.shape[1]))
    for k in range(0, a.shape[1], block):
        products = a[:, k:k + block, None].astype(np.float64) * b[None, k:k + block]
        unit = 2.0 ** (np.frexp(np.maximum(np.abs(products).max(1), np.abs(total)))[1] - 1 - fraction_bits)
        total = (np.trunc(products / unit[:, None]).sum(1) + np.trunc(total / unit)) * unit
        last = 2.0 ** (np.frexp(total)[1] - 24)
        total = np.trunc(total / last) * last
    return total.astype(np.float32)


class WeakerArithmetics(unittest.TestCase):
    def is_named(self, field, a, b, y, dtypes=None):
        verdict = assay.check("matmul", [a, b], y, contract="f32acc;math=4", dtypes=dtypes)
        self.assertEqual(verdict.verdict, "below_contract", verdict)
        self.assertTrue(verdict.arithmetic.field.startswith(field), verdict.arithmetic)

    def test_truncating_units_are_named_in_long_positive_sums(self):
        rng = np.random.default_rng(6)
        for draw in (rng.random, lambda shape: 1 + rng.standard_normal(shape)):
            a, b = (narrow.bf16(draw(shape).astype(np.float32)) for shape in ((16, 8192), (8192, 16)))
            self.is_named("acc=tc<", a, b, truncating_unit(a, b, 23, 4), dtypes={"a": "bf16", "b": "bf16"})
            self.is_named("acc=tc<", a, b, truncating_unit(a, b, 24, 8), dtypes={"a": "bf16", "b": "bf16"})
        a, b = (narrow.bf16(rng.random(shape).astype(np.float32)) for shape in ((16, 8192), (8192, 16)))
        self.is_named("acc=tc<", a, b, truncating_unit(a, b, 25, 16), dtypes={"a": "bf16", "b": "bf16"})

    def test_units_that_round_their_operands_to_tf32_are_named(self):
        rng = np.random.default_rng(7)
        a, b = (rng.random(shape).astype(np.float32) for shape in ((16, 4096), (4096, 16)))
        rounded = [((x.view(np.uint32) + 0xFFF + (x.view(np.uint32) >> 13 & 1)) & 0xFFFFE000).astype(np.uint32)
                   .view(np.float32) for x in (a, b)]
        self.is_named("in=tf32rn;acc=tc<", a, b, truncating_unit(*rounded, 24, 4))

    def test_a_wrong_number_among_few_is_no_arithmetic(self):
        """Some order of narrow sums has any neighbour of a narrow number."""
        rng = np.random.default_rng(11)
        for _ in range(20):
            a, b = (rng.random(shape).astype(np.float16) for shape in ((1, 64), (64, 2)))
            y = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)
            y.view(np.int16)[0, 1] += 2
            verdict = assay.check("matmul", [a, b], y, contract="f32acc")
            self.assertEqual((verdict.verdict, verdict.arithmetic), ("mismatch", None), verdict)

    def test_rounded_operands_and_narrow_sums_are_named(self):
        rng = np.random.default_rng(4)
        a, b = rng.standard_normal((48, 200), np.float32), rng.standard_normal((200, 40), np.float32)
        bits = [x.view(np.uint32) for x in (a, b)]
        tf32 = [((x + 0xFFF + (x >> 13 & 1)) & 0xFFFFE000).astype(np.uint32).view(np.float32) for x in bits]
        self.is_named("in=tf32", a, b, tf32[0] @ tf32[1])
        self.is_named("in=bf16", a, b, narrow.bf16(a) @ narrow.bf16(b))
        cut = (narrow.bf16(a).astype(np.float64) @ narrow.bf16(b)).astype(np.float32).view(np.uint32) >> 16
        self.is_named("out=rz", narrow.bf16(a), narrow.bf16(b), cut.astype(np.uint16), dict.fromkeys("aby", "bf16"))
        for dtype, store in narrow.ROUND.items():
            x, w = store(a), store(b)
            halves = [store((x[:, part].astype(np.float64) @ w[part]).astype(np.float32)) for part in np.s_[:100, 100:]]
            self.is_named("mid=" + dtype, x, w, halves[0] + halves[1], dtypes={"a": dtype, "b": dtype})
            y = np.zeros((48, 40), np.float32)
            for k in range(200):
                y = store(y + x[:, k:k + 1] * w[k])
            self.is_named("acc=" + dtype, x, w, y, dtypes={"a": dtype, "b": dtype})


if __name__ == "__main__":
    unittest.main(verbosity=2)
