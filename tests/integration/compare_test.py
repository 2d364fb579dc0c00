#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""assay compare on the folders of real runs: compare_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY OTHER_MAJOR GROUP."""
import json
import shutil
import sys
import unittest

import cli_test
from cli_test import CASE, PLUGIN

OTHER_CASE = "matmul/f32/m=5,n=3,k=7/fill=normal/seed=0"
BOTH = ("--case", CASE, "--case", OTHER_CASE, "--no-perf")


class Base(cli_test.Cli):
    def one_run(self, out, *args):
        done, records = self.run_cases(*args, "--progress", "none", out=out)
        self.assertTrue(records, done.stderr)

    def misbehaving(self, out, name, spoil="ok"):
        """A run of one implementation of the misbehaving plugin."""
        self.one_run(out, *BOTH, "--plugin", f"{name}={PLUGIN}", "--backend", name, "--impl", spoil)

    def change_records(self, source, target, change):
        shutil.copytree(self.dir / source, self.dir / target)
        path = self.dir / target / "results.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(r) + "\n" for r in change(records)))

    def compare(self, code, *args):
        done = self.assay("compare", *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def as_json(self, code, *args):
        report = json.loads(self.compare(code, *args, "--json").stdout)
        self.assertEqual(report["exit_code"], code)
        return report


class Compare(Base):
    def test_two_runs_of_the_same_have_no_change(self):
        self.one_run("a", *BOTH, "--backend", "cpu")
        self.one_run("b", *BOTH, "--backend", "cpu")
        self.assertIn("0 regressions; 6 results in both runs, 0 changed", self.compare(0, "a", "b").stdout)
        self.assertIn("0 changed", self.compare(0, "a/results.jsonl", "b").stdout)

    def test_a_result_that_became_wrong_is_a_regression(self):
        def spoil(records):
            records[0].update(verdict="mismatch", outcome="mismatch", reason="50 % is wrong")
            return records
        self.one_run("a", *BOTH, "--backend", "cpu", "--impl", "naive")
        self.change_records("a", "b", spoil)
        done = self.compare(1, "a", "b", "--github", "--markdown", "compare.md")
        self.assertIn(f"verdict: pass -> mismatch  cpu:naive  {CASE}\n    50 % is wrong\n    reproduce: ", done.stdout)
        self.assertIn("\n::error title=assay compare%3A matmul on cpu::1 of 1 changed results regressed or lost%0A"
                      "verdict: pass -> mismatch 50 %25 is wrong", done.stdout)
        self.assertIn("| verdict | pass | mismatch | 50 % is wrong | cpu:naive |", (self.dir / "compare.md").read_text())
        (self.dir / "policy.toml").write_text("[[rule]]\nbackend = 'cpu'\nverdict_worse = false\n")
        self.compare(0, "a", "b", "--policy", "policy.toml")
        self.compare(0, "b", "a")

    def test_an_implementation_that_is_gone_is_support_lost(self):
        self.one_run("a", *BOTH, "--backend", "cpu")
        self.one_run("b", *BOTH, "--backend", "cpu", "--impl", "naive,blocked")
        report = self.as_json(1, "a", "b")
        self.assertEqual({(c["aspect"], c["new"]) for r in report["results"] for c in r["changes"]},
                         {("support", "not offered")})
        self.assertEqual(report["regressions"], 2)

    def test_a_run_that_lost_results_is_incomplete(self):
        self.one_run("a", *BOTH, "--backend", "cpu", "--impl", "naive")
        self.change_records("a", "torn", lambda records: records[:1])
        report = self.as_json(3, "a", "torn")
        self.assertEqual([c["new"] for r in report["results"] for c in r["changes"]], ["missing"])
        self.assertIn("torn: incomplete: 1 of 2 planned cases have no record", "\n".join(report["notes"]))
        self.compare(0, "a", "torn", "--allow-lost")
        self.compare(0, "torn", "a")  # the base's loss is only said
        self.one_run("fewer", "--case", CASE, "--no-perf", "--backend", "cpu", "--impl", "naive")
        self.assertIn("the case was not run", self.compare(3, "a", "fewer").stdout)

    def test_two_columns_of_one_run(self):
        self.one_run("ab", *BOTH, "--plugin", f"old={PLUGIN}", "--plugin", f"new={PLUGIN}", "--backend", "old,new",
                     "--impl", "ok")
        self.assertIn("2 results in both runs", self.compare(0, "ab", "--columns", "old,new").stdout)
        self.assertIn("has no backend 'absent'", self.compare(2, "ab", "--columns", "old,absent").stderr)


class CompareErrors(Base):
    def setUp(self):
        super().setUp()
        self.one_run("a", "--case", CASE, "--no-perf", "--backend", "cpu", "--impl", "naive")

    def test_what_is_no_run(self):
        (self.dir / "empty").mkdir()
        self.assertIn("cannot read empty/results.jsonl: give the output folder of a run",
                      self.compare(2, "a", "empty").stderr)
        self.assertIn("give two runs", self.compare(2, "a").stderr)
        (self.dir / "text.jsonl").write_text("hello\nworld\n")
        self.assertIn("text.jsonl:1: not a record", self.compare(2, "text.jsonl", "a").stderr)

    def test_nothing_in_common(self):
        self.one_run("b", "--case", OTHER_CASE, "--no-perf", "--backend", "cpu", "--impl", "naive")
        self.assertIn("no result in common", self.compare(2, "a", "b").stderr)

    def test_another_schema(self):
        self.change_records("a", "old", lambda records: [dict(r, schema_version=0) for r in records])
        self.assertIn("schema versions 0 and 1", self.compare(2, "old", "a").stderr)

    def test_policy_errors_name_file_line_and_column(self):
        for text, where in (("verdict = true\n", "policy.toml:1:1: no key 'verdict'; known: verdict_worse"),
                            ("\n[[rule]]\nop = 3\n", "policy.toml:3:6: 'op' takes a glob"),
                            ("bits_changed = \n", "policy.toml:1:")):
            (self.dir / "policy.toml").write_text(text)
            self.assertIn(where, self.compare(2, "a", "a", "--policy", "policy.toml").stderr)
        self.assertIn("cannot read the policy file", self.compare(2, "a", "a", "--policy", "absent.toml").stderr)

    def test_a_report_that_cannot_be_written(self):
        self.assertIn("cannot write no/such.md", self.compare(3, "a", "a", "--markdown", "no/such.md").stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[5:], verbosity=2)
