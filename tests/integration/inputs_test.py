#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`assay inputs`, and `assay check --manifest` of what came back: inputs_test.py ASSAY."""
import json
import subprocess
import sys
import unittest

import numpy as np

from own_folder import OwnFolder

ASSAY = sys.argv[1]
CASES = ["softmax/f32/shape=4x33/fill=normal/seed=0", "exp/bf16/n=64/fill=normal/seed=0",
         "fft/c64/kind=c2c,n=16/fill=normal/seed=0"]


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(np.float32)


class Inputs(OwnFolder):
    def assay(self, *args):
        return subprocess.run([ASSAY, *map(str, args)], cwd=self.dir, env=self.env, capture_output=True, text=True, timeout=240)

    def write(self, *args, cases=CASES):
        done = self.assay("inputs", *[word for case in cases for word in ("--case", case)], "--out", "cases", *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {case["op"]: case for case in json.loads((self.dir / "cases/manifest.json").read_text())["cases"]}

    def check(self, code, *args):
        done = self.assay("check", "--manifest", "cases", "--out", "out", *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.text = done.stdout + done.stderr
        lines = (self.dir / "out/results.jsonl").read_text().splitlines() if (self.dir / "out").exists() else []
        return {record["op"]: record for record in map(json.loads, lines)}

    def file(self, operand):
        return self.dir / "cases" / operand["file"]

    def answer_softmax(self, case, factor=1.0):
        np.save(self.file(case["outputs"][0]), softmax(np.load(self.file(case["inputs"][0]))) * np.float32(factor))

    def answer_exp(self, case, wide):
        wanted = np.exp((np.load(self.file(case["inputs"][0])).astype(np.uint32) << 16).view(np.float32).astype(np.float64))
        bits = wanted.astype(np.float32).view(np.uint32)
        nearest = (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)
        np.save(self.file(case["outputs"][0]), (nearest.astype(np.uint32) << 16).view(np.float32) if wide else nearest)

    def answer_fft(self, case):
        np.save(self.file(case["outputs"][0]), np.fft.fft(np.load(self.file(case["inputs"][0]))).astype(np.complex64))

    def test_the_manifest_says_all_but_the_answers(self):
        cases = self.write()
        self.assertEqual([case["id"] for case in cases.values()], CASES)
        case = cases["softmax"]
        self.assertEqual(case["attrs"], {"shape": "4x33", "axis": "-1", "log": "0"})
        self.assertEqual(case["outputs"], [{"name": "y", "dtype": "f32", "shape": [4, 33], "file": f"{case['folder']}/out/y.npy"}])
        self.assertEqual(cases["exp"]["inputs"][0]["stored_as"], "u2")
        files = sorted(str(p.relative_to(self.dir / "cases")) for p in (self.dir / "cases").rglob("*") if p.is_file())
        self.assertEqual(files, sorted([f"{c['folder']}/x.npy" for c in cases.values()] + ["manifest.json"]))
        self.assertEqual(np.load(self.file(case["inputs"][0])).shape, (4, 33))

    def test_what_came_back_is_judged_and_reported_like_a_run(self):
        cases = self.write()
        self.answer_softmax(cases["softmax"])
        self.answer_exp(cases["exp"], wide=False)
        self.answer_fft(cases["fft"])
        records = self.check(0, "--backend", "mine")
        self.assertEqual({r["verdict"] for r in records.values()}, {"pass"}, self.text)
        self.assertEqual({(r["backend"], r["case_id"]) for r in records.values()}, {("mine", case) for case in CASES})
        for name in ("report.html", "junit.xml", "summary.md", "plan.json", "environment.json"):
            self.assertTrue((self.dir / "out" / name).exists(), name)
        self.assertEqual(self.assay("report", "out").returncode, 0)
        self.assertEqual(self.assay("compare", "out", "out").returncode, 0)

    def test_a_wrong_output_is_a_mismatch(self):
        case = self.write(cases=CASES[:1])["softmax"]
        self.answer_softmax(case, 1.001)
        record = self.check(1)["softmax"]
        self.assertEqual(record["verdict"], "mismatch")
        self.assertIn("1 mismatch", self.text)

    def test_contracts_are_held_against_the_suites(self):
        case = self.write(cases=CASES[:1])["softmax"]
        self.answer_softmax(case)
        self.assertEqual(self.check(1, "--contract", "bf16acc")["softmax"]["verdict"], "below_contract")

    def test_whoever_judges_may_require_another_contract(self):
        self.answer_softmax(self.write(cases=CASES[:1])["softmax"])
        weaker = ("--contract", "bf16acc;mid=bf16;math=256")
        done = self.assay("check", "--manifest", "cases", "--out", "strict", *weaker)
        self.assertIn("below_contract", done.stdout)
        done = self.assay("check", "--manifest", "cases", "--out", "asked", *weaker, "--require", "bf16acc;mid=bf16;math=256")
        self.assertNotIn("below_contract", done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        plan = json.loads((self.dir / "asked/plan.json").read_text())
        self.assertTrue(all("mid=bf16" in case["requirement"] for case in plan["cases"]))
        self.assertEqual(self.assay("report", "asked").returncode, 0)
        self.assertIn("--require", self.assay("check", "--manifest", "cases", "--out", "no", "--require", "acc=f99").stderr)

    def test_a_word_for_a_number_is_that_number(self):
        case = self.write(cases=["attention/f32/b=1,h=1,l=4,s=4,d=16/fill=normal/seed=0"])["attention"]
        self.assertEqual(float(case["attrs"]["scale"]), 0.25)

    def test_a_damaged_manifest_names_the_field(self):
        self.write()
        path = self.dir / "cases/manifest.json"
        whole = json.loads(path.read_text())
        for change, text in (({"format": "1"}, 'format is "1", and has to be an integer'), ({"cases": {}}, "cases is {}, and has to be a list"),
                             ({"cases": [{**whole["cases"][0], "folder": 3}]}, "cases[0].folder is 3, and has to be a text"),
                             ({"cases": [{"id": "x"}]}, "cases[0].requirement is missing")):
            path.write_text(json.dumps({**whole, **change}))
            done = self.assay("check", "--manifest", "cases", "--out", "out")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertNotIn("exception", done.stderr)

    def test_a_requirement_of_the_suite_is_kept(self):
        (self.dir / "own.suite").write_text("require contract=bf16acc\nsoftmax dtypes=f32 shape=4x33\n")
        done = self.assay("inputs", "--suite", "./own.suite", "--out", "cases")
        self.assertEqual(done.returncode, 0, done.stderr)
        case = json.loads((self.dir / "cases/manifest.json").read_text())["cases"][0]
        self.assertIn("acc=bf16", case["requirement"].replace("bf16acc", "acc=bf16"))
        self.answer_softmax(case, 1.001)
        self.assertEqual(self.check(0)["softmax"]["required_contract"], case["requirement"])

    def test_what_did_not_come_back_is_missing(self):
        cases = self.write()
        self.answer_exp(cases["exp"], wide=True)
        records = self.check(3)
        self.assertEqual({op: r["verdict"] for op, r in records.items()}, {"exp": "pass"})
        self.assertIn("2 missing, 1 pass", self.text)

    def test_files_that_do_not_fit_are_errors_of_their_case(self):
        cases = self.write()
        self.answer_softmax(cases["softmax"])
        self.file(cases["exp"]["outputs"][0]).write_text("nothing")
        np.save(self.file(cases["fft"]["outputs"][0]), np.zeros(5, np.complex64))
        records = self.check(3)
        self.assertEqual([records[op]["verdict"] for op in ("softmax", "exp", "fft")], ["pass", "error", "error"])
        self.assertIn("it does not begin like a .npy file", records["exp"]["reason"])
        self.assertIn("y has shape 5, expected 1x16", records["fft"]["reason"])

    def test_safetensors(self):
        case = self.write("--format", "safetensors", cases=CASES[:1])["softmax"]
        self.assertTrue(self.file(case["inputs"][0]).read_bytes()[8:].startswith(b"{"))
        data = self.file(case["inputs"][0]).read_bytes()
        x = np.frombuffer(data[8 + int.from_bytes(data[:8], "little"):], np.float32).reshape(4, 33)
        y = softmax(x)
        header = json.dumps({"y": {"dtype": "F32", "shape": [4, 33], "data_offsets": [0, y.nbytes]}}).encode()
        self.file(case["outputs"][0]).write_bytes(len(header).to_bytes(8, "little") + header + y.tobytes())
        self.assertEqual(self.check(0)["softmax"]["verdict"], "pass")

    def test_other_inputs_than_this_assays_are_said(self):
        case = self.write(cases=CASES[:1])["softmax"]
        self.answer_softmax(case)
        path = self.dir / "cases/manifest.json"
        path.write_text(path.read_text().replace(case["input_hash"], "0" * 16))
        self.assertIn("makes other inputs of the case", self.check(3)["softmax"]["reason"])

    def test_a_requirement_that_its_plan_does_not_have_is_refused(self):
        self.write(cases=CASES[:1])
        path = self.dir / "cases/manifest.json"
        manifest = json.loads(path.read_text())
        manifest["cases"][0]["requirement"] = "in=bf16; acc=f32; math=256"
        path.write_text(json.dumps(manifest))
        done = self.assay("check", "--manifest", "cases")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(f"{CASES[0]} is not in its plan with that requirement", done.stderr)

    def test_a_case_that_stands_twice_is_refused(self):
        self.write(cases=CASES[:1])
        path = self.dir / "cases/manifest.json"
        manifest = json.loads(path.read_text())
        manifest["cases"] *= 2
        path.write_text(json.dumps(manifest))
        done = self.assay("check", "--manifest", "cases")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(f"{CASES[0]} is there twice", done.stderr)

    def test_bad_input(self):
        self.write(cases=CASES[:1])
        for words, args in ((["is not empty"], ["inputs", "--case", CASES[0], "--out", "cases"]),
                            (["--out is required"], ["inputs"]),
                            (["no suite 'smoky'"], ["inputs", "--suite", "smoky", "--out", "new"]),
                            (["manifest.json", "assay inputs"], ["check", "--manifest", "absent"]),
                            (["--op excludes --manifest"], ["check", "--manifest", "cases", "--op", "exp"]),
                            (["--out excludes --op"], ["check", "--op", "exp", "--input", "x", "--output", "y", "--out", "o"]),
                            (["--op is required"], ["check"]),
                            (["--contract: "], ["check", "--manifest", "cases", "--contract", "acc=f99"])):
            done = self.assay(*args)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)
        for text in ("{}", "nothing", '{"format": 9}'):
            (self.dir / "cases/manifest.json").write_text(text)
            done = self.assay("check", "--manifest", "cases")
            self.assertEqual(done.returncode, 2)
            self.assertIn("manifest.json", done.stderr)
        self.assertEqual(self.assay("inputs", "--suite", "smoke", "--filter", "nothing", "--out", "new").returncode, 4)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
