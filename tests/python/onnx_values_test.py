#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single nodes of ONNX with results that are known: onnx_values_test.py [CLASS]. The right result passes, the wrong one fails, and a
node that no definition expresses is refused with its reason."""
import pathlib
import tempfile
import types
import unittest

import numpy

from assay.importers import onnx as importer
from assay.importers._cases import attempt

try:
    import onnx
    from onnx import TensorProto as T, helper
    import onnx_node_tests as node_tests
except ImportError:
    onnx = None

TRAINING = "ai.onnx.preview.training"
INF, NAN = numpy.inf, numpy.nan


def f32(*numbers): return numpy.array(numbers, numpy.float32)
def i32(*numbers): return numpy.array(numbers, numpy.int32)
def i64(*numbers): return numpy.array(numbers, numpy.int64)
def u32(*numbers): return numpy.array(numbers, numpy.uint32)
def u64(*numbers): return numpy.array(numbers, numpy.uint64)
def one(number, dtype=numpy.float32): return numpy.array(number, dtype)


def node_test(op, inputs, outputs, opset=None, domain="", **attributes):
    """A node with operands (None: left out) and results, in the form of the package's own tests."""
    names = ["" if x is None else f"x{k}" for k, x in enumerate(inputs)]
    results = [f"y{k}" for k in range(len(outputs))]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    given = [x for x in inputs if x is not None]
    info = [[helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype) if hasattr(helper, "np_dtype_to_tensor_dtype")
                                           else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[x.dtype], x.shape) for name, x in zip(named, arrays)]
            for named, arrays in (([name for name in names if name], given), (results, outputs))]
    graph = helper.make_graph([node], "g", *info)
    opsets = [helper.make_opsetid("", opset or min(onnx.defs.onnx_opset_version(), 17))] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return types.SimpleNamespace(model=helper.make_model(graph, opset_imports=opsets), data_sets=[(given, outputs)])


def recurrent(op, gates, **attributes):
    """One step of one element, whose weights are 0: the new state is that of the gates at their biases of 0."""
    return (op, [numpy.ones((2, 1, 1), "f"), numpy.zeros((1, gates, 1), "f"), numpy.zeros((1, gates, 1), "f"), None, None,
                 numpy.array([[[0.25]], [[0.5]]], "f")], attributes | {"hidden_size": 1, "layout": 1})


