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


class OnHost(OwnFolder):
    def test_each_kernel_is_right(self):
        words = [word for case in CASES for word in ("--case", case)]
        done = subprocess.run([ASSAY, "run", "--plugin", PLUGIN, "--backend", "gpu-host", *words, "--no-perf", "--out",
                               "out", "--progress", "none"], cwd=self.dir, env=self.env, capture_output=True, text=True,
                              timeout=500)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        records = [json.loads(line) for line in (self.dir / "out" / "results.jsonl").read_text().splitlines()]
        self.assertEqual({(r["case_id"], r["implementation"]) for r in records}, {(case, "block-per-line") for case in CASES})
        for record in records:
            self.assertEqual(record["verdict"], "pass", record)

    def test_what_it_can_do_is_listed(self):
        done = subprocess.run([ASSAY, "check-plugin", PLUGIN, "--only", "capabilities"], env=self.env,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], sys.argv[3]])
