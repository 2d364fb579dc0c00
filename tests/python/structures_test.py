# SPDX-License-Identifier: Apache-2.0
"""Columns of structured operands, with NumPy's functions: structures_test.py ASSAY CLASS."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

import numpy

ASSAY = sys.argv.pop(1)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "harness/python"))
from assay._frameworks import Unsupported, WrongResult  # noqa: E402
from assay.frameworks.numpy_structures import ARRAYS, OPERANDS, structures  # noqa: E402
from assay.frameworks._structures import Outputs  # noqa: E402

X = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4) - 7


class Structures(unittest.TestCase):
    def test_values_stay_and_strides_are_others(self):
        repeated = numpy.tile(numpy.float32([1, -0.0, numpy.nan, 3]), (2, 3, 1))
        strides = {"sliced": (504, 72, 8), "transposed": (4, 8, 24), "expanded": (48, 16, 4), "reversed": (-48, -16, -4)}
        self.assertEqual(set(OPERANDS), set(strides))
        for name, wrap in OPERANDS.items():
            for x in (X, repeated, X[0, 0, 0], numpy.arange(5), X > 0, X.astype(numpy.complex64)):
                given = wrap(lambda y: y)(numpy.asarray(x))
                self.assertIs(type(given), numpy.ndarray, name)
                self.assertEqual(given.tobytes(), numpy.asarray(x).tobytes(), (name, x.dtype))
            self.assertEqual(wrap(lambda y: y)(X).strides, strides[name], name)
        self.assertEqual(OPERANDS["expanded"](lambda y: y)(repeated).strides, (0, 0, 4))
        signs = numpy.float32([[0.0, 1.0], [-0.0, 1.0]])
        self.assertEqual(OPERANDS["expanded"](lambda y: y)(signs).strides, (8, 4), "zeros of two signs are two numbers")

    def outputs(self, kind, function, *args):
        made = Outputs(ARRAYS, kind)
        return made.call([function], args, {}), made

    def test_a_right_function_takes_every_out(self):
        for kind in ("out", "in-place", "overlap"):
            result, made = self.outputs(kind, numpy.exp, X)
            self.assertEqual(result.tobytes(), numpy.exp(X).tobytes())
            self.assertGreater(made.calls, 0, kind)
        self.assertEqual(self.outputs("out", numpy.modf, X)[1].calls, 2, "of two results too")

    def test_a_function_that_takes_out_for_dense_is_found(self):
        def flat(x, out):
            made = numpy.exp(x) if out is None else out
            if out is not None:
                numpy.lib.stride_tricks.as_strided(out, (out.size,), (out.itemsize,))[...] = numpy.exp(x).ravel()
            return made
        with self.assertRaisesRegex(WrongResult, "writes beside"):
            self.outputs("out", lambda x, out=None: flat(x, out), X)

    def test_a_function_that_reads_what_it_has_written_is_found(self):
        def running(x, out=None):
            out = numpy.empty_like(x) if out is None else out
            for i in range(x.shape[0]):
                out[i] = x[0] + x[i]
            return out
        right = running(X).tobytes()
        self.assertNotEqual(self.outputs("in-place", running, X)[0].tobytes(), right)
        self.assertEqual(self.outputs("out", running, X)[0].tobytes(), right)

    def test_a_refusal_is_no_result(self):
        def refuses(x, out=None):
            if out is not None:
                raise RuntimeError("the memory is one")
            return x + 1
        for function, reason in ((refuses, "the memory is one"), (lambda x: x + 1, "takes out=")):
            result, made = self.outputs("in-place", function, X)
            self.assertEqual((result.tobytes(), made.calls), ((X + 1).tobytes(), 0))
        with self.assertRaisesRegex(Unsupported, "takes out="):
            structures()["in-place"](lambda x: x.copy())(X)

    def test_calls_of_numpy_go_through(self):
        def function(x):
            return numpy.sum(x * x, axis=-1, keepdims=True) / numpy.sqrt(numpy.mean(x, axis=0) ** 2 + 1)
        for kind in ("out", "in-place", "overlap"):
            found = structures()[kind](function)(X)
            self.assertIs(type(found), numpy.ndarray)
            numpy.testing.assert_array_equal(found, function(X))


class Runs(unittest.TestCase):
    def test_what_only_some_strides_show(self):
        """A function that is wrong for arrays that are not dense. Structures that leave these data dense are not asked: the harness's
        own padded layout may find it there."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "ops.py").write_text(textwrap.dedent("""
            import assay

            @assay.operator("dense_alone", types=["f32"])
            def dense_alone(x: "rows n"):
                is_dense = getattr(getattr(x, "flags", None), "c_contiguous", True)
                return assay.namespace(x).exp(x) + (0.0 if is_dense else 0.01)
            """))
        words = [ASSAY, "run", "--framework", "numpy-structured", "--backend", "numpy-structured", "--operators", "ops.py", "--out", "out",
                 "--no-perf", "--progress", "none"]
        for fill in ("normal", "repeated"):
            words += ["--case", f"dense_alone/f32/rows=9,n=33/fill={fill}/seed=0"]
        variables = {**os.environ, "ASSAY_GOLDEN_STORE": os.path.join(folder.name, "store"), "ASSAY_PYTHON": sys.executable}
        done = subprocess.run(words, cwd=folder.name, env=variables, capture_output=True, text=True, timeout=600)
        lines = (pathlib.Path(folder.name) / "out/results.jsonl").read_text().splitlines()
        verdicts = {(r["fill"], r["implementation"]): r["verdict"] for r in map(json.loads, lines)}
        for fill, names in (("normal", set(OPERANDS) - {"expanded"}), ("repeated", set(OPERANDS))):
            self.assertEqual({name: verdicts.get((fill, f"eager-{name}")) for name in names}, dict.fromkeys(names, "mismatch"), done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
