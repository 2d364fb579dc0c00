#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Suites of networks, and suites at a smaller scale. networks_test.py and the arguments of program.py."""
import json
import sys
import unittest

from program import Cli

SUITE = "models/llama-3-8b-decode"
FEW = "matmul/bf16*:attention/f32*"


class Networks(Cli):
    def test_all_are_listed_and_each_has_cases(self):
        networks = [name for name in self.assay("list", "suites").stdout.split() if name.startswith("models/")]
        self.assertGreaterEqual(len(networks), 20)
        for name in networks:
            whole = self.assay("list", "cases", "--suite", name).stdout.splitlines()
            small = self.assay("list", "cases", "--suite", name, "--scale", "1/8")
            self.assertGreater(len(small.stdout.splitlines()), 8, name)
            self.assertNotEqual(whole, small.stdout.splitlines())
            self.assertIn("--scale 1/8: ", small.stderr)

    def test_a_run_at_a_scale_says_what_it_did_and_weights_by_calls(self):
        done, records = self.run_cases("--suite", SUITE, "--scale", "1/8", "--backend", "cpu", "--filter", FEW, "--no-perf")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("--scale 1/8: 30 of 30 cases are smaller, such as embedding/bf16-i64-bf16/v=16064", done.stderr)
        self.assertIn("weighted by calls, cpu 100 % pass", done.stdout)
        tags = {record["case_id"].split("/fill")[0]: record["tags"] for record in records}
        self.assertEqual(tags["attention/f32/b=1,h=4,hkv=1,l=1,s=512,d=128,causal=1"], "llama-3-8b.attn,calls-32")
        # A projection of queries and one of results are one case.
        self.assertEqual(tags["matmul/bf16/m=1,n=512,k=512,transb=1"], "llama-3-8b.attn.q_proj,calls-64,llama-3-8b.attn.o_proj")
        self.assertEqual(json.loads((self.dir / "out/plan.json").read_text())["suite"], f"{SUITE} --scale 1/8")
        self.assertNotIn("--scale", records[0]["reproduce"])

    def test_mistakes(self):
        case = "matmul/f32/m=2,n=2,k=2/fill=normal/seed=0"
        self.fails(2, "'8' is no scale; give 1/2, 1/8 or another 1/N", "run", "--suite", SUITE, "--scale", "8")
        self.fails(2, "no line `scale KEYS` of suite smoke says", "run", "--suite", "smoke", "--scale", "1/8")
        self.fails(2, "--scale: name a suite", "run", "--case", case, "--scale", "1/8")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
