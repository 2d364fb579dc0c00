# SPDX-License-Identifier: Apache-2.0
"""Declarations in a kernel's decorator, and how parameters are told apart: kernel_declarations_test.py ASSAY
[CLASS]."""
import pathlib
import re
import sys
import unittest

import numpy as np

from kernels_test import CASE, Program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "harness/python"))
import assay

SOFTMAX = "softmax/f32/shape=4x8,axis=0/fill=normal/seed=0"


class Declarations(Program):
    def refused(self, text):
        done = self.assay("run", "--kernels", str(self.write(text)), "--python", sys.executable, "--case", CASE,
                          "--out", "refused")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertFalse((self.dir / "refused").exists())
        return done.stderr

    def test_words_that_nothing_understands_are_refused_where_they_stand(self):
        for arguments, said in (
                ("'F.log_softmax', contract='f32acc'", "assay list ops .*; did you mean 'softmax' with log=1"),
                ("'sofmax', contract='f32acc'", "there is no operator sofmax; assay list ops .*; did you mean 'softmax'"),
                ("'exp', contract='f32ac'", "contract='f32ac': 'f32ac' is not a field or shortcut of a contract; known: in=")):
            with self.subTest(said):
                stderr = self.refused(f"assay.kernel({arguments})(lambda x: x)\n")
                self.assertRegex(stderr, said)
                self.assertIn("; at mine.py:3 in <module>: assay.kernel(", stderr)

    def test_words_are_refused_by_the_decorator_itself(self):
        """A run adds where they stand, as above."""
        for arguments, said in (
                ("'exp', contract='f32acc', dtypes=['float32']", "there is no type 'float32'; there are f64, f32, f16, bf16, "
                 "e4m3, e5m2, i8, u8, i16, i32, i64, bool, c64, c128, and lists of them such as bf16-bf16-f32; did you mean "
                 "'f32'?"),
                ("'exp'", r'assay.kernel needs contract=, which is missing; write it as in @assay.kernel\("softmax", contract='),
                ("'exp', contract='f32acc', dtypes='bf16-bf17-f32'", "no type 'bf17'; .*; did you mean 'bf16'"),
                ("'exp', contract='f32acc', dtypes=[np.float32]", "is no text; types are .*; did you mean 'f32'"),
                ("'exp', contract='f32acc', dtypes=np.dtype('float16')", "is no text; types are .*; did you mean 'f16'"),
                ("'exp', contract='f32acc', dtypes=[]", "leaves no case; leave dtypes out"),
                ("np.exp, contract='f32acc'", "name the operator by a text"),
                ("'exp', contract=None", "contract=None: give a text such as"),
                ("'exp', contract='f32acc', framework='pytorch'", "none of numpy, torch, jax; did you mean 'torch'"),
                ("'exp', contract='f32acc', dtype='f32'", "takes no dtype=; it takes contract, .*; did you mean 'dtypes'"),
                ("contract='f32acc'", "assay.kernel needs op=, which is missing; write it as in"),
                ("'exp', 'f32acc'", "takes nothing but op without a name, and 'f32acc' has none; names are contract, dtypes"),
                ("'exp', contract='f32acc', supports='all'", "supports='all': give a function"),
                ("'exp', contract='f32acc', compiles='yes'", "compiles='yes': give True or False"),
                ("'exp', contract='f32acc', framework='torch', device='GPU 1'", "device='GPU 1' is no device: name a kind"),
                ("'exp', contract='f32acc', device='cuda'", "NumPy computes on the host alone")):
            with self.subTest(said), self.assertRaisesRegex(assay.UsageError, said):
                eval(f"assay.kernel({arguments})(lambda x: x)", {"assay": assay, "np": np})

    def test_a_framework_that_the_interpreter_lacks(self):
        try:
            import torch  # noqa: F401
            self.skipTest("this interpreter has it")
        except ImportError:
            pass
        stderr = self.refused("assay.kernel('exp', contract='f32acc', framework='torch')(lambda x: x)\n")
        self.assertRegex(stderr, "kernel -lambda- is of framework='torch', which .* cannot import: No module named 'torch'")

    def test_the_first_of_a_kind_is_the_kind(self):
        path = self.write("""
            @assay.kernel("exp", contract="f32acc", device="cpu:0")
            def right(x):
                return np.exp(x.astype(np.float64)).astype(x.dtype)
        """)
        _, records = self.run_kernels(path, "--case", CASE, "--no-perf")
        self.assertEqual([(r["verdict"], r["device"]) for r in records], [("pass", "host")])


