#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance suite and golden/manifest.json, which pins its inputs and golden values:
conformance_test.py ASSAY CPU_PLUGIN.
"""
import json
import pathlib
import subprocess
import sys
import unittest

from own_folder import OwnFolder

ASSAY, CPU = sys.argv[1:3]
MANIFEST = pathlib.Path(__file__).resolve().parents[2] / "golden" / "manifest.json"


class Base(OwnFolder):
    def assay(self, *args, code=0):
        done = subprocess.run([ASSAY, *map(str, args)], cwd=self.dir, env=self.env, capture_output=True, text=True,
                              timeout=800)
        self.assertEqual(done.returncode, code, done.stdout[-3000:] + done.stderr[-3000:])
        return done

    def verify(self, filters, path=MANIFEST, code=0):
        return self.assay("golden", "verify", "--manifest", path, "--filter", ":".join(filters), "--progress", "none",
                          code=code)


class Sample(Base):
    def test_the_manifest_pins_every_case_of_the_suite(self):
        listed = self.assay("list", "cases", "--suite", "conformance").stdout.split()
        pinned = json.loads(MANIFEST.read_text())
        self.assertEqual(sorted(i for i in listed if "/" in i), sorted(pinned["cases"]))
        self.assertEqual(pinned["tier"], "reproducible")
        self.assertEqual({i.split("/")[0] for i in pinned["cases"]}, {"matmul", "attention", "conv", "fft", "reduce", "softmax"})

    def test_a_changed_hash_is_found(self):
        text = MANIFEST.read_text()
        case = next(i for i in json.loads(text)["cases"] if i.startswith("softmax/f16"))
        golden = json.loads(text)["cases"][case]["golden"]
        (self.dir / "m.json").write_text(text.replace(golden, "0" * 16))
        self.assertIn(f"golden value {golden}, pinned", self.verify([case], self.dir / "m.json", code=1).stdout)
        self.verify(["no/such/case"], code=4)


class Run(Base):
    def run_suite(self, out, filters, code=0, suite="conformance"):
        self.env["ASSAY_PLUGIN_FILES"] = CPU
        self.assay("run", "--suite", suite, "--filter", filters, "--no-perf", "--out", out, "--progress", "none", code=code)
        return [json.loads(line) for line in (self.dir / out / "results.jsonl").read_text().splitlines()]

    def test_golden_values_are_of_the_reproducible_tier_and_the_pinned_ones(self):
        pinned = json.loads(MANIFEST.read_text())["cases"]
        records = self.run_suite("out", "softmax/f32/shape=7x65/*:matmul/bf16/m=67,*")
        self.assertEqual(len({r["case_id"] for r in records}), 2)
        for r in records:
            self.assertEqual(r["tier"], "reproducible")
            self.assertEqual((r["input_hash"], r["golden_hash"]),
                             (pinned[r["case_id"]]["inputs"], pinned[r["case_id"]]["golden"]))
        self.assertEqual({r["verdict"] for r in records}, {"pass"})

    def test_what_could_not_have_failed_does_not_pass(self):
        # Two sums of a million exponentials: a constant would do.
        line = "reduce dtypes=f32 shape=2x1000000 axes=1 kind=logsumexp\n"
        folder = self.dir / "my suites"
        folder.mkdir()
        for name, code in (("other", 0), ("conformance", 1)):
            (folder / f"{name}.suite").write_text(line)
            records = self.run_suite(name, "*", code, folder / f"{name}.suite")
            self.assertIn("inconclusive", {r["verdict"] for r in records})
            self.assertEqual({r["tier"] for r in records}, {"reproducible" if code else "fast"})
            self.assay("report", name, code=code)


class Whole(Base):
    def test_every_pinned_value(self):
        done = self.assay("golden", "verify", "--manifest", MANIFEST, "--progress", "none")
        self.assertIn("0 wrong", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
