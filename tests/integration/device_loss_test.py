#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices that go away, hang or crash again and again: what is recorded of them, and what becomes of the rest of the
run. device_loss_test.py and the arguments of program.py."""
import json
import subprocess
import sys
import time
import unittest

from program import ASSAY, CASE, Cli, PLUGIN

ON_PLUGIN = ("--plugin", PLUGIN, "--backend", "misbehaving", "--no-store")


def cases(count):
    return [word for seed in range(count) for word in ("--case", CASE.replace("seed=0", f"seed={seed}"))]


class Loss(Cli):
    def setUp(self):
        super().setUp()
        self.gone = self.shared / "gone"
        self.away = {"ASSAY_MISBEHAVE": "goes_away", "ASSAY_GONE_FILE": str(self.gone)}

    def start(self, *args, env):
        passed = [word for name in env for word in ("--pass-env", name)]
        return subprocess.Popen([ASSAY, "run", "--out", "out", "--progress", "none", *ON_PLUGIN, *passed, *args], cwd=self.dir,
                                env={**self.env, **env}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def records(self):
        path = self.dir / "out/results.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def await_records(self, count):
        path = self.dir / "out/results.jsonl"
        for _ in range(2400):
            if path.exists() and path.read_text().count("\n") >= count:
                return
            time.sleep(0.05)
        self.fail(f"{path} has no {count} records after 2 minutes")

    def await_rounds(self, count, least):
        for _ in range(2400):
            rounds = [r["round_medians_s"].count(",") + 1 for r in self.records()]
            if len(rounds) == count and min(rounds) >= least:
                return
            time.sleep(0.05)
        self.fail(f"{count} results have no {least} rounds each after 2 minutes")

    def test_a_device_that_goes_away_fails_its_cases_and_takes_no_verdict_back(self):
        run = self.start(*cases(400), "--impl", "ok", "--no-perf", "--require-backend", "misbehaving", env=self.away)
        self.await_records(3)
        self.gone.touch()
        stdout, stderr = run.communicate(timeout=240)
        self.assertEqual(run.returncode, 3, stdout + stderr)
        verdicts = [r["verdict"] for r in self.records()]
        self.assertEqual(len(verdicts), 400)
        self.assertGreaterEqual(verdicts.count("pass"), 3)
        lost = [r for r in self.records() if r["verdict"] == "error"]
        self.assertTrue(lost)
        for record in lost:
            self.assertIn("could be opened before, and is gone now: the board does not answer",
                          record["reason"])
        # After eight of them nobody asks it any more; a further worker may be at a case then.
        self.assertIn(len(lost), range(8, 12))
        aside = [r for r in self.records() if r["verdict"] == "unavailable"]
        self.assertEqual(len(aside) + len(lost) + verdicts.count("pass"), 400)
        self.assertIn("set aside after 8 results in a row", aside[0]["reason"])

    def test_a_device_that_goes_away_in_a_later_round_leaves_the_verdicts_and_fails_the_run(self):
        run = self.start(*cases(3), "--impl", "ok", "--rounds", "400", "--perf-time", "0.005", env=self.away)
        self.await_rounds(3, 2)
        self.gone.touch()
        stdout, stderr = run.communicate(timeout=240)
        self.assertEqual(run.returncode, 3, stdout + stderr)
        self.assertEqual([r["verdict"] for r in self.records()], ["pass"] * 3)
        self.assertIn("was lost in a further round of timing", stderr)
        self.assertEqual(self.assay("report", "out").returncode, 3)

    def test_an_implementation_that_is_refused_after_it_was_offered_is_an_error(self):
        for how, said in (("late_refusal", "not this shape after all"), ("refuse_plan", "plan_create: not this plan"),
                          ("refuse_alloc", "buffer_alloc: not this size"), ("refuse_upload", "buffer_upload: not these"),
                          ("refuse_download", "buffer_download: not this result")):
            with self.subTest(how):
                done, records = self.run_cases("--case", CASE, *ON_PLUGIN, "--impl", "ok", "--no-perf", out=how,
                                               env={"ASSAY_MISBEHAVE": how})
                self.assertEqual([r["verdict"] for r in records], ["error"], done.stderr)
                self.assertIn(said, records[0]["reason"])
                self.assertIn("return ASSAY_UNSUPPORTED from query instead", records[0]["reason"])
                self.assertEqual(done.returncode, 3)

    def test_a_device_that_cannot_be_closed_fails_the_run(self):
        done, records = self.run_cases(*cases(2), *ON_PLUGIN, "--impl", "ok", "--no-perf", env={"ASSAY_MISBEHAVE": "crash_on_close"})
        self.assertEqual([r["verdict"] for r in records], ["pass"] * 2, "what it gave stands")
        self.assertIn("failed when it was closed, after all cases: crash: the worker was killed by SIGABRT", done.stderr)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(self.assay("report", "out").returncode, 3)

    def test_what_crashes_again_and_again_is_set_aside(self):
        done, records = self.run_cases(*cases(9), *ON_PLUGIN, "--impl", "segfault", "--no-perf", "--set-aside-after", "3")
        self.assertEqual(done.returncode, 3, done.stderr)
        verdicts = [r["verdict"] for r in records]
        self.assertEqual(verdicts.count("crash") + verdicts.count("unavailable"), 9)
        self.assertGreaterEqual(verdicts.count("unavailable"), 1)
        self.assertLess(verdicts.count("crash"), 9)
        reason = next(r["reason"] for r in records if r["verdict"] == "unavailable")
        self.assertIn("matmul on this device was set aside after 3 results in a row", reason)
        done, records = self.run_cases(*cases(9), *ON_PLUGIN, "--impl", "segfault", "--no-perf", "--set-aside-after", "0",
                                       out="never")
        self.assertEqual([r["verdict"] for r in records], ["crash"] * 9)

    def test_a_kill_among_the_rounds_leaves_the_rounds_that_were_made(self):
        run = self.start(*cases(2), "--impl", "ok", "--rounds", "1000", "--perf-time", "0.005", env={})
        self.await_rounds(2, 4)
        run.kill()
        run.communicate(timeout=60)
        self.assertEqual(len(self.records()), 2)
        for record in self.records():
            self.assertGreater(record["round_medians_s"].count(","), 2)
        self.assertEqual(self.assay("report", "out").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
