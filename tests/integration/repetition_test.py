#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results that are tried more than once, and devices that a command brings back. repetition_test.py and the arguments of
program.py."""
import json
import re
import subprocess
import sys
import time
import unittest

from program import ASSAY, CASE, Cli, PLUGIN

ON_PLUGIN = ("--plugin", PLUGIN, "--backend", "misbehaving", "--no-store", "--no-perf")


def cases(count):
    return [word for seed in range(count) for word in ("--case", CASE.replace("seed=0", f"seed={seed}"))]


def tries_of(record):
    """("pass", 16), ("crash", 1), ..."""
    words = [re.fullmatch(r"([a-z_]+)(?:\*(\d+))?", word) for word in re.split("[,;]", record["tries"])]
    return [(word[1], int(word[2] or 1)) for word in words]


class Repetition(Cli):
    def start(self, *args, env):
        passed = [word for name in env for word in ("--pass-env", name)]
        return subprocess.Popen([ASSAY, "run", "--out", "out", "--progress", "none", *ON_PLUGIN, *passed, *args], cwd=self.dir,
                                env={**self.env, **env}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def records(self):
        path = self.dir / "out/results.jsonl"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return [json.loads(line) for line in lines]

    def await_that(self, holds):
        for _ in range(2400):
            if holds(self.records()):
                return
            time.sleep(0.05)
        self.fail(f"not so after 2 minutes: {self.records()}")

    def test_one_that_fails_in_a_later_pass_is_flaky_with_all_its_tries(self):
        once = self.shared / "once"
        once.touch()  # it does not crash as long as the file is there
        run = self.start("--case", CASE, "--impl", "crash_once,ok", "--until-fails", env={"ASSAY_ONCE_FILE": str(once)})
        self.await_that(lambda records: any(r["tries"].startswith("pass*") for r in records))
        once.unlink()
        stdout, stderr = run.communicate(timeout=240)
        self.assertEqual(run.returncode, 1, stdout + stderr)
        by_name = {r["implementation"]: r for r in self.records()}
        record = by_name["crash_once"]
        self.assertEqual((record["verdict"], by_name["ok"]["verdict"]), ("flaky", "pass"))
        (first, passes), (second, failures) = tries_of(record)
        self.assertEqual((first, second, failures), ("pass", "crash", 1))
        self.assertAlmostEqual(record["flake_rate"], 1 / (passes + 1))
        self.assertLess(record["flake_rate_low"], record["flake_rate"])
        self.assertGreater(record["flake_rate_high"], record["flake_rate"])
        self.assertRegex(record["reason"], rf"First pass\. Try {passes + 1}, crash: .*SIGSEGV")
        self.assertIn("--until-fails", record["reproduce"])
        self.assertRegex(stderr, r"\d+ passes: \d+ tries of 2 results, 1 of them flaky")

    def test_a_run_that_is_continued_has_as_many_tries(self):
        words = ("--case", CASE, "--impl", "ok", "--repeat", "50")
        run = self.start(*words, env={})
        self.await_that(lambda records: any(r["tries"].startswith("pass*") for r in records))
        run.kill()
        run.communicate(timeout=60)
        before = tries_of(self.records()[0])[0][1]
        self.assertLess(before, 50)
        done = self.assay("run", "--out", "out", "--progress", "none", *ON_PLUGIN, *words, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([r["tries"] for r in self.records()], ["pass*50"])

    def test_a_command_brings_a_lost_device_back(self):
        gone = self.shared / "gone"
        command = f'echo "$ASSAY_SELECTOR: $ASSAY_REASON" >> {self.shared}/told; rm {gone}'
        run = self.start(*cases(80), "--impl", "ok", "--jobs", "1", "--on-device-lost", command,
                         env={"ASSAY_MISBEHAVE": "goes_away", "ASSAY_GONE_FILE": str(gone)})
        self.await_that(lambda records: len(records) >= 3)
        gone.touch()
        stdout, stderr = run.communicate(timeout=240)
        self.assertEqual(run.returncode, 1, stdout + stderr)
        verdicts = [r["verdict"] for r in self.records()]
        self.assertEqual(verdicts.count("pass") + verdicts.count("flaky"), 80)
        flaky = [r for r in self.records() if r["verdict"] == "flaky"]
        self.assertTrue(flaky)
        self.assertEqual({r["tries"] for r in flaky}, {"error,pass"})
        self.assertIn("the board does not answer", flaky[0]["reason"])
        self.assertIn("misbehaving", (self.shared / "told").read_text())
        self.assertIn("--on-device-lost ended well", stderr)

    def test_what_cannot_be_is_refused(self):
        for words, text in ((("--repeat", "0"), "give an integer from 1"), (("--for", "tomorrow"), "is not a time; give one such as"),
                            (("--retries", "-1"), "give an integer from 0"), (("--repeat", "2", "--evidence", "1"), "excludes")):
            self.fails(2, text, "run", "--case", CASE, *ON_PLUGIN, *words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
