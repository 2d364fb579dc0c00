#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Examples of kernels that are written in Python, or loaded into it, gated by golden values: one in Triton, by its
# interpreter, and one in C++ through tvm-ffi. Skipped by name where the package is not there.
import importlib.util
import os
import shutil
import unittest

os.environ.setdefault("TRITON_INTERPRET", "1")

import assay

SOFTMAX_CPP = """
void softmax_rows(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  const float* in = static_cast<const float*>(x.data_ptr());
  float* out = static_cast<float*>(y.data_ptr());
  for (int64_t row = 0; row < x.size(0); ++row, in += x.size(1), out += x.size(1)) {
    const float most = *std::max_element(in, in + x.size(1));
    float sum = 0;
    for (int64_t i = 0; i < x.size(1); ++i) sum += out[i] = std::exp(in[i] - most);
    for (int64_t i = 0; i < x.size(1); ++i) out[i] /= sum;
  }
}
"""


def softmax_cases():
    """Rows of ordinary numbers, the axis last."""
    found = [case for case in assay.cases("conformance", op="softmax", dtype="f32", filter="*fill=normal*")
             if len(case.attrs["shape"].split("x")) == 2 and case.attrs["axis"] in ("-1", "1") and case.attrs["log"] == "0"]
    assert found
    return found


class Triton(unittest.TestCase):
    def setUp(self):
        for module in ("triton", "torch"):
            if importlib.util.find_spec(module) is None:
                self.skipTest(f"{module} is not installed: pip install {module}")

    def rows(self, kernel_scale):
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def kernel(x, y, n, scale: tl.constexpr, block: tl.constexpr):
            row = tl.program_id(0) * n
            at = tl.arange(0, block)
            v = tl.load(x + row + at, mask=at < n, other=float("-inf"))
            e = tl.exp(v - tl.max(v, axis=0))
            tl.store(y + row + at, e * scale / tl.sum(e, axis=0), mask=at < n)

        def softmax(x):
            y = torch.empty_like(x)
            kernel[(x.shape[0],)](x, y, x.shape[1], kernel_scale, triton.next_power_of_2(x.shape[1]))
            return y
        return lambda case: softmax(torch.from_numpy(case.inputs["x"]))

    def test_softmax(self):
        run = self.rows(1.0)
        for case in softmax_cases():
            case.check(run(case), "f32acc;math=16;masked=nan")

    def test_a_wrong_one_is_seen(self):
        run = self.rows(1.001)
        with self.assertRaises(assay.Mismatch):
            for case in softmax_cases():
                case.check(run(case), "f32acc;math=16;masked=nan")


class TvmFfi(unittest.TestCase):
    def test_softmax(self):
        if importlib.util.find_spec("tvm_ffi") is None:
            self.skipTest("tvm_ffi is not installed: pip install apache-tvm-ffi")
        if not shutil.which("ninja") or not shutil.which("c++"):
            self.skipTest("a kernel in C++ needs ninja and a compiler")
        import numpy
        import tvm_ffi.cpp
        source = "#include <algorithm>\n#include <cmath>\n" + SOFTMAX_CPP
        module = tvm_ffi.cpp.load_inline(name="assay_softmax", cpp_sources=source, functions="softmax_rows")
        for case in softmax_cases():
            x = case.inputs["x"]
            y = numpy.empty_like(x)
            module.softmax_rows(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y))
            case.check(y, "f32acc;math=16;masked=nan")


if __name__ == "__main__":
    unittest.main(verbosity=2)
