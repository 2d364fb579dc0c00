# SPDX-License-Identifier: Apache-2.0
"""Integers by kernels of NumPy: integers_test.py ASSAY [CLASS]."""
import unittest

from full import FULL
from kernels_test import KERNELS, Program

FILE = KERNELS / "integers.py"


class Kernels(Program):
    """The shipped suite, unchanged, passes what is right and finds what is wrong."""

    def test_right_ones_pass_and_wrong_ones_are_found(self):
        done, records = self.run_kernels(FILE, "--suite", "integers", "--op", "reduce,cumsum,sort", "--no-perf",
                                         *[] if FULL else ["--relations", "none"])
        right = [r for r in records if r["implementation"] == "right"]
        self.assertGreater(len(right), 60, done.stdout + done.stderr)
        self.assertEqual([(r["case_id"], r["reason"]) for r in right if r["verdict"] != "pass"], [])

        def found(op, implementation):
            return {r["dtype"] + "/" + r["case_id"].split("fill=")[1].split("/")[0] for r in records
                    if (r["op"], r["implementation"], r["verdict"]) == (op, implementation, "mismatch")}
        self.assertLessEqual({"i8/negative", "i16/negative", "i32/negative", "i64/negative", "i8/large"},
                             found("reduce", "from-zero"))
        self.assertLessEqual({"i64/normal", "i32-i64/normal"}, found("reduce", "through-f64"))
        self.assertLessEqual({"i32/normal", "i32-i64/normal"}, found("reduce", "through-f32"))
        self.assertLessEqual({"i64/normal", "i64/extremes"}, found("cumsum", "through-f64"))
        self.assertLessEqual({"i64/normal", "i32-i64/normal"}, found("cumsum", "through-i32"))
        self.assertNotIn("i32/normal", found("cumsum", "through-i32"))
        self.assertIn("i64/special", found("sort", "through-f64"))


if __name__ == "__main__":
    unittest.main()
