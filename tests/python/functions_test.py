#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of the array API standard in traced functions, held against NumPy's: functions_test.py Functions."""
import sys
import unittest

import numpy as np

import assay

RANDOM = np.random.default_rng(11)


def draw(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


X = draw(5, 7)
POSITIVE, INSIDE = abs(X) + np.float32(0.1), np.clip(X / 4, -0.9, 0.9)
ELEMENTS = {"exp2": X, "expm1": X, "log2": POSITIVE, "log10": POSITIVE, "tan": X, "asin": INSIDE, "acos": INSIDE, "atan": X, "sinh": X,
            "cosh": X, "asinh": X, "acosh": POSITIVE + 1, "atanh": INSIDE, "ceil": 3 * X, "trunc": 3 * X, "sign": X}
B, C = draw(3, 5, 7), draw(3, 4, 7)
OF_SEVERAL = {
    "vecdot": (lambda x, y: assay.namespace(x).vecdot(x, y), [X, 2 * X]),
    "batched einsum": (lambda x, y: assay.namespace(x).einsum("bij,bkj->bik", x, y), [B, C]),
    "transposing einsum": (lambda x: assay.namespace(x).einsum("ij->ji", x), [X]),
    "einsum without an arrow": (lambda x, y: assay.namespace(x).einsum("kj,ij", x, y), [X, X[:3]]),
    "einsum of three": (lambda x, y, z: assay.namespace(x).einsum("ij, jk, k -> i", x, y, z), [X, draw(7, 4), draw(4)]),
    "tensordot": (lambda x, y: assay.namespace(x).tensordot(x, y, axes=1), [X, draw(7, 4)]),
    "tensordot of lists": (lambda x, y: assay.namespace(x).tensordot(x, y, axes=([0, 2], [0, 2])), [B, C]),
    "zeros_like": (lambda x: x + assay.namespace(x).zeros_like(x), [X]),
    "ones_like": (lambda x: x + assay.namespace(x).ones_like(x), [X]),
    "full_like": (lambda x: x * assay.namespace(x).full_like(x, 3.0), [X]),
}


class Functions(unittest.TestCase):
    def hold(self, name, function, operands):
        with self.subTest(name):
            right = np.asarray(function(*operands))
            self.assertTrue(assay.check(function, operands, right).passed, name)
            wrong = right.copy()
            wrong.flat[-1] += np.float32(0.25) * (1 + abs(wrong.flat[-1]))
            self.assertEqual(assay.check(function, operands, wrong).verdict, "mismatch")

    def test_functions_of_elements_are_numpys(self):
        for name, x in ELEMENTS.items():
            self.hold(name, lambda x, name=name: getattr(assay.namespace(x), name)(x), [x])

    def test_products_of_several_arrays_are_numpys(self):
        for name, (function, operands) in OF_SEVERAL.items():
            self.hold(name, function, operands)

    def test_special_elements_are_numpys(self):
        x = np.float32([np.nan, np.inf, -np.inf, 0, 2.5, -2.5])
        for name in ("sign", "ceil", "trunc"):
            self.hold(name, lambda x, name=name: getattr(assay.namespace(x), name)(x), [x])

    def test_subscripts_that_cannot_be_traced_say_what_is_wrong(self):
        for subscripts, words in (("ii->i", "does not name each axis of 1 arrays"), ("ij,jk->ik", "does not name each axis of 1 arrays"),
                                  ("i...->i", "does not name each axis"), ("ij->k", "a letter behind the arrow that no operand has")):
            with self.subTest(subscripts), self.assertRaisesRegex(assay.UsageError, words):
                assay.check(lambda x: assay.namespace(x).einsum(subscripts, x), [X], X)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
