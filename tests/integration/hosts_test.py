#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A suite on hosts that this one can pretend to be: hosts_test.py ASSAY SUITE CLASS.

The libraries of the backends and the host's own kernels choose code by what they find: instruction sets, width of
vectors, size of caches. Each class takes one of these variables through its values, on the backend that it concerns; an
`assay run` has to end with 0 on each. What cannot be pretended is what GCC has cloned (target_clones) and the processor
that LLVM compiles for, in PoCL and in llvmpipe.
"""
import json
import platform
import subprocess
import sys
import unittest

from own_folder import OwnFolder
from pretended_host import topology

ASSAY, SUITE = sys.argv[1:3]
SMOKE = SUITE == "smoke"

# oneDNN's instruction sets in their order, as its backend names them in small letters.
ONEDNN_SETS = ["SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX512_CORE", "AVX512_CORE_VNNI", "AVX512_CORE_BF16", "AVX512_CORE_AMX"]
# Second-level caches of a small processor, of the Xeon that VkFFT's work-groups outgrew default stacks on, of a large one.
L2_BYTES = [256 << 10, 2 << 20, 4 << 20]
HOST_VECTORS = [("scalar", ""), ("avx2", "avx2"), ("avx3", "avx512vl")]


def processor_flags():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        return next((line.split(":")[1].split() for line in info if line.startswith("flags")), [])


class Hosts(OwnFolder):
    # What `assay backends` says of a backend's usable devices, in an environment.
    def devices(self, backend, **env):
        listed = json.loads(subprocess.run([ASSAY, "backends", "--json"], env={**self.env, **env}, capture_output=True,
                                           text=True, timeout=120).stdout)
        return [b for b in listed if b["backend"] == backend and b["usable"]]

    def need_device(self, backend):
        if not self.devices(backend):
            self.skipTest(f"no usable device of {backend}")

    # What a suite comes to on a backend, in an environment; the folder of the run.
    def holds(self, backend, name, *args, suite=SUITE, **env):
        out = self.dir / f"{backend}-{name}-{suite}"
        done = subprocess.run([ASSAY, "run", "--backend", backend, "--suite", suite, "--no-perf", "--progress", "none", "--out",
                               str(out), *args], env={**self.env, **env}, cwd=self.dir, capture_output=True, text=True,
                              timeout=900)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        records = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
        passed = [r for r in records if r["verdict"] == "pass"]
        self.assertGreater(len(passed), 20, done.stdout)
        return out


class OneDnn(Hosts):
    # Whether the library takes a set when it may: flags of the processor do not say (a kernel may not permit AMX).
    def takes(self, name):
        properties = self.devices("onednn", ONEDNN_MAX_CPU_ISA=name)[0]["properties"]
        return f"isa={name.lower()}" in properties.split(";")

    def test_of_every_instruction_set(self):
        self.need_device("onednn")
        if platform.machine() != "x86_64":
            self.skipTest("oneDNN's choice of instruction sets is of x86-64")
        there = [name for name in ONEDNN_SETS if self.takes(name)]
        self.assertIn("SSE41", there)
        kernels = set()
        for name in there:
            with self.subTest(name):
                self.holds("onednn", name, suite="formulas", ONEDNN_MAX_CPU_ISA=name)
                out = self.holds("onednn", name, ONEDNN_MAX_CPU_ISA=name)
                kernels.add(tuple(sorted({json.loads(line)["implementation"]
                                          for line in (out / "results.jsonl").read_text().splitlines()})))
        self.assertEqual(len(kernels), len(there), "instruction sets that made no difference")


class OpenCl(Hosts):
    def test_with_every_size_of_the_second_level_cache(self):
        self.need_device("opencl")
        for l2_bytes in L2_BYTES:
            with self.subTest(l2_bytes):
                self.holds("opencl", str(l2_bytes), **topology(l2_bytes))


class Vulkan(Hosts):
    def test_of_every_width_of_llvmpipe(self):
        self.need_device("vulkan")
        for width in ("128", "512") if SMOKE else ("128", "256", "512"):  # 256 is what it takes where there is AVX
            with self.subTest(width):
                self.holds("vulkan", width, LP_NATIVE_VECTOR_WIDTH=width)


class Host(Hosts):
    # Golden values and judgement; OpenBLAS, which no backend uses, is what NumPy and benchmarks bring.
    def test_with_every_width_of_its_vectors(self):
        for (name, flag), blas in zip(HOST_VECTORS, ("PRESCOTT", "HASWELL", "SKYLAKEX")):
            if flag and flag not in processor_flags():
                continue
            with self.subTest(name):
                store = str(self.dir / f"store-{name}")
                self.holds("cpu", name, suite="formulas", ASSAY_MAX_VECTORS=name, ASSAY_GOLDEN_STORE=store)
                out = self.holds("cpu", name, ASSAY_MAX_VECTORS=name, OPENBLAS_CORETYPE=blas, ASSAY_GOLDEN_STORE=store)
                environment = json.loads((out / "environment.json").read_text())
                self.assertEqual(environment["host_vectors"], name)
                self.assertEqual(environment["variables"]["OPENBLAS_CORETYPE"], blas)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
