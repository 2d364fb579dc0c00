# SPDX-License-Identifier: Apache-2.0
"""Answers of assay.check and assay.assert_close: check_test.py [CLASS]."""
import os
import pickle
import subprocess
import sys
import threading
import unittest
import warnings

import numpy as np

import assay


def product(seed=0, m=8, n=6, k=64):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    return a, b, (a.astype(np.float64) @ b).astype(np.float32)


def softmax(x, axis=-1):
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return (e / e.sum(axis, keepdims=True)).astype(x.dtype)


class Check(unittest.TestCase):
    def test_a_right_result_passes(self):
        a, b, y = product()
        verdict = assay.check("matmul", {"a": a, "b": b}, {"y": y})
        self.assertTrue(verdict)
        self.assertEqual((verdict.verdict, verdict.class_, verdict.reason), ("pass", "bit_exact", ""))
        self.assertEqual(verdict.margins, {"bound": 0, "exact": None, "exceptional": 0, "statistic": verdict.margins["statistic"]})
        self.assertEqual(verdict.metrics["elements"], 48)
        self.assertEqual(verdict.to_dict()["case_id"], "matmul/f32/m=8,n=6,k=64/fill=user/seed=0")
        self.assertIn("acc=f32; math=4 (the default; contract states another)", verdict.explanation)
        self.assertIsNone(verdict.arithmetic)

    def test_a_wrong_element_is_located(self):
        a, b, y = product()
        y[3, 5] += 0.01
        verdict = assay.check("matmul", [a, b], y)
        self.assertFalse(verdict)
        self.assertEqual(verdict.verdict, "mismatch")
        worst = verdict.worst[0]
        self.assertEqual(worst.index, (3, 5))
        self.assertAlmostEqual(worst.got, float(y[3, 5]), places=5)
        self.assertAlmostEqual(worst.error, 0.01, places=5)
        self.assertLess(worst.tolerance, 0.01)
        self.assertGreater(verdict.margins["bound"], 1)
        self.assertEqual(verdict.where, "1 of 48 elements, [3,5]")
        self.assertEqual(verdict.metrics["violations"], 1)

    def test_a_weaker_arithmetic_is_named(self):
        a, b, _ = product(1, 64, 64, 256)
        rounded = [(x.view(np.uint32) + 0x8000 & 0xFFFF0000).astype(np.uint32).view(np.float32) for x in (a, b)]
        y = (rounded[0].astype(np.float64) @ rounded[1]).astype(np.float32)
        verdict = assay.check("matmul", [a, b], y)
        self.assertEqual(verdict.verdict, "below_contract")
        self.assertEqual(verdict.arithmetic.field, "in=bf16")
        self.assertTrue(assay.check("matmul", [a, b], y, contract=verdict.arithmetic.contract))
        with self.assertRaises(assay.Mismatch) as raised:
            assay.assert_close("matmul", [a, b], y)
        self.assertIn(f"arithmetic: behaves like {verdict.arithmetic.name} (in=bf16)", str(raised.exception))
        self.assertIn(f"try: contract={verdict.arithmetic.contract!r}", str(raised.exception))

    def test_contracts_and_requirements_judge(self):
        a, b, y = product()
        y[0, 0] += 0.01
        self.assertEqual(assay.check("matmul", [a, b], y).verdict, "mismatch")
        self.assertNotEqual(assay.check("matmul", [a, b], y, contract="bf16acc").verdict, "mismatch")
        self.assertEqual(assay.check("matmul", [a, b], product()[2], contract="tf32", require="f32acc").verdict,
                         "below_contract")
        with self.assertRaisesRegex(assay.Mismatch, "^below_contract: (.|\n)*reason: .*contract declares (.|\n)*try: a contract that meets"):
            assay.assert_close("matmul", [a, b], product()[2], contract="tf32", require="f32acc")
        self.assertEqual(assay.check("matmul", [a, b], product()[2], tier="reproducible").to_dict()["tier"],
                         "reproducible")

    def test_several_outputs_are_given_by_name(self):
        x = np.random.default_rng(2).standard_normal((4, 32), np.float32)
        gamma, beta = np.ones(32, np.float32), np.zeros(32, np.float32)
        wide = x.astype(np.float64)
        mean, rstd = wide.mean(1), 1 / np.sqrt(wide.var(1) + 1e-5)
        outputs = {"y": (wide - mean[:, None]) * rstd[:, None], "mean": mean, "rstd": rstd}
        outputs = {name: value.astype(np.float32) for name, value in outputs.items()}
        verdict = assay.check("layer_norm", [x, gamma, beta], outputs, stats=1)
        self.assertTrue(verdict, verdict.explanation)
        outputs["rstd"][2] *= 1.01
        verdict = assay.check("layer_norm", [x, gamma, beta], outputs, stats=1)
        self.assertEqual(verdict.to_dict()["worst_output"], "rstd")
        self.assertEqual(verdict.worst[0].index, (2,))

    def test_an_operand_that_is_left_out_is_none(self):
        a, b, y = product()
        bias = np.arange(6, dtype=np.float32)
        self.assertTrue(assay.check("matmul", [a, b, None, bias], (a.astype(np.float64) @ b + bias).astype(np.float32)))

    def test_threads_may_judge_at_the_same_time(self):
        verdicts = []
        def judge(seed):
            a, b, y = product(seed)
            y[seed, 0] += 1
            verdicts.append((seed, assay.check("matmul", [a, b], y).worst[0].index))
        threads = [threading.Thread(target=judge, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(verdicts), [(seed, (seed, 0)) for seed in range(6)])

    def test_a_child_of_the_process_may_judge(self):
        a, b, y = product()
        assay.check("matmul", [a, b], y)
        child = os.fork()
        if child == 0:
            os._exit(0 if assay.check("matmul", [a, b], y) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Failures(unittest.TestCase):
    def test_assert_close_says_what_is_wrong(self):
        a, b, y = product()
        self.assertTrue(assay.assert_close("matmul", [a, b], y))
        y[3, 5] += 0.01
        with self.assertRaises(AssertionError) as raised:
            assay.assert_close("matmul", [a, b], y)
        lines = str(raised.exception).splitlines()
        self.assertEqual(lines[0], "mismatch: matmul f32 m=8,n=6,k=64, judged by acc=f32; math=4")
        self.assertRegex(lines[1], r"^  worst element: \[3,5\] got \S+, golden \S+, error 0.01, tolerance \S+$")
        self.assertEqual(lines[2:4], ["  where: 1 of 48 elements, [3,5]", "  arithmetic: no weaker one explains it"])
        self.assertRegex(lines[4], "^  try: look at what is special about these places")
        self.assertIsInstance(raised.exception, assay.Mismatch)
        self.assertEqual(raised.exception.verdict.worst[0].index, (3, 5))
        again = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual((str(again), again.verdict.worst), (str(raised.exception), raised.exception.verdict.worst))

    def test_most_elements_wrong_point_at_attributes(self):
        a, b, y = product(0, 8, 8, 8)
        with self.assertRaisesRegex(assay.Mismatch, r"try: most elements are wrong: compare the attributes \(transposition"):
            assay.assert_close("matmul", [a, b], y, transpose_b=True)

    def test_contracts_say_what_becomes_of_nan(self):
        x = np.float32([[1, np.nan, 3], [4, 5, 6]])
        wins, loses, wrong = np.float32([np.nan, 6]), np.float32([3, 6]), np.float32([1, 6])
        for contract, right in (("f32acc", (wins,)), ("f32acc;nan=ignore", (loses,)), ("f32acc;nan=any", (wins, loses))):
            for y in (wins, loses, wrong):
                with self.subTest(contract=contract, y=y):
                    verdict = assay.check("reduce", x, y, kind="max", axis=1, contract=contract)
                    self.assertEqual(verdict.passed, any(y is one for one in right), verdict)
        self.assertTrue(assay.check("reduce", x, np.int64([2, 2]), kind="argmax", axis=1, contract="f32acc;nan=ignore"))
        self.assertTrue(assay.check("reduce", x[1:], np.float32([15]), kind="sum", axis=1, contract="f32acc;nan=ignore"))

    def test_nan_is_named(self):
        a, b, y = product()
        y[1, 1] = np.nan
        with self.assertRaisesRegex(assay.Mismatch, r"first element \[1,1\] got nan(.|\n)*try: look for an overflow"):
            assay.assert_close("matmul", [a, b], y)

    def test_inconclusive_warns_and_fails_when_strict(self):
        rng = np.random.default_rng(4)
        a, b = rng.standard_normal((4, 4096), np.float32), rng.standard_normal((4096, 4), np.float32)
        y = a @ b
        with self.assertWarnsRegex(assay.InconclusiveWarning, "would accept an output of zeros as well") as caught:
            verdict = assay.assert_close("matmul", [a, b], y, contract="bf16acc")
        self.assertEqual(caught.filename, __file__)
        self.assertEqual((verdict.verdict, bool(verdict)), ("inconclusive", False))
        with self.assertRaisesRegex(assay.Mismatch, "^inconclusive: matmul"):
            assay.assert_close("matmul", [a, b], y, contract="bf16acc", strict=True)

    def test_zeros_pass_where_they_are_the_very_result(self):
        """Also when strict: products that underflow, and integers that cancel, are zeros however they are computed."""
        a, b, _ = product(3)
        tiny = [(x * 1e-25).astype(np.float32) for x in (a, b)]
        integers = [np.ones((4, 2), np.float32), np.float32([[3, 5], [-3, -5]])]
        for inputs in (tiny, integers):
            zeros = np.zeros((inputs[0].shape[0], inputs[1].shape[1]), np.float32)
            self.assertTrue(np.array_equal((inputs[0].astype(np.float64) @ inputs[1]).astype(np.float32), zeros))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                verdict = assay.assert_close("matmul", inputs, zeros, strict=True)
            self.assertEqual((verdict.verdict, verdict.class_), ("pass", "bit_exact"))
            self.assertIn("; an output of zeros is the right result of these data, and passes", verdict.explanation)
            wrong = zeros.copy()
            wrong[1, 1] = 1e-3
            with self.assertRaisesRegex(assay.Mismatch, r"(?s)^mismatch: .*worst element: \[1,1\] got 0\.001") as raised:
                assay.assert_close("matmul", inputs, wrong)
            self.assertNotIn("and passes", str(raised.exception))
            self.assertIn("max rel undefined (golden 0)" if inputs is integers else "max rel ", str(raised.exception))
            if inputs is integers:
                self.assertIsNone(raised.exception.verdict.metrics["max_rel_err"])
        # Where the results differ from zero, zeros are wrong, or a pass says nothing.
        with self.assertRaisesRegex(assay.Mismatch, "(?s)^mismatch: .*worst element: .* got 0, golden"):
            assay.assert_close("matmul", [a, b], np.zeros((8, 6), np.float32))
        half, right = np.random.default_rng(7).standard_normal((2, 32, 8))
        cancelling = [np.concatenate([half.T, half.T * (1 + 1e-6)], 1).astype(np.float32),
                      np.concatenate([right, -right]).astype(np.float32)]
        for y in (np.zeros((8, 8), np.float32), (cancelling[0].astype(np.float64) @ cancelling[1]).astype(np.float32)):
            with self.assertRaisesRegex(assay.Mismatch, "^inconclusive: matmul"):
                assay.assert_close("matmul", cancelling, y, strict=True)

    def test_usage_errors_say_what_would_do(self):
        a, b, y = product()
        for words, call in (
                ("did you mean 'matmul'", lambda: assay.check("matmull", [a, b], y)),
                ("op 5 is no text", lambda: assay.check(5, [a, b], y)),
                ("needs the input 'b', which is missing", lambda: assay.check("matmul", a, y)),
                ("matmul has no input 'w'", lambda: assay.check("matmul", {"a": a, "w": b}, y)),
                ("7 is no name of an operand; they are a, b", lambda: assay.check("matmul", {"a": a, 7: b}, y)),
                ("matmul has 4 inputs, and 5 were given", lambda: assay.check("matmul", [a] * 5, y)),
                ("needs the output 'y', which is missing", lambda: assay.check("matmul", [a, b], {})),
                ("y has shape 6x8, expected 8x6", lambda: assay.check("matmul", [a, b], y.T)),
                ("no product of f32 with output f64; possible are", lambda: assay.check("matmul", [a, b], y.astype(np.float64))),
                ("did you mean 'trans[ab]'", lambda: assay.check("matmul", [a, b], y, trans=1)),
                ("transpose_a is another name of transa", lambda: assay.check("matmul", [a, b], y, transa=0, transpose_a=0)),
                ("beta=.* is no number", lambda: assay.check("matmul", [a, b], y, beta=object())),
                ("contract: ", lambda: assay.check("matmul", [a, b], y, contract="acc=f99")),
                ("NUL", lambda: assay.check("matmul", [a, b], y, contract="f32\0acc")),
                ("tier 'best'", lambda: assay.check("matmul", [a, b], y, tier="best")),
                ("tier=1 is no text", lambda: assay.check("matmul", [a, b], y, tier=1)),
                ("contract=b'f32acc' is no text", lambda: assay.check("matmul", [a, b], y, contract=b"f32acc")),
                ("are no Unicode", lambda: assay.check("matmul", [a, b], y, transa="\udcff")),
                ("dtypes='bf16' is no mapping", lambda: assay.check("matmul", [a, b], y, dtypes="bf16")),
                ("dtypes: the type of a=3 is no text", lambda: assay.check("matmul", [a, b], y, dtypes={"a": 3})),
                ("dtypes has 'w'", lambda: assay.check("matmul", [a, b], y, dtypes={"w": "bf16"}))):
            with self.subTest(words), self.assertRaisesRegex(assay.UsageError, words):
                call()
        self.assertTrue(issubclass(assay.UsageError, ValueError))

    def test_arrays_with_other_axes_than_the_operators_are_told_what_to_do(self):
        x = np.random.default_rng(6).standard_normal((3, 4, 8), np.float32)
        y = np.exp(x.astype(np.float64)).astype(np.float32)
        for judge in (assay.check, assay.assert_close):
            for shape, given in (("3x4x8", x), ("scalar", x[0, 0, 0])):
                with self.assertRaisesRegex(assay.UsageError, rf"^exp: x has shape {shape}, but must have one axis, as each "
                                            r"element .* give all operands and the output flat, as x\.ravel\(\) is$"):
                    judge("exp", given, np.exp(given))
            with self.assertRaisesRegex(assay.UsageError, r"^exp: y has shape 3x4x8, expected 96 \(with n=96\): give it flat, "
                                                          r"as y\.ravel\(\)$"):
                judge("exp", x.ravel(), y)
            self.assertTrue(judge("exp", x.ravel(), y.ravel()))
            with self.assertRaisesRegex(assay.UsageError, r"^reduce: y has shape 3x1, expected 3 \(.*\): say keepdims=1 if the "
                                                          r"reduced axes are kept, else give it without them$"):
                judge("reduce", x[:, 0], x[:, 0].sum(1, keepdims=True), axis=1)
            with self.assertRaisesRegex(assay.UsageError, r"^pow: x has shape 3x4x8, .*give all operands and the output flat"):
                judge("pow", [x, x], y)
            with self.assertRaisesRegex(assay.UsageError, r"^rms_norm: x has shape 3x4x8, but must have the axes \[rows,n\]: "
                                                          r"join axes or add some, as x\.reshape\(\.\.\.\) does$"):
                judge("rms_norm", [x, x[0, 0]], y)
        # Where no element is without its neighbours, flat would be another question.
        with self.assertRaisesRegex(assay.UsageError, r"^cumsum: x has shape 3x4x8, but must have the axes \[rows,n\]: "):
            assay.check("cumsum", x, y)


class Attributes(unittest.TestCase):
    def setUp(self):
        self.x = np.random.default_rng(5).standard_normal((3, 4, 5), np.float32)

    def reduced(self, op=np.sum, **kwargs):
        return op(self.x.astype(np.float64), **kwargs).astype(np.float32)

    def test_numpys_axes(self):
        for axis in (0, -1, (0, 2), [1], None):
            with self.subTest(axis):
                where = tuple(axis) if isinstance(axis, list) else axis
                self.assertTrue(assay.check("reduce", self.x, self.reduced(axis=where), axis=axis))
                self.assertTrue(assay.check("reduce", self.x, self.reduced(axis=where, keepdims=True), axis=axis,
                                            keepdims=True))
        self.assertTrue(assay.check("reduce", self.x, self.reduced(axis=1), axes=np.int64(1)))
        self.assertTrue(assay.check("reduce", self.x, self.reduced(np.mean, axis=1), dim=1, keepdim=np.bool_(False),
                                    kind="mean"))

    def test_an_axis_of_softmax(self):
        for axis in (0, 1, -1):
            self.assertTrue(assay.check("softmax", self.x, softmax(self.x, axis), axis=axis))
        self.assertFalse(assay.check("softmax", self.x, softmax(self.x, 0), axis=1))
        self.assertTrue(assay.check("softmax", self.x, softmax(self.x), axis=None))  # the default

    def test_lists_are_dimensions(self):
        x, w = np.ones((1, 1, 5, 6), np.float32), np.ones((1, 1, 3, 2), np.float32)
        y = np.full((1, 1, 2, 5), 6, np.float32)
        self.assertTrue(assay.check("conv", [x, w], y, stride=(2, 1)))
        self.assertTrue(assay.check("conv", [x, w], y, stride=[2, 1], padding=0))

    def test_operators_are_described(self):
        matmul = assay.operators()["matmul"]
        self.assertEqual((matmul["inputs"], matmul["optional_inputs"], matmul["outputs"]), (["a", "b"], ["c", "bias"], ["y"]))
        self.assertIn("transa", [attr["key"] for attr in matmul["attrs"]])


class Module(unittest.TestCase):
    def run_python(self, code, **env):
        return subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True)

    def test_importing_it_imports_and_loads_nothing(self):
        done = self.run_python("import sys; before = set(sys.modules); import assay; print(*sorted(set(sys.modules) - before)); "
                               "print('libassay' in open('/proc/self/maps').read())")
        self.assertEqual(done.stdout, "assay\nFalse\n", done.stderr)

    def test_frameworks_are_not_imported(self):
        done = self.run_python("import sys, numpy as np, assay; x = np.eye(2, dtype=np.float32); assay.check('matmul', [x, x], x); "
                               "print({'torch', 'jax', 'ml_dtypes', 'pytest'} & set(sys.modules))")
        self.assertEqual(done.stdout, "set()\n", done.stderr)

    def test_an_absent_library_is_an_error_that_says_so(self):
        done = self.run_python("import assay; assay.operators()", ASSAY_LIBRARY="/nowhere/libassay.so")
        self.assertIn("assay.Error: ASSAY_LIBRARY=/nowhere/libassay.so: there is no such file", done.stderr)
        done = self.run_python("import assay; assay.operators()", ASSAY_LIBRARY=__file__)
        self.assertIn("cannot be loaded", done.stderr)

    def test_names_are_as_documented(self):
        self.assertEqual(sorted(set(assay.__all__) & set(dir(assay))), assay.__all__)
        for name in assay.__all__:
            self.assertTrue(getattr(assay, name).__doc__ or name == "mark", name)
        self.assertRegex(assay.__version__, r"^\d+\.\d+\.\d+$")
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            assay.nothing

    def test_a_decorator_that_does_not_fit_says_where_it_stands(self):
        with self.assertRaisesRegex(assay.UsageError, rf"^{__file__}:\d+: assay.kernel needs contract=, which is missing; "):
            assay.kernel("softmax")
        with self.assertRaisesRegex(assay.UsageError, rf"^{__file__}:\d+: assay.kernel takes no contracts=; .* did you mean 'con"):
            assay.kernel("softmax", contracts="f32acc")


if __name__ == "__main__":
    unittest.main(verbosity=2)
