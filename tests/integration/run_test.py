#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Selection, records and files of a run, as its users run it: run_test.py and the arguments of program.py."""
import json
import signal
import subprocess
import sys
import unittest

from own_folder import FULL
from program import ASSAY, CASE, Cli, NO_ENTRY, PLUGIN


class Run(Cli):
    def test_a_suite_and_cases_are_joined(self):
        suite = self.dir / "my.suite"
        suite.write_text("require contract=f64\nmatmul dtypes=f32 m=4|17 n=9 k=64\n")
        first = CASE.replace("m=17", "m=4")
        other = "reduce/f32/shape=4x8,axes=1/fill=normal/seed=0"
        select = ("--suite", str(suite), "--case", CASE, "--case", other, "--case", other)
        listed = [line.split("\t") for line in self.assay("list", "cases", *select, "-v").stdout.splitlines()]
        self.assertEqual([row[0] for row in listed], [first, CASE, other])
        self.assertTrue(listed[1][1].startswith("f64"), listed[1])  # what the suite requires
        self.assertEqual([row[4] for row in listed], [f"{suite}:2", f"{suite}:2", "--case"])
        _, records = self.run_cases(*select, "--backend", "cpu", "--no-perf")
        self.assertEqual({r["case_id"] for r in records}, {first, CASE, other})
        plan = json.loads((self.dir / "out/plan.json").read_text())
        self.assertEqual(plan["suite"], f"{suite} --case")
        # Without --suite only the cases run.
        self.assertEqual(self.assay("list", "cases", "--case", other).stdout, other + "\n")

    def test_one_convolution_has_one_id(self):
        long, short = "k=3,stride=2x2,pad=1x1", "k=3x3,stride=2,pad=1"
        case = "conv/f32/n=1,c=3,o=4,i=9x9,{}/fill=normal/seed=0"
        _, records = self.run_cases("--case", case.format(long), "--case", case.format(short), "--backend", "cpu",
                                    "--impl", "direct", "--no-perf")
        self.assertEqual([r["case_id"] for r in records], [case.format(short)])

    def test_each_formula_has_two_portable_implementations(self):
        (self.dir / "own.suite").write_text("others\n")  # a small case of each list of types
        listed = self.assay("list", "cases", "--suite", "own.suite", "--filter", "*/f32*").stdout.split()
        first = {case.split("/")[0]: case for case in reversed(listed)}
        done, records = self.run_cases(*(word for case in list(first.values())[::1 if FULL else 3] for word in ("--case", case)), "--backend", "cpu", "--no-perf",
                                       "--relations", "none")
        self.assertEqual(done.returncode, 0, done.stdout)
        names = {}
        for r in records:
            names.setdefault(r["op"], set()).add(r["implementation"])
        self.assertGreater(len(names), 20)
        self.assertEqual({op: found for op, found in names.items() if len(found) < 2}, {})

    def test_records_are_complete_and_flat(self):
        done, records = self.run_cases("--case", CASE, "--backend", "cpu", "--perf-time", "0.02")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        keys = ("case_id op dtype shape fill seed backend device implementation contract verdict outcome reason "
                "max_abs_err max_rel_err max_ulp_err rms_err nmse bound_margin stat_margin effective_bits bias_z "
                "outliers elements nonfinite_mismatch worst_index deterministic prepare_s prepare_cached_s time_median_s "
                "time_p10_s time_p90_s samples gflops gbytes_per_s roofline_fraction golden_s compare_s input_hash output_hash "
                "golden_hash").split()
        self.assertEqual(len(records), 3)
        for r in records:
            for key in keys:
                self.assertIn(key, r)
            self.assertFalse([k for k, v in r.items() if isinstance(v, (list, dict))])
            self.assertGreater(r["time_median_s"], 0)
            self.assertLessEqual(r["time_p10_s"], r["time_p90_s"])
        self.assertEqual(len({r["golden_hash"] for r in records}), 1)
        for name in ("plan.json", "environment.json", "summary.md", "junit.xml", "benchmark.json", "report.html"):
            self.assertTrue((self.dir / "out" / name).stat().st_size > 0, name)
        again = self.assay("report", "out")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("3 pass", again.stdout)

    def test_the_requirement_that_is_listed_is_the_one_that_is_judged(self):
        cases = {"matmul/bf16/m=4,n=4,k=8/fill=normal/seed=0": "f32acc;out=rn;math=256;mid=none",
                 "reduce/f32/shape=4x8,axes=1,kind=max/fill=special/seed=0": "f32;out=rn;math=256;nan=propagate",
                 "softmax/bf16/shape=4x8/fill=normal/seed=0": "f32acc;out=rn;math=256"}
        for number, (case, requirement) in enumerate(cases.items()):
            listed = self.assay("list", "cases", "--case", case, "--verbose").stdout.split("\t")
            self.assertEqual(listed[1], requirement)
            _, records = self.run_cases("--case", case, "--backend", "cpu", "--no-perf", out=f"stated{number}")
            self.assertEqual({r["required_contract"] for r in records}, {requirement})
            plan = json.loads((self.dir / f"stated{number}" / "plan.json").read_text())
            self.assertEqual([c["requirement"] for c in plan["cases"]], [requirement])

    def test_a_second_run_has_the_same_inputs_golden_values_and_outputs(self):
        _, first = self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf", out="a")
        _, second = self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf", "--no-store", "--jobs", "1", out="b")
        for key in ("input_hash", "output_hash", "golden_hash"):
            self.assertEqual([r[key] for r in first], [r[key] for r in second], key)

    def test_a_damaged_store_file_is_reported_and_replaced(self):
        args = ("--case", CASE, "--backend", "cpu", "--no-perf")
        _, first = self.run_cases(*args, out="a")
        stored = [p for p in (self.dir / "store").rglob("*") if p.is_file()]
        self.assertEqual(len(stored), 1)
        damaged = bytearray(stored[0].read_bytes())
        damaged[-5] ^= 0x40
        stored[0].write_bytes(damaged)
        done, second = self.run_cases(*args, out="b")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"golden store: {stored[0]}: damaged: the checksum does not match; the file is not used, and the value was "
                      "computed again and the file replaced (assay golden verify", done.stderr)
        self.assertEqual(second[0]["golden_hash"], first[0]["golden_hash"])
        done, _ = self.run_cases(*args, out="c")
        self.assertEqual(done.stderr, "")

    def test_a_store_that_cannot_be_written_is_said_once_and_the_run_goes_on(self):
        (self.dir / "store").write_text("no folder")
        done, records = self.run_cases("--case", CASE, "--case", CASE.replace("m=17", "m=4"), "--backend", "cpu", "--impl",
                                       "naive", "--no-perf")
        self.assertEqual((done.returncode, [r["verdict"] for r in records]), (0, ["pass", "pass"]))
        self.assertEqual(done.stderr.count("golden store: "), 1, done.stderr)
        for text in (str(self.dir / "store"), "the value was computed and is used, but not kept", "ASSAY_GOLDEN_STORE"):
            self.assertIn(text, done.stderr)

    def test_an_interrupt_waits_for_no_golden_value(self):
        large = "matmul/f64/m=1500,n=1500,k=10000/fill=normal/seed=0"
        process = subprocess.Popen([ASSAY, "run", "--case", CASE, "--case", large, "--backend", "cpu", "--no-perf",
                                    "--no-store", "--tier", "reproducible", "--out", "out"],
                                   cwd=self.dir, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.await_text(self.dir / "out/results.jsonl")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertTrue((self.dir / "out/report.html").exists())

    def test_what_holds_in_the_weaker_contract_that_it_declares_is_timed(self):
        done, records = self.run_cases("--case", CASE, "--backend", "cpu", "--impl", "naive", "--contract", "f64",
                                       "--perf-time", "0.001", "--rounds", "2")
        self.assertEqual([r["verdict"] for r in records], ["below_contract"])
        self.assertGreater(records[0]["time_median_s"], 0)
        self.assertEqual(len(records[0]["round_medians_s"].split(",")), 2, records[0]["round_medians_s"])
        self.assertIn("weaker contract ", done.stdout)

    def test_backends_and_lists(self):
        listed = json.loads(self.assay("backends", "--json").stdout)
        self.assertIn("cpu", [b["backend"] for b in listed if b["usable"]])
        missing = self.assay("backends", "--plugin", NO_ENTRY)
        self.assertIn("assay_backend_v1", missing.stdout)
        self.assertEqual(missing.returncode, 2)
        self.assertRegex(missing.stderr, "^assay: --plugin .* cannot be used, for the reason above")
        ops = self.assay("list", "ops", "--verbose").stdout
        for word in ("matmul", "reduce", "transa", "keepdims", "[batch,m,k]", "only when beta is not 0", "[shape]"):
            self.assertIn(word, ops)
        self.assertIn("default", self.assay("list", "suites").stdout.split())
        fft = self.assay("list", "ops", "--op", "fft", "--verbose").stdout
        self.assertIn("c2r of odd length", fft)
        self.assertNotIn("matmul", fft)
        both = self.assay("list", "ops", "--op", "matmul,fft").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in both], ["fft", "matmul"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
