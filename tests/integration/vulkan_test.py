#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The vulkan plugin in real runs: vulkan_test.py ASSAY VULKAN_PLUGIN FAILING_LOADER GROUP.

The smoke suite holds on the device that is there; the validation layer finds nothing to say; every fault of loader,
driver and device ends in its documented verdict. Without a Vulkan device the tests that need one are skipped.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from own_folder import first_of, only_full, OwnFolder

ASSAY, PLUGIN, FAILING = sys.argv[1:4]
CASE = "matmul/f32/m=17,n=9,k=64/fill=normal/seed=0"
LAYER = "VK_LAYER_KHRONOS_validation"


def real_loader():
    for line in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout.splitlines():
        if line.strip().startswith("libvulkan.so.1"):
            return line.split("=>")[1].strip()
    return None


class Vulkan(OwnFolder):
    def setUp(self):
        super().setUp()
        self.env["ASSAY_PLUGIN_FILES"] = PLUGIN

    def assay(self, *args, env=None):
        return subprocess.run([ASSAY, *args], cwd=self.dir, env={**self.env, **(env or {})}, capture_output=True,
                              text=True, timeout=500)

    def backends(self, env=None):
        return self.assay("backends", env=env).stdout

    def need_device(self):
        text = self.backends()
        if "usable  device" not in text:
            self.skipTest("no Vulkan device: " + text)

    def run_cases(self, *args, env=None):
        out = tempfile.mkdtemp(dir=self.dir)
        done = self.assay("run", "--backend", "vulkan", "--progress", "none", "--no-perf", "--out", out, *args, env=env)
        path = pathlib.Path(out) / "results.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return done, records


    def validation(self):
        """Variables with which the layer writes what it has to say into validation.log; none where it is not installed."""
        layers = [pathlib.Path(f) for f in ("/usr/share/vulkan/explicit_layer.d", "/etc/vulkan/explicit_layer.d")]
        if not any(LAYER in f.read_text() for folder in layers if folder.is_dir() for f in folder.glob("*.json")):
            return {}
        settings = self.dir / "vk_layer_settings.txt"
        settings.write_text("khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG\n"
                            "khronos_validation.report_flags = error,warn,info\n"
                            f"khronos_validation.log_filename = {self.shared / 'validation.log'}\n"
                            "khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT\n")
        return {"VK_INSTANCE_LAYERS": LAYER, "VK_LAYER_SETTINGS_PATH": str(settings), "ASSAY_VULKAN_STAGING": "1"}

    def layer_is_silent(self):
        text = (self.shared / "validation.log").read_text()
        self.assertIn("Validation Layer Active", text)  # it was there, and heard
        complaints = [line for line in text.splitlines() if "Error" in line or "Warning" in line or "VUID" in line]
        self.assertEqual(complaints, [], "\n".join(complaints[:20]))


