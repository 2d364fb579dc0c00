# SPDX-License-Identifier: Apache-2.0
"""assay shrink on faulty kernels: shrink_test.py ASSAY [CLASS]."""
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import textwrap
import unittest
from fractions import Fraction

import numpy as np

ASSAY = sys.argv.pop(1)


def tensors_in(path):
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(raw[8 + length:][slice(*info["data_offsets"])], "f4").reshape(info["shape"])
            for name, info in header.items()}


class Shrinking(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def command(self, words, code):
        variables = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "ASSAY_LIBRARY")}
        variables |= {"ASSAY_GOLDEN_STORE": str(self.dir / "store")}
        done = subprocess.run(words, cwd=self.dir, env=variables, capture_output=True, text=True, timeout=280)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def shrink(self, kernel, case, *args, code=1, before=()):
        shutil.rmtree(self.dir / "shrunk", ignore_errors=True)
        (self.dir / "mine.py").write_text("import os\nimport numpy as np\nimport assay\n" + textwrap.dedent(kernel))
        return self.command([*before, ASSAY, "shrink", "--case", case, "--kernels", "mine.py", "--python", sys.executable, "--backend",
                             "mine", "--progress", "none", *args], code)

    def script(self, code=1):
        said = self.command([sys.executable, "shrunk/exact.py"], code)
        return float(re.search(r"exact +(\S+)", said)[1]), float(re.search(r"got +(\S+)", said)[1])

    def share(self, said):
        return float(re.search(r"^to .* ([\d.e+-]+) %$", said, re.MULTILINE)[1])


