#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The known failures that ship with oneDNN cover what it gets wrong, on every class of processors that the host can
pretend to be: shipped_expectations_test.py ASSAY."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ASSAY = sys.argv[1]
# Weaker and stronger than the host: oneDNN takes what there is.
LEVELS = ("SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX512_CORE", "AVX512_CORE_VNNI", "ALL")
ODD = "conv/bf16/n=1,c=15,o=8,i=12x12,k=1x1/fill=special/seed=0"  # see conv-bf16-odd-channels
CHOSEN = ("--suite", "default", "--filter", "*fill=special*:*/i8-i8-i32/*")


class ShippedExpectations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Once for all runs: planning the suite takes longer than some of them.
        listed = subprocess.run([ASSAY, "list", "cases", *CHOSEN], capture_output=True, text=True, timeout=300, check=True)
        ids = listed.stdout.split()
        assert len(ids) > 20, listed.stdout
        cls.cases = [word for case in [*ids, ODD] for word in ("--case", case)]

    def run_cases(self, folder, level, *more):
        words = [ASSAY, "run", *self.cases, "--backend", "onednn", "--no-perf", "--relations", "none", "--progress", "none",
                 "--out", str(folder / (level + "".join(more))), *more]
        done = subprocess.run(words, capture_output=True, text=True, cwd=folder, timeout=300,
                              env={**os.environ, "ONEDNN_MAX_CPU_ISA": level})
        lines = (folder / (level + "".join(more)) / "results.jsonl").read_text().splitlines()
        return done, [json.loads(line) for line in lines]

    def test_they_cover_what_fails_on_every_level_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as name:
            for level in LEVELS:
                with self.subTest(level):
                    done, records = self.run_cases(pathlib.Path(name), level)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    known = [r for r in records if r["outcome"].startswith("known_")]
                    self.assertGreater(len(known), 2)
                    for record in known:
                        self.assertEqual(record["fault"], "library")
                        self.assertTrue(record["known_issue"] and record["read_on"], record)
                    self.assertGreater(sum(r["outcome"] == "pass" for r in records), 5)  # weak levels offer less

    def test_without_them_the_run_fails(self):
        with tempfile.TemporaryDirectory() as name:
            done, _ = self.run_cases(pathlib.Path(name), "ALL", "--expectations", "none")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
