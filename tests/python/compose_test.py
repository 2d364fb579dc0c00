#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random compositions: compose_test.py Compositions."""
import contextlib
import io
import random
import unittest
from unittest import mock

import numpy as np

from assay import _namespace, compose


class Compositions(unittest.TestCase):
    def explored(self, form, count):
        said = []
        with mock.patch.object(compose, "forms", lambda name, dtype: [form]):
            counts = compose.explore(["any"], count, 0, 5, 37, said.append, [form.dtype]).counts[form.name, form.dtype]
        return counts, said

    def test_right_functions_raise_no_alarm(self):
        counts, said = self.explored(compose.forms("numpy", "f32")[0], 150)
        self.assertEqual(said, [])
        self.assertGreater(counts["pass"], 140)

    def test_they_have_all_functions_and_depend_on_the_seed_alone(self):
        drawn = [compose.draw(random.Random(seed)) for seed in range(600)]
        self.assertEqual(drawn[7], compose.draw(random.Random(7)))
        every = {*compose.UNARY, *compose.BINARY, *compose.ALONG_ROWS, *compose.OF_ROWS}
        self.assertEqual({step.form for steps in drawn for step in steps}, every)
        self.assertGreater(len({compose.source(steps) for steps in drawn}), 560)

    def test_a_fault_is_found_and_made_small(self):
        def tanh(self, x):
            return np.tanh(x) * np.float32(1.001)

        def compute(function, arrays):
            with mock.patch.object(type(_namespace.NUMPY), "tanh", tanh, create=True):
                return function(*arrays)
        counts, said = self.explored(compose.Form("faulty", "acc=f32;math=256", compute), 90)
        self.assertGreater(counts["mismatch"], 1)
        for text in said:
            self.assertIn("tanh", text)
        self.assertIn("def composition(x):\n    xp = assay.namespace(x)\n    return xp.tanh(x)\n", "".join(said))

    def test_the_distance_of_compiled_results(self):
        """One form has other bits in one column, another one NaN there."""
        def shifted(function, arrays, by):
            result = function(*arrays)
            result[:, 3] = by(result[:, 3])
            return result
        groups = [compose.Form("one by one", "acc=f32;math=256", lambda f, x: np.ascontiguousarray(np.broadcast_to(f(*x), (5, 37)))),
                  compose.Form("next", "acc=f32;math=256", lambda f, x: shifted(f, x, lambda y: np.nextafter(y, np.float32(np.inf)))),
                  compose.Form("none", "acc=f32;math=256", lambda f, x: shifted(f, x, lambda y: y * np.nan))]
        with mock.patch.object(compose, "forms", lambda name, dtype: groups), mock.patch.object(compose, "SPECIAL", (1.0,)), \
                mock.patch.object(compose, "ALARMS", ()):
            found = compose.explore(["any"], 20, 0, 5, 37, print)
        following, none = found.distances["next", "f32"], found.distances["none", "f32"]
        self.assertEqual((following.compositions, following.equal, following.farthest, following.of_nan), (20, 0, 1, 0))
        self.assertEqual((none.equal_elements, none.elements, none.of_nan, none.farthest), (20 * 5 * 36, 20 * 5 * 37, 100, 0))
        self.assertIn("in 0 of 20 compositions, 3600 of 3700 elements; at most 1 ulp apart (seed 0)", str(following))

    def test_distances_of_both_zeros_and_of_16_bits(self):
        for dtype, pairs in ((np.float32, ((0.0, -0.0, 1), (1.0, -1.0, 2 * 0x3f800000 + 1))), (np.float16, ((1.0, 1.0009765625, 1),)),
                             (np.float64, ((np.inf, np.finfo(np.float64).max, 1),))):
            for one, other, ulps in pairs:
                distance = compose.Distance()
                distance.add(np.array([one], dtype), np.array([other], dtype), 5)
                self.assertEqual((distance.farthest, distance.seed), (ulps, 5))

    def test_types_and_scales(self):
        counts = compose.explore(["numpy"], 8, 0, 5, 37, self.fail, ["f64"], scale=1e3).counts
        self.assertEqual((list(counts), sum(counts["numpy", "f64"].values())), ([("numpy", "f64")], 8))
        arrays = compose.inputs_of("f(x, w)", 1, 5, 37, "f64", 8.0), compose.inputs_of("f(x, w)", 1, 5, 37)
        self.assertEqual([x.dtype for x in arrays[0]], [np.float64] * 2)
        np.testing.assert_array_equal(arrays[0][1], 8.0 * arrays[1][1])
        for words, why in ((["--framework", "numpi"], "--framework numpi: there are numpy"), (["--dtype", "bf16"], "numpy takes none")):
            said = io.StringIO()
            with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
                compose.main(words)
            self.assertIn(why, said.getvalue())

    def test_what_fails_is_counted(self):
        def compute(function, arrays):
            raise ValueError("a compiler's fault")
        counts, said = self.explored(compose.Form("broken", "acc=f32;math=256", compute), 2)
        self.assertEqual(counts, {"error": 2})
        self.assertIn("a compiler's fault", said[0])


if __name__ == "__main__":
    unittest.main()
