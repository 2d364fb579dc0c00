# SPDX-License-Identifier: Apache-2.0
"""Functions of frameworks as columns of a run: framework_columns_test.py ASSAY CLASS [PYTHON]. Columns: the registration, with
functions of NumPy in the place of a framework's. Frameworks: PYTHON, which has them, runs suite smoke."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

ASSAY = sys.argv.pop(1)
PYTHON = sys.argv.pop(2) if len(sys.argv) > 2 else sys.executable


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def assay(self, *args, **env):
        variables = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "ASSAY_LIBRARY")}
        variables |= {"ASSAY_GOLDEN_STORE": str(self.dir / "store"), **env}
        return subprocess.run([ASSAY, *args], cwd=self.dir, env=variables, capture_output=True, text=True, timeout=3000)

    def records(self, *args, **env):
        python = () if "--python" in args else ("--python", PYTHON)
        done = self.assay("run", *python, "--out", "out", "--progress", "none", "--no-perf", *args, **env)
        path = self.dir / "out/results.jsonl"
        return done, [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def of_columns(self, text, *args):
        folder = self.dir / "kernels"
        folder.mkdir()
        begin = "import numpy as np\nfrom assay.frameworks._columns import Column, only, register\n"
        (folder / "mine.py").write_text(begin + textwrap.dedent(text))
        return self.records("--kernels", str(folder / "mine.py"), "--backend", "mine", *args)


class Columns(Program):
    SOFTMAX = """
        def softmax(x, *, axis=-1, {heeded}**_):
            e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
            return (e / e.sum(axis, keepdims=True)).astype(x.dtype)
        register([Column("softmax", softmax, ("f32",), extra="masked=nan"{more})], "numpy", "plain")
    """
    PLAIN, LOG = "softmax/f32/shape=4x8/fill=normal/seed=0", "softmax/f32/shape=4x8,log=1/fill=normal/seed=0"

    def test_what_a_function_only_swallows_makes_a_case_unsupported(self):
        done, records = self.of_columns(self.SOFTMAX.format(heeded="", more=""), "--case", self.PLAIN, "--case", self.LOG)
        self.assertEqual([r["verdict"] for r in records], ["pass", "unsupported"], done.stderr)
        self.assertIn("does not take the attribute log", records[1]["reason"])
        self.assertEqual(records[0]["implementation"], "plain")
        self.assertEqual(records[0]["contract"], "acc=f32; math=256; masked=nan")

    def test_what_it_does_not_heed_is_found(self):
        _, records = self.of_columns(self.SOFTMAX.format(heeded="log=False, ", more=""), "--case", self.LOG)
        self.assertEqual([r["verdict"] for r in records], ["mismatch"])

    def test_supports_says_why_not(self):
        more = ", supports=only(log=False)"
        _, records = self.of_columns(self.SOFTMAX.format(heeded="log=False, ", more=more), "--case", self.LOG)
        self.assertEqual([r["verdict"] for r in records], ["unsupported"])
        self.assertIn("it has no log=True", records[0]["reason"])

    def test_functions_of_numpy_that_are_no_functions_of_elements(self):
        ids = ("argsort/f32-i64/rows=7,n=33/fill=ties/seed=0", "sort/i32/rows=7,n=33/fill=ties/seed=0",
               "cast/i32-i8/n=513/fill=normal/seed=0", "cumsum/i8-i64/rows=9,n=65/fill=normal/seed=0",
               "cumprod/f64/rows=9,n=65/fill=near_one/seed=0", "gather/f32-i64-f32/v=67,n=30,d=18/fill=normal/seed=0",
               "scatter_add/f32-i64-f32-f32/rows=13,n=67,d=18/fill=normal/seed=0")
        done, records = self.records("--framework", "numpy", "--backend", "numpy", "--python", sys.executable,
                                     *(word for case in ids for word in ("--case", case)))
        self.assertEqual([r["verdict"] for r in records], ["pass"] * len(ids), done.stdout + done.stderr)

    def test_numbers_whose_default_is_zero_are_numbers(self):
        done, records = self.of_columns("""
            def quantize(x, scale, *, zero=0, **_):
                assert type(zero) is int, zero
                return np.clip(np.rint(x / scale) + zero, -128, 127).astype(np.int8)
            register([Column("quantize", quantize, ("f32-f32-i8",))], "numpy", "plain")
        """, "--case", "quantize/f32-f32-i8/rows=3,n=16,zero=5/fill=normal/seed=0")
        self.assertEqual([r["verdict"] for r in records], ["pass"], done.stdout)

    def test_what_compiles_at_its_first_call_has_one_before_it_is_executed(self):
        """On zeros, in the layout of the case, once for each that is prepared."""
        done, records = self.of_columns("""
            def softmax(x, *, axis=-1, **_):
                if (x.shape, x.strides) not in compiled:
                    assert not x.any(), "it is executed before it was compiled"
                    compiled.add((x.shape, x.strides))
                e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
                return (e / e.sum(axis, keepdims=True)).astype(x.dtype)
            compiled = set()
            softmax.compiles = True
            register([Column("softmax", softmax, ("f32",), extra="masked=nan")], "numpy", "plain")
        """, "--case", self.PLAIN)
        self.assertEqual([r["verdict"] for r in records], ["pass"], done.stdout)

    def test_what_refuses_a_case_when_it_compiles_does_not_offer_it(self):
        """It compiles once, when it is asked; what fails otherwise is an error of the case."""
        done, records = self.of_columns("""
            from assay._frameworks import Unsupported
            compiled, executed = [], []
            def softmax(x, *, axis=-1, **_):
                layout = (x.shape, x.strides)
                if not x.any():
                    if x.shape == (4, 9):
                        raise Unsupported("there is no kernel for 9 columns")
                    if x.shape == (4, 7):
                        raise ValueError("a compiler's fault")
                    assert layout not in compiled or layout in executed, "it is compiled twice"
                    compiled.append(layout)
                else:
                    assert layout in compiled, "it is executed before it was compiled"
                    executed.append(layout)
                e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
                return (e / e.sum(axis, keepdims=True)).astype(x.dtype)
            softmax.compiles = softmax.may_refuse = True
            register([Column("softmax", softmax, ("f32",), extra="masked=nan")], "numpy", "plain")
        """, *(word for n in (8, 9, 7) for word in ("--case", self.PLAIN.replace("4x8", f"4x{n}"))))
        self.assertEqual([r["verdict"] for r in records], ["pass", "unsupported", "error"], done.stdout + done.stderr)
        self.assertIn("plain: there is no kernel for 9 columns", records[1]["reason"])
        self.assertIn("a compiler's fault", records[2]["reason"])

    def test_frameworks_that_are_not_there(self):
        done = self.assay("backends", "--framework", "troch")
        self.assertEqual(done.returncode, 2)
        self.assertIn("the module assay has gloo, jax, jax-structured, numpy, numpy-structured, onnxruntime, onnxruntime-structured, openvino, "
                      "tensorflow, tinygrad, torch, torch-structured; did you mean 'torch'?", done.stderr)
        done = self.assay("backends", "--framework", "onnxruntime,torch", "--python", self.bare())
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, needs, install in (("onnxruntime", "onnxruntime and no onnx and no ml_dtypes", "onnxruntime onnx ml-dtypes"),
                                     ("torch", "torch and no numpy", "torch numpy")):
            self.assertRegex(done.stdout, rf"{name} +unavailable\n +framework {name}: \S+ has no {needs}; install with: \S+ -m "
                                          rf"pip install {install}, or name another interpreter with --python OTHER\n")

    def bare(self):
        """An interpreter without packages, of an environment of its own, which it is not told of."""
        real = os.path.realpath(sys.executable)
        (self.dir / "environment/bin").mkdir(parents=True, exist_ok=True)
        (self.dir / "environment/pyvenv.cfg").write_text(f"home = {os.path.dirname(real)}\n")
        own = self.dir / "environment/bin/python3"
        if not own.exists():
            own.symlink_to(real)
        path = self.dir / "python"
        path.write_text(f"#!/bin/sh\nexec {own} -S -E \"$@\"\n")
        path.chmod(0o755)
        return str(path)

    def test_the_others_of_a_run_go_on_without_one_that_is_missing(self):
        case, both = ("--case", self.PLAIN), ("--framework", "torch,tinygrad", "--python", self.bare())
        done, records = self.records(*case, *both, "--backend", "torch,cpu,tinygrad")
        self.assertEqual(done.returncode, 0, done.stderr)
        verdicts = {r["backend"]: {s["verdict"] for s in records if s["backend"] == r["backend"]} for r in records}
        self.assertEqual(verdicts, {"torch": {"unavailable"}, "cpu": {"pass"}, "tinygrad": {"unavailable"}})
        for record in records:
            if record["backend"] != "cpu":
                self.assertIn(f"pip install {record['backend']} numpy", record["reason"])
        for words, code in ((("--backend", "torch,tinygrad"), 4), (("--backend", "cpu", "--require-backend", "torch"), 5)):
            with self.subTest(words):
                done = self.assay("run", "--no-perf", "--out", f"out-{code}", *case, *both, *words)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn("pip install torch numpy", done.stdout + done.stderr)


class Frameworks(Program):
    def test_suite_smoke_on_each(self):
        names = ("torch", "onnxruntime", "jax", "openvino", "tinygrad", "tensorflow")
        done, records = self.records("--framework", ",".join(names), "--backend", ",".join(names), "--suite", "smoke")
        self.assertIn(done.returncode, (0, 1), done.stderr)  # another version may have faults that are not known yet
        for name, passes in zip(names, (50, 25, 30, 20, 20, 30)):
            with self.subTest(name):
                own = [r for r in records if r["backend"] == name]
                broken = [(r["case_id"], r["implementation"], r["reason"]) for r in own
                          if r["verdict"] in ("error", "crash", "timeout", "unavailable")]
                self.assertEqual(broken, [])
                self.assertGreater(sum(r["verdict"] == "pass" for r in own), passes, done.stdout)
                self.assertRegex(own[0]["library_version"], rf"^{name} \d+\.\d+.*CPython")
        attention = {r["implementation"] for r in records if r["backend"] == "torch" and r["op"] == "attention"}
        self.assertLessEqual({"sdpa", "sdpa-math", "sdpa-flash"}, attention)
        softmax = {(r["backend"], r["implementation"]) for r in records if r["op"] == "softmax" and r["verdict"] == "pass"}
        self.assertLessEqual({("torch", "eager"), ("torch", "compile"), ("jax", "eager"), ("jax", "jit")}, softmax)

    def test_elements_and_moves_of_openvino(self):
        cases = ["abs/f32/n=33", "round/f16/n=33", "equal/i32-i32-bool/n=33", "pow/f32/n=33,per=row,rows=3", "clip/f32/n=33,low=-0.5,high=0.25",
                 "where/bool-bf16-bf16-bf16/n=33", "roll/i8/rows=3,n=5,shift=2", "concat/f32/rows=3,n=5,m=2",
                 "take_along_axis/f32-i64-f32/rows=3,n=5,k=4", "mul/i64/n=33"]
        _, records = self.records("--framework", "openvino", "--backend", "openvino", "--relations", "none",
                                  *(word for case in cases for word in ("--case", f"{case}/fill=normal/seed=0")))
        verdicts = {r["op"]: r["verdict"] for r in records}
        self.assertEqual(verdicts.pop("mul"), "unsupported")  # i64 becomes i32 there
        self.assertEqual(verdicts, dict.fromkeys(verdicts, "pass"), [r["reason"] for r in records])
        self.assertEqual(len(verdicts), len(cases) - 1)

    def test_spectra_scans_sparse_products_and_random_words(self):
        """Each column passes what it has; the newest operators that it has not are unsupported."""
        cases = {"stft/f32/b=2,l=65,n=16,hop=4": "torch onnxruntime openvino tensorflow", "fft_conv/f32/b=2,c=3,l=33": "torch jax tensorflow",
                 "associative_scan/f32/rows=5,n=65": "torch jax tensorflow", "sparse_mm/f32-u8-f32-f32/m=5,k=64,n=7": "torch jax tensorflow",
                 "grid_sample/f32/n=2,c=3,h=7,w=9,oh=7,ow=11": "torch onnxruntime jax openvino", "philox/i64/n=33": "tensorflow",
                 "philox/i64-i64-i32/n=33": "tensorflow", "mx_mm/e4m3-e4m3-u8-u8-f32/m=7,k=96,n=9": "jax",
                 "gated_delta_rule/f32/b=1,h=2,l=9,d=5,dv=3": "onnxruntime", "causal_conv1d/f32/b=2,c=5,l=33,k=4,silu=1": "onnxruntime"}
        names = "torch,onnxruntime,jax,openvino,tensorflow"
        _, records = self.records("--framework", names, "--backend", names, "--relations", "none",
                                  *(word for case in cases for word in ("--case", f"{case}/fill=normal/seed=0")))
        for case, having in cases.items():
            own = [r for r in records if r["case_id"].startswith(case)]
            with self.subTest(case):
                self.assertEqual({r["verdict"] for r in own}, {"pass", "unsupported"}, [r["reason"] for r in own])
                self.assertEqual({r["backend"] for r in own if r["verdict"] == "pass"}, set(having.split()))

    def test_structured_operands(self):
        columns = ("torch-structured", "jax-structured", "onnxruntime-structured")
        _, records = self.records("--framework", ",".join(columns), "--backend", ",".join(columns), "--relations", "none", "--case",
                                  "exp/f32/n=2049/fill=normal/seed=0", "--case", "cumsum/i32/rows=5,n=7/fill=normal/seed=0")
        passed = {(r["backend"], r["op"], r["implementation"]) for r in records if r["verdict"] == "pass"}
        both = {"sliced", "transposed", "expanded"}
        for op, names in (("exp", ("eager", "eager", "cpu")), ("cumsum", ("integers", "integers", "cpu"))):
            for column, name, more in zip(columns, names, ({"lazy", "out", "in-place"}, {"reversed", "donated"}, {"reversed"})):
                found = {implementation for backend, its, implementation in passed if (backend, its) == (column, op)}
                self.assertLessEqual({f"{name}-{structure}" for structure in both | more}, found, (column, op))

    def test_tensors_that_are_no_plain_ones(self):
        (self.dir / "odd.py").write_text(textwrap.dedent("""
            import assay
            import torch

            def kernel(**more):
                return assay.kernel("exp", contract="f32acc; math=256", dtypes=["f32"], framework="torch", **more)

            @kernel()
            def with_gradient(x):
                return torch.exp(x.clone().requires_grad_())

            @kernel()
            def transposed(x):
                return torch.exp(torch.stack([x, x], 1))[:, 0]

            @kernel()
            def without_memory(x):
                return torch.exp(x.to("meta"))

            @kernel()
            def in_bf16(x):
                return torch.exp(x).bfloat16()
        """))
        _, records = self.records("--kernels", "odd.py", "--backend", "odd", "--case", "exp/f32/n=2049/fill=normal/seed=0")
        found = {r["implementation"]: r for r in records}
        expected = {"with_gradient": ("pass", ""), "transposed": ("pass", ""), "without_memory": ("error", "meta"),
                    "in_bf16": ("error", "returned torch.bfloat16|returned bfloat16")}
        for name, (verdict, reason) in expected.items():
            with self.subTest(name):
                self.assertEqual(found[name]["verdict"], verdict, found[name]["reason"])
                if reason:
                    self.assertRegex(found[name]["reason"], reason)

    def test_a_framework_that_cannot_be_imported_is_missing(self):
        """And what is beside it runs."""
        broken = self.dir / "modules/tinygrad"
        broken.mkdir(parents=True)
        for body, said in (
                ("import a_part_that_is_not_there", "No module named 'a_part_that_is_not_there'"),
                ("raise ImportError('libabsent.so: cannot open shared object file')", "libabsent.so: cannot open")):
            shutil.rmtree(self.dir / "out", True)
            (broken / "__init__.py").write_text(body + "\n")
            done, records = self.records("--framework", "torch,tinygrad", "--backend", "torch,tinygrad", "--impl", "eager",
                                         "--case", "exp/f32/n=2049/fill=normal/seed=0", PYTHONPATH=str(broken.parent))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([(r["backend"], r["verdict"]) for r in records],
                             [("torch", "pass"), ("tinygrad", "unavailable")])
            self.assertIn("cannot import it: " + said, records[1]["reason"])

    def test_devices_by_the_names_of_frameworks(self):
        kernel = """
            import assay
            import jax
            import torch
            jax.config.update("jax_num_cpu_devices", 2)

            @assay.kernel("exp", contract="f32acc; math=256; ftz=all", dtypes=["f32"], framework="{framework}", device={device})
            def mine(x):
                return {call}(x)
        """
        case = ("--backend", "mine", "--case", "exp/f32/n=2049/fill=normal/seed=0")
        for framework, device, call, shown in (
                ("torch", "'cpu:0'", "torch.exp", "host"), ("torch", "torch.device('cpu')", "torch.exp", "host"),
                ("jax", "'cpu:0'", "jax.numpy.exp", "host"), ("jax", "'cpu:1'", "jax.numpy.exp", "cpu:1")):
            with self.subTest(device):
                (self.dir / "mine.py").write_text(textwrap.dedent(kernel).format(framework=framework, device=device, call=call))
                done, records = self.records("--kernels", "mine.py", *case)
                self.assertEqual([(r["verdict"], r["device"]) for r in records], [("pass", shown)], done.stderr)
                shutil.rmtree(self.dir / "out")
        for framework, device, said in (
                ("torch", "'cuda:97'", r"PyTorch \S+ reaches cpu.* here"), ("torch", "'meta'", r"PyTorch \S+ reaches cpu"),
                ("torch", "'gpu'", r"PyTorch \S+ reaches cpu"), ("jax", "'cpu:2'", r"JAX \S+ reaches cpu, cpu:1"),
                ("jax", "'gpu:97'", r"JAX \S+ reaches cpu, cpu:1"), ("jax", "'cuda:97'", r"JAX \S+ reaches cpu, cpu:1")):
            with self.subTest(device):
                (self.dir / "mine.py").write_text(textwrap.dedent(kernel).format(framework=framework, device=device, call=""))
                done, _ = self.records("--kernels", "mine.py", *case)
                self.assertEqual(done.returncode, 2, done.stdout)
                named = device.replace("cuda", "gpu") if framework == "jax" else device  # what JAX calls it
                self.assertRegex(done.stderr, f"kernel mine: device={named} is not there: {said}")
                self.assertFalse((self.dir / "out").exists())

    def test_kernels_of_torch_and_jax_in_turns(self):
        (self.dir / "pair.py").write_text(textwrap.dedent("""
            import assay
            import jax
            import torch

            @assay.kernel("softmax", contract="f32acc; math=256; masked=nan", dtypes=["f32"], framework="torch")
            def of_torch(x, *, axis, log):
                return torch.log_softmax(x, axis) if log else torch.softmax(x, axis)

            @assay.kernel("softmax", contract="f32acc; math=256; masked=nan; ftz=all", dtypes=["f32"], framework="jax")
            def of_jax(x, *, axis, log):
                return (jax.nn.log_softmax if log else jax.nn.softmax)(x, axis)
        """))
        done = self.assay("run", "--python", PYTHON, "--kernels", "pair.py", "--backend", "pair", "--out", "out", "--progress",
                          "none", "--rounds", "2", "--case", "softmax/f32/shape=64x100/fill=normal/seed=0")
        records = [json.loads(line) for line in (self.dir / "out/results.jsonl").read_text().splitlines()]
        self.assertEqual({(r["implementation"], r["verdict"]) for r in records}, {("of_torch", "pass"), ("of_jax", "pass")},
                         done.stdout + done.stderr)
        self.assertTrue(all(r["time_median_s"] > 0 for r in records))


if __name__ == "__main__":
    unittest.main()
