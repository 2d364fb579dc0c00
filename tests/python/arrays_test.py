# SPDX-License-Identifier: Apache-2.0
"""Which arrays are taken, and what is said of others: arrays_test.py [CLASS]."""
import array
import ctypes
import importlib.util
import unittest

import numpy as np

import assay
from assay._arrays import _Versioned, take

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.arange(6, 0, -1).astype(np.float32).reshape(3, 2)
Y = A @ B  # small integers: exact


def to_bf16(x):
    return (x.view(np.uint32) >> 16).astype(np.uint16)


class OfDLPack:
    """A framework's tensor that speaks DLPack alone, on a device of that kind."""

    def __init__(self, values, device=1):
        self.values, self.device, self.moved = values, device, 0

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, stream=None):
        if self.device not in (1, 3, 11):
            raise BufferError("not on the host")
        return self.values.__dlpack__()


class OfDLPack1(OfDLPack):
    """One that gives read-only memory, so that without a versioned capsule it gives nothing."""
    NAME = b"dltensor_versioned"  # which outlives capsules

    def __init__(self, values, major=1):
        super().__init__(values)
        shape = (ctypes.c_int64 * values.ndim)(*values.shape)
        strides = (ctypes.c_int64 * values.ndim)(*(s // values.itemsize for s in values.strides))
        self.versioned = _Versioned(major=major, minor=1, flags=1)
        tensor = self.versioned.tensor
        tensor.data, tensor.device_type, tensor.ndim = values.ctypes.data, 1, values.ndim
        tensor.code, tensor.bits, tensor.lanes, tensor.shape, tensor.strides = 2, 32, 1, shape, strides

    def __dlpack__(self, *, max_version=None):
        if max_version is None or max_version < (1, 0):
            raise BufferError("read-only memory")
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.versioned), self.NAME, None)


class OfDevice(OfDLPack):
    def cpu(self):
        self.moved += 1
        return OfDLPack(self.values)


class OfInterface:
    def __init__(self, values):
        self.values, self.__array_interface__ = values, values.__array_interface__


