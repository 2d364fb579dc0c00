# SPDX-License-Identifier: Apache-2.0
"""`pip install .` in an environment of its own: wheel_test.py SOURCE [CLASS]. Skips where there is no index of packages."""
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import unittest
import zipfile

SOURCE = pathlib.Path(sys.argv[1])
TESTS = pathlib.Path(__file__).parent


class Configured(unittest.TestCase):
    def test_what_pip_builds_is_configured(self):
        """Layers that are compiled together there name each other; nothing else configures them so."""
        options = tomllib.loads(pathlib.Path(SOURCE, "pyproject.toml").read_text(encoding="utf-8"))["tool"]["scikit-build"]["cmake"]["define"]
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["cmake", "-S", SOURCE, "-B", folder, "-G", "Ninja", *(f"-D{key}={value}" for key, value in options.items())],
                                  capture_output=True, text=True, timeout=500)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.dir = pathlib.Path(cls.folder.name)
        cls.env = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "PYTHON"))}
        cls.env["ASSAY_GOLDEN_STORE"] = str(cls.dir / "store")
        cls.bin = cls.dir / "venv/bin"
        interpreters = [sys.executable, "python3"]  # Debian's own makes environments with python3-venv alone
        if all(cls.do(python, "-m", "venv", cls.dir / "venv").returncode != 0 for python in interpreters):
            raise unittest.SkipTest("no interpreter here makes environments (Debian: python3-venv)")
        got = cls.do(cls.bin / "pip", "install", "-q", "scikit-build-core", "numpy", "ml-dtypes", "pytest", "pytest-xdist")
        if got.returncode != 0:
            raise unittest.SkipTest("there is no index of Python packages: " + got.stderr.strip()[-200:])
        cls.must(cls.bin / "pip", "wheel", SOURCE, "--no-deps", "--no-build-isolation", "-w", cls.dir,
                 "--config-settings", f"build-dir={cls.dir / 'build'}", timeout=3000)
        cls.wheel = next(cls.dir.glob("*.whl"))
        cls.must(cls.bin / "pip", "install", "-q", cls.wheel)

    @classmethod
    def do(cls, *words, timeout=600, **env):
        return subprocess.run([str(w) for w in words], cwd=cls.dir, env={**cls.env, **env}, capture_output=True, text=True,
                              timeout=timeout)

    @classmethod
    def must(cls, *words, **kwargs):
        done = cls.do(*words, **kwargs)
        if done.returncode != 0:
            raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        return done.stdout

    def test_one_tag_serves_every_python(self):
        self.assertRegex(self.wheel.name, r"^assay-\d+\.\d+\.\d+-py3-none-linux_x86_64\.whl$")

    def test_guides_that_messages_name_are_inside_and_records_of_published_runs_are_not(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
        self.assertIn("assay/_prefix/share/doc/assay/harness/judge/README.md", names)  # which messages name
        self.assertFalse([name for name in names if name.endswith((".png", ".jsonl.gz"))])

    def test_the_control_of_conform_is_inside(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            self.assertIn("assay/_prefix/lib/assay/corpus/libassay_control.so", wheel.namelist())

    def test_the_program_has_its_plugins_and_suites(self):
        self.assertIn("smoke", self.must(self.bin / "assay", "list", "suites").split())
        self.must(self.bin / "assay", "run", "--case", "exp/f32/n=64/fill=normal/seed=0", "--backend", "cpu", "--no-perf",
                  "--out", self.dir / "out")

    def test_programs_in_c_find_header_and_library(self):
        package = next(self.dir.glob("venv/lib/*/site-packages/assay/_prefix"))
        (self.dir / "uses.c").write_text('#include <assay/assay.h>\n#include <stdio.h>\n'
                                         'int main(void) { puts(assay_version()); return 0; }\n')
        self.must("cc", "-std=c11", f"-I{package}/include/assay", "uses.c", "-o", "uses", f"-L{package}/lib", "-lassay",
                  f"-Wl,-rpath,{package}/lib")
        self.assertRegex(self.must(self.dir / "uses"), r"^\d+\.\d+\.\d+")

    def test_shared_libraries_are_inside(self):
        package = next(self.dir.glob("venv/lib/*/site-packages/assay/_prefix"))
        for file in (package / "bin/assay", package / "lib/libassay.so", package / "lib/assay/plugins/libassay_cpu.so"):
            found = self.must("ldd", file)
            fmt = next(line for line in found.splitlines() if "libfmt" in line)
            self.assertIn(str(package / "lib"), os.path.realpath(fmt.split("=>")[1].split()[0]), file)

    def test_the_modules_own_tests_pass(self):
        for name in ("check_test.py", "arrays_test.py", "cases_test.py", "importers_test.py"):
            with self.subTest(name):
                done = self.do(self.bin / "python", TESTS / name, PYTHONDONTWRITEBYTECODE="1")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_kernels_run_and_are_judged(self):
        for name, group in (("kernels_test.py", "Right"), ("judge_test.py", "Accepted"), ("framework_columns_test.py", "Columns")):
            with self.subTest(name):
                done = self.do(self.bin / "python", TESTS / name, self.bin / "assay", group, PYTHONDONTWRITEBYTECODE="1")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_pytest_plugin_is_found(self):
        (self.dir / "test_it.py").write_text("import assay, numpy as np\n@assay.mark.suite('formulas', op='exp', dtype='f32')\n"
                                             "def test_it(assay_case):\n    return np.exp(assay_case.inputs['x'].astype('f8')).astype('f4')\n")
        self.assertIn("passed", self.must(self.bin / "pytest", "test_it.py", "-k", "normal"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
