#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A suite on hosts that this one can pretend to be: hosts_test.py ASSAY OPENBLAS_PLUGIN SUITE CLASS.

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

from own_folder import FULL, OwnFolder
from pretended_host import topology

ASSAY, OPENBLAS_PLUGIN, SUITE = sys.argv[1:4]
SMOKE = SUITE == "smoke"

# oneDNN's instruction sets in their order, as its backend names them in small letters.
ONEDNN_SETS = ["SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX512_CORE", "AVX512_CORE_VNNI", "AVX512_CORE_BF16", "AVX512_CORE_AMX"]
# Second-level caches of a small processor, of the Xeon that VkFFT's work-groups outgrew default stacks on, of a large one.
L2_BYTES = [256 << 10, 2 << 20, 4 << 20]
# OpenBLAS's processors, as its library calls them, with the last of the flags that their kernels need.
OPENBLAS_CORES = [("Prescott", "sse3"), ("Nehalem", "sse4_2"), ("Haswell", "avx2"), ("SkylakeX", "avx512vl")]
HOST_VECTORS = [("scalar", ""), ("avx2", "avx2"), ("avx3", "avx512vl")]


def processor_flags():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        return next((line.split(":")[1].split() for line in info if line.startswith("flags")), [])


class Hosts(OwnFolder):
    # Lists a backend's usable devices in an environment, as `assay backends` does.
    def devices(self, backend, **env):
        listed = json.loads(subprocess.run([ASSAY, "backends", "--json"], env={**self.env, **env}, capture_output=True,
                                           text=True, timeout=120).stdout)
        return [b for b in listed if b["backend"] == backend and b["usable"]]

    def need_device(self, backend):
        if not self.devices(backend):
            self.skipTest(f"no usable device of {backend}")

    # Runs a suite on a backend in an environment and returns the folder of the run. A busy machine may take long, and
    # ctest limits the whole test.
    def holds(self, backend, name, *args, suite=SUITE, least=20, **env):
        out = self.dir / f"{backend}-{name}-{suite}"
        done = subprocess.run([ASSAY, "run", "--backend", backend, "--suite", suite, "--no-perf", "--progress", "none", "--out",
                               str(out), *args], env={**self.env, **env}, cwd=self.dir, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        records = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
        passed = [r for r in records if r["verdict"] == "pass"]
        self.assertGreater(len(passed), least, done.stdout)
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
                if not SMOKE or name in ("SSE41", "AVX", there[-1]):  # AVX: eight lanes, no FMA
                    self.holds("onednn", name, suite="formulas", ONEDNN_MAX_CPU_ISA=name)
                out = self.holds("onednn", name, ONEDNN_MAX_CPU_ISA=name)
                kernels.add(tuple(sorted({json.loads(line)["implementation"]
                                          for line in (out / "results.jsonl").read_text().splitlines()})))
        self.assertEqual(len(kernels), len(there), "instruction sets that made no difference")


class OpenBlas(Hosts):
    def test_of_every_processor_of_its_kernels(self):
        if platform.machine() != "x86_64":
            self.skipTest("these processors of OpenBLAS are of x86-64")
        flags = processor_flags() + ["sse3"]  # which Linux calls pni
        there = [name for name, flag in OPENBLAS_CORES if flag in flags]
        if not FULL:
            there = sorted({there[0], there[-1]}, key=there.index)
        sums = set()
        for core in there:
            with self.subTest(core):
                out = self.holds("openblas", core, "--plugin", f"openblas={OPENBLAS_PLUGIN}", least=5,
                                 OPENBLAS_CORETYPE=core.upper())
                environment = json.loads((out / "environment.json").read_text())
                self.assertEqual(environment["variables"]["OPENBLAS_CORETYPE"], core.upper())
                device = next(d for d in environment["backends"] if d["backend"] == "openblas")
                self.assertEqual(device["properties"], f"core={core}")  # in the worker
                records = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
                sums.add(tuple(r["output_hash"] for r in records if r["verdict"] == "pass"))
        self.assertTrue(len(sums) > 1 or len(there) == 1, "kernels of other processors that round alike")


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
    # Golden values and judgement.
    def test_with_every_width_of_its_vectors(self):
        for name, flag in HOST_VECTORS:
            if flag and flag not in processor_flags():
                continue
            with self.subTest(name):
                store = str(self.dir / f"store-{name}")
                if not SMOKE or name == "scalar":  # what no other test here runs
                    self.holds("cpu", name, suite="formulas", ASSAY_MAX_VECTORS=name, ASSAY_GOLDEN_STORE=store)
                out = self.holds("cpu", name, ASSAY_MAX_VECTORS=name, ASSAY_GOLDEN_STORE=store)
                environment = json.loads((out / "environment.json").read_text())
                self.assertEqual(environment["host_vectors"], name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