class Parameters(Program):
    def test_attributes_need_no_star(self):
        path = self.write("""
            def kernel(op):
                return assay.kernel(op, contract="f32acc; masked=nan", dtypes=["f32"])

            def normalised(x, axis):
                e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
                return (e / e.sum(axis, keepdims=True)).astype(x.dtype)

            @kernel("softmax")
            def plain(x, axis):
                return normalised(x, axis)

            @kernel("softmax")
            def with_more(x, axis, shape, log=False, block=128):
                assert shape == x.shape and block == 128 and log is False
                return normalised(x, axis)

            @kernel("softmax")
            def with_output(x, out, axis=-1):
                out[...] = normalised(x, axis)

            @kernel("softmax")
            def with_all(x, axis, **attrs):
                assert set(attrs) == {"shape", "log"}, attrs
                return normalised(x, axis)

            @kernel("matmul")
            def of_sizes(a, b, m, n, k):
                assert (m, n, k) == (3, 5, 7)
                return (a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype)

            @kernel("matmul")
            def by_position(m, n):  # operands are called what one likes
                return (m.astype(np.float64) @ n.astype(np.float64)).astype(m.dtype)

            @kernel("matmul")
            def by_position_and_name(m, n, alpha):
                return (alpha * (m.astype(np.float64) @ n.astype(np.float64))).astype(m.dtype)
        """)
        done, records = self.run_kernels(path, "--case", SOFTMAX, "--case", "matmul/f32/m=3,n=5,k=7/fill=normal/seed=0",
                                         "--no-perf", "--relations", "none")
        self.assertEqual({(r["implementation"], r["verdict"], r["reason"]) for r in records},
                         {(name, "pass", "") for name in ("plain", "with_more", "with_output", "with_all", "of_sizes",
                                                          "by_position", "by_position_and_name")}, done.stderr)

    def test_parameters_that_no_case_can_give_are_refused(self):
        for parameters, said in (("x, axes", "its parameter axes is none; softmax has the operands x, by position, and the "
                                             "attributes shape, axis, log, by name"),
                                 ("x, *, axes", "it needs axes=; softmax has the operands x, by position"),
                                 ("x, axis, y", r"its parameter axis is an attribute of softmax, and before y; put it behind a "
                                                r"\*, as in def f\(x, \*, axis\)"),
                                 ("x, axis, *more", r"axis is an attribute of softmax, and before the operands of \*args")):
            with self.subTest(parameters):
                path = self.write(f"assay.kernel('softmax', contract='f32acc', name='mine')(lambda {parameters}: x)\n")
                done = self.assay("run", "--kernels", str(path), "--python", sys.executable, "--case", SOFTMAX,
                                  "--out", "refused")
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertRegex(done.stderr, said)

    def test_flags_are_bool_and_numbers_are_not(self):
        """Each flag that an operator has, set or not, and each number whose default is 0."""
        listed = self.assay("list", "ops", "--verbose").stdout
        flags = set(re.findall(r"(?m)^ +(\w+) +int +default 0  one of 0\|1 ", listed))
        self.assertEqual(flags, {"log", "transa", "transb", "bias", "causal", "mask_per_head", "keepdims", "stats",
                                 "descending", "smallest", "ceil", "count_pad", "norm", "population", "upper", "silu", "align_corners"})
        path = self.write(f"            FLAGS = {flags}" + """
            def check(op):
                @assay.kernel(op, contract="f32acc", name=op)
                def mine(*operands, **attrs):
                    kinds = {key: type(value).__name__ for key, value in attrs.items() if type(value) in (bool, int)}
                    wrong = {key: kind for key, kind in kinds.items() if (kind == "bool") != (key in FLAGS)}
                    raise RuntimeError(f"wrong={wrong} flags={[f'{key}={attrs[key]}' for key in attrs if key in FLAGS]}")
            for op in ("softmax", "matmul", "conv", "attention", "reduce", "layer_norm", "sort", "top_k", "quantize"):
                check(op)
        """)
        cases = {
            "softmax/f32/shape=4x8,log=1": ["log=True"], "softmax/f32/shape=4x8": ["log=False"],
            "matmul/f32/m=3,n=5,k=7,transa=1": ["transa=True", "transb=False", "bias=False"],
            "conv/f32/n=1,c=2,o=3,i=5x5,k=3x3,bias=1": ["bias=True"],
            "attention/f32/b=1,h=2,l=4,d=8,window=1,causal=1": ["causal=True", "mask_per_head=False"],
            "reduce/f32/shape=4x8,axes=1,keepdims=1": ["keepdims=True"],
            "layer_norm/f32/rows=4,n=8,stats=1": ["stats=True"], "sort/f32/rows=2,n=8,descending=1": ["descending=True"],
            "top_k/f32/rows=2,n=8,k=1": ["smallest=False"], "quantize/f32-f32-i8/rows=3,n=16,zero=1": []}
        words = [word for case in cases for word in ("--case", f"{case}/fill=normal/seed=0")]
        done, records = self.run_kernels(path, *words, "--no-perf", "--relations", "none", "--retries", "0")
        self.assertEqual(len(records), len(cases), done.stdout + done.stderr)
        for flags, record in zip(cases.values(), records):
            with self.subTest(record["case_id"]):
                self.assertIn(f"wrong={{}} flags={flags}", record["reason"])


if __name__ == "__main__":
    unittest.main()
