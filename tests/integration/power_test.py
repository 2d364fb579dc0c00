#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`assay power` on the real corpus plugin, and what it says to bad input: power_test.py ASSAY CORPUS GROUP."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ASSAY, CORPUS = sys.argv[1:3]
RULES = ["assay", "torch", "ggml", "benchdnn", "tosa"]


def run(*args):
    return subprocess.run([ASSAY, "power", *args], capture_output=True, text=True, timeout=900)


class BadInput(unittest.TestCase):
    def says(self, code, *texts, args):
        done = run(*args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_unknown_suite(self):
        self.says(2, "no-such-suite", args=["--corpus", CORPUS, "--suite", "no-such-suite"])

    def test_missing_corpus_says_what_to_build(self):
        self.says(2, "/no/such/corpus.so", "assay_backend_corpus", "--corpus", args=["--corpus", "/no/such/corpus.so"])

    def test_lists_of_parts_that_are_missed_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copy(CORPUS, folder + "/libassay_corpus_held.so")
            for part in ("held", "tuned"):
                self.says(2, folder + "/held_back.txt", "assay_backend_corpus_held",
                          args=["--corpus", copy, "--part", part, "--op", "matmul"])

    def test_corpus_that_is_no_plugin(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(b"not a library")
            file.flush()
            self.says(3, file.name, args=["--corpus", file.name, "--op", "matmul", "--seeds", "1"])

    def test_unknown_operator_and_numbers(self):
        self.says(2, "matmull", args=["--corpus", CORPUS, "--op", "matmull"])
        self.says(2, "--seeds", args=["--corpus", CORPUS, "--seeds", "0"])
        self.says(2, "exclude", args=["--corpus", CORPUS, "--quick", "--full"])

    def test_nothing_selected(self):
        self.says(4, "", args=["--corpus", CORPUS, "--filter", "no-case*"])


class Quick(unittest.TestCase):
    """A third of `assay power --quick`, with as many seeds of correct results as show that all of it holds together."""
    SEEDS = 4
    PART = ("--shard", "0/3")

    @classmethod
    def setUpClass(cls):
        seeds = ["--seeds", str(cls.SEEDS)] if cls.SEEDS != 20 else []
        cls.done = run("--quick", "--json", "--corpus", CORPUS, "--progress", "none", *seeds, *cls.PART)
        cls.data = json.loads(cls.done.stdout)

    def test_every_rule_was_measured(self):
        for rule in RULES:
            self.assertGreater(self.data[rule]["legal_tensors"], 100, rule)
            self.assertGreater(self.data[rule]["effective_pairs"], 0, rule)
        self.assertEqual(self.data["seeds"], self.SEEDS)
        self.assertEqual(self.data["could_not_run"], [])

    def test_no_correct_result_is_rejected(self):
        self.assertEqual(self.data["assay"]["false_alarms"], 0, self.data["false_alarm_list"][:5])
        self.assertEqual(self.data["false_alarm_list"], [])

    def test_effective_faults_are_caught(self):
        self.assertGreater(self.data["least_caught_fraction"], 0.9)
        self.assertGreaterEqual(self.data["assay"]["caught_fraction"], self.data["least_caught_fraction"],
                                self.data["missed"])

    def test_missed_faults_are_named_with_their_reason(self):
        own = self.data["assay"]
        self.assertEqual(len(self.data["missed"]), own["effective_pairs"] - own["effective_caught"])
        for miss in self.data["missed"]:
            self.assertIn("effect", miss["reason"])
            self.assertTrue(miss["fault"].startswith("fault."))

    def test_exit_code_says_whether_the_floor_holds(self):
        own = self.data["assay"]
        holds = own["false_alarms"] == 0 and own["caught_fraction"] >= self.data["least_caught_fraction"]
        self.assertEqual(self.done.returncode, 0 if holds else 1, self.done.stderr)


class QuickAsShipped(Quick):
    """All of it."""
    SEEDS = 20  # what it is without --seeds
    PART = ()


class Unlisted(unittest.TestCase):
    """An operator that no suite names, in a program and a corpus that have it besides: its cases, correct schedules and
    faults follow from its definition."""
    SUITES = pathlib.Path(__file__).resolve().parents[2] / "ops/suites"

    def measured(self, op):
        done = run("--quick", "--json", "--corpus", CORPUS, "--progress", "none", "--op", op, "--seeds", "4")
        data = json.loads(done.stdout)
        self.assertEqual(data["could_not_run"], [])
        return done.returncode, data

    def test_its_cases_follow_from_its_schema(self):
        for suite in self.SUITES.rglob("*.suite"):
            self.assertNotIn("unlisted", suite.read_text(encoding="utf-8"))
        done = subprocess.run([ASSAY, "list", "cases", "--suite", "power-quick", "--op", "unlisted"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("unlisted/f32/", "unlisted/bf16/", "unlisted/f64/", "unlisted/f16-f32-f32-f16/", "gate=abs",
                     "gate=sigmoid", "levels=1"):
            self.assertIn(text, done.stdout)

    def test_its_faults_are_caught_and_its_schedules_pass(self):
        code, data = self.measured("unlisted")
        own = data["assay"]
        self.assertEqual(data["false_alarm_list"], [])
        self.assertGreater(own["legal_tensors"], 300)
        self.assertGreater(own["effective_pairs"], 50)
        self.assertGreaterEqual(own["caught_fraction"], data["least_caught_fraction"], data["missed"])
        self.assertEqual(code, 0)
        (of_it,) = data["operators"]
        self.assertGreater(of_it["effective_faults"], 20)
        self.assertEqual(of_it["never_caught"], [])

    def test_a_definition_that_lacks_a_term_rejects_correct_schedules(self):
        code, data = self.measured("unlisted_mistaken")
        self.assertEqual(code, 1)
        self.assertGreater(data["assay"]["false_alarms"], data["assay"]["legal_tensors"] / 2)


class Causes(unittest.TestCase):
    """Names of causes on data that show little themselves."""

    def named(self, line, fault):
        with tempfile.TemporaryDirectory() as folder:
            suite = pathlib.Path(folder, "one.suite")
            suite.write_text(line + "\n")
            data = json.loads(run("--corpus", CORPUS, "--json", "--suite", str(suite), "--held-back", "0", "--seeds", "1", "--explain",
                                  "--faults", fault).stdout)
        return [r["naming"] for r in data["explained"]["results"]]

    def test_exact_data_that_a_mistake_changes_have_no_random_roundings(self):
        self.assertEqual(self.named("matmul dtypes=f32 m=40 n=24 k=200 fill=lognormal", "fault.pairs-of-k-swapped-in-b"), ["right"])

    def test_exact_data_that_are_wrong_contradict_operands_of_few_bits(self):
        for case in ("matmul dtypes=f32 m=17 n=19 k=130", "reduce dtypes=f32 shape=7x130 axes=1 kind=sum"):
            fault = "fault.tail-panel-reads-zero" if case.startswith("matmul") else "fault.tail-of-warp-lost"
            self.assertNotIn("wrong", self.named(case + " fill=cancel-1e6", fault), case)

    def test_small_numbers_where_zero_is_right_too_are_no_cause(self):
        self.assertNotIn("wrong", self.named("matmul dtypes=f32 m=17 n=19 k=130 fill=cancel-1e6", "fault.split-k-workspace-in-bf16"))

    def test_data_that_cancel_leave_the_word_to_normal_deviates(self):
        self.assertEqual(self.named("matmul dtypes=f32 m=17 n=19 k=130 fill=cancel-1e6", "fault.last-k-dropped-in-one-element"), ["right"])


class Parts(unittest.TestCase):
    """Pieces of --full, for those who do not have an hour."""
    OF_SUMS = ["--corpus", CORPUS, "--json", "--op", "reduce", "--dtype", "f32"]

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        suite = pathlib.Path(folder.name, "small.suite")
        suite.write_text("reduce dtypes=f32 shape=8x60 axes=1 kind=mean|l2|max|logsumexp\n")
        cls.ARGS = [*cls.OF_SUMS, "--suite", str(suite), "--held-back", "0"]
        cls.whole = json.loads(run(*cls.ARGS, "--seeds", "1").stdout)

    def test_a_caught_fault_is_explained_and_its_first_cause_compared_with_the_true_one(self):
        args = [*self.ARGS, "--seeds", "1", "--explain", "--faults", "fault.root-missing*:fault.*term-dropped-everyw*"]
        explained = json.loads(run(*args).stdout)["explained"]
        namings = {(r["fault"], r["naming"]) for r in explained["results"]}
        self.assertIn(("fault.root-missing-in-l2", "right"), namings)
        self.assertIn(("fault.last-term-dropped-everywhere", "right"), namings)
        # Once the file says otherwise, these names are wrong.
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copy(CORPUS, folder)
            of_copy = [copy if a == CORPUS else a for a in args]
            self.assertEqual(run(*of_copy).returncode, 2)
            pathlib.Path(folder, "causes.txt").write_text("reduce fault.root* attribute kind=max\n")
            other = json.loads(run(*of_copy).stdout)["explained"]
        self.assertEqual({r["naming"] for r in other["results"]}, {"wrong"})
        self.assertEqual(other["unstated"], len(explained["results"]) - len(other["results"]))
        text = run(*[a for a in args if a != "--json"]).stdout
        for word in ("named right first", "the third of the faults that is counted apart:"):
            self.assertIn(word, text)

    def test_held_back_seeds_can_be_fresh(self):
        done = run(*self.ARGS[:-1], "2", "--seeds", "1", "--held-back-from", "123456", "--filter", "*kind=max*")
        data = json.loads(done.stdout)
        self.assertEqual((data["first_held_back_seed"], data["held_back_seeds"]), (123456, 2))
        own = data["assay"]
        self.assertEqual(own["held_back_tensors"] * 3, own["legal_tensors"] * 2)
        self.assertEqual(data["could_not_run"], [])
        # A seed of the envelope cannot be held back.
        done = run(*self.ARGS, "--held-back-from", "999")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--held-back-from", done.stderr)

    def test_shards_are_the_whole(self):
        shards = [json.loads(run(*self.ARGS, "--seeds", "1", "--shard", shard).stdout) for shard in ("0/2", "1/2")]
        self.assertGreater(min(s["cases"] for s in shards), 0)
        self.assertEqual((sum(s["cases"] for s in shards), self.whole["cases"]), (4, 4))
        for count in ("legal_tensors", "all_pairs"):
            self.assertEqual(sum(s["assay"][count] for s in shards), self.whole["assay"][count])

    def test_a_sample_of_some_faults(self):
        runs = [json.loads(run(*self.ARGS, "--seeds", "2", "--sample", "2", "--sample-seed", seed,
                               "--faults", "fault.*last*").stdout) for seed in ("5", "5", "6")]
        for data in runs:
            self.assertEqual((data["cases"], data["sampled_from"]), (2, 4))
            self.assertEqual(data["could_not_run"], [])
            self.assertGreater(data["assay"]["all_pairs"], 0)
            # Seed 0 goes through the whole flow, the other one through an execution.
            own = data["assay"]
            self.assertEqual(own["whole_flow_tensors"] * 2, own["legal_tensors"])
        self.assertEqual(runs[0]["assay"], runs[1]["assay"])
        self.assertLess(runs[0]["assay"]["all_pairs"] * 3, self.whole["assay"]["all_pairs"])

    def test_an_interruption_leaves_the_figures_of_what_is_complete(self):
        # One case after the other: the bar says that one is complete, and most of the work is to come.
        process = subprocess.Popen([ASSAY, "power", *self.OF_SUMS, "--suite", "power-quick", "--filter", "*kind=*",
                                    "--held-back", "0", "--jobs", "1", "--seeds", "100", "--progress", "bar"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        shown = b""
        while not re.search(rb"\b[1-9]\d*/\d+ cases", shown):
            shown = shown[-100:] + os.read(process.stderr.fileno(), 4096)
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130, err)
        data = json.loads(out)
        self.assertGreaterEqual(data["complete_cases"], 1)
        self.assertLess(data["complete_cases"], data["cases"])
        self.assertIn(f"interrupted after {data['complete_cases']} of {data['cases']} cases", err)
        self.assertEqual(data["could_not_run"], [])


class HeldPart(unittest.TestCase):
    ARGS = [*Parts.OF_SUMS, "--held-back", "0"]

    def test_the_corpus_is_tuned_held_and_fresh(self):
        parts = {part: json.loads(run(*self.ARGS, "--seeds", "1", "--filter", "*shape=64x300*kind=mean*", "--part", part).stdout)
                 for part in ("tuned", "held", "fresh", "all")}
        for part, data in parts.items():
            self.assertEqual((data["part"], data["could_not_run"]), (part, []))
            self.assertGreater(data["cases"], 0)
        for count in ("legal_tensors", "all_pairs"):
            counts = {part: data["assay"][count] for part, data in parts.items()}
            self.assertGreater(min(counts.values()), 0)
            self.assertEqual(counts["tuned"] + counts["held"] + counts["fresh"], counts["all"], count)


class Table(unittest.TestCase):
    def test_a_line_per_rule_and_the_limit(self):
        done = run("--corpus", CORPUS, "--op", "matmul", "--filter", "*tosa-3*", "--sample", "1", "--seeds", "2", "--held-back", "0")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:6]], RULES)
        self.assertIn("95% limit", lines[0])


if __name__ == "__main__":
    group = sys.argv[3]
    unittest.main(argv=[sys.argv[0], group], verbosity=2)
