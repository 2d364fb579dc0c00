#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden values of operators that are Python functions, against what NumPy computes: definition_numbers_test.py SameNumbers."""
import sys
import unittest

import numpy as np

import assay
import one_wrong_element

RANDOM = np.random.default_rng(5)


def draw(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


class SameNumbers(unittest.TestCase):
    """Golden values of traced functions are what NumPy computes in doubles."""

    def test_of_arrays_that_share_axes(self):
        u, v = RANDOM.standard_normal((2, 9))
        x, square, batch = RANDOM.standard_normal((4, 5)), RANDOM.standard_normal((5, 5)), RANDOM.standard_normal((4, 5, 6))
        column = RANDOM.standard_normal((7, 1)) * 1000

        def xp(a):
            return assay.namespace(a)
        functions = [
            (lambda u, v: xp(u).sum(u[:, None] * v[None, :], axis=1) + u * v, [u, v]),
            (lambda u, v: xp(u).sum(u[:, None] * v[None, :]) + u * v, [u, v]),
            (lambda u, v: u[:, None] * v + v[:, None] * u, [u, v]),
            (lambda x, w: x + x @ w, [x, square]),
            (lambda x, w: xp(x).sigmoid(x @ w) * x, [x, square]),
            (lambda w: w @ w @ w, [square]),
            (lambda w: w + w.T, [square]),
            (lambda w: w * w.T - w, [square]),
            (lambda w: xp(w).sum(w[:, None] * w.T[None], axis=-1) + w, [square]),
            (lambda x: xp(x).sum((x[:, None] - x[None])**2, axis=-1) @ x, [x]),
            (lambda u: u[:, None, None] * u[None, :, None] - u, [u]),
            (lambda x: xp(x).softmax(x @ x.T, axis=-1) @ x, [x]),
            (lambda y, x: (x @ x.T) @ y, [RANDOM.standard_normal((4, 3)), x]),
            (lambda x, y: (x @ x.T) + y[None, :], [x, RANDOM.standard_normal(4)]),
            (lambda x, y: xp(x).sum(x[:, None, :] @ (y * x[:, :, None]), axis=(0, 1)), [x, batch]),
            (lambda c: xp(c).logsumexp(c, axis=-1), [column]),
            (lambda c, y: xp(c).softmax(c, axis=-1) * y, [column, RANDOM.standard_normal((7, 3))]),
            (lambda c, y: xp(c).log_softmax(c, axis=-1) + y, [column, RANDOM.standard_normal((7, 3))]),
            (lambda x: xp(x).log_softmax(x, axis=-1), [x + 1000]),
            (lambda x: xp(x).cumulative_sum(x), [x]),
            (lambda x: xp(x).var(x, axis=(0, 1)) + x, [x]),
            (lambda x: xp(x).std(x, axis=-2, keepdims=True) * x, [x]),
            (lambda b, w: b @ w, [batch, RANDOM.standard_normal((6, 3))]),
            (lambda b, c: b @ c, [batch, RANDOM.standard_normal((4, 6, 2))]),
            (lambda w, v: w @ v, [x, RANDOM.standard_normal(5)]),
            (lambda x: np.float64(2) * x + np.sqrt(2) * x, [x]),
            (lambda t0: t0 * 2 + 1, [x]),
            (lambda x: 1 - x + 2 / x - x / 3, [x]),
            (lambda x: 2**x + abs(x)**1.5 + x**3, [x]),
            (lambda x, w: xp(x).where(x > 0.3, w, -x) + xp(x).where(x < 0, 2.0, x), [x, RANDOM.standard_normal(5)]),
            (lambda x: xp(x).maximum(x, 0.1) - xp(x).minimum(x, 0.2) * xp(x).where(xp(x).greater(x, 0), 2.0, 3.0), [x]),
            (lambda x: xp(x).max(x, axis=0) - xp(x).min(x, axis=0) + xp(x).prod(x, axis=0), [x]),
            (lambda x: xp(x).expand_dims(xp(x).mean(x, axis=1), 1) + xp(x).relu(x) + xp(x).silu(x) + xp(x).square(x), [x]),
            (lambda x: xp(x).gelu(x, approximate="tanh") + xp(x).log1p(abs(x)) + xp(x).sqrt(abs(x)), [x]),
            (lambda b: xp(b).permute_dims(b, (0, -1, 1)) * 3, [batch])]
        self.judge(functions)

    def judge(self, functions):
        """NumPy's result passes, and with one wrong element it does not."""
        for number, verdict in one_wrong_element.verdicts(self, functions):
            self.assertFalse(verdict.passed, number)

    def test_of_conditions(self):
        x = RANDOM.standard_normal((4, 5))
        x[0, 0], x[1, 1], x[2, 2], x[3, 3] = 0.5, np.nan, np.inf, 0
        y = np.where(x < 0.7, x, 1.0)
        mask = y > 0.1

        def xp(a):
            return assay.namespace(a)
        self.judge([
            (lambda x, y: x == y, [x, y]), (lambda x, y: x != y, [x, y]), (lambda x, y: x <= y, [x, y]),
            (lambda x, y: x >= y, [x, y]), (lambda x: 0.5 >= x, [x]), (lambda x: 0.5 != x, [x]),
            (lambda x, y: xp(x).less_equal(x, y) | xp(x).greater_equal(y, 2.0), [x, y]),
            (lambda x, y: xp(x).equal(x, y) ^ xp(x).not_equal(y, 1.0), [x, y]),
            (lambda x, y: xp(x).where((x >= y) & ~(x > 0) | (x == 0.5), x, y), [x, y]),
            (lambda x, y: xp(x).where(x > y, x > 0, y > 0) & (x < 2), [x, y]),
            (lambda x, y: xp(x).logical_and(x, y > 0), [x, y]),
            (lambda x, y: xp(x).logical_or(x > 0, xp(x).logical_not(y)), [x, y]),
            (lambda x: xp(x).where(xp(x).isnan(x), 0.0, x), [x]),
            (lambda x: xp(x).where(xp(x).isinf(x), 7.0, x), [x]),
            (lambda x: xp(x).where(xp(x).isfinite(x), x, 7.0), [x]),
            (lambda x: xp(x).clip(x, -0.5, 0.4), [x]), (lambda x: xp(x).clip(x, None, 0.4), [x]),
            (lambda x: xp(x).clip(x, min=-0.5) * xp(x).clip(x, max=0.4), [x]),
            (lambda x, y: xp(x).clip(x, -0.5 * y, None), [x, y]),
            (lambda x: xp(x).maximum(xp(x).minimum(x, 0.3), -0.3), [x]),
            (lambda x, y: xp(x).fmax(x, y) - xp(x).fmin(y, 0.5), [x, np.flip(y)]), (lambda x: xp(x).fmin(0.3, x), [x]),
            (lambda x: xp(x).any(x > 1, axis=1), [x]), (lambda x: xp(x).all(x < 1, axis=0), [x]),
            (lambda x: xp(x).sum(x > 0, axis=1), [x]),
            (lambda x: 18 - (xp(x).where(x < 1, 1, 0) + xp(x).where(x < 2, 1, 0)), [np.array([18, 0, 1, 255], np.uint8)]),
            (lambda m, x: xp(x).where(m, x, 0.0), [mask, x]),
            (lambda m, x: xp(x).where(~m & (x < 0.1), x, 0.0), [mask, x]),
            (lambda m: xp(m).sum(m, axis=0), [mask])])

    def test_nan_wins_in_maximum_and_loses_in_fmax(self):
        x = np.array([[1, np.nan, np.nan], [np.nan, -np.inf, 5]], np.float32)
        y = np.array([[2, 3, np.nan], [-7, np.nan, np.inf]], np.float32)
        for propagates, ignores in (("maximum", "fmax"), ("minimum", "fmin")):
            for stated, computed in ((propagates, ignores), (ignores, propagates)):
                stated_of = lambda x, y: getattr(assay.namespace(x), stated)(x, y)
                self.assertTrue(assay.check(stated_of, [x, y], getattr(np, stated)(x, y)).passed_strictly, stated)
                self.assertEqual(assay.check(stated_of, [x, y], getattr(np, computed)(x, y)).verdict, "mismatch", stated)
        scaled = lambda x, y: assay.namespace(x).fmax(x * 1.7, assay.namespace(x).exp(y))  # of numbers with errors of their own
        with np.errstate(all="ignore"):
            self.assertTrue(assay.check(scaled, [x, y], np.fmax(x * np.float32(1.7), np.exp(y))).passed)

    def test_operands_may_be_conditions(self):
        @assay.operator("masked", types=["f32-i8-f32"], roles={"mask": "condition"})
        def masked(x: "rows n", mask: "rows n"):
            xp = assay.namespace(x)
            return xp.where(mask, x, 0.0) + xp.sum(xp.logical_not(mask), axis=-1, keepdims=True)
        x, mask = draw(4, 6), draw(4, 6) > 0
        self.assertTrue(assay.assert_close(masked, [x, mask], masked(x, mask).astype(np.float32)))
        self.assertEqual(assay.check(masked, [x, ~mask], masked(x, mask).astype(np.float32)).verdict, "mismatch")

    def test_integers_are_exact_beyond_double_and_wrap_around(self):
        x = np.array([[2**60 + 1, 5, 2**60 + 3, -2**62], [2**62, 2**62, 1, 7]], np.int64)
        narrow = np.array([100, -100, 77], np.int8)
        for function, given, right in (
                (lambda x: assay.namespace(x).cumulative_sum(x, axis=-1), x, np.cumsum(x, -1)),
                (lambda x: assay.namespace(x).max(x, axis=-1), x, x.max(-1)), (lambda x: x * 3 - x, x, x * 3 - x),
                (lambda x: x * 3 - x, narrow, narrow * np.int8(3) - narrow),
                (lambda x: x * 3 - x, narrow.astype(np.int16), narrow.astype(np.int16) * np.int16(2))):
            self.assertEqual(assay.check(function, [given], right).class_, "bit_exact")
            wrong = right.copy()
            wrong.flat[0] += 1
            self.assertEqual(assay.check(function, [given], wrong).verdict, "mismatch")
        for function, result in ((lambda x: x * 2.5, x), (lambda x: assay.namespace(x).where(x == 5, 1.0, 0.0), x * 1.0)):
            with self.assertRaisesRegex(assay.UsageError, r"x\[0,0\] is 1152921504606846977, beyond 2\^53"):
                assay.check(function, [x], result)

    def test_constants_beyond_double_are_integers(self):
        x = np.array([5, -2**60, 2**60 + 1], np.int64)
        for function, right in ((lambda x: x + (2**60 + 1), x + (2**60 + 1)),
                                (lambda x: assay.namespace(x).where(x == 2**60 + 1, 1, 0), np.array([0, 0, 1]))):
            self.assertEqual(assay.check(function, [x], right).class_, "bit_exact")
            for off in (-100, -1, 1, 100):
                self.assertEqual(assay.check(function, [x], right + off).verdict, "mismatch")

    def test_integers_that_wrap_before_a_comparison_or_a_wider_type_are_open(self):
        def positive(a, b):
            return assay.namespace(a).maximum(a + b, 0)

        def products(a, b):
            return assay.namespace(a).sum(a * b, axis=-1, keepdims=True)
        a, b = np.array([[100, 5, -7]], np.int8), np.array([[100, 6, 7]], np.int8)
        wide = [a.astype(np.int32), b.astype(np.int32)]
        right = positive(a, b)
        self.assertEqual(right.tolist(), [[0, 11, 0]])
        self.assertTrue(assay.check(positive, [a, b], right).passed)
        self.assertTrue(assay.check(positive, [a, b], np.array([[-56, 11, 0]], np.int8)).passed)
        self.assertEqual(assay.check(positive, [a, b], np.array([[0, 12, 0]], np.int8)).verdict, "mismatch")
        self.assertEqual(assay.check(positive, wide, positive(*wide) * 0).verdict, "mismatch")
        self.assertTrue(assay.check(products, wide, products(*wide)).passed)
        nothing = assay.check(products, [a, b], products(a, b))
        self.assertEqual(nothing.verdict, "inconclusive")
        self.assertIn("promises nothing for 1 of 1 results", nothing.reason)
        self.assertEqual(assay.check(products, [a[:, 1:], b[:, 1:]], np.array([[-18]])).verdict, "mismatch")

    def test_of_elements_elsewhere(self):
        x, y, z = RANDOM.standard_normal((4, 6)), RANDOM.standard_normal((4, 3)), RANDOM.standard_normal((4, 6))
        cube, square = RANDOM.standard_normal((2, 3, 4)), RANDOM.standard_normal((5, 5))

        def xp(a):
            return assay.namespace(a)

        def interleaved_rope(x, c, s):
            a, b = x[:, ::2], x[:, 1::2]
            return xp(x).stack([a * c - b * s, a * s + b * c], axis=-1).reshape(4, 6)
        self.judge([
            (lambda x: x[:, 1:4] * 2, [x]), (lambda x: x[:, :3] * x[:, 3:], [x]), (lambda x: x[:, 1:] - x[:, :-1], [x]),
            (lambda x: x[1], [x]), (lambda x: x[-1, 2:] + x[0, :4], [x]), (lambda x: x[2, 3] + x, [x]),
            (lambda x: x[:, ::-1] + x, [x]), (lambda x: x[:, ::-2], [x]), (lambda x: x[1:2] * x, [x]),
            (lambda x: x[:, 2:3], [x]), (lambda x: x[..., None, 3], [x]), (lambda x: x[0, None, ..., 1:], [x]),
            (lambda x: ((x > 0)[:, 1:]) & (x[:, :-1] > 0), [x]),
            (lambda x: xp(x).flip(x, axis=0) - x, [x]), (lambda x: xp(x).flip(x), [x]),
            (lambda x: xp(x).roll(x, 2, axis=1) * x, [x]), (lambda x: xp(x).roll(x, -1, axis=0), [x]),
            (lambda x, y: xp(x).concat([x, y], axis=1), [x, y]), (lambda x, y: xp(x).concat([x, y, 2 * x], axis=-1), [x, y]),
            (lambda x, z: xp(x).concat([x, z], axis=0) @ xp(x).concat([x, z], axis=0).T, [x, z]),
            (lambda x, z: xp(x).concat([x, z[:1]], axis=0), [x, z]),
            (lambda x, z: xp(x).stack([x, z, x * z], axis=1), [x, z]), (interleaved_rope, [x, y, 2 * y]),
            (lambda x: x.reshape(2, 2, 6) * 1.0, [x]), (lambda x: x.reshape(-1), [x]), (lambda x: x.reshape((3, 8)) + 1, [x]),
            (lambda x: xp(x).sum(x.reshape(4, 2, 3), axis=-1), [x]), (lambda x: xp(x).reshape(x, (2, -1)) * 2, [x]),
            (lambda x: xp(x).softmax(x.reshape(4, 3, 2), axis=1).reshape(4, 6), [x]),
            (lambda c: xp(c).permute_dims(c, (1, 0, 2)).reshape(3, 8), [cube]), (lambda c: c.reshape(1, 6, 1, 4) * 2, [cube]),
            (lambda x: x + x.reshape(6, 4).T, [x]),
            (lambda x: xp(x).split(x, 3, axis=1)[1] + xp(x).split(x, 3, axis=1)[2], [x]),
            (lambda s: xp(s).tril(s) + xp(s).triu(s, 1) * 2, [square]), (lambda x: xp(x).tril(x, -1), [x]),
            (lambda x: xp(x).tril(x[:1]) + xp(x).triu(x[:, :1], 0), [x]), (lambda x: (x > 0).astype(bool) & (x < 1), [x]),
            (lambda x: xp(x).where(x.astype(bool), x, 1.0), [x * (x > 0)]), (lambda x: xp(x).astype(x > 0, np.float64) * x, [x]),
            (lambda x: (x > 0).astype(np.float64) * x, [x])])

    def test_of_elements_elsewhere_in_every_case(self):
        @assay.operator("elsewhere")
        def elsewhere(x: "rows 2*n", y: "rows n", w: "4 n"):
            xp = assay.namespace(x)
            even, odd = x[:, ::2], x[:, 1::2]
            both = xp.concat([even * y, odd], axis=1) + x[:, ::-1]
            return {"both": both, "part": (x[0] - x[-1]) * 2.0, "products": w[1] * w[3]}
        for rows, n in ((3, 5), (1, 1), (2, 7)):
            x, y, w = draw(rows, 2 * n), draw(rows, n), draw(4, n)
            right = elsewhere(x, y, w)
            self.assertTrue(assay.check(elsewhere, [x, y, w], right).passed, (rows, n))
            wrong = dict(right, both=right["both"] + np.float32(1))
            self.assertEqual(assay.check(elsewhere, [x, y, w], wrong).verdict, "mismatch")
        with self.assertRaisesRegex(assay.UsageError, "whose extent differs from case to case"):
            assay.operator("beyond")(self.annotated(lambda x: x[:, 1:])).data
        with self.assertRaisesRegex(assay.UsageError, "reshape along axis rows"):
            assay.operator("beyond")(self.annotated(lambda x: x.reshape(2, -1))).data

    @staticmethod
    def annotated(function):
        function.__annotations__["x"] = "rows n"
        return function

    def test_astype_may_round(self):
        def stored(x):
            return (x * 1.1).astype(np.float16).astype(np.float32) * 2
        x = draw(8, 16)
        for y in (stored(x), x * np.float32(2.2)):
            self.assertTrue(assay.check(stored, [x], y).passed)
        self.assertEqual(assay.check(stored, [x], x * np.float32(2.21)).verdict, "mismatch")

    def test_of_which_a_condition_may_be_either_way(self):
        def band(x, w):
            y = x @ w
            return assay.namespace(x).where((y > 0.3) & (y <= 2), y * y, -y)
        x, w = draw(64, 32), draw(32, 16)
        self.assertTrue(assay.assert_close(band, [x, w], band(x, w)))
        near = np.float32([0.1, 0.1, 0.1])
        for right in (5, 0.3):  # 0.1 + 0.2 < 0.3 in some arithmetic, and not in another
            result = np.float32([right, 0.3, 0.3])
            verdict = assay.check(lambda a, b: assay.namespace(a).where(a + b < 0.3, 5.0, a + b), [near, near * 2], result)
            self.assertNotEqual(verdict.verdict, "mismatch")

    def test_results_may_have_axes_of_one_element(self):
        x, column = RANDOM.standard_normal((4, 5)), RANDOM.standard_normal((4, 1))

        def xp(a):
            return assay.namespace(a)
        self.judge([
            (lambda x: xp(x).sum(x, axis=-1, keepdims=True), [x]), (lambda x: xp(x).mean(x, axis=0, keepdims=True), [x]),
            (lambda x: xp(x).max(x, axis=(0, 1), keepdims=True), [x]), (lambda x: x[:, None] * 2, [x]),
            (lambda x: x * 2, [x[:1]]), (lambda c: c * c, [column]), (lambda x: x[None, None], [x]),
            (lambda c, x: xp(c).sum(c * x, axis=0, keepdims=True).T, [column, x])])

        @assay.operator("kept")
        def kept(x: "rows 4 n", w: "4 1"):
            return {"y": xp(x).sum(x * w, axis=1, keepdims=True), "most": xp(x).max(x, axis=-1, keepdims=True)}
        x, w = draw(3, 4, 5), draw(4, 1)
        self.assertTrue(assay.assert_close(kept, [x, w], kept(x, w)))
        self.assertEqual(assay.check(kept, [x, w], {"y": kept(x, w)["y"] + 1, "most": x.max(-1, keepdims=True)}).verdict, "mismatch")
        with self.assertRaisesRegex(assay.UsageError, "expected 3x4x5"):
            assay.check(kept, [draw(3, 3, 5), w], {"y": draw(3, 1, 5), "most": draw(3, 3, 1)})

    def test_an_operator_may_have_square_matrices_and_attend_to_itself(self):
        @assay.operator("self_attention")
        def attend(x: "s d", wq: "d d", wk: "d d", wv: "d d"):
            q, k, v = x @ wq, x @ wk, x @ wv
            return assay.namespace(x).softmax(q @ k.T, axis=-1) @ v + x
        arrays = [draw(6, 8), *(draw(8, 8) / 8 for _ in range(3))]
        self.assertTrue(assay.assert_close(attend, arrays, attend(*arrays)))
        self.assertFalse(assay.check(attend, arrays, attend(*arrays) - arrays[0]).passed)

    def test_types_may_differ_and_a_definition_may_change(self):
        x, gamma = draw(8, 16), draw(16).astype(np.float64)
        self.assertTrue(assay.check(lambda x, g: x * g, [x, gamma], (x * gamma).astype(np.float32)).passed)
        for factor in (2.0, 3.0):
            edited = assay.operator("edited")(lambda x: x)
            edited.function.__annotations__["x"] = "rows n"
            edited.function = (lambda f: lambda x: x * f)(factor)
            edited.function.__annotations__["x"] = "rows n"
            self.assertTrue(assay.check(edited, [x], x * np.float32(factor)).passed)

    def test_threads_may_judge_formulas(self):
        from concurrent.futures import ThreadPoolExecutor
        x = draw(4, 8)

        def judge(number):
            return assay.check(lambda x: x * float(number), [x], x * np.float32(number)).passed and \
                assay.check("matmul", [x, x.T.copy()], x @ x.T).passed
        with ThreadPoolExecutor(4) as pool:
            self.assertTrue(all(pool.map(judge, range(40))))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