class Failing(Shrinking):
    def test_an_interrupt_ends_the_search(self):
        # The right one has no failure that could be made smaller.
        for product, wait in (("a[..., :-1] @ b[..., :-1, :]", "2"), ("a @ b", "4")):
            with self.subTest(product):
                said = self.shrink(f"""
                    import time
                    @assay.kernel("matmul", contract="f32acc", dtypes=["f32"])
                    def slow(a, b):
                        time.sleep(0.5)
                        return {product}
                    """, "matmul/f32/m=64,n=48,k=300/fill=normal/seed=0", code=130,
                                   before=("timeout", "--foreground", "--signal=INT", "--preserve-status", wait))
                self.assertRegex(said, "interrupted(: a longer search| before the search had| while plugins were loaded)")

    def test_a_lost_tail_is_left_with_few_terms_and_one_line_shows_it_again(self):
        said = self.shrink("""
            @assay.kernel("matmul", contract="f32acc", dtypes=["f32"])
            def loses_tail(a, b):
                k = a.shape[-1] - 1 if a.shape[-1] > 64 else a.shape[-1]
                return a[..., :k] @ b[..., :k, :]
            """, "matmul/f32/m=16,n=16,k=100/fill=normal/seed=0")
        self.assertIn("to      matmul/f32/m=1,n=1,k=65/fill=normal/seed=0", said)
        self.assertLess(self.share(said), 5)
        data = tensors_in(self.dir / "shrunk/inputs.safetensors")
        for name in ("a", "b"):  # the lost term alone is left
            self.assertEqual(data[name].ravel().tolist(), [0] * 64 + [1])
        self.assertEqual(self.script(), (1, 0))
        again = shlex.split(re.search(r"^again +(.*)$", said, re.MULTILINE)[1])
        self.assertIn("mine loses_tail: mismatch", self.command(again, 1))
        self.assertIn("mismatch", self.command([ASSAY, "explain", "shrunk"], 1))

    def test_the_cause_stays_and_the_script_knows_the_formula(self):
        said = self.shrink("""
            @assay.kernel("rms_norm", contract="f32acc;math=4", dtypes=["f32"])
            def sums(x, gamma, eps):
                x, gamma = x.astype("f8"), gamma.astype("f8")
                return (x / np.sqrt((x * x).sum(-1, keepdims=True) + eps) * gamma).astype("f4")
            """, "rms_norm/f32/rows=32,n=200/fill=normal/seed=0")
        self.assertIn("cause   the right result of the formula with sum(x * x) in place of mean(x * x)", said)
        data = tensors_in(self.dir / "shrunk/inputs.safetensors")
        x, gamma = data["x"].astype("f8"), data["gamma"].astype("f8")
        right = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gamma
        exact, got = self.script()
        self.assertLess(np.abs(right - exact).min(), 1e-14)
        self.assertGreater(abs(exact - got), 0.01)

    def test_of_two_mistakes_the_named_one_is_kept(self):
        # With one or two rows it fails by another mistake, which would be the smaller case.
        said = self.shrink("""
            @assay.kernel("softmax", contract="f32acc;math=4", dtypes=["f32"])
            def two(x, axis, log):
                if x.shape[0] < 3:
                    return (0.75 + 0.125 * (np.arange(x.size).reshape(x.shape) % 7)).astype("f4")
                e = np.exp(x.astype("f8") - x.max(0, keepdims=True))
                return (e / e.sum(0, keepdims=True)).astype("f4")
            """, "softmax/f32/shape=4x6/fill=normal/seed=0")
        self.assertRegex(said, r"to +softmax/f32/shape=3x\d+/")
        self.assertIn("axis=0", said)

    def test_a_script_of_attention_and_of_a_convolution(self):
        self.shrink("""
            def softmax(x):
                e = np.exp(x - x.max(-1, keepdims=True))
                return e / e.sum(-1, keepdims=True)
            @assay.kernel("attention", contract="f32acc;math=4", dtypes=["f32"])
            def unscaled(q, k, v, **rest):
                q, k, v = (t.astype("f8") for t in (q, k, v))
                return (softmax(q @ k.swapaxes(-1, -2)) @ v).astype("f4")
            """, "attention/f32/b=1,h=2,l=4,s=8,d=8/fill=normal/seed=0")
        data = {name: t.astype("f8") for name, t in tensors_in(self.dir / "shrunk/inputs.safetensors").items()}
        scores = data["q"] @ data["k"].swapaxes(-1, -2) / np.sqrt(data["q"].shape[-1])
        e = np.exp(scores - scores.max(-1, keepdims=True))
        right = e / e.sum(-1, keepdims=True) @ data["v"]
        self.assertLess(np.abs(right - self.script()[0]).min(), 1e-12)
        self.shrink("""
            @assay.kernel("conv", contract="f32acc", dtypes=["f32"])
            def unpadded(x, w, **rest):
                n, c, height, width = x.shape
                y = np.zeros((n, w.shape[0], height, width))
                for i in range(1, height - 1):
                    for j in range(1, width - 1):
                        y[:, :, i, j] = np.einsum("nchw,ochw->no", x[:, :, i - 1:i + 2, j - 1:j + 2].astype("f8"), w.astype("f8"))
                return y.astype("f4")
            """, "conv/f32/n=1,c=2,o=2,i=6x6,k=3x3,pad=1/fill=normal/seed=0")
        exact, got = self.script()
        self.assertEqual(got, 0)
        data = tensors_in(self.dir / "shrunk/inputs.safetensors")
        self.assertGreater(abs(exact), 0)
        self.assertLessEqual(abs(exact), float(np.abs(data["x"]).sum() * np.abs(data["w"]).max()))

    def test_a_failure_that_seldom_comes_has_a_rate(self):
        kernel = """
            calls = 0
            @assay.kernel("softmax", contract="f32acc;math=4", dtypes=["f32"])
            def flips(x, axis, log):
                global calls
                calls += 1
                e = np.exp(x.astype("f8") - x.max(axis, keepdims=True))
                y = (e / e.sum(axis, keepdims=True)).astype("f4")
                y.flat[y.size // 2] *= 1.5 if calls % 7 == 0 else 1
                return y
            """
        said = self.shrink(kernel, "softmax/f32/shape=16x64/fill=normal/seed=0", "--repeat", "42")
        self.assertIn("rate    6 of 42 executions", said)
        self.assertIn("to      softmax/f32/shape=1x1/", said)

    def test_functions_of_a_script_are_exact_from_the_smallest_numbers_of_f64_to_the_largest(self):
        said = self.shrink("""
            @assay.kernel("exp", contract="f32acc;math=4", dtypes=["f32"])
            def wrong(x):
                return 2 * np.exp(x)
            """, "exp/f32/n=9/fill=normal/seed=0")
        self.assertIn("script  python3", said)
        script = self.dir / "shrunk/exact.py"
        known = {"__file__": str(script)}
        exec(script.read_text().partition("\nEXTENTS")[0], known)
        for name, like in (("tanh", math.tanh), ("log1p", math.log1p), ("exp", math.exp), ("erf", math.erf), ("sqrt", math.sqrt)):
            for x in (5e-324, 1e-300, 1e-40, 1e-19, 0.3, 3.0):
                self.assertAlmostEqual(float(known[name](Fraction(x))) / like(x), 1, 14, (name, x))
        for name, like in (("expm1", math.expm1), ("atan", math.atan), ("asinh", math.asinh),
                           ("cbrt", lambda x: math.copysign(abs(x) ** (1 / 3), x))):
            for x in (1e-300, 1e-19, 0.3, -0.7, 3.0, 100.0):
                self.assertAlmostEqual(float(known[name](Fraction(x))) / like(x), 1, 13, (name, x))
        for x in (1e-30, 0.3, -0.999, 1.0, -1.0):
            for name, like in (("asin", math.asin), ("acos", math.acos)):
                self.assertAlmostEqual(float(known[name](Fraction(x))) / (like(x) or 1), 1 if like(x) else 0, 13, (name, x))
        for x in (1 + 2.0 ** -40, 3.0, 1e30):
            self.assertAlmostEqual(float(known["acosh"](Fraction(x))) / math.acosh(x), 1, 13, x)
        for x in (0.3, 14.0, 26.0):
            self.assertAlmostEqual(float(1 - known["erf"](Fraction(x))) / math.erfc(x), 1, 12, x)
        for x in (-300.0, -1.0, 0.3, 100.0, 300.0):
            self.assertAlmostEqual(float(known["one_minus_tanh"](Fraction(x))) / (2 / (math.exp(2 * x) + 1)), 1, 13, x)
        for x in (0.3, -5.0, 1e22, 1e300):
            for quarter, like in ((0, math.sin), (1, math.cos)):
                self.assertAlmostEqual(float(known["sine"](Fraction(x), quarter)), like(x), 14, (x, quarter))

    def test_a_value_that_is_not_finite_has_no_script(self):
        said = self.shrink("""
            @assay.kernel("log", contract="f32acc;math=4", dtypes=["f32"])
            def blind(x):
                return np.where(x == 0, np.float32(np.nan), np.log(x, where=x > 0, out=np.full_like(x, np.nan)))
            """, "log/f32/n=300/fill=special/seed=0")
        self.assertIn("fails by its NaN and infinities", said)
        self.assertRegex(said, "script  none: ")
        self.assertFalse((self.dir / "shrunk/exact.py").exists())

    def test_a_crash_is_made_small_without_data(self):
        said = self.shrink("""
            @assay.kernel("exp", contract="f32acc;math=4", dtypes=["f32"])
            def dies(x):
                if x.size > 20:
                    os._exit(3)
                return np.exp(x)
            """, "exp/f32/n=30/fill=normal/seed=0")
        # Relations execute it on more numbers than it has.
        self.assertLess(int(re.search(r"^to +exp/f32/n=(\d+)/", said, re.MULTILINE)[1]), 30)
        self.assertFalse((self.dir / "shrunk").exists())


