#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""assay compare on the folders of real runs: compare_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY OTHER_MAJOR DELAYED_PLUGIN
GROUP."""
import fcntl
import json
import pathlib
import shutil
import sys
import unittest

from program import CASE, Cli, PLUGIN

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
from compare_decisions import Tally, clopper_pearson, share

DELAYED = sys.argv[5]

OTHER_CASE = "matmul/f32/m=5,n=3,k=7/fill=normal/seed=0"
# Long beside what transfers wait for on an idle host, so that its times are not doubted.
LONG_CASE = "matmul/f32/m=96,n=96,k=96/fill=normal/seed=0"
OTHER_LONG_CASE = "matmul/f32/m=80,n=96,k=96/fill=normal/seed=0"
BOTH = ("--case", CASE, "--case", OTHER_CASE, "--no-perf")


class Base(Cli):
    def one_run(self, out, *args):
        done, records = self.run_cases(*args, out=out)
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
        self.assertIn(f"| verdict | pass | mismatch | cpu:naive | {CASE} | 50 % is wrong |", (self.dir / "compare.md").read_text())
        (self.dir / "policy.toml").write_text("[[rule]]\nbackend = 'cpu'\nverdict_worse = false\n")
        self.assertNotIn("matches no result", self.compare(0, "a", "b", "--policy", "policy.toml").stdout)
        (self.dir / "unused.toml").write_text("bits_changed = false\n\n[[rule]]\nop = 'matmull'\nverdict_worse = false\n")
        self.assertIn("unused.toml:3: the rule matches no result of these runs",
                      self.compare(1, "a", "b", "--policy", "unused.toml").stdout)
        for read, what in (("policy.toml", "the policy"), ("a/results.jsonl", "the base"), ("b/environment.json", "the new run")):
            before = (self.dir / read).read_bytes()
            self.fails(2, f"--markdown {read}: {what} is read from this file; give another", "compare", "a", "b", "--policy",
                       "policy.toml", "--markdown", read)
            self.assertEqual((self.dir / read).read_bytes(), before)
        self.compare(0, "b", "a")

    def test_the_policy_that_the_first_page_shows_does_what_it_says(self):
        policy = (ROOT / "README.md").read_text().partition("```toml\n")[2].partition("```")[0]
        (self.dir / "gate.toml").write_text(policy)
        self.one_run("a", *BOTH, "--backend", "cpu", "--impl", "naive")
        self.assertNotIn("matches no result", self.compare(0, "a", "a", "--policy", "gate.toml").stdout)
        self.change_records("a", "bits", lambda records: [dict(r, output_hash="0" * 16) for r in records])
        self.change_records("a", "margin", lambda records: [dict(r, bound_margin=2 * r["bound_margin"]) for r in records])
        for changed in ("bits", "margin"):
            self.compare(0, "a", changed)
            self.assertEqual(self.as_json(1, "a", changed, "--policy", "gate.toml")["regressions"], 2)

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
        # Nobody knows what got worse of what the base does not have.
        done = self.compare(3, "torn", "a")
        self.assertIn("the base is incomplete, so regressions cannot be ruled out: torn: incomplete: 1 of 2 planned cases "
                      "have no record", done.stderr)
        self.compare(0, "torn", "a", "--allow-lost")
        (self.dir / "policy.toml").write_text("lost_results = false\n")
        self.compare(0, "torn", "a", "--policy", "policy.toml")
        cut = self.dir / "cut.jsonl"
        cut.write_text((self.dir / "a/results.jsonl").read_text()[:-20])
        self.assertIn("the last line is torn", self.compare(3, "cut.jsonl", "a").stderr)
        self.compare(0, "cut.jsonl", "a", "--allow-lost")
        self.one_run("fewer", "--case", CASE, "--no-perf", "--backend", "cpu", "--impl", "naive")
        self.assertIn("the case was not run", self.compare(3, "a", "fewer").stdout)

    def test_two_builds_in_one_run(self):
        self.one_run("ab", *BOTH, "--plugin", f"old={PLUGIN}", "--plugin", f"new={PLUGIN}", "--backend", "old,new",
                     "--impl", "ok")
        self.assertIn("2 results in both runs", self.compare(0, "ab", "--builds", "old,new").stdout)
        known = "ab has no backend '{}'; it has new, old (of which implementations are compared by their names)"
        for name in ("absent", "old:ok", "ok"):
            self.assertIn(known.format(name), self.compare(2, "ab", "--builds", f"old,{name}").stderr)
        for text in ("old", "old,new,old"):
            self.assertIn(f"'{text}' is not two backends, BASE,NEW; ab has new, old",
                          self.compare(2, "ab", "--builds", text).stderr)

        def rename(records):
            return [dict(r, implementation="other") if r["backend"] == "old" else r for r in records]
        self.change_records("ab", "renamed", rename)
        self.assertIn("--builds: 'old,new' of renamed have no result of the same case and implementation",
                      self.compare(2, "renamed", "--builds", "old,new").stderr)

    def test_two_files_of_kernels_are_builds_whatever_they_are_called(self):
        self.one_run("ab", *BOTH, "--plugin", f"old={PLUGIN}", "--plugin", f"new={PLUGIN}", "--backend", "old,new",
                     "--impl", "ok")
        path = self.dir / "ab/environment.json"
        environment = json.loads(path.read_text())
        for device in environment["backends"]:
            device.update(plugin=f"/k/{device['backend']}_softmax.py", plugin_name=f"{device['backend']}_softmax")
        path.write_text(json.dumps(environment))
        self.assertIn("2 results in both runs", self.compare(0, "ab", "--builds", "old,new").stdout)

    def test_annotations_stand_beside_json_on_standard_error(self):
        self.one_run("good", *BOTH, "--plugin", f"m={PLUGIN}", "--backend", "m", "--impl", "ok")
        self.change_records("good", "bad", lambda records: [dict(r, verdict="mismatch", outcome="mismatch") for r in records])
        done = self.compare(1, "good", "bad", "--github", "--json")
        self.assertTrue(json.loads(done.stdout))
        self.assertIn("::error", done.stderr)

    def test_two_backends_are_no_builds_of_one(self):
        self.one_run("two", *BOTH, "--backend", "cpu,other", "--plugin", f"other={PLUGIN}", "--impl", "naive,ok")

        def same_names(records):  # as opencl and vulkan have, where they share a name
            return [dict(r, implementation="direct") for r in records]
        self.change_records("two", "shared", same_names)
        self.assertIn("--builds: 'cpu' and 'other' are no builds of one backend: their plugins call themselves 'cpu' and "
                      "'misbehaving'", self.compare(2, "shared", "--builds", "cpu,other").stderr)
        self.assertIn("it is unknown whether 'cpu' and 'other' are builds of one backend",
                      self.compare(0, "shared/results.jsonl", "--builds", "cpu,other").stdout)


KERNEL = """
import assay, numpy as np

