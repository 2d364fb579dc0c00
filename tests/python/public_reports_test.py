# SPDX-License-Identifier: Apache-2.0
"""Faults that public reports describe, and the causes that a failing check names."""
import pathlib
import re
import unittest

import numpy as np

import assay
from public_reports import REPORTS

GUIDE = pathlib.Path(__file__).parents[2] / "harness/tools/explain/README.md"


def narrow(x):
    return x.astype(np.float32) if isinstance(x, (np.ndarray, np.floating)) and x.dtype == np.float64 else x


class PublicReports(unittest.TestCase):
    def test_each_stands_in_the_guide_with_its_cause(self):
        text = GUIDE.read_text(encoding="utf-8")
        for report in REPORTS:
            with self.subTest(report.where, done=report.done):
                op, operands, wrong, attrs, dtypes = report.make()
                wrong = [narrow(x) for x in wrong] if isinstance(wrong, list) else narrow(wrong)
                verdict = assay.check(op, [narrow(x) for x in operands], wrong, dtypes=dtypes or None, **attrs)
                self.assertIn(verdict.verdict, ("mismatch", "below_contract"))
                self.assertEqual((verdict.cause or "").split(", or of ")[0], report.says)
                self.assertRegex(text, re.escape(f"| [{report.where}](") + "[^)]*" + re.escape(f") | {report.done} | {report.says or '*unexplained*'} |"))

    def test_the_guide_counts_them(self):
        named = sum(bool(report.says) for report in REPORTS)
        self.assertIn(f"{named} of {len(REPORTS)} are named", GUIDE.read_text(encoding="utf-8"))


class OtherValuesForNan(unittest.TestCase):
    def test_other_values_are_no_cause(self):
        """Where the values in place of NaN differ, or others are wrong too, nothing is said."""
        x = np.linspace(-3, 3, 64, dtype=np.float32)
        x[[5, 9]] = np.nan
        for wrong in ({5: 0, 9: 1}, {5: 0, 9: 0, 40: 7}):
            y = np.where(x > 0, x, np.where(np.isnan(x), x, 0)).astype(np.float32)
            for place, value in wrong.items():
                y[place] = value
            self.assertFalse(assay.check("relu", [x], y).cause, wrong)


class OtherRoundings(unittest.TestCase):
    def test_wrong_codes_that_are_no_rounding(self):
        """One code too high, of a number that is no tie, is none of ties, of a cut or of f32."""
        x = ((np.arange(64, dtype=np.float32) - 32) * 1.25).reshape(4, 16)
        right = np.rint(x).astype(np.int8)
        right.flat[[3, 17, 21, 50]] += 1
        self.assertNotRegex(assay.check("quantize", [x, np.float32(1)], right).cause or "", "ties|rounded|f32|wraps")

    def test_ends_of_a_type_that_nothing_passes(self):
        """Memory that nobody has written and an index that nobody has found are no sums that stop at the ends."""
        x = np.arange(64, dtype=np.int32)
        for places, cause in (([3, 9], ""), ([], "the output z with the ends of its type in place of what passes them")):
            operands = [x if places else x * 2 ** 25] * 2
            z = np.clip(operands[0].astype(np.int64) + operands[1], -2 ** 31, 2 ** 31 - 1).astype(np.int32)
            z[places] = -2 ** 31
            self.assertEqual(assay.check("add", operands, z).cause, cause)
        rows = np.random.default_rng(5).standard_normal((16, 8)).astype(np.float32)
        places = rows.argmax(1)
        places[3] = -2 ** 63
        self.assertFalse(assay.check("reduce", [rows], places, kind="argmax", axes=1).cause)


if __name__ == "__main__":
    unittest.main()
