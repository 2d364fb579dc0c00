#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Frameworks: what is said of unknown and missing ones, and masks. The functions of a framework that is installed, held
# against golden values: run this by an interpreter that has it; skipped by name where it is not there.
import importlib.util
import os
import subprocess
import sys
import unittest

import numpy

import assay
from assay.frameworks import FRAMEWORKS, demand
from assay.frameworks._masks import visible


class Names(unittest.TestCase):
    def test_an_unknown_framework_lists_those_that_there_are(self):
        with self.assertRaisesRegex(assay.UsageError, "called 'troch'; there are torch, onnxruntime, jax, openvino, tinygrad, tensorflow, numpy, gloo$"):
            demand("troch")

    def test_a_missing_framework_says_what_to_install(self):
        # -S: an interpreter without packages. The message is made before anything of the framework is imported.
        script = ("import sys; sys.path.insert(0, sys.argv[1])\n"
                  "from assay.frameworks import demand\ntry: demand('onnxruntime')\nexcept ValueError as e: print(e)")
        root = os.path.dirname(os.path.dirname(assay.__file__))
        done = subprocess.run([sys.executable, "-S", "-E", "-c", script, root], capture_output=True, text=True, timeout=120)
        self.assertIn(f"no onnxruntime and no onnx and no ml_dtypes; install with: {sys.executable} -m pip install "
                      "onnxruntime onnx ml-dtypes, or name another interpreter with --python OTHER",
                      done.stdout, done.stderr)


class Masks(unittest.TestCase):
    def seen(self, *arguments):
        return ["".join("x" if v else "." for v in row) for row in visible(*arguments)]

    def test_alignment(self):
        self.assertEqual(self.seen(2, 4, True, "br", 0), ["xxx.", "xxxx"])
        self.assertEqual(self.seen(2, 4, True, "tl", 0), ["x...", "xx.."])
        self.assertEqual(self.seen(3, 2, True, "br", 0), ["..", "x.", "xx"])

    def test_windows(self):
        self.assertEqual(self.seen(4, 4, True, "br", 2), ["x...", "xx..", ".xx.", "..xx"])
        self.assertEqual(self.seen(4, 4, False, "br", 2), ["xx..", "xxx.", ".xxx", "..xx"])
        self.assertIsNone(visible(3, 3, False, "br", 0))


def attributes(case):
    """A case's texts as Python values, as far as the functions under test take them."""
    flags = {"transa", "transb", "causal", "keepdims", "log", "descending", "smallest", "stats", "mask_per_head", "population", "ceil",
             "count_pad", "silu"}

    def value(name, text):
        if name in flags:
            return text == "1"
        if name == "axes":
            return tuple(int(axis) for axis in text.split("+"))
        if name in ("n", "k", "stride", "pad", "dilation") and "x" in text:
            return tuple(int(extent) for extent in text.split("x"))
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
        return text

    return {name: value(name, text) for name, text in case.attrs.items() if name not in ("mask", "bias")}


OPTIONAL = {"matmul": "a b c bias", "attention": "q k v mask", "conv": "x w bias"}


def operands(case):
    names = OPTIONAL[case.op].split() if case.op in OPTIONAL else list(case.inputs)
    values = [case.inputs.get(name) for name in names]
    while values and values[-1] is None:
        values.pop()
    return values


