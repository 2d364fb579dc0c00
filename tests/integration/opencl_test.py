#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The OpenCL plugin through real workers, on PoCL or whatever device the machine has:
opencl_test.py ASSAY PLUGIN LAYER CLASS.

What goes wrong around it (no platform, a kernel that does not compile, too little memory) ends in a verdict with its
reason, and the run completes. PoCL's own variables bring these faults about, or failing_opencl.c, a layer of the loader
between the plugin and the driver.
"""
import json
import re
import subprocess
import sys
import unittest

from own_folder import first_of, FULL, only_full, OwnFolder
from pretended_host import topology

ASSAY, PLUGIN, LAYER = sys.argv[1:4]
SUM = "reduce/f32/shape=3x5,axes=1/fill=normal/seed=0"
PRODUCT = "matmul/f32/m=17,n=9,k=64/fill=normal/seed=0"
TRANSFORM = "fft/f32-c64/kind=r2c,n=48/fill=normal/seed=0"  # compiled once for two classes


class OpenCl(OwnFolder):
    def setUp(self):
        super().setUp()
        self.env.pop("OCL_ICD_VENDORS", None)

    def assay(self, *args, **env):
        return subprocess.run([ASSAY, *args], cwd=self.dir, env={**self.env, **env}, capture_output=True, text=True,
                              timeout=280)

    def columns(self, **env):
        return json.loads(self.assay("backends", "--json", "--backend", "opencl", **env).stdout)

    def run_cases(self, *args, out="out", **env):
        done = self.assay("run", "--backend", "opencl", "--out", out, "--progress", "none", "--no-perf", *args, **env)
        path = self.dir / out / "results.jsonl"
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

    def test_a_cache_folder_that_cannot_be_written_is_named(self):
        self.on_pocl()
        (self.dir / "file").write_text("")
        own = "/proc/x/assay/workers/opencl-[0-9a-f]{8}/pocl/kcache"
        for env, folder in (({"HOME": "/proc", "XDG_CACHE_HOME": "/proc/x"}, own),
                            ({"POCL_CACHE_DIR": str(self.dir / "file/x")}, re.escape(str(self.dir / "file/x")))):
            columns = self.columns(**env)
            self.assertEqual([c["usable"] for c in columns], [False])
            text = json.dumps(columns[0])
            self.assertRegex(text, rf"its cache folder {folder} cannot be written \(")
            self.assertIn("set POCL_CACHE_DIR or XDG_CACHE_HOME", text)
            self.assertNotIn("install pocl", text)

    def test_a_cache_folder_that_cannot_be_written_any_more_is_named(self):
        self.on_pocl()
        self.columns(XDG_CACHE_HOME=str(self.dir / "cache"))
        [own] = (self.dir / "cache/assay/workers").glob("opencl-*")
        folder = own / "pocl/kcache"
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o500)  # also for root: a worker has no right to write into any folder
        done, _ = self.run_cases("--case", SUM, XDG_CACHE_HOME=str(self.dir / "cache"))
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn(f"cannot compile: its cache folder {folder} cannot be written (", done.stdout)

    @only_full
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


class Programs(OpenCl):
    def test_kinds_and_small_shapes_of_two_types_share_one(self):
        self.on_pocl()
        cache = self.dir / "programs"
        sums = [f"reduce/f32/shape={shape},kind={kind}/fill=normal/seed=0" for kind in ("l2", "max", "mean", "prod")
                for shape in ("3x5,axes=1", "2x3x4,axes=0+2")]
        products = [f"matmul/f32/m={m},n=9,k=64{more}/fill=normal/seed=0" for m in (1, 7) for more in ("", ",transa=1")]
        convs = [f"conv/f32/n=1,c=3,o={o},{axes}/fill=normal/seed=0" for o in (1, 4, 8)
                 for axes in ("i=20,k=3", "i=9x8,k=3x3", "i=4x4x4,k=2x2x2")]
        chosen = [part for case in sums + products + convs for part in ("--case", case)]
        done, records = self.run_cases(*chosen, XDG_CACHE_HOME=str(cache))
        self.assertEqual({r["verdict"] for r in records}, {"pass"}, done.stdout + done.stderr)
        self.assertGreater(len(records), 35)
        programs = [folder for folder in cache.glob("assay/workers/opencl-*/pocl/kcache/*/*") if folder.is_dir()]
        # One of folds, one of convolutions without tiles, one that adds the parts of products; tiles in two heights each.
        self.assertLessEqual(len(programs), 7, programs)


class Stacks(OpenCl):
    """PoCL keeps a work-group's context on the stack of the thread that runs it, and tells VkFFT that the second-level
    cache is local memory: with 2 MiB of it one work-group takes a line that needs more stack than threads usually have."""

    LINE = "fft/c128/kind=c2c,n={}/fill=normal/seed=0"

    def setUp(self):
        super().setUp()
        self.on_pocl()
        if "VkFFT" not in json.dumps(self.columns()):
            self.skipTest("this plugin was built without VkFFT: install libvkfft-dev")

    def runs_a_long_line(self, **env):
        done, records = self.run_cases("--case", self.LINE.format(65536), **topology(2 << 20), **env)
        self.assertEqual([r["verdict"] for r in records], ["pass"], done.stdout + done.stderr)

    def test_hold_a_long_line_on_a_thread_of_the_driver(self):
        self.runs_a_long_line(POCL_DEVICES="pthread")

    def test_hold_a_long_line_on_the_calling_thread(self):
        self.runs_a_long_line(POCL_DEVICES="basic")

    def test_a_line_that_no_stack_holds_is_not_offered(self):
        done, [record] = self.run_cases("--case", self.LINE.format(524288), **topology(8 << 20))
        self.assertEqual(record["verdict"], "unsupported", done.stdout + done.stderr)
        self.assertIn("would not fit on a stack", record["reason"])

    @only_full
    def test_longer_and_shorter_lines_are_offered(self):
        cases = [part for n in (393216, 524288, 1048576) for part in ("--case", self.LINE.format(n))]
        done, records = self.run_cases(*cases, **topology(8 << 20))
        found = {int(r["shape"].rpartition("n=")[2]): (r["verdict"], r["reason"]) for r in records}
        self.assertEqual({n: verdict for n, (verdict, _) in found.items()},
                         {393216: "pass", 524288: "unsupported", 1048576: "pass"}, done.stdout + done.stderr)
        self.assertIn("would not fit on a stack", found[524288][1])


class Layer(OpenCl):
    """Faults of the driver, by status code."""

    def setUp(self):
        super().setUp()
        if not any(c["usable"] for c in self.columns()):
            self.skipTest("needs an OpenCL device: install pocl-opencl-icd")
        # A loader without layers would make every test below pass or fail for nothing.
        if [c["usable"] for c in self.columns(**self.fault("devices"))] != [False]:
            self.skipTest("needs an OpenCL loader with layers, as ocl-icd 2.3 is")

    def fault(self, fault, once=False):
        return {"OPENCL_LAYERS": LAYER, "ASSAY_TEST_OPENCL_FAULT": fault,
                **({"ASSAY_TEST_OPENCL_ONCE": str(self.shared / "once")} if once else {})}

    def fails_to_open(self, fault, verdict, *texts):
        done, records = self.run_cases("--case", SUM, **self.fault(fault))
        self.assertEqual({r["verdict"] for r in records}, {verdict}, done.stdout + done.stderr)
        for text in texts:
            self.assertIn(text, records[0]["reason"])
        return done.returncode

    def test_no_device(self):
        self.assertEqual(self.fails_to_open("devices", "unavailable", "no usable device", "pocl-opencl-icd"), 4)

    def test_a_driver_that_is_too_old(self):
        self.assertEqual(self.fails_to_open("old", "unavailable", "OpenCL 1.1", "older than 1.2"), 4)

    def test_too_large_an_operand(self):
        done, records = self.run_cases("--case", PRODUCT, **self.fault("alloc:4000"))  # a has 4352 bytes
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertEqual({r["verdict"] for r in records}, {"unsupported"})
        self.assertIn("CL_DEVICE_MAX_MEM_ALLOC_SIZE", records[0]["reason"])
        self.assertIn("4000", records[0]["reason"])

    def test_a_device_that_is_lost_when_it_is_opened(self):
        self.assertEqual(self.fails_to_open("context:-2", "error", "clCreateContext", "CL_DEVICE_NOT_AVAILABLE"), 3)

    def test_a_fault_ends_its_case_and_the_next_one_is_clean(self):
        expected = {
            "buffer:-4": ("clCreateBuffer", "CL_MEM_OBJECT_ALLOCATION_FAILURE", "free memory"),
            "buffer:-6": ("clCreateBuffer", "CL_OUT_OF_HOST_MEMORY", "free memory"),
            "buffer:-2": ("clCreateBuffer", "CL_DEVICE_NOT_AVAILABLE", "the device is lost"),
            "build:-6": ("clBuildProgram", "CL_OUT_OF_HOST_MEMORY", "free memory"),
            "launch:-5": ("clEnqueueNDRangeKernel of sequential", "CL_OUT_OF_RESOURCES", "free memory"),
            "launch:-4": ("clEnqueueNDRangeKernel of sequential", "CL_MEM_OBJECT_ALLOCATION_FAILURE", "free memory"),
            "launch:-2": ("clEnqueueNDRangeKernel of sequential", "CL_DEVICE_NOT_AVAILABLE", "the device is lost"),
            "finish:-36": ("clFinish", "CL_INVALID_COMMAND_QUEUE", "the device is lost"),
            "event:-5": ("a command of the queue", "CL_OUT_OF_RESOURCES", "free memory"),
        }
        for fault, texts in list(expected.items())[::1 if FULL else 2]:
            with self.subTest(fault):
                (self.shared / "once").unlink(missing_ok=True)
                done, records = self.run_cases("--case", SUM, "--case", PRODUCT, out=fault.replace(":", ""),
                                               **self.fault(fault, once=True))
                failed = [r for r in records if r["verdict"] != "pass"]
                self.assertEqual([(r["op"], r["verdict"]) for r in failed[:1]], [("reduce", "error")], done.stderr)
                for text in texts:
                    self.assertIn(text, failed[0]["reason"])
                self.assertEqual([r for r in failed if r["op"] != "reduce"], [])
                self.assertEqual(len([r for r in records if r["op"] == "matmul" and r["verdict"] == "pass"]), 2)
                self.assertEqual(done.returncode, 3)

    def test_a_kernel_that_runs_in_smaller_groups_only_is_not_offered(self):
        done, records = self.run_cases("--case", SUM, **self.fault("group:1"))
        self.assertEqual([(r["implementation"], r["verdict"]) for r in records], [("", "unsupported")], done.stderr)
        self.assertRegex(records[0]["reason"], "kernel sequential needs [0-9]+ work-items in a group; .* offers 1")

    def test_a_transform_that_the_driver_fails_is_an_error(self):
        if "VkFFT" not in json.dumps(self.columns()):
            self.skipTest("this plugin was built without VkFFT: install libvkfft-dev")
        done, records = self.run_cases("--case", TRANSFORM, **self.fault("build:-11"))
        self.assertEqual([r["verdict"] for r in records], ["error"], done.stderr)
        done, records = self.run_cases("--case", TRANSFORM, out="again", OPENCL_LAYERS=LAYER)
        self.assertEqual([r["verdict"] for r in records], ["pass"], done.stderr)

    def test_every_object_of_the_driver_is_given_back(self):
        counts = self.shared / "counts"
        env = {"OPENCL_LAYERS": LAYER, "ASSAY_TEST_OPENCL_COUNTS": str(counts)}
        cases = [] if FULL else [word for case in (SUM, PRODUCT, TRANSFORM) for word in ("--case", case)]
        checked = subprocess.run([ASSAY, "check-plugin", PLUGIN, "--only", "execute-twice,execute-batch,close-after-use", *cases],
                                 cwd=self.dir, env={**self.env, **env}, capture_output=True, text=True, timeout=280)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        lines = counts.read_text().splitlines()
        self.assertGreater(len(lines), 20)  # close-after-use opens that often
        for line in lines:
            for item in line.strip(";").split(";"):
                self.assertEqual(item.split()[1], "0", line)
        self.assertRegex(lines[-1], r"kernel 0 [1-9].*buffer 0 [1-9].*event 0 [1-9]")


class Compiled(OpenCl):
    """PoCL takes half a second to compile a kernel: what differs in sizes, layouts, masks or kinds alone shares one."""

    def kernels(self, *cases):
        cache = self.dir / "kernels"
        args = [word for case in cases for word in ("--case", case + "/fill=normal/seed=0")]
        done, records = self.run_cases(*args, out=f"run{len(list(self.dir.glob('run*')))}", POCL_CACHE_DIR=str(cache))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual({r["verdict"] for r in records} - {"pass", "inconclusive"}, set())
        return {str(path.relative_to(cache)) for path in cache.rglob("*.so")}

    def shares(self, first, *others):
        self.on_pocl()
        before = self.kernels(first)
        self.assertGreater(len(before), 0)
        self.assertEqual(self.kernels(*others) - before, set())

    @only_full
    def test_products_of_either_layout_of_b(self):
        self.shares("matmul/f32/m=17,n=33,k=65", "matmul/f32/m=20,n=18,k=70,transb=1")

    @only_full
    def test_attention_of_every_depth_and_mask(self):
        self.shares("attention/f32/b=1,h=2,l=24,d=16", "attention/f32/b=1,h=2,l=24,d=40,mask=bool",
                    "attention/f32/b=1,h=2,l=20,d=32,mask=add")

    def test_direct_convolutions_of_few_channels(self):
        self.shares("conv/f32/n=1,c=2,o=4,i=20x20,k=3x3,pad=1", "conv/f32/n=1,c=3,o=3,i=20x20,k=3x3,pad=1,bias=1")

    @only_full
    def test_small_convolutions_of_few_and_many_channels(self):
        self.shares("conv/f32/n=1,c=2,o=4,i=9x9,k=3x3", "conv/f32/n=1,c=2,o=19,i=9x9,k=3x3")

    @only_full
    def test_small_products_of_few_and_many_rows(self):
        self.shares("matmul/f32/m=3,n=33,k=65", "matmul/f32/m=1,n=18,k=70", "matmul/f32/m=40,n=18,k=70")

    @only_full
    def test_attention_of_one_query_and_several(self):
        self.shares("attention/f32/b=1,h=2,l=24,d=16", "attention/f32/b=1,h=2,l=1,s=24,d=16")

    @only_full
    def test_a_sum_and_a_mean(self):
        self.shares("reduce/f32/shape=6x40,axes=1,kind=sum", "reduce/f32/shape=60x7,axes=1,kind=mean")

    @only_full
    def test_transforms_of_every_batch_and_direction(self):
        if "VkFFT" not in json.dumps(self.columns()):
            self.skipTest("this plugin was built without VkFFT: install libvkfft-dev")
        self.shares("fft/c64/kind=c2c,n=48,batch=3", "fft/c64/kind=c2c,n=48,batch=40,dir=inv", "fft/c64/kind=c2c,n=48",
                    "fft/f32-c64/kind=r2c,n=48,batch=2")


class Smoke(OpenCl):
    def test_few_cases_pass_with_every_implementation(self):
        """One case of each operator, in different types: each type compiles a program of its own."""
        self.every_implementation_passes(*first_of(
            self.assay("list", "cases", "--suite", "smoke", "--verbose").stdout, "matmul/bf16", "matmul/f64", "reduce/f32-i64", "conv/i8-i8-i32",
            "softmax/f32", "attention/f16"), "--case", TRANSFORM)

    @only_full
    def test_the_smoke_suite_passes_with_every_implementation(self):
        self.every_implementation_passes("--suite", "smoke")

    def every_implementation_passes(self, *cases):
        expected = {("matmul", "tiled"), ("matmul", "splitk"), ("reduce", "sequential"), ("reduce", "tree"),
                    ("conv", "direct"), ("conv", "implicit-gemm"), ("softmax", "three-pass"), ("softmax", "online"),
                    ("attention", "flash"), ("attention", "materialised")}
        if "VkFFT" in json.dumps(self.columns()):
            expected.add(("fft", "vkfft"))
        done, records = self.run_cases(*cases)
        self.assertEqual(done.returncode, 0, done.stdout)
        ran = [r for r in records if r["implementation"]]
        wrong = [(r["case_id"], r["implementation"], r["verdict"], r["reason"]) for r in ran
                 if r["verdict"] not in ("pass", "inconclusive")]
        self.assertEqual(wrong, [])
        self.assertEqual({(r["op"], r["implementation"]) for r in ran}, expected)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
