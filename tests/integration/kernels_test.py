#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every implementation of each backend on small cases, judged as in any run: kernels_test.py ASSAY [GPU_HOST_PLUGIN] GROUP.
ASSAY_TEST_SHARES=3 in the environment leaves one case in three."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import unittest

from own_folder import OwnFolder

ASSAY = sys.argv[1]
SUITE = pathlib.Path(__file__).with_name("kernels.suite")
SHARES = int(os.environ.get("ASSAY_TEST_SHARES", "1"))
OF_CPU = {
    "matmul": {"naive", "blocked", "splitk"},
    "reduce": {"sequential", "pairwise", "strided"},
    "conv": {"direct", "im2col"},  # winograd-2x2-3x3 where it applies
    "softmax": {"direct", "online"},
    "attention": {"materialised", "flash-32", "flash-64"},
    "fft": {"bluestein", "direct"},  # radix where no prime is too large
}
SELECTIONS = {"argmax", "argmin"}  # have no orders of sums
OF_GPU = {"matmul": {"tiled", "splitk"}, "conv": {"direct", "implicit-gemm"}, "reduce": {"sequential", "tree"},
          "softmax": {"three-pass", "online"}, "attention": {"materialised", "flash"}, "fft": {"bluestein"},
          **dict.fromkeys(("layer_norm", "rms_norm", "fused_add_rms_norm", "softmax_backward", "log_softmax_backward"),
                          {"block-per-line"}),
          **dict.fromkeys(("cumsum", "cumprod", "top_k", "cross_entropy"), {"block-per-row"}),
          "selective_scan": {"block-per-channel"}, "paged_decode": {"block-per-head"},
          **dict.fromkeys(("rope", "rope_backward"), {"thread-per-pair"})}
OF_UNITS = {"matmul": {"matrix-unit"}, "conv": {"implicit-gemm-matrix-unit"}, "attention": {"flash-matrix-unit"}}  # of 16 bits


class Kernels(OwnFolder):
    def records_of(self, backend, *more, suite=SUITE):
        listed = json.loads(self.assay("backends", "--json", "--backend", backend, *more).stdout)
        if not any(b["usable"] for b in listed if b["backend"] in backend.split(",")):
            self.skipTest(f"no usable device of {backend}")
        done = self.assay("run", "--suite", suite, "--shard", f"1/{SHARES}", "--backend", backend, *more, "--no-perf",
                          "--progress", "none", "--out", "out")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return [json.loads(line) for line in (self.dir / "out" / "results.jsonl").read_text().splitlines()]

    def assay(self, *words):
        return subprocess.run([ASSAY, *words], cwd=self.dir, env=self.env, capture_output=True, text=True)

    def passes_of(self, backend):
        """How many results of each operator pass, after none has failed."""
        return collections.Counter(r["op"] for r in self.records_of(backend) if r["verdict"] == "pass")


class OnProcessor(Kernels):
    """cpu and onednn in one run, which computes each golden value once."""

    def test_every_implementation_is_offered_for_each_case_and_holds(self):
        listed = json.loads(self.assay("backends", "--json", "--backend", "cpu,onednn").stdout)
        usable = {b["backend"] for b in listed if b["usable"]}
        records = self.records_of(",".join(sorted(usable)))
        names, passes = collections.defaultdict(set), collections.Counter()
        for record in records:
            if record["backend"] == "onednn":
                passes[record["op"]] += record["verdict"] == "pass"
                continue
            self.assertIn(record["verdict"], ("pass", "inconclusive"), record["case_id"])
            names[record["op"], record["case_id"]].add(record["implementation"])
        for (op, case_id), offered in names.items():
            if op != "reduce" or not any(f"kind={kind}" in case_id for kind in SELECTIONS):
                self.assertLessEqual(OF_CPU[op] if "nan=ignore" not in case_id else set(), offered, case_id)
        of_all = {name for offered in names.values() for name in offered}
        self.assertLessEqual({"winograd-2x2-3x3", "radix"}, of_all)
        if "onednn" not in usable:
            self.skipTest("no usable device of onednn")
        for op, least in (("matmul", 100), ("reduce", 100), ("conv", 100), ("softmax", 30)):
            self.assertGreaterEqual(passes[op], max(1, least // SHARES), op)


class GpuOnHost(Kernels):
    """The GPU plugins' own kernels as plain C++, from description to result."""
    PLUGIN = sys.argv[2]

    def test_every_implementation_is_offered_for_each_case_and_holds(self):
        names = collections.defaultdict(set)
        for record in self.records_of("gpu-host", "--plugin", self.PLUGIN, suite=SUITE.with_name("gpu_host.suite")):
            self.assertIn(record["verdict"], ("pass", "inconclusive"), record["case_id"])
            names[record["case_id"]].add(record["implementation"])
        for case_id, offered in names.items():
            op, dtype = case_id.split("/")[:2]
            expected = OF_GPU.get(op, {"thread-per-element"})
            if "groups=3" in case_id:
                expected = {"direct"}
            elif dtype.startswith(("f16", "bf16")):
                expected = expected | OF_UNITS.get(op, set())
            self.assertLessEqual(expected, offered, case_id)
        if SHARES == 1:  # a share may have no case that is large enough for them
            self.assertLessEqual({"split", "atomic", "radix"}, set().union(*names.values()))

    def test_what_it_can_do_is_listed(self):
        done = self.assay("check-plugin", self.PLUGIN, "--only", "capabilities")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class OpenCl(Kernels):
    def test_every_implementation_holds(self):
        for op, passes in self.passes_of("opencl").items():
            self.assertGreaterEqual(passes, 50, op)


class Vulkan(Kernels):
    def test_every_implementation_holds(self):
        for op, passes in self.passes_of("vulkan").items():
            self.assertGreaterEqual(passes, 50, op)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], sys.argv[-1]])
