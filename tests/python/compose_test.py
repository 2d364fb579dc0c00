#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random compositions: compose_test.py Compositions."""
import random
import unittest
from unittest import mock

import numpy as np

from assay import _namespace, compose


class Compositions(unittest.TestCase):
    def explored(self, form, count):
        said = []
        with mock.patch.object(compose, "forms", lambda name: [form]):
            counts = compose.explore(["any"], count, 0, 5, 37, said.append)[form.name]
        return counts, said

    def test_right_functions_raise_no_alarm(self):
        counts, said = self.explored(compose.forms("numpy")[0], 150)
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
            with mock.patch.object(type(_namespace._NUMPY), "tanh", tanh, create=True):
                return function(*arrays)
        counts, said = self.explored(compose.Form("faulty", "acc=f32;math=256", compute), 250)
        self.assertGreater(counts["mismatch"], 2)
        for text in said:
            self.assertIn("tanh", text)
        self.assertIn("def composition(x):\n    xp = assay.namespace(x)\n    return xp.tanh(x)\n", "".join(said))

    def test_what_fails_is_counted(self):
        def compute(function, arrays):
            raise ValueError("a compiler's fault")
        counts, said = self.explored(compose.Form("broken", "acc=f32;math=256", compute), 2)
        self.assertEqual(counts, {"error": 2})
        self.assertIn("a compiler's fault", said[0])


if __name__ == "__main__":
    unittest.main()
