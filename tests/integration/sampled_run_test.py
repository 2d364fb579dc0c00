#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that judge a sample of large outputs (--sample). sampled_run_test.py and the arguments of program.py."""
import json
import shlex
import subprocess
import sys
import unittest

from program import Cli, PLUGIN

LARGE = "matmul/f32/m=70,n=50,k=8/fill=normal/seed=0"
SMALL = "matmul/f32/m=5,n=4,k=8/fill=normal/seed=0"
SAMPLE = ("--sample", "64", "--no-perf")


class SampledRun(Cli):
    def test_large_outputs_are_sampled_and_the_record_and_the_reports_say_so(self):
        done, records = self.run_cases("--case", LARGE, "--case", SMALL, "--backend", "cpu", "--sample", "64")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        of_case = {case: [r for r in records if r["case_id"] == case] for case in (LARGE, SMALL)}
        for record in of_case[LARGE]:
            self.assertEqual((record["verdict"], record["sample_judged"], record["sample_elements"], record["elements"]),
                             ("pass", 64, 3500, 3500), record["reason"])
            self.assertGreater(record["time_median_s"], 0)
            self.assertEqual(record["reason"], f"judged 64 of 3,500 elements, drawn by seed {record['sample_seed']}")
        self.assertTrue(of_case[SMALL])
        for record in of_case[SMALL]:
            self.assertIsNone(record["sample_judged"])
        share = f"{len(of_case[LARGE])} of a sample of their elements"
        self.assertIn(share, done.stdout)
        self.assertIn(share, (self.dir / "out" / "summary.md").read_text())
        self.assertEqual(json.loads((self.dir / "out" / "environment.json").read_text())["sample"], 64)

    def test_a_failure_is_that_of_the_whole_and_its_lines_repeat_it(self):
        done, records = self.run_cases("--case", LARGE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl",
                                       "drop_last_k,unwritten", *SAMPLE)
        self.assertEqual(done.returncode, 1, done.stderr)
        for record in records:
            self.assertEqual(record["verdict"], "mismatch", record["reason"])
            self.assertIn("--sample 64", record["reproduce"])
            again = self.assay(*shlex.split(record["reproduce"])[1:], "--out", "again-" + record["implementation"])
            self.assertEqual(again.returncode, 1, again.stderr)
        [wrong] = [r for r in records if r["implementation"] == "drop_last_k"]
        folder = self.dir / "out" / wrong["failure_dir"]
        lines = (folder / "reproduce.txt").read_text().splitlines()
        self.assertIn(LARGE, lines[0])
        checks = [line for line in lines if " check " in line and "drop_last_k" in line and not line.startswith("#")]
        self.assertEqual(len(checks), 2, "of the case's own data and of a twin's")
        for check in checks:
            judged = subprocess.run(check, shell=True, cwd=folder, env=self.env, capture_output=True, text=True, timeout=240)
            self.assertEqual(judged.returncode, 1, check + judged.stderr)

    def test_a_run_goes_on_with_the_same_sample_alone(self):
        _, records = self.run_cases("--case", LARGE, "--backend", "cpu", *SAMPLE)
        path = self.dir / "out" / "results.jsonl"
        path.write_text(path.read_text().split("\n")[0] + "\n")
        other = ("run", "--out", "out", "--resume", "--case", LARGE, "--backend", "cpu", "--no-perf")
        self.fails(2, "sample", *other, "--sample", "100")
        done = self.assay(*other, "--sample", "64")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        again = [json.loads(line) for line in path.read_text().splitlines()]
        key = lambda r: (r["implementation"], r["sample_judged"], r["sample_seed"], r["output_hash"])
        self.assertEqual([key(r) for r in again], [key(r) for r in records])

    def test_a_suite_asks_for_a_sample_of_some_cases(self):
        suite = self.dir / "some.suite"
        suite.write_text("sample 64\nmatmul dtypes=f32 m=70 n=50 k=8\nsample all\nmatmul dtypes=f32 m=71 n=50 k=8\n")
        words = ("--suite", str(suite), "--backend", "cpu", "--impl", "naive", "--no-perf")
        _, records = self.run_cases(*words)
        judged = {r["case_id"]: (r["verdict"], r["sample_judged"], " --sample 64" in r["reproduce"]) for r in records}
        whole = LARGE.replace("m=70", "m=71")
        self.assertEqual(judged, {LARGE: ("pass", 64, True), whole: ("pass", None, False)})
        _, records = self.run_cases(*words, "--sample", "100", out="stated")
        self.assertEqual({(r["sample_judged"], r["reproduce"].count("--sample")) for r in records}, {(100, 1)})
        self.fails(2, "some.suite:2) judged", "run", *words, "--evidence", "3", "--out", "kept")

    def test_a_case_that_needs_more_memory_is_left_out(self):
        words = ("--case", LARGE, "--case", SMALL, "--backend", "cpu", "--impl", "naive", "--no-perf")
        done, records = self.run_cases(*words, "--max-memory", "1M")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {r["case_id"]: (r["backend"], r["verdict"]) for r in records}
        self.assertEqual(found, {LARGE: ("assay", "unsupported"), SMALL: ("cpu", "pass")})
        [left_out] = [r["reason"] for r in records if r["verdict"] == "unsupported"]
        self.assertRegex(left_out, r"left out: .* need about 0\.00\d+ GB .* more than the 0\.001 GB of --max-memory")
        self.fails(2, "it was left out (--max-memory), and a bundle needs all cases", "bundle", "out", "-o", "mine.assay.tar.zst")
        _, records = self.run_cases(*words, "--max-memory", "1Gi", out="enough")
        self.assertEqual({r["verdict"] for r in records}, {"pass"})
        self.fails(2, "'much' is not a size", "run", *words, "--max-memory", "much")

    def test_it_is_no_evidence(self):
        self.run_cases("--case", LARGE, "--backend", "cpu", *SAMPLE)
        self.fails(2, "bundle a run of whole cases", "bundle", "out", "-o", "mine.assay.tar.zst")
        for option, value in (("--sample", "64"), ("--max-memory", "1M")):
            self.fails(2, option, "run", "--case", LARGE, option, value, "--evidence", "3")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
