#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that many results take: scale_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY OTHER_MAJOR.

Records and offers are those of one real result under other seeds; the plan is that of a real run of all of them, which
was stopped at its first failure."""
import json
import os
import subprocess
import sys
import unittest

from program import ASSAY, Cli, PLUGIN

ID = "matmul/f32/m=2,n=3,k=4/fill=normal/seed="
# Bytes of memory, of which about half are the rows of the HTML page, which has 50,000 at most. Unpacked, records and rows
# take 15,000.
MOST_PER_RESULT = 4000
# Bytes of a planned case with its entry of plan.json. The problem that its operator makes of it would add 3,000.
MOST_PER_CASE = 1500


class Results(Cli):
    def suite(self, count):
        """The file of a suite of `count` cases, 10,000 a line."""
        suite = self.dir / f"{count}.suite"
        lines = [range(first, min(first + 10_000, count)) for first in range(0, count, 10_000)]
        suite.write_text("timed no\n" + "".join(
            f"matmul dtypes=f32 m=2 n=3 k=4 seed={'|'.join(map(str, seeds))}\n" for seeds in lines))
        return suite

    def plan(self, count, *args):
        """The folder of a run of `count` cases."""
        folder = self.dir / f"{count}-{'-'.join(args)}"
        suite = self.suite(count)
        done = self.assay("run", "--suite", str(suite), "--plugin", PLUGIN, "--backend", "misbehaving", "--no-perf",
                          "--progress", "none", "--out", str(folder), *args)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return folder

    def many(self, count, folder):
        """Puts the files of `count` results into the folder, beside its plan if it has one."""
        one = self.dir / "1---impl-ok"
        if not one.exists():
            self.plan(1, "--impl", "ok")
        plan = folder / "plan.json"
        hashes = [json.loads((one / "plan.json").read_text())["plan_hash"]] * 2
        if plan.exists():
            hashes[1] = json.loads(plan.read_text())["plan_hash"]
        for name in ("results.jsonl", "offers.jsonl"):
            line = (one / name).read_text().replace(hashes[0], hashes[1])
            line = line.replace(ID + "0", ID + "@").replace('"seed":0,', '"seed":@,')
            with open(folder / name, "w") as file:
                file.writelines(line.replace("@", str(seed)) for seed in range(count))
        (folder / "environment.json").write_text((one / "environment.json").read_text())
        return folder

    def peak(self, *args, code=0, env=None):
        """The most bytes of memory that the program took; it has to exit with `code`."""
        with open(os.devnull, "w") as null:
            process = subprocess.Popen([ASSAY, *args], cwd=self.dir, env={**self.env, **(env or {})}, stdout=null,
                                       stderr=null)
            _, status, usage = os.wait4(process.pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), code, args)
        return usage.ru_maxrss * 1024


    def peak_of_run(self, count):
        """Peak memory of a run of `count` cases whose only device is absent."""
        folder = self.dir / f"run{count}"
        peak = self.peak("run", "--suite", str(self.suite(count)), "--plugin", PLUGIN, "--backend", "misbehaving",
                         "--no-perf", "--progress", "none", "--out", str(folder), code=4,
                         env={"ASSAY_MISBEHAVE": "no_device"})
        with open(folder / "results.jsonl") as file:
            self.assertEqual(sum('"verdict":"unavailable"' in line for line in file), count)
        return peak


class Many(Results):
    def test_a_planned_case_takes_little_memory(self):
        few, many = 2_000, 20_000
        peaks = [self.peak("list", "cases", "--suite", str(self.suite(count))) for count in (few, many)]
        self.assertLess((peaks[1] - peaks[0]) / (many - few), MOST_PER_CASE)

    def test_a_run_takes_little_memory_for_each_case(self):
        few, many = 2_000, 20_000
        peaks = [self.peak_of_run(count) for count in (few, many)]
        self.assertLess((peaks[1] - peaks[0]) / (many - few), MOST_PER_RESULT)

    def test_a_report_takes_little_memory_for_each_result(self):
        few, many = 2_000, 20_000
        folders = [self.many(count, self.plan(count, "--impl", "drop_last_k", "--maxfail", "1")) for count in (few, many)]
        peaks = [self.peak("report", str(folder)) for folder in folders]
        self.assertTrue(f"<title>assay: {many} pass</title>" in (folders[1] / "report.html").read_text())
        self.assertLess((peaks[1] - peaks[0]) / (many - few), MOST_PER_RESULT)


class Million(Results):
    def test_a_run_of_a_million_cases_takes_less_than_2_gb(self):
        self.assertLess(self.peak_of_run(1_000_000), 2e9)

    def test_reports_of_a_million_results_take_less_than_2_gb_and_can_be_opened(self):
        folder = self.dir / "million"
        folder.mkdir()
        self.many(1_000_000, folder)
        self.assertLess(self.peak("report", str(folder)), 2e9)
        self.assertLess((folder / "report.html").stat().st_size, 64e6)
        self.assertLess((folder / "summary.md").stat().st_size, 1_000_000)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