class OfOnesOwnData(Shrinking):
    # No seed of a normal fill has such a number.
    SATURATES = """
        @assay.kernel("matmul", contract="f32acc", dtypes=["f32"])
        def saturates(a, b):
            return np.clip(a, -100, 100) @ b
        """

    def data(self):
        rng = np.random.default_rng(3)
        a, b = (rng.standard_normal(shape).astype("f4") for shape in ((48, 60), (60, 40)))
        a[29, 33] = 1000
        return {"a": a, "b": b}

    def alone(self):
        self.assertEqual(np.abs(tensors_in(self.dir / "shrunk/inputs.safetensors")["a"]).max(), 1000)

    def test_the_number_that_it_takes_is_found_in_given_data(self):
        data = self.data()
        for name, values in data.items():
            np.save(self.dir / f"{name}.npy", values)
        case = "matmul/f32/m=48,n=40,k=60/fill=normal/seed=0"
        said = self.shrink(self.SATURATES, case, "--input", "a=a.npy", "--input", "b=b.npy")
        self.assertIn("to      matmul/f32/m=1,n=1,k=1/", said)
        self.alone()
        said = self.shrink(self.SATURATES, case, "--input", "a=b.npy", code=2)
        self.assertIn("--input a=b.npy: it is of shape 60x40, and the case's is 48x60", said)

    def test_a_failure_folder_is_made_smaller_again(self):
        data = self.data()
        for name, values in data.items():
            np.save(self.dir / f"{name}.npy", values)
        self.shrink(self.SATURATES, "matmul/f32/m=48,n=40,k=60/fill=normal/seed=0", "--input", "a=a.npy", "--input", "b=b.npy",
                    "--seconds", "1")
        (self.dir / "shrunk").rename(self.dir / "failed")
        said = self.command([ASSAY, "shrink", "failed", "--kernels", "mine.py", "--python", sys.executable, "--backend", "mine",
                             "--progress", "none"], 1)
        self.assertIn("m=1,n=1,k=1/", said)
        self.alone()
        said = self.command([ASSAY, "shrink", "failed", "--case", "exp/f32/n=5/fill=normal/seed=0"], 2)
        self.assertIn("FOLDER excludes --case", said)
        self.assertIn("FOLDER of a failure, or --case ID", self.command([ASSAY, "shrink"], 2))
        self.assertIn("is no failure folder with tensors", self.command([ASSAY, "shrink", ".", "--out", "other"], 2))


