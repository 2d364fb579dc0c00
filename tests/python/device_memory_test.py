# SPDX-License-Identifier: Apache-2.0
"""Devices whose operands lie in memory of their own: device_memory_test.py ASSAY CLASS. The host's memory stands in the
place of a device's. OfNumPy: what the worker asks of such a device. OfTorch: PyTorch's tensors in such memory."""
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
            self.buffers, self.made, self.broken = {}, 0, False

        def lost(self):
            return self.broken

        def described(self):
            return 1 << 30, "model=Fake 1"

        def memory(self, operand):
            return Operand(self.buffers, operand)

        def allocate(self, size):
            if len(self.buffers) > 28:
                raise MemoryError("they are never freed")
            if size > 1 << 20:
                raise MemoryError("there is not as much")
            self.made += 1
            self.buffers[self.made] = np.zeros(size, np.uint8)
            return self.made

        def free(self, number):
            del self.buffers[number]

        def upload(self, number, offset, pointer, size):
            self.buffers[number][offset:offset + size] = np.frombuffer((c_ubyte * size).from_address(pointer), np.uint8)

        def download(self, number, offset, pointer, size):
            np.frombuffer((c_ubyte * size).from_address(pointer), np.uint8)[:] = self.buffers[number][offset:offset + size]

    device = frameworks._made["torch", "fake"] = Device()

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
    take = TorchDevice.allocate

    def allocate(self, size):
        if len(self._buffers) > 28:
            raise MemoryError("they are never freed")
        return take(self, size)

    TorchDevice.allocate = allocate
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


# One that loses the device, one that runs after it, one whose operands are too large, and one that fails on the host while a
# device is lost.
FAILURES = """
    def kernel(op, **more):
        return assay.kernel(op, contract="f32acc; math=256", dtypes=["f32"], framework="torch", **more)

    @kernel("exp", device="fake", name="a_loses_it")
    def loses(x):
        device.broken = True
        raise ValueError("an illegal address")

    @kernel("exp", device="fake", name="b_goes_on")
    def goes_on(x):
        assert not device.broken
        return np.exp(x.astype(np.float64)).astype(x.dtype)

    @assay.kernel("exp", contract="f32acc; math=256", dtypes=["f32"], name="of_the_host")
    def of_the_host(x):
        device.broken = True
        raise ValueError("no device is meant")
"""


class Memory(unittest.TestCase):
    def run_cases(self, text, *cases):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "mine.py"
            file.write_text("".join(map(textwrap.dedent, text)))
            variables = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "ASSAY_LIBRARY")}
            done = subprocess.run(
                [ASSAY, "run", "--python", sys.executable, "--kernels", str(file), "--backend", "mine", "--out", folder + "/out",
                 "--progress", "none", *(word for case in cases for word in ("--case", case))],
                env={**variables, "ASSAY_GOLDEN_STORE": folder + "/store"}, capture_output=True, text=True, timeout=200)
            path = pathlib.Path(folder) / "out/results.jsonl"
            if not path.exists():
                return done, [], ""
            return done, [json.loads(line) for line in path.read_text().splitlines()], (path.parent / "environment.json").read_text()

    def check(self, begin):
        done, records, environment = self.run_cases((begin, KERNELS), "softmax/f32/shape=16x64/fill=normal/seed=0")
        self.assertIn("model=Fake 1", environment, done.stdout + done.stderr)
        found = {r["implementation"]: r for r in records}
        for name, verdict, reason in (
                ("returned", "pass", "^"), ("written", "pass", "^"), ("wrong", "mismatch", "exact channel"),
                ("changes_its_input", "mismatch", "an input. were changed on the device"),
                ("leaves_a_row", "mismatch", "64 of 1024 elements of y were not written"),
                ("writes_beside", "mismatch", "4 bytes after y were overwritten"), ("raises", "error", "ValueError: no such row")):
            with self.subTest(name):
                self.assertEqual(found[name]["verdict"], verdict, found[name]["reason"])
                self.assertRegex(found[name]["reason"], reason)
                self.assertEqual(found[name]["device"], "fake")
        # Padded rows and an unaligned start, and the axes in another order.
        self.assertEqual(found["returned"]["layouts"], "padded;permuted")


class OfNumPy(Memory):
    def test_operands(self):
        self.check(NUMPY)

    def test_a_device_that_is_lost_and_one_that_is_full(self):
        small, large = "exp/f32/n=2049/fill=normal/seed=0", "exp/f32/n=524288/fill=normal/seed=0"
        done, records, _ = self.run_cases((NUMPY, FAILURES), small, large)
        found = {(r["implementation"], r["case_id"]): r for r in records}
        lost = "this process cannot use the device any more: the next case gets a new one"
        for name, case, verdict, said, is_lost in (
                ("a_loses_it", small, ("error", "crash"), "ValueError: an illegal address", True),
                ("b_goes_on", small, ("pass",), "", False), ("of_the_host", small, ("error",), "ValueError: no device is meant", False),
                ("b_goes_on", large, ("error", "unsupported"), "there is not as much", False)):
            with self.subTest(name=name, case=case):
                record = found[name, case]
                self.assertIn(record["verdict"], verdict, record["reason"])
                self.assertIn(said, record["reason"])
                self.assertEqual(lost in record["reason"], is_lost, record["reason"])

    def test_one_device_of_two_frameworks(self):
        kernels = """
            @assay.kernel("exp", contract="f32acc", framework="torch", device="fake")
            def one(x):
                return x

            @assay.kernel("exp", contract="f32acc", framework="jax", device="fake")
            def other(x):
                return x
        """
        done, _, _ = self.run_cases((NUMPY, kernels), "exp/f32/n=2049/fill=normal/seed=0")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("device 'fake' has kernels of jax and torch; put those of each framework into a file of its own", done.stderr)


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class OfTorch(Memory):
    def test_operands(self):
        self.check(TORCH)


if __name__ == "__main__":
    unittest.main()
