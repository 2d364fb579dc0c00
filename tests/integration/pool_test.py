#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two devices of one plugin that share the cases of a run or of exploring (--devices pool), and what becomes of the
cases when they crash, go away or are no pair. pool_test.py and the arguments of program.py."""
import collections
import json
import subprocess
import sys
import time
import unittest

from program import ASSAY, CASE, Cli, PLUGIN

NAMES = ("imaginary #0", "imaginary #1")
# A case is prepared ten times, a tenth of a second each: neither device is done before the other has begun.
SLOW = "slow_prepare"
FAST = "keeps_prepared"  # the first one of each worker alone


def ids(count):
    return [CASE.replace("seed=0", f"seed={seed}") for seed in range(count)]


def words_of(count, *more, impl=SLOW):
    named = [word for case in ids(count) for word in ("--case", case)]
    return (*named, "--plugin", PLUGIN, "--backend", "misbehaving", "--devices", "pool", "--impl", impl, "--jobs", "2",
            *more)


class Base(Cli):
    def setUp(self):
        super().setUp()
        self.gone = self.shared / "gone"

    def pooled(self, count, *more, how="two_devices", impl=SLOW, out="out"):
        """The run, which has one record of each case, in their order."""
        done, records = self.run_cases(*words_of(count, "--no-perf", *more, impl=impl), out=out,
                                       env={"ASSAY_MISBEHAVE": how})
        self.check_each_once(records, count, done.stderr)
        return done, records

    def start(self, *words, how="two_devices"):
        env = {"ASSAY_MISBEHAVE": how, "ASSAY_GONE_FILE": str(self.gone)}
        passed = [word for name in env for word in ("--pass-env", name)]
        run = subprocess.Popen([ASSAY, "run", "--out", "out", "--progress", "none", *passed, *words], cwd=self.dir,
                               env={**self.env, **env}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(run.kill)
        return run

    def records(self, out="out"):
        """Whole lines alone: a kill may tear the last one."""
        path = self.dir / out / "results.jsonl"
        return [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []

    def await_records(self, count):
        for _ in range(2400):
            if len(self.records()) >= count:
                return
            time.sleep(0.02)
        self.fail(f"there are no {count} records after 48 s")

    def check_each_once(self, records, count, message=""):
        self.assertEqual([r["case_id"] for r in records], ids(count), message)
        self.assertEqual({r["pool"] for r in records}, {"imaginary"})
        self.assertLessEqual({r["device"] for r in records}, set(NAMES))

    def plan_devices(self, out="out"):
        return json.loads((self.dir / out / "plan.json").read_text())["devices"]


class Pool(Base):
    def test_each_case_runs_on_one_of_them_which_the_record_names(self):
        done, records = self.pooled(6)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({r["verdict"] for r in records}, {"pass"})
        self.assertEqual({r["device"] for r in records}, set(NAMES))
        for r in records:
            self.assertIn(f"--backend misbehaving:{NAMES.index(r['device'])} ", r["reproduce"])
        # It is planned, offered and shown as one device.
        self.assertEqual(self.plan_devices(), [{"backend": "misbehaving", "device": "imaginary"}])
        offers = [json.loads(line) for line in (self.dir / "out/offers.jsonl").read_text().splitlines()]
        self.assertEqual(sorted(o["case_id"] for o in offers), sorted(ids(6)))
        self.assertEqual({o["device"] for o in offers}, {"imaginary"})
        header = next(line for line in done.stdout.splitlines() if line.startswith("operator"))
        self.assertEqual(header.split()[2:], ["misbehaving"])

    def test_without_the_option_each_runs_all(self):
        _, records = self.run_cases(*(w for w in words_of(2, "--no-perf") if w not in ("--devices", "pool")),
                                    env={"ASSAY_MISBEHAVE": "two_devices"})
        self.assertEqual([(r["case_id"], r["device"], r["pool"]) for r in records],
                         [(case, name, "") for case in ids(2) for name in NAMES])

    def test_when_one_is_set_aside_the_other_takes_what_it_had_left(self):
        for more in ((), ("--retries", "2")):
            with self.subTest(more):
                done, records = self.pooled(10, "--set-aside-after", "2", *more, how="second_crashes",
                                            out="out" + "".join(more))
                self.assertEqual(done.returncode, 3, done.stderr)
                of_first, of_second = ([r for r in records if r["device"] == name] for name in NAMES)
                self.assertEqual({r["verdict"] for r in of_first}, {"pass"})
                # The crashes that set the device aside are recorded. The other device repeats the cases, but its passes
                # do not replace the crashes.
                self.assertIn(len(of_second), range(2, 5))
                for r in of_second:
                    self.assertEqual(r["verdict"], "crash", r["reason"])
                    self.assertIn("[alone in a fresh worker of imaginary #0: pass]", r["reason"])
                    self.assertEqual(r["tries"], "crash,pass")

    def test_what_crashes_on_both_stays_a_crash_and_the_rest_is_unavailable_once_both_are_set_aside(self):
        done, records = self.pooled(16, "--set-aside-after", "2", impl="segfault")
        self.assertEqual(done.returncode, 3, done.stderr)
        crashes = collections.Counter(r["device"] for r in records if r["verdict"] == "crash")
        for name in NAMES:
            self.assertIn(crashes[name], range(2, 5))  # a further worker may be at a case then
        aside = [r for r in records if r["verdict"] == "unavailable"]
        self.assertEqual(len(aside) + sum(crashes.values()), 16)
        for r in aside:
            self.assertRegex(r["reason"], r"^no device of the pool is left; imaginary #0: matmul on this device was set "
                                          r"aside after .*; imaginary #1: matmul on this device was set aside after ")

    def test_an_error_of_one_that_goes_away_stays_one(self):
        run = self.start(*words_of(14, "--no-perf", "--set-aside-after", "3", "--require-backend", "misbehaving:1"),
                         how="second_goes_away")
        self.await_records(3)
        self.gone.touch()
        stdout, stderr = run.communicate(timeout=240)
        self.assertEqual(run.returncode, 3, stdout + stderr)
        self.check_each_once(self.records(), 14, stderr)
        errors = [r for r in self.records() if r["verdict"] != "pass"]
        self.assertIn(len(errors), range(3, 6))
        for r in errors:
            self.assertEqual((r["verdict"], r["device"]), ("error", NAMES[1]))
            self.assertIn("is gone now: the board does not answer", r["reason"])
        self.assertEqual({r["device"] for r in self.records() if r["verdict"] == "pass"}, set(NAMES))

    def test_further_passes_of_one_that_is_lost_are_made_on_the_other(self):
        run = self.start(*words_of(6, "--no-perf", "--repeat", "120", impl=FAST), how="second_goes_away")
        self.await_records(6)
        self.assertEqual({r["device"] for r in self.records()}, set(NAMES))
        self.gone.touch()
        _, stderr = run.communicate(timeout=240)
        self.assertEqual(run.returncode, 3, stderr)
        self.assertIn("misbehaving:1 was lost in pass ", stderr)
        self.check_each_once(self.records(), 6)
        # The try in which it was lost came to nothing.
        tries = collections.Counter(r["tries"] for r in self.records())
        self.assertEqual(tries, {"pass*120": 5, "pass*119": 1})

    def test_those_that_differ_are_refused(self):
        done = self.fails(2, "--devices pool: the devices of misbehaving are not alike: misbehaving:1 has the "
                             "driver '1', misbehaving:0 '0'. Choose equal ones with --backend NAME:INDEX",
                          "run", "--out", "out", *words_of(2), env={"ASSAY_MISBEHAVE": "second_differs"})
        self.assertFalse((self.dir / "out").exists(), done.stderr)

    def test_one_alone_is_no_pool(self):
        words = [w if w != "misbehaving" else "misbehaving:1" for w in words_of(2, "--no-perf")]
        done, records = self.run_cases(*words, env={"ASSAY_MISBEHAVE": "second_differs"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(r["device"], r["pool"]) for r in records], [(NAMES[1], "")] * 2)
        self.assertIn("--devices pool: no backend has several devices", done.stderr)

    def test_rounds_are_of_the_device_that_the_record_names(self):
        done, records = self.run_cases(*words_of(6, "--rounds", "3", "--perf-time", "0.005", "--trace", "trace.json",
                                                   impl=FAST),
                                       env={"ASSAY_MISBEHAVE": "two_devices"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_each_once(records, 6)
        self.assertEqual({r["device"] for r in records}, set(NAMES))
        self.assertEqual([r["round_medians_s"].count(",") for r in records], [2] * 6)
        events = json.loads((self.dir / "trace.json").read_text())["traceEvents"]
        timed = {(e["args"]["case"], e["args"]["backend"]) for e in events
                 if e["ph"] == "X" and e["name"] == "timed loop" and "case" in e["args"]}
        self.assertEqual(timed, {(r["case_id"], f"misbehaving:{NAMES.index(r['device'])}") for r in records})

    def test_a_run_that_is_killed_goes_on_with_the_cases_that_no_device_has_run(self):
        kills = 0
        for wanted in (2, 5, 7):
            run = self.start(*words_of(10, "--no-perf", *(("--resume",) if kills else ())))
            self.await_records(wanted)
            run.kill()
            run.communicate(timeout=60)
            kills += 1
            missing = self.assay("report", "out")
            self.assertEqual(missing.returncode, 3, missing.stdout + missing.stderr)
        before = {r["case_id"]: (r["device"], r["timestamp"]) for r in self.records()}
        self.assertLess(len(before), 10)
        run = self.start(*words_of(10, "--no-perf", "--resume"))
        stdout, stderr = run.communicate(timeout=240)
        self.assertEqual(run.returncode, 0, stdout + stderr)
        records = self.records()
        self.check_each_once(records, 10, stderr)
        self.assertEqual({r["verdict"] for r in records}, {"pass"})
        self.assertLessEqual(before.items(), {r["case_id"]: (r["device"], r["timestamp"]) for r in records}.items())
        self.assertEqual(self.assay("report", "out").returncode, 0)
        each = [w for w in words_of(10, "--no-perf", "--resume") if w not in ("--devices", "pool")]
        self.fails(2, "give the same --backend, --device, --devices, --plugin, --kernels", "run", "--out", "out", *each,
                   env={"ASSAY_MISBEHAVE": "two_devices"})

    def test_a_run_goes_on_with_the_only_device_that_is_left(self):
        run = self.start(*words_of(8, "--no-perf"))
        self.await_records(4)
        run.kill()
        run.communicate(timeout=60)
        before = {r["case_id"]: r["device"] for r in self.records()}
        self.assertEqual(set(before.values()), set(NAMES))
        run = self.start(*words_of(8, "--no-perf", "--resume"), how="one_device")  # which has no number
        stdout, stderr = run.communicate(timeout=240)
        self.assertEqual(run.returncode, 0, stdout + stderr)
        records = self.records()
        self.assertEqual({r["case_id"]: (r["device"], r["pool"]) for r in records},
                         {case: (before[case], "imaginary") if case in before else ("imaginary", "") for case in ids(8)})
        self.assertEqual([r["case_id"] for r in records], ids(8))
        header = next(line for line in stdout.splitlines() if line.startswith("operator"))
        self.assertEqual(header.split()[2:], ["misbehaving"])

    def test_shards_are_merged_and_runs_compared_whichever_device_ran_what(self):
        for index in (0, 1):
            done, records = self.run_cases(*words_of(10, "--no-perf", "--shard", f"{index}/2", impl=FAST), out=f"part{index}",
                                           env={"ASSAY_MISBEHAVE": "two_devices"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(records)
        done = self.assay("merge", "part0", "part1", "-o", "merged")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.check_each_once(self.records("merged"), 10)
        self.pooled(10, how="second_crashes", impl=FAST, out="worse")
        self.pooled(10, impl=FAST, out="again")
        done = self.assay("compare", "merged", "again")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.assay("compare", "merged", "worse")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn('device = "imaginary*"\n', self.assay("expectations", "propose", "worse").stdout)
        suites = [line for line in (self.dir / "again/junit.xml").read_text().splitlines() if "<testsuite " in line]
        self.assertEqual(["misbehaving/imaginary/matmul" in line for line in suites], [True])


class Exploring(Base):
    """Explores on the same two devices. Cases that the plugin does not offer have records too."""
    CASES = 80

    def explored(self, *more, how="two_devices", out="out"):
        done = self.assay("explore", "--out", out, "--progress", "none", "--op", "matmul", "--dtype", "f32", "--seed", "3", "--cases",
                          str(self.CASES), "--max-elements", "4096", "--max-flops", "1e5", "--plugin", PLUGIN, "--backend",
                          "misbehaving", "--impl", FAST, "--devices", "pool", "--jobs", "2", *more,
                          env={"ASSAY_MISBEHAVE": how})
        records = self.records(out)
        self.assertEqual(len({r["case_id"] for r in records}), len(records), done.stderr)
        self.assertEqual({r["pool"] for r in records}, {"imaginary"})
        return done, records, [r for r in records if r["implementation"]]

    def test_each_case_is_tried_on_one_of_them(self):
        done, records, results = self.explored()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(records), self.CASES)
        self.assertEqual({r["verdict"] for r in results}, {"pass"})
        self.assertEqual({r["device"] for r in results}, set(NAMES))
        self.assertEqual(self.plan_devices(), [{"backend": "misbehaving", "device": "imaginary"}])
        self.assertRegex(done.stdout, r"the same again: .* --devices pool")

    def test_when_one_is_set_aside_the_other_goes_on(self):
        done, records, results = self.explored("--set-aside-after", "2", how="second_crashes")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"the same again: .* --devices pool --set-aside-after 2")
        of_second = [r for r in results if r["device"] == NAMES[1]]
        # A refused case in between does not count for or against the device.
        self.assertIn(len(of_second), range(2, 5))
        self.assertEqual({r["verdict"] for r in of_second}, {"crash"})
        self.assertEqual({r["verdict"] for r in results if r not in of_second}, {"pass"})
        self.assertGreater(len(results), len(of_second) + 8)
        # It is the device that crashes: smaller cases would say no more.
        self.assertEqual(len(records), self.CASES)
        suite = (self.dir / "out/failures.suite").read_text()
        self.assertEqual(suite.count("# crash of misbehaving:"), len(of_second), suite)
        self.assertEqual(suite.count("\n# passes on imaginary #0\n"), len(of_second), suite)
        self.assertNotIn("found with", suite)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