class Passing(Shrinking):
    def test_an_earlier_folder_is_kept(self):
        (self.dir / "earlier").mkdir()
        (self.dir / "earlier/got-mine-right.safetensors").write_bytes(b"")
        said = self.shrink("", "exp/f32/n=50/fill=normal/seed=0", "--out", "earlier", code=2)
        self.assertIn("--out earlier: it is not empty (it has got-mine-right.safetensors): give a new or an empty folder", said)

    def test_nothing_fails(self):
        said = self.shrink("""
            @assay.kernel("exp", contract="f32acc;math=4", dtypes=["f32"])
            def right(x):
                return np.exp(x.astype("f8")).astype("f4")
            """, "exp/f32/n=50/fill=normal/seed=0", code=4)
        self.assertIn("no implementation fails on exp/f32/n=50", said)

    def test_a_kernel_that_raises_is_named_and_left_as_it_is(self):
        kernel = """
            @assay.kernel("exp", contract="f32acc;math=4", dtypes=["f32"])
            def raises(x):
                raise ValueError("too large")
            """
        said = self.shrink(kernel, "exp/f32/n=50/fill=normal/seed=0", code=3)
        self.assertIn("errors and timeouts are not made smaller:\n", said)
        self.assertRegex(said, r"raises ends in error: .*too large")


if __name__ == "__main__":
    unittest.main(verbosity=2)
