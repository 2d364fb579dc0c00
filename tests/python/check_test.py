# SPDX-License-Identifier: Apache-2.0
"""Answers of assay.check and assay.assert_close: check_test.py [CLASS]."""
import os
import pickle
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
        with self.assertRaisesRegex(assay.Mismatch, r"try: most elements are wrong: compare the attributes \(those that are stated; transa=0, "):
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

    def test_advice_fits_the_operator_and_what_was_found(self):
        """Nothing but roundings leaves a softmax in bf16 open, whatever the operands' size; a function has no terms."""
        x = np.random.default_rng(8).standard_normal((40, 300), np.float32)
        verdict = assay.check("softmax", x, softmax(x), contract="bf16acc")
        self.assertEqual(verdict.verdict, "inconclusive")
        self.assertIn("it promises nothing for 12000 of 12000 results, which roundings on the way leave open: contract 'acc=f32; "
                      "math=4' bounds them, if the kernel computes so; else take rows of fewer terms", verdict.reason)
        self.assertNotIn("overflow", verdict.explanation)
        self.assertEqual(assay.check("softmax", x, softmax(x), contract="acc=f32; math=4").verdict, "pass")
        a, b, _ = product(4096)
        cancels = assay.check("matmul", [a, b], a @ b, contract="bf16acc")
        self.assertRegex(cancels.to_dict()["advice"], "^judge by a tighter contract, or dump results of fewer terms or with less cancel")
        adds = assay.check("matmul", [abs(a), abs(b)], abs(a) @ abs(b), contract="bf16acc")
        self.assertEqual(adds.verdict, "inconclusive")
        self.assertNotIn("cancellation", adds.to_dict()["advice"] + adds.explanation)
        flat = np.full(64, 0.3, np.float32) + np.arange(64, dtype=np.float32) * np.float32(1e-6)
        wide = assay.check("tanh", flat, np.tanh(flat), contract="f32acc;math=4096")
        self.assertEqual(wide.verdict, "inconclusive", wide)
        self.assertEqual(wide.to_dict()["advice"], "judge by a tighter contract, or dump data that differ by more than this one "
                                                   "resolves")
        for op, inputs, right, advice in (
                ("tanh", x[0], np.tanh(x[0]), "most elements are wrong: compare the layout of each operand and the formula; contract"),
                ("rms_norm", [x, x[0]], x, r"most elements are wrong: compare the attributes \(those that are stated; eps=1e-06 by default\) and the layout"),
                ("top_k", x, {"values": x[:, :2], "indices": np.zeros((40, 2), np.int64)}, "most elements are wrong: compare the "
                 r"attributes \(those that are stated; smallest=0, tie=first by default\) and the layout of each operand$")):
            outputs = {name: -y - 1 for name, y in right.items()} if isinstance(right, dict) else -right - 1
            wrong = assay.check(op, inputs, outputs)
            self.assertRegex(wrong.to_dict()["advice"], "^" + advice, wrong)
        y = np.tanh(x[0])
        y[7] += 1
        few = assay.check("tanh", x[0], y)
        self.assertEqual(few.to_dict()["advice"], "look at what is special about these places: their operands, the ends of vectors "
                                                  "and blocks")
        self.assertEqual((few.to_dict()["default_attrs"], assay.check("tanh", x[0], np.tanh(x[0])).to_dict()["advice"]), ("", ""))
        y[7] = np.nan
        self.assertIn("look for an overflow on the way", assay.check("tanh", x[0], y).to_dict()["advice"])
        z = x[0].copy()
        z[7] = np.nan
        y[7] = 0
        self.assertIn("what the kernel makes of NaN and infinities in its operands", assay.check("tanh", z, y).to_dict()["advice"])

    def test_an_exponential_of_minus_infinity_is_zero_and_nothing_else(self):
        """By ISO C, whatever `math` grants: a hidden column has no weight, not the smallest one."""
        x = np.random.default_rng(9).standard_normal((4, 8), np.float32)
        x[:, 2] = x[1, 5] = -np.inf
        y = softmax(x)
        self.assertTrue((y[:, 2] == 0).all())
        least = np.float32(1.4e-45)
        for contract in (None, "f32acc;math=256;masked=nan", "f32acc;ftz=all;masked=nan"):
            self.assertTrue(assay.check("softmax", x, y, contract=contract))
            for place in ((0, 2), (1, 5)):
                wrong = y.copy()
                wrong[place] = least
                verdict = assay.check("softmax", x, wrong, contract=contract)
                self.assertEqual((verdict.verdict, verdict.worst[0].index), ("mismatch", place), verdict)
        far = x.copy()
        far[:, 2] = -200  # a finite logit, however far, has a weight that rounds to zero or to the smallest number
        for value in (0, least):
            right = softmax(far)
            right[:, 2] = value
            self.assertTrue(assay.check("softmax", far, right), value)
        e = np.exp(x.ravel())
        self.assertTrue(assay.check("exp", x.ravel(), e))
        e[2] = least
        self.assertFalse(assay.check("exp", x.ravel(), e))
        log = np.log(y, where=y > 0, out=np.full_like(y, -np.inf))
        self.assertTrue(assay.check("softmax", x, log, log=True))

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
                ("matmul: beta=.* is not a number", lambda: assay.check("matmul", [a, b], y, beta=object())),
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


