# SPDX-License-Identifier: Apache-2.0
"""Extents of 0, in every operator, beside NumPy's answer: empty_test.py [CLASS]."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import assay
from empty_formulas import FORMULAS

NOTHING = "the result has 0 elements, so that there was nothing to judge"
# Cases that have no answer, by operator and extent, and why.
REFUSED = {
    ("attention", "d"): "d=0 must be at least 1: scores of no terms",
    ("attention", "hkv"): "hkv=0 must be at least 1 for h=2",
    ("conv", "i"): "i=0 of axis 0 must be at least 1: along nothing",
    ("conv", "k"): "k=0 of axis 0 must be at least 1: along nothing",
    ("fft", "n"): "n=0: every length must be at least 1",
    ("gather", "v"): r"\[v\] has no elements, so that there are no places along it",
    ("scatter_add", "rows"): r"\[rows\] has no elements, so that there are no places along it",
    ("top_k", "n"): "k must not be more than n",
    ("batch_norm_training", "n"): "n s must be at least 2: one element has no variance",
    ("batch_norm_training", "s"): "n s must be at least 2: one element has no variance",
    ("take_along_axis", "n"): r"\[n\] has no elements, so that there are no places along it",
    ("w4a16_mm", "k"): "k=0 must be at least",
    ("kv_cache_write", "size"): r"\[size\] has no elements, so that there are no places along it",
    ("embedding", "v"): r"\[v\] has no elements, so that there are no places along it",
    ("index_select", "rows"): r"\[rows\] has no elements, so that there are no places along it",
    ("moe_unpermute", "rows"): r"\[rows\] has no elements, so that there are no places along it",
    **{tuple(one.split(":")): f"{one.split(':')[1]}=0 must be at least" for one in (  # means and places of nothing
        "cross_entropy:rows cross_entropy:n cross_entropy_backward:rows cross_entropy_backward:n kl_div:rows kl_div:n mse:rows mse:n "
        "adaptive_avg_pool:h adaptive_avg_pool:w resize:h resize:w avg_pool:h avg_pool:w pad:rows pad:n grouped_gemm:groups moe_permute:k "
        "moe_route:experts lse_merge:parts w4a16_mm:groups scaled_mm:k conv_transpose:c conv_transpose:h conv_transpose:w conv_transpose:k "
        "lp_pool:h lp_pool:w causal_conv1d:l linear_attention:d kv_cache_write:n fft_conv:l stft:l stft:n gated_delta_step:d gated_delta_rule:l gated_delta_rule:d sparse_mm:k llm_int8_mm:k grid_sample:h grid_sample:w mx_mm:k "
        "moe_fused:k moe_fused:experts moe_fused:d moe_fused:h paged_decode:hkv paged_decode:d "
        "paged_decode:pages paged_decode:page paged_decode:blocks ragged_attention:s ragged_attention:hkv ragged_attention:d "
        "ragged_attention:sequences attention_lse:hkv attention_lse:s attention_lse:d sink_attention:hkv sink_attention:s sink_attention:d "
        "alibi_attention:hkv alibi_attention:s alibi_attention:d attention_backward:hkv attention_backward:s attention_backward:d "
        "all_reduce:ranks reduce_scatter:ranks all_gather:ranks").split()},
}
OPERATORS = dict(assay.operators())
FORMULAS.update((op, (lambda x, *others: x, dict(n=4), {})) for op, parts in OPERATORS.items()  # functions of each element
                if op not in FORMULAS and set(parts["layouts"].values()) == {"[n]"})
REPLACED = {("attention", "h"): {"hkv": 0}}  # extents that have to be 0 beside


ENDS = {"ends": "rows", "q_ends": "t", "k_ends": "s", "lengths": "page"}  # the extent at which parts end


def made(op, extents):
    """Inputs of these extents."""
    _, _, other = FORMULAS[op]
    layouts = other.get("layouts") or assay.operators()[op]["layouts"]
    inputs = {}
    for name in assay.operators()[op]["inputs"]:
        shape = [eval(part, {}, dict(extents)) for part in layouts[name].strip("[]").replace("/", "//").split(",") if part]  # "2*n"
        if name in ENDS:
            inputs[name] = np.full(shape, extents[ENDS[name]], other.get(name, "int64"))
            continue
        inputs[name] = np.full(shape, 0.75).astype(other.get(name, "float32")) if name != "indices" else np.zeros(shape, np.int64)
    return inputs


def wide(array):
    return array.astype(np.float64) if array.dtype == np.float32 else array


class Empty(unittest.TestCase):
    def test_every_operator_is_there(self):
        self.assertEqual(set(FORMULAS), set(OPERATORS))

    def answer(self, op, extents):
        function, _, other = FORMULAS[op]
        inputs = made(op, extents)
        more = {"k": extents["k"]} if op == "top_k" else {}
        with np.errstate(all="ignore"), np.testing.suppress_warnings() as quiet:
            quiet.filter(RuntimeWarning)
            results = function(*(wide(x) for x in inputs.values()), **more)
        results = results if isinstance(results, dict) else {assay.operators()[op]["outputs"][0]: results}
        return inputs, {name: y.astype(np.float32) if y.dtype == np.float64 else y.astype(np.complex64) if y.dtype.kind == "c" else y
                        for name, y in results.items()}, {**other.get("attrs", {}), **more}

    def test_numpys_answer_passes_and_another_does_not(self):
        for op, (_, extents, _) in FORMULAS.items():
            for key in extents:
                with self.subTest(op=op, key=key):
                    self.judge(op, key, {**extents, key: 0, **REPLACED.get((op, key), {})})

    def test_rows_of_functions_of_two_numbers(self):
        for per, y in (("row", ones(0)), ("column", ones(4)), ("tensor", ones())):
            verdict = assay.check("add", [ones(0, 4), y], ones(0, 4), per=per)
            self.assertEqual((verdict.verdict, verdict.reason), ("pass", NOTHING), per)

    def judge(self, op, key, extents):
        if (op, key) in REFUSED:
            inputs, attrs = made(op, extents), FORMULAS[op][2].get("attrs", {})
            layouts = {name: np.zeros((0,), np.float32) for name in assay.operators()[op]["outputs"]}
            with self.assertRaisesRegex(assay.UsageError, REFUSED[op, key]):
                assay.check(op, inputs, layouts, **({"k": 2} if op == "top_k" else {}), **attrs)
            return
        inputs, outputs, attrs = self.answer(op, extents)
        self.assertTrue(any(x.size == 0 for x in [*inputs.values(), *outputs.values()]))
        verdict = assay.assert_close(op, inputs, outputs, **attrs)
        verdict = assay.check(op, inputs, outputs, **attrs)
        has_elements = any(y.size for y in outputs.values())
        self.assertRegex(verdict.reason, "^$" if has_elements else f"^(output \\w+: )?{NOTHING}$")
        for name, y in outputs.items():
            if y.size == 0:
                continue
            wrong = {**outputs, name: np.where(np.isnan(y), 0, y + 1).astype(y.dtype)}
            self.assertEqual(assay.check(op, inputs, wrong, **attrs).verdict, "mismatch", name)
            unwritten = {**outputs, name: np.full_like(y, 77)}
            self.assertEqual(assay.check(op, inputs, unwritten, **attrs).verdict, "mismatch", name)


def total(x):
    return assay.namespace(x).sum(x)


def mean(x):
    return assay.namespace(x).mean(x, axis=-1)


def variance(x):
    xp = assay.namespace(x)
    return xp.mean((x - xp.mean(x, axis=-1, keepdims=True)) ** 2, axis=-1)


def product(x):
    return assay.namespace(x).prod(x, axis=-1)


def largest(x):
    return assay.namespace(x).max(x, axis=-1)


def whether_any(x):
    return assay.namespace(x).any(x > 0, axis=-1)


def whether_all(x):
    return assay.namespace(x).all(x > 0, axis=-1)


def first(x):
    return x[:, 0]


def affine(a, b, c):
    return a @ b * 2 + c


def of_a_slice(x):
    return assay.namespace(x).sum(x[:, 2:2], axis=-1)


def in_reverse(x):
    return x[:, ::-1]


def in_fours(x):
    return assay.namespace(x).reshape(x, (-1, 4))


def rolled(x):
    return assay.namespace(x).roll(x, 1, axis=-1)


def joined(x, y):
    return assay.namespace(x).concat([x, y], axis=-1)


def ones(*shape):
    return np.ones(shape, np.float32)


class EmptyTraced(unittest.TestCase):
    """Traced functions beside the same functions of NumPy's arrays."""

    def judge(self, function, *inputs):
        with np.errstate(all="ignore"), np.testing.suppress_warnings() as quiet:
            quiet.filter(RuntimeWarning)
            y = np.asarray(function(*inputs), np.float32)
        verdict = assay.check(function, list(inputs), y)
        self.assertEqual((verdict.verdict, verdict.reason), ("pass", "" if y.size else NOTHING), function.__name__)
        if y.size:
            wrong = np.where(np.isnan(y), 0, y + 1).astype(np.float32)
            self.assertEqual(assay.check(function, list(inputs), wrong).verdict, "mismatch", function.__name__)

    def test_they_are_numpys(self):
        for function in (total, mean, variance, product, in_reverse, in_fours, rolled):
            for shape in ((3, 0), (0, 4)):
                self.judge(function, ones(*shape))
        self.judge(largest, ones(0, 4))
        for function in (whether_any, whether_all):
            y = function(ones(3, 0))
            self.assertEqual(assay.check(function, [ones(3, 0)], y).verdict, "pass")
            self.assertEqual(assay.check(function, [ones(3, 0)], ~y).verdict, "mismatch")
        self.judge(first, ones(0, 4))
        self.judge(of_a_slice, ones(3, 4))
        self.judge(affine, ones(3, 0), ones(0, 4), ones(4))
        self.judge(affine, ones(0, 3), ones(3, 4), ones(4))
        self.judge(joined, ones(3, 4), ones(3, 0))
        self.judge(joined, ones(3, 0), ones(3, 0))

    def test_softmax_and_logsumexp_of_nothing_are_those_of_the_operators(self):
        for name in ("softmax", "log_softmax"):
            verdict = assay.check(lambda x, name=name: getattr(assay.namespace(x), name)(x, axis=-1), [ones(3, 0)], ones(3, 0))
            self.assertEqual((verdict.verdict, verdict.reason), ("pass", NOTHING), name)
        for keepdims, shape in ((False, (3,)), (True, (3, 1))):
            def function(x, keepdims=keepdims):
                return assay.namespace(x).logsumexp(x, axis=-1, keepdims=keepdims)
            self.assertTrue(assay.check(function, [ones(3, 0)], np.full(shape, -np.inf, np.float32)).passed)
            self.assertEqual(assay.check(function, [ones(3, 0)], ones(*shape)).verdict, "mismatch")
            self.assertTrue(assay.check(function, [ones(3, 4)], ones(*shape) + np.log(np.float32(4))).passed)

    def test_other_extents_may_be_large(self):
        x = np.empty((0, 2**30, 2**30), np.float32)
        for verdict in (assay.check(lambda x: -x, [x], x), assay.check("softmax", [x], x, axis=0)):
            self.assertEqual((verdict.verdict, verdict.reason), ("pass", NOTHING))

    def test_what_numpy_refuses_is_refused(self):
        with self.assertRaisesRegex(assay.UsageError, "has no elements, so that there is no Max along it"):
            assay.check(largest, [ones(3, 0)], ones(3))
        with self.assertRaisesRegex(assay.UsageError, "index 0 of an axis of 0 elements"):
            assay.check(first, [ones(3, 0)], ones(3))

    def test_an_index_into_a_stated_axis_needs_an_element(self):
        @assay.operator("first_of_rows")
        def first_of_rows(x: "rows n"):  # noqa: F722
            return x[:, 0]
        with self.assertRaisesRegex(assay.UsageError, "n=0 must be at least 1"):
            assay.check(first_of_rows, [ones(3, 0)], ones(3))
        self.assertTrue(assay.check(first_of_rows, [ones(0, 3)], ones(0)))


