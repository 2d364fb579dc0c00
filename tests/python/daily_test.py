#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operators of ops/compositions/daily.py beside plain NumPy: daily_test.py [GROUP]."""
import pathlib
import unittest

import numpy as np

import assay
import narrow
from assay import _define
from daily_operators import ALL
from full import FULL

FILE = pathlib.Path(__file__).resolve().parents[2] / "ops/compositions/daily.py"
TYPES = ("f32", "bf16")
EXPLAIN = "quick" if FULL else "no"  # searching for the cause of a mistake takes 99 % of the time
DEFINED = {one.name: one for one in _define.definitions_in(str(FILE))}


def store(dtype, array):
    if np.asarray(array).dtype.kind in "iu":
        return array
    return narrow.bf16(array) if dtype == "bf16" else np.asarray(array).astype(np.float32)


def some_types(turn):
    """One of the two in turn, unless the tests are to be whole."""
    return TYPES if FULL else (TYPES[turn % 2],)


class Daily(unittest.TestCase):
    def judge(self, operator, dtype, inputs, outputs, **contract):
        named = dict(zip([one["name"] for one in DEFINED[operator.name].data["outputs"]], outputs.values()))
        stored = {name: store(dtype, array) for name, array in {**inputs, **named}.items()}
        types = {name: dtype for name, array in stored.items() if dtype == "bf16" and np.asarray(array).dtype == np.float32}
        return assay.check(DEFINED[operator.name], {name: stored[name] for name in inputs}, {name: stored[name] for name in named},
                           dtypes={**types, **operator.integers}, **operator.attributes, **contract)

    def test_every_operator_is_here(self):
        self.assertEqual(set(DEFINED), {one.name for one in ALL})

    def test_right_results_pass(self):
        for turn, kind in enumerate(ALL):
            for dtype in some_types(turn):
                with self.subTest(operator=kind.name, dtype=dtype):
                    operator = kind()
                    inputs = {name: store(dtype, array) for name, array in operator.inputs().items()}
                    outputs = operator.right(*(x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs.values()))
                    verdict = self.judge(operator, dtype, inputs, outputs)
                    self.assertEqual(verdict.verdict, "pass", verdict.reason)

    def test_everyday_mistakes_do_not(self):
        """In bf16 by a contract of sums in f32: where each step may be stored in bf16, some are no more than what that may cost."""
        for kind in ALL:
            self.assertGreaterEqual(len(kind().mistakes()), 3)
            for turn, mistake in enumerate(kind().mistakes()):
                for dtype in some_types(turn):
                    with self.subTest(operator=kind.name, mistake=mistake, dtype=dtype):
                        operator = kind()
                        inputs = {name: store(dtype, array) for name, array in operator.inputs().items()}
                        given = (x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs.values())
                        verdict = self.judge(operator, dtype, inputs, operator.mistakes()[mistake](*given), contract="f32acc", explain=EXPLAIN)
                        self.assertIn(verdict.verdict, ("mismatch",) if dtype == "f32" else ("mismatch", "below_contract"))


if __name__ == "__main__":
    unittest.main()