class Smoke(Vulkan):
    def test_every_implementation_holds_and_the_layer_has_nothing_to_say(self):
        """On a case of each operator, in different types. Without the layer, that is not looked for."""
        cases = first_of(self.assay("list", "cases", "--suite", "smoke", "--verbose").stdout, "matmul/f32", "matmul/f64", "reduce/f32-i64",
                         "conv/i8-i8-i32", "softmax/f32", "attention/bf16", "fft/f32-c64")
        env = self.validation()
        self.every_implementation_holds(*cases, "--relations", "none", env=env)
        if env:
            self.layer_is_silent()

    @only_full
    def test_every_implementation_holds_in_the_whole_suite(self):
        self.every_implementation_holds("--suite", "smoke")

    def every_implementation_holds(self, *cases, env=None):
        self.need_device()
        done, records = self.run_cases(*cases, env=env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        failing = [(r["case_id"], r["implementation"], r["reason"]) for r in records
                   if r["verdict"] not in ("pass", "unsupported", "inconclusive", "known_failure")]
        self.assertEqual(failing, [])
        ran = {(r["op"], r["implementation"]) for r in records if r["verdict"] == "pass"}
        wanted = {"matmul": {"tile", "subgroup-tile", "subgroup-dot"}, "reduce": {"tree", "split"},
                  "softmax": {"direct", "online", "direct-builtin"},
                  "attention": {"materialised", "flash", "flash-builtin"}, "conv": {"direct", "implicit-gemm"},
                  "fft": {"radix", "bluestein"}}
        for op, names in wanted.items():
            # A device without full subgroups lacks those; lavapipe has all.
            self.assertTrue({name for o, name in ran if o == op} & names, op)
        if any("llvmpipe" in r["device"] for r in records):
            self.assertEqual(ran, {(op, name) for op, names in wanted.items() for name in names})

    def test_device_time_is_measured(self):
        self.need_device()
        done = self.assay("run", "--backend", "vulkan", "--progress", "none", "--perf", "--out", "out", "--case", CASE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        records = [json.loads(line) for line in (self.dir / "out" / "results.jsonl").read_text().splitlines()]
        clock = "host" if "timestamp_ns=absent" in self.backends() else "device"
        self.assertEqual({r["timing_clock"] for r in records}, {clock})
        self.assertTrue(all(r["time_median_s"] > 0 for r in records))


class Validation(Vulkan):
    def test_the_layer_has_nothing_to_say(self):
        self.need_device()
        env = self.validation()
        if not env:
            self.skipTest(f"{LAYER} is not installed; install vulkan-validationlayers")
        done, records = self.run_cases("--suite", "smoke", "--relations", "none", env=env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(sum(r["verdict"] == "pass" for r in records), 50)
        self.layer_is_silent()


class Formulas(Vulkan):
    def test_functions_windows_norms_and_turned_pairs(self):
        """In f32, f16 and f64, one small case each: every operator passes, with the types that it has."""
        self.need_device()
        attributes = {"log": "n=2049", "sin": "n=2049", "cos": "n=2049", "erf": "n=2049", "rope": "b=2,l=7,h=3,d=10", "rope_backward": "b=2,l=7,h=3,d=10",
                      "avg_pool": "n=2,c=3,h=9,w=7,k=3,pad=1,count_pad=1", "lp_pool": "n=2,c=3,h=9,w=7,k=3,pad=1",
                      "max_pool": "n=2,c=3,h=9,w=7,k=3,pad=1", "adaptive_avg_pool": "n=2,c=3,h=9,w=7,oh=4,ow=5",
                      "group_norm": "b=3,g=2,c=3,n=40", "instance_norm": "n=2,c=3,s=65", "batch_norm": "n=2,c=3,s=65"}
        cases = [f"{op}/{dtype}/{text}/fill=normal/seed=0" for op, text in attributes.items() for dtype in ("f32", "f16", "f64")]
        cases.append("sin/f32/n=2049/fill=large/seed=0")  # numbers whose 24 bits lie far above those that a turn needs
        done, records = self.run_cases(*(word for case in cases for word in ("--case", case)))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        passed = {r["case_id"] for r in records if r["verdict"] == "pass"}
        refused = {r["case_id"] for r in records if r["verdict"] == "unsupported"}
        self.assertEqual((len(passed), refused), (len(cases) - 2, {case for case in cases if case.startswith(("sin/f64", "cos/f64"))}))


class Loops(Vulkan):
    def implementations(self, k):
        done, records = self.run_cases("--case", f"matmul/f32/m=8,n=8,k={k}/fill=normal/seed=0")
        self.assertEqual(done.returncode, 0, done.stdout)
        return {r["implementation"]: r["verdict"] for r in records}

    def test_a_kernel_whose_loops_a_driver_would_leave_early_is_not_offered(self):
        self.need_device()
        if "llvmpipe" not in self.backends():
            self.skipTest("this driver has no limit for loops")
        self.assertEqual(self.implementations(49000), {"tile": "pass", "subgroup-tile": "pass", "subgroup-dot": "pass"})
        self.assertEqual(self.implementations(65536), {"subgroup-dot": "pass"})


class Cache(Vulkan):
    FEW = ("--case", CASE, "--impl", "tile", "--relations", "none")  # kernels that are compiled each time

    def setUp(self):
        super().setUp()
        self.env["XDG_CACHE_HOME"] = str(self.dir / "cache")

    def files(self):
        return list((self.dir / "cache/assay/workers").glob("vulkan-*/assay/vulkan/*.pipelines"))

    def test_pipelines_are_kept_and_a_damaged_file_is_ignored(self):
        self.need_device()
        self.assertIn("pipeline_cache=cold", self.backends())
        done, records = self.run_cases(*self.FEW)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(all(r["prepare_s"] > 0 for r in records))
        [file] = self.files()
        self.assertNotIn("pipeline_cache=cold", self.backends())
        good = file.read_bytes()
        for damaged in (b"", good[:-1], good[:-1] + bytes([good[-1] ^ 1]), b"x" * 4096):
            file.write_bytes(damaged)
            self.assertIn("pipeline_cache=cold", self.backends())
            done, _ = self.run_cases(*self.FEW)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("pipeline_cache=cold", self.backends())

    # lavapipe compiles a kernel when it first runs, and Mesa keeps each in a file.
    def shares(self, case, *extents):
        self.need_device()
        kept = []
        for extent in extents:
            done, _ = self.run_cases("--case", case.format(extent) + "/fill=normal/seed=0", "--relations", "none")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            cache = (self.dir / "cache/assay/workers").glob("vulkan-*/mesa_shader_cache/*/*")
            kept.append({path.name for path in cache})
        if not kept[0]:
            self.skipTest("this driver keeps no files")
        self.assertEqual(kept[1:], kept[:1] * (len(extents) - 1))

    def test_small_products_share_a_kernel_for_any_number_of_rows(self):
        self.shares("matmul/f32/m={},n=33,k=65", 3, 1, 40)

    def test_functions_of_elements_share_a_kernel_for_any_number(self):
        self.shares("exp/f32/n={}", 30, 3000)

    def test_no_folder_to_write_to_is_no_fault(self):
        self.need_device()
        for cache in ("/proc/nowhere", "not-absolute"):
            done, _ = self.run_cases(*self.FEW, env={"XDG_CACHE_HOME": cache, "HOME": "/proc/nowhere"})
            self.assertEqual(done.returncode, 0, done.stderr)


class Faults(Vulkan):
    def fails_to_open(self, env, *texts):
        shown = self.backends(env=env)
        done, records = self.run_cases("--case", CASE, env=env)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertEqual([r["verdict"] for r in records], ["unavailable"])
        for text in texts:
            self.assertIn(text, shown)
            self.assertIn(text, records[0]["reason"])

    def loader_folder(self, fault):
        real = real_loader()
        if real is None:
            self.skipTest("there is no libvulkan.so.1; install libvulkan1")
        folder = self.dir / "loader"
        folder.mkdir(exist_ok=True)
        link = folder / "libvulkan.so.1"
        if not link.exists():
            link.symlink_to(FAILING)
        return {"LD_LIBRARY_PATH": str(folder), "ASSAY_TEST_REAL_VULKAN": real, "ASSAY_TEST_VULKAN_FAULT": fault}

    def test_no_loader(self):
        folder = self.dir / "broken"
        folder.mkdir()
        (folder / "libvulkan.so.1").write_text("not a library")
        self.fails_to_open({"LD_LIBRARY_PATH": str(folder)}, "libvulkan1", "mesa-vulkan-drivers")

    def test_no_driver(self):
        if real_loader() is None:
            self.skipTest("there is no libvulkan.so.1; install libvulkan1")
        for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
            env = {"VK_DRIVER_FILES": "", "VK_ICD_FILENAMES": ""}
            env[variable] = str(self.dir / "absent.json")
            self.fails_to_open({k: v for k, v in env.items() if v}, "mesa-vulkan-drivers", variable)

    def test_no_device(self):
        self.need_device()
        self.fails_to_open(self.loader_folder("none"), "no device", "mesa-vulkan-drivers")

    def test_driver_too_old(self):
        self.need_device()
        self.fails_to_open(self.loader_folder("old"), "Vulkan 1.0", "needs 1.1")

    def fails_to_run(self, fault, *texts):
        self.need_device()
        done, records = self.run_cases("--case", CASE, "--expectations", "none", env=self.loader_folder(fault))
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertGreater(len(records), 0)
        for record in records:
            self.assertEqual(record["verdict"], "error")
            for text in texts:
                self.assertIn(text, record["reason"])

    def test_device_lost(self):
        self.fails_to_run("lost", "VK_ERROR_DEVICE_LOST", "dmesg")

    def test_out_of_memory(self):
        self.fails_to_run("memory", "VK_ERROR_OUT_OF_DEVICE_MEMORY", "bytes on", "smaller")

    def test_pipeline_does_not_compile(self):
        self.fails_to_run("pipeline", "compiling the shader matmul_", "driver")

    def test_what_comes_after_a_fault_runs_clean(self):
        self.need_device()
        other = CASE.replace("seed=0", "seed=1")
        for fault, text in (("lost", "VK_ERROR_DEVICE_LOST"), ("memory", "VK_ERROR_OUT_OF_DEVICE_MEMORY"),
                            ("pipeline", "compiling the shader")):
            with self.subTest(fault):
                env = {**self.loader_folder(fault), "ASSAY_TEST_VULKAN_ONCE": str(self.shared / f"{fault}.done")}
                done, records = self.run_cases("--case", CASE, "--case", other, "--expectations", "none", env=env)
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertGreater(len(records), 3)
                self.assertEqual([r["verdict"] for r in records].count("error"), 1)
                self.assertEqual(records[0]["verdict"], "error")
                self.assertIn(text, records[0]["reason"])
                self.assertEqual({r["verdict"] for r in records[1:]}, {"pass"})

    def test_the_failing_loader_without_a_fault_passes(self):
        self.need_device()
        done, records = self.run_cases("--case", CASE, env=self.loader_folder(""))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual({r["verdict"] for r in records}, {"pass"})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
