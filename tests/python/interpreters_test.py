# SPDX-License-Identifier: Apache-2.0
"""The interpreter that becomes a worker, and how it imports kernels: interpreters_test.py ASSAY [CLASS]."""
import pathlib
import shutil
import subprocess
import textwrap
import time
import unittest
import venv

from kernels_test import CASE, Program

RIGHT = """
@assay.kernel("exp", contract="f32acc")
def right(x):
    return np.exp(x.astype(np.float64)).astype(x.dtype)
"""


class Files(Program):
    def write_after(self, begin):
        """A file of a right kernel, behind these lines."""
        return self.write(textwrap.dedent(begin) + RIGHT)


class Environments(Files):
    def installed_elsewhere(self):
        """The program as a wheel has it, in the site-packages of another environment, with what must not be found there."""
        site = self.dir / "other/site-packages"
        shutil.copytree(pathlib.Path(__file__).parents[2] / "harness/python/assay", site / "assay")
        prefix = site / "assay/_prefix"
        for part in ("bin/assay", "lib/assay/libassay_worker.so"):
            (prefix / part).parent.mkdir(parents=True)
            shutil.copy(pathlib.Path(self.program).parents[1] / part, prefix / part)
        for neighbour in ("numpy", "ml_dtypes", "only_there"):
            (site / neighbour).mkdir()
            (site / neighbour / "__init__.py").write_text("raise ImportError('of another version of Python')\n")
        return str(prefix / "bin/assay")

    def test_what_lies_beside_the_package_is_not_the_interpreters(self):
        self.program = self.installed_elsewhere()
        path = self.write_after("""
            import importlib.util
            assert "other/site-packages" not in np.__file__, np.__file__
            assert "other/site-packages" in assay.__file__, assay.__file__
            assert importlib.util.find_spec("only_there") is None
        """)
        done, records = self.run_kernels(path, "--case", CASE, "--no-perf")
        self.assertEqual([(r["verdict"], r["reason"]) for r in records], [("pass", "")], done.stdout + done.stderr)

    def test_the_environment_that_assay_is_installed_for_comes_before_the_one_in_use(self):
        bare, other = (self.dir / name for name in ("installed for", "in use"))
        for folder in (bare, other):
            venv.EnvBuilder(symlinks=True).create(folder)
        path = self.write_after("")
        done = self.assay("backends", "--kernels", str(path), ASSAY_PYTHON=str(bare / "bin/python3"), VIRTUAL_ENV=str(other))
        self.assertIn(f"the interpreter {bare}/bin/python3 has no NumPy", done.stdout)
        done = self.assay("backends", "--kernels", str(path), ASSAY_PYTHON="python-absent", VIRTUAL_ENV=str(other))
        self.assertIn("the interpreter python-absent cannot be run", done.stdout + done.stderr)
        started = self.assay_of_a_wheel(bare)
        self.assertEqual(started, str(bare / "bin/python3"))

    def assay_of_a_wheel(self, environment):
        """Returns the ASSAY_PYTHON that the entry point of a wheel leaves for the program that it becomes."""
        prefix = self.dir / "wheel/assay/_prefix"
        (prefix / "bin").mkdir(parents=True)
        (prefix / "lib").mkdir()
        (prefix / "bin/assay").write_text("#!/bin/sh\necho $ASSAY_PYTHON\n")
        (prefix / "bin/assay").chmod(0o755)
        (prefix / "lib/libassay.so").touch()
        code = ("import sys; sys.path[:0] = [sys.argv[1], sys.argv[2]]; import numpy; from assay import _program; "
                "_program.find = lambda found=sys.argv[3]: found; sys.argv = ['assay']; _program.main()")
        module = pathlib.Path(__file__).resolve().parents[2] / "harness/python"
        import numpy
        done = subprocess.run([environment / "bin/python3", "-c", code, module, pathlib.Path(numpy.__file__).parents[1],
                               prefix / "lib/libassay.so"], capture_output=True, text=True, check=False)
        return done.stdout.strip() or done.stderr

    def test_one_without_numpy_is_named_with_what_to_do(self):
        """Also where the file itself needs none, and where nobody has named the interpreter."""
        bare = self.dir / "bare environment"
        venv.EnvBuilder(symlinks=True).create(bare)
        python = str(bare / "bin/python3")
        said = (rf"mine\.py: the interpreter {python} has no NumPy, which every file of kernels needs: '{python}' -m pip install "
                r"numpy, or name another interpreter with --python OTHER")
        right = self.write_after("")
        for text, words, place in ((right.read_text(), ("--python", python), "; at mine.py:1 in <module>: import numpy as np"),
                                   (right.read_text(), (), "; at mine.py:1 in <module>: import numpy as np"),
                                   ("import assay\nassay.kernel('exp', contract='f32acc')(lambda x: x)\n", (), "; assay backends")):
            with self.subTest(words=words, place=place):
                right.write_text(text)
                done = self.assay("run", "--kernels", str(right), *words, "--case", CASE, "--out", "refused",
                                  VIRTUAL_ENV=str(bare))
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertRegex(done.stderr, said + place)
                self.assertNotIn("ModuleNotFoundError", done.stderr)

    def test_one_that_does_not_answer_is_not_waited_for_without_end(self):
        """Whether what it started keeps its output open, or it has closed that itself."""
        path = self.write_after("")
        python = self.dir / "hangs"
        for text in ("sleep 1000", "exec >&- 2>&-\nsleep 1000", "yes"):
            with self.subTest(text):
                python.write_text(f"#!/bin/sh\n{text}\n")
                python.chmod(0o755)
                begun = time.monotonic()
                done = self.assay("run", "--kernels", str(path), "--python", str(python), "--import-timeout", "0.3", "--case", CASE,
                                  "--out", "refused")
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(f"the interpreter {python} did not answer within 0.3 s (--import-timeout) and was killed; "
                              "name one of CPython", done.stderr)
                self.assertLess(time.monotonic() - begun, 60)


if __name__ == "__main__":
    unittest.main()
