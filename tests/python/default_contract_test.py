# SPDX-License-Identifier: Apache-2.0
"""Judges results for which nobody states a contract: default_contract_test.py [CLASS]."""
import unittest
import warnings

import numpy as np

import assay
import narrow
from full import FULL


class Intermediates(unittest.TestCase):
    """Results of frameworks for operands of 16 bits pass, and the answer says whether they would in f32 as well."""

    def both(self, op, make, names, output, **attrs):
        for dtype, store in narrow.ROUND.items():
            for seed in range(3 if FULL else 1):
                rng = np.random.default_rng(seed)
                inputs, outputs = make(rng, store)
                dtypes = dict.fromkeys(names + output, dtype)
                with self.subTest(op=op, dtype=dtype, seed=seed), warnings.catch_warnings():
                    warnings.simplefilter("error")
                    verdict = assay.assert_close(op, dict(zip(names, inputs)), dict(zip(output, outputs)), dtypes=dtypes,
                                                 **attrs)
                    self.assertIsNotNone(verdict.stricter)
                    self.assertNotIn("mid=", verdict.stricter.contract)
                    yield dtype, verdict

    def test_probabilities_of_attention_are_stored(self):
        def make(rng, store):
            q, k, v = (narrow.normals(rng, store, 1, 2, 64, 64) for _ in range(3))
            return (q, k, v), (narrow.attention(q, k, v, store),)
        for dtype, verdict in self.both("attention", make, ["q", "k", "v"], ["o"]):
            self.assertFalse(verdict.stricter.holds)
            self.assertIn("mid=" + dtype, verdict.to_dict()["contract"])
            self.assertIn("stricter: " + verdict.stricter.contract, verdict.explanation)
            self.assertIn("does not hold: ", verdict.explanation)

    def test_attention_of_onnx_stores_every_step(self):
        def make(rng, store):
            q, k, v = (narrow.normals(rng, store, 1, 2, 16, 8) for _ in range(3))
            return (q, k, v), (narrow.attention_of_onnx(q, k, v, store),)
        self.assertEqual(len(list(self.both("attention", make, ["q", "k", "v"], ["o"]))), 6 if FULL else 2)

    def test_softmax_of_stored_exponentials(self):
        def make(rng, store):
            x = narrow.normals(rng, store, 16, 128)
            return (x,), (narrow.softmax(x, store),)
        self.assertEqual(len(list(self.both("softmax", make, ["x"], ["y"]))), 6 if FULL else 2)

    def test_eager_add_and_rms_norm(self):
        def make(rng, store):
            x, residual, gamma = (narrow.normals(rng, store, *shape) for shape in ((16, 256), (16, 256), (256,)))
            y, s = narrow.add_rms_norm(x, residual, gamma, store)
            return (x, residual, gamma), (y, s)
        names = ["x", "residual", "gamma"], ["y", "residual_out"]
        self.assertEqual(len(list(self.both("fused_add_rms_norm", make, *names, eps=1e-6))), 6 if FULL else 2)

    def test_sums_that_a_function_takes_are_stored(self):
        """A right result passes by what it may store, twice that difference does not."""
        steps = {"running": (lambda xp, x: xp.cumulative_sum(x, axis=1), lambda x: x.cumsum(1, dtype=np.float32)),
                 "few terms": (lambda xp, x: xp.sum(x, axis=1), lambda x: x.sum(1, dtype=np.float32))}
        for name, (step, computed) in steps.items():
            def formula(x):
                return assay.namespace(x).exp(step(assay.namespace(x), x))
            for dtype, store in narrow.ROUND.items():
                for seed in range(5 if FULL else 2):
                    with self.subTest(name, dtype=dtype, seed=seed):
                        x = store(np.random.default_rng(seed).uniform(0.5, 1.5, (8, 6)).astype(np.float32))
                        sums = computed(x)
                        right, exact = store(np.exp(store(sums))), np.exp(sums.astype(np.float64))
                        self.assertTrue(assay.check(formula, [x], right, dtypes={"x": dtype, "y": dtype}).passed)
                        wrong = store((exact * np.exp(sums * {"bf16": 2.0 ** -6, "f16": 2.0 ** -9}[dtype])).astype(np.float32))
                        self.assertFalse(assay.check(formula, [x], wrong, dtypes={"x": dtype, "y": dtype}).passed)

    def test_a_result_with_wider_intermediates_holds_by_the_stricter_contract_too(self):
        rng = np.random.default_rng(0)
        for dtype, store in narrow.ROUND.items():
            x = narrow.normals(rng, store, 16, 128)
            e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
            y = store((e / e.sum(-1, keepdims=True)).astype(np.float32))
            verdict = assay.check("softmax", x, y, dtypes={"x": dtype, "y": dtype})
            self.assertTrue(verdict.stricter.holds, verdict)
            self.assertNotIn("mid=", verdict.to_dict()["contract"])
            self.assertIn("holds too", verdict.explanation)

    def test_functions_of_two_numbers_store_nothing_between(self):
        rng = np.random.default_rng(0)
        x, y = (rng.uniform(1, 8, 500).astype(np.float16) for _ in range(2))
        for op, function in (("add", np.add), ("mul", np.multiply), ("div", np.divide), ("pow", np.power)):
            with np.errstate(over="ignore"):
                z = function(x.astype(np.float32), y.astype(np.float32)).astype(np.float16)
            self.assertTrue(assay.check(op, [x, y], z), op)
            for places in (2, -2):
                wrong = z.copy()
                wrong.view(np.int16)[7] += places
                verdict = assay.check(op, [x, y], wrong)
                self.assertEqual((verdict.verdict, verdict.stricter), ("mismatch", None), op)

    def test_a_sum_or_difference_that_cancels_is_rounded_by_its_own_size(self):
        rng = np.random.default_rng(0)
        for dtype in (np.float32, np.float64):
            x = (6 * rng.standard_normal(500)).astype(dtype)
            y = (x + 0.05 * rng.standard_normal(500)).astype(dtype)
            for op, other in (("sub", y), ("add", -y)):
                self.assertTrue(assay.check(op, [x, other], x - y))
                wrong = x - y
                wrong[7] += 4 * np.spacing(wrong[7])
                self.assertEqual(assay.check(op, [x, other], wrong).verdict, "mismatch", op)

    def test_stated_contracts_and_wide_types_have_no_stricter_one(self):
        rng = np.random.default_rng(0)
        q, k, v = (narrow.normals(rng, narrow.bf16, 1, 2, 64, 64) for _ in range(3))
        y = narrow.attention(q, k, v, narrow.bf16)
        dtypes = dict.fromkeys("qkvo", "bf16")
        stated = assay.check("attention", [q, k, v], {"o": y}, contract="f32acc", dtypes=dtypes, explain="no")
        self.assertFalse(stated)
        self.assertIsNone(stated.stricter)
        self.assertIsNone(assay.check("softmax", q, q).stricter)

    def test_a_function_of_single_elements_that_a_user_writes_is_executed_step_by_step(self):
        def quick_gelu(x):
            return x * assay.namespace(x).sigmoid(1.702 * x)

        for dtype, store in narrow.ROUND.items():
            x = narrow.normals(np.random.default_rng(0), store, 16, 128)
            gate = store(1 / (1 + np.exp(-store(np.float32(1.702) * x), dtype=np.float32)))
            dtypes = {"x": dtype, "y": dtype}
            verdict = assay.check(quick_gelu, x, store(x * gate), dtypes=dtypes)
            self.assertTrue(verdict, verdict.explanation)
            self.assertFalse(verdict.stricter.holds)
            self.assertFalse(assay.check(quick_gelu, x, store(x * gate * np.float32(1.1)), dtypes=dtypes))

    def test_a_wrong_result_of_16_bits_still_fails(self):
        rng = np.random.default_rng(0)
        q, k, v = (narrow.normals(rng, narrow.bf16, 1, 2, 64, 64) for _ in range(3))
        y = narrow.attention(q, k, v, narrow.bf16)
        y[0, 1, 3, 5] += 0.5
        with self.assertRaisesRegex(assay.Mismatch, r"(?s)^mismatch: .*\[0,1,3,5\]"):
            assay.assert_close("attention", [q, k, v], {"o": y}, dtypes=dict.fromkeys("qkvo", "bf16"))


