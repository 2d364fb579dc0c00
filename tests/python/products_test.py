# SPDX-License-Identifier: Apache-2.0
"""Products of matrices with computed factors, which are judged as matrix products: products_test.py Products."""
import unittest

import numpy as np

import assay
import narrow


def exp_product(x, w):
    return assay.namespace(x).exp(x) @ w


def pow_product(x, p, w):
    return assay.namespace(x).pow(x, p) @ w


class Products(unittest.TestCase):
    """Each kind of data in a small product, which is evaluated term by term, and in one that is a matrix product."""
    SHAPES = ((8, 8, 8), (32, 64, 32))

    def data(self, m, k, n):
        rng = np.random.default_rng(0)
        return rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)

    def test_a_factor_may_overflow_where_it_is_stored(self):
        for shape in self.SHAPES:
            x, w = (narrow.f16(a) for a in self.data(*shape))
            x[3, 2] = 12  # exp is beyond f16
            with np.errstate(over="ignore", invalid="ignore"):
                stored = narrow.f16(narrow.f16(np.exp(x)) @ w)
            self.assertTrue(np.isinf(stored[3]).any())
            self.assertTrue(assay.check(exp_product, [x, w], stored, dtypes=dict(x="f16", w="f16", y="f16")).passed, shape)

    def test_nan_beside_one_in_a_factor(self):
        for shape in self.SHAPES:
            x, w = self.data(*shape)
            x, p = np.abs(x) + np.float32(0.5), np.ones_like(x)
            x[3, 2], p[3, 2] = 1, np.nan
            right = np.power(x.astype("f8"), p) @ w
            by_logarithms = np.exp(p * np.log(x.astype("f8"))) @ w
            for result in (right, by_logarithms):
                self.assertTrue(assay.check(pow_product, [x, p, w], result.astype("f4")).passed, shape)

    def test_sums_beyond_floats_are_judged(self):
        for shape in self.SHAPES:
            x, w = self.data(*shape)
            x[3], w = 90, w * np.float32(1e-9)  # exp(90) is beyond floats
            right = (np.exp(x.astype("f8")) @ w.astype("f8")).astype("f4")
            self.assertTrue(assay.check(exp_product, [x, w], right, contract="acc=f64").passed, shape)
            right[3] = 5
            self.assertEqual(assay.check(exp_product, [x, w], right, contract="acc=f64").verdict, "mismatch", shape)

    def test_a_product_of_one_term(self):
        rng = np.random.default_rng(1)
        for shapes in (((5, 1), (1, 7)), ((1,), (1, 7)), ((5, 1), (1,)), ((1,), (1,)), ((3, 5, 1), (1, 7)), ((5, 1), (3, 1, 7)), ((1, 1), (1, 1))):
            x, w = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
            y = np.asarray(x @ w)
            self.assertTrue(assay.check(lambda a, b: a @ b, [x, w], y).passed, shapes)
            self.assertEqual(assay.check(lambda a, b: a @ b, [x, w], y * np.float32(1.01)).verdict, "mismatch", shapes)
        with self.assertRaisesRegex(assay.UsageError, "one element that broadcasts"):
            assay.check(lambda a, b: a @ b, [x, np.ones((4, 2), np.float32)], x)

    def test_results_of_which_nothing_but_the_sign_is_promised_say_nothing(self):
        """Products of 300 normals, whose partial products may vanish in some order."""
        x = np.random.default_rng(0).standard_normal((64, 300)).astype("f4")
        wrong = 8 * np.prod(np.sign(x), 1)
        self.assertEqual(assay.check("reduce", [x], wrong, axes=[1], kind="prod").verdict, "inconclusive")

    def test_faults_of_each_kind_are_seen(self):
        x, w = self.data(32, 64, 32)
        exact = np.exp(x.astype("f8")) @ w.astype("f8")
        for name, wrong in (("a term less", exact - np.outer(np.exp(x[:, 5].astype("f8")), w[5])), ("a row of the next", np.roll(exact, 1, 0)),
                            ("transposed", exact.T), ("one element", exact + 0.1 * (np.arange(exact.size) == 77).reshape(exact.shape))):
            with self.subTest(name):
                self.assertEqual(assay.check(exp_product, [x, w], wrong.astype("f4")).verdict, "mismatch")


if __name__ == "__main__":
    unittest.main()