class Arrays(unittest.TestCase):
    def passes(self, a=A, b=B, y=Y, **kwargs):
        verdict = assay.check("matmul", [a, b], y, **kwargs)
        self.assertEqual((verdict.verdict, verdict.class_), ("pass", "bit_exact"), verdict.explanation)

    def test_strides_of_any_kind(self):
        self.passes(a=np.asfortranarray(A))
        self.passes(a=np.repeat(A, 2, axis=1)[:, ::2])
        self.passes(b=B[:, ::-1], y=Y[:, ::-1])
        self.passes(a=A[::-1], y=Y[::-1].copy())
        self.passes(a=A.T.copy().T, y=np.asfortranarray(Y))
        one = np.broadcast_to(np.float32(2), (2, 3))
        self.passes(a=one, y=one @ B)

    def test_negative_strides_read_what_they_mean(self):
        self.assertFalse(assay.check("matmul", [A, B], Y[::-1]))

    def test_read_only_and_unaligned_ones(self):
        fixed = A.copy()
        fixed.setflags(write=False)
        self.passes(a=fixed)
        raw = np.zeros(A.nbytes + 1, np.uint8)
        raw[1:] = np.frombuffer(A.tobytes(), np.uint8)
        self.passes(a=raw[1:].view(np.float32).reshape(A.shape))

    def test_fields_of_records_and_other_byte_orders(self):
        records = np.zeros((2, 3), [("tag", np.int8), ("value", np.float32)])
        records["value"] = A
        self.passes(a=records["value"])
        self.passes(a=A.astype(">f4"))

    def test_buffers_interfaces_and_dlpack(self):
        self.passes(a=memoryview(A), b=OfInterface(B), y=OfDLPack(Y))
        self.passes(a=memoryview(array.array("f", range(6))).cast("B").cast("f", (2, 3)))
        self.passes(a=(ctypes.c_float * 3 * 2)(*[tuple(map(float, row)) for row in A]))
        self.passes(a=OfDLPack(np.asfortranarray(A)), y=OfDLPack(Y[:, ::-1]), b=B[:, ::-1])

    def test_versioned_capsules_of_dlpack(self):
        fixed = A.copy()
        fixed.setflags(write=False)
        self.passes(a=OfDLPack1(fixed), y=OfDLPack1(Y[:, ::-1]), b=B[:, ::-1])
        with self.assertRaisesRegex(assay.UsageError, "DLPack 2.1, and assay 1"):
            assay.check("matmul", [OfDLPack1(A, major=2), B], Y)

    def test_what_is_on_a_device_is_brought_to_the_host(self):
        a = OfDevice(A, 2)
        self.passes(a=a)
        self.assertEqual(a.moved, 1)

    def test_scalars_and_one_array_alone(self):
        self.assertTrue(assay.check("exp", np.zeros(3, np.float32), np.ones(3, np.float32)))
        self.assertTrue(assay.check("exp", [np.zeros(3, np.float32)], [np.ones(3, np.float32)]))

    def test_scalars_of_numpy_are_read_while_they_are_there(self):
        codes = np.array([[1, 2, 7]], np.int8)
        y = ((codes - 3) * 0.5).astype(np.float32)
        self.assertTrue(assay.check("dequantize", [codes, np.float32(0.5), np.int8(3)], y, per="tensor"))
        given = take(np.float32(3.5), "x")
        others = [np.full((), 7.5, np.float32) for _ in range(1000)]
        self.assertEqual(ctypes.c_float.from_address(given.pointer).value, 3.5)
        del others

    def test_a_subclass_of_masked_arrays_is_one(self):
        class Mine(np.ma.MaskedArray):
            pass

        with self.assertRaisesRegex(assay.UsageError, "masked arrays are not judged"):
            assay.check("exp", np.zeros(3, np.float32), Mine(np.ones(3, np.float32)))

    def test_bits_of_narrow_types(self):
        bits = {"a": "bf16", "b": "bf16", "y": "bf16"}
        self.passes(to_bf16(A), to_bf16(B), to_bf16(Y), dtypes=bits)
        self.passes(dtypes=bits)  # floats that are all of this type
        with self.assertRaisesRegex(assay.UsageError, "bf16 does not hold its element .0,1. = 1.001"):
            assay.check("matmul", [A + np.float32(0.001) * (A == 1), B], Y, dtypes=bits)
        halves = [x.astype(np.float16) for x in (A, B, Y)]
        self.passes(*halves)
        self.passes(*[x.view(np.uint16) for x in halves], dtypes=dict.fromkeys("aby", "f16"))

    def test_types_of_integers_and_complex_numbers(self):
        x = np.array([[1, 5, 3]], np.float32)
        self.assertTrue(assay.check("reduce", x, np.array([1]), kind="argmax", axis=1))
        wave = np.random.default_rng(6).standard_normal((2, 8)).view(np.complex128)
        self.assertTrue(assay.check("fft", wave, np.fft.fft(wave)))
        small = A.astype(np.int8), B.astype(np.int8), Y.astype(np.int32)
        self.assertTrue(assay.check("matmul", small[:2], small[2]))

    def test_unsigned_bytes_are_numbers_or_bits(self):
        codes = np.arange(256, dtype=np.uint8).reshape(2, 128)
        scale, zero = np.array([0.5, 3], np.float32), np.array([128, 7], np.uint8)
        y = (codes.astype(np.float32) - zero[:, None]) * scale[:, None]
        self.assertTrue(assay.check("dequantize", [codes, scale, zero], y, per="row"))
        self.assertFalse(assay.check("dequantize", [codes, scale, zero[::-1]], y, per="row"))
        self.assertTrue(assay.check("dequantize", [codes, scale, zero.astype(np.int32)], y, per="row"))
        signed = codes.view(np.int8).astype(np.float32) * scale[:, None]
        self.assertTrue(assay.check("dequantize", [codes, scale], signed, per="row", dtypes={"q": "i8"}))
        self.assertFalse(assay.check("dequantize", [codes, scale], signed, per="row"))
        with self.assertRaisesRegex(assay.UsageError, "a is u8: say dtype a=e4m3 if its bytes"):
            assay.check("matmul", [codes, codes.T], np.zeros((2, 2), np.float32))
        for kind in (np.uint8, np.int32):  # sums of numbers, which are no fp8
            with self.assertRaises(assay.UsageError) as raised:
                assay.check("matmul", [codes, codes.T], np.zeros((2, 2), kind))
            self.assertNotIn("e4m3 if", str(raised.exception))

    def test_places_may_be_of_32_or_64_bits(self):
        rng = np.random.default_rng(0)
        x, places = rng.standard_normal((4, 32), np.float32), np.argsort(-rng.standard_normal((4, 32)), 1)
        x = np.take_along_axis(-np.sort(-x, 1), np.argsort(places, 1), 1)
        for kind in (np.int32, np.int64):
            top = {"values": -np.sort(-x, 1)[:, :3], "indices": np.argsort(-x, 1)[:, :3].astype(kind)}
            self.assertTrue(assay.check("top_k", x, top))
            top["indices"] = top["indices"][:, ::-1]
            self.assertFalse(assay.check("top_k", x, top))
        base, rows = np.zeros((5, 4), np.float32), np.arange(12, dtype=np.float32).reshape(3, 4)
        summed = base.copy()
        np.add.at(summed, [1, 3, 1], rows)
        for dtype in ("bf16", "f16", "f32"):
            for kind in (np.int32, np.int64):
                operands = {"x": base, "indices": np.array([1, 3, 1], kind), "updates": rows}
                dtypes = dict.fromkeys(["x", "updates", "y"], dtype)
                with self.subTest(dtype=dtype, kind=kind):
                    self.assertTrue(assay.check("scatter_add", operands, {"y": summed}, dtypes=dtypes))
                    self.assertFalse(assay.check("scatter_add", operands, {"y": base + 1}, dtypes=dtypes))

    def test_quantised_bytes_with_zeros_of_their_own(self):
        x = np.arange(-600, 600, dtype=np.float32).reshape(2, 600) / 4  # every other one of the first row is a tie
        scale, zero = np.array([0.5, 2], np.float32), np.array([128, 7], np.uint8)
        sums = x / scale[:, None] + zero[:, None]
        codes = lambda sums, low, kind: np.clip(np.rint(sums), low, low + 255).astype(kind)
        self.assertTrue(assay.check("quantize", [x, scale, zero], codes(sums, 0, np.uint8), per="row"))
        self.assertTrue(assay.check("quantize", [x, scale, zero.astype(np.int32)], codes(sums, 0, np.uint8), per="row"))
        plain = x / scale[:, None]
        self.assertTrue(assay.check("quantize", [x, scale], codes(plain, 0, np.uint8), per="row"))
        away = np.clip(np.floor(plain + 0.5), 0, 255).astype(np.uint8)
        self.assertFalse(assay.check("quantize", [x, scale], away, per="row"))
        self.assertFalse(assay.check("quantize", [x, scale, zero[::-1]], codes(sums, 0, np.uint8), per="row"))
        signed = (zero.astype(np.int32) - 128).astype(np.int8)
        self.assertTrue(assay.check("quantize", [x, scale, signed], codes(sums - 128, -128, np.int8), per="row"))
        with self.assertRaisesRegex(assay.UsageError, "possible are .*f32-f32-u8-u8"):
            assay.check("quantize", [x, scale, signed], codes(sums, 0, np.uint8), per="row")


