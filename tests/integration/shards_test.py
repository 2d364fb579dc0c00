#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shards of a run, run apart and put together again: shards_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY_PLUGIN
OTHER_MAJOR_PLUGIN [GROUP...]"""
import json
import pathlib
import shutil
import sys
import unittest

from own_folder import rule
from program import Cli, PLUGIN

SUITE = """matmul dtypes=f32|f64 m=1|2|3 n=8|9 k=64 fill=normal
softmax dtypes=f32 shape=4x8|5x9 fill=normal
tag one
"""
COUNT = 3


class Merge(Cli):
    RUN = ("--backend", "cpu", "--impl", "naive,direct", "--no-perf")

    def setUp(self):
        super().setUp()
        (self.dir / "mine.suite").write_text(SUITE)

    def shard(self, index, *more, count=COUNT, out=None):
        done, records = self.run_cases("--suite", "mine.suite", *self.RUN, "--shard", f"{index}/{count}", *more,
                                       out=out or f"part{index}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return records

    def records(self, out):
        return [json.loads(line) for line in (self.dir / out / "results.jsonl").read_text().splitlines()]

    @staticmethod
    def essence(records):
        return sorted((r["case_id"], r["backend"], r["implementation"], r["verdict"], r["input_hash"]) for r in records)

    def test_merged_shards_are_the_whole_run(self):
        done, whole = self.run_cases("--suite", "mine.suite", *self.RUN, out="whole")
        self.assertEqual(done.returncode, 0, done.stderr)
        for index in range(COUNT):
            self.shard(index)
        done = self.assay("merge", "part2", "part0", "part1", "-o", "merged")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        merged = self.records("merged")
        self.assertEqual(self.essence(merged), self.essence(whole))
        self.assertEqual([r["case_id"] for r in merged], [r["case_id"] for r in whole])  # in the plan's order
        plans = [json.loads((self.dir / name / "plan.json").read_text()) for name in ("merged", "whole")]
        self.assertEqual(plans[0]["plan_hash"], plans[1]["plan_hash"])
        self.assertTrue((self.dir / "merged/report.html").exists())
        environment = json.loads((self.dir / "merged/environment.json").read_text())
        self.assertEqual(sorted(part["shard"] for part in environment["merged"]), [0, 1, 2])
        for words in (("report", "merged"), ("report", "part0", "part1", "part2"), ("compare", "whole", "merged")):
            done = self.assay(*words)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertFalse((self.dir / "part0/summary.md").read_text() == "")

    def test_a_device_that_one_shard_lost_is_lost_for_all(self):
        for index in range(COUNT):
            self.shard(index)
        path = self.dir / "part1/environment.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "device_lost": "it was"}))  # as its run would say
        for words in (("report", "part1"), ("report", "part0", "part1", "part2"),
                      ("merge", "part0", "part1", "part2", "-o", "merged"), ("report", "merged")):
            self.assertEqual(self.assay(*words).returncode, 3, words)

    def test_what_is_not_there_is_missing(self):
        self.shard(0)
        self.shard(2)
        done = self.assay("merge", "part0", "part2", "-o", "merged")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("of 3 shards these are missing: 1; results missing with them: ", done.stderr)
        self.assertIn("missing", done.stdout)
        self.assertEqual(self.assay("report", "merged").returncode, 3)
        self.assertEqual(self.assay("report", "part0", "part2").returncode, 3)
        # A record that a shard that is there has lost.
        self.shard(1)
        lines = (self.dir / "part1/results.jsonl").read_text().splitlines(keepends=True)
        (self.dir / "part1/results.jsonl").write_text("".join(lines[1:]))
        done = self.assay("report", "part0", "part1", "part2")
        self.assertEqual(done.returncode, 3)
        self.assertIn("1 missing", done.stdout)

    def test_what_does_not_belong_together_is_refused(self):
        self.shard(0)
        self.shard(1)
        shutil.copytree(self.dir / "part0", self.dir / "copy")
        self.fails(2, "part0 and copy overlap: both are shard 0/3", "merge", "part0", "copy", "-o", "m")
        self.shard(1, count=4, out="of4")
        self.fails(2, "part0 and of4 do not belong to one run: the number of shards differs: 3 and 4", "merge", "part0", "of4",
                   "-o", "m")
        self.shard(1, "--contract", "f32acc", out="contract")
        self.fails(2, "the plan (cases and requirements) differs", "merge", "part0", "contract", "-o", "m")
        (self.dir / "mine.suite").write_text(SUITE.replace("tag one", "tag two"))
        (self.dir / "mine.suite").write_text("tag two\n" + SUITE)
        self.shard(1, out="tags")
        self.fails(2, "the suite (tags, sources) differs", "merge", "part0", "tags", "-o", "m")
        (self.dir / "rules.toml").write_text(rule("nobody"))
        (self.dir / "mine.suite").write_text(SUITE)
        self.shard(1, "--expectations", "rules.toml", out="waived")
        self.fails(2, "the lists of known failures differs", "merge", "part0", "waived", "-o", "m")
        for key, text in (("tool_version", "version of assay"), ("golden_version", "version of golden values")):
            path = self.dir / "part1/plan.json"
            kept = path.read_text()
            plan = json.loads(kept)
            plan[key] = "0.0.1" if key == "tool_version" else 1
            path.write_text(json.dumps(plan))
            self.fails(2, f"the {text} differs", "merge", "part0", "part1", "-o", "m")
            path.write_text(kept)
        stray = (self.dir / "part1/results.jsonl").read_text().splitlines()[0]
        with open(self.dir / "part0/results.jsonl", "a") as file:
            file.write(stray + "\n")
        self.fails(2, "which is not of its shard 0/3", "merge", "part0", "part1", "-o", "m")
        self.fails(2, "give output folders of runs", "merge", "part1", "nowhere", "-o", "m")
        self.assertFalse((self.dir / "m").exists())

    def test_failures_and_their_folders_come_along(self):
        run = ("--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "drop_last_k", "--no-perf", "--op", "matmul",
               "--dtype", "f32", "--suite", "mine.suite")
        for index in range(2):
            self.run_cases(*run, "--shard", f"{index}/2", out=f"bad{index}")
        done = self.assay("merge", "bad0", "bad1", "-o", "merged")
        self.assertEqual(done.returncode, 1, done.stderr)
        for record in self.records("merged"):
            self.assertEqual(record["verdict"], "mismatch")
            self.assertTrue((self.dir / "merged" / record["failure_dir"] / "reproduce.txt").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
