# SPDX-License-Identifier: Apache-2.0
"""assay.watch around what PyTorch transforms, compiles or branches on: bits stay, nothing right is named, and what is not judged has a
reason. Without PyTorch nothing is tested."""
import importlib.util
import unittest
import unittest.mock
import warnings

import assay

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    from assay.models._calls import Call
    from torch.utils.checkpoint import checkpoint


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Modes(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))
        self.x = torch.randn(3, 8)

    def watched(self, function, *given):
        """The watch of a second call, whose bits are those of the first."""
        plain = function(*given)
        with assay.watch() as w:
            made = function(*given)
        for one, other in zip(*map(torch.utils._pytree.tree_leaves, (plain, made))):
            self.assertTrue(torch.equal(one, other))
        self.assertEqual(w.failures, [], str(w))
        self.assertEqual(w.calls, len({node.index for node in w.nodes}) + sum(w.unjudged.values()), str(w))
        return w

    def test_transforms(self):
        func, x = torch.func, self.x
        parameters = {name: p.detach() for name, p in self.model.named_parameters()}
        for least, function in ((3, lambda x: torch.vmap(lambda row: torch.tanh(row) * row.sum())(x)),
                                (5, func.grad(lambda x: (x.exp() * x).sum())),
                                (1, lambda x: func.jvp(torch.sin, (x,), (torch.ones_like(x),))),
                                (3, func.jacrev(lambda x: (x * x).sum(-1))),
                                (5, lambda x: func.hessian(lambda x: (x ** 3).sum())(x[0])),
                                (3, torch.vmap(func.grad(lambda x: torch.nn.functional.gelu(x).sum()))),
                                (3, lambda x: func.functional_call(self.model, parameters, (x,)))):
            self.assertGreaterEqual(len(self.watched(function, x).nodes), least)

    def test_control_flow(self):
        def halved(x):
            while x.abs().max() > 0.1:
                x = x / 2
            return x

        def chosen(x):
            return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

        self.assertGreaterEqual(len(self.watched(halved, self.x).nodes), 6)
        self.assertIn("functions of functions, and what they call", self.watched(chosen, self.x).unjudged)
        self.assertGreaterEqual(len(self.watched(lambda x: checkpoint(self.model, x, use_reentrant=False), self.x).nodes), 3)

    def test_modes(self):
        with torch.autocast("cpu", torch.bfloat16):
            self.assertIn("bfloat16", {node.dtype for node in self.watched(self.model, self.x).nodes})
        with torch.inference_mode():
            self.assertTrue(self.watched(self.model, self.x).nodes)
        with torch.no_grad():
            self.assertTrue(self.watched(self.model, self.x).nodes)

    def test_kinds_of_tensors(self):
        for function, reason in ((lambda x: (torch.complex(x, x) * 2).abs(), "complex"), (lambda x: (x.to_sparse() * 2).to_dense(), "sparse"),
                                 (lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize(), "quantize")):
            w = self.watched(function, self.x)
            self.assertTrue(any(reason in each for each in w.unjudged), w.unjudged)

    def test_compiled(self):
        """Compiled regions keep their bits and are judged by their graphs; products in them are judged by themselves."""
        compiled = torch.compile(self.model)
        try:
            compiled(self.x)
        except Exception as error:  # of compilers that are not here
            self.skipTest(f"torch.compile does not work here: {type(error).__name__}")
        with torch.no_grad():
            compiled(self.x)
            w = self.watched(compiled, self.x)
        from torch._inductor.output_code import CompiledFxGraph
        self.assertEqual(CompiledFxGraph.__call__.__name__, "__call__")
        if "inductor_post_grad_graph_str" not in CompiledFxGraph.__dataclass_fields__:
            self.assertEqual(w.unjudged["compiled regions of which this PyTorch keeps no graph"], 1, str(w))
            return
        self.assertEqual([(node.op, node.verdict, node.shape) for node in w.nodes if "region" in node.op], [("torch.compile::region", "pass", (3, 4))], str(w))
        self.planted_region(compiled, CompiledFxGraph)
        w = self.watched_training(torch.compile(torch.nn.Sequential(self.model, torch.nn.LayerNorm(4), torch.nn.Softmax(-1))))
        self.assertEqual(len({node.index for node in w.nodes if "region" in node.op}), 2, str(w))  # forward and backward
        for kind, reason in ((torch.nn.Conv2d(3, 4, 3), "aten::convolution"), (torch.nn.Softmax(-1).bfloat16(), "torch.bfloat16")):
            function, x = torch.compile(kind), torch.randn(3, 3, 8, 8).to(next(iter([p.dtype for p in kind.parameters()]), torch.bfloat16))
            with torch.no_grad():
                function(x)
                self.assertRegex(" ".join(self.watched(function, x).unjudged), reason)
        for backend in ("eager", "aot_eager"):
            torch._dynamo.reset()
            self.assertGreaterEqual(len(self.watched(torch.compile(self.model, backend=backend), self.x).nodes), 3)


    def planted_region(self, compiled, kind):
        """One element of a region's result is off."""
        call = kind.__call__

        def off(graph, given):
            made = call(graph, given)
            made[0][1, 2] += 1e-3
            return made

        with torch.no_grad(), unittest.mock.patch.object(kind, "__call__", off), assay.watch() as w:
            compiled(self.x)
        self.assertEqual([(node.op, node.question is not None) for node in w.failures], [("torch.compile::region", True)], str(w))
        self.assertIn("[1,2]", w.first_wrong.reason)

    def watched_training(self, model):
        def step():
            model.zero_grad()
            made = model(self.x)
            (made * torch.arange(4.0)).square().sum().backward()
            return [made, *(p.grad.clone() for p in model.parameters())]
        step()
        return self.watched(step)

    def test_steps_of_regions(self):
        """Sums have all terms of what was expanded, other libraries' functions are not taken for ATen's of one name, and a step that is
        not known ends no program."""
        try:
            from torch._inductor.output_code import CompiledFxGraph
            torch.compile(torch.sin)(self.x)
        except Exception as error:
            self.skipTest(f"torch.compile does not work here: {error}")
        if "inductor_post_grad_graph_str" not in CompiledFxGraph.__dataclass_fields__:
            self.skipTest("this PyTorch keeps no graph of compiled regions")

        @torch.library.custom_op("assay_test::relu", mutates_args=())
        def leaky(x: torch.Tensor) -> torch.Tensor:
            return torch.where(x > 0, x, x / 8)
        leaky.register_fake(torch.empty_like)
        x = torch.randn(1, 8)
        for function, verdict, unjudged in ((lambda x: x.exp().expand(4, 8).sum(0), "pass", "^$"), (lambda x: x.expand(4, 8).reshape(-1) * 2, "pass", "^$"),
                                            (lambda x: torch.ops.assay_test.relu(x * 2) + 1, None, "with assay_test::relu"),
                                            (lambda x: torch.div(x, 0.7, rounding_mode="floor"), None, "rounding_mode")):
            with self.subTest(verdict=verdict, unjudged=unjudged), torch.no_grad():
                torch._dynamo.reset()
                compiled = torch.compile(function)
                compiled(x)
                w = self.watched(compiled, x)
                self.assertEqual([node.verdict for node in w.nodes if "region" in node.op], [verdict] if verdict else [], str(w))
                self.assertRegex(" ".join(w.unjudged), unjudged)

    def test_marks(self):
        """A profiler's marks are no calls."""
        def marked(x):
            with torch.profiler.record_function("part"):
                return x.exp()
        self.assertEqual([node.op for node in self.watched(marked, self.x).nodes], ["aten::exp"])

    def test_products_of_beginnings(self):
        for x in (self.x, self.x.half(), (self.x * 2).long(), torch.tensor(3.0)):
            self.assertEqual([node.op for node in self.watched(lambda x: x.cumprod(0), x).nodes], ["aten::cumprod"])

    def test_norm_in_16_bits(self):
        """Gradients of a small norm all in bf16 or f16 are judged: as they are in f64, and not with one element off."""
        for dtype in (torch.bfloat16, torch.float16):
            dy, x, weight = torch.randn(4, 32, dtype=dtype), torch.randn(4, 32, dtype=dtype), torch.randn(32, dtype=dtype)
            mean, scale = torch.ops.aten.native_layer_norm(x, [32], None, None, 1e-5)[1:]
            function, given = torch.ops.aten.native_layer_norm_backward.default, (dy, x, [32], mean.to(dtype), scale.to(dtype), weight, weight, [True] * 3)
            wide = function(*(each.double() if isinstance(each, torch.Tensor) else each for each in given))
            for off, verdict in ((0, "pass"), (1, "mismatch")):
                made = tuple(each.to(dtype) for each in wide)
                made[1][5] += off
                nodes = [assay.watch().judged(question) for question in Call(function, given, {}).answers(made)]
                self.assertEqual([node.verdict for node in nodes], [verdict])


if __name__ == "__main__":
    unittest.main()
