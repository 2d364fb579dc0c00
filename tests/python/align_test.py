# SPDX-License-Identifier: Apache-2.0
"""assay align of kernels whose order of additions depends on a condition: align_test.py ASSAY [CLASS]."""
import json
import sys
import unittest

from kernels_test import Program

MATMUL = "matmul/f32/m=24,n=20,k=96/fill=normal/seed=0"
EXACT = "matmul/f32/m=24,n=20,k=96/fill=ramp/seed=0"
# Each but the first two changes its order in one condition; `when` says in which rows and columns.
KERNELS = """
    def forwards(a, b):
        sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
        for k in range(a.shape[1]):
            sums += a[:, k:k + 1] * b[k:k + 1]
        return sums

    def otherwise(a, b):
        return forwards(a[:, ::-1], b[::-1])

    def halves(a, b):
        half = a.shape[1] // 2
        return forwards(a[:, :half], b[:half]) + forwards(a[:, half:], b[half:])

    def changing(name, when, other=otherwise):
        def of(a, b):
            rows, columns = np.ogrid[:a.shape[0], :b.shape[1]]
            return np.where(when(a, b, rows, columns), other(a, b), forwards(a, b))
        assay.kernel("matmul", contract="f32acc", dtypes=["f32"], name=name)(of)

    calls = [0]

    def every_third(a, b, rows, columns):
        calls[0] += 1
        return calls[0] % 3 == 0

    assay.kernel("matmul", contract="f32acc;det=yes;batchinv=yes", dtypes=["f32"], name="steady")(forwards)
    assay.kernel("matmul", contract="f32acc;det=yes;batchinv=yes", dtypes=["f32"], name="twin")(
        lambda a, b: forwards(a.copy(), b.copy()))
    changing("one-row", lambda a, b, rows, columns: len(a) == 1)
    changing("few-rows", lambda a, b, rows, columns: len(a) < 4, halves)
    changing("odd-rows", lambda a, b, rows, columns: len(a) % 2 == 1)
    changing("last-row", lambda a, b, rows, columns: rows == len(a) - 1)
    changing("late-rows", lambda a, b, rows, columns: rows >= 16, halves)
    changing("one-column", lambda a, b, rows, columns: b.shape[1] == 1)
    changing("late-columns", lambda a, b, rows, columns: columns >= 16)
    changing("whole-tiles", lambda a, b, rows, columns: len(a) % 8 == 0, halves)
    changing("sparse", lambda a, b, rows, columns: (a == 0).mean() > 0.5)
    changing("sparse-columns", lambda a, b, rows, columns: (b == 0).mean() > 0.5)
    changing("changes", every_third)
    changing("many-rows", lambda a, b, rows, columns: len(a) > 23)
    changing("wrong", lambda a, b, rows, columns: len(a) == 1, lambda a, b: 2 * forwards(a, b))
    changing("doubled", lambda a, b, rows, columns: True, lambda a, b: 2 * forwards(a, b))
"""
ONE_SHAPE = """
    assay.kernel("matmul", contract="f32acc", dtypes=["f32"], name="one-shape",
                 supports=lambda case: case.shapes["a"] == (24, 96) and case.shapes["b"] == (96, 20))(forwards)
"""
# Its process ends when it is asked for a single row.
ENDS = """
    import os
    assay.kernel("matmul", contract="f32acc", dtypes=["f32"], name="ends",
                 supports=lambda case: case.shapes["a"][0] != 1 or os._exit(3))(forwards)
"""
PLANTED = ("one-row", "few-rows", "odd-rows", "last-row", "late-rows", "one-column", "late-columns", "whole-tiles", "sparse",
           "sparse-columns", "changes", "many-rows")


class Alignment(Program):
    def align(self, *words, case=MATMUL, code=0, more=""):
        done = self.assay("align", *words, "--kernels", str(self.write(KERNELS + more)), "--python", sys.executable, "--case", case,
                          "--progress", "none")
        self.assertEqual(done.returncode, code, done.stdout[-3000:] + done.stderr[-2000:])
        return done

    def found(self, *words, **how):
        alignment, = json.loads(self.align(*words, "--json", **how).stdout)["alignments"]
        return alignment, [c["name"] for c in alignment["configurations"] if c["differing"] > 0]