SUITE = """
matmul dtypes=f32|f16 m=0|3 n=5 k=0|4 bias=0|1 fill=normal
matmul dtypes=i8-i8-i32 m=3 n=5 k=0 batch=0|2 fill=normal
reduce dtypes=f32 shape=3x0|0x3 axes=1 kind=sum|prod|mean|logsumexp fill=special
softmax dtypes=f32 shape=0x3|3x0 log=0|1 fill=normal
attention dtypes=f32 b=0|1 h=2 l=0|3 s=0|5 d=4 mask=none|add fill=special
conv dtypes=f32 n=0|1 c=0|3 o=0|4 i=6x6 k=3 bias=1 fill=normal
fft dtypes=c64 kind=c2c n=8 batch=0 fill=normal
layer_norm dtypes=f32 rows=0|3 n=0|4 stats=0|1 fill=normal
layer_norm_backward dtypes=f32 rows=0|3 n=0|4 fill=normal
selective_scan dtypes=f32 b=2 c=3 s=0|2 l=0|4 fill=normal
top_k dtypes=f32 rows=0|3 n=4 k=0|2 fill=normal
scatter_add dtypes=f32-i64-f32-f32 rows=3 n=0|4 d=0|5 fill=normal
tanh dtypes=f32 n=0 fill=special|edges|coded
"""
KERNELS = """
import numpy as np
import assay

@assay.kernel("reduce", contract="acc=f64;math=4", name="numpy")
def fold(x, *, axes, kind, keepdims, tie, nan):
    return {"sum": np.sum, "prod": np.prod}[kind](x, axis=tuple(axes), dtype=np.float64).astype(x.dtype)

@assay.kernel("reduce", contract="acc=f64;math=4", name="one")
def one(x, *, axes, kind, keepdims, tie, nan):
    return np.ones(len(x), x.dtype)
"""


