#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each form in which the plugin of oneDNN describes an operator to the library: onednn_test.py ASSAY."""
import collections
import json
import pathlib
import subprocess
import sys
import unittest

from own_folder import OwnFolder

ASSAY = sys.argv[1]
SUITE = pathlib.Path(__file__).with_name("onednn.suite")
# These may fail as known_issues.toml says.
KNOWN = {"clip", "relu6", "hardsigmoid", "relu", "sigmoid", "mish", "softplus", "logsigmoid", "gelu", "log"}


class OneDnnOperators(OwnFolder):
    def test_every_case_is_computed_and_right(self):
        done = subprocess.run([ASSAY, "run", "--suite", SUITE, "--backend", "onednn", "--no-perf", "--progress", "none", "--out",
                               "out"], cwd=self.dir, env=self.env, capture_output=True, text=True)
        if done.returncode == 5:
            self.skipTest("no usable device of onednn")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        records = [json.loads(line) for line in (self.dir / "out/results.jsonl").read_text().splitlines()]
        found = collections.defaultdict(set)
        for record in records:
            found[record["case_id"]].add(record["outcome"])
            if record["outcome"].startswith("known_"):
                self.assertIn(record["op"], KNOWN, record["case_id"])
        narrow = any("bf16" in case_id and "unsupported" not in all for case_id, all in found.items())
        for case_id, outcomes in found.items():
            if "bf16" in case_id and not narrow or "scaled_mm" in case_id:
                continue  # this processor's kernels may have neither bf16 nor exact products of bytes
            self.assertNotIn("unsupported", outcomes, case_id)
        self.assertGreater(sum("pass" in outcomes for outcomes in found.values()), 150)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