class Aligned(Alignment):
    def test_one_order_everywhere_is_certified(self):
        done = self.align("mine/steady")
        self.assertIn("CERTIFIED: mine/steady gives the bits of the whole case in all of 4", done.stdout)
        self.assertIn("m: 7 of 24, from 0 8 17 ", done.stdout)

    def test_an_order_that_depends_on_the_number_of_rows_is_named(self):
        alignment, other = self.found("mine/few-rows", code=1)
        self.assertEqual({name.split(",")[0] for name in other}, {"m: 1 of 24", "m: 2 of 24", "m: 3 of 24"})
        self.assertLess(max(c.get("tolerances", 0) for c in alignment["configurations"]), 1)
        self.assertIn("the first with others is m: 1 of 24, from 0, at y[0,", alignment["sentence"])

    def test_what_is_wrong_is_many_tolerances_apart(self):
        alignment, _ = self.found("mine/wrong", code=1)
        self.assertGreater(max(c.get("tolerances", 0) for c in alignment["configurations"]), 1e4)

    def test_data_that_show_no_order_certify_nothing(self):
        done = self.align("mine/steady", case=EXACT, code=4)
        self.assertIn("NOT SHOWN: mine/steady", done.stdout)
        self.assertIn("terms in another order have the same bits in all elements", done.stdout)
        self.assertIn("NOT SHOWN", self.align("mine/one-row", case=EXACT, code=4).stdout)

    def test_wrong_results_certify_nothing(self):
        self.assertIn("its results are beyond their tolerances", self.align("mine/doubled", code=4).stdout)

    def test_a_layout_that_an_implementation_does_not_take_is_left_out(self):
        # oneDNN has other names for products of matrices that lie transposed, and refuses some of its own there.
        done = self.assay("align", "onednn", "--case", "matmul/f32/m=64,n=48,k=512/fill=normal/seed=0", "--progress", "none")
        if "has no implementation" in done.stderr or "no device" in done.stderr:
            self.skipTest("onednn is not usable here")
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"axes in another order +(equal|\d+ of \d+ differ|not compared: onednn/\S+ does not take it)")

    def test_two_kernels_are_compared_with_each_other(self):
        self.assertIn("CERTIFIED: mine/twin gives the bits of mine/steady in all of", self.align("mine/steady", "mine/twin").stdout)
        _, other = self.found("mine/steady", "mine/one-row", code=1)
        self.assertEqual({name.split(",")[0] for name in other}, {"m: 1 of 24"})

    def test_a_certificate_says_how_much_was_not_taken(self):
        alignment, _ = self.found("mine/one-shape", more=ONE_SHAPE)
        refused = [c["refused"] for c in alignment["configurations"] if "refused" in c]
        self.assertEqual(set(refused), {"mine/one-shape does not take it"})
        self.assertIn(f" {len(refused)} others were not taken", alignment["sentence"])
        self.assertTrue(alignment["certified"])
        self.assertNotIn("not taken", self.align("mine/steady").stdout)

    def test_a_failure_is_no_refusal(self):
        done = self.align("mine/ends", code=3, more=ENDS)
        self.assertNotIn("CERTIFIED", done.stdout)
        self.assertRegex(done.stderr, "mine/ends, m: 1 of 24, from 0: the worker exited with code 3")

    def test_what_is_not_there_is_said(self):
        self.assertIn("mine has no implementation fast of it, but steady, twin", self.align("mine/fast", code=4).stderr)
        done = self.align("mine/steady", case="exp/f32/n=9/fill=normal/seed=0", code=4)
        self.assertIn("nothing was compared: none of the cases is taken by what was named, as the lines above say", done.stderr)
        self.assertIn("--case matmul/f32/m=0x: ", self.align("mine/steady", case="matmul/f32/m=0x", code=2).stderr)


class Planted(Alignment):
    def test_each_planted_order_is_found(self):
        for name in PLANTED:
            with self.subTest(name):
                self.assertIn(f"DIFFERS: mine/{name} gives the bits of the whole case in ", self.align(f"mine/{name}", code=1).stdout)


if __name__ == "__main__":
    unittest.main()
