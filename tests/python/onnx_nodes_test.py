# SPDX-License-Identifier: Apache-2.0
"""assay import onnx --as suite: the nodes of a model, counted: onnx_nodes_test.py [CLASS]."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

HAS_ONNX = importlib.util.find_spec("onnx") is not None
if HAS_ONNX:
    import numpy
    import onnx
    import onnx_models
    from assay.importers._cases import Unusable
    from assay.importers.onnx import read
    from onnx import TensorProto, helper


@unittest.skipUnless(HAS_ONNX, "onnx is not here")
class OnnxNodes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def save(self, model):
        path = os.path.join(self.folder.name, "model.onnx")
        onnx.save(model, path)
        return path

    def of_nodes(self, nodes, shape, constants=()):
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)], constants)
        return self.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))

    def test_equal_nodes_are_counted(self):
        for make in onnx_models.MODELS:
            model = make()
            found = list(read(self.save(model), False, True))
            self.assertEqual([one.reason for one in found], [""] * len(found))
            counts = [int(one.label.removeprefix("calls-")) for one in found]
            self.assertEqual(sum(counts), sum(node.op_type != "Constant" for node in model.graph.node))
            self.assertEqual(counts, sorted(counts, reverse=True))
        calls = {one.label: one.case for one in read(self.save(onnx_models.words()), False, True) if one.case.op == "matmul"}
        self.assertEqual({key: calls["calls-4"].attrs[key] for key in "mnk"}, {"m": 24, "n": 32, "k": 32})

    def test_places_of_zero(self):
        """A constant of zeros says where elements go, as any other does."""
        ends = [onnx.numpy_helper.from_array(numpy.array([place]), f"at{place}") for place in range(7)]
        nodes = [helper.make_node("Slice", ["x", f"at{begin}", f"at{begin + 5}", "at1"], [f"y{begin}{copy}"]) for begin, copy in ((0, 0), (0, 1), (1, 0))]
        path = self.of_nodes(nodes, [4, 16], ends)
        found = list(read(path, False, True))
        self.assertEqual([(one.reason, one.label) for one in found], [("", "calls-2"), ("", "calls-1")])
        self.assertEqual([one.case.definition["nodes"][0]["places"] for one in found], [list(range(5)), list(range(1, 6))])

    def test_refused(self):
        relu = helper.make_node("Relu", ["x"], ["y"])
        found, = read(self.of_nodes([relu], ["n", 3]), False, True)
        self.assertIn("Relu: values without a fixed shape", found.reason)
        body = helper.make_graph([helper.make_node("Identity", ["x"], ["z"])], "b", [], [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2])])
        branch = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
        found, = (one for one in read(self.of_nodes([helper.make_node("IsInf", ["x"], ["c"]), branch], [2]), False, True) if "If" in one.text)
        self.assertEqual(found.reason, "If: bodies of loops and branches")
        with self.assertRaisesRegex(Unusable, "takes the nodes of models"):
            list(read(self.folder.name, False, True))
        with open(os.path.join(self.folder.name, "x.onnx"), "w", encoding="utf-8") as file:
            file.write("no model")
        with self.assertRaisesRegex(Unusable, "no model whose shapes"):
            list(read(file.name, False, True))

    @unittest.skipUnless(os.environ.get("ASSAY_PROGRAM"), "ASSAY_PROGRAM names no program")
    def test_a_run_is_weighted_by_calls(self):
        def assay(*words):
            return subprocess.run([os.environ["ASSAY_PROGRAM"], *words], cwd=self.folder.name, capture_output=True, text=True, check=False)

        self.save(onnx_models.words())
        done = assay("import", "onnx", "model.onnx", "--as", "suite", "--python", sys.executable)
        self.assertEqual(done.returncode, 0, done.stderr)
        nodes = sum(node.op_type != "Constant" for node in onnx_models.words().graph.node)
        for words in ((), ("--verbose",)):  # equal nodes are counted as often as the model has them
            done = assay("import", "onnx", "model.onnx", "--as", "suite", "--python", sys.executable, *words)
            self.assertIn(f"{nodes} mapped, which are ", done.stdout)
        with open(os.path.join(self.folder.name, "model.suite"), encoding="utf-8") as file:
            self.assertIn("tag calls-4\nmatmul dtypes=f32 m=24 n=32 k=32\n", file.read())
        done = assay("run", "--operators", "model.json", "--suite", "model.suite", "--backend", "cpu", "--op", "matmul", "--progress", "none", "--out", "r")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("weighted by calls, cpu 100 % pass", done.stdout)
        for words, said in ((("ggml", "x", "--as", "suite"), "only models of onnx"), (("onnx", "model.onnx"), "--out is missing"),
                            (("onnx", "model.onnx", "--as", "suite", "-o", "folder"), "another ending than .suite")):
            done = assay("import", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
