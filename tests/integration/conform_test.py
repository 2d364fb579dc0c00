#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""assay conform, its bundle, and what verifying that finds: conform_test.py ASSAY CPU_PLUGIN CONTROL_PLUGIN
PACK_BUNDLE ALTERED_PLUGIN"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from own_folder import FULL, only_full, OwnFolder

ASSAY, CPU, CONTROL, PACK_BUNDLE, ALTERED = sys.argv[1:6]
PROFILES = pathlib.Path(__file__).resolve().parents[2] / "ops/profiles"
PROFILE = """cases = "mine.suite"
mandatory = ["matmul/f32", "softmax/f32"]
[control]
cases = "control.suite"
sound = ["matmul:legal.split-k-4"]
faulty = ["matmul:fault.last-k-dropped-in-one-element", "matmul:fault.writes-behind-the-end"]
"""
SUITE = "matmul dtypes=f32|f16 m=7|33 n=5 k=129 fill=normal\nsoftmax dtypes=f32 shape=7x65 fill=normal\n"


class Conform(OwnFolder):
    BAD = ("--plugin", f"bad={CONTROL}")  # the kernels of the control, as somebody's
    kept = {}  # folders of runs that several tests need, which forge them

    def setUp(self):
        super().setUp()
        self.env["ASSAY_PLUGIN_FILES"] = CPU
        self.write("mine.toml", PROFILE)
        self.write("mine.suite", SUITE)
        self.write("control.suite", "matmul dtypes=f32 m=67 n=65 k=131 bias=1\n")

    def write(self, name, text):
        (self.dir / name).write_text(text)

    def assay(self, *args, code=0):
        done = subprocess.run([ASSAY, *map(str, args)], cwd=self.dir, env=self.env, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, code, done.stdout[-3000:] + done.stderr[-3000:])
        return done

    def conform(self, *more, code=0, backend="cpu", out="out"):
        return self.assay("conform", "--profile", "mine.toml", "--backend", backend, "--out", out, "--progress", "none", *more, code=code)

    def finding(self, out="out"):
        return json.loads((self.dir / out / "conformance.json").read_text())

    def test_a_correct_backend_conforms_and_its_bundle_says_so(self):
        done = self.conform()
        self.assertRegex(done.stdout, r"\nCONFORMANT mine \(not shipped, [0-9a-f]{12}\): matmul \(f32\), softmax \(f32\) \+ "
                                      r"matmul \(f16\), 0 waivers\n$")
        sentence = self.finding()["sentence"]
        self.assertIn(sentence, done.stdout)
        self.assertIn("CONFORMANT mine", (self.dir / "out/summary.md").read_text())
        self.assertIn("CONFORMANT mine", (self.dir / "out/report.html").read_text())
        self.assertTrue((self.dir / "out/control/results.jsonl").exists())
        self.assay("bundle", "out", "--out", "out.assay.tar.zst")
        verified = self.assay("verify", "out.assay.tar.zst", "--profile", "mine.toml", "--progress", "none").stdout
        self.assertIn("conformance, with a seed that follows from the draw: " + sentence, verified)
        self.assertRegex(verified, r"; outputs of (\d+) of \1 results \(100 %\) were judged again")
        unknown = self.assay("verify", "out.assay.tar.zst", "--progress", "none", code=1).stdout
        self.assertIn("the profile of this bundle is mine (not shipped", unknown)

    def test_cases_that_end_differently_are_told_apart_when_the_bundle_is_verified(self):
        self.write("mine.suite", SUITE + "matmul dtypes=e4m3-e4m3-f32 m=7 n=5 k=129\n")  # which cpu has not
        sentence = self.finding()["sentence"] if self.conform() else ""
        self.assertRegex(sentence, r"^CONFORMANT mine .*; not shown: matmul \(fp8")
        self.assay("bundle", "out", "--out", "out.assay.tar.zst")
        verified = self.assay("verify", "out.assay.tar.zst", "--profile", "mine.toml", "--progress", "none").stdout
        self.assertIn(sentence, verified)

    def test_the_seed_follows_from_secret_and_challenge(self):
        self.write("secret", "0123456789abcdef0123456789abcdef")
        seeds = []
        for out, challenge in (("a", "x"), ("b", "y")):
            self.conform("--evidence-seed", "secret", "--challenge", challenge, out=out)
            seeds.append(self.finding(out)["seed"])
            ids = {json.loads(line)["case_id"] for line in (self.dir / out / "results.jsonl").read_text().splitlines()}
            self.assertEqual({i.rsplit("=", 1)[1] for i in ids}, {str(seeds[-1])})
        self.assertNotEqual(*seeds)

    def conform_once(self, *more, out, code=0, **named):
        """Returns the text that conform() prints; a later test with the same arguments gets a copy of the first one's folder."""
        if more not in self.kept:
            printed = self.conform(*more, out=out, code=code, **named).stdout
            folder = tempfile.TemporaryDirectory()
            shutil.copytree(self.dir / out, folder.name + "/run")
            self.kept[more] = folder, printed
        shutil.copytree(self.kept[more][0].name + "/run", self.dir / out, dirs_exist_ok=True)
        return self.kept[more][1]

    def pack(self, run):
        subprocess.run([PACK_BUNDLE, run, f"{run}.assay.tar.zst"], cwd=self.dir, env=self.env, check=True)

    def forged(self, change):
        """Returns the answer of verify to a bundle of a run that `change` forged."""
        shutil.rmtree(self.dir / "forged", True)
        (self.dir / "forged.assay.tar.zst").unlink(missing_ok=True)
        self.conform_once(out="forged")
        change(self.dir / "forged")
        self.pack("forged")
        return self.assay("verify", "forged.assay.tar.zst", "--profile", "mine.toml", "--progress", "none", code=1).stdout

    def test_another_sentence_is_refused(self):
        def claim_more(run):
            path = run / "conformance.json"
            path.write_text(path.read_text().replace("matmul (f16)", "matmul (f16 f64)"))
        self.assertIn("conformance.json: profile, records and control give another result: CONFORMANT", self.forged(claim_more))

    def test_a_chosen_seed_is_refused(self):
        def choose(run):
            path = run / "conformance.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), "seed": 7}))
        self.assertRegex(self.forged(choose), r"conformance.json: the draw gives seed \d+, and it states 7")

    def test_a_control_that_shows_nothing_is_refused(self):
        self.assertIn("conformance.json: profile, records and control give another result: NOT CONFORMANT",
                      self.forged(lambda run: (run / "control/results.jsonl").write_text("")))

    def test_what_is_not_the_profiles_is_refused(self):
        def edit(name, change):
            def apply(run):
                path = run / name
                lines = [json.loads(line) for line in path.read_text().splitlines()]
                path.write_text("".join(json.dumps(change(line)) + "\n" for line in lines))
            return apply

        self.write("mine.suite", "require contract=f16acc\n" + SUITE)
        self.conform(out="weaker")
        self.write("mine.suite", SUITE)
        self.pack("weaker")
        verified = self.assay("verify", "weaker.assay.tar.zst", "--profile", "mine.toml", "--progress", "none", code=1).stdout
        self.assertIn("plan.json: its cases, or what they require, are not those of the profile mine", verified)
        self.assertIn("offers.jsonl: without the list of offers", self.forged(lambda run: (run / "offers.jsonl").unlink()))
        self.assertIn("several devices", self.forged(edit("results.jsonl", lambda r: {**r, "backend": "other"} if r["op"] == "softmax" else r)))
        self.assertIn("is not a result of the control with seed", self.forged(edit("control/results.jsonl", lambda r: {**r, "backend": "cpu"})))
        self.assertIn("it is pass and has no hash of its outputs", self.forged(edit("results.jsonl", lambda r: {**r, "output_hash": ""})))
        self.assertIn("the bundle has no statement of conformance", self.forged(lambda run: (run / "conformance.json").unlink()))

        def praise(run):
            path = run / "environment.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), "conformance": "CONFORMANT everything"}))
        self.assertIn("it differs about the conformance: CONFORMANT everything", self.forged(praise))

    def test_a_sample_of_nothing_is_no_evidence(self):
        def draw_none(run):
            path = run / "evidence.json"
            path.write_text(path.read_text().replace('"count": 1000', '"count": 0'))
        self.assertRegex(self.forged(draw_none), r"evidence.json: outputs of 0 results were drawn, and a statement of conformance needs "
                                                 r"those of \d+")

    @only_full
    def test_a_failing_run_does_not_become_conformant(self):
        """Wrong and unsupported records become passes, with invented inputs, golden values and outputs."""
        self.conform_once(*self.BAD, backend="bad", code=1, out="forged")
        path = self.dir / "forged/results.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for r in lines:
            if r["verdict"] == "pass":
                continue
            for key in [k for k in r if k.endswith("_nonfinite")]:
                del r[key]
            r.update(verdict="pass", outcome="pass", reason="", violations=0, nonfinite_mismatch=0, bound_margin=0.5, exact_margin=0,
                     exceptional_margin=0, stat_margin=0.5, lower_class="", lower_class_name="", decided_by="", deterministic=True,
                     metamorphic_margin=None, output_hash="0123456789abcdef", input_hash="0123456789abcdef",
                     golden_hash="0123456789abcdef", **{"class": "within_class"})
            r["contract"] = r["contract"] or "f32acc"
        path.write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in lines))
        self.pack("forged")
        verified = self.assay("verify", "forged.assay.tar.zst", "--profile", "mine.toml", "--progress", "none", code=1).stdout
        self.assertIn("its inputs are not those of the case", verified)
        self.assertIn("drawn, and its outputs", verified)
        self.assertNotIn("conformance, with a seed", verified)

    def test_wrong_kernels_do_not_conform(self):
        self.env["ASSAY_ALTER"] = "two-devices"  # the second computes wrongly
        printed = self.conform("--plugin", ALTERED, backend="vendor:1", code=1).stdout
        self.assertRegex(printed, r"\nNOT CONFORMANT mine .*matmul/f32: of 2 cases 2 wrong or missing")
        self.assertFalse(self.finding()["conforms"])

    def test_what_skips_a_mandatory_feature_does_not_conform(self):
        self.write("mine.suite", SUITE.splitlines()[0] + "\nmatmul dtypes=e4m3-e4m3-f32 m=7 n=5 k=129\n")
        self.write("mine.toml", PROFILE.replace("softmax/f32", "matmul/fp8"))
        self.assertIn("matmul/fp8: of 1 case 1 unsupported", self.conform(code=1).stdout)

    def test_a_pool_is_no_device(self):
        self.assertIn("a profile is about one device, and each device of a pool runs only some cases: name one "
                      "with --backend NAME:INDEX", self.conform("--devices", "pool", code=2).stderr)
        self.assertFalse((self.dir / "out").exists())

    def test_nothing_runs_where_the_control_does_not_hold(self):
        self.write("mine.toml", PROFILE.replace("fault.writes-behind-the-end", "legal.pairwise"))
        done = self.conform(code=3)
        self.assertIn("would prove nothing: none was found wrong of the results of the faulty matmul:legal.pairwise", done.stderr)
        self.assertFalse((self.dir / "out/results.jsonl").read_text())
        self.write("mine.toml", PROFILE.replace('sound = ["matmul:legal.split-k-4"]', 'sound = ["matmul:fault.split-k-leaves-a-gap"]'))
        self.assertIn("not every result passed of the sound matmul:fault.split-k", self.conform(code=3, out="other").stderr)

    def test_without_the_control_nothing_is_begun(self):
        (self.dir / "bin").mkdir()
        alone = shutil.copy(ASSAY, self.dir / "bin/assay")
        done = subprocess.run([alone, "conform", "--profile", "mine.toml", "--backend", "cpu", "--out", "out"], cwd=self.dir,
                              env=self.env, capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(f"the negative control needs {self.dir}/lib/assay/corpus/libassay_control.so: build it", done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertFalse((self.dir / "out").exists())

    def test_mistakes(self):
        self.assertIn("--backend nosuch", self.conform(backend="nosuch", code=2).stderr)
        for name, hint in (("mine", ""), ("conformance-2", "; did you mean 'conformance-2.0'?")):
            self.assertIn("unknown profile; known: conformance-1.0, conformance-2.0. Give a path that ends in .toml for one of your own" + hint + "\n",
                          self.assay("conform", "--profile", name, "--backend", "cpu", code=2).stderr)
        self.assay("conform", code=2)  # of which backend?

    def test_profiles_are_listed(self):
        self.assertEqual(self.assay("list", "profiles").stdout.splitlines(), ["conformance-1.0", "conformance-2.0"])


class Shipped(OwnFolder):
    """An installation has the program, and the plugin with the kernels of the control alone."""

    def test_every_kernel_of_the_shipped_control_is_in_its_plugin_and_holds(self):
        for folder, file in (("bin", ASSAY), ("lib/assay/plugins", CPU), ("lib/assay/corpus", CONTROL)):
            (self.dir / folder).mkdir(parents=True)
            shutil.copy(file, self.dir / folder)
        shipped = (PROFILES / "conformance-1.0.toml").read_text()
        control = shipped[shipped.index("[control]"):]
        names = re.findall(r'"(\w+):((?:legal|fault)\.[^"]*)"', control)
        self.assertEqual(len(names), 31)
        suite = (PROFILES / "conformance-1.0.control.suite").read_text()
        if not FULL:  # the kernels of two operators are executed, and the others are there
            for _, name in names:
                self.assertIn(b"\0" + name.encode() + b"\0", pathlib.Path(CONTROL).read_bytes())
            names = [name for name in names if name[0] in ("reduce", "fft")]
            control = "[control]\ncases = \"conformance-1.0.control.suite\"\n"
            for kind in ("sound", "faulty"):
                control += f"{kind} = {[':'.join(name) for name in names if name[1].startswith('legal.') == (kind == 'sound')]}\n"
            suite = "".join(line + "\n" for line in suite.splitlines() if line.startswith(("reduce", "fft")))
        sound = sum(name.startswith("legal.") for _, name in names)
        (self.dir / "conformance-1.0.control.suite").write_text(suite)
        (self.dir / "mine.suite").write_text("matmul dtypes=f32 m=7 n=5 k=129 fill=normal\n")
        (self.dir / "mine.toml").write_text('cases = "mine.suite"\nmandatory = ["matmul/f32"]\n' + control)
        done = subprocess.run([self.dir / "bin/assay", "conform", "--profile", "mine.toml", "--backend", "cpu", "--out", "out", "--progress",
                               "none"], cwd=self.dir, env=self.env, capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"control: all {len(names) - sound} faulty kernels were rejected, all {sound} sound ones passed", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]])
