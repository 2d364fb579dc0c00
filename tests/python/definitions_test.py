#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators that are Python functions: definitions_test.py GROUP. The program is $ASSAY_PROGRAM."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

import assay
from assay import _define, _namespace

RANDOM = np.random.default_rng(5)
GUIDE = pathlib.Path(__file__).resolve().parents[2] / "harness/python/DEFINITIONS.md"


def draw(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def rms_norm(x, gamma):
    xp = assay.namespace(x)
    return x * xp.rsqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * gamma


def softmax_backward(y, dy):
    return y * (dy - assay.namespace(y).sum(y * dy, axis=-1, keepdims=True))


def attention(q, k, v):
    xp = assay.namespace(q)
    return xp.matmul(xp.softmax(q @ k.T * 0.125, axis=-1), v)


@assay.operator("gated", roles={"bias": "offset"})
def gated(x: "rows 2*n", bias: "n", *, slope: float = 1.5):
    """Halves of a row, one of which gates the other."""
    xp = assay.namespace(x)
    gate, up = xp.split(x, 2, axis=-1)
    return gate * xp.sigmoid(slope * gate) * up + bias


class Traced(unittest.TestCase):
    def test_the_bound_and_the_golden_value_are_those_of_the_operator_in_cpp(self):
        x, gamma, positive = draw(9, 70), draw(70), abs(draw(9, 70))
        cases = [("rms_norm", rms_norm, [x, gamma], rms_norm(x, gamma)),
                 ("softmax_backward", softmax_backward, [positive, x], softmax_backward(positive, x))]
        for name in ("exp", "tanh", "erf", "sin", "cos", "rsqrt", "log", "gelu"):
            flat = abs(draw(500)) + np.float32(0.1)
            function = getattr(assay.namespace(flat), name)
            cases.append((name, lambda x, name=name: getattr(assay.namespace(x), name)(x), [flat], function(flat)))
        for name, function, inputs, output in cases:
            with self.subTest(name):
                stated = assay.check(name, inputs, output).to_dict()
                traced = assay.check(function, inputs, output).to_dict()
                for key in ("verdict", "class", "worst_elements", "bound_margin", "stat_margin", "contract", "flops"):
                    self.assertEqual(stated[key], traced[key], key)

    def test_twenty_operations_are_traced_bound_and_judged_within_five_milliseconds(self):
        def chain(x, g):
            xp = assay.namespace(x)
            y = x * xp.rsqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * g
            a = xp.silu(y) + xp.tanh(y)
            b = xp.exp(a - xp.max(a, axis=-1, keepdims=True))
            c = b / xp.sum(b, axis=-1, keepdims=True)
            return xp.where(c > 0.1, xp.sqrt(c), c * c) + xp.maximum(y, 0.0) * 0.5 - xp.abs(x)
        x, g = draw(3, 4), draw(4)
        self.assertGreaterEqual(len(_define.trace_plain(chain, [("x", (3, 4)), ("g", (4,))], {}, None)["nodes"]), 20)
        y, times = chain(x, g), []
        for constant in range(40):  # which makes another operator
            began = time.process_time()
            verdict = assay.check(lambda x, g: chain(x, g) + constant, [x, g], y + np.float32(constant))
            times.append(time.process_time() - began)
            self.assertNotEqual(verdict.verdict, "mismatch")
        self.assertLess(min(times), 5e-3)

    def test_right_results_of_numpy_pass_and_wrong_ones_do_not(self):
        q, k, v = draw(10, 64), draw(20, 64), draw(20, 8)
        y = attention(q, k, v)
        self.assertTrue(assay.assert_close(attention, [q, k, v], y, strict=True).passed)
        self.assertTrue(assay.assert_close(lambda x: x @ x.T, [q], q @ q.T))
        self.assertTrue(assay.assert_close(lambda x, bias: assay.namespace(x).relu(x + bias), {"bias": draw(1, 64) * 0, "x": q},
                                           np.maximum(q, 0)))
        lost = attention(q, k[:-1], v[:-1])
        with self.assertRaisesRegex(assay.Mismatch, "mismatch: attention_[0-9a-f]{8} f32"):
            assay.assert_close(attention, [q, k, v], lost)
        with self.assertRaises(assay.Mismatch):
            assay.assert_close(rms_norm, [q, v[:, 0].repeat(4)[:64]], rms_norm(q, v[:, 0].repeat(4)[:64]) * np.float32(1.00001))

    def test_an_operator_has_attributes_and_axes_that_are_multiples(self):
        x, bias = draw(6, 32), draw(16)
        half = x[:, :16]
        y = half / (1 + np.exp(-2 * half)) * x[:, 16:] + bias
        self.assertTrue(assay.assert_close(gated, [x, bias], y, slope=2))
        with self.assertRaises(assay.Mismatch):
            assay.assert_close(gated, [x, bias], y)
        schema = assay.operators()["gated"]
        self.assertEqual((schema["doc"], schema["inputs"]), ("Halves of a row, one of which gates the other.", ["x", "bias"]))

    def test_outputs_may_be_several(self):
        def normalised(x):
            xp = assay.namespace(x)
            mean = xp.mean(x, axis=-1)
            return {"y": x - mean[:, None], "mean": mean}
        x = draw(4, 50)
        self.assertTrue(assay.assert_close(normalised, [x], {"y": x - x.mean(1, keepdims=True), "mean": x.mean(1)}))

    def test_logsumexp_of_infinities_is_that_of_the_operator(self):
        def summed(x):
            return assay.namespace(x).logsumexp(x, axis=-1)
        rows = np.array([[np.inf, 1, 2], [np.inf, -np.inf, 0], [-np.inf, 1, 2], [1, 2, 3], [-np.inf] * 3, [np.nan, 1, 2]], np.float32)
        with np.errstate(invalid="ignore"):
            right = summed(rows)
        for y, verdict in ((right, "pass"), (np.where(np.isinf(right), np.nan, right).astype(np.float32), "mismatch")):
            self.assertEqual(assay.check(summed, [rows], [y]).verdict, verdict, y)
            self.assertEqual(assay.check("reduce", [rows], [y], axis=1, kind="logsumexp").verdict, verdict, y)


class Chains(unittest.TestCase):
    """Errors of a number that two operands follow from are in both, and powers of integers may be products."""

    def test_squares_of_squares(self):
        for count in (4, 7, 9):
            def squares(x, count=count):
                for _ in range(count):
                    x = x * x
                return x
            for seed in range(4):
                x = np.random.default_rng(seed).uniform(0.95, 1.05, (30, 40)).astype(np.float32)
                chain = lambda x: squares(x, count)
                self.assertTrue(assay.check(chain, [x], squares(x, count)).passed_strictly, (count, seed))
                self.assertFalse(assay.check(chain, [x], squares(x, count) * np.float32(1 + 2.0**-10)).passed, (count, seed))

    def test_a_power_is_a_product(self):
        for n in (12, 16, 32):
            for seed in range(4):
                x = np.random.default_rng(seed).uniform(0.5, 1.5, (30, 40)).astype(np.float32)
                product = np.ones_like(x)
                for _ in range(n):
                    product = product * x
                self.assertTrue(assay.check(lambda x: x**n, [x], product).passed, (n, seed))
                self.assertFalse(assay.check(lambda x: x**n, [x], product * x).passed, (n, seed))

    def test_many_squares_take_no_memory(self):
        x = np.ones((2, 3), np.float32)

        def squares(x):
            for _ in range(60):
                x = x * x
            return x
        assay.check(squares, [x], x)


class Masked(unittest.TestCase):
    def test_a_row_that_is_masked_altogether_is_judged(self):
        """By a constant that the arithmetic holds."""
        def masked(x):
            xp = assay.namespace(x)
            return xp.softmax(xp.where(x > 9, x, -2.0 ** 100), axis=-1)
        x = draw(128, 8)
        x[1:] += 20
        y = masked(x)
        self.assertTrue(assay.check(masked, [x], y).passed)
        y[0] = np.eye(8)[0]
        self.assertEqual(assay.check(masked, [x], y).verdict, "mismatch")

    def test_no_sign_of_a_computed_zero_is_promised(self):
        x = np.array([[-0.0, 1.0], [0.0, -0.0]], np.float32)
        with np.errstate(divide="ignore"):
            for function in (lambda x: 1 / x, lambda x: 1 / x[:, 0], lambda x: 1 / assay.namespace(x).roll(x, 1, axis=1),
                             lambda x: 1 / assay.namespace(x).cumulative_sum(x, axis=1), lambda x: 1 / (x - abs(x)),
                             lambda x: 1 / assay.namespace(x).max(x, axis=0), lambda x: 1 / assay.namespace(x).sqrt(x * x)):
                for y in (function(x), function(x.astype(np.float64))):
                    self.assertNotIn(assay.check(function, [x.astype(y.dtype)], y).verdict, ("mismatch", "below_contract"))
            self.assertEqual(assay.check(lambda x: 1 / x, [x], 1 / abs(x)).verdict, "mismatch")


class DefinedRuns(unittest.TestCase):
    """The guide's example as a stranger types it."""

    def test_the_guide_has_all_functions(self):
        listed = re.search(r"`(abs acos\s.*?)`", GUIDE.read_text(encoding="utf-8"), re.S).group(1).split()
        self.assertEqual(sorted(listed), _namespace.names())

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.dir = pathlib.Path(self.folder.name)
        for block in GUIDE.read_text(encoding="utf-8").split("```python\n")[1:]:
            code = block.split("```")[0]
            if code.startswith(("# my_", "# test_")):
                (self.dir / code.split()[1]).write_text(code, encoding="utf-8")

    def assay(self, code, *words):
        done = subprocess.run([os.environ["ASSAY_PROGRAM"], *words], cwd=self.dir, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_the_guides_kernels_are_judged_by_the_guides_definition(self):
        self.assertIn("swiglu_norm", self.assay(0, "define", "my_ops.py", "-o", "my_ops.json"))
        for number, file in enumerate(("my_ops.py", "my_ops.json")):
            self.assertIn("gamma", self.assay(0, "list", "ops", "swiglu_norm", "--verbose", "--operators", file))
            self.assay(1, "run", "--operators", file, "--kernels", "my_kernels.py", "--backend", "my_kernels", "--python",
                       sys.executable, "--case", "swiglu_norm/f32/rows=16,n=64,h=32/fill=normal/seed=0", "--no-perf",
                       "--out", f"out{number}")
            records = [json.loads(line) for line in (self.dir / f"out{number}/results.jsonl").read_text().splitlines()]
            verdicts = {r["implementation"]: r["verdict"] for r in records}
            self.assertEqual(verdicts["wrong_eps"], "mismatch")
            self.assertIn(verdicts["fused"], ("pass", "inconclusive"))
            self.assertIn("--operators", records[0]["reproduce"])

    def test_a_twin_leaves_open_what_the_bound_leaves_open(self):
        """Sums of tanh of numbers with random signs cancel to whatever the order of work makes of them, and they divide."""
        (self.dir / "open_ops.py").write_text(
            "import assay\n"
            "@assay.operator('normed', types=['f32'])\n"
            "def normed(q: 'n d', k: 'm d', v: 'm'):\n"
            "    xp = assay.namespace(q)\n"
            "    weights = xp.softmax(q @ xp.permute_dims(k, (1, 0)), axis=-1)\n"
            "    return xp.sum(weights * v, axis=-1) / xp.sum(xp.tanh(q), axis=-1)\n")
        (self.dir / "open_kernels.py").write_text(
            "import numpy as np\nimport assay\n"
            "def normed(q, k, v, terms):\n"
            "    scores = (q[:, None, :terms].astype(float) * k[:, :terms]).sum(-1)\n"
            "    weights = np.exp(scores - scores.max(-1, keepdims=True))\n"
            "    total = np.zeros(len(q), np.float32)\n"
            "    for i in range(q.shape[1])[::-1]: total += np.tanh(q[:, i])\n"
            "    with np.errstate(all='ignore'):\n"
            "        return (weights @ v.astype(float) / weights.sum(-1) / total).astype(np.float32)\n"
            "for name, terms in (('right', None), ('loses_a_term', -1)):\n"
            "    assay.kernel('normed', dtypes=['f32'], contract='f32acc;math=4', name=name)(\n"
            "        lambda q, k, v, terms=terms: normed(q, k, v, terms))\n")
        self.assay(1, "run", "--operators", "open_ops.py", "--kernels", "open_kernels.py", "--backend", "open_kernels", "--python",
                   sys.executable, "--case", "normed/f32/n=64,d=10,m=9/fill=normal/seed=0", "--no-perf", "--out", "open")
        records = [json.loads(line) for line in (self.dir / "open/results.jsonl").read_text().splitlines()]
        verdicts = {r["implementation"]: r["verdict"] for r in records}
        self.assertIn(verdicts["right"], ("pass", "inconclusive"), records[0]["reason"])
        self.assertEqual(verdicts["loses_a_term"], "mismatch")

    def test_the_guides_test_runs_in_pytest(self):
        import importlib.util
        if importlib.util.find_spec("pytest") is None:
            self.skipTest("pytest is not installed (Debian: python3-pytest)")
        for wrong in (False, True):
            test = (self.dir / "test_fused.py").read_text()
            (self.dir / "test_fused.py").write_text(test.replace('float(assay_case.attrs["eps"])', "1e-3") if wrong else test)
            done = subprocess.run([sys.executable, "-m", "pytest", "-p", "assay.pytest_plugin", "-p", "no:cacheprovider", "-v",
                                   "test_fused.py"], cwd=self.dir, capture_output=True, text=True, timeout=240)
            self.assertEqual(done.returncode, int(wrong), done.stdout + done.stderr)
            self.assertRegex(done.stdout, r"test_fused.py::test_fused\[swiglu_norm/f32/rows=")

    def test_a_definition_is_traced_by_the_interpreter_that_is_named(self):
        named = self.dir / "python"
        named.write_text(f"#!/bin/sh\ntouch {self.dir}/was_asked\nexec {sys.executable} \"$@\"\n")
        named.chmod(0o755)
        for number, words in enumerate((("list", "ops", "swiglu_norm"), ("list", "cases", "--op", "swiglu_norm"),
                                        ("run", "--case", "swiglu_norm/f32/rows=8,n=16,h=8/fill=normal/seed=0", "--backend", "cpu",
                                         "--no-perf", "--out", "named"),
                                        ("inputs", "--op", "swiglu_norm", "--out", "inputs"))):
            with self.subTest(words):  # the option may stand before the files and behind them
                options = [("--operators", "my_ops.py"), ("--python", str(named))][::1 if number % 2 else -1]
                self.assay(4 if words[0] == "run" else 0, *words, *options[0], *options[1])
                self.assertTrue((self.dir / "was_asked").exists())
                (self.dir / "was_asked").unlink()
        self.assertIn("absent", self.assay(2, "list", "ops", "--operators", "my_ops.py", "--python", "absent"))

    def test_bad_files_are_refused(self):
        for name, text, words in (("none.py", "x = 1\n", "defines no operator"),
                                  ("broken.py", "def f(:\n", "SyntaxError"),
                                  ("raises.py", "import nothing_of_this_name\n", "raises.py:1: ModuleNotFoundError"),
                                  ("bad.json", "{\"assay_definitions\": 1", "bad.json is no JSON"),
                                  ("later.json", "{\"assay_definitions\": 9, \"operators\": []}", "version 9")):
            (self.dir / name).write_text(text)
            with self.subTest(name):
                self.assertIn(words, self.assay(2, "list", "ops", "--operators", name))
        self.assertIn("missing.json", self.assay(2, "run", "--operators", "missing.json"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