class Titles(unittest.TestCase):
    """The first line counts the elements of all outputs, whichever of them decides."""

    def test_elements_of_several_outputs(self):
        x = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
        mean = x.mean(1, keepdims=True, dtype=np.float64)
        rstd = 1 / np.sqrt(((x - mean) ** 2).mean(1, keepdims=True) + 1e-5)
        inputs = [x, np.ones(16, np.float32), np.zeros(16, np.float32)]
        outputs = {"y": (x - mean) * rstd, "mean": mean.ravel(), "rstd": 1.1 * rstd.ravel()}
        verdict = assay.check("layer_norm", inputs, {name: value.astype(np.float32) for name, value in outputs.items()}, stats=1)
        self.assertEqual(verdict.to_dict()["worst_output"], "rstd")
        self.assertRegex(verdict.explanation, r"^mismatch  layer_norm f32 rows=8,n=16,stats=1, 144 elements of 3 outputs\n")


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
        for axis in (0, 1):  # a choice between names that are integers
            self.assertTrue(assay.check("flip", self.x[0], np.flip(self.x[0], axis).copy(), axis=axis))
        for axis in (np.int64(-1), np.array(-1), "-1"):
            self.assertTrue(assay.check("softmax", self.x, softmax(self.x), axis=axis))

    def test_values_of_another_kind_are_refused(self):
        """A truth value or None is no axis, though int(True) is 1: the message says what was given, wanted and to be done."""
        matrix = np.eye(4, dtype=np.float32)
        reduced = self.reduced(axis=1)
        q = np.ones((1, 1, 4, 4), np.float32)
        for words, op, arrays, y, attrs in (
                (r"softmax: axis=True is not an integer$", "softmax", self.x, self.x, {"axis": True}),
                (r"softmax: axis=(np\.)?True_? is not an integer$", "softmax", self.x, self.x, {"axis": np.bool_(True)}),
                (r"softmax: axis=None is not an integer; leave axis out for its default, -1$", "softmax", self.x, self.x,
                 {"axis": None}),
                (r"softmax: dim=None is not an integer; leave dim out for its default, -1$", "softmax", self.x, self.x,
                 {"dim": None}),
                (r"softmax: axis=1\.0 is not an integer$", "softmax", self.x, self.x, {"axis": 1.0}),
                (r"softmax: axis=\(0, 1\) is not an integer; softmax has one axis alone: join axes", "softmax", self.x, self.x,
                 {"axis": (0, 1)}),
                (r"softmax: axis=\[1\] is not an integer; ", "softmax", self.x, self.x, {"axis": [1]}),
                (r"softmax: log=None is not True or False; leave log out for its default, 0$", "softmax", self.x, self.x,
                 {"log": None}),
                (r"softmax: log=1\.0 is not True or False$", "softmax", self.x, self.x, {"log": 1.0}),
                (r"reduce: axes=True is not an integer, a sequence of them, or None for all axes$", "reduce", self.x, reduced,
                 {"axes": True}),
                (r"reduce: axis=\(0, True\) is not an integer", "reduce", self.x, reduced, {"axis": (0, True)}),
                (r"reduce: axis=\(1\.0,\) is not", "reduce", self.x, reduced, {"axis": (1.0,)}),
                (r"reduce: axis=\(\) is not", "reduce", self.x, reduced, {"axis": ()}),
                (r"reduce: kind=3 is not one of 'sum', 'mean', ", "reduce", self.x, reduced, {"axis": 1, "kind": 3}),
                (r"reduce: keepdim=None is not True or False", "reduce", self.x, reduced, {"axis": 1, "keepdim": None}),
                (r"matmul: alpha=True is not a number$", "matmul", [matrix, matrix], matrix, {"alpha": True}),
                (r"matmul: alpha=None is not a number; leave alpha out for its default, 1$", "matmul", [matrix, matrix], matrix,
                 {"alpha": None}),
                (r"matmul: bias=<ndarray> is not True or False; the array bias belongs to the inputs$", "matmul",
                 [matrix, matrix], matrix, {"bias": matrix[0]}),
                (r"conv: stride=\(2, None\) is not an integer or a sequence of them$", "conv", [q, q], q,
                 {"stride": (2, None)})):
            with self.subTest(words), self.assertRaisesRegex(assay.UsageError, "^" + words):
                assay.check(op, arrays, y, **attrs)
        self.assertTrue(assay.check("matmul", [matrix, matrix], matrix, alpha=np.float32(1), transa=np.bool_(False), beta=0))
        self.assertTrue(assay.check("attention", [q, q, q], q, scale=None))  # computed, as in PyTorch

    def test_names_of_other_libraries_are_understood_or_hinted_at(self):
        self.assertTrue(assay.check("softmax", self.x, softmax(self.x, 1), dim=1))
        m, w = np.eye(4, dtype=np.float32), np.ones((1, 1, 2, 2), np.float32)
        for words, op, arrays, y, attrs in (
                ("did you mean 'softmax' with log=1", "log_softmax", m, m, {}),
                ("did you mean 'matmul' with transb=1", "torch.nn.functional.linear", [m, m], m, {}),
                ("did you mean 'matmul'", "bmm", [m, m], m, {}),
                ("did you mean 'conv'", "conv2d", [w, w], w, {}),
                ("did you mean 'rms_norm'", "RMSNorm", m, m, {}),
                ("did you mean 'attention'", "scaled_dot_product_attention", [w, w, w], w, {}),
                ("did you mean 'reduce' with kind=sum", "np.sum", m, m, {}),
                ("rms_norm has no attribute 'weight'; .*; give weight with the inputs, as the operand 'gamma'$", "rms_norm",
                 [m, m[0]], m, {"weight": m[0]}),
                ("rms_norm has no input 'weight'; .*; did you mean 'gamma'", "rms_norm", {"x": m, "weight": m[0]}, m, {}),
                ("softmax has no output 'out'; .*; did you mean 'y'", "softmax", m, {"out": m}, {}),
                ("cumsum has no attribute 'axis'; .*along the last axis of", "cumsum", m, m, {"axis": 0}),
                ("softmax: assay takes no rtol, because tolerances follow .* contract=", "softmax", m, m, {"rtol": 1e-3}),
                ("did you mean 'contract'", "softmax", m, m, {"contracts": "f32"}),
                ("did you mean 'dtypes'", "softmax", m, m, {"dtype": "f32"}),
                ("unknown dtype 'float16'; .*did you mean 'f16'", "softmax", m, m, {"dtypes": {"x": "float16"}}),
                ("unknown dtype 'half'; .*did you mean 'f16'", "softmax", m, m, {"dtypes": {"x": "half"}}),
                ("unknown dtype 'torch.bfloat16'; .*did you mean 'bf16'", "softmax", m, m, {"dtypes": {"x": "torch.bfloat16"}}),
                ("type of x=.*float32.* is no text; .*did you mean 'f32'", "softmax", m, m, {"dtypes": {"x": np.float32}}),
                ("type of x=.*float16.* is no text; .*did you mean 'f16'", "softmax", m, m,
                 {"dtypes": {"x": np.dtype("float16")}})):
            with self.subTest(words), self.assertRaisesRegex(assay.UsageError, words):
                assay.check(op, arrays, y, **attrs)

    def test_types_that_an_operator_does_not_mix_are_told_what_to_do(self):
        y = softmax(self.x)
        for words, x, y in ((r"give y in f32, before the conversion to a narrower type$", self.x, y.astype(np.float16)),
                            (r"give x in f32, which holds all values exactly$", self.x.astype(np.float16), y)):
            with self.subTest(words), self.assertRaisesRegex(assay.UsageError, "^softmax: no softmax of .*; " + words):
                assay.check("softmax", x, y)
        with self.assertRaisesRegex(assay.UsageError, r"^exp: no exp of f32-f16; .*; give y in f32, before the conversion"):
            assay.check("exp", self.x.ravel(), self.x.ravel().astype(np.float16))
        half = self.x.astype(np.float16)
        self.assertTrue(assay.check("softmax", half.astype(np.float32), softmax(half.astype(np.float32))))

    def test_both_tables_of_types_have_the_same_other_names(self):
        """Workers that import kernels have one of their own, as they have no library."""
        from assay._declaration import DTYPES, _OTHER_NAMES
        for word, own in _OTHER_NAMES.items():
            if own in DTYPES and word not in DTYPES:
                with self.subTest(word), self.assertRaisesRegex(assay.UsageError, f"did you mean '{own}'"):
                    assay.check("softmax", self.x, self.x, dtypes={"x": word})

    def test_functions_of_elements_have_the_names_of_frameworks(self):
        x = np.linspace(-2, 2, 9, dtype=np.float32)
        self.assertTrue(assay.check("clip", x, np.clip(x, -0.5, 1.5), min=-0.5, max=1.5))
        self.assertFalse(assay.check("clip", x, np.clip(x, -0.5, 1.5), min=-0.5, max=1.25))
        with self.assertRaisesRegex(assay.UsageError, "where has no input 'condition'.*; did you mean 'c'?"):
            assay.check("where", {"condition": x > 0, "x": x, "y": -x}, abs(x))
        table = np.ones((2, 3), np.float32)
        with self.assertRaisesRegex(assay.UsageError, r"ravel\(\) is; with per=row, column or tensor x is \[rows,n\]"):
            assay.check("add", [table, table[0]], table)
        with self.assertRaisesRegex(assay.UsageError, r"ravel\(\) is$"):
            assay.check("exp", table, table)

    def test_lists_are_dimensions(self):
        x, w = np.ones((1, 1, 5, 6), np.float32), np.ones((1, 1, 3, 2), np.float32)
        y = np.full((1, 1, 2, 5), 6, np.float32)
        self.assertTrue(assay.check("conv", [x, w], y, stride=(2, 1)))
        self.assertTrue(assay.check("conv", [x, w], y, stride=[2, 1], padding=0))

    def test_operators_are_described(self):
        matmul = assay.operators()["matmul"]
        self.assertEqual((matmul["inputs"], matmul["optional_inputs"], matmul["outputs"]), (["a", "b"], ["c", "bias"], ["y"]))
        self.assertIn("transa", [attr["key"] for attr in matmul["attrs"]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