# The operator, its inputs and attributes, the right first result, a wrong one.
ROWS = [
    ("BitShift", [u64(2**40, 2**52), u64(33, 40)], {"direction": "RIGHT", "contract": "acc=f64"}, u64(128, 2**12), u64(0, 0)),
    ("Adagrad", [one(0.5), one(0, numpy.int64), f32(1), f32(1e-6), f32(0)], {"domain": TRAINING}, f32(0.75), f32(0.5)),
    ("Adam", [one(0.5), one(0, numpy.int64), f32(1), f32(1e-5), f32(0), f32(0)], {"domain": TRAINING},
     f32(1 - 0.5 * 1e-6 / (1e-5 * 0.001**0.5 + 1e-6)), f32(1 - 0.5 * 1e-6 / (1e-5 * 0.001**0.5))),
    (*recurrent("GRU", 3), numpy.array([[[[0.125]]], [[[0.25]]]], "f"), numpy.array([[[[0.125]]], [[[0.125]]]], "f")),
    ("RNN", [numpy.full((1, 1, 1), 0.5, "f"), numpy.ones((1, 1, 1), "f"), numpy.zeros((1, 1, 1), "f")],
     {"hidden_size": 1, "activations": ["Relu"]}, numpy.full((1, 1, 1, 1), 0.5, "f"), numpy.full((1, 1, 1, 1), numpy.tanh(0.5), "f")),
    ("QLinearMatMul", [numpy.array([[1], [1]], "u1"), f32(1, 2), numpy.array([0, 0], "u1"), numpy.array([[10, 20]], "u1"), one(1),
                       one(0, "u1"), f32(1, 1), numpy.array([0, 3], "u1")], {},
     numpy.array([[10, 20], [23, 43]], "u1"), numpy.array([[10, 43], [10, 43]], "u1")),
    ("Einsum", [numpy.arange(6, dtype="f").reshape(1, 2, 3), numpy.arange(3, dtype="f").reshape(1, 3, 1)], {"equation": "...ij,...jA"},
     numpy.array([[[5, 14]]], "f"), numpy.array([[[5, 5]]], "f")),
    ("Sinh", [f32(1e-8, 2)], {}, f32(1e-8, numpy.sinh(2)), f32(0, numpy.sinh(2))),
    ("Asin", [f32(1e-8, -1)], {}, f32(1e-8, -numpy.pi / 2), f32(0, -numpy.pi / 2)),
    ("Acos", [f32(1, -1)], {}, f32(0, numpy.pi), f32(0, -numpy.pi)),
    ("Atan", [f32(-INF, 1e-8)], {}, f32(-numpy.pi / 2, 1e-8), f32(-numpy.pi / 2, 0)),
    ("Asinh", [f32(-1e4, 1e-8, INF)], {}, f32(numpy.arcsinh(-1e4), 1e-8, INF), f32(numpy.arcsinh(-1e4), 0, INF)),
    ("Asinh", [f32(-1e4)], {}, f32(numpy.arcsinh(-1e4)), f32(numpy.arcsinh(-1e4) * 1.001)),
    ("Acosh", [f32(1.0625, INF)], {}, f32(numpy.arccosh(1.0625), INF), f32(numpy.arccosh(1.0625) * (1 + 2**-17), INF)),
    ("ThresholdedRelu", [f32(-INF, 0.5, 2)], {}, f32(0, 0, 2), f32(NAN, 0, 2)),
    ("Shrink", [f32(-INF, INF, 0.25)], {"lambd": INF}, f32(0, 0, 0), f32(NAN, NAN, 0)),
    ("ArgMax", [f32(1, NAN, 3)], {"axis": 0, "select_last_index": 1}, i64(1), i64(3)),
    ("ArgMin", [f32(1, NAN, 3)], {"axis": 0, "select_last_index": 1}, i64(1), i64(-1)),
    ("Hardmax", [f32(1, NAN, 3)], {}, f32(0, 1, 0), f32(0, 0, 0)),
    ("Sign", [f32(NAN, -0.5, 2)], {}, f32(NAN, -1, 1), f32(0, -1, 1)),
    ("IsInf", [f32(INF, -INF, 1)], {"detect_negative": 0, "detect_positive": 0}, numpy.zeros(3, bool), numpy.array([True, False, False])),
    ("Sub", [u32(1, 7), u32(2, 3)], {}, u32(2**32 - 1, 4), u32(0, 4)),
    ("Add", [u32(2**32 - 1, 3), u32(2, 3)], {}, u32(1, 6), u32(2**32 - 1, 6)),
    ("Slice", [f32(0, 1, 2, 3, 4), i64(-9), i64(-20), i64(0), i64(-1)], {}, f32(0), f32(4)),
    ("Gather", [f32(0, 1, 2), i64(-3, 2)], {}, f32(0, 2), f32(0, 0)),
    ("ScatterElements", [f32(1, 2), i64(1, 1, 1), f32(3, 4, 5)], {"reduction": "add"}, f32(1, 14), f32(1, 7)),
    ("Mod", [i32(5, -5), i32(3, 3)], {"fmod": 1}, i32(2, -2), i32(2, 1)),
]
# The reason, the operator, its inputs and attributes, and a result that an attribute passed over would give.
REFUSED = [
    ("axis: an attribute of Add", "Add", [numpy.eye(2, dtype="f"), f32(1, 2)], {"axis": 0, "broadcast": 1}, numpy.eye(2, dtype="f")),
    ("Add before opset 7", "Add", [f32(1, 2), f32(1, 2)], {"opset": 6}, f32(2, 4)),
    ("Tile before opset 6", "Tile", [f32(1, 2), i64(2)], {"opset": 5}, f32(1, 2, 1, 2)),
    ("spatial: an attribute of BatchNormalization", "BatchNormalization",
     [numpy.ones((1, 1, 2), "f"), f32(1), f32(1), f32(1), f32(1)], {"opset": 8, "spatial": 0}, numpy.ones((1, 1, 2), "f")),
    ("arithmetic of u64", "Add", [u64(1), u64(2)], {}, u64(3)),
    ("arithmetic of u32", "Mul", [u32(1), u32(2)], {}, u32(2)),
    ("fmod of floats", "Mod", [f32(1e8), f32(3)], {"fmod": 1}, f32(1)),
    ("places of maxima that may be equal", "MaxPool", [numpy.ones((1, 1, 3), "f2")], {"kernel_shape": [3]},
     (numpy.ones((1, 1, 1), "f2"), i64(0).reshape(1, 1, 1))),
    ("GatherElements has an index beyond its axis: give indices from -3 to 2", "GatherElements", [f32(0, 1, 2), i64(-4)], {}, f32(0)),
    ("hidden_size of RNN is not that of its weights", "RNN", [numpy.ones((1, 1, 1), "f")] * 3, {"hidden_size": 2}, numpy.ones((1, 1, 1, 1), "f")),
    ("activation_alpha: an attribute of RNN", "RNN", [numpy.ones((1, 1, 1), "f")] * 3, {"hidden_size": 1, "activation_alpha": [0.5]},
     numpy.ones((1, 1, 1, 1), "f")),
    ("kernel_shape of Conv is not that of its weights", "Conv", [numpy.ones((1, 1, 4), "f"), numpy.ones((1, 1, 3), "f")],
     {"kernel_shape": [2], "pads": [0, 1]}, numpy.ones((1, 1, 3), "f")),
    ("more than 256 updates", "ScatterElements", [f32(*range(9)), numpy.zeros(300, "i8"), numpy.ones(300, "f")], {"reduction": "add"}, f32(*range(9))),
    ("Resize to more than", "Resize", [f32(1), None, None, i64(2**33)], {}, f32(1)),
    ("a tensor of more than", "Tile", [f32(1), i64(2**40)], {}, f32(1)),
    ("a tensor of more than", "Conv", [numpy.ones((1, 1, 8), "f"), numpy.ones((1, 1, 3), "f")], {"pads": [2**36, 0], "dilations": [2]},
     numpy.ones((1, 1, 8), "f")),
    ("a tensor of more than", "MaxUnpool", [numpy.ones((1, 1, 1), "f"), i64(0).reshape(1, 1, 1)], {"kernel_shape": [2**40], "strides": [2**40]},
     numpy.ones((1, 1, 1), "f")),
    ("a tensor of more than", "ConvTranspose", [numpy.ones((1, 1, 2), "f"), numpy.ones((1, 1, 3), "f")], {"strides": [2**40]},
     numpy.ones((1, 1, 8), "f")),
]


