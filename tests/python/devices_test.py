# SPDX-License-Identifier: Apache-2.0
"""Python on a GPU: devices_test.py ASSAY [CLASS], by an interpreter whose PyTorch (and JAX, and Triton) reach one; skipped
where none does."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

ASSAY = sys.argv.pop(1)


def reaches_gpu():
    if importlib.util.find_spec("torch") is None:
        return False
    import torch
    return torch.cuda.is_available()


def has(module):
    return importlib.util.find_spec(module) is not None


EXP = "exp/f32/n=65537/fill=normal/seed=0"
SOFTMAX = "softmax/f32/shape=64x256/fill=normal/seed=0"
KERNELS = """
import assay
import torch

def kernel(**more):
    return assay.kernel("softmax", contract="f32acc; math=256; masked=nan", dtypes=["f32"], framework="torch", device="cuda", **more)

@kernel()
def returned(x, *, axis, log):
    assert x.is_cuda
    return torch.log_softmax(x, axis) if log else torch.softmax(x, axis)

@kernel()
def written(x, out, *, axis, log):
    assert out.is_cuda
    out.copy_(torch.softmax(x, axis))

@kernel()
def wrong(x, *, axis, log):
    return torch.softmax(x, axis) * 1.001

@kernel()
def on_the_host(x, *, axis, log):
    return torch.softmax(x, axis).cpu()

@kernel()
def in_place(x, *, axis, log):
    return torch.softmax(x, axis, out=x)

@kernel()
def raises(x, *, axis, log):
    torch.zeros(4, device="cuda")[torch.tensor([1 << 20], device="cuda")].cpu()

@kernel()
def after_the_crash(x, *, axis, log):
    return torch.softmax(x, axis)

side = None

@kernel()
def on_another_stream(x, *, axis, log):
    global side
    side = side or torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(200):
            y = torch.softmax(x, axis)
    return y

@kernel()
def on_this_stream(x, *, axis, log):
    for _ in range(200):
        y = torch.softmax(x, axis)
    return y
"""
TRITON = """
import assay
import torch
import triton
import triton.language as tl