class Functions(unittest.TestCase):
    """Ordinary data alone: what the columns declare of others is for a run to say."""

    def hold(self, module_of, function_of, convert, suite="smoke", plain="*fill=normal*"):
        judged = 0
        for case in assay.cases(suite, filter=plain):
            function = function_of(case)
            if function is None or case.dtype != "f32":
                continue
            with self.subTest(case=case.id, framework=module_of):
                result = function(*[convert(v) for v in operands(case)], **attributes(case))
                if isinstance(result, tuple):
                    result = dict(zip(case.outputs, result))
                verdict = case.judge(result, "f32acc;math=20" + (";masked=nan" if case.op == "softmax" else ""))
                self.assertEqual(verdict.verdict, "pass", verdict.reason)
                judged += 1
        return judged

    def names(self, *modules):
        def find(case):
            for module in modules:
                if hasattr(module, case.op):
                    return getattr(module, case.op)
            return None
        return find

    def need(self, name):
        for module in FRAMEWORKS[name].needs:
            if importlib.util.find_spec(module) is None:
                self.skipTest(f"{name} is not installed: pip install {FRAMEWORKS[name].install}")

    def test_torch(self):
        self.need("torch")
        import torch
        from assay.frameworks import torch_attention, torch_more_ops, torch_ops, torch_signals
        take = self.names(torch_ops, torch_more_ops, torch_attention, torch_signals)

        def smooth(case):
            unlike = (case.attrs.get("masked_rows") == "nan" or case.attrs.get("nan") == "ignore" or
                      case.attrs.get("population") == "1" or (case.op, case.attrs.get("reduction")) == ("mse", "batchmean") or
                      case.op == "prelu" and case.attrs.get("per") not in ("column", "tensor"))
            return None if unlike else take(case)
        for suite in ("smoke", "formulas"):
            def here(case):
                return None if case.attrs.get("tie") == "first" and case.op == "top_k" else smooth(case)
            self.assertGreater(self.hold("torch", here, lambda a: None if a is None else torch.from_numpy(a.copy()), suite), 8)

    def test_both_addends_of_a_product(self):
        """alpha a b + beta c + bias: a function with one addend drops none."""
        rng = numpy.random.default_rng(1)
        a, b, c, bias = (rng.standard_normal(shape, numpy.float32) for shape in ((5, 7), (7, 3), (5, 3), (3,)))
        tried = 0
        for name, convert in (("torch", lambda module: module.from_numpy), ("onnxruntime", lambda module: lambda x: x)):
            if any(importlib.util.find_spec(module) is None for module in FRAMEWORKS[name].needs):
                continue
            tried += 1
            give = convert(importlib.import_module(name))
            matmul = importlib.import_module(f"assay.frameworks.{name}_ops").matmul
            leading = ("CPUExecutionProvider",) if name == "onnxruntime" else ()
            for attrs in ({"alpha": 1.0, "beta": 1.0}, {"alpha": -2.0, "beta": 0.5}):
                with self.subTest(framework=name, **attrs):
                    y = matmul(*leading, give(a), give(b), give(c), give(bias), **attrs)
                    assay.assert_close("matmul", [a, b, c, bias], y, contract="f32acc;math=20", bias=1, **attrs)
        if not tried:
            self.skipTest("neither torch nor onnxruntime is installed")

    def test_onnxruntime(self):
        self.need("onnxruntime")
        from assay.frameworks import onnxruntime_ops
        take = self.names(onnxruntime_ops)

        def mapped(case):
            # Resize in f32 has 7.0000005 for a coordinate of 7, and takes the next element with rounding=ceil.
            unlike = case.attrs.get("masked_rows") == "nan" or case.attrs.get("stats") == "1" or case.attrs.get("rounding") == "ceil"
            function = None if unlike else take(case)
            return function and (lambda *operands, **attrs: function("CPUExecutionProvider", *operands, **attrs))
        for suite in ("smoke", "formulas"):
            self.assertGreater(self.hold("onnxruntime", mapped, lambda a: a, suite), 8)

    def test_operands_of_jax_lie_in_the_memory_that_the_harness_fills(self):
        """Where XLA can look there; what it copies is right all the same, and said to be copied."""
        self.need("jax")
        import ml_dtypes
        from assay._frameworks import Jax, Operand
        tools = Jax("cpu")
        memory = numpy.arange(4096 + 64, dtype=numpy.uint8)
        first = -memory.ctypes.data % 64
        for name, code, bits, dtype in (("f32", 2, 32, numpy.float32), ("bf16", 4, 16, ml_dtypes.bfloat16)):
            for places, strides, shares in ((0, None, True), (1, None, False), (0, "turned", False)):
                size = numpy.dtype(dtype).itemsize
                begin = first + places * size
                view = memory[begin:begin + 1024 * size].view(dtype).reshape(32, 32)
                view = view.T if strides else view
                view.flags.writeable = False
                operand = Operand("x", code, bits, view.shape, tuple(step // size for step in view.strides))
                with self.subTest(dtype=name, places=places, strides=strides):
                    given = tools.given(view, operand)
                    self.assertEqual(tools.shares(view), shares)
                    self.assertEqual(given.unsafe_buffer_pointer() == view.ctypes.data, shares)
                    self.assertEqual(numpy.asarray(given).tobytes(), view.tobytes())

    def test_jax(self):
        self.need("jax")
        import jax
        jax.config.update("jax_enable_x64", True)
        from assay.frameworks import jax_more_ops, jax_ops
        take = self.names(jax_ops, jax_more_ops)

        def mapped(case):
            # No bias, no values of another extent, no rows that see no key, the largest alone, and one rule of coordinates.
            limited = (case.attrs.get("bias") == "1" or case.attrs.get("smallest") == "1" or case.attrs.get("stats") == "1" or
                       case.op == "attention" and ("dv" in case.id or "mask=" in case.id or case.attrs["l"] == "9") or
                       case.op == "attention_backward" and (case.attrs["dv"] != case.attrs["d"] or case.attrs.get("causal") == "1") or
                       case.op == "resize" and (case.attrs.get("mode") != "linear" or case.attrs.get("coords") != "half_pixel"))
            return None if limited else take(case)
        for suite in ("smoke", "formulas"):
            self.assertGreater(self.hold("jax", mapped, lambda a: None if a is None else jax.numpy.asarray(a), suite), 5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
