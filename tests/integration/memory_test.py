#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a large case takes of the host's memory, and how workers allocate: memory_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY OTHER_MAJOR."""
import json
import os
import subprocess
import sys
import unittest

from program import ASSAY, Cli, PLUGIN

M, N, K = 1536, 1536, 2048
TENSORS = 4 * (M * K + K * N + M * N)


class Memory(Cli):
    # Golden values, S, sigma and errors are five times an f32 output alone, each twin seven times, and four images of
    # all operands are shared with a worker: they fit when they are not all there at once.
    def test_a_large_case_takes_three_times_its_tensors_and_a_fixed_part(self):
        out = self.dir / "out"
        with open(os.devnull, "w") as null:
            run = subprocess.Popen([ASSAY, "run", "--case", f"matmul/f32/m={M},n={N},k={K}/fill=normal/seed=0",
                                    "--backend", "cpu", "--impl", "naive", "--perf-time", "0.01", "--progress", "none", "--jobs", "2",
                                    "--out", str(out)], cwd=self.dir, env=self.env, stdout=null, stderr=null)
            _, status, usage = os.wait4(run.pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.assertIn('"verdict":"pass"', (out / "results.jsonl").read_text())
        self.assertLess(usage.ru_maxrss * 1024, 3 * TENSORS + 300e6)

    # Its memory is the plugin's, which is to behave as in any other program.
    def test_workers_allocate_as_the_system_does(self):
        done = self.assay("backends", "--json", "--plugin", PLUGIN, "--backend", "misbehaving",
                          env={"ASSAY_MISBEHAVE": "tells_malloc"})
        [backend] = json.loads(done.stdout)
        self.assertEqual(backend["version"], "default malloc", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
