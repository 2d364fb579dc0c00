# SPDX-License-Identifier: Apache-2.0
"""assay.watch around what PyTorch transforms, compiles or branches on: bits stay, nothing right is named, and what is not judged has a
reason. Without PyTorch nothing is tested."""
import importlib.util
import unittest
import warnings

import assay

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
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
        """Compiled regions keep their bits and are counted; products in them are judged."""
        compiled = torch.compile(self.model)
        try:
            compiled(self.x)
        except Exception as error:  # of compilers that are not here
            self.skipTest(f"torch.compile does not work here: {type(error).__name__}")
        with torch.no_grad():
            compiled(self.x)
            w = self.watched(compiled, self.x)
        self.assertEqual(w.unjudged["regions that torch.compile has compiled"], 1, str(w))
        from torch._inductor.output_code import CompiledFxGraph
        self.assertEqual(CompiledFxGraph.__call__.__name__, "__call__")
        for backend in ("eager", "aot_eager"):
            torch._dynamo.reset()
            self.assertGreaterEqual(len(self.watched(torch.compile(self.model, backend=backend), self.x).nodes), 3)


if __name__ == "__main__":
    unittest.main()
