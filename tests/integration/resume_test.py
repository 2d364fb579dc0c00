#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed at any moment and continued come to the same records as one that nobody disturbs.
resume_test.py and the arguments of program.py; ASSAY_TEST_KILLS says how often (the default is few)."""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import unittest

from program import ASSAY, CASE, Cli, PLUGIN

SELECTION = ("--suite", "smoke", "--op", "matmul,softmax,reduce", "--filter", "*m=17*:*m=32*:*17x33x5*:*64x100[,/]*:*3x5x7*", "--backend",
             "cpu", "--no-perf")
KILLS = int(os.environ.get("ASSAY_TEST_KILLS", "4"))


def workers_of(pid):
    """The processes below one, which are its workers."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as stat:
                parent = int(stat.read().rsplit(")", 1)[1].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == pid:
            found.append(int(entry))
    return found


class Resume(Cli):
    def setUp(self):
        super().setUp()
        self.random = random.Random(7)
        del self.env["ASSAY_GRANT"]  # a folder of this test, which a copy of another one's run could not be continued with

    def start(self, *args):
        return subprocess.Popen([ASSAY, "run", "--out", "out", *args], cwd=self.dir, env=self.env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def records(self, out="out"):
        """Whole lines alone: a kill may tear the last one."""
        text = (self.dir / out / "results.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def outcomes(self, out="out"):
        return sorted((r["case_id"], r["backend"], r["implementation"], r["verdict"], r["output_hash"])
                      for r in self.records(out))

    seconds = 0  # which the undisturbed run took

    def undisturbed(self, out="whole"):
        started = time.monotonic()
        done, _ = self.run_once(*SELECTION, out=out)
        self.assertEqual(done.returncode, 0, done.stderr)
        Resume.seconds = max(Resume.seconds, time.monotonic() - started)
        return self.outcomes(out)

    def started(self):
        """Whether there is a run to continue: a kill may come before its folder is."""
        return (self.dir / "out/plan.json").exists() and (self.dir / "out/offers.jsonl").exists()

    def continue_until_the_end(self):
        done = self.assay("run", "--out", "out", "--resume", *SELECTION)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def test_kills_of_the_harness_lose_and_double_nothing(self):
        whole = self.undisturbed()
        self.assertGreater(len(whole), 20)
        kills = 0
        while kills < KILLS:
            run = self.start(*(("--resume",) if self.started() else ()), *SELECTION)
            try:
                run.communicate(timeout=self.random.uniform(0, self.seconds))
                break  # it came to its end
            except subprocess.TimeoutExpired:
                run.kill()
                run.communicate(timeout=60)
                kills += 1
            if not self.started() and (self.dir / "out").exists():
                subprocess.run(["rm", "-r", self.dir / "out"], check=True)
        if self.started():
            self.continue_until_the_end()
        else:  # each kill came before there was a run
            self.undisturbed("out")
        self.assertEqual(self.outcomes(), whole)
        self.assertEqual(self.assay("report", "out").returncode, 0)

    def test_kills_of_workers_end_in_the_same_verdicts_or_in_flakes(self):
        whole = self.undisturbed()
        # Kills that follow each other fast are no sign of a sick device here.
        run = self.start(*SELECTION, "--set-aside-after", "0")
        for _ in range(KILLS):
            time.sleep(self.random.uniform(0, self.seconds / KILLS))
            for worker in workers_of(run.pid):
                try:
                    os.kill(worker, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        run.communicate(timeout=240)
        by_place = {r[:3]: r for r in whole}
        for found in self.outcomes():
            if found[3] not in ("flaky", "crash"):  # of the case in which the worker was killed
                self.assertEqual(found, by_place[found[:3]])
        self.assertLessEqual({r[0] for r in whole}, {r[0] for r in self.outcomes()})

    def test_a_torn_last_line_is_run_again(self):
        whole = self.undisturbed("out")
        path = self.dir / "out/results.jsonl"
        path.write_text(path.read_text(encoding="utf-8")[:-300], encoding="utf-8")
        self.assertIn("the last line is torn", self.continue_until_the_end().stderr)
        self.assertEqual(self.outcomes(), whole)

    def without_some(self):
        """A whole run, from which every third record is taken away; the lines before and after."""
        self.undisturbed("out")
        path = self.dir / "out/results.jsonl"
        whole = path.read_text(encoding="utf-8").splitlines()
        left = [line for number, line in enumerate(whole) if number % 3]
        path.write_text("".join(line + "\n" for line in left), encoding="utf-8")
        return path, whole, left

    def test_what_was_recorded_of_a_case_that_had_not_ended_stands_in_its_place(self):
        path, whole, left = self.without_some()
        of_part = {json.loads(line)["case_id"] for line in set(whole) - set(left)}
        self.assertTrue(any(json.loads(line)["case_id"] in of_part for line in left))
        self.assertIn(f"{len(left)} results of", self.continue_until_the_end().stderr)
        after = path.read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(after), len(whole))
        for number, line in enumerate(whole):
            if number % 3:
                self.assertEqual(after[number], line)
        names = [[(r["case_id"], r["implementation"]) for r in map(json.loads, lines)] for lines in (whole, after)]
        self.assertEqual(*names)
        report = self.assay("report", "out")
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertNotIn("missing", report.stdout)

    def test_a_case_has_no_results_of_two_environments(self):
        path, whole, left = self.without_some()
        of_part = {json.loads(line)["case_id"] for line in set(whole) - set(left)}
        done = self.assay("run", "--out", "out", "--resume", *SELECTION, "--relations", "none", "--allow-changed")
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            self.assertEqual(json.dumps(line["properties"]) == '""', line["case_id"] in of_part, line["properties"])

    def of_plugin(self, *words, misbehave=""):
        env = {"ASSAY_MISBEHAVE": misbehave} if misbehave else {}
        return self.run_cases("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", *words, env=env)

    def test_what_passed_and_was_not_timed_when_it_was_interrupted_is_timed(self):
        words = ("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "ok,slow_prepare", "--perf")
        run = self.start(*words)
        self.await_text(self.dir / "out/offers.jsonl")
        time.sleep(0.2)  # `ok` has its verdict, and waits until `slow_prepare` has one
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate(timeout=240)
        self.assertEqual(run.returncode, 130, stderr)
        done, records = self.run_cases("--resume", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(r["implementation"], r["verdict"]) for r in records], [("ok", "pass"), ("slow_prepare", "pass")])
        self.assertTrue(all(r["round_medians_s"] for r in records), records)

    def test_what_has_too_few_rounds_stays_until_it_has_more(self):
        words = ("--suite", "smoke", "--op", "softmax", "--filter", "*64x100*", "--backend", "cpu", "--perf-time", "0.01",
                 "--rounds", "2", "--progress", "none")
        self.assertEqual(self.assay("run", "--out", "out", *words).returncode, 0)
        before = self.outcomes()
        path = self.dir / "out/results.jsonl"
        once = re.sub(r'("round_medians_s":"[^,"]+),[^"]+"', r'\1"', path.read_text(encoding="utf-8"))
        path.write_text(once, encoding="utf-8")
        run = self.start(*words, "--resume")
        while "the rest is run now" not in (line := run.stderr.readline()) and line:
            pass
        run.kill()
        run.communicate(timeout=60)
        self.assertEqual(self.outcomes(), before)
        done = self.assay("run", "--out", "out", *words, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.outcomes(), before)
        self.assertTrue(all("," in r["round_medians_s"] for r in self.records() if r["verdict"] == "pass"))

    def test_what_was_interrupted_among_its_tries_has_all_of_them_in_the_end(self):
        cases = [word for seed in range(4) for word in ("--case", CASE.replace("seed=0", f"seed={seed}"))]
        words = (*cases, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "nondeterministic", "--retries", "9",
                 "--no-perf")
        run = self.start(*words)
        self.await_text(self.dir / "out/results.jsonl")  # the first case has ended
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate(timeout=240)
        self.assertEqual(run.returncode, 130, stderr)
        done, records = self.run_cases("--resume", *words)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual([r["tries"] for r in records], ["nondeterministic*10"] * 4)

    def take_away(self, implementation):
        path = self.dir / "out/results.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines(True)
        path.write_text("".join(line for line in lines if json.loads(line)["implementation"] != implementation),
                        encoding="utf-8")

    def test_what_a_device_did_not_answer_once_is_asked_again(self):
        words = ("--impl", "ok,depends_on_column", "--no-perf")
        self.assertEqual(self.of_plugin(*words)[0].returncode, 0)
        self.take_away("depends_on_column")
        done, records = self.of_plugin("--resume", *words, misbehave="huge_query")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual([(r["implementation"], r["verdict"]) for r in records], [("ok", "pass"), ("", "error")])
        done, records = self.of_plugin("--resume", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(r["implementation"], r["verdict"]) for r in records], [("ok", "pass"), ("depends_on_column", "pass")])

    def test_the_lines_of_a_failure_that_stands_stand_beside_those_of_the_rest(self):
        words = ("--impl", "nan_result,rounds_up", "--no-perf")
        _, before = self.of_plugin(*words)
        self.assertEqual({r["verdict"] for r in before}, {"mismatch"})
        self.take_away("rounds_up")
        self.of_plugin("--resume", *words)
        lines = (self.dir / "out" / before[0]["failure_dir"] / "reproduce.txt").read_text(encoding="utf-8")
        for record in before:
            self.assertIn(f"--impl {record['implementation']} ", lines + " ")

    def test_an_interrupted_run_says_how_it_goes_on(self):
        cases = [word for seed in range(100) for word in ("--case", CASE.replace("seed=0", f"seed={seed}"))]
        run = self.start(*cases, "--backend", "cpu", "--impl", "naive", "--no-perf", "--no-store")
        self.await_text(self.dir / "out/results.jsonl")
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate(timeout=240)
        self.assertEqual(run.returncode, 130, stderr)
        self.assertIn("--out out --resume continues", stderr)
        self.assertLess(len(self.records()), 100)
        done = self.assay("run", "--out", "out", "--resume", *cases, "--backend", "cpu", "--impl", "naive", "--no-perf",
                          "--no-store")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(r["seed"] for r in self.records()), list(range(100)))

    def test_another_run_is_not_continued(self):
        self.undisturbed("out")
        before = (self.dir / "out/results.jsonl").read_bytes()
        self.fails(2, "--resume continues the run in a folder: give it with --out", "run", "--resume", *SELECTION)
        self.fails(2, "there is no run to continue", "run", "--resume", "--out", "none", *SELECTION)
        self.fails(2, f"; now with {CASE} (", "run", "--resume", "--out", "out", "--case", CASE, "--backend", "cpu")
        self.fails(2, "the run was on cpu", "run", "--resume", "--out", "out", *SELECTION, "--backend", "cpu,onednn")
        self.fails(2, "it began without --relations none, which is given now", "run", "--resume", "--out", "out", *SELECTION,
                   "--relations", "none")
        self.assertEqual((self.dir / "out/results.jsonl").read_bytes(), before)
        done = self.assay("run", "--resume", "--out", "out", *SELECTION, "--relations", "none", "--allow-changed")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("changed since the run began: it began without --relations none", done.stderr)
        environment = json.loads((self.dir / "out/environment.json").read_text(encoding="utf-8"))
        self.assertIn("it began without", environment["resumed"][0]["changes"][0])
        self.assertEqual((self.dir / "out/results.jsonl").read_bytes(), before)

    def test_two_runs_do_not_write_into_one_folder(self):
        hanging = ("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "ok,hang", "--no-perf")
        run = self.start(*hanging, "--timeout", "300")
        self.await_text(self.dir / "out/results.jsonl")
        self.fails(2, "another run is writing it", "run", "--resume", "--out", "out", *hanging, "--timeout", "300")
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
