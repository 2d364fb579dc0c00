# SPDX-License-Identifier: Apache-2.0
"""Python callables as a backend: kernels_test.py ASSAY [CLASS]."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

ASSAY = sys.argv.pop(1)
KERNELS = pathlib.Path(__file__).resolve().parent / "kernels"
CASE = "exp/f32/n=257/fill=normal/seed=0"
NORM = "layer_norm/f32/rows=4,n=64,stats=1/fill=normal/seed=0"


class Program(unittest.TestCase):
    program = ASSAY

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def assay(self, *args, **env):
        variables = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "ASSAY_LIBRARY")}
        variables |= {"ASSAY_GOLDEN_STORE": str(self.dir / "store"), **env}
        return subprocess.run([self.program, *args], cwd=self.dir, env=variables, capture_output=True, text=True, timeout=280)

    def write(self, text, name="mine.py"):
        folder = self.dir / "kernels"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("import numpy as np\nimport assay\n" + textwrap.dedent(text))
        return folder / name

    def run_kernels(self, path, *args, out="out", **env):
        done = self.assay("run", "--kernels", str(path), "--python", sys.executable, "--backend", pathlib.Path(path).stem,
                          "--out", out, "--progress", "none", *args, **env)
        records = self.dir / out / "results.jsonl"
        return done, [json.loads(line) for line in records.read_text().splitlines()] if records.exists() else []


class Right(Program):
    def test_what_compiles_at_its_first_call_has_the_time_of_preparing(self):
        path = self.write("""
            import time
            ready = set()
            def slow_at_first(x):
                if "compiled" not in ready:
                    time.sleep(1.3)
                    ready.add("compiled")
                return np.exp(x)
            assay.kernel("exp", contract="f32acc;math=4", dtypes=["f32"], compiles=True, name="told")(slow_at_first)
            @assay.kernel("exp", contract="f32acc;math=4", dtypes=["f32"], compiles=True)
            def writes(x, *, out):
                out[...] = slow_at_first(x)
            def compiled(x):
                return slow_at_first(x)
            compiled.py_func, compiled.signatures = slow_at_first, []  # as numba.njit has them
            assay.kernel("exp", contract="f32acc;math=4", dtypes=["f32"], name="known")(compiled)
            @assay.kernel("exp", contract="f32acc;math=4", dtypes=["f32"])
            def untold(x):
                ready.discard("compiled")
                return slow_at_first(x)
        """)
        done, records = self.run_kernels(path, "--case", CASE, "--no-perf", "--timeout", "1", "--retries", "0", "--relations", "none")
        found = {r["implementation"]: r["verdict"] for r in records}
        self.assertEqual(found, {"told": "pass", "writes": "pass", "known": "pass", "untold": "timeout"}, done.stdout + done.stderr)

    def test_they_pass_where_they_support_a_case(self):
        done, records = self.run_kernels(KERNELS / "good.py", "--suite", "smoke", "--op", "softmax,matmul,layer_norm,exp",
                                         "--dtype", "f32", "--filter", "*fill=normal*:-*k=4096*:-*k=2048*:-*k=768*",
                                         "--case", CASE, "--case", NORM, "--case", NORM.replace(",stats=1", ""), "--perf-time", "0.001")
        tried = [r for r in records if r["verdict"] != "unsupported"]
        self.assertEqual({r["verdict"] for r in tried}, {"pass"}, done.stdout + done.stderr)
        self.assertEqual({r["implementation"] for r in tried},
                         {"softmax", "last-axis", "plain", "matmul", "layer_norm", "exp"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({r["backend"] for r in tried}, {"good"})
        environment = json.loads((self.dir / "out/environment.json").read_text())
        [backend] = [b for b in environment["backends"] if b["backend"] == "good"]
        self.assertIn(f"CPython {'.'.join(map(str, sys.version_info[:3]))}", backend["library_version"])
        self.assertIn("numpy", backend["library_version"])
        self.assertEqual([r["case_id"] for r in tried if not r["time_median_s"] > 0], [])

    def test_what_a_kernel_does_not_take_is_unsupported(self):
        path = self.write("""
            @assay.kernel("softmax", contract="f32acc", dtypes=["f32"])
            def mine(x, *, axis):
                return x
        """)
        case = "softmax/f32/shape=4x8,log=1/fill=normal/seed=0"
        reasons = {case: "does not take the attribute log, which is True", case.replace("f32", "f16"): "it is declared for f32",
                   CASE: "mine.py has no kernel of exp"}
        _, records = self.run_kernels(path, *(word for case in reasons for word in ("--case", case)), "--no-perf")
        self.assertEqual([r["verdict"] for r in records], ["unsupported"] * 3)
        for record in records:
            self.assertIn(reasons[record["case_id"]], record["reason"])

    def test_modules_beside_them_are_found_also_where_earlier_runs_lie(self):
        self.write("def exp(x): return np.exp(x.astype(np.float64)).astype(x.dtype)", name="common.py")
        path = self.write("""
            import common
            @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
            def mine(x):
                return common.exp(x)
        """)
        for out in ("kernels/first", "kernels/second"):
            done, records = self.run_kernels(path, "--case", CASE, "--no-perf", out=out)
            self.assertEqual([r["verdict"] for r in records], ["pass"], done.stderr)

    def test_the_output_folder_stays_hidden_in_a_folder_of_modules(self):
        store = tempfile.TemporaryDirectory()  # not here, where it would be hidden beside the output folder
        self.addCleanup(store.cleanup)
        common = self.write("def exp(x): return np.exp(x.astype(np.float64)).astype(x.dtype)", name="common.py")
        common.rename(self.dir / common.name)
        path = self.write("""
            import os
            import common
            @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
            def mine(x):
                for name in ("plan.json", "results.jsonl"):
                    try:
                        open(os.path.join(os.path.dirname(common.__file__), "out", name)).close()
                    except PermissionError:
                        continue
                    raise RuntimeError(f"it can read {name}")
                return common.exp(x)
        """)
        done, records = self.run_kernels(path, "--case", CASE, "--no-perf", PYTHONPATH=str(self.dir),
                                         ASSAY_GOLDEN_STORE=store.name)
        self.assertEqual([(r["verdict"], r["reason"]) for r in records], [("pass", "")], done.stderr)

    def test_types_are_listed_as_case_ids_do(self):
        path = self.write("""
            @assay.kernel("layer_norm", contract="f32acc;math=4", dtypes=["f32-f32-f32-f32"])
            def mine(x, gamma, beta, *, eps, stats):
                mean = x.mean(1, keepdims=True)
                rstd = 1 / np.sqrt(((x - mean) ** 2).mean(1, keepdims=True) + np.float32(eps))
                return (x - mean) * rstd * gamma + beta, mean[:, 0].copy(), rstd[:, 0].copy()
        """)
        _, records = self.run_kernels(path, "--case", NORM, "--no-perf")
        self.assertEqual([r["verdict"] for r in records], ["pass"], records[0]["reason"])

    def test_bf16_needs_ml_dtypes(self):
        path = self.write("""
            @assay.kernel("exp", contract="f32acc")
            def mine(x):
                return np.exp(x.astype(np.float64)).astype(x.dtype)
        """)
        _, records = self.run_kernels(path, "--case", CASE.replace("f32", "bf16"), "--no-perf")
        try:
            import ml_dtypes  # noqa: F401
            self.assertEqual([r["verdict"] for r in records], ["pass"])
        except ImportError:
            self.assertEqual([r["verdict"] for r in records], ["unsupported"])
            self.assertIn("needs ml_dtypes: install that", records[0]["reason"])

    def test_a_library_that_computes_is_noted_once(self):
        path = self.write("""
            import _ctypes, ctypes, os, shutil
            copy = os.path.join(os.environ["TMPDIR"], "libopenblas_copy.so")
            shutil.copyfile(_ctypes.__file__, copy)
            ctypes.CDLL(copy)
            @assay.kernel("exp", contract="f32acc")
            def right(x):
                return np.exp(x.astype(np.float64)).astype(x.dtype)
        """)
        done, _ = self.run_kernels(path, "--case", CASE, "--no-perf")
        self.assertEqual((done.stdout + done.stderr).count("libopenblas_copy.so (OpenBLAS)"), 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"note: The worker of mine has loaded (.*, )?libopenblas_copy\.so \(OpenBLAS\)")
        self.assertIn("libopenblas_copy.so", json.loads((self.dir / "out/environment.json").read_text())["unnamed_libraries"])

    def test_rounds_can_be_compared(self):
        done, _ = self.run_kernels(KERNELS / "good.py", "--case", CASE, "--rounds", "3", "--perf-time", "0.001")
        self.assertEqual(done.returncode, 0, done.stderr)
        compared = self.assay("compare", "out", "out")
        self.assertNotEqual(compared.returncode, 2, compared.stderr)

    def test_modules_beside_the_file_are_found(self):
        self.write("def right(x):\n    return np.exp(x.astype(np.float64)).astype(x.dtype)\n", "helper.py")
        path = self.write("""
            import helper
            assay.kernel("exp", contract="f32acc", backend="mine")(helper.right)
        """)
        _, records = self.run_kernels(path, "--case", CASE, "--no-perf")
        self.assertEqual([(r["verdict"], r["implementation"]) for r in records], [("pass", "right")])

    def test_a_file_with_the_name_of_a_module_does_not_stand_in_its_place(self):
        """NumPy and assay import json; the file lies on the path behind both."""
        for name in ("json", "numpy", "assay"):
            path = self.write("""
                import json
                assert json.loads("[1]") == [1]

                @assay.kernel("exp", contract="f32acc")
                def right(x):
                    return np.exp(x.astype(np.float64)).astype(x.dtype)
            """, name + ".py")
            with self.subTest(name):
                _, records = self.run_kernels(path, "--case", CASE, "--no-perf", out="out-" + name)
                self.assertEqual([r["verdict"] for r in records], ["pass"], [r["reason"] for r in records])


class Faulty(Program):
    EXPECTED = {
        "raises": ("error", r"ValueError: the kernel is not done; at faulty.py:\d+ in raises: raise ValueError"),
        "exits": ("error", r"it called sys.exit\(3\)"),
        "leaves": ("crash", "exited with code 3"),
        "kills": ("crash", "SIGKILL"),
        "segfaults": ("crash", "SIGSEGV"),
        "writes-to-its-input": ("error", "read-only"),
        "makes-its-input-writable": ("mismatch", "input"),
        "writes-behind-its-input": ("mismatch", "input"),
        "in-another-type": ("error", r"returned float64 of shape \(257,\), where float32 of shape \(257,\) is expected"),
        "in-another-shape": ("error", r"returned float32 of shape \(256,\)"),
        "list-of-numbers": ("error", "y: it returned list, not a numpy.ndarray"),
        "nothing": ("error", "it returned nothing; return y"),
        "several": ("error", "returned tuple of 2, where a tuple of 1 is expected: y"),
        "lazy": ("error", "it returned faulty.Lazy, not a numpy.ndarray"),
        "subclass": ("error", "it returned faulty.Subclass, not a numpy.ndarray"),
        "its-input": ("mismatch", ""),
        "view-of-its-input": ("mismatch", ""),
        "stale": ("mismatch", ""),
        "unwritten": ("mismatch", "not written"),
        "beyond": ("mismatch", "after"),
        "rounds-otherwise": ("pass", ""),
        "reshapes-its-view": ("pass", ""),
        "prints": ("pass", ""),
    }

    def test_a_cause_has_to_agree_with_what_the_kernel_made_of_exact_data(self):
        path = self.write("""
            def product(a, b):
                return (a.astype(float) @ b.astype(float)).astype(np.float32)

            @assay.kernel("matmul", contract="f32acc", dtypes=["f32"])
            def without_last_term_in_last_row(a, b):
                y = product(a, b)
                y[-1] = product(a[-1:, :-1], b[:-1])[0]
                return y

            @assay.kernel("conv", contract="f32acc", dtypes=["f32"])
            def repeats_the_edge(x, w, pad):
                x = np.pad(x.astype(float), ((0, 0), (0, 0), (1, 1), (1, 1)))
                x[..., 0] = x[..., 1]
                windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
                return np.einsum("nchwij,ocij->nohw", windows, w.astype(float)).astype(np.float32)
        """)
        # Terms that cancel hide most of the columns that are wrong: what shows looks like its neighbour.
        cases = ("matmul/f32/m=40,n=24,k=200/fill=normal/seed=0", "conv/f32/n=1,c=12,o=4,i=8x7,k=3x3,pad=1/fill=cancel-1e4/seed=0")
        _, records = self.run_kernels(path, *(word for case in cases for word in ("--case", case)), "--no-perf", "--relations", "none")
        reasons = {r["implementation"]: r["reason"] for r in records}
        self.assertEqual([r["verdict"] for r in records], ["mismatch"] * 2, reasons)
        self.assertIn("without its last term where it is wrong", reasons["without_last_term_in_last_row"])
        self.assertNotIn("right result", reasons["repeats_the_edge"])

    def test_executions_that_differ_are_the_cause_before_what_each_of_them_is_like(self):
        path = self.write("""
            calls = 0

            @assay.kernel("matmul", contract="f32acc", dtypes=["f32"])
            def loses_rows_every_other_time(a, b):
                global calls
                calls += 1
                y = a.astype(float) @ b.astype(float)
                y[3:9] *= calls % 2
                return y.astype(np.float32)

            @assay.kernel("matmul", contract="f32acc", dtypes=["f32"])
            def loses_rows_always(a, b):
                y = a.astype(float) @ b.astype(float)
                y[3:9] = 0
                return y.astype(np.float32)
        """)
        _, records = self.run_kernels(path, "--case", "matmul/f32/m=40,n=24,k=200/fill=normal/seed=0", "--no-perf", "--relations", "none")
        reasons = {r["implementation"]: r["reason"] for r in records}
        self.assertIn("other executions on the same inputs give other results", reasons["loses_rows_every_other_time"])
        self.assertNotIn("all 0", reasons["loses_rows_every_other_time"])
        self.assertIn("the output y all 0 where it is wrong", reasons["loses_rows_always"])

    def test_each_fault_has_its_verdict_and_the_run_goes_on(self):
        names = [name.replace("-", "_") for name in (*self.EXPECTED, "forks")]
        done, records = self.run_kernels(KERNELS / "faulty.py", "--case", CASE, "--impl", ",".join(names), "--no-perf",
                                         "--relations", "none")
        found = {r["implementation"].replace("_", "-"): r for r in records}
        self.assertEqual(set(found), {*self.EXPECTED, "forks"}, done.stderr)
        for name, (verdict, reason) in self.EXPECTED.items():
            with self.subTest(name):
                self.assertEqual(found[name]["verdict"], verdict, found[name]["reason"])
                self.assertIn("reason", found[name])
                if reason:
                    self.assertRegex(found[name]["reason"], reason)
        self.assertNotEqual(found["forks"]["verdict"], "pass", found["forks"]["reason"])

    def test_one_that_keeps_a_reference_to_its_input(self):
        """It computes from the first one for ever, which other shapes show."""
        _, records = self.run_kernels(KERNELS / "faulty.py", "--case", CASE, "--impl", "keeps_its_first_input", "--no-perf")
        self.assertEqual([r["verdict"] for r in records], ["error"])
        self.assertRegex(records[0]["reason"], r"it returned float32 of shape \(257,\), where float32 of shape")

    def test_one_that_hangs_is_ended(self):  # alone, as its time-out would be short for the others on a busy machine
        done, records = self.run_kernels(KERNELS / "faulty.py", "--case", CASE, "--impl", "hangs", "--timeout", "2",
                                         "--no-perf", "--relations", "none", "--retries", "0")
        self.assertEqual([r["verdict"] for r in records], ["timeout"], done.stdout + done.stderr)
        self.assertIn("execute did not end within 2 s", records[0]["reason"])

    def test_files_that_offer_nothing_are_said_to(self):
        for text, said in (("x = 1\n", "registers no kernel"),
                           ("raise RuntimeError('not today')\n", "RuntimeError: not today; at mine.py:3"),
                           ("def f(:\n", "SyntaxError"),
                           ("import sys; sys.exit(4)\n", "sys.exit(4)"),
                           ("import nowhere_to_be_found\n", "No module named 'nowhere_to_be_found'"),
                           ("assay.kernel('exq', contract='f32acc')(lambda x: x)\n", "there is no operator exq"),
                           ("assay.kernel('exp', contract='f32acc', framework='tf')\n", "framework='tf' is none of"),
                           ("assay.kernel('exp', contract='f32acc', backend='a')(print)\n"
                            "assay.kernel('log', contract='f32acc', backend='b')(abs)\n", "several backends, a and b")):
            with self.subTest(said):
                listed = self.assay("backends", "--kernels", str(self.write(text)), "--python", sys.executable, "--backend", "mine")
                self.assertRegex(listed.stdout + listed.stderr, said.replace("(", r"\(").replace(")", r"\)"))
                self.assertEqual(listed.returncode, 2)

    def test_a_file_that_cannot_be_read_ends_a_run_before_its_first_case(self):
        path = self.write("import nowhere_to_be_found\n")
        done = self.assay("run", "--kernels", str(path), "--python", sys.executable, "--case", CASE, "--out", "refused")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("No module named 'nowhere_to_be_found'", done.stderr)
        self.assertIn(f"assay backends --kernels {path} --python {sys.executable} tries it alone", done.stderr)
        self.assertFalse((self.dir / "refused").exists())

    def test_messages_name_the_option_that_was_written(self):
        broken = self.write("import nowhere_to_be_found\n", "broken.py")
        right = self.write("""
            @assay.kernel("exp", contract="f32acc")
            def wrong(x):
                return x
        """)
        (self.dir / "text.txt").write_text("no kernels")
        (self.dir / "mine.py").write_text(right.read_text())
        for words, said in (((broken,), rf"kernels from --kernels: .*; assay backends --kernels {broken} --python \S+ tries it alone"),
                            (("absent.py",), "kernels from --kernels: there is no file .*absent.py"),
                            (("text.txt",), "kernels from --kernels: .*; name the Python file of the kernels, which ends"),
                            ((self.dir,), "kernels from --kernels: .* is a folder; name the .py file itself"),
                            ((f"a={right}", "--kernels", f"a={broken}"), f"--kernels a={broken}: another plugin has the name 'a' already"),
                            ((right, "--kernels", "mine.py"),
                             "two plugins have the name 'mine': .*: --kernels mine-2="),
                            ((right, "--framework", "torch,torch"), "--framework torch: another plugin has the name 'torch' already")):
            with self.subTest(said):
                done = self.assay("run", "--kernels", *map(str, words), "--python", sys.executable, "--case", CASE,
                                  "--out", "refused")
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertRegex(done.stderr, said)
                self.assertNotIn("--plugin", done.stderr)
        done, records = self.run_kernels(right, "--case", CASE, "--no-perf")
        self.assertEqual([r["verdict"] for r in records], ["mismatch"], done.stderr)
        self.assertIn(f"--kernels {right}", done.stdout)
        self.assertNotIn("--plugin", done.stdout + done.stderr)

    def test_interpreters_that_do_not_serve(self):
        path = self.write("")
        done = self.assay("backends", "--kernels", str(path), "--python", str(self.dir / "absent"))
        self.assertIn("absent cannot be run; name one of CPython 3.10", done.stdout + done.stderr)

    def test_a_kernel_sees_neither_golden_values_nor_the_output(self):
        path = self.write(f"""
            import os
            @assay.kernel("exp", contract="f32acc")
            def mine(x):
                for folder in ({str(self.dir / 'out')!r}, {str(self.dir / 'store')!r}):
                    try:
                        os.listdir(folder)
                    except PermissionError:
                        continue
                    raise AssertionError(folder + " can be read")
                return np.exp(x.astype(np.float64)).astype(x.dtype)
        """)
        _, records = self.run_kernels(path, "--case", CASE, "--no-perf")
        environment = json.loads((self.dir / "out/environment.json").read_text())
        if environment.get("sandbox") != "full" and "Landlock" in environment.get("sandbox", ""):
            self.skipTest("this kernel has no Landlock")
        self.assertEqual([(r["verdict"], r["reason"]) for r in records if r["verdict"] != "pass"], [])


if __name__ == "__main__":
    unittest.main()