class Leaning(unittest.TestCase):
    """Rows of 16 bits that are all off to the same side are suspect, as no rounding of what a row stores makes them; rows
    by which one stores some number are not."""

    def setUp(self):
        self.rng = np.random.default_rng(0)

    def norm(self, x, gamma, mean_square=None, epsilon=1e-5):
        x = x.astype(np.float64)
        square = (x * x).mean(1, keepdims=True) if mean_square is None else mean_square
        return x / np.sqrt(square + epsilon) * gamma

    def warns(self, op, inputs, y, dtype, **attrs):
        dtypes = dict.fromkeys([*inputs, "y"], dtype)
        with self.assertWarnsRegex(assay.SuspectWarning, f"^{op}: suspect: .* of 128 rows are off to the same side, by a"):
            verdict = assay.assert_close(op, inputs, y, dtypes=dtypes, explain="no", **attrs)
        self.assertFalse(verdict.passed_strictly)
        if FULL or dtype == "bf16":
            with self.assertRaisesRegex(assay.Mismatch, "^suspect: "):
                assay.assert_close(op, inputs, y, dtypes=dtypes, strict=True, explain="no", **attrs)

    def test_lost_terms_and_wrong_constants_of_norms_warn(self):
        for dtype, store in narrow.ROUND.items():
            x, gamma, beta = (narrow.normals(self.rng, store, *shape) for shape in ((128, 1024), (1024,), (1024,)))
            wide = x.astype(np.float64)
            centred = wide - wide.mean(1, keepdims=True)
            sums = {lost: (wide * wide)[:, lost:].sum(1, keepdims=True) / 1024 for lost in (1, 2, 4, 8)}
            norms = {"epsilon": self.norm(x, gamma, epsilon=1e-3)} if FULL or dtype == "f16" else {}
            if dtype == "bf16":  # of f16 they break the bound
                norms.update({"factor": self.norm(x, gamma) * 1.016},
                             **{f"{lost} lost": self.norm(x, gamma, square) for lost, square in sums.items()
                                if lost == 1 or FULL})
            for name, y in norms.items():
                with self.subTest(bug=name, dtype=dtype):
                    self.warns("rms_norm", {"x": x, "gamma": gamma}, store(y.astype(np.float32)), dtype, eps=1e-5)
            variance = (centred * centred).sum(1, keepdims=True) / 1023
            y = store((self.norm(centred, gamma, variance) + beta).astype(np.float32))
            self.warns("layer_norm", {"x": x, "gamma": gamma, "beta": beta}, y, dtype, eps=1e-5)

    def test_another_epsilon_of_norms_in_f32_warns(self):
        x, weights = self.rng.standard_normal((128, 4096)).astype(np.float32), {"gamma": np.ones(4096, np.float32)}
        for epsilon, other in ((1e-5, 1e-6), (1e-6, 1e-5))[not FULL:]:
            self.is_quiet("rms_norm", {"x": x, **weights}, self.norm(x, 1, epsilon=epsilon).astype(np.float32), "f32", eps=epsilon)
            self.warns("rms_norm", {"x": x, **weights}, self.norm(x, 1, epsilon=other).astype(np.float32), "f32", eps=epsilon)
        twice = {"x": x, "residual": np.zeros_like(x), **weights}
        y = {"y": self.norm(x, 1, epsilon=1e-5).astype(np.float32), "residual_out": x}
        with self.assertWarnsRegex(assay.SuspectWarning, "of 128 rows are off to the same side, by a factor of 1 - 4.5e-06"):
            assay.assert_close("fused_add_rms_norm", twice, y, eps=1e-6, explain="no")

    def test_a_factor_of_softmax_warns(self):
        x = narrow.normals(self.rng, narrow.bf16, 128, 512)
        e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        y = narrow.bf16((e / e.sum(1, keepdims=True) * 1.016).astype(np.float32))
        self.warns("softmax", {"x": x}, y, "bf16")

    def is_quiet(self, op, inputs, y, dtype, **attrs):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dtypes = dtype if isinstance(dtype, dict) else dict.fromkeys([*inputs, "y"], dtype)
            return assay.assert_close(op, inputs, y, dtypes=dtypes, **attrs)

    def stored_steps(self, x, store, epsilon):
        """Results of kernels that store one number of each row, a constant, or all of them."""
        epsilon, n = np.float32(epsilon), x.shape[1]
        total = (x * x).sum(1, keepdims=True, dtype=np.float32)
        mean = total / np.float32(n)
        return {"sum": x / np.sqrt(store(total) / np.float32(n) + epsilon), "mean": x / np.sqrt(store(mean) + epsilon),
                "root": x / store(np.sqrt(mean + epsilon)), "inverse": x * store(1 / np.sqrt(mean + epsilon)),
                "epsilon": x / np.sqrt(mean + store(epsilon)),
                "1 / n": x / np.sqrt(total * store(np.float32(1 / n)) + epsilon),
                "all": store(x * store(1 / store(np.sqrt(store(store(mean) + store(epsilon))))))}

    def test_stored_steps_of_norms_are_quiet(self):
        normal, row = self.rng.standard_normal((128, 512)), self.rng.standard_normal(512)
        unit = normal / np.sqrt((normal * normal).mean(1, keepdims=True))
        data = {"normal": (normal, 1e-5), "equal mean squares": (0.9 * unit, 1e-5), "large epsilon": (normal, 0.3),
                "same numbers": (np.stack([self.rng.permutation(row) for _ in range(128)]), 1e-5),
                "equal rows": (np.repeat(normal[:8], 16, 0), 1e-5), "alike": (row + 0.01 * normal, 1e-5),
                "odd n": (self.rng.standard_normal((128, 1001)), 1e-5), "short": (normal[:, :8], 1e-5),
                "many rows": (self.rng.standard_normal((4096, 64)), 1e-5)}
        for i, (dtype, store) in enumerate(narrow.ROUND.items()):
            for j, (name, (values, epsilon)) in enumerate(data.items()):
                if not FULL and (i + j) % 3 > 0:
                    continue  # a third of the data in each type
                x = store(values.astype(np.float32))
                steps = list(self.stored_steps(x, store, epsilon).items())
                for step, y in steps if FULL else steps[(i + j) // 3 % 3::3]:  # each one with a third of these
                    with self.subTest(data=name, step=step, dtype=dtype):
                        self.is_quiet("rms_norm", {"x": x, "gamma": np.ones(x.shape[1], np.float32)}, store(y), dtype,
                                      eps=epsilon)

    MID = "f32acc;mid=bf16"

    def exact(self, x, gamma=1.0, beta=0.0, epsilon=1e-5, centred=False):
        x = x.astype(np.float64) - (x.mean(1, keepdims=True, dtype=np.float64) if centred else 0)
        return (self.norm(x, gamma, epsilon=epsilon) + beta).astype(np.float32)

    def log_softmax(self, x):
        d = x.astype(np.float64) - x.max(1, keepdims=True)
        return (d - np.log(np.exp(d).sum(1, keepdims=True))).astype(np.float32)

    def log_softmax_of_jax(self, x, store):
        d = store(x - x.max(1, keepdims=True))
        return store(d - store(np.log(store(store(np.exp(d)).sum(1, keepdims=True, dtype=np.float32)))))

    def test_roundings_of_the_output_alone_are_quiet(self):
        store = narrow.bf16
        for std in (20, 40):
            for n in (16, 128, 1000):
                x = store(self.rng.normal(0, std, (256, n)).astype(np.float32))
                with self.subTest(op="log_softmax", std=std, n=n):
                    self.is_quiet("softmax", {"x": x}, store(self.log_softmax(x)), "bf16", log=1,
                                  contract=self.MID + ";masked=nan")
                    self.is_quiet("softmax", {"x": x}, self.log_softmax_of_jax(x, store), "bf16", log=1)
        normal = self.rng.standard_normal((256, 512))
        normal[:, 3] *= 1000
        alike = np.exp(self.rng.standard_normal((128, 1))) * self.rng.choice([-1, 1], (128, 256))
        rms, layer = {"gamma": 1}, {"gamma": 1, "beta": 0}
        for name, op, x, weights in (("one large channel", "rms_norm", normal[:128], rms), ("rows of +-s", "rms_norm", alike, rms),
                                     ("one large channel", "layer_norm", normal, layer),
                                     ("pairs", "layer_norm", 0.1 * self.rng.standard_normal((250, 2)), layer)):
            x = store(x.astype(np.float32))
            inputs = {"x": x, **{k: np.full(x.shape[1], v, np.float32) for k, v in weights.items()}}
            with self.subTest(op=op, data=name):
                y = store(self.exact(x, centred=op == "layer_norm"))
                self.is_quiet(op, inputs, y, "bf16", eps=1e-5, contract=self.MID)

    def test_stored_weights_that_all_rows_share_are_quiet(self):
        for n in (32, 64, 128) if FULL else (64,):
            x, gamma = narrow.normals(self.rng, narrow.bf16, 4096, n), self.rng.standard_normal(n, np.float32)
            y = narrow.bf16(self.exact(x, narrow.bf16(gamma)))
            with self.subTest(n=n):
                self.is_quiet("rms_norm", {"x": x, "gamma": gamma}, y, {"x": "bf16", "gamma": "f32", "y": "bf16"},
                              eps=1e-5, contract=self.MID)

    def test_stored_constants_of_softmax_are_quiet(self):
        store = narrow.bf16
        log2_e, ln_2 = (store(np.float32(c)) for c in (np.log2(np.e), np.log(2)))
        for n in (64, 512):
            x = narrow.normals(self.rng, store, 128, n)
            d = x - x.max(1, keepdims=True)
            e, stored = np.exp2(d * log2_e), store(np.exp2(store(d * log2_e)))
            sums, exact = e.sum(1, keepdims=True), np.log2(np.exp(d.astype(np.float64)).sum(1, keepdims=True))
            results = {"log2 e": (e / sums, 0), "log2 e of a logarithm": ((d * log2_e - np.log2(sums)) * np.log(2), 1),
                       "ln 2": ((d * np.log2(np.e) - exact) * ln_2, 1), "all": (stored / store(stored.sum(1, keepdims=True)), 0)}
            for name, (y, log) in results.items():
                with self.subTest(stored=name, n=n):
                    self.is_quiet("softmax", {"x": x}, store(y.astype(np.float32)), "bf16", log=log,
                                  contract=self.MID + ";masked=nan")

    def test_other_operators_of_stored_steps_are_quiet(self):
        for dtype, store in narrow.ROUND.items():
            x, dy = (narrow.normals(self.rng, store, 128, 512) for _ in range(2))
            gamma, beta = (narrow.normals(self.rng, store, 512) for _ in range(2))
            centred = store(x - store(x.mean(1, keepdims=True)))
            root = store(np.sqrt(store(store((centred * centred).mean(1, keepdims=True)) + store(np.float32(1e-5)))))
            y = store(store(store(centred / root) * gamma) + beta)
            p = narrow.softmax(x, store)
            with self.subTest(dtype=dtype):
                self.is_quiet("layer_norm", {"x": x, "gamma": gamma, "beta": beta}, y, dtype, eps=1e-5)
                self.is_quiet("softmax", {"x": x}, self.log_softmax_of_jax(x, store), dtype, log=1)
                total = store(store(p * dy).sum(1, keepdims=True))
                dx = store(p * store(dy - total))
                self.is_quiet("softmax_backward", {"y": p, "dy": dy}, {"dx": dx}, {"y": dtype, "dy": dtype, "dx": dtype})

    def test_truncated_results_are_quiet_where_the_contract_permits_them(self):
        x, gamma = narrow.normals(self.rng, narrow.bf16, 64, 512), np.ones(512, np.float32)
        cut = (self.exact(x).view(np.uint32) & 0xFFFF0000).view(np.float32)
        self.is_quiet("rms_norm", {"x": x, "gamma": gamma}, cut, "bf16", eps=1e-5, contract=self.MID + ";out=any")

    def test_masked_rows_count_as_no_stored_numbers(self):
        x = np.full((70, 256), -np.inf, np.float32)
        x[:64] = narrow.bf16(self.rng.permuted(np.tile(self.rng.standard_normal(256), (64, 1)), axis=1).astype(np.float32))
        with np.errstate(invalid="ignore"):
            e = np.exp(x - x.max(1, keepdims=True))
            y = narrow.bf16(e / narrow.bf16(e.sum(1, keepdims=True)))
        self.is_quiet("softmax", {"x": x}, y, "bf16", contract=self.MID + ";masked=nan")

    def test_a_pass_by_narrow_intermediates_alone_is_weak_and_fails_strictly(self):
        x = narrow.normals(self.rng, narrow.bf16, 32, 256)
        y = narrow.softmax(x, narrow.bf16)
        verdict = self.is_quiet("softmax", {"x": x}, y, "bf16")
        self.assertTrue(verdict.passed and verdict.weak)
        self.assertFalse(verdict.passed_strictly)
        self.assertRegex(verdict.reason, r"^weak: passes only with every intermediate rounded to bf16, by which \d.* % of "
                         r"single faults would be noticed; state what is meant: contract='acc=f32; .*' or contract='.*mid=bf16")
        self.assertIn("warning: most wrong results would pass too", verdict.explanation)
        self.assertRegex(verdict.explanation, r"statistic +not applicable: roundings of intermediates \(mid=bf16\) "
                         "are shared by a row; rows that lean are looked for instead")
        with self.assertRaisesRegex(assay.Mismatch, "^weak: softmax (.|\n)*try: state the contract"):
            assay.assert_close("softmax", x, y, dtypes={"x": "bf16", "y": "bf16"}, strict=True)
        self.is_quiet("softmax", {"x": x}, y, "bf16", contract="f32acc;mid=bf16;masked=nan", strict=True)

    def test_long_rows_in_which_few_faults_can_be_tried_are_weak_too(self):
        x = narrow.normals(self.rng, narrow.bf16, 4, 200000)
        e = np.exp(x - x.max(-1, keepdims=True))
        y = narrow.bf16(e / e[:, :-2000].sum(-1, keepdims=True))  # one term in a hundred is lost
        verdict = assay.check("softmax", x, y, dtypes={"x": "bf16", "y": "bf16"})
        self.assertTrue(verdict.weak)
        self.assertFalse(verdict.passed_strictly)
        self.assertRegex(verdict.reason, r"by which (too few single faults could be tried to say what|\d.* % of single "
                         "faults) would be noticed")

    def test_long_rows_of_f32_in_which_most_faults_would_pass_are_weak(self):
        # In peaked rows most terms are far below the mean one, and nobody need notice that one of these is lost.
        for terms, spread, weak in ((256, 5, False), (4096, 8, False), (2048, 3, False), (8192, 1, False), (1 << 17, 1, True)):
            x = (self.rng.standard_normal((4, terms)) * spread).astype(np.float32)
            e = np.exp(x - x.max(-1, keepdims=True), dtype=np.float64)
            y = (e / e.sum(-1, keepdims=True)).astype(np.float32)
            verdict = assay.check("softmax", x, y)
            self.assertEqual((verdict.passed, verdict.weak, verdict.passed_strictly), (True, weak, not weak), verdict)
        self.assertRegex(verdict.reason, r"^weak: with these data \d.* % of lost terms of the mean size or more would be "
                         "noticed; judge results of fewer terms, or state the contract that is meant: contract='acc=f32; math=4")
        with self.assertRaisesRegex(assay.Mismatch, "^weak: softmax (.|\n)*try: state the contract by which to judge: contract='acc=f32"):
            assay.assert_close("softmax", x, y, strict=True)
        assay.assert_close("softmax", x, y, contract=verdict.to_dict()["contract"], strict=True)

    def test_a_wrong_divisor_of_few_rows_is_weak(self):
        """Eight rows cannot lean; the roundings of sums of squares tell."""
        for dtype, store in narrow.ROUND.items():
            x, gamma = store(self.rng.standard_normal((8, 4096)).astype(np.float32)), narrow.normals(self.rng, store, 4096)
            squares = (x.astype(np.float64) ** 2).sum(1, keepdims=True)
            for divisor, strictly in ((4096, True), (4095, False)):
                y = store((x / np.sqrt(squares / divisor + 1e-6) * gamma).astype(np.float32))
                verdict = assay.check("rms_norm", [x, gamma], y, dtypes=dict.fromkeys(("x", "gamma", "y"), dtype))
                self.assertEqual((verdict.passed, verdict.passed_strictly), (True, strictly), verdict)
                self.assertEqual("statistic channel: " in verdict.stricter.reason, not strictly)

    def test_rows_in_which_no_fault_could_be_tried_say_so(self):
        x = narrow.normals(self.rng, narrow.bf16, 2, 100000)
        gamma = np.ones(100000, np.float32)
        y = narrow.bf16((x / np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-6)).astype(np.float32))
        verdict = assay.check("rms_norm", [x, gamma], y, dtypes=dict.fromkeys(("x", "gamma", "y"), "bf16"))
        self.assertTrue(verdict.stricter.holds)
        self.assertRegex(verdict.explanation, r"note: with these data only \d single faults? could be tried, and at least 8")

    def test_infinity_is_wrong_where_a_finite_result_is_certain(self):
        """One key, so that the result is v itself, up to the largest number of bf16."""
        one = next(iter(assay.cases("conformance", op="attention", filter="*d=2,dv=255*fill=edges*")))
        wide = {name: (one.inputs[name].astype(np.uint32) << 16).view(np.float32) for name in "qkv"}
        seen = one.inputs["mask"][..., 0, 0] != 0
        scores = (wide["q"].astype(np.float64) * wide["k"]).sum(-1)
        y = np.where(seen[..., None, None], np.where(np.isnan(scores)[..., None], np.nan, wide["v"]), 0).astype(np.float32)
        attrs = {"dtypes": dict.fromkeys("qkvo", "bf16"), "scale": 1, "softcap": 50, "mask": "bool", "mask_per_head": 1,
                 "contract": "f32acc;math=256"}
        self.assertTrue(assay.check("attention", one.inputs, {"o": y}, **attrs))
        largest = np.isfinite(y) & (np.abs(y) > 3e38)
        self.assertEqual(largest.sum(), 128)
        wrong = np.where(largest, np.copysign(np.float32(np.inf), y), y)
        self.assertEqual(assay.check("attention", one.inputs, {"o": wrong}, **attrs).metrics["nonfinite_mismatch"], 128)


