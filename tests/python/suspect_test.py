# SPDX-License-Identifier: Apache-2.0
"""Results within their bound that are hardly random: suspect_test.py [CLASS]."""
import unittest
import warnings

import numpy as np

import assay
import narrow
from full import FULL


class Suspect(unittest.TestCase):
    """One rule for what is within its bound and hardly random: a warning, a failure of `strict`, and of random data a
    failure beyond 20 standard deviations."""

    def fails(self, *arguments, **attrs):
        with self.assertRaisesRegex(assay.Mismatch, "^(mismatch|below_contract): "):
            assay.assert_close(*arguments, explain="no", **attrs)

    def test_a_small_change_of_one_element_of_random_data_fails(self):
        rng = np.random.default_rng(0)
        a, b = rng.standard_normal((64, 256), np.float32), rng.standard_normal((256, 64), np.float32)
        y = a @ b
        assay.assert_close("matmul", [a, b], y, strict=True)
        y[3, 5] += 0.003
        verdict = assay.check("matmul", [a, b], y)
        self.assertLess(verdict.margins["bound"], 1)
        self.assertEqual(verdict.verdict, "mismatch")
        self.assertIn("statistic channel: ", verdict.reason)
        self.fails("matmul", [a, b], y)

    def test_a_mean_over_one_element_less_fails(self):
        x = np.random.default_rng(0).standard_normal((64, 4096), np.float32)
        assay.assert_close("reduce", x, x.mean(1), kind="mean", axis=1, strict=True)
        self.fails("reduce", x, (x.astype(np.float64).sum(1) / 4095).astype(np.float32), kind="mean", axis=1)

    def norm(self, x, epsilon):
        wide = x.astype(np.float64)
        return (wide / np.sqrt((wide * wide).mean(1, keepdims=True) + epsilon)).astype(np.float32)

    def test_another_epsilon_fails_or_warns(self):
        """The change is 18 standard deviations for rows of variance 1, and 4 times that for rows of a quarter."""
        rng = np.random.default_rng(0)
        x, gamma = rng.standard_normal((64, 1024), np.float32), np.ones(1024, np.float32)
        assay.assert_close("rms_norm", [x, gamma], self.norm(x, 1e-6), eps=1e-6, strict=True)
        with self.assertWarnsRegex(assay.SuspectWarning, "^rms_norm: suspect: 65536 beyond 8 standard deviations"):
            assay.assert_close("rms_norm", [x, gamma], self.norm(x, 1e-5), eps=1e-6)
        x /= 2
        self.fails("rms_norm", [x, gamma], self.norm(x, 1e-5), eps=1e-6)
        wide = x.astype(np.float64) - x.mean(1, keepdims=True, dtype=np.float64)
        for epsilon, check in ((1e-6, assay.assert_close), (1e-5, self.fails)):
            y = (wide / np.sqrt((wide * wide).mean(1, keepdims=True) + epsilon)).astype(np.float32)
            check("layer_norm", [x, gamma, np.zeros(1024, np.float32)], y, eps=1e-6)

    def test_defaults_that_nobody_stated_are_named(self):
        x, gamma = np.random.default_rng(0).standard_normal((64, 1024), np.float32) / 2, np.ones(1024, np.float32)
        named = "attributes: judged with eps=1e-06 by default; an argument of that name states another\n"
        self.assertIn(named, assay.check("rms_norm", [x, gamma], self.norm(x, 1e-5)).explanation)
        self.assertNotIn("attributes: ", assay.check("rms_norm", [x, gamma], self.norm(x, 1e-5), eps=1e-6).explanation)
        self.assertNotIn("attributes: ", assay.check("rms_norm", [x, gamma], self.norm(x, 1e-6)).explanation)
        with self.assertRaisesRegex(assay.Mismatch, named.strip()):
            assay.assert_close("rms_norm", [x, gamma], self.norm(x, 1e-5))
        with self.assertWarnsRegex(assay.SuspectWarning, "suspect: .*; " + named.strip()):
            assay.assert_close("rms_norm", [2 * x, gamma], self.norm(2 * x, 1e-5))
        q = np.ones((1, 1, 4, 16), np.float32)
        self.assertRegex(assay.check("attention", [q, q, q], 2 * q, causal=1).explanation, "judged with .*scale=0.25 softcap=0")

    def test_long_random_rows_fail(self):
        """Squares of so many random numbers round to one side, which softmax never forms, and an rms_norm is granted."""
        n = 150000 if FULL else 50000
        x = np.random.default_rng(0).standard_normal((2, n), np.float32)
        wide = x.astype(np.float64)
        softmax = np.exp(wide) / np.exp(wide).sum(1, keepdims=True)
        for op, inputs, y in (("softmax", [x], softmax), ("rms_norm", [x, np.ones(n, np.float32)], self.norm(x, 1e-6))):
            right = assay.check(op, inputs, y.astype(np.float32))
            self.assertEqual((right.passed, right.class_ != "suspect", right.weak), (True, True, True), right)
            y[1] *= 1.001
            verdict = assay.check(op, inputs, y.astype(np.float32), explain="no")
            self.assertEqual(verdict.verdict, "mismatch", verdict)
            self.assertLess(verdict.margins["bound"], 1)

    def test_the_advice_to_judge_by_a_weaker_arithmetic_says_where_it_ends_inconclusive(self):
        rng = np.random.default_rng(0)
        a, b = narrow.normals(rng, narrow.bf16, 8, 512), narrow.normals(rng, narrow.bf16, 512, 8)
        y = np.zeros((8, 8), np.float32)
        for t in range(512):
            y = narrow.bf16(y + a[:, t:t + 1] * b[t:t + 1])
        wide = rng.standard_normal((48, 256), np.float32), rng.standard_normal((256, 40), np.float32)
        rounded = narrow.bf16(wide[0]) @ narrow.bf16(wide[1])
        for operands, result, types, field, blind in (((a, b), y, dict.fromkeys("aby", "bf16"), "acc=bf16", True),
                                                      (wide, rounded, {}, "in=bf16", False)):
            verdict = assay.check("matmul", operands, result, dtypes=types)
            self.assertEqual(verdict.arithmetic.field, field, verdict)
            by_class = assay.check("matmul", operands, result, dtypes=types, contract=verdict.arithmetic.contract)
            self.assertEqual(by_class.verdict, "inconclusive" if blind else "pass")
            self.assertEqual("judges by that class, and with these data is inconclusive: it would accept" in verdict.explanation,
                             blind)
            with self.assertRaisesRegex(assay.Mismatch, "try: data that differ by more" if blind else "try: contract="):
                assay.assert_close("matmul", operands, result, dtypes=types)

    def test_a_variance_in_one_pass_is_seen(self):
        rng = np.random.default_rng(0)
        x = (rng.standard_normal((64, 1024), np.float32) + np.float32(10)).astype(np.float32)
        mean, square = (np.cumsum(z, 1, dtype=np.float32)[:, -1:] / np.float32(1024) for z in (x, x * x))
        variance = square - mean * mean
        y = (x - mean) / np.sqrt(variance + np.float32(1e-5))
        self.fails("layer_norm", [x, np.ones(1024, np.float32), np.zeros(1024, np.float32)], y, eps=1e-5)

    def suspect(self):
        """Off by far too much for random roundings, of data that are not random."""
        k = np.arange(256, dtype=np.float32)
        a, b = np.sin(k * 0.1 + np.arange(64, dtype=np.float32)[:, None]).astype(np.float32), np.cos(
            k[:, None] * 0.07 + np.arange(64, dtype=np.float32)).astype(np.float32)
        y = (a.astype(np.float64) @ b).astype(np.float32)
        y[3, 5] += 0.001
        return a, b, y

    def test_other_data_warn_and_fail_strictly(self):
        a, b, y = self.suspect()
        verdict = assay.check("matmul", [a, b], y)
        self.assertEqual((verdict.verdict, verdict.class_), ("pass", "suspect"), verdict)
        self.assertTrue(verdict.passed)
        self.assertFalse(verdict.passed_strictly)
        self.assertIn("as these are no random data (a: ", verdict.reason)
        self.assertIn("warning: the bound holds", verdict.explanation)
        with self.assertWarnsRegex(assay.SuspectWarning, "^matmul: suspect: "):
            assay.assert_close("matmul", [a, b], y)
        with self.assertRaisesRegex(assay.Mismatch, "^suspect: matmul f32 (.|\n)*try: compare the constants"):
            assay.assert_close("matmul", [a, b], y, strict=True)

    def test_repeated_rows_are_named_below_20_deviations_too(self):
        rng = np.random.default_rng(0)
        a, b = np.tile(rng.standard_normal((4, 256), np.float32), (16, 1)), rng.standard_normal((256, 64), np.float32)
        y = (a.astype(np.float64) @ b * (1 + 2e-6)).astype(np.float32)
        verdict = assay.check("matmul", [a, b], y)
        self.assertEqual((verdict.verdict, verdict.class_), ("pass", "suspect"), verdict)
        self.assertNotIn("beyond 8 standard deviations", verdict.reason)
        self.assertIn("; these are no random data (a: values repeat)", verdict.reason)

    def test_legal_schedules_of_data_of_every_kind_pass(self):
        for name, x in structured().items():
            for sums, y in schedules(x).items():
                with self.subTest(data=name, sums=sums), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    assay.assert_close("reduce", x, y, kind="sum", axis=1)


