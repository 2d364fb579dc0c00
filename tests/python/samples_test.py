# SPDX-License-Identifier: Apache-2.0
"""Draws of samplers: samples_test.py [CLASS]."""
import sys
import unittest

import numpy as np

import assay


def softmax(x):
    weights = np.exp(x - x.max())
    return weights / weights.sum()


LOGITS = np.random.default_rng(5).standard_normal(50)
P = softmax(LOGITS)


class Draws(unittest.TestCase):
    def test_correct_samplers_are_rejected_no_more_often_than_stated(self):
        rng, rounds, alpha = np.random.default_rng(1), 1000, 0.05
        alarms = sum(not assay.check_samples(rng.choice(50, 1000, p=P), P, alpha=alpha) for _ in range(rounds))
        self.assertLessEqual(alarms, alpha * rounds)
        uniform = np.full(3, 1 / 3)
        alarms = sum(not assay.check_samples(rng.integers(0, 3, 300), uniform, alpha=alpha) for _ in range(rounds))
        self.assertLessEqual(alarms, alpha * rounds)

    def test_a_wrong_temperature_and_a_forgotten_token_are_found(self):
        rng = np.random.default_rng(2)
        wrong = assay.check_samples(rng.choice(50, 20_000, p=softmax(LOGITS / 1.2)), P)
        self.assertFalse(wrong)
        self.assertLess(wrong.rejected_at, 10_000)
        self.assertRegex(wrong.reason, r"after \d+ draws these are no draws of the probabilities .*: token \d+ was drawn")
        without = P.copy()
        without[P.argmax()] = 0
        self.assertLess(assay.check_samples(rng.choice(50, 2000, p=without / without.sum()), P).rejected_at, 1000)

    def test_a_token_outside_of_the_support_is_wrong_at_once(self):
        p = np.where(P >= 0.1 * P.max(), P, 0)
        p, outside = p / p.sum(), int(P.argmin())
        result = assay.check_samples([int(P.argmax()), outside], p)
        self.assertEqual((result.passed, result.rejected_at), (False, 1))
        self.assertEqual(result.reason, f"draw 1 is token {outside}, whose probability is 0")

    def test_more_draws_never_take_a_rejection_back(self):
        draws = np.random.default_rng(3).choice(50, 5000, p=softmax(LOGITS / 1.5))
        first = assay.check_samples(draws, P).rejected_at
        self.assertTrue(assay.check_samples(draws[:first], P))
        self.assertEqual([assay.check_samples(draws[:n], P).rejected_at for n in (first + 1, 5000)], [first, first])

    def test_what_is_no_distribution_is_refused(self):
        for arguments, said in ((([0], [0.5, 0.2]), "sum to 0.7"), (([2], [0.5, 0.5]), "draw 0 is 2, but probabilities has 2"),
                                (([0.5], [1.0]), "of type float64"), (([], [1.0]), "no draws to judge"), (([0], [1.0], 0), "alpha=0"), (([0], [1.0], "1e-6"), "alpha='1e-6'"),
                                (([0], [[0.5, 0.5], [0.5, 0.5]]), r"of shape \(2, 2\); give one row")):
            with self.subTest(said), self.assertRaisesRegex(assay.UsageError, said):
                assay.check_samples(*arguments)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[1:])