class SaidTwice(unittest.TestCase):
    """An attribute and a contract can state one policy: contradictions are refused."""

    def test_a_contradiction_is_refused(self):
        x, ones = np.array([[1, np.nan, 3]], np.float32), np.ones((1, 1, 2, 4), np.float32)
        for attr, field in (("propagate", "ignore"), ("ignore", "propagate")):
            with self.assertRaisesRegex(assay.UsageError, f"nan={attr} contradicts nan={field} of contract: leave one"):
                assay.check("reduce", x, np.array([3], np.float32), kind="max", axis=1, nan=attr,
                            contract="f32acc;nan=" + field)
        for attr, field in (("zero", "nan"), ("nan", "zero")):
            with self.assertRaisesRegex(assay.UsageError, f"masked_rows={attr} contradicts masked={field} of contract"):
                assay.check("attention", [ones, ones, ones], {"o": ones}, causal=1, masked_rows=attr,
                            contract="f32acc;masked=" + field)

    def test_a_contract_alone_sets_the_attribute(self):
        ones, one = np.ones((1, 1, 2, 4), np.float32), np.ones((1, 1, 1, 4), np.float32)
        for field, empty in (("zero", 0), ("nan", np.nan)):
            y = ones.copy()
            y[0, 0, 0] = empty  # the first of two queries of one key sees none
            for contract in ("f32acc;masked=zero", "f32acc;masked=nan"):
                verdict = assay.check("attention", [ones, one, one], {"o": y}, causal=1, contract=contract)
                self.assertEqual(verdict.passed, contract.endswith(field), verdict)

    def test_agreement_and_what_a_requirement_asks_for_are_judged(self):
        x, y = np.array([[1, np.nan, 3]], np.float32), np.array([3], np.float32)
        for contract in ("f32acc;nan=ignore", "f32acc"):
            self.assertTrue(assay.check("reduce", x, y, kind="max", axis=1, nan="ignore", contract=contract))
        verdict = assay.check("reduce", x, y, kind="max", axis=1, nan="propagate", contract="f32acc;nan=ignore",
                              require="nan=propagate")
        self.assertEqual(verdict.verdict, "below_contract")


if __name__ == "__main__":
    unittest.main(verbosity=2)
