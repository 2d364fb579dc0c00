#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators that a user defines, in runs and bundles, and kernels that no case asks for: own_operator_test.py ASSAY
MISBEHAVING_PLUGIN NO_ENTRY_PLUGIN OTHER_MAJOR_PLUGIN PACK_BUNDLE OWN_OPERATOR_PLUGIN [GROUP...]"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import unittest

from program import CASE, Cli

PACK_BUNDLE, OWN_PLUGIN = sys.argv[5:7]
DEFINITION = pathlib.Path(__file__).resolve().parents[1] / "consumer/vendor/vendor_own_operator.json"
KERNELS = """
    import assay, numpy as np

    @assay.kernel("matmul", contract="f32acc", dtypes=["f32"])
    def product(a, b):
        return a @ b

    @assay.kernel("rms_norm", contract="f32acc", dtypes=["f32"])
    def fused(x, gamma, *, eps):
        return x * gamma                     # a planted fault
"""
SMALL = "matmul dtypes=f32 m=3|4 n=5 k=7\nsoftmax dtypes=f32 shape=3x5\n"


class Files(Cli):
    def write(self, name, text):
        (self.dir / name).write_text(textwrap.dedent(text))
        return str(self.dir / name)

    def run_kernels(self, *args, kernels=KERNELS, out="out"):
        path = self.write("mine.py", kernels)
        return self.run_cases("--kernels", path, "--python", sys.executable, "--backend", "mine", "--no-perf", *args, out=out)

    def refused(self, code, words, *args, **how):
        done, _ = self.run_kernels(*args, **how)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertRegex(done.stderr, words)
        self.assertFalse((self.dir / "out").exists())  # nothing ran


class Unmet(Files):
    def test_a_kernel_that_no_case_names_ends_the_run_before_it_begins(self):
        suite = self.write("mine.suite", SMALL)
        self.refused(4, "mine: kernel fused of rms_norm met none of 3 cases; suite [a-z]+ has cases of rms_norm. Add such cases, "
                        "leave out what has none, or give --allow-unused", "--suite", suite)
        done, records = self.run_kernels("--suite", suite, "--allow-unused")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual({r["implementation"] for r in records if r["verdict"] != "unsupported"}, {"product"})

    def test_cases_that_were_chosen_leave_kernels_out_on_purpose(self):
        suite = self.write("mine.suite", SMALL)
        for number, words in enumerate((("--suite", suite, "--op", "matmul"), ("--suite", suite, "--filter", "matmul*"),
                                        ("--suite", suite, "--impl", "product"),
                                        ("--case", CASE))):
            with self.subTest(words):
                done, records = self.run_kernels(*words, out=f"out{number}")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("product", {r["implementation"] for r in records})
        self.refused(4, "kernel fused of rms_norm met none of", "--suite", suite, "--case", CASE)

    def test_types_that_were_chosen_leave_kernels_of_other_types_out(self):
        half = KERNELS.replace('"rms_norm"', '"softmax"').replace("dtypes=[\"f32\"])\n    def fused(x, gamma, *, eps)",
                                                                  "dtypes=[\"f16\"])\n    def fused(x)")
        suite = self.write("mine.suite", SMALL)
        done, records = self.run_kernels("--suite", suite, "--dtype", "f32", kernels=half, out="halves")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.refused(4, "kernel fused of rms_norm met none of", "--suite", suite, "--dtype", "f32")

    def test_a_kernel_that_takes_none_of_its_cases_says_why(self):
        half = KERNELS.replace('"rms_norm"', '"softmax"').replace("dtypes=[\"f32\"])\n    def fused(x, gamma, *, eps)",
                                                                  "dtypes=[\"f16\"])\n    def fused(x)")
        self.refused(4, r"kernel fused of softmax met none of 3 cases: fused: it is declared for f16, not for f32\. Add", "--suite",
                     self.write("mine.suite", SMALL), kernels=half)
        self.refused(4, "kernel fused of softmax met none", "--suite", self.write("mine.suite", SMALL), "--op", "softmax,matmul",
                     kernels=half)

    def test_shards_are_one_run(self):
        suite = self.write("mine.suite", SMALL + "rms_norm dtypes=f32 rows=3 n=17\n")
        codes = []
        for shard in range(4):  # one more than cases
            done, records = self.run_kernels("--suite", suite, "--shard", f"{shard}/4", out=f"shard{shard}")
            self.assertNotIn("--allow-unused", done.stderr)
            codes.append(done.returncode if records else f"empty {done.returncode}")
        self.assertIn("empty 0", codes)
        self.assertIn(1, codes)  # the planted fault
        self.refused(4, "kernel fused of rms_norm met none of 3 cases", "--suite", self.write("other.suite", SMALL), "--shard", "0/9")

    def test_names_that_meet_no_case(self):
        suite = self.write("mine.suite", SMALL)
        self.refused(4, "--op rms_norm: none of the 2 selected cases is of it; suite [a-z]+ has cases of rms_norm. ", "--suite", suite,
                     "--op", "matmul,rms_norm")
        self.refused(4, "--impl fused: mine has it for rms_norm, and none of the cases is of it; suite [a-z]+ has cases", "--suite",
                     suite, "--impl", "fused,product")
        self.refused(2, "--impl fusion: no backend offers this implementation", "--suite", suite, "--impl", "fusion,product")
        for number, words in enumerate((("--op", "matmul,rms_norm"), ("--impl", "fused,product"))):
            done, records = self.run_kernels("--suite", suite, *words, "--allow-unused", out=f"out{number}")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("product", {r["implementation"] for r in records})

    def test_a_run_that_is_resumed_is_asked_as_its_beginning_was(self):
        suite = self.write("mine.suite", SMALL)
        done, _ = self.run_kernels("--suite", suite, "--allow-unused")
        self.assertEqual(done.returncode, 0, done.stderr)
        path = str(self.dir / "mine.py")
        resume = ("run", "--kernels", path, "--python", sys.executable, "--backend", "mine", "--no-perf", "--suite", suite, "--out",
                  "out", "--resume")
        self.fails(4, "kernel fused of rms_norm met none", *resume)
        self.assertEqual(self.assay(*resume, "--allow-unused").returncode, 0)

    def test_an_operator_of_a_plugins_table(self):
        plugin = ("run", "--plugin", OWN_PLUGIN, "--backend", "vendor", "--no-perf", "--out", "out")
        self.fails(4, "vendor: operator leaky_bias met none of", *plugin)
        self.fails(4, "--operators FILE makes an operator known", *plugin)
        suite = self.write("mine.suite", SMALL)
        done = self.fails(4, "vendor: operator leaky_bias met none of 3 cases; a case of it is --case leaky_bias/f32/rows=", *plugin,
                          "--suite", suite, "--operators", str(DEFINITION))
        case = re.search("--case (leaky_bias/[^ ]*seed=[0-9]+)", done.stderr)[1]
        done, records = self.run_cases("--plugin", OWN_PLUGIN, "--backend", "vendor", "--no-perf", "--operators", str(DEFINITION),
                                       "--case", case)
        self.assertEqual((done.returncode, [r["verdict"] for r in records]), (0, ["pass"]), done.stdout + done.stderr)


