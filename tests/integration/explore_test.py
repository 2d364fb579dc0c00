# SPDX-License-Identifier: Apache-2.0
"""assay explore with real workers: explore_test.py ASSAY CPU_PLUGIN CORPUS_PLUGIN THRESHOLD_PLUGIN."""
import json
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time
import unittest

from own_folder import OwnFolder

ASSAY, CPU, CORPUS, THRESHOLD = sys.argv[1:5]
# Shows where k is above 32 and no multiple of it.
FAULT = "fault.tail-panel-reads-zero"
SMALL = ["--max-elements", "4096", "--max-flops", "1e5", "--progress", "none"]


class Base(OwnFolder):
    def assay(self, *args, plugin=CPU, code=0):
        env = dict(self.env, ASSAY_PLUGIN_FILES=plugin)
        done = subprocess.run([ASSAY, *map(str, args)], cwd=self.dir, env=env, capture_output=True, text=True, timeout=500)
        self.assertEqual(done.returncode, code, done.stdout[-3000:] + done.stderr[-3000:])
        return done

    def explore(self, out, *args, plugin=CPU, code=0):
        return self.assay("explore", "--out", out, *SMALL, *args, plugin=plugin, code=code)

    def records(self, out):
        return [json.loads(line) for line in (self.dir / out / "results.jsonl").read_text().splitlines()]

    def cases(self, out):
        return list(dict.fromkeys(r["case_id"] for r in self.records(out)))


class Explore(Base):
    def test_a_correct_backend_passes_and_a_seed_gives_the_same_cases_again(self):
        done = self.explore("one", "--seed", "5", "--cases", "48")
        cases = self.cases("one")
        self.assertEqual(len(cases), 48)
        self.assertLessEqual({"matmul", "attention", "conv", "fft", "reduce", "softmax"}, {c.split("/")[0] for c in cases})
        self.assertIn("seed 5", done.stderr)
        self.assertRegex(done.stdout, r"explored: 48 cases; the same again: \S+ explore --seed 5 --cases 48 --max-elements 4096 --max-flops 100000\b")
        self.assertRegex(done.stdout, r"softmax +pairs +\d+ of \d+ covered")
        self.assertFalse((self.dir / "one" / "failures.suite").exists())
        again = re.search(r"the same again: \S+ (explore .*)", done.stdout)[1]
        self.assay(*shlex.split(again), "--out", "two", "--progress", "none")
        self.assertEqual(self.cases("two"), cases)
        self.explore("three", "--seed", "6", "--cases", "48")
        self.assertNotEqual(self.cases("three"), cases)

    def test_the_folder_is_that_of_a_run(self):
        self.explore("out", "--seed", "1", "--cases", "8", "--op", "reduce,softmax")
        for name in ("plan.json", "environment.json", "report.html", "summary.md", "junit.xml"):
            self.assertTrue((self.dir / "out" / name).exists(), name)
        plan = json.loads((self.dir / "out" / "plan.json").read_text())
        self.assertEqual([c["id"] for c in plan["cases"]], self.cases("out"))
        explored = json.loads((self.dir / "out" / "environment.json").read_text())["explore"]
        self.assertEqual((explored["seed"], explored["cases"], explored["failing_cases"]), (1, 8, 0))
        for record in self.records("out"):
            self.assertIn("--relations all", record["reproduce"])
        self.assay("report", "out")

    def test_time_ends_it(self):
        done = self.explore("out", "--op", "softmax", "--for", "2s")
        self.assertRegex(done.stdout, r"explored: [1-9]\d* cases; the same again: \S+ explore --seed \d+ --cases \d+ --op softmax ")
        self.assertRegex(done.stderr, r"seed \d+")

    def test_no_case_within_the_time(self):
        done = self.explore("out", "--op", "softmax", "--for", "0.000001s", code=4)
        self.assertIn("no case was explored within the time", done.stdout)
        self.assertNotIn("the same again", done.stdout)
        self.assertNotIn("covered", done.stdout)

    def test_what_cannot_be_is_refused(self):
        self.assertIn("no operator", self.explore("a", "--op", "matmull", code=2).stderr)
        self.assertIn("is not a time; give one such as", self.explore("b", "--for", "soon", code=2).stderr)
        self.assertIn("--contract", self.explore("c", "--contract", "f33", "--cases", "1", code=2).stderr)

    def test_an_implementation_that_is_not_there_is_refused_before_anything_runs(self):
        done = self.explore("out", "--op", "softmax,reduce", "--impl", "online,onlin", "--seed", "3", code=2)
        self.assertIn("--impl onlin: no backend offers this implementation", done.stderr)
        self.assertIn("cpu: ", done.stderr)
        self.assertIn("did you mean 'online'?", done.stderr)
        self.assertFalse((self.dir / "out").exists())

    def test_one_type_alone(self):
        done = self.explore("out", "--op", "matmul,softmax", "--dtype", "bf16", "--no-store", "--seed", "2",
                            "--cases", "12")
        self.assertEqual(len(self.cases("out")), 12)
        self.assertTrue(all("bf16" in c.split("/")[1] for c in self.cases("out")), self.cases("out"))
        self.assertRegex(done.stdout,
                         r"the same again: \S+ explore --seed 2 --cases 12 --op matmul,softmax --dtype bf16 ")
        self.assertIn("--dtype f31: ", self.explore("a", "--dtype", "f31", code=2).stderr)
        refused = self.explore("b", "--op", "softmax", "--dtype", "i8", code=2)
        self.assertIn("no case of softmax has such types", refused.stderr)

    def test_ctrl_c_ends_it_and_keeps_what_is_there(self):
        env = dict(self.env, ASSAY_PLUGIN_FILES=CPU)
        process = subprocess.Popen([ASSAY, "explore", "--out", "out", *SMALL, "--seed", "1"], cwd=self.dir, env=env,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            path = self.dir / "out" / "results.jsonl"
            self.await_lines(path)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=100)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 130, stderr)
        self.assertGreater(len(self.records("out")), 0)
        self.assertTrue((self.dir / "out" / "report.html").exists())
        explored = re.search(r"explored: (\d+) cases; the same again: .* --cases (\d+) ", stdout)
        ran = str(len(self.cases("out")))  # no failure, thus none made smaller
        self.assertEqual((explored[1], explored[2]), (ran, ran))

    @staticmethod
    def await_lines(path):
        for _ in range(300):
            if path.exists() and path.stat().st_size > 0:
                return
            time.sleep(0.05)
        raise AssertionError(f"{path} is still missing or empty after 60 s")