@unittest.skipIf(onnx is None, "the package onnx is missing")
class Values(unittest.TestCase):
    def test_right_results_pass_and_wrong_ones_do_not(self):
        for op, inputs, attributes, right, wrong in ROWS:
            contract = {"contract": attributes.pop("contract")} if "contract" in attributes else {}
            with self.subTest(op, attributes=attributes):
                found, = node_tests.read(node_test(op, inputs, [right], **attributes))
                self.assertIsNotNone(found.case, found.reason)
                name, = (one.name for one in found.case.outputs)
                verdict = node_tests.judge(found.case, {name: node_tests.array_of(found.case.outputs[0])}, **contract)
                self.assertTrue(verdict.passed, verdict.reason)
                other, = node_tests.read(node_test(op, inputs, [wrong], **attributes))
                wrong_verdict = node_tests.judge(found.case, {name: node_tests.array_of(other.case.outputs[0])}, **contract)
                self.assertFalse(wrong_verdict.passed, "a wrong one passes")

    def test_what_is_not_expressed_is_refused(self):
        for reason, op, inputs, attributes, result in REFUSED:
            with self.subTest(reason):
                found, = node_tests.read(node_test(op, inputs, result if isinstance(result, tuple) else [result], **attributes))
                self.assertIn(reason, found.reason)


@unittest.skipIf(onnx is None, "the package onnx is missing")
class Constants(unittest.TestCase):
    def test_casts_round_to_the_narrow_type(self):
        from assay.importers._onnx_arrays import known
        from assay.importers._onnx_types import cast
        for to, saturate, number, right in (
                ("bf16", True, 0.1, 0.10009765625), ("bf16", True, 1 + 2**-8, 1.0), ("bf16", True, 1 + 3 * 2**-8, 1 + 2**-6),
                ("e4m3", True, 0.3, 0.3125), ("e4m3", True, -1000, -448), ("e4m3", False, 1000, NAN), ("e4m3", False, 464, 448),
                ("e5m2", True, 1e9, 57344), ("e5m2", False, -1e9, -INF), ("e5m2", True, 0.3, 0.3125), ("e4m3fnuz", True, 300, 240),
                ("e4m3fnuz", False, 300, NAN), ("e2m1", True, 2.5, 2), ("e2m1", True, -7, -6), ("e4m3", True, NAN, NAN),
                ("u32", True, -1, 2**32 - 1), ("i8", True, 300, 44)):
            with self.subTest(to, number=number, saturate=saturate):
                numpy.testing.assert_equal(cast(known(float(number), "f32"), to, saturate).x.item(), right)

    def test_arithmetic_wraps_around(self):
        from assay.importers._onnx_arrays import apply, known
        from assay.importers._onnx_elements import kept
        for name, numbers, type_, right in (("add", (2**31 - 1, 1), "i32", -2**31), ("subtract", (1, 2), "u32", 2**32 - 1),
                                            ("multiply", (100, 3), "i8", 44), ("abs", (-2**31,), "i32", -2**31)):
            with self.subTest(name, type=type_):
                self.assertEqual(kept(apply(name, *(known(one, type_) for one in numbers)), name).x, right)


