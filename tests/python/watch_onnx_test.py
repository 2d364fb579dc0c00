# SPDX-License-Identifier: Apache-2.0
"""assay.watch_onnx on small models, executed by ONNX Runtime and OpenVINO, right ones and ones with a planted fault."""
import importlib.util
import os
import shlex
import subprocess
import sys
import tempfile
import unittest

import assay
import numpy

HAS_RUNTIME = all(importlib.util.find_spec(name) for name in ("onnx", "onnxruntime"))
if HAS_RUNTIME:
    import onnx
    import onnx_models
    from assay.models._executors import executor_of


def operands_of(make):
    return {"ids": numpy.random.default_rng(0).integers(0, 50, (2, 12))} if make.__name__ == "words" else None


@unittest.skipUnless(HAS_RUNTIME, "onnx or onnxruntime is not here")
class Nodes(unittest.TestCase):
    def test_right(self):
        providers = ["CPUExecutionProvider"] + (["openvino"] if importlib.util.find_spec("openvino") else [])
        for make in onnx_models.MODELS:
            for provider in providers:
                with self.subTest(make=make.__name__, provider=provider):
                    w = assay.watch_onnx(make(), operands_of(make), provider=provider, fused=True)
                    known = ("Erf",) if provider == "openvino" else ()  # has an absolute error: reports/published/frameworks
                    self.assertEqual([str(node) for node in w.failures if node.op not in known], [])
                    self.assertEqual(dict(w.unjudged), {})
                    self.assertGreaterEqual(len(w.nodes), 4)

    def test_each_node_wrong(self):
        """Whichever node is wrong, that one is named, and none behind it."""
        right = executor_of("CPUExecutionProvider")
        for make in onnx_models.MODELS:
            model = make()
            for place, node in enumerate(model.graph.node):
                def execute(part, operands, optimised):
                    made = [numpy.array(one) for one in right(part, operands, optimised)]
                    if not optimised and part.graph.node[0].name == node.name:
                        made[0].reshape(-1)[-1] += 0.05 * abs(made[0]).max()
                    return made
                with self.subTest(make=make.__name__, node=node.name):
                    w = assay.watch_onnx(model, operands_of(make), provider=execute)
                    self.assertEqual([found.index for found in w.failures], [place + 1])
                    self.assertEqual(w.first_wrong.op, node.op_type)

    def test_optimiser_wrong(self):
        """Nodes that are wrong together alone are found, as the smallest group."""
        right = executor_of("CPUExecutionProvider")

        def execute(part, operands, optimised):
            made = [numpy.array(one) for one in right(part, operands, optimised)]
            names = [node.op_type for node in part.graph.node]
            if optimised and any(pair == ("Conv", "BatchNormalization") for pair in zip(names, names[1:])):
                made = [one + 0.05 * abs(one).max() for one in made]
            return made

        w = assay.watch_onnx(onnx_models.images(), provider=execute, fused=True)
        self.assertEqual({node.op for node in w.failures}, {"optimised Conv+BatchNormalization"})
        self.assertEqual({node.index for node in w.failures}, {1, 7})

    def test_folder(self):
        right = executor_of("CPUExecutionProvider")

        def execute(part, operands, optimised):
            made = [numpy.array(one) for one in right(part, operands, optimised)]
            if part.graph.node[0].op_type in ("Softmax", "Erf"):
                made[0] *= 1.001
            return made

        w = assay.watch_onnx(onnx_models.words(), operands_of(onnx_models.words), provider=execute)
        self.assertEqual([node.op for node in w.failures], ["Softmax", "Erf"])
        with tempfile.TemporaryDirectory() as folder:
            w.save(folder)
            with open(os.path.join(folder, "report.html"), encoding="utf-8") as file:
                self.assertIn("Softmax", file.read())
            for node in w.failures if "ASSAY_PROGRAM" in os.environ else []:
                case = os.path.join(folder, f"node{node.index}")
                with open(os.path.join(case, "command.txt"), encoding="utf-8") as file:
                    words = shlex.split(file.read())
                ended = subprocess.run([os.environ["ASSAY_PROGRAM"], *words[1:]], cwd=case, capture_output=True, text=True, check=False)
                self.assertEqual(ended.returncode, 1, ended.stderr)

    def test_bad_input(self):
        with self.assertRaisesRegex(assay.UsageError, "is no model"):
            assay.watch_onnx("/nonexistent.onnx")
        with self.assertRaisesRegex(assay.UsageError, "no array for the input ids; the model has ids"):
            assay.watch_onnx(onnx_models.words(), {})
        with self.assertRaisesRegex(assay.UsageError, "there is no provider Nowhere; there are .*CPUExecutionProvider"):
            assay.watch_onnx(onnx_models.words(), provider="Nowhere")
        open_model = onnx_models.images()
        open_model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
        for extent, said in (("batch", "batchx3x16x16"), (0, "0x3x16x16")):
            axis = open_model.graph.input[0].type.tensor_type.shape.dim[0]
            axis.Clear()
            setattr(axis, "dim_param" if extent else "dim_value", extent)
            with self.assertRaisesRegex(assay.UsageError, f"extents {said} of its input x.*--inputs FILE.npz.*update_model_dims"):
                assay.watch_onnx(open_model)

    def test_arrays_that_do_not_fit(self):
        """Refused as usage, whichever of the model, its nodes and the runtime says that they do not fit."""
        def model(*extents):
            made = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"]), onnx.helper.make_node("Add", ["y", "z"], ["s"])]
            values = [onnx.helper.make_tensor_value_info(name, 1, shape) for name, shape in zip("xzs", (extents, [extents[0], 4], None))]
            return onnx.helper.make_model(onnx.helper.make_graph(made, "g", values[:2], values[2:], [onnx.numpy_helper.from_array(
                numpy.ones((32, 4), "f4"), "w")]), opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)

        x, z = numpy.ones((8, 32), "f4"), numpy.ones((8, 4), "f4")
        self.assertTrue(assay.watch_onnx(model("n", "k"), {"x": x, "z": z}))
        for given, said in (({"x": x, "z": z, "more": z}, "an array for more, which is no input of the model; the model has x, z"),
                            ({"x": x, "z": z, "w": z}, "an array for w, which is no input"),
                            ({"x": numpy.ones((9, 32), "f4"), "z": z}, "x has the extents 9x32; the model states 8x32"),
                            ({"x": x[0], "z": z}, "x has the extents 32; the model states 8x32"),
                            ({"x": x.astype("f8"), "z": z}, "x has dtype float64; the model states float"),
                            ({"x": x.tolist(), "z": z}, "x is list .*give an array of NumPy")):
            with self.assertRaisesRegex(assay.UsageError, said):
                assay.watch_onnx(model(8, 32), given)
        with self.assertRaisesRegex(assay.UsageError, "z has 9 for the extent n, and that for x has 8"):
            assay.watch_onnx(model("n", "k"), {"x": x, "z": numpy.ones((9, 4), "f4")})
        with self.assertRaisesRegex(assay.UsageError, "do not fit the model's nodes: .*MatMul.*extents"):
            assay.watch_onnx(model("n", "k"), {"x": x[:, :31], "z": z})

    def test_interrupt(self):
        """Nodes that were judged until then come with the interrupt."""
        right, calls = executor_of("CPUExecutionProvider"), iter(range(100))

        def execute(*given):
            if next(calls) == 4:
                raise KeyboardInterrupt
            return right(*given)

        with self.assertRaises(KeyboardInterrupt) as raised:
            assay.watch_onnx(onnx_models.images(), provider=execute)
        self.assertEqual([node.index for node in raised.exception.watch.nodes], [1, 2, 3, 4])

    def test_weights_as_nodes(self):
        model = onnx_models.images()
        weights = [onnx.helper.make_node("Constant", [], [one.name], one.name, value=one) for one in model.graph.initializer]
        nodes = list(model.graph.node)
        del model.graph.initializer[:], model.graph.node[:]
        model.graph.node.extend(weights + nodes)
        w = assay.watch_onnx(model)
        self.assertTrue(w, str(w))
        self.assertEqual((len(w.nodes), w.unjudged), (len(nodes), {"new tensors": len(weights)}))

    @staticmethod
    def chain(nodes, given, made, kind):
        shown = [onnx.helper.make_tensor_value_info(name, kind, [3]) for name in (given, made)]
        graph = onnx.helper.make_graph(nodes, "g", shown[:1], shown[1:])
        return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)

    def test_constant_of_several_groups(self):
        """It is no result of the group that it is computed in."""
        node = onnx.helper.make_node
        nodes = [node("Neg", ["x"], ["h0"], "n0"), node("Constant", [], ["c"], "c", value=onnx.numpy_helper.from_array(numpy.ones(3, "f"), "c")),
                 *(node("Add", [f"h{k}", "c"], [f"h{k + 1}"], f"n{k + 1}") for k in range(12))]
        w = assay.watch_onnx(self.chain(nodes, "x", "h12", onnx.TensorProto.FLOAT), fused=True)
        self.assertTrue(w, str(w))
        self.assertEqual(len(w.nodes), 13)

    def test_optimiser_wrong_about_integers(self):
        right, node = executor_of("CPUExecutionProvider"), onnx.helper.make_node
        model = self.chain([node("Add", ["x", "x"], ["h"], "a"), node("Mul", ["h", "x"], ["y"], "m")], "x", "y", onnx.TensorProto.INT64)

        def execute(part, operands, optimised):
            return [one + (optimised and len(part.graph.node) > 1) for one in right(part, operands, optimised)]

        w = assay.watch_onnx(model, {"x": numpy.arange(3)}, provider=execute, fused=True)
        self.assertEqual([found.op for found in w.failures], ["optimised Add+Mul"])

    def test_memory(self):
        """Values that no node takes any more are let go, and weights of other nodes are not copied."""
        right, held = executor_of("CPUExecutionProvider"), []
        walks = []
        original = assay.models.onnx_model._Walk.each

        def each(walk):
            walks.append(walk)
            original(walk)

        def execute(part, operands, optimised):
            held.append(len(walks[0].values))
            self.assertLessEqual({one.name for one in part.graph.initializer}, {name for node in part.graph.node for name in node.input})
            self.assertEqual(part.opset_import[0].version, 17)
            return right(part, operands, optimised)

        assay.models.onnx_model._Walk.each = each
        try:
            self.assertTrue(assay.watch_onnx(onnx_models.images(), provider=execute))
        finally:
            assay.models.onnx_model._Walk.each = original
        self.assertLessEqual(max(held), 2)

    def test_branches(self):
        """A body of an If takes values of the graph around it."""
        helper, kind = onnx.helper, onnx.TensorProto.FLOAT
        value = lambda name, shape: helper.make_tensor_value_info(name, kind, shape)  # noqa: E731
        bodies = [helper.make_graph([helper.make_node(op, ["h"], [f"y{op}"])], op, [], [value(f"y{op}", [3])]) for op in ("Exp", "Tanh")]
        nodes = [helper.make_node("Neg", ["x"], ["h"], "neg"), helper.make_node("If", ["c"], ["y"], "if", then_branch=bodies[0], else_branch=bodies[1])]
        graph = helper.make_graph(nodes, "g", [value("x", [3]), helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, [])], [value("y", [3])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        w = assay.watch_onnx(model, {"x": numpy.ones(3, "f"), "c": numpy.array(True)})
        self.assertEqual(([node.op for node in w.nodes], dict(w.unjudged)), (["Neg", "If"], {}))
        self.assertTrue(w)



@unittest.skipUnless(HAS_RUNTIME and os.environ.get("ASSAY_PROGRAM"), "onnx, onnxruntime or the program is not here")
class Verb(unittest.TestCase):
    """assay model"""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.model = os.path.join(self.folder, "words.onnx")
        onnx.save(onnx_models.words(), self.model)
        self.inputs = os.path.join(self.folder, "x.npz")
        numpy.savez(self.inputs, **operands_of(onnx_models.words))

    def model_verb(self, code, *words):
        environment = {**os.environ, "ASSAY_PYTHON": sys.executable}
        ended = subprocess.run([os.environ["ASSAY_PROGRAM"], "model", *words], capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
        return ended.stdout if code < 2 else ended.stderr

    def test_right(self):
        out = os.path.join(self.folder, "out")
        said = self.model_verb(0, self.model, "--inputs", self.inputs, "--fused", "--out", out)
        self.assertRegex(said, r"CPUExecutionProvider: \d+ of \d+ calls judged")
        self.assertTrue(os.path.exists(os.path.join(out, "report.html")))

    def test_interrupt(self):
        """Whatever was judged until an interrupt is printed and written."""
        out = os.path.join(self.folder, "out")
        settings = {"file": self.model, "inputs": self.inputs, "provider": "CPUExecutionProvider", "contract": "", "out": out, "sample": 4096, "seed": 0,
                    "fused": False}
        script = f"import os, signal, assay\nfrom assay.models import _model_verb, watch\nadd = watch.Watch.add\n" \
            f"def ended(self, node):\n    add(self, node)\n    len(self._nodes) == 3 and os.kill(os.getpid(), signal.SIGINT)\n" \
            f"watch.Watch.add = ended\nraise SystemExit(_model_verb.main({settings!r}))"
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 130, ended.stderr)
        self.assertRegex(ended.stdout, r"CPUExecutionProvider: 3 of \d+ calls judged")
        self.assertIn("interrupted; the table above has the 3 results", ended.stderr)
        self.assertTrue(os.path.getsize(os.path.join(out, "nodes.json")) > 100)

    def test_wrong(self):
        """A model in f32 is not what arithmetic in f64 makes."""
        self.assertRegex(self.model_verb(1, self.model, "--inputs", self.inputs, "--contract", "acc=f64"), r"first wrong result: node \d+")

    def test_refused(self):
        missing, one = (os.path.join(self.folder, name) for name in ("none", "one.npy"))
        numpy.save(one, numpy.zeros(3, "f"))
        for words, text in (((missing + ".onnx",), "is no model"), ((self.model, "--inputs", missing), "--inputs .* cannot be read"),
                            ((self.model, "--inputs", one), "cannot be read: it holds one array without a name"),
                            ((self.model, "--provider", "Abacus"), "there is no provider Abacus"), ((self.model, "--provider", ","), "names no runtime"),
                            ((self.model, "--contract", "bf17"), "contract: 'bf17'"), ((self.model, "--sample", "0"), "--sample")):
            with self.subTest(words=words):
                self.assertRegex(self.model_verb(2, *words), text)


if __name__ == "__main__":
    unittest.main()