class Faults(Base):
    def test_a_fault_of_odd_sizes_is_found_and_made_small(self):
        self.explore("out", "--op", "matmul", "--impl", FAULT, "--seed", "3", "--cases", "60", plugin=CORPUS, code=1)
        suite = self.dir / "out" / "failures.suite"
        self.assertIn("--seed 3", suite.read_text())
        ids = self.assay("list", "cases", "--suite", suite).stdout.split()
        terms = [int(re.search(r"\bk=(\d+)", i)[1]) for i in ids]
        self.assertIn(33, terms)
        self.assertTrue(all(k > 32 and k % 32 for k in terms), terms)
        # It runs as a suite, and fails as it did.
        self.assay("run", "--suite", suite, "--impl", FAULT, "--no-perf", "--relations", "all", "--out", "again", "--progress",
                   "none", plugin=CORPUS, code=1)
        verdicts = {r["case_id"]: r["verdict"] for r in self.records("again")}
        found = {r["case_id"]: r["verdict"] for r in self.records("out")}
        self.assertEqual(verdicts, {i: found[i] for i in ids})
        self.assertIn("mismatch", verdicts.values())


class Climbing(Base):
    def climb(self, out, *args, plugin, code=0):
        done = self.assay("explore", "--thresholds", "--seed", "3", "--out", out, "--progress", "none", "--jobs", "2", *args,
                          plugin=plugin, code=code)
        return done.stdout, json.loads((self.dir / out / "thresholds.json").read_text())

    def found(self, report, implementation, extent="n"):
        return [(t["before"]["extent"], t["after"]["extent"], t["changes"]) for t in report["thresholds"]
                if (t["implementation"], t["extent"], t["dtype"]) == (implementation, extent, "f32")]


