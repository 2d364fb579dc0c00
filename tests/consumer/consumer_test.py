# SPDX-License-Identifier: Apache-2.0
"""A vendor's way, from the installed package to a judged run: consumer_test.py CMAKE BUILD VENDOR GATE CMAKE_ARGUMENTS...

Installs BUILD into a temporary prefix, builds the project VENDOR against it, and runs its plugins through the installed
program: the correct ones pass, the one with a kernel bug is a mismatch. GATE judges tensors in a program of its own.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, VENDOR, GATE, *CMAKE_ARGUMENTS = sys.argv[1:]
CASES = ["matmul/f32/m=5,n=7,k=64/fill=normal/seed=0", "matmul/f32/m=33,n=17,k=129/fill=uniform/seed=1"]


# Cases with two outputs: without ties, with NaN and all elements of a row, and with ties.
SELECTIONS = ["top_k/f32/rows=7,k=5,n=33/fill=normal/seed=0", "top_k/f32/rows=3,k=9,n=9/fill=special/seed=1",
              "top_k/f32/rows=4,k=3,n=40/fill=ties/seed=2"]


class Consumer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        cls.prefix, cls.build = cls.dir / "prefix", cls.dir / "build"
        cls.env = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
        cls.env["ASSAY_GOLDEN_STORE"] = str(cls.dir / "store")
        cls.check(CMAKE, "--install", BUILD, "--prefix", cls.prefix)
        cls.check(CMAKE, "-S", VENDOR, "-B", cls.build, f"-DCMAKE_PREFIX_PATH={cls.prefix}", "-DVENDOR_CXX=ON",
                  *CMAKE_ARGUMENTS)
        cls.check(CMAKE, "--build", cls.build)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def do(cls, *words):
        return subprocess.run([str(w) for w in words], cwd=cls.dir, env=cls.env, capture_output=True, text=True,
                              timeout=300)

    @classmethod
    def check(cls, *words):
        done = cls.do(*words)
        if done.returncode != 0:
            raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def plugin(self, name):
        return self.build / f"libassay_{name}.so"

    def judge(self, name, cases=CASES, *more):
        """Exit code and records of the column of one plugin."""
        out = self.dir / f"out-{name}"
        done = self.do(self.prefix / "bin/assay", "run", *[word for case in cases for word in ("--case", case)],
                       "--plugin", f"{name}={self.plugin(name)}", "--backend", name, "--no-perf", "--out", out, *more)
        records = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
        self.assertEqual([r["case_id"] for r in records], cases, done.stderr)
        self.assertEqual({(r["backend"], r["device"], r["implementation"]) for r in records},
                         {(name, "Example 1", "loops")})
        return done.returncode, records

    def test_the_correct_plugins_pass(self):
        for name in ("vendor", "vendor_cxx"):
            with self.subTest(name):
                code, records = self.judge(name)
                self.assertEqual([r["verdict"] for r in records], ["pass", "pass"], [r["reason"] for r in records])
                self.assertTrue(all(r["twin"] for r in records))
                self.assertEqual(code, 0)

    def test_two_outputs_are_judged(self):
        code, records = self.judge("vendor_top_k", SELECTIONS)
        self.assertEqual([r["verdict"] for r in records], ["pass"] * 3, [r["reason"] for r in records])
        self.assertEqual(code, 0)
        self.check(self.prefix / "bin/assay", "check-plugin", self.plugin("vendor_top_k"))

    def test_an_operator_of_the_vendors_own_is_judged(self):
        cases = [f"leaky_bias/f32/rows=5,n=33{slope}/fill=normal/seed=0" for slope in ("", ",slope=0.5")]
        operators = ("--operators", pathlib.Path(VENDOR) / "vendor_own_operator.json")
        checked = self.check(self.prefix / "bin/assay", "check-plugin", self.plugin("vendor_own_operator"), *operators, "--case", cases[0])
        self.assertIn("44 checks: 0 failed", checked.stdout)
        code, records = self.judge("vendor_own_operator", cases, *operators)
        self.assertEqual([r["verdict"] for r in records], ["pass"] * 2, [r["reason"] for r in records])
        self.assertEqual(code, 0)

    def test_the_example_stays_short(self):
        text = re.sub(r"/\*.*?\*/", "", (pathlib.Path(VENDOR) / "vendor_backend.c").read_text(), flags=re.DOTALL)
        self.assertLess(sum(bool(line.strip()) for line in text.splitlines()), 120)

    def test_the_kernel_bug_is_a_mismatch(self):
        code, records = self.judge("vendor_wrong")
        self.assertEqual([r["verdict"] for r in records], ["mismatch", "mismatch"])
        self.assertEqual(code, 1)

    def test_the_vendors_own_tests_pass(self):
        done = self.do(pathlib.Path(CMAKE).with_name("ctest"), "--test-dir", self.build, "--output-on-failure")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("tests passed", done.stdout)

    def test_a_kernel_is_gated_in_a_program(self):
        build = self.dir / "gate"
        self.check(CMAKE, "-S", GATE, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", *CMAKE_ARGUMENTS)
        self.check(CMAKE, "--build", build)
        self.check(build / "gate")
        done = self.do(build / "gate_wrong")
        self.assertEqual(done.returncode, 1)
        self.assertIn("mismatch  softmax f32 shape=16x100", done.stdout)
        test = (pathlib.Path(GATE) / "gate_test.cc").read_text()
        self.assertLess(sum(bool(line.strip()) for line in test.splitlines() if not line.startswith("//")), 40)

    def test_the_library_exports_its_functions_alone(self):
        symbols = self.check("nm", "-D", "--defined-only", "--format=posix", self.prefix / "lib/libassay.so").stdout
        exported = {line.split()[0] for line in symbols.splitlines()}
        header = (self.prefix / "include/assay/assay/assay.h").read_text()
        self.assertEqual(exported, set(re.findall(r"^ASSAY_API .*?(assay_\w+)\(", header, re.MULTILINE)))

    def test_a_plugin_exports_its_entry_point_alone(self):
        for name in ("vendor", "vendor_cxx"):
            symbols = self.check("nm", "-D", "--defined-only", "--format=posix", self.plugin(name)).stdout
            self.assertEqual([line.split()[0] for line in symbols.splitlines()], ["assay_backend_v1"])

    def test_the_installed_program_uses_what_is_installed(self):
        suites = self.prefix / "share/assay/suites"
        self.assertIn("smoke.suite", os.listdir(suites))
        (suites / "own.suite").write_text("matmul dtypes=f32 m=2 n=2 k=2\n")
        listed = self.check(self.prefix / "bin/assay", "list", "suites").stdout.split()
        self.assertIn("own", listed)
        backends = json.loads(self.check(self.prefix / "bin/assay", "backends", "--json").stdout)
        usable = {b["backend"]: b["plugin"] for b in backends if b["usable"]}
        self.assertIn("cpu", usable)
        for path in usable.values():
            self.assertTrue(path.startswith(str(self.prefix / "lib/assay/plugins")), path)

    def test_a_version_that_does_not_fit_is_refused(self):
        project = self.dir / "too_new"
        project.mkdir()
        (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES C)\n"
                                                "find_package(assay 99 REQUIRED)\n")
        done = self.do(CMAKE, "-S", project, "-B", project / "b", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("99", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
