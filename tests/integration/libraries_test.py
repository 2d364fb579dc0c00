#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each form in which a plugin describes an operator to its library or writes a kernel for it: libraries_test.py ASSAY GROUP.
Suites of the backends' names lie beside this file."""
import collections
import json
import pathlib
import subprocess
import sys
import unittest

from own_folder import FULL, OwnFolder

ASSAY = sys.argv[1]
FOLDER = pathlib.Path(__file__).parent


class Libraries(OwnFolder):
    OF_FULL = ()  # patterns of cases that repeat in another type what a form of the short test computes

    def outcomes_of(self, backend):
        """The outcomes of each case."""
        chosen = "*" if FULL else "*:-" + ":-".join(self.OF_FULL)
        done = subprocess.run([ASSAY, "run", "--suite", FOLDER / f"{backend}.suite", "--filter", chosen, "--backend", backend,
                               "--no-perf", "--progress", "none", "--out", "out"],
                              cwd=self.dir, env=self.env, capture_output=True, text=True)
        if done.returncode == 5:
            self.skipTest(f"no usable device of {backend}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = collections.defaultdict(set)
        for line in (self.dir / "out/results.jsonl").read_text().splitlines():
            record = json.loads(line)
            found[record["case_id"]].add(record["outcome"])
        return found


class OneDnn(Libraries):
    # These may fail as known_issues.toml says.
    KNOWN = {"clip", "relu6", "hardsigmoid", "relu", "sigmoid", "mish", "softplus", "logsigmoid", "gelu", "log"}

    OF_FULL = ["max_pool/bf16*fill=normal*", *(op + "/bf16*" for op in (
        "abs clip elu gelu hard* leaky_relu neg quick_gelu reciprocal relu* selu sigmoid silu square tanh log rsqrt sub mul div "
        "maximum minimum less* greater* not_equal log_softmax* conv_backward_*").split())]

    def test_every_case_is_computed_and_right(self):
        found = self.outcomes_of("onednn")
        narrow = any("bf16" in case_id and "unsupported" not in all for case_id, all in found.items())
        for case_id, outcomes in found.items():
            if any(outcome.startswith("known_") for outcome in outcomes):
                self.assertIn(case_id.split("/")[0], self.KNOWN, case_id)
            if "bf16" in case_id and not narrow or "scaled_mm" in case_id:
                continue  # this processor's kernels may have neither bf16 nor exact products of bytes
            self.assertNotIn("unsupported", outcomes, case_id)
        self.assertGreater(sum("pass" in outcomes for outcomes in found.values()), 150 if FULL else 90)


class Kernels(Libraries):
    """Kernels of this project for a driver's compiler."""

    def hold(self, backend, least):
        found = self.outcomes_of(backend)
        for case_id, outcomes in found.items():
            self.assertLessEqual(outcomes, {"pass", "inconclusive"}, case_id)
        self.assertGreater(sum("pass" in outcomes for outcomes in found.values()), least)


class OpenCl(Kernels):
    OF_FULL = ("exp/bf16*", "*_and_mul/*16*", "*_and_mul/f64*")

    def test_every_case_is_computed_and_right(self):
        self.hold("opencl", 110 if FULL else 100)


class Vulkan(Kernels):
    OF_FULL = ("clip/*16*", "mish/*16*", "silu/*16*", "sqrt/*16*", "mish/f64*", "silu/f64*", "clip/f64*", "rms_norm/bf16*",
               "softplus/bf16*", "logsigmoid/f64*", "sign/f64*", "rsqrt/bf16*", "gelu/f64*", "gelu_and_mul/bf16*",
               "silu_and_mul/f64*", "cumprod/f64*")

    def test_every_case_is_computed_and_right(self):
        self.hold("vulkan", 130 if FULL else 110)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