class Thresholds(Climbing):
    def test_a_fault_that_begins_at_an_extent_of_no_suite_is_found_with_both_sides(self):
        text, report = self.climb("out", "--op", "matmul", "--dtype", "f32", "--max-elements", "30000", "--impl",
                                  "ok,quiet,turned,limited", plugin=THRESHOLD, code=1)
        self.assertEqual(self.found(report, "ok"), [(416, 417, ["kernel", "verdict"])])
        self.assertEqual(self.found(report, "quiet"), [(416, 417, ["verdict"])])
        self.assertEqual(self.found(report, "turned"), [(300, 301, ["bits"])])
        self.assertEqual(self.found(report, "limited"), [(194, 195, ["offer"])])
        for extent in "mk":
            for implementation in ("ok", "quiet", "turned", "limited"):
                self.assertEqual(self.found(report, implementation, extent), [], extent)
        taken = [ladder for ladder in report["ladders"] if ladder["taken"]]
        self.assertEqual([(ladder["extent"], ladder["complete"]) for ladder in taken], [(e, True) for e in "mnk"])
        self.assertRegex(text, r"misbehaving +ok +matmul +f32 +n +416 \| 417 +pass \| mismatch +kernel narrow -> wide\n")
        both = next(t for t in report["thresholds"] if t["implementation"] == "ok")
        self.assertEqual((both["before"]["kernel"], both["after"]["kernel"]), ("narrow", "wide"))
        records = {(r["case_id"], r["implementation"]): r for r in self.records("out")}
        right, wrong = (records[both[side]["case_id"], "ok"] for side in ("before", "after"))
        self.assertEqual((right["verdict"], wrong["verdict"]), ("pass", "mismatch"))
        self.assertTrue((self.dir / "out" / wrong["failure_dir"]).is_dir())
        self.assertEqual(taken[1]["largest"], (30000 - 32 * 32) // 64)
        self.assertLess(taken[1]["cases"], 110, "halving takes some 10 cases for each of three thresholds")

    def test_time_and_cases_end_it_and_say_what_is_open(self):
        text, report = self.climb("out", "--op", "matmul", "--dtype", "f32", "--cases", "24", plugin=CPU)
        self.assertRegex(text, r"tried: 24 cases in 1 of 9 extents, 0 of them to their end; the same again: \S+ explore "
                               r"--thresholds --seed 3 --cases 24 --op matmul ")
        self.assertFalse(report["ladders"][0]["complete"])
        text, report = self.climb("none", "--op", "matmul", "--for", "0.000001s", plugin=CPU, code=4)
        self.assertIn("no threshold was found", text)
        self.assertEqual(report["ladders"], [])


class Times(Climbing):
    def test_a_jump_of_the_time_is_found_where_it_was_asked_for(self):
        text, report = self.climb("out", "--op", "matmul", "--dtype", "f32", "--max-elements", "300000", "--times", "--impl",
                                  "slow", plugin=THRESHOLD)
        self.assertIn((3000, 3001, ["time"]), self.found(report, "slow"))
        self.assertRegex(text, r" 3000 \| 3001\b.* pass \| pass +\S+ -> \S+ us\n")
        self.assertRegex(text, "explore --thresholds --times --seed 3 ")
        sides = next(t for t in report["thresholds"] if t["before"]["extent"] == 3000)
        self.assertGreater(sides["after"]["seconds"], 2 * sides["before"]["seconds"])


class OneDnn(Climbing):
    def test_the_extents_at_which_onednn_changes_its_kernels(self):
        plugin = pathlib.Path(ASSAY).parents[1] / "lib/assay/plugins/libassay_onednn.so"
        if not plugin.exists():
            self.skipTest("oneDNN is not built")
        _, report = self.climb("out", "--op", "matmul", "--dtype", "f32", "--max-elements", "300000",
                               plugin=plugin)
        # Its reference loops are offered up to 2^22 multiply-adds, on every processor.
        for extent in "mnk":
            self.assertEqual(self.found(report, "ref-any", extent), [(4096, 4097, ["offer"])], extent)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