@assay.kernel("matmul", contract="f32acc;det=yes", dtypes=["f32"])
def product(a, b):
    y = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in %s: y = %s
    return y
"""


class Passports(Base):
    def measure(self, out, order="range(a.shape[1])", added="y + a[:, k:k + 1] * b[k]", code=0):
        """A run of a kernel that adds so, with its passports."""
        (self.dir / "mine.py").write_text(KERNEL % (order, added))
        column = ("--kernels", "mine.py", "--backend", "mine", "--python", sys.executable)
        self.one_run(out, *BOTH, *column)
        done = self.assay("fingerprint", "--run", out, *column, "--progress", "none")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        passports = json.loads((self.dir / out / "passports.json").read_text())["passports"]
        self.assertEqual([p["case"] for p in passports], [CASE, OTHER_CASE])
        explained = [(p.get("reordered"), p.get("unexplained")) for p in passports]
        self.assertEqual(explained, [([c], []) if code == 0 else (None, None) for c in (CASE, OTHER_CASE)])
        return {p["case"]: p["tree_hash"] for p in passports}

    def test_other_bits_are_told_as_another_order_or_another_arithmetic(self):
        forward, backward = self.measure("a"), self.measure("b", "reversed(range(a.shape[1]))")
        self.measure("narrow", added="(y + a[:, k:k + 1] * b[k]).astype(np.float16).astype(np.float32)", code=1)  # it promises more
        def details(report):
            return {r["case_id"]: c["detail"] for r in report["results"] for c in r["changes"] if c["field"] == "output_hash"}

        report = self.as_json(0, "a", "b")
        bits = details(report)
        self.assertTrue(all(c["reordered"] == (c["field"] == "output_hash") for r in report["results"] for c in r["changes"]))
        self.assertIn(CASE, bits)
        for case, why in bits.items():
            self.assertEqual(why, f"same arithmetic, other order: {forward[case]} (one after the other) -> {backward[case]} "
                                  "(one after the other, from the last on)")
        text = self.compare(0, "a", "b").stdout
        self.assertIn(f"of {len(bits)} results with other bits {len(bits)} have the same arithmetic in another order", text)
        for why in details(self.as_json(1, "a", "narrow")).values():
            self.assertRegex(why, r"^other arithmetic: .*\bsum_bits 24 -> 11.*; same order: \w+$")
        (self.dir / "gate.toml").write_text("bits_changed = true\n")
        self.compare(1, "a", "b", "--policy", "gate.toml")
        (self.dir / "gate.toml").write_text("bits_changed = true\nbits_reordered = false\n")
        self.compare(0, "a", "b", "--policy", "gate.toml")
        (self.dir / "b/passports.json").unlink()
        self.assertNotIn("order", self.compare(1, "a", "b", "--policy", "gate.toml").stdout)
        (self.dir / "b/passports.json").write_text("[1]")
        self.assertIn("b/passports.json: no list of passports is in it; write it anew with assay fingerprint --run",
                      self.compare(2, "a", "b").stderr)

    def test_a_result_that_the_passport_does_not_give_to_the_bit_is_unexplained(self):
        self.one_run("a", *BOTH, "--backend", "cpu", "--impl", "splitk")
        self.change_records("a", "b", lambda records: [r | {"output_hash": "0" * 16} if r["case_id"] == CASE else r
                                                       for r in records])
        for out, reordered, unexplained in (("a", [CASE, OTHER_CASE], []), ("b", [OTHER_CASE], [CASE])):
            done = self.assay("fingerprint", "--run", out, "--backend", "cpu", "--json", "--progress", "none")
            self.assertEqual(done.returncode, 0, done.stderr)
            passports = json.loads(done.stdout)["passports"]
            self.assertEqual({p["implementation"] for p in passports}, {"splitk"}, "another one has no result in the run")
            self.assertEqual(sum((p["reordered"] for p in passports), []), reordered)
            self.assertEqual(sum((p["unexplained"] for p in passports), []), unexplained)
            records = [json.loads(line) for line in (self.dir / out / "results.jsonl").read_text().splitlines()]
            self.assertEqual({r["case_id"]: r.get("reordered") for r in records},
                             {c: c in reordered for c in (CASE, OTHER_CASE)}, "the records say it, too")
            self.assertEqual({r["class"] for r in records if r["case_id"] in reordered} - {"within_class", "bit_exact"}, set())
        self.compare(0, "a", "a")  # and are read as before

    def test_records_of_another_device_and_of_a_run_at_work_are_not_marked(self):
        self.one_run("a", *BOTH, "--backend", "cpu", "--impl", "splitk")
        self.change_records("a", "b", lambda records: [r | {"device": "another one"} if r["case_id"] == CASE else r for r in records])
        words = ("fingerprint", "--run", "b", "--backend", "cpu", "--json", "--progress", "none")
        path = self.dir / "b/results.jsonl"
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            before = file.read()
            self.assertIn("results.jsonl: another run is writing it", self.fails(3, "", *words).stderr)
            self.assertEqual(path.read_bytes(), before)
        done = self.assay(*words)
        self.assertEqual(sum((p.get("reordered", []) for p in json.loads(done.stdout)["passports"]), []), [OTHER_CASE])
        records = [json.loads(line) for line in path.read_text().splitlines()]
        self.assertEqual({r["case_id"]: r.get("reordered") for r in records}, {CASE: None, OTHER_CASE: True})

    def test_a_run_without_sums_has_no_passports(self):
        self.one_run("a", "--case", "exp/f32/n=64/fill=normal/seed=0", "--backend", "cpu", "--no-perf")
        self.fails(2, "--run a: it has no result of a sum whose order can be found", "fingerprint", "--run", "a", "--backend",
                   "cpu")


class CompareTimes(Base):
    ROUNDS = 9

    def with_rounds(self, source, target, factor, backend=None):
        """A copy whose times are `factor` of 1 ms, with a scatter of a few per mille."""
        def change(records):
            for r in records:
                if backend in (None, r["backend"]):
                    r["round_medians_s"] = ",".join(str(1e-3 * factor * (1 + 1e-3 * i)) for i in range(self.ROUNDS))
                r["round_slices_s"] = ""
            return records
        self.change_records(source, target, change)

    def run_rounds(self, out, *args):
        _, records = self.run_once("--case", LONG_CASE, "--case", OTHER_LONG_CASE, "--perf-time", "0.02", "--rounds", str(self.ROUNDS),
                                   *args, out=out)
        self.assertTrue(records)

    def test_rounds_are_recorded_and_two_builds_compared(self):
        self.run_rounds("ab", "--plugin", f"base={PLUGIN}", "--plugin", f"new={PLUGIN}", "--backend", "base,new",
                        "--impl", "ok")
        records = [json.loads(line) for line in (self.dir / "ab/results.jsonl").read_text().splitlines()]
        self.assertEqual(len(records), 4)
        for r in records:
            medians = [float(x) for x in r["round_medians_s"].split(",")]
            self.assertEqual(len(medians), self.ROUNDS)
            self.assertLessEqual(min(medians), r["time_median_s"])
            self.assertLessEqual(r["time_median_s"], max(medians))
            self.assertGreaterEqual(r["samples"], 5 * self.ROUNDS)
            slices = [[float(x) for x in text.split("/")] for text in r["round_slices_s"].split(",")]
            self.assertEqual(len(slices), self.ROUNDS)
            # The builds took turns; an interruption of the host may leave one round a single turn.
            self.assertGreater(sum(len(of_round) > 1 for of_round in slices), self.ROUNDS // 2)
            for of_round, median in zip(slices, medians):
                self.assertTrue(0.999 * min(of_round) <= median <= 1.001 * max(of_round))
        report = self.as_json(0, "ab", "--builds", "base,new")
        self.assertEqual({(r["time"]["base_rounds"], r["time"]["new_rounds"]) for r in report["results"]},
                         {(self.ROUNDS, self.ROUNDS)})
        self.with_rounds("ab", "flat", 1)
        self.with_rounds("flat", "slow", 1.2, "new")
        self.assertEqual(self.verdicts(self.as_json(0, "flat", "--builds", "base,new")), {"SAME"})
        report = self.as_json(0, "slow", "--builds", "base,new")  # reported, but nothing asked for a gate
        self.assertEqual(self.verdicts(report), {"SLOWER"})
        self.assertEqual([(g["op"], g["results"], g["time"]["verdict"], g["regression"]) for g in report["groups"]],
                         [("matmul", 2, "SLOWER", False)])
        self.assertAlmostEqual(report["groups"][0]["time"]["ratio"], 1.2)
        self.assertRegex(self.compare(0, "slow", "--builds", "base,new").stdout,
                         r"new +matmul +2 +9 +\+20\.0 % +\+20\.0 % to \+20\.0 % +SLOWER")
        self.assertEqual(self.verdicts(self.as_json(1, "slow", "--builds", "base,new", "--perf-gate", "10")), {"SLOWER"})
        self.compare(0, "slow", "--builds", "base,new", "--perf-gate", "25")
        self.assertEqual(self.verdicts(self.as_json(0, "slow", "--builds", "new,base")), {"FASTER"})
        self.assertEqual(self.verdicts(self.as_json(0, "slow", "--builds", "base,new", "--min-effect", "30")), {"SAME"})
        (self.dir / "policy.toml").write_text("slower_percent = 5\n[[rule]]\nop = 'matmul'\nslower_percent = false\n")
        self.compare(0, "slow", "--builds", "base,new", "--policy", "policy.toml")

    @staticmethod
    def verdicts(report):
        return {r["time"]["verdict"] for r in report["results"]}

    def test_plain_runs_are_unsure_and_say_why(self):
        for out in ("a", "b"):
            self.one_run(out, "--case", LONG_CASE, "--perf-time", "0.005", "--backend", "cpu", "--impl", "naive")
        report = self.as_json(0, "a", "b")
        self.assertEqual(self.verdicts(report), {"UNSURE"})
        self.assertIn("single round", report["results"][0]["time"]["why"])
        self.assertIn("times: none can be compared", "\n".join(report["notes"]))

    def test_a_gate_that_could_not_fail_does_not_pass(self):
        said = "--perf-gate: no times could be compared, so nothing was gated: "
        for out in ("a", "b"):
            self.one_run(out, "--case", LONG_CASE, "--perf-time", "0.005", "--backend", "cpu", "--impl", "naive")
            self.one_run("untimed_" + out, "--case", LONG_CASE, "--no-perf", "--backend", "cpu", "--impl", "naive")
        for runs, why in ((("a", "b"), "a single round cannot decide: assay run --rounds N"),
                          (("untimed_a", "untimed_b"), "no result that passes is timed in both runs; run them without"),
                          (("a", "untimed_b"), "no result that passes is timed in both runs")):
            self.assertIn(said + why, self.compare(2, *runs, "--perf-gate", "5").stderr)
            self.assertIn("0 regressions", self.compare(0, *runs).stdout)
        self.as_json(2, "a", "b", "--perf-gate", "5")
        few = ["--case", LONG_CASE, "--perf-time", "0.005", "--backend", "cpu", "--impl", "naive", "--rounds", "3"]
        self.one_run("few", *few)
        self.one_run("few_again", *few)
        done = self.compare(2, "few", "few_again", "--perf-gate", "5")
        self.assertIn("--perf-gate: nothing was gated: with 3 rounds nothing that is slower can be told from chance; it "
                      "takes 5 (--rounds 5) of each run", done.stderr)
        self.compare(0, "few", "few_again")
        (self.dir / "policy.toml").write_text("slower_percent = 5\n")  # may serve runs with and without times
        report = self.as_json(0, "untimed_a", "untimed_b", "--policy", "policy.toml")
        self.assertIn("times: no result that passes is timed in both runs", "\n".join(report["notes"]))
        self.assertEqual(self.as_json(0, "untimed_a", "untimed_b")["notes"], [])

        def spoil(records):
            records[0].update(verdict="mismatch", outcome="mismatch")
            return records
        self.change_records("untimed_a", "wrong", spoil)
        self.assertIn(said, self.compare(1, "untimed_a", "wrong", "--perf-gate", "5").stderr)  # what is known prevails
        self.compare(2, "wrong", "untimed_a", "--perf-gate", "5")

    def test_an_operator_that_is_slower_as_a_whole_is_a_regression_where_it_is_gated(self):
        """Each of two results is decided alone as well: one is allowed to be slow, the operator is not."""
        self.run_rounds("ab", "--plugin", f"base={PLUGIN}", "--plugin", f"new={PLUGIN}", "--backend", "base,new",
                        "--impl", "ok")
        self.with_rounds("ab", "flat", 1)
        self.with_rounds("flat", "slow", 1.2, "new")
        (self.dir / "policy.toml").write_text("slower_percent = 5\n[[rule]]\ncase = 'matmul/*'\nslower_percent = false\n")
        report = self.as_json(1, "slow", "--builds", "base,new", "--policy", "policy.toml")
        self.assertEqual((report["regressions"], report["regressed_groups"]), (0, 1))
        self.assertEqual([g["regression"] for g in report["groups"]], [True])
        done = self.compare(1, "slow", "--builds", "base,new", "--policy", "policy.toml", "--github", "--markdown",
                            "compare.md")
        self.assertIn("0 regressions, 1 operator slower as a whole", done.stdout)
        self.assertIn("::error title=assay compare%3A matmul on new as a whole::the time of the typical result: +20.0 %25",
                      done.stdout)
        self.assertIn("SLOWER, a regression", (self.dir / "compare.md").read_text())

    def test_a_run_that_was_cut_short_does_not_pass(self):
        self.run_rounds("ab", "--plugin", f"base={PLUGIN}", "--plugin", f"new={PLUGIN}", "--backend", "base,new",
                        "--impl", "ok")
        self.change_records("ab", "cut", lambda records: [r for r in records if r["case_id"] == CASE])
        done = self.compare(3, "cut", "--builds", "base,new")
        self.assertIn("have no record", done.stdout)
        self.compare(0, "cut", "--builds", "base,new", "--allow-lost")
        self.assertIn("both are 'new'", self.compare(2, "ab", "--builds", "new,new").stderr)

    def test_each_round_has_a_worker_of_its_own(self):
        self.env.update(ASSAY_DELAY_OF=PLUGIN, ASSAY_WORKERS_FILE=str(self.shared / "workers"))
        self.run_rounds("out", "--plugin", f"one={DELAYED}", "--backend", "one", "--impl", "ok")
        self.assertEqual((self.shared / "workers").stat().st_size, self.ROUNDS)

    def test_a_failure_in_a_later_round_is_that_of_the_result(self):
        self.env.update(ASSAY_DELAY_OF=PLUGIN, ASSAY_WORKERS_FILE=str(self.shared / "workers"), ASSAY_CRASH_FROM="3")
        done, records = self.run_cases("--case", CASE, "--perf-time", "0.005", "--rounds", "4", "--plugin",
                                       f"one={DELAYED}", "--backend", "one", "--impl", "ok", out="out")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertEqual([(r["verdict"], r["time_median_s"], r["round_medians_s"]) for r in records],
                         [("crash", None, "")])
        self.assertIn(" --rounds 4 --perf-time 0.005", records[0]["reproduce"])
        self.assertIn("1 crash", self.assay("report", "out").stdout)


class Decisions(unittest.TestCase):
    """Counts and intervals of scripts/compare_decisions.py."""

    def test_intervals_are_those_of_clopper_and_pearson(self):
        # There is a closed form for no and for all successes; the other bounds are quantiles of the beta distribution.
        for k, n, low, high in ((0, 10, 0, 1 - 0.025 ** 0.1), (10, 10, 0.025 ** 0.1, 1), (5, 10, 0.187086, 0.812914),
                                (5, 100, 0.016432, 0.112835)):
            for found, expected in zip(clopper_pearson(k, n), (low, high)):
                self.assertAlmostEqual(found, expected, places=5)
        self.assertEqual(share(0, 0, "runs"), "no runs")

    def test_a_run_counts_once_however_many_decisions_it_has(self):
        def time(verdict, ratio=1.0):
            return {"time": {"verdict": verdict, "ratio": ratio}}
        tally = Tally()
        tally.add({"results": [time("SLOWER", 1.2), time("SLOWER", 1.1), {}],
                   "groups": [{"op": "", **time("UNSURE")}, {"op": "fft", **time("SLOWER")}]})
        tally.add({"results": [time("SAME"), time("UNSURE")], "groups": [{"op": "fft", **time("SLOWER", 1.1)}]})
        tally.add({"results": [time("SAME"), time("FASTER", 0.9)], "groups": [{"op": "fft", **time("SAME")}]})
        self.assertEqual((tally.runs, tally.any_slower, tally.any_faster, tally.found, tally.all_results),
                         (3, 2, 1, 1, 1))
        self.assertEqual(tally.results["SLOWER"], 2)
        self.assertIn("any SLOWER:            2 of 3 runs (66.7%, interval 9.4% to 99.2%)", tally.text())


class CompareErrors(Base):
    def setUp(self):
        super().setUp()
        self.one_run("a", "--case", CASE, "--no-perf", "--backend", "cpu", "--impl", "naive")

    def test_what_is_no_run(self):
        (self.dir / "empty").mkdir()
        self.assertIn("cannot read empty/results.jsonl: give the output folder of a run",
                      self.compare(2, "a", "empty").stderr)
        self.assertIn("give two runs", self.compare(2, "a").stderr)
        (self.dir / "a.tar.zst").write_text("a bundle by its name")
        unpack = "a.tar.zst is a bundle; unpack it with `mkdir run && tar --zstd -xf a.tar.zst -C run`"
        self.assertIn(unpack, self.compare(2, "a", "a.tar.zst").stderr)
        for words in (("report", "a.tar.zst"), ("bundle", "a.tar.zst"), ("merge", "a.tar.zst", "--out", "b")):
            self.assertIn("a.tar.zst", self.fails(2, "is a bundle; unpack it", *words).stderr)
        for words in (("a", "--json", "x.json"), ("a", "a", "--json", "x.json")):
            self.assertIn("--json takes no file: it prints to standard output, so end the command with `> x.json`",
                          self.compare(2, *words).stderr)
        (self.dir / "text.jsonl").write_text("hello\nworld\n")
        self.assertIn("text.jsonl:1: not a record", self.compare(2, "text.jsonl", "a").stderr)

    def test_an_environment_that_is_damaged_is_named(self):
        self.one_run("a", *BOTH, "--backend", "cpu", "--impl", "naive")
        shutil.copytree(self.dir / "a", self.dir / "b")
        (self.dir / "b/environment.json").write_text("{")
        done = self.assay("compare", "a", "b")
        self.assertIn("b/environment.json is damaged", done.stderr)
        # In another order, as other programs write it, it says the same.
        environment = json.loads((self.dir / "a/environment.json").read_text())
        (self.dir / "b/environment.json").write_text(json.dumps(environment, sort_keys=True))
        done = self.assay("compare", "a", "b")
        self.assertNotIn("environment.json", done.stdout + done.stderr)

    def test_nothing_in_common(self):
        self.one_run("b", "--case", OTHER_CASE, "--no-perf", "--backend", "cpu", "--impl", "naive")
        self.assertIn("no result in common", self.compare(2, "a", "b").stderr)

    def test_another_schema(self):
        self.change_records("a", "old", lambda records: [dict(r, schema_version=0) for r in records])
        self.assertIn("schema versions 0 and 1", self.compare(2, "old", "a").stderr)

    def test_a_report_that_cannot_be_written(self):
        self.assertIn("--markdown no/such.md: there is no folder no; make it first",
                      self.compare(2, "a", "a", "--markdown", "no/such.md").stderr)
        self.assertIn("cannot write /dev/full", self.compare(3, "a", "a", "--markdown", "/dev/full").stderr)
        (self.dir / "README.md").write_text("# mine\n")
        self.assertIn("--markdown README.md: this is not a report of assay compare, so it is not replaced",
                      self.compare(2, "a", "a", "--markdown", "README.md").stderr)
        self.assertEqual((self.dir / "README.md").read_text(), "# mine\n")
        (self.dir / "step").write_text("")  # as a CI system makes it
        for _ in range(2):
            self.compare(0, "a", "a", "--markdown", "step")
            self.assertIn("# assay compare", (self.dir / "step").read_text())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[6:], verbosity=2)
