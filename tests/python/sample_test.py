# SPDX-License-Identifier: Apache-2.0
"""Samples of large outputs: sample_test.py [CLASS]."""
import sys
import unittest

import numpy as np

import assay


def product(m=512, n=384, k=64, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    return a, b, a @ b


class Samples(unittest.TestCase):
    def test_the_verdict_says_that_it_is_of_a_sample(self):
        a, b, y = product()
        verdict = assay.assert_close("matmul", [a, b], y, sample=1024)
        judged, elements, seed = verdict.sample
        self.assertEqual((judged, elements), (1024, y.size))
        self.assertEqual(verdict.reason, f"judged 1,024 of 196,608 elements, drawn by seed {seed}")
        self.assertIn(verdict.reason, verdict.explanation.splitlines()[0])
        record = verdict.to_dict()
        self.assertEqual((record["shape"], record["elements"]), ("m=512,n=384,k=64", y.size))
        self.assertEqual((record["sample_judged"], record["sample_elements"], record["sample_seed"]), verdict.sample)
        whole = assay.check("matmul", [a, b], y)
        self.assertIsNone(whole.sample)
        self.assertIsNone(whole.to_dict()["sample_judged"])
        self.assertEqual(whole.reason, "")

    def test_the_same_places_are_drawn_until_the_data_or_the_seed_change(self):
        a, b, y = product()
        seeds = [assay.check("matmul", x, y, sample=500).sample.seed for x in ([a, b], [a.copy(), b], [a, -b])]
        self.assertEqual(seeds[0], seeds[1])
        self.assertNotEqual(seeds[0], seeds[2])
        y[::3, ::5] += 1
        places = [[w.index for w in assay.check("matmul", [a, b], y, sample=500, sample_seed=s).worst] for s in (7, 7, 8)]
        self.assertEqual(places[0], places[1])
        self.assertNotEqual(places[0], places[2])
        for row, column in places[0]:
            self.assertEqual((row % 3, column % 5), (0, 0))

    def test_elements_of_choice(self):
        a, b, y = product()
        y[301, 177] += 0.01
        place = 301 * y.shape[1] + 177
        for explain in ("no", "quick"):
            self.assertTrue(assay.check("matmul", [a, b], y, sample=64, sample_seed=1, explain=explain))
            verdict = assay.check("matmul", [a, b], y, sample=64, sample_seed=1, explain=explain, sample_at=[(0, 5), (0, place)])
            self.assertEqual(verdict.verdict, "mismatch")
            self.assertEqual(verdict.worst[0].index, (301, 177))
        with self.assertRaisesRegex(assay.UsageError, "sample_at names output 1 of 1"):
            assay.check("matmul", [a, b], y, sample=64, sample_at=[(1, 0)])

    def test_a_verdict_without_explanation_is_that_with_one(self):
        a, b, y = product(24, 16, 32)
        narrow = y.view(np.uint32) & 0xFFFF0000
        for result in (y, y + np.float32(0.1), narrow.view(np.float32), np.zeros_like(y)):
            short, whole = (assay.check("matmul", [a, b], result, explain=explain) for explain in ("no", "quick"))
            self.assertEqual(short.passed, whole.passed)
            self.assertEqual([short.margins, short.metrics["effective_bits"]], [whole.margins, whole.metrics["effective_bits"]])
            self.assertEqual((short.explanation, short.arithmetic, short.cause), ("", None, ""))

    def test_a_wrong_tile_and_a_single_large_or_missing_number_are_found(self):
        a, b, y = product()
        tile = y.copy()
        tile[384:448, 64:128] = 0
        verdict = assay.check("matmul", [a, b], tile, sample=1024)
        self.assertEqual(verdict.verdict, "mismatch")
        self.assertIn("judged elements, in ", verdict.where)
        for row, column in (w.index for w in verdict.worst):
            self.assertTrue(384 <= row < 448 and 64 <= column < 128, (row, column))
        self.assertRegex(verdict.reason, r"; judged 1,0\d\d of 196,608 elements, drawn by seed \d+$")
        with self.assertRaisesRegex(assay.Mismatch, "drawn by seed"):
            assay.assert_close("matmul", [a, b], tile, sample=1024)
        for value in (1e4, np.nan, -np.inf):
            one = y.copy()
            one[301, 177] = value
            verdict = assay.check("matmul", [a, b], one, sample=1024)
            self.assertEqual((verdict.verdict, verdict.where[-9:]), ("mismatch", "[301,177]"), value)

    def test_arrays_are_judged_alike_wherever_their_elements_lie(self):
        a, b, y = product()
        y[100:, 200:] += 0.5
        strided = np.zeros((2 * y.shape[0], 3 * y.shape[1]), np.float32)[::2, ::3]
        strided[:] = y
        raw = bytearray(y.nbytes + 1)
        shifted = np.frombuffer(raw, np.uint8)[1:].view(np.float32).reshape(y.shape)
        shifted[:] = y
        verdicts = [assay.check("matmul", [x, b], z, sample=1024) for x, z in
                    ((a, y), (np.asfortranarray(a), y), (a, strided), (a, shifted))]
        for verdict in verdicts[1:]:
            self.assertEqual(verdict.explanation, verdicts[0].explanation)
        self.assertTrue(a.flags.owndata and np.array_equal(y, strided))

    def test_what_has_no_slices_or_few_elements_is_judged_as_a_whole(self):
        a, b, y = product(16, 16)
        self.assertIsNone(assay.check("matmul", [a, b], y, sample=256).sample)
        x = np.random.default_rng(0).standard_normal(5000, np.float32)
        e = np.exp(x.astype(np.float64) - x.max())
        soft = (e / e.sum()).astype(np.float32)
        verdict = assay.check("softmax", x, soft, sample=100)
        self.assertEqual((verdict.verdict, verdict.sample), ("pass", None))
        soft[4000] *= 1.01
        self.assertEqual(assay.check("softmax", x, soft, sample=100).verdict, "mismatch")

    def test_a_row_whose_elements_err_apart_is_named_by_its_place_in_the_whole(self):
        x = np.random.default_rng(0).standard_normal((20, 100, 256), np.float32)
        e = np.exp(x.astype(float) - x.max(-1, keepdims=True))
        y = (e / e.sum(-1, keepdims=True)).astype(np.float32)
        y[19, 99, ::2] *= np.float32(1 + 4e-6)
        y[19, 99, 1::2] *= np.float32(1 - 4e-6)
        for words in ({}, {"sample": 6000}):
            reason = assay.check("softmax", [x], y, **words).reason
            self.assertIn("the row at [19,99,0] has no error in common", reason)

    def test_other_operators_and_traced_functions_have_samples(self):
        x = np.random.default_rng(1).standard_normal((600, 50), np.float32)
        rms = (x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6)).astype(np.float32)
        gamma = np.ones(50, np.float32)
        self.assertEqual(assay.check("rms_norm", [x, gamma], rms, sample=1000).sample[:2], (1000, x.size))
        verdict = assay.check(lambda x: x * x + 1, [x], x * x + 1, sample=600)
        self.assertEqual((verdict.verdict, verdict.sample[:2]), ("pass", (600, x.size)), verdict)
        stats = {"y": (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5), "mean": x.mean(-1),
                 "rstd": 1 / np.sqrt(x.var(-1) + 1e-5)}
        operands = {"x": x, "gamma": gamma, "beta": 0 * gamma}
        self.assertEqual(assay.check("layer_norm", operands, stats, stats=1, eps=1e-5, sample=1000).sample[:2], (1040, 31200))
        stats["rstd"][599] *= 1.1
        wrong = assay.check("layer_norm", operands, stats, stats=1, eps=1e-5, sample=1000)
        self.assertEqual((wrong.verdict, wrong.to_dict()["worst_output"]), ("mismatch", "rstd"))
        self.assertIn("[599]", wrong.where)

    def test_numbers_that_cannot_be_are_refused(self):
        a, b, y = product(16, 16)
        for words in ({"sample": 0}, {"sample": -4}, {"sample": 1.5}, {"sample": True}, {"sample": 10, "sample_seed": 0}):
            with self.assertRaisesRegex(assay.UsageError, "is no integer from 1 to 2\\^62"):
                assay.check("matmul", [a, b], y, **words)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
