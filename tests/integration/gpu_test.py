#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The GPU plugins in real runs: gpu_test.py ASSAY FAILING_CUDA FAILING_HIP CUDA_PLUGIN HIP_PLUGIN HIP_CPU_PLUGIN GROUP
("-": not built).

Without a device every plugin loads, says what is missing and what to do, and a run goes on. Where the plugin hip-cpu was
built, the kernels that both vendors share pass the smoke suite.
"""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from own_folder import OwnFolder

ASSAY, FAILING, FAILING_HIP, CUDA, HIP, HIP_CPU = sys.argv[1:7]
CASE = "matmul/f32/m=17,n=9,k=64/fill=normal/seed=0"
IMPLEMENTATIONS = {
    ("attention", "flash"), ("attention", "flash-matrix-unit"), ("attention", "materialised"), ("conv", "direct"),
    ("conv", "implicit-gemm"), ("conv", "implicit-gemm-matrix-unit"), ("fft", "bluestein"), ("fft", "radix"),
    ("matmul", "matrix-unit"), ("matmul", "splitk"), ("matmul", "tiled"), ("reduce", "atomic"),
    ("reduce", "sequential"), ("reduce", "split"), ("reduce", "tree"), ("softmax", "online"), ("softmax", "three-pass")}


class Gpu(OwnFolder):
    def assay(self, plugin, *args, **env):
        if plugin == "-":
            self.skipTest("not built")
        return subprocess.run([ASSAY, *args], cwd=self.dir, env={**self.env, "ASSAY_PLUGIN_FILES": plugin, **env},
                              capture_output=True, text=True, timeout=500)

    def column(self, plugin, backend, **env):
        listed = json.loads(self.assay(plugin, "backends", "--json", **env).stdout)
        return next(b for b in listed if b["backend"] == backend)

    def expect_unavailable(self, plugin, backend, texts, **env):
        column = self.column(plugin, backend, **env)
        self.assertFalse(column["usable"], column)
        out = tempfile.mkdtemp(dir=self.dir)
        done = self.assay(plugin, "run", "--case", CASE, "--no-perf", "--progress", "none", "--out", out, **env)
        self.assertEqual(done.returncode, 4, done.stderr)
        records = [json.loads(line) for line in (pathlib.Path(out) / "results.jsonl").read_text().splitlines()]
        self.assertEqual([r["verdict"] for r in records], ["unavailable"])
        for text in texts:
            self.assertIn(text, json.dumps(column))
            self.assertIn(text, records[0]["reason"])

    def with_driver(self, **env):
        os.makedirs(self.dir / "driver", exist_ok=True)
        link = self.dir / "driver/libcuda.so.1"
        if not link.exists():
            link.symlink_to(FAILING)
        return {"LD_LIBRARY_PATH": str(self.dir / "driver"), **{f"ASSAY_TEST_CUDA_{k}": str(v) for k, v in env.items()}}


class Cuda(Gpu):
    def test_without_a_driver_it_says_so(self):
        try:
            ctypes.CDLL("libcuda.so.1")
            self.skipTest("this machine has NVIDIA's driver")
        except OSError:
            pass
        self.expect_unavailable(CUDA, "cuda", ["no NVIDIA driver", "libcuda.so.1"])

    def test_a_driver_older_than_the_toolkit_is_named_with_both_versions(self):
        self.expect_unavailable(CUDA, "cuda", ["runs CUDA up to 11.4", "install a newer driver"],
                                **self.with_driver(VERSION=11040, DEVICES=1))

    def test_a_driver_without_a_device(self):
        for driver in ({"VERSION": 99000, "INIT": 100}, {"VERSION": 99000, "DEVICES": 0}):
            self.expect_unavailable(CUDA, "cuda", ["no NVIDIA device", "CUDA_VISIBLE_DEVICES"],
                                    **self.with_driver(**driver))

    def test_a_driver_that_does_not_fit_its_kernel_module(self):
        self.expect_unavailable(CUDA, "cuda", ["cuInit: 803", "reboot"], **self.with_driver(VERSION=99000, INIT=803))

    def test_a_required_backend_that_is_unusable_ends_the_run(self):
        done = self.assay(CUDA, "run", "--case", CASE, "--require-backend", "cuda", "--out", "out",
                          **self.with_driver(VERSION=99000, INIT=100))
        self.assertEqual(done.returncode, 5, done.stderr)


class Hip(Gpu):
    def test_without_a_device_it_says_what_to_check(self):
        if os.path.exists("/dev/kfd"):
            self.skipTest("this machine has an AMD device")
        self.expect_unavailable(HIP, "hip", ["no AMD device", "/dev/kfd is absent", "amdgpu"])


    def with_runtime(self, **env):
        os.makedirs(self.dir / "runtime", exist_ok=True)
        for version in (5, 6, 7):
            link = self.dir / f"runtime/libamdhip64.so.{version}"
            if not link.exists():
                link.symlink_to(FAILING_HIP)
        return {"LD_LIBRARY_PATH": str(self.dir / "runtime"), **{f"ASSAY_TEST_HIP_{k}": str(v) for k, v in env.items()}}

    def run_cases(self, *args, cases=(CASE,), **env):
        """The records of a run on a device that computes nothing, and its exit code."""
        out = tempfile.mkdtemp(dir=self.dir)
        names = [part for case in cases for part in ("--case", case)]
        done = self.assay(HIP, "run", *names, *args, "--progress", "none", "--out", out,
                          **self.with_runtime(ARCH="gfx90a", **env))
        lines = (pathlib.Path(out) / "results.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines], done.returncode

    def test_a_runtime_without_a_device_or_with_one_of_another_architecture(self):
        self.expect_unavailable(HIP, "hip", ["no AMD device (none listed)"], **self.with_runtime())
        self.expect_unavailable(HIP, "hip", ["no AMD device (as the test says)"],
                                **self.with_runtime(ARCH="gfx90a", FAIL="hipGetDeviceCount:100"))
        self.expect_unavailable(HIP, "hip", ["test device is gfx803", "ASSAY_HIP_ARCHITECTURES"],
                                **self.with_runtime(ARCH="gfx803"))
        self.expect_unavailable(HIP, "hip", ["describes none of its 1 devices", "as the test says"],
                                **self.with_runtime(ARCH="gfx90a", FAIL="hipGetDeviceProperties:101"))

    def test_results_that_no_kernel_wrote_are_mismatches(self):
        records, code = self.run_cases("--no-perf")
        self.assertEqual({r["verdict"] for r in records}, {"mismatch"})
        self.assertIn("not written", records[0]["reason"])
        self.assertEqual(code, 1)

    def test_memory_that_the_device_lacks(self):
        records, code = self.run_cases("--no-perf", FAIL="hipMalloc:2")
        self.assertEqual({r["verdict"] for r in records}, {"error"})
        self.assertIn("choose a smaller case", records[0]["reason"])
        self.assertEqual(code, 3)

    def test_a_sticky_error_ends_the_worker_and_the_next_result_gets_a_new_one(self):
        once = self.shared / "once"
        for call in ("hipLaunchKernel", "hipStreamSynchronize", "hipMemcpyAsync"):
            once.touch()
            records, code = self.run_cases("--no-perf", "--jobs", "1", FAIL=f"{call}:700", ONCE=once)
            lost = [r for r in records if r["verdict"] == "error"]
            self.assertEqual(len(lost), 1, call)
            self.assertIn("(700)", lost[0]["reason"])
            self.assertIn("mismatch", {r["verdict"] for r in records}, "those after it ran")
            self.assertEqual(code, 3)


class HipCpu(Gpu):
    def test_the_smoke_suite_passes_with_every_implementation(self):
        done = self.assay(HIP_CPU, "run", "--suite", "smoke", "--no-perf", "--progress", "none", "--out", "out")
        self.assertEqual(done.returncode, 0, done.stdout)
        records = [json.loads(line) for line in (self.dir / "out/results.jsonl").read_text().splitlines()]
        ran = [r for r in records if r["implementation"]]
        wrong = [(r["case_id"], r["implementation"], r["verdict"], r["reason"]) for r in ran
                 if r["verdict"] not in ("pass", "inconclusive")]
        self.assertEqual(wrong, [])
        self.assertEqual({(r["op"], r["implementation"]) for r in ran}, IMPLEMENTATIONS)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[7:], verbosity=2)
