#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reader of ONNX's node tests, with the package onnx: onnx_importer_test.py [CLASS]."""
import math
import pathlib
import struct
import unittest

from damage import damage
from imported import Imported
from assay.importers import onnx as importer
from assay.importers._cases import Unmapped, Unusable
from assay.importers._onnx_call import Tensor

try:
    import onnx
    from onnx import TensorProto as T, helper
except ImportError:
    onnx = None


def tensor(shape, values=None, dtype=None):
    dtype = dtype or T.FLOAT
    return helper.make_tensor("", dtype, shape, values or [0] * math.prod(shape))


def integers(*values):
    return tensor([len(values)], list(values), T.INT64)


def codes(shape):
    return tensor(shape, dtype=T.UINT8)


def model(op, inputs, outputs=("y",), opset=20, **attributes):
    def info(name):
        return helper.make_tensor_value_info(name, T.FLOAT, None)

    graph = helper.make_graph([helper.make_node(op, inputs, outputs, **attributes)], "g", [info(name) for name in inputs],
                              [info(name) for name in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]).SerializeToString()


@unittest.skipIf(onnx is None, "the package onnx is missing")
class Onnx(Imported):
    def write_test(self, name, data, inputs, outputs):
        self.write(f"{name}/model.onnx", data)
        for kind, tensors in (("input", inputs), ("output", outputs)):
            for i, one in enumerate(tensors):
                self.write(f"{name}/test_data_set_0/{kind}_{i}.pb", one if isinstance(one, bytes) else one.SerializeToString())

    def read(self, data, inputs, outputs):
        self.count = getattr(self, "count", 0) + 1
        self.write_test(f"{self.count}/test_one", data, inputs, outputs)
        return self.outcomes(importer.read(f"{self.dir}/{self.count}", with_tensors=False))[0]

    def test_samples_and_spectra(self):
        x, grid, y = tensor([2, 3, 5, 7]), tensor([2, 4, 6, 2]), tensor([2, 3, 4, 6])
        self.assertEqual(self.read(model("GridSample", ["x", "g"], padding_mode="border", align_corners=1), [x, grid], [y]),
                         "grid_sample/f32/n=2,c=3,h=5,w=7,oh=4,ow=6,padding=border,align_corners=1")
        self.assertEqual(self.read(model("GridSample", ["x", "g"], opset=16, mode="nearest"), [x, grid], [y]),
                         "grid_sample/f32/n=2,c=3,h=5,w=7,oh=4,ow=6,mode=nearest")
        self.assertIn("mode=cubic", self.read(model("GridSample", ["x", "g"], mode="cubic"), [x, grid], [y]))
        signal, step, window = tensor([2, 20, 1]), tensor([], [3], T.INT64), tensor([8])
        self.assertEqual(self.read(model("STFT", ["x", "s", "w"], opset=17), [signal, step, window], [tensor([2, 5, 5, 2])]),
                         "stft/f32/b=2,l=20,n=8,hop=3")
        self.assertIn("both halves", self.read(model("STFT", ["x", "s", "w"], opset=17, onesided=0), [signal, step, window],
                                               [tensor([2, 5, 8, 2])]))
        self.assertIn("complex signals", self.read(model("STFT", ["x", "s", "w"], opset=17), [tensor([2, 20, 2]), step, window],
                                                   [tensor([2, 5, 5, 2])]))

    def test_products_and_convolutions(self):
        self.assertEqual(self.read(model("MatMul", ["a", "b"]), [tensor([2, 3, 4]), tensor([2, 4, 5])], [tensor([2, 3, 5])]),
                         "matmul/f32/m=3,n=5,k=4,batch=2")
        self.assertEqual(self.read(model("MatMul", ["a", "b"]), [tensor([2, 3, 4]), tensor([1, 4, 5])], [tensor([2, 3, 5])]),
                         "matmul/f32/m=6,n=5,k=4")
        self.assertEqual(self.read(model("Gemm", ["a", "b", "c"], alpha=0.5, transB=1),
                                   [tensor([3, 4]), tensor([5, 4]), tensor([1, 5])], [tensor([3, 5])]),
                         "matmul/f32/m=3,n=5,k=4,transb=1,alpha=0.5,bias=1")
        self.assertEqual(self.read(model("Gemm", ["a", "b", "c"], beta=2.0), [tensor([3, 4]), tensor([4, 5]), tensor([3, 5])],
                                   [tensor([3, 5])]), "matmul/f32/m=3,n=5,k=4,beta=2")
        image = [tensor([1, 1, 5, 5]), tensor([1, 1, 3, 3])]
        self.assertEqual(self.read(model("Conv", ["x", "w"], pads=[1, 1, 1, 1], strides=[2, 2]), image, [tensor([1, 1, 3, 3])]),
                         "conv/f32/n=1,c=1,o=1,i=5x5,k=3x3,stride=2,pad=1")
        self.assertEqual(self.read(model("Conv", ["x", "w"], auto_pad="SAME_LOWER"), image, [tensor([1, 1, 5, 5])]),
                         "conv/f32/n=1,c=1,o=1,i=5x5,k=3x3,pad=1")
        self.assertEqual(self.read(model("Conv", ["x", "w"], pads=[0, 1, 1, 1]), image, [tensor([1, 1, 4, 5])]), "onnx_Conv/f32")

    def test_rows_and_reductions(self):
        x = tensor([2, 3, 4])
        self.assertEqual(self.read(model("Softmax", ["x"], opset=13), [x], [x]), "softmax/f32/shape=2x3x4")
        self.assertEqual(self.read(model("LogSoftmax", ["x"], opset=11), [x], [x]), "softmax/f32/shape=2x12,log=1")
        self.assertEqual(self.read(model("ReduceSum", ["x", "axes"], keepdims=0), [x, integers(-2)], [tensor([2, 4])]),
                         "reduce/f32/shape=2x3x4,axes=1")
        self.assertEqual(self.read(model("ReduceMax", ["x"]), [x], [tensor([1, 1, 1])]),
                         "reduce/f32/shape=2x3x4,axes=0+1+2,kind=max,keepdims=1")
        self.assertEqual(self.read(model("ReduceProd", ["x"], axes=[2], keepdims=0), [x], [tensor([2, 3])]),
                         "reduce/f32/shape=2x3x4,axes=2,kind=prod/fill=near_one")
        self.assertEqual(self.read(model("ArgMin", ["x"], axis=-1), [x], [tensor([2, 3, 1], dtype=T.INT64)]),
                         "reduce/f32-i64/shape=2x3x4,axes=2,kind=argmin,keepdims=1")
        self.assertEqual(self.read(model("LayerNormalization", ["x", "s", "b"], ["y", "mean", "rstd"], epsilon=0.25),
                                   [x, tensor([4]), tensor([4])], [x, tensor([2, 3, 1]), tensor([2, 3, 1])]),
                         "layer_norm/f32/rows=6,n=4,eps=0.25,stats=1")
        self.assertEqual(self.read(model("InstanceNormalization", ["x", "s", "b"], epsilon=0.01),
                                   [x, tensor([3]), tensor([3])], [x]), "group_norm/f32/b=2,g=3,c=1,n=4,eps=0.01")
        self.assertEqual(self.read(model("TopK", ["x", "k"], ["v", "i"]), [x, integers(2)],
                                   [tensor([2, 3, 2]), tensor([2, 3, 2], dtype=T.INT64)]), "top_k/f32/rows=6,k=2,n=4")
        self.assertEqual(self.read(model("CumSum", ["x", "axis"]), [x, integers(2)], [x]), "cumsum/f32/rows=6,n=4")
        self.assertEqual(self.read(model("Gather", ["x", "i"]), [x, integers(1, 0)], [x]), "gather/f32-i64-f32/v=2,n=2,d=12")
        self.assertEqual(self.read(model("Gelu", ["x"], approximate="tanh"), [x], [x]), "gelu/f32/n=24,approx=tanh")

    def test_attention(self):
        qkv, o = [tensor([1, 4, 3, 8]), tensor([1, 2, 5, 8]), tensor([1, 2, 5, 6])], [tensor([1, 4, 3, 6])]
        self.assertEqual(self.read(model("Attention", ["q", "k", "v"], is_causal=1, scale=0.5), qkv, o),
                         "attention/f32/b=1,h=4,hkv=2,l=3,s=5,d=8,dv=6,causal=1,align=tl,scale=0.5")
        masked = model("Attention", ["q", "k", "v", "m"])
        self.assertEqual(self.read(masked, [*qkv, tensor([3, 5])], o), "attention/f32/b=1,h=4,hkv=2,l=3,s=5,d=8,dv=6,mask=add")
        self.assertEqual(self.read(masked, [*qkv, tensor([1, 4, 3, 5], dtype=T.BOOL)], o),
                         "attention/f32/b=1,h=4,hkv=2,l=3,s=5,d=8,dv=6,mask=bool,mask_per_head=1")
        self.assertEqual(self.read(model("Attention", ["q", "k", "v"], left_window_size=2), qkv, o),
                         "left_window_size: an attribute that is not known here")

    def test_powers(self):
        x = tensor([2, 3])
        self.assertEqual(self.read(model("Pow", ["x", "p"]), [x, x], [x]), "pow/f32/n=6")
        self.assertEqual(self.read(model("Pow", ["x", "p"]), [x, tensor([1])], [x]), "onnx_Pow/f32")

    def test_codes_of_eight_bits(self):
        def quantised(scale, zero, axis):
            return self.read(model("QuantizeLinear", ["x", "s", "z"], ["q"], axis=axis), [tensor([2, 3, 4]), scale, zero],
                             [codes([2, 3, 4])])

        self.assertEqual(quantised(tensor([]), codes([]), 1), "quantize/f32-f32-u8-u8/rows=1,n=24")
        self.assertEqual(quantised(tensor([2]), codes([2]), 0), "quantize/f32-f32-u8-u8/rows=2,n=12,per=row")
        self.assertEqual(quantised(tensor([4]), codes([4]), -1), "quantize/f32-f32-u8-u8/rows=6,n=4,per=column")
        self.assertIn("not traced: ", quantised(tensor([3]), codes([3]), 0))
        self.assertEqual(quantised(tensor([3]), codes([3]), 1), "onnx_QuantizeLinear/f32-f32-u8-u8")
        self.assertEqual(self.read(model("QuantizeLinear", ["x", "s"], ["q"]), [tensor([6]), tensor([])], [codes([6])]),
                         "quantize/f32-f32-u8/rows=1,n=6")
        self.assertEqual(self.read(model("DequantizeLinear", ["q", "s", "z"]), [codes([6]), tensor([]), codes([])],
                                   [tensor([6])]), "dequantize/u8-f32-u8-f32/rows=1,n=6")
        self.assertEqual(self.read(model("DequantizeLinear", ["q", "s"]), [codes([6]), tensor([])], [tensor([6])]),
                         "dequantize/u8-f32-f32/rows=1,n=6")
        self.assertEqual(self.read(model("DequantizeLinear", ["q", "s"], axis=0, block_size=2), [codes([6]), tensor([3])], [tensor([6])]),
                         "onnx_DequantizeLinear/u8-f32-f32")

    def test_rotations(self):
        def turned(x, table, **attributes):
            return self.read(model("RotaryEmbedding", ["x", "c", "s"], **attributes), [tensor(x), tensor(table), tensor(table)],
                             [tensor(x)])

        self.assertEqual(turned([1, 4, 3, 8], [1, 3, 4]), "rope/f32/b=4,l=3,h=1,d=8")
        self.assertEqual(turned([2, 3, 32], [2, 3, 4], num_heads=4), "rope/f32/b=1,l=6,h=4,d=8")
        self.assertEqual(turned([2, 4, 3, 8], [2, 3, 4]), "tables of each batch, where here all batches have one")
        self.assertEqual(turned([1, 4, 3, 8], [1, 3, 4], interleaved=1), "pairs of neighbours; here of the halves of a head")
        self.assertEqual(turned([1, 4, 3, 8], [1, 3, 2], rotary_embedding_dim=4), "a part of each head is turned")
        x = tensor([1, 4, 3, 8])
        self.assertEqual(self.read(model("RotaryEmbedding", ["x", "c", "s", "p"]),
                                   [x, tensor([50, 4]), tensor([50, 4]), integers(0, 1, 2)], [x]),
                         "positions that choose rows of the tables")

    def test_data_come_in_the_operands_shapes(self):
        x, y, ones = tensor([2, 1, 3], [1, 2, 3, 4, 5, 6]), tensor([2, 1, 3], [7, 8, 9, 10, 11, 12]), tensor([3], [1, 1, 1])
        for name in ("test_a", "below/test_b"):
            self.write_test(name, model("RMSNormalization", ["x", "s"]), [x, ones], [y])
        found = list(importer.read(str(self.dir), with_tensors=True))
        self.assertEqual([one.label for one in found], ["test_b", "test_a"])
        self.assertEqual(found[1].case.inputs[0], ("x", "f32", [2, 3], struct.pack("<6f", 1, 2, 3, 4, 5, 6)))
        self.assertEqual(found[1].case.outputs, [("y", "f32", [2, 3], struct.pack("<6f", 7, 8, 9, 10, 11, 12))])

    def test_tensors_in_each_of_their_fields(self):
        def data(dtype, dims=(2,), **fields):
            return Tensor(T(data_type=dtype, dims=dims, **fields)).data

        self.assertEqual(data(T.FLOAT, float_data=[1.5, -2]), struct.pack("<2f", 1.5, -2))
        self.assertEqual(data(T.FLOAT, raw_data=struct.pack("<2f", 1.5, -2)), struct.pack("<2f", 1.5, -2))
        self.assertEqual(data(T.DOUBLE, double_data=[1.5, -2]), struct.pack("<2d", 1.5, -2))
        self.assertEqual(data(T.COMPLEX64, float_data=[1, 2, 3, 4]), struct.pack("<4f", 1, 2, 3, 4))
        self.assertEqual(data(T.INT8, int32_data=[-1, 7]), b"\xff\x07")
        self.assertEqual(data(T.FLOAT16, int32_data=[0x3C00, 0xC000]), struct.pack("<2e", 1, -2))
        self.assertEqual(data(T.INT64, int64_data=[1 << 40, -1]), struct.pack("<2q", 1 << 40, -1))
        self.assertEqual(Tensor(T(data_type=T.INT32, dims=[2], int32_data=[-5, 6])).integers(), [-5, 6])
        for wrong in ({"dims": (2,), "float_data": [1.5]}, {"dims": (-1,)}, {"dims": (1 << 31, 1 << 31)}, {"dims": (1,) * 17}):
            self.assertRaises(Unmapped, data, T.FLOAT, **wrong)
        self.assertRaises(Unmapped, Tensor, T())

    def test_what_has_no_counterpart_says_why(self):
        x = tensor([2, 3])
        softmax = model("Softmax", ["x"])
        for reason, data, inputs, outputs in (
                ("no operator NonZero here", model("NonZero", ["x"]), [x], [x]),
                ("an axis that its tensor does not have", model("Softmax", ["x"], axis=2), [x], [x]),
                ("it lacks one of its outputs", model("TopK", ["x", "k"], ["v", "i"]), [x, integers(1)], [tensor([]), tensor([])]),
                ("an axis that its tensor does not have", model("ReduceSum", ["x", "axes"]), [x, integers(2**63 - 1)], [x]),
                ("no test_data_set_0 with its tensors", softmax, [], []),
                ("no expected output", softmax, [x], []),
                ("texts", softmax, [T(data_type=T.STRING, dims=[1])], [x]),
                ("input_0.pb: a damaged file, or none of ONNX", softmax, [b"no message"], [x]),
                ("a damaged file, or none of ONNX", b"no message", [x], [x]),
                ("a damaged file, or none of ONNX", b"", [x], [x])):
            with self.subTest(reason):
                self.assertEqual(self.read(data, inputs, outputs), reason)

    def test_a_folder_without_a_model_is_an_error(self):
        self.assertRaisesRegex(Unusable, "there is no model.onnx in it; give a model, a folder", list,
                               importer.read(str(self.dir), with_tensors=False))

    def test_damaged_nodes_and_tensors(self):
        """Files that end early, or whose bytes somebody has changed: a case, or a reason."""
        conv = model("Conv", ["x", "w"], pads=[1, 1, 1, 1], strides=[2, 2], group=1)
        x, w, y = (tensor(shape).SerializeToString() for shape in ([1, 1, 5, 5], [1, 1, 3, 3], [1, 1, 3, 3]))
        self.write_test("test", conv, [x, w], [y])
        mapped = unmapped = 0
        for seed in range(600):
            name, data = ("model.onnx", conv) if seed % 2 else ("test_data_set_0/input_0.pb", x)
            path = self.write(f"test/{name}", data[:seed % (len(data) + 1)] if seed % 6 < 2 else damage(data, seed))
            for one in importer.read(str(self.dir), with_tensors=seed % 5 == 0):
                self.assertTrue((one.case is None) == (one.reason != ""), (seed, one))
                mapped += one.case is not None
                unmapped += one.case is None
            pathlib.Path(path).write_bytes(data)
        self.assertGreater(mapped, 20)
        self.assertGreater(unmapped, 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
