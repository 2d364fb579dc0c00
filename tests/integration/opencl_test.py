#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The OpenCL plugin through real workers, on PoCL or whatever device the machine has: opencl_test.py ASSAY CLASS.

What goes wrong around it (no platform, a kernel that does not compile, too little memory) ends in a verdict with its
reason, and the run completes. PoCL's own variables bring these faults about.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ASSAY = sys.argv[1]
SUM = "reduce/f32/shape=3x5,axes=1/fill=normal/seed=0"
PRODUCT = "matmul/f32/m=17,n=9,k=64/fill=normal/seed=0"


class OpenCl(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.folder.name)
        self.env = dict(os.environ, ASSAY_GOLDEN_STORE=str(self.dir / "store"), NO_COLOR="1")
        for name in ("ASSAY_SHARD", "ASSAY_PLUGIN_FILES", "ASSAY_ADD_PLUGIN_FILES", "OCL_ICD_VENDORS"):
            self.env.pop(name, None)

    def tearDown(self):
        self.folder.cleanup()

    def assay(self, *args, **env):
        return subprocess.run([ASSAY, *args], cwd=self.dir, env={**self.env, **env}, capture_output=True, text=True,
                              timeout=280)

    def columns(self, **env):
        listed = json.loads(self.assay("backends", "--json", **env).stdout)
        return [b for b in listed if b["backend"] == "opencl"]

    def run_cases(self, *args, **env):
        done = self.assay("run", "--backend", "opencl", "--out", "out", "--progress", "none", "--no-perf", *args, **env)
        path = self.dir / "out/results.jsonl"
        return done, [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def on_pocl(self):
        if not any("pocl" in json.dumps(c).lower() or "Portable Computing" in json.dumps(c) for c in self.columns()):
            self.skipTest("needs PoCL, whose variables bring the fault about: install pocl-opencl-icd")


class Faults(OpenCl):
    def test_without_a_platform_it_is_unavailable_and_says_what_to_install(self):
        empty = self.dir / "no-icd"
        empty.mkdir()
        vendors = str(empty) + "/"
        columns = self.columns(OCL_ICD_VENDORS=vendors)
        self.assertEqual([c["usable"] for c in columns], [False])
        self.assertIn("pocl-opencl-icd", json.dumps(columns[0]))
        done, records = self.run_cases("--case", SUM, OCL_ICD_VENDORS=vendors)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual([r["verdict"] for r in records], ["unavailable"])
        self.assertIn("pocl-opencl-icd", records[0]["reason"])
        required = self.assay("run", "--case", SUM, "--require-backend", "opencl", "--out", "required",
                              OCL_ICD_VENDORS=vendors)
        self.assertEqual(required.returncode, 5, required.stderr)

    def test_a_kernel_that_does_not_compile_is_an_error_with_the_log(self):
        self.on_pocl()
        done, records = self.run_cases("--case", SUM, "--case", PRODUCT, POCL_EXTRA_BUILD_FLAGS="-Dkernel=nonsense")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual({r["verdict"] for r in records}, {"error"})
        self.assertEqual(len(records), 4)
        for record in records:
            self.assertIn("does not compile", record["reason"])
            self.assertIn("nonsense", record["reason"])

    def test_too_large_an_operand_is_unsupported_with_the_limit(self):
        self.on_pocl()
        case = "matmul/f32/m=8200,n=8200,k=1/fill=normal/seed=0"  # y: 269 MB; a quarter of one GiB is the limit
        done, records = self.run_cases("--case", case, POCL_MEMORY_LIMIT="1")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual({r["verdict"] for r in records}, {"unsupported"})
        self.assertIn("CL_DEVICE_MAX_MEM_ALLOC_SIZE", records[0]["reason"])
        self.assertIn("268435456", records[0]["reason"])

    def test_every_device_is_a_column(self):
        self.on_pocl()
        columns = self.columns(POCL_DEVICES="basic pthread")
        self.assertEqual(len(columns), 2, columns)
        done, records = self.run_cases("--case", SUM, POCL_DEVICES="basic pthread")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({r["verdict"] for r in records}, {"pass"})
        self.assertEqual(len({r["device"] for r in records}), 2)


class Smoke(OpenCl):
    def test_the_smoke_suite_passes_with_every_implementation(self):
        expected = {("matmul", "tiled"), ("matmul", "splitk"), ("reduce", "sequential"), ("reduce", "tree"),
                    ("conv", "direct"), ("conv", "implicit-gemm"), ("softmax", "three-pass"), ("softmax", "online"),
                    ("attention", "flash"), ("attention", "materialised")}
        if "VkFFT" in json.dumps(self.columns()):
            expected.add(("fft", "vkfft"))
        done, records = self.run_cases("--suite", "smoke")
        self.assertEqual(done.returncode, 0, done.stdout)
        ran = [r for r in records if r["implementation"]]
        wrong = [(r["case_id"], r["implementation"], r["verdict"], r["reason"]) for r in ran
                 if r["verdict"] not in ("pass", "untrusted")]
        self.assertEqual(wrong, [])
        self.assertEqual({(r["op"], r["implementation"]) for r in ran}, expected)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
