#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The GPU plugins' kernels of operators that are formulas, as plain C++ on the host, judged like any backend's:
gpu_lines_test.py ASSAY PLUGIN CLASS.
"""
import json
import subprocess
import sys
import unittest

from own_folder import OwnFolder

ASSAY, PLUGIN = sys.argv[1:3]
CASES = ("layer_norm/f32/rows=2,n=301,stats=1/fill=normal/seed=0", "rms_norm/f64/rows=1,n=40/fill=outlier/seed=0",
         "fused_add_rms_norm/bf16/rows=1,n=301/fill=normal/seed=0", "softmax_backward/f16/rows=1,n=257/fill=normal/seed=0")
POINTS = [f"{op}/{types}/{shape}/fill=normal/seed=0" for types in ("f64", "f32", "bf16", "f16")
          for op, shape in (*((op, "n=301") for op in ("exp", "log", "tanh", "erf", "rsqrt", "gelu")),
                            ("gelu", "n=301,approx=tanh"), ("silu_and_mul", "rows=2,n=150"))]


class OnHost(OwnFolder):
    def test_each_kernel_is_right(self):
        self.expect_passes(CASES, "block-per-line")
        self.expect_passes(POINTS, "thread-per-element")

    def expect_passes(self, cases, implementation):
        words = [word for case in cases for word in ("--case", case)]
        done = subprocess.run([ASSAY, "run", "--plugin", PLUGIN, "--backend", "gpu-host", *words, "--no-perf", "--out",
                               implementation, "--progress", "none"], cwd=self.dir, env=self.env, capture_output=True, text=True,
                              timeout=500)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        records = [json.loads(line) for line in (self.dir / implementation / "results.jsonl").read_text().splitlines()]
        self.assertEqual({(r["case_id"], r["implementation"]) for r in records}, {(case, implementation) for case in cases})
        for record in records:
            self.assertEqual(record["verdict"], "pass", record)

    def test_what_it_can_do_is_listed(self):
        done = subprocess.run([ASSAY, "check-plugin", PLUGIN, "--only", "capabilities"], env=self.env,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], sys.argv[3]])
