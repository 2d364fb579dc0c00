# SPDX-License-Identifier: Apache-2.0
"""Causes that one case cannot tell apart, and the further cases that do: experiments_test.py ASSAY [CLASS]."""
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import assay

ASSAY = sys.argv.pop(1)
KERNELS = """
import assay

@assay.kernel("matmul", contract="f32acc")
def ignores_alpha(a, b, alpha=1.0):
    return (a.astype(float) @ b).astype(a.dtype)

@assay.kernel("matmul", contract="f32acc")
def doubles_a(a, b, alpha=1.0):
    return (alpha * (2 * a.astype(float) @ b)).astype(a.dtype)

@assay.kernel("matmul", contract="f32acc")
def other_with_other_factors(a, b, alpha=1.0):
    return ((1 if alpha == 0.5 else 0.77) * (a.astype(float) @ b)).astype(a.dtype)
"""


class Executed(unittest.TestCase):
    def explain(self, kernel, *args):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "mine.py").write_text(KERNELS)
            variables = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "ASSAY_LIBRARY")}
            done = subprocess.run([ASSAY, "explain", "--case", "matmul/f32/m=16,n=16,k=32,alpha=0.5/fill=normal/seed=0", "--backend", "mine", "--impl", kernel,
                                   "--kernels", "mine.py", "--python", sys.executable, "--progress", "none", *args],
                                  cwd=folder, env=variables | {"ASSAY_GOLDEN_STORE": folder}, capture_output=True, text=True, timeout=250)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout

    def test_another_factor_tells_an_ignored_one_from_a_doubled_operand_and_what_none_tells_apart_is_said(self):
        for kernel, cause in (("ignores_alpha", "--attr alpha=1"), ("doubles_a", "the operand a doubled, or the operand b doubled")):
            text = self.explain(kernel)
            self.assertIn("cause: the right result of --attr alpha=1", text)
            self.assertIn("cause: the right result of the operand a doubled", text)
            self.assertIn(f"alpha=0.35/fill=normal/seed=0: explained by {cause}\n", text)
        self.assertRegex(text, "experiments: [2-6] further cases do not tell apart the operand a doubled, or the operand b doubled\n")
        found = json.loads(self.explain("ignores_alpha", "--json"))["results"][0]
        self.assertEqual(found["experiments"], [{"case_id": "matmul/f32/m=16,n=16,k=32,alpha=0.35/fill=normal/seed=0", "explained_by": ["--attr alpha=1"]}])

    def test_a_case_that_contradicts_all_causes_is_said(self):
        self.assertIn(": none of these causes makes its result", self.explain("other_with_other_factors"))


class Called(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(0)
        self.a, self.b = rng.standard_normal((16, 32), np.float32), rng.standard_normal((32, 24), np.float32)

    def test_a_callable_is_called_again_where_causes_are_alike(self):
        calls = []

        def ignores_alpha(a, b, alpha):
            calls.append(alpha)
            return a @ b
        self.assertEqual(assay.check("matmul", [self.a, self.b], self.a @ self.b, alpha=0.5).cause, "alpha=1, or of the operand a doubled, or of the operand b doubled")
        verdict = assay.check("matmul", [self.a, self.b], ignores_alpha, alpha=0.5)
        self.assertEqual(verdict.cause, "alpha=1")
        self.assertIn("experiment: alpha=0.35: explained by alpha=1", verdict.explanation)
        self.assertEqual(calls, [0.5, 0.35])
        doubled = assay.check("matmul", {"a": self.a, "b": self.b}, lambda a, b, alpha: alpha * (2 * a) @ b, alpha=0.5)
        self.assertEqual(doubled.cause, "the operand a doubled, or of the operand b doubled")

    def test_a_right_one_is_called_once(self):
        calls = []

        def right(x):
            calls.append(x)
            return np.tanh(x.astype(float)).astype(x.dtype)
        self.assertTrue(assay.check("tanh", self.a.reshape(-1), right).passed)
        self.assertEqual(len(calls), 1)

    def test_one_may_write_into_its_operands(self):
        x = self.a.reshape(-1).copy()
        self.assertTrue(assay.check("relu", x, lambda x: np.maximum(x, 0, out=x)).passed)
        np.testing.assert_array_equal(x, self.a.reshape(-1))

    def test_a_builtin_without_a_signature_is_called(self):
        self.assertRaises(ValueError, inspect.signature, np.dot)
        self.assertTrue(assay.check("matmul", [self.a, self.b], np.dot).passed)

    def test_one_that_does_not_take_further_data_keeps_its_causes(self):
        def ignores_alpha(a, b, alpha):
            if alpha != 0.5 or a[0, 0] != self.a[0, 0]:
                raise ValueError("other data")
            return a @ b
        self.assertIn("alpha=1, or of the operand a doubled", assay.check("matmul", [self.a, self.b], ignores_alpha, alpha=0.5).cause)


if __name__ == "__main__":
    unittest.main()
