#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases as tests of GoogleTest: gtest_test.py ASSAY_GTEST ALTERED_PLUGIN MISBEHAVING_PLUGIN."""
import json
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

from own_folder import OwnFolder

GTEST, ALTERED, MISBEHAVING = sys.argv[1:4]
SOFTMAX = ("--suite", "smoke", "--op", "softmax", "--dtype", "f32", "--backend", "cpu")
WRONG = ("--case", "matmul/f32/m=5,n=7,k=33/fill=normal/seed=0", "--case", "fft/c64/kind=c2c,n=8/fill=normal/seed=0", "--plugin",
         ALTERED, "--backend", "vendor")


class GoogleTest(OwnFolder):
    def run_tests(self, *args, env=None):
        return subprocess.run([GTEST, *args], cwd=self.dir, env={**self.env, **(env or {})}, capture_output=True,
                              text=True, timeout=240)

    def ids(self, out):
        return {record["case_id"] for record in self.records(out)}

    def records(self, out):
        return [json.loads(line) for line in (self.dir / out / "results.jsonl").read_text().splitlines()]

    def listed(self, *args):
        lines = self.run_tests("--gtest_list_tests", *args).stdout.splitlines()
        return [line.strip() for line in lines if line.startswith("  ")]

    def test_listing_runs_nothing(self):
        names = self.listed(*SOFTMAX)
        self.assertGreater(len(names), 3)
        self.assertTrue(all(name.startswith("f32/") for name in names), names)
        self.assertFalse((self.dir / "out").exists())

    def test_each_case_is_a_test_with_its_verdicts_in_the_xml(self):
        done = self.run_tests(*SOFTMAX, "--out", "run", "--gtest_output=xml:tests.xml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        root = ElementTree.parse(self.dir / "tests.xml").getroot()
        cases = {f"{case.get('classname')}/{case.get('name')}": case for case in root.iter("testcase")}
        self.assertEqual(set(cases), self.ids("run"))
        for case in cases.values():
            verdicts = {p.get("name"): p.get("value") for p in case.iter("property")}
            self.assertTrue(any(name.startswith("cpu") for name in verdicts), verdicts)
            self.assertEqual(set(verdicts.values()), {"pass"})
        self.assertTrue((self.dir / "run/report.html").exists())

    def test_the_filter_and_shards_choose_what_runs(self):
        names = self.listed(*SOFTMAX)
        done = self.run_tests(*SOFTMAX, "--out", "one", f"--gtest_filter=softmax.{names[1]}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.ids("one"), {f"softmax/{names[1]}"})
        plan = json.loads((self.dir / "one/plan.json").read_text())
        self.assertEqual([entry["id"] for entry in plan["cases"]], [f"softmax/{names[1]}"])
        parts = []
        for index in range(2):
            env = {"GTEST_TOTAL_SHARDS": "2", "GTEST_SHARD_INDEX": str(index)}
            done = self.run_tests(*SOFTMAX, "--out", f"part{index}", env=env)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            parts.append(self.ids(f"part{index}"))
        self.assertEqual(len(parts[0]) + len(parts[1]), len(names))
        self.assertFalse(parts[0] & parts[1])

    def test_what_is_wrong_fails_and_what_nobody_computes_is_skipped(self):
        env = {"ASSAY_ALTER": "two-devices"}
        done = self.run_tests(*WRONG, "--out", "wrong", env=env)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("[  FAILED  ] matmul.f32/m=5,n=7,k=33/fill=normal/seed=0", done.stdout)
        self.assertIn("mismatch vendor[Example 2]:loops", done.stdout)
        [line] = {line.strip().removeprefix("reproduce: ") for line in done.stdout.splitlines() if " run --case matmul/" in line}
        again = subprocess.run(f"exec {line} --no-perf --out again", shell=True, cwd=self.dir, env={**self.env, **env},
                               capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        [record] = self.records("again")
        self.assertEqual((record["verdict"], record["implementation"]), ("mismatch", "loops"))
        self.assertIn("[  SKIPPED ] fft.c64/kind=c2c,n=8/fill=normal/seed=0", done.stdout)

    def test_devices_of_a_pool_share_the_cases_and_one_that_dies_leaves_them_to_the_other(self):
        cases = [f"f32/m=17,n=9,k=64/fill=normal/seed={seed}" for seed in range(4)]
        words = [word for case in cases for word in ("--case", f"matmul/{case}")]
        # A case is prepared ten times, a tenth of a second each: neither device is done before the other has begun.
        words += ["--plugin", MISBEHAVING, "--backend", "misbehaving", "--impl", "slow_prepare", "--jobs", "2", "--devices", "pool"]
        done = self.run_tests(*words, "--out", "both", env={"ASSAY_MISBEHAVE": "two_devices"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        records = self.records("both")
        self.assertEqual([r["case_id"] for r in records], [f"matmul/{case}" for case in cases])
        self.assertEqual({r["device"] for r in records}, {"imaginary #0", "imaginary #1"})
        done = self.run_tests(*words, "--set-aside-after", "2", "--out", "one", env={"ASSAY_MISBEHAVE": "second_crashes"})
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        crashed = {r["case_id"] for r in self.records("one") if r["device"] == "imaginary #1"}
        self.assertIn(len(crashed), range(2, 5))
        for case in cases:
            failed = f"matmul/{case}" in crashed
            self.assertIn(f"[  FAILED  ] matmul.{case}" if failed else f"[       OK ] matmul.{case}", done.stdout)
        self.assertIn("crash misbehaving[imaginary #1]:slow_prepare", done.stdout)

    def test_usage(self):
        for args, said in ((("--suite", "nowhere"), "nowhere"), (("--no-such-option",), "--no-such-option"),
                           ((*SOFTMAX[:2], "--op", "fft", "--dtype", "i8"), "none of the"),
                           ((*SOFTMAX, "--gtest_filter=*", "--require-backend", "absent"), "absent")):
            done = self.run_tests(*args)
            self.assertNotEqual(done.returncode, 0, args)
            self.assertIn(said, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