@unittest.skipUnless(importlib.util.find_spec("ml_dtypes"), "ml_dtypes is not installed")
class MlDtypes(unittest.TestCase):
    def test_its_types_are_taken_by_name(self):
        import ml_dtypes
        for dtype, out in ((ml_dtypes.bfloat16, ml_dtypes.bfloat16), (ml_dtypes.float8_e4m3fn, np.float32),
                           (ml_dtypes.float8_e5m2, np.float32)):
            one = np.eye(4).astype(dtype)
            for strided in (one, one[::-1, ::-1]):
                verdict = assay.check("matmul", [strided, strided], strided.astype(out))
                self.assertEqual(verdict.class_, "bit_exact", verdict.explanation)

    def test_integers_of_four_bits_are_those_of_eight(self):
        import ml_dtypes

        def dequantised(x, codes, scale):
            return x @ (codes * scale)
        x, scale = np.float32([[1, -2, 3]]), np.float32([0.5, 0.25])
        for dtype, low, high in ((ml_dtypes.int4, -8, 7), (ml_dtypes.uint4, 0, 15)):
            codes = np.array([[low, high], [3, 1], [high, low]], np.int8)
            y = x @ (codes * scale)
            self.assertTrue(assay.check(dequantised, [x, codes.astype(dtype), scale], y).passed)
            self.assertTrue(assay.check(dequantised, [x, codes.T.astype(dtype).T, scale], y).passed)
            wrong = assay.check(dequantised, [x, codes.astype(dtype), scale], x @ (np.clip(codes, low + 1, high) * scale))
            self.assertEqual(wrong.verdict, "mismatch")

    def test_cases_come_in_them(self):
        x = assay.cases(ids=["exp/bf16/n=64/fill=normal/seed=0"])[0].inputs["x"]
        self.assertEqual(x.dtype.name, "bfloat16")


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class Torch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch
        cls.torch = torch

    def passes(self, a, b, y, **kwargs):
        verdict = assay.check("matmul", [a, b], y, **kwargs)
        self.assertEqual((verdict.verdict, verdict.class_), ("pass", "bit_exact"), verdict.explanation)

    def test_tensors_as_they_lie(self):
        a, b, y = map(self.torch.tensor, (A, B, Y))
        self.passes(a, b, y)
        self.passes(a.T.contiguous().T, b.flip(1), y.flip(1))
        self.passes(a[:1].expand(2, 3), b, y[:1].expand(2, 2))
        self.passes(self.torch.nn.Parameter(a), b.clone().requires_grad_(), y * 1)

    def test_narrow_types(self):
        torch = self.torch
        one = torch.eye(4)
        for dtype in (torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2):
            out = dtype if dtype.itemsize == 2 else torch.float32
            with self.subTest(dtype):
                self.passes(one.to(dtype), one.to(dtype), one.to(out))
        a, b = torch.randn(8, 32).bfloat16(), torch.randn(32, 8).bfloat16()
        self.assertTrue(assay.check("matmul", [a, b], (a.double() @ b.double()).float().bfloat16()))

    def test_lazily_conjugated_ones(self):
        x = self.torch.randn(16, dtype=self.torch.complex64)
        wide = np.fft.fft(x.numpy().astype(np.complex128))
        y = self.torch.from_numpy(wide.astype(np.complex64))
        self.assertTrue(assay.check("fft", x, y))
        self.assertFalse(assay.check("fft", x, y.conj()))

    def test_what_has_no_elements_to_read(self):
        a, b, y = map(self.torch.tensor, (A, B, Y))
        for words, one in (("layout torch.sparse_coo", a.to_sparse()), ("device meta", a.to("meta")),
                           ("elements of type uint32|elements of type quint8", a.to(self.torch.uint32))):
            with self.subTest(words), self.assertRaisesRegex(assay.UsageError, words):
                assay.check("matmul", [one, b], y)