class EmptyRuns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def assay(self, *words):
        return subprocess.run([os.environ["ASSAY_PROGRAM"], *words], cwd=self.dir, capture_output=True, text=True, timeout=280,
                              env={**os.environ, "ASSAY_GOLDEN_STORE": str(self.dir / "store")})

    def records(self, *words):
        out = self.dir / f"out{len(list(self.dir.iterdir()))}"
        done = self.assay("run", "--out", str(out), "--progress", "none", *words)
        lines = (out / "results.jsonl").read_text().splitlines() if out.exists() else []
        return done, [json.loads(line) for line in lines]

    def test_files_without_elements_are_checked(self):
        arrays = {"a": ones(3, 0), "b": ones(0, 4), "y": 0 * ones(3, 4)}
        for name, array in arrays.items():
            np.save(self.dir / f"{name}.npy", array)
        header = json.dumps({"a": {"dtype": "F32", "shape": [3, 0], "data_offsets": [0, 0]}}).encode()
        (self.dir / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
        for a in ("a.npy", "a.safetensors", "a.safetensors:a"):
            done = self.assay("check", "--op", "matmul", "--input", f"a={a}", "--input", "b=b.npy", "--output", "y=y.npy")
            self.assertEqual(done.returncode, 0, a + done.stdout + done.stderr)
            self.assertRegex(done.stdout, "^pass [(]bit_exact[)]")
        np.save(self.dir / "y.npy", ones(3, 4))
        done = self.assay("check", "--op", "matmul", "--input", "a=a.npy", "--input", "b=b.npy", "--output", "y=y.npy")
        self.assertEqual(done.returncode, 1, done.stdout)
        for name, shape in (("a", (0, 3)), ("b", (3, 4)), ("y", (0, 4))):
            np.save(self.dir / f"{name}.npy", ones(*shape))
        done = self.assay("check", "--op", "matmul", "--input", "a=a.npy", "--input", "b=b.npy", "--output", "y=y.npy")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"reason: {NOTHING}", done.stdout)

    def test_backends_get_them_or_answer_unsupported(self):
        (self.dir / "empty.suite").write_text(SUITE)
        self.records("--suite", "empty.suite", "--backend", "cpu,onednn", "--no-perf")
        done, records = self.records("--suite", "empty.suite", "--backend", "cpu,onednn", "--perf-time", "0.001")  # whose golden values are stored
        self.assertEqual({r["verdict"] for r in records}, {"pass", "unsupported", "inconclusive"}, done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        for record in records:
            has_none = record["verdict"] == "inconclusive"
            self.assertEqual(has_none, record["reason"].endswith(NOTHING), record)
            self.assertEqual(has_none, record["elements"] == 0 and record["verdict"] != "unsupported", record)
        self.assertEqual({r["backend"] for r in records}, {"cpu", "onednn"})

    def test_a_kernel_without_terms_is_judged(self):
        (self.dir / "kernels.py").write_text(KERNELS)
        cases = [word for kind in ("sum", "prod") for word in ("--case", f"reduce/f32/shape=3x0,axes=1,kind={kind}/fill=normal/seed=0")]
        done, records = self.records("--kernels", "kernels.py", "--python", sys.executable, "--backend", "kernels", *cases)
        self.assertEqual(done.returncode, 1, done.stderr)
        verdicts = {(r["implementation"], r["attrs"]["kind"] if "attrs" in r else r["shape"]): r["verdict"] for r in records}
        self.assertEqual(sorted(verdicts.values()), ["mismatch", "pass", "pass", "pass"], verdicts)


if __name__ == "__main__":
    unittest.main(verbosity=2)