class Own(Files):
    def definition(self, old="leaky", new="leaky"):
        text = DEFINITION.read_text()
        self.assertIn(old, text)
        return self.write("mine.json", text.replace(old, new))

    def run_own(self, *args, operators=str(DEFINITION), out="out", rows="3|5"):
        suite = self.write("own.suite", f"leaky_bias dtypes=f32 rows={rows} n=17\n")
        return self.run_cases("--plugin", OWN_PLUGIN, "--backend", "vendor", "--no-perf", "--tier", "reproducible", "--operators",
                              operators, "--suite", suite, *args, out=out)

    def plan(self, out="out"):
        return json.loads((self.dir / out / "plan.json").read_text())


SQUARED = ('"of": ["x", "slope"]', '"of": ["x", "x"]')


class Defined(Own):
    def test_the_plan_has_the_definition_and_its_digest(self):
        done, records = self.run_own()
        self.assertEqual((done.returncode, [r["verdict"] for r in records]), (0, ["pass"] * 2), done.stdout + done.stderr)
        [one] = self.plan()["definitions"]
        self.assertEqual(one["op"], "leaky_bias")
        self.assertEqual(one["definition"], json.loads(DEFINITION.read_text())["operators"][0])
        self.assertRegex(one["digest"], "^[0-9a-f]{16}$")
        self.run_own(operators=self.definition(*SQUARED), out="other")
        [other] = self.plan("other")["definitions"]
        self.assertNotEqual(one["digest"], other["digest"])
        self.assertNotEqual(self.plan()["plan_hash"], self.plan("other")["plan_hash"])
        self.run_cases("--case", CASE, "--backend", "cpu", "--impl", "naive", "--no-perf", "--operators", str(DEFINITION), out="none")
        self.assertNotIn("definitions", self.plan("none"))  # no case is of it

    def test_a_changed_definition_is_not_resumed(self):
        path = self.definition()
        self.run_own(operators=path)
        self.definition(*SQUARED)
        for more in ((), ("--allow-changed",)):
            done, _ = self.run_own("--resume", *more, operators=path)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertRegex(done.stderr, "plan.json: the definition of leaky_bias was changed since the run began: its digest was "
                                          "[0-9a-f]{16} and is [0-9a-f]{16}. Give the file of --operators as it was, or another --out")
        self.write("mine.json", json.dumps(json.loads(DEFINITION.read_text()), indent=4))  # laid out in another way
        done, _ = self.run_own("--resume", operators=path)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_results_by_two_definitions_are_not_compared(self):
        self.run_own()
        self.run_own(out="same")
        self.run_own(operators=self.definition(*SQUARED), out="other")
        self.assertEqual(self.assay("compare", "out", "same").returncode, 0)
        done = self.assay("compare", "out", "other")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        text = " ".join(done.stdout.split())
        self.assertRegex(text, "the definition of leaky_bias differs between the runs .digests [0-9a-f]{16} and [0-9a-f]{16}., so its "
                               "results are not compared")
        self.assertIn("2 results lost", text)
        self.assertEqual(self.assay("compare", "out", "other", "--allow-lost").returncode, 0)

    def test_shards_by_two_definitions_are_not_merged(self):
        for name, shard, operators in (("part0", 0, str(DEFINITION)), ("part1", 1, str(DEFINITION)),
                                       ("changed", 1, self.definition(*SQUARED))):
            self.run_own("--shard", f"{shard}/2", operators=operators, out=name, rows="3|4|5|6|7|8")
        self.fails(2, "the list of definitions differs: leaky_bias ", "merge", "part0", "changed", "--out", "wrong")
        self.assertEqual(self.assay("merge", "part0", "part1", "--out", "whole").returncode, 0)
        self.assertEqual(self.plan("whole")["definitions"], self.plan("part0")["definitions"])