class Refused(unittest.TestCase):
    def refused(self, words, a=A, b=B, y=Y, **kwargs):
        with self.assertRaisesRegex(assay.UsageError, words):
            assay.check("matmul", [a, b], y, **kwargs)

    def test_what_is_no_array(self):
        self.refused("input a: list is no array: its elements have no type", a=A.tolist())
        self.refused("input a: float is no array", a=1.5)
        self.refused("output y: str is no array", y="y.npy")
        self.refused("input a: object is no array that can be read", a=object())
        self.refused("input a: type is no array", a=np.ndarray)

    def test_types_that_nobody_judges(self):
        self.refused("input a: elements of type object are not judged; float64 float32", a=A.astype(object))
        self.refused("elements of type longdouble|float128 are not judged", a=A.astype(np.longdouble))
        self.refused("elements of type (str|bytes)", a=A.astype("S4"))
        self.refused("elements of type void", a=np.zeros((2, 3), [("x", np.float32)]))
        self.refused("elements of type uint16 have no meaning of their own: say what the bits hold, bf16 or f16",
                     a=A.astype(np.uint16))
        self.refused(r'elements of type uint32 are not judged: give x.astype\("int64"\), which holds them exactly',
                     a=A.astype(np.uint32))
        self.refused("y: .*bf17", dtypes={"y": "bf17"})

    def test_masked_ones(self):
        self.refused("masked arrays are not judged", a=np.ma.masked_array(A, A > 3))

    def test_results_of_bool_are_no_numbers_of_i8(self):
        yes = np.ones(4, bool)
        for op, inputs in (("add", [yes, yes]), ("cast", [np.full(4, 300, np.int32)])):
            with self.assertRaisesRegex(assay.UsageError, f"no {op} of .*bool; possible are "):
                assay.check(op, inputs, yes)

    def test_wrong_shapes_and_types(self):
        self.refused("matmul", a=A[0])
        self.refused("y has shape 2, expected 2x2", y=Y[0])
        self.refused("matmul: .*k", a=A.T)
        self.refused("no product of f32 with output f16; possible are", y=Y.astype(np.float16))
        self.refused("a is f64 and b is f32, but both must have one type", a=A.astype(np.float64))

    def test_devices_without_a_way_to_the_host(self):
        self.refused("is on a device, and offers no way to the host's memory", a=OfDLPack(A, 2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