@unittest.skipIf(onnx is None, "the package onnx is missing")
class FileTest(unittest.TestCase):
    """Graphs with functions and loops, as files without data."""

    def read(self, nodes, functions=(), x=(4,)):
        """Adds what the nodes make of 1, which is `d`, to an operand."""
        info = [helper.make_tensor_value_info(name, T.FLOAT, list(x)) for name in ("x", "y")]
        nodes = [helper.make_node("Constant", [], ["c"], value_float=1.0), *nodes, helper.make_node("Add", ["x", "d"], ["y"])]
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
        model = helper.make_model(helper.make_graph(nodes, "g", info[:1], info[1:]), opset_imports=opsets, functions=list(functions))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "mine.onnx")
            path.write_bytes(model.SerializeToString())
            found, = importer.read(str(path), with_tensors=False)
            return found

    def function(self, name, *called):
        ends = ["a", *(f"t{k}" for k in range(len(called) - 1)), "b"]
        nodes = [helper.make_node(op, [ends[k]], [ends[k + 1]], domain="f" if op.startswith("f") else "") for k, op in enumerate(called)]
        return helper.make_function("f", name, ["a"], ["b"], nodes, [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)])


class Models(FileTest):
    def test_functions_within_functions_end(self):
        """39 levels of two calls each are 2^39 nodes."""
        every = [self.function("f0", "Neg"), *(self.function(f"f{k}", f"f{k - 1}", f"f{k - 1}") for k in range(1, 40))]
        self.assertIn("more than 20000 nodes", self.read([helper.make_node("f39", ["c"], ["d"], domain="f")], every).reason)
        self.assertIsNotNone(self.read([helper.make_node("f9", ["c"], ["d"], domain="f")], every[:10]).case)

    def test_large_constants_end(self):
        expand = [helper.make_node("Constant", [], ["s"], value_ints=[1 << 24]), *(helper.make_node("Expand", ["c", "s"], ["d"]) for _ in range(30))]
        self.assertIn("more than 20000 nodes", self.read(expand, x=(1,)).reason)

    def test_loops_within_loops_end(self):
        def info(name, kind=T.INT64): return helper.make_tensor_value_info(name, kind, [])

        body = []
        for depth in range(6):
            inner = [helper.make_node("Loop", ["m", ""], [], body=body[-1])] if body else []
            body.append(helper.make_graph(inner, f"body{depth}", [info(f"i{depth}"), info(f"go{depth}", T.BOOL)], [info(f"go{depth}", T.BOOL)]))
        nodes = [helper.make_node("Constant", [], ["m"], value_int=1000), helper.make_node("Loop", ["m", ""], [], body=body[-1]),
                 helper.make_node("Identity", ["c"], ["d"])]
        self.assertIn("more than 20000 nodes", self.read(nodes).reason)

    def test_products_of_constants_end(self):
        nodes = [helper.make_node("Constant", [], ["s"], value_ints=[1 << 13, 1 << 11]), helper.make_node("Expand", ["c", "s"], ["e"]),
                 helper.make_node("Transpose", ["e"], ["t"]), helper.make_node("MatMul", ["e", "t"], ["d"])]
        self.assertIn("a tensor of more than", self.read(nodes).reason)

    def test_scans_stack_along_axes_from_the_end(self):
        body = helper.make_graph([helper.make_node("Identity", ["e"], ["o"])], "body", [helper.make_tensor_value_info("e", T.FLOAT, [4])],
                                 [helper.make_tensor_value_info("o", T.FLOAT, [4])])
        right = numpy.arange(8, dtype="f").reshape(2, 4)
        found, = node_tests.read(node_test("Scan", [right], [right.T.copy()], body=body, num_scan_inputs=1, scan_output_axes=[-1]))
        self.assertTrue(node_tests.judge(found.case, {found.case.outputs[0].name: right.T.copy()}).passed)
        self.assertFalse(node_tests.judge(found.case, {found.case.outputs[0].name: right.reshape(4, 2)}).passed)

    def test_a_case_without_memory_is_a_reason(self):
        def make(): raise MemoryError
        self.assertIn("more memory than this machine has", attempt("here", "text", "label", make).reason)


class Overloads(FileTest):
    def test_overloads_are_functions_of_their_own(self):
        if "overload" not in onnx.FunctionProto.DESCRIPTOR.fields_by_name:
            self.skipTest("this version of onnx has no overloads")
        positive, negative = self.function("f0", "Abs"), self.function("f0", "Neg")
        positive.overload, negative.overload = "positive", "negative"
        node = helper.make_node("f0", ["c"], ["d"], domain="f")
        node.overload = "negative"
        added = self.read([node], [negative, positive]).case.definition["nodes"][-1]
        self.assertEqual((added["f"], added["of"][1]), ("add", "-1"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