class Bundled(Own):
    def bundle(self, out="out"):
        done = self.assay("bundle", out, "-o", "run.assay.tar.zst")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def verify(self, code, words, name="run.assay.tar.zst"):
        done = self.assay("verify", name, "--progress", "none")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertRegex(done.stdout, words)
        return done.stdout

    def forge(self, change):
        """Packs the run with another plan, of which a forger has made all hashes again."""
        shutil.copytree(self.dir / "out", self.dir / "forged")
        plan = self.plan("forged")
        change(plan)
        for _ in range(2):
            (self.dir / "forged/plan.json").write_text(json.dumps(plan, indent=1) + "\n")
            path = self.dir / "forged/results.jsonl"
            path.write_text(re.sub('"plan_hash":"[0-9a-f]*"', f'"plan_hash":"{plan["plan_hash"]}"', path.read_text()))
            done = subprocess.run([PACK_BUNDLE, "forged", "forged.tar.zst"], cwd=self.dir, env=self.env, capture_output=True, text=True)
            if done.returncode == 0:
                break
            plan["plan_hash"] = re.search("hash to ([0-9a-f]{16}), not", done.stderr)[1]
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_results_are_judged_again_by_the_definition_in_the_bundle(self):
        self.run_own("--evidence", "2")
        self.bundle()
        shutil.rmtree(self.dir / "out")
        text = self.verify(0, "definition of leaky_bias: the plan has it, with digest [0-9a-f]{16}")
        self.assertIn("judgement: the stored outputs of 2 of 2 results (100 %)", text)
        self.assertIn("inputs of 2 cases, and golden values of 2, of 2 in all", text)
        self.assertIn("that leaky_bias of plan.json is the formula that was to be judged", text)

    def test_a_changed_definition_gives_other_golden_values(self):
        self.run_own("--evidence", "2")
        self.run_own(operators=self.definition(*SQUARED), out="other")
        other = self.plan("other")["definitions"]
        self.forge(lambda plan: plan.update(definitions=other))
        self.verify(1, "leaky_bias/f32/rows=3,n=17/.*: its golden value is not that of the case", "forged.tar.zst")

    def test_a_definition_whose_digest_is_another_ones_is_refused(self):
        self.run_own("--evidence", "2")
        path = self.dir / "out/plan.json"
        path.write_text(path.read_text().replace('"multiply"', '"add"'))
        self.fails(2, "plan.json cannot be read: it was changed or damaged", "bundle", "out", "-o", "run.assay.tar.zst")

    def test_a_removed_definition_leaves_cases_that_nobody_knows(self):
        self.run_own("--evidence", "2")
        self.forge(lambda plan: plan.pop("definitions"))
        self.verify(1, "plan.json: there is no operator leaky_bias, and the plan does not define it", "forged.tar.zst")

    def test_an_added_definition_is_refused(self):
        self.run_own("--evidence", "2")
        extra = self.definition('"leaky_bias"', '"another"')
        case = "another/f32/rows=3,n=17/fill=normal/seed=0"
        self.run_cases("--case", case, "--backend", "cpu", "--no-perf", "--operators", extra, out="extra")
        self.forge(lambda plan: plan["definitions"].insert(0, self.plan("extra")["definitions"][0]))
        self.verify(1, "plan.json: its definitions are not those of the operators of its cases", "forged.tar.zst")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[7:]], verbosity=2)
