#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Formulas that are undefined at some elements: NaN and infinities are judged where IEEE 754 leaves no doubt, and elsewhere the
message names the element and the step of the formula that leaves it open: undefined_test.py Undefined."""
import sys
import unittest
import warnings

import numpy as np

import assay

INF = np.float32(np.inf)
X = np.float32([[-2, 0, 1, 3], [0.5, -0.0, -1, 2]])
ZERO = np.zeros_like(X)


def of(name):
    """The function of this name, and a step behind it."""
    return lambda x: 2 * getattr(assay.namespace(x), name)(x)


# Formula, operands; NumPy's result is right, and 5 in the place of any NaN or infinity is wrong.
CERTAIN = {
    "divided by 0": (lambda x: x / 0, [X]),
    "divided by an operand": (lambda x, y: x / y, [X, ZERO]),
    "0 / 0": (lambda x, y: x / y, [ZERO, ZERO]),
    "a quotient further on": (lambda x, y: 2 * (x / y) + 1, [X, ZERO]),
    "a reciprocal": (lambda x: 1 / x, [X]),
    "a floored quotient": (lambda x, y: 2 * (x // y), [X, ZERO]),
    "a remainder": (lambda x, y: x % y, [X, ZERO]),
    "log": (of("log"), [X]),
    "log1p": (of("log1p"), [X]),
    "sqrt": (of("sqrt"), [X]),
    "rsqrt": (of("rsqrt"), [X]),
    "a power": (lambda x: x ** 0.5, [X]),
    "0 * inf": (lambda x, y: x * y, [ZERO, X * 0 + INF]),
    "inf - inf": (lambda x: x - x, [X * 0 + INF]),
    "softmax of -inf": (lambda x: assay.namespace(x).softmax(x, axis=-1), [np.full_like(X, -INF)]),
    "a mean of nothing": (lambda x: assay.namespace(x).mean(x, axis=1), [X[:, :0]]),
    "a branch that is not chosen": (lambda x: assay.namespace(x).where(x == 0, 0.0, 1 / x), [X]),
}
ONES = np.ones((2, 3), np.float32)
# Formula, operands, the clause that says what leaves the first element open, and what to do.
OPEN = {
    "a divisor": (lambda x: 1 / (x - 1), [ONES], "the divisor x - 1 of 1 / (x - 1) may be 0", "keep the divisor away from 0"),
    "a norm of equal numbers": (lambda x: (x - assay.namespace(x).mean(x)) / assay.namespace(x).std(x), [ONES],
                                "the divisor sqrt(mean((x - ...) * (x - ...)))", "keep the divisor away from 0"),
    "a logarithm": (lambda x: assay.namespace(x).log(x - 1), [ONES], "the operand x - 1 of log(x - 1) may be where that has no finite",
                    "for which the function is finite"),
    "an integer": (lambda x: x // (x - x), [np.int32([[7, 9]])], "the divisor x - x of floor divide(x, x - x) is 0",
                   "keep the divisor away from 0"),
}


class Undefined(unittest.TestCase):
    def test_where_ieee_754_leaves_no_doubt_its_result_alone_is_right(self):
        for name, (formula, operands) in CERTAIN.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                right = np.float32(formula(*operands))
                verdict = assay.check(formula, operands, right)
                self.assertEqual((verdict.verdict, verdict.metrics["not_judged"]), ("pass", 0), verdict)
                if np.isfinite(right).all():
                    continue
                wrong = assay.check(formula, operands, np.where(np.isfinite(right), right, np.float32(5)))
                self.assertEqual(wrong.verdict, "mismatch")
                self.assertIn("wrong among non-finite values", wrong.reason)

    def test_the_step_that_leaves_an_element_open_is_named(self):
        for name, (formula, operands, clause, remedy) in OPEN.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                verdict = assay.check(formula, operands, np.asarray(formula(*operands)))
                self.assertEqual(verdict.verdict, "inconclusive")
                self.assertIn(", as at [0", verdict.reason)
                self.assertIn(f", where {clause}", verdict.reason)
                self.assertIn(remedy, verdict.reason)
                self.assertNotIn("scale the operands down", verdict.reason)

    def test_few_open_elements_are_counted_beside_judged_ones(self):
        x = np.float32([[1, -1], [2, 3], [4, 5]])

        def reciprocal(x):
            return 1 / assay.namespace(x).sum(x, axis=1)
        for open_one in (INF, 5):
            verdict = assay.check(reciprocal, [x], np.float32([open_one, 0.2, 1 / 9]))
            self.assertEqual((verdict.verdict, verdict.metrics["not_judged"]), ("pass", 1))
            self.assertIn("as at [0], where the divisor sum(x) of 1 / sum(x) may be 0", str(verdict))
        self.assertEqual(assay.check(reciprocal, [x], np.float32([INF, 0.2, 0.2])).verdict, "mismatch")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