def structured(n=4096, rows=8):
    """Rows that were made to lean on the model of random roundings, and some that occur."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((rows, n)).astype(np.float32)
    t = np.linspace(0, 1, n)
    data = {
        "sorted": np.sort(normal, 1), "falling": -np.sort(-np.abs(normal), 1), "constant": np.full((rows, n), 0.1),
        "low rank": np.outer(rng.standard_normal(rows), rng.standard_normal(n)), "smooth": 1 + np.sin(7 * t + normal[:, :1]),
        "sparse": normal * (rng.random((rows, n)) < 0.05), "image": rng.integers(0, 256, (rows, n)) / 255,
        "alternating": np.where(np.arange(n) % 2, -0.1, 0.1000001) * np.ones((rows, 1)),
        "cancelling": np.concatenate([normal[:, :n // 2], -normal[:, :n // 2]], 1),
        "periodic": np.tile(normal[:, :100], (1, n // 100 + 1))[:, :n], "wide": normal * np.exp(5 * normal[:, ::-1]),
        "same low bits": np.round(normal * 2**10) / 2**10 + 2.0**-24, "round one way": rounding_one_way(rng, rows, n),
    }
    return {name: x.astype(np.float32) for name, x in data.items()}


def rounding_one_way(rng, rows, n):
    """Terms that look random, with last bits by which every addition in f32 rounds to the same side."""
    x, total = np.empty((rows, n), np.float32), np.zeros(rows, np.float32)
    for i in range(n):
        term = (rng.random(rows, np.float32) + np.float32(0.5)).astype(np.float32)
        whole = total + term
        term = (whole.astype(np.float64) - rng.uniform(0.51, 0.7, rows) * np.spacing(whole) - total).astype(np.float32)
        x[:, i], total = term, total + term
    return x


def schedules(x):
    one_by_one = np.cumsum(x, 1, dtype=np.float32)[:, -1]
    backward = np.cumsum(x[:, ::-1], 1, dtype=np.float32)[:, -1]
    lanes = np.cumsum(x.reshape(len(x), -1, 8), 1, dtype=np.float32)[:, -1].sum(1, dtype=np.float32)
    pairs = x
    while pairs.shape[1] > 1:
        pairs = pairs[:, ::2] + pairs[:, 1::2]
    return {"one by one": one_by_one, "backward": backward, "lanes": lanes, "pairs": pairs[:, 0]}


if __name__ == "__main__":
    unittest.main(verbosity=2)
