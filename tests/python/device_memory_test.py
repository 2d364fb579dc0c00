# SPDX-License-Identifier: Apache-2.0
"""Devices whose operands lie in memory of their own: device_memory_test.py ASSAY CLASS. The host's memory stands in the
place of a device's. OfNumPy: what the worker asks of such a device. OfTorch: PyTorch's tensors in such memory."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

ASSAY = sys.argv.pop(1)

NUMPY = """
    import sys
    import types
    from ctypes import c_ubyte

    import numpy as np
    import assay
    import assay._frameworks as frameworks

    sys.modules["torch"] = types.ModuleType("torch")  # whose name the kernels give
    sys.modules["torch"].__version__ = "0"

    class Operand:
        def __init__(self, buffers, operand):
            self.buffers, self.operand = buffers, operand

        def at(self, place, writable):
            strides = [4 * stride for stride in self.operand.strides]
            return np.ndarray(self.operand.shape, np.float32, self.buffers[place[0]], place[1], strides)

    class Device(frameworks.Numpy):
        has_memory = True

        def __init__(self):
            super().__init__("fake")
            self.buffers = {}

        def described(self):
            return 1 << 30, "model=Fake 1"

        def memory(self, operand):
            return Operand(self.buffers, operand)

        def allocate(self, size):
            number = len(self.buffers) + 1
            self.buffers[number] = np.zeros(size, np.uint8)
            return number

        def free(self, number):
            self.buffers[number] = None

        def upload(self, number, offset, pointer, size):
            self.buffers[number][offset:offset + size] = np.frombuffer((c_ubyte * size).from_address(pointer), np.uint8)

        def download(self, number, offset, pointer, size):
            np.frombuffer((c_ubyte * size).from_address(pointer), np.uint8)[:] = self.buffers[number][offset:offset + size]

    frameworks._made["torch", "fake"] = Device()

    def softmax(x, axis):
        e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
        return (e / e.sum(axis, keepdims=True)).astype(x.dtype)

    def store(out, values):
        out[...] = values

    def after(out):
        return np.ndarray(1, np.float32, out.base, out.__array_interface__["data"][0] - out.base.ctypes.data + out.nbytes)
"""
TORCH = """
    import torch
    import assay
    import assay._frameworks as frameworks
    from assay._torch_device import TorchDevice

    frameworks.torch_device = lambda torch, name: torch.device("cpu")
    TorchDevice.timed = frameworks.Torch.timed  # the host has no events
    TorchDevice.described = lambda self: (1 << 30, "model=Fake 1")
    softmax = torch.softmax

    def store(out, values):
        out.copy_(values)

    def after(out):
        return torch.as_strided(out, (1,), (1,), out.storage_offset() + out.numel())
"""
KERNELS = """
    def kernel():
        return assay.kernel("softmax", contract="f32acc; math=256; masked=nan", dtypes=["f32"], framework="torch", device="fake",
                            supports=lambda case: not case.attrs["log"])

    @kernel()
    def returned(x, *, axis):
        return softmax(x, axis)

    @kernel()
    def written(x, out, *, axis):
        store(out, softmax(x, axis))

    @kernel()
    def wrong(x, *, axis):
        return softmax(x, axis) * x.dtype.type(1.001) if hasattr(x.dtype, "type") else softmax(x, axis) * 1.001

    @kernel()
    def changes_its_input(x, *, axis):
        y = softmax(x, axis)
        store(x, y)
        return y

    @kernel()
    def leaves_a_row(x, out, *, axis):
        store(out[:-1], softmax(x, axis)[:-1])

    @kernel()
    def writes_beside(x, out, *, axis):
        store(out, softmax(x, axis))
        store(after(out), 7)

    @kernel()
    def raises(x, *, axis):
        raise ValueError("no such row")
"""


class Memory(unittest.TestCase):
    def judged(self, begin):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "mine.py"
            file.write_text(textwrap.dedent(begin) + textwrap.dedent(KERNELS))
            variables = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "ASSAY_LIBRARY")}
            done = subprocess.run(
                [ASSAY, "run", "--python", sys.executable, "--kernels", str(file), "--backend", "mine", "--out", folder + "/out",
                 "--progress", "none", "--case", "softmax/f32/shape=64x256/fill=normal/seed=0"],
                env={**variables, "ASSAY_GOLDEN_STORE": folder + "/store"}, capture_output=True, text=True, timeout=280)
            path = pathlib.Path(folder) / "out/results.jsonl"
            self.assertTrue(path.exists(), done.stdout + done.stderr)
            environment = json.loads((path.parent / "environment.json").read_text())
            self.assertIn("model=Fake 1", json.dumps(environment))
            return {r["implementation"]: r for r in map(json.loads, path.read_text().splitlines())}

    def check(self, begin):
        found = self.judged(begin)
        for name, verdict, reason in (
                ("returned", "pass", "^"), ("written", "pass", "^"), ("wrong", "mismatch", "statistic"),
                ("changes_its_input", "mismatch", "an input. were changed on the device"),
                ("leaves_a_row", "mismatch", "256 of 16384 elements of y were not written"),
                ("writes_beside", "mismatch", "4 bytes after y were overwritten"), ("raises", "error", "ValueError: no such row")):
            with self.subTest(name):
                self.assertEqual(found[name]["verdict"], verdict, found[name]["reason"])
                self.assertRegex(found[name]["reason"], reason)
                self.assertEqual(found[name]["device"], "fake")
        # Padded rows and an unaligned start, and the axes in another order.
        self.assertEqual(found["returned"]["layouts"], "padded;permuted")
        for name in ("returned", "written"):
            self.assertGreater(found[name]["time_median_s"], 0)
            self.assertEqual(found[name]["timing_invalid"], "")


class OfNumPy(Memory):
    def test_operands(self):
        self.check(NUMPY)


class OfTorch(Memory):
    def test_operands(self):
        self.check(TORCH)


if __name__ == "__main__":
    unittest.main()