@triton.jit
def rows(x, y, n, scale: tl.constexpr, block: tl.constexpr):
    row = tl.program_id(0) * n
    at = tl.arange(0, block)
    v = tl.load(x + row + at, mask=at < n, other=float("-inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row + at, e * scale / tl.sum(e, axis=0), mask=at < n)

@assay.kernel("softmax", contract="f32acc; math=256; masked=nan", dtypes=["f32"], framework="torch", device="cuda",
              supports=lambda case: not case.attrs["log"] or "no logarithm")
def mine(x, *, axis):
    x = x.movedim(axis, -1).contiguous()
    y = torch.empty_like(x)
    n = x.shape[-1]
    rows[(x.numel() // n,)](x, y, n, {scale}, triton.next_power_of_2(n))
    return y.movedim(-1, axis)
"""


@unittest.skipUnless(reaches_gpu(), "no PyTorch that reaches a GPU")
class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.dir / name).write_text(textwrap.dedent(text))
        return str(self.dir / name)

    def assay(self, *args):
        variables = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "ASSAY_LIBRARY")}
        variables["ASSAY_GOLDEN_STORE"] = str(self.dir / "store")
        return subprocess.run([ASSAY, *args], cwd=self.dir, env=variables, capture_output=True, text=True, timeout=600)

    def run_cases(self, *args):
        done = self.assay("run", "--python", sys.executable, "--out", "out", "--progress", "none", *args)
        path = self.dir / "out/results.jsonl"
        self.assertTrue(path.exists(), done.stdout + done.stderr)
        return done, [json.loads(line) for line in path.read_text().splitlines()]


class Kernels(Program):
    def test_verdicts(self):
        file = self.write("mine.py", KERNELS)
        done, records = self.run_cases("--kernels", file, "--backend", "mine", "--case", SOFTMAX)
        found = {r["implementation"]: r for r in records}
        expected = {"returned": "pass", "written": "pass", "wrong": "mismatch", "on_the_host": "error", "in_place": "mismatch",
                    "raises": ("error", "crash"), "after_the_crash": "pass", "on_another_stream": "pass", "on_this_stream": "pass"}
        for name, verdict in expected.items():
            with self.subTest(name):
                self.assertIn(found[name]["verdict"], verdict if isinstance(verdict, tuple) else (verdict,),
                              found[name]["reason"])
                self.assertEqual(found[name]["device"], "cuda")
        self.assertIn("on cpu, where one on cuda is expected", found["on_the_host"]["reason"])
        for name in ("returned", "written", "on_this_stream"):
            self.assertGreater(found[name]["time_median_s"], 0)
            self.assertEqual(found[name]["timing_invalid"], "")
        hidden, plain = found["on_another_stream"], found["on_this_stream"]
        self.assertTrue(hidden["timing_invalid"] or hidden["time_median_s"] > 0.5 * plain["time_median_s"],
                        "work on another stream is not in the time")

    def test_rounds(self):
        file = self.write("mine.py", KERNELS)
        _, records = self.run_cases("--kernels", file, "--backend", "mine", "--case", SOFTMAX, "--impl", "returned,written",
                                    "--rounds", "2")
        for record in records:
            self.assertEqual((record["verdict"], record["timing_invalid"]), ("pass", ""))
            self.assertEqual(len(record["round_medians_s"].split(",")), 2, record["round_medians_s"])

    def test_one_that_is_not_there(self):
        import torch
        device = f"cuda:{torch.cuda.device_count()}"
        file = self.write("mine.py", KERNELS.replace('device="cuda", **', f'device="{device}", **'))
        done = self.assay("run", "--python", sys.executable, "--kernels", file, "--backend", "mine", "--case", SOFTMAX)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stderr, rf"device='{device}' is not there: PyTorch \S+ reaches cpu, cuda")

    @unittest.skipUnless(has("jax"), "JAX is not installed")
    def test_of_jax(self):
        import jax
        if jax.default_backend() != "gpu":
            self.skipTest("JAX reaches no GPU")
        file = self.write("mine.py", """
            import assay
            import jax

            @assay.kernel("exp", contract="f32acc; math=256; ftz=all", dtypes=["f32"], framework="jax", device="gpu")
            def mine(x):
                return jax.numpy.exp(x)

            @assay.kernel("exp", contract="f32acc; math=256; ftz=all", dtypes=["f32"], framework="jax", device="gpu")
            def on_the_host(x):
                return jax.device_put(jax.numpy.exp(x), jax.devices("cpu")[0])
        """)
        _, records = self.run_cases("--kernels", file, "--backend", "mine", "--case", EXP)
        self.assertEqual([(r["implementation"], r["verdict"]) for r in records], [("mine", "pass"), ("on_the_host", "error")],
                         [r["reason"] for r in records])
        self.assertIn("is expected", records[1]["reason"])

    @unittest.skipUnless(has("triton"), "Triton is not installed")
    def test_of_triton(self):
        for scale, verdict in ((1.0, "pass"), (1.001, "mismatch")):
            with self.subTest(scale):
                file = self.write(f"mine{int(scale * 1000)}.py", TRITON.format(scale=scale))
                done = self.assay("run", "--python", sys.executable, "--kernels", f"mine={file}", "--backend", "mine", "--suite",
                                  "smoke", "--op", "softmax", "--dtype", "f32", "--out", str(scale))
                records = [json.loads(line) for line in (self.dir / str(scale) / "results.jsonl").read_text().splitlines()]
                judged = [r for r in records if r["verdict"] != "unsupported"]
                self.assertGreater(len(judged), 0, done.stdout + done.stderr)
                seen = {r["verdict"] for r in judged}
                self.assertTrue(seen == {"pass"} if verdict == "pass" else verdict in seen, [r["reason"] for r in judged])


class Judge(Program):
    @unittest.skipUnless(has("triton"), "Triton is not installed")
    def test_triton_against_torch(self):
        reference = self.write("reference.py", """
            import assay
            import torch

            @assay.kernel("softmax", contract="f32acc; math=256; masked=nan", dtypes=["f32"], framework="torch", device="cuda",
                          supports=lambda case: not case.attrs["log"] or "no logarithm")
            def reference(x, *, axis):
                return torch.softmax(x, axis)
        """)
        for scale, verdict in ((1.0, "accepted"), (1.001, "rejected")):
            with self.subTest(scale):
                candidate = self.write("candidate.py", TRITON.format(scale=scale))
                done = self.assay("judge", candidate, "--against", reference, "--python", sys.executable, "--json", "--case",
                                  SOFTMAX, "--hidden", "6", "--rounds", "3", "--progress", "none")
                said = json.loads(done.stdout)
                self.assertEqual(said["verdict"], verdict, done.stderr + said["explanation"])


class Columns(Program):
    def run_column(self, name, device, passes):
        done, records = self.run_cases("--framework", name, "--backend", name, "--device", device, "--suite", "smoke",
                                       "--no-perf")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        broken = [(r["case_id"], r["implementation"], r["reason"]) for r in records
                  if r["verdict"] in ("error", "crash", "timeout", "unavailable")]
        self.assertEqual(broken, [])
        self.assertGreater(sum(r["verdict"] == "pass" for r in records), passes, done.stdout)
        return records

    def test_torch(self):
        records = self.run_column("torch", "cuda", 50)
        attention = {r["implementation"] for r in records if r["op"] == "attention"}
        self.assertLessEqual({"sdpa", "sdpa-math", "sdpa-flash", "sdpa-efficient"}, attention)
        compiled = [r for r in records if r["implementation"] == "compile" and r["verdict"] == "pass"]
        self.assertGreater(len(compiled), 5)

    @unittest.skipUnless(has("jax"), "JAX is not installed")
    def test_jax(self):
        self.run_column("jax", "gpu", 30)


@unittest.skipUnless(reaches_gpu(), "no PyTorch that reaches a GPU")
class Arrays(unittest.TestCase):
    def test_tensors_on_the_device(self):
        import assay
        import torch
        a, b = (torch.randn(64, 64, device="cuda") for _ in range(2))
        y = (a.double() @ b.double()).float()
        self.assertTrue(assay.check("matmul", [a, b], y))
        self.assertTrue(assay.check("matmul", [a, b.T.contiguous().T], y))
        self.assertFalse(assay.check("matmul", [a, b], y * 1.001))
        self.assertTrue(assay.check("matmul", [a.bfloat16(), b.bfloat16()], (a.bfloat16().double() @ b.bfloat16().double()).bfloat16()))

    @unittest.skipUnless(has("cupy"), "CuPy is not installed")
    def test_arrays_of_cupy(self):
        import assay
        import cupy
        a = cupy.arange(16, dtype="float32").reshape(4, 4)
        self.assertTrue(assay.check("matmul", [a, a], a @ a))


if __name__ == "__main__":
    unittest.main(verbosity=2)
