# SPDX-License-Identifier: Apache-2.0
"""Proofs in f64 that assay.watch makes find what the whole judgement finds. Without PyTorch nothing is tested."""
import importlib.util
import itertools
import unittest

import assay

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    from assay.models import _layer_proofs, _proofs  # noqa: F401  (it adds proofs)
    from assay.models._calls import Call
    from planted_changes import Changed


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Proofs(unittest.TestCase):
    def sums(self):
        aten, draw = torch.ops.aten, torch.randn
        for n in (2, 3, 4, 5, 64, 1000):
            yield aten.sum.dim_IntList, (draw(6, n), [1]), lambda x, dim: (x.sum(1), x.abs().sum(1))
            yield aten.sum.default, (draw(n),), lambda x: (x.sum(), x.abs().sum())
            yield aten.mean.dim, (draw(n, 6), [0]), lambda x, dim: (x.mean(0), x.abs().mean(0))
            yield aten.mm.default, (draw(3, n), draw(n, 5)), lambda a, b: (a @ b, a.abs() @ b.abs())
            yield aten.bmm.default, (draw(2, 3, n), draw(2, n, 5)), lambda a, b: (a @ b, a.abs() @ b.abs())
            yield aten.addmm.default, (draw(5), draw(3, n), draw(n, 5)), lambda c, a, b: (c + a @ b, c.abs() + a.abs() @ b.abs())

    @staticmethod
    def is_proven(call, y):
        return _proofs.prove(_proofs.proof_of(call), call, [y]) is not None

    def test_sums_at_the_edge(self):
        """Just within a proof the whole judgement passes, too; just outside of it there is none."""
        for function, given, values in self.sums():
            call = Call(function, given, {})
            golden, size = values(*(x.double() if isinstance(x, torch.Tensor) else x for x in given))
            n = given[1].shape[-2] if function.__name__[:2] in ("mm", "bm") else given[2].shape[0] if len(given) == 3 else golden.numel()
            n = {"sum": given[0].numel() // golden.numel(), "mea": given[0].shape[0]}.get(function.__name__[:3], n)
            for share, sign in itertools.product((0.7, 1.3), (-1, 1)):
                y = (golden + sign * share * _proofs._SHARE * size).float()
                self.assertTrue(self.is_proven(call, y) == (share < 1) or n < 10, (function, share, n))
                if self.is_proven(call, y):
                    nodes = [assay.watch().judged(question) for question in call.answers(y)]
                    self.assertEqual([node.verdict for node in nodes], ["pass"], (function, nodes))

    def test_others_have_none(self):
        """Results of other types."""
        for given in ((torch.randn(4, 8).double(), [1]), (torch.randn(4, 8).half(), [1])):
            call = Call(torch.ops.aten.sum.dim_IntList, given, {})
            self.assertFalse(self.is_proven(call, given[0].sum(1)))

    def test_functions_at_the_edge(self):
        x = torch.rand(256) * 8 + 0.01
        calls = [(Call(getattr(torch.ops.aten, name).default, (x,), {}), getattr(torch, name)(x.double()))
                 for name in ("exp", "log", "sin", "cos", "tanh", "rsqrt")]
        calls += [(Call(torch.ops.aten.pow.Tensor_Scalar, (x, power), {}), x.double() ** power) for power in (2, 3, -0.5)]
        for call, golden in calls:
            for share in (-0.9, 0.9, 3.5):
                y = (golden * (1 + share * _proofs._U)).float()
                self.assertEqual(self.is_proven(call, y), share < 2, call.name)
                if share < 2:
                    self.assertEqual([assay.watch().judged(question).verdict for question in call.answers(y)], ["pass"], call.name)

    def test_infinite(self):
        """A value that is infinite in f64, or whose terms are in f32, proves no result but itself."""
        aten, large, x = torch.ops.aten, torch.full((4, 8), 1e20), torch.tensor([[1.0, 2.0], [float("inf"), 3.0]])
        for function, given, wrong in ((aten.log.default, (x - 1,), 0.0), (aten.exp.default, (x * 800,), 3.0), (aten.rsqrt.default, (x - 1,), 3e38),
                                       (aten.sum.dim_IntList, (x, [1]), 0.0), (aten.mm.default, (large, large.T), 0.0),
                                       (aten.addmm.default, (x[1, 1], large, large.T), -1.0)):
            call, y = Call(function, given, {}), function(*given)
            infinite = y.isinf()
            self.assertTrue(infinite.any(), function)
            for value in (wrong, float("nan"), -float("inf")):
                off = torch.where(infinite & (y != value), value, y)
                self.assertTrue(torch.equal(off, y) or not self.is_proven(call, off), (function, value))

    def test_exact(self):
        x, y = torch.randn(64), torch.randn(64)
        x[:3], y[:3] = torch.tensor([float("inf"), -0.0, 1e-40]), torch.tensor([2.0, 0.0, 1e-3])
        aten = torch.ops.aten
        for function, given in ((aten.mul.Tensor, (x, y)), (aten.add.Tensor, (x, y)), (aten.sub.Tensor, (x, 3)), (aten.div.Tensor, (x, y + 4)),
                                (aten.neg.default, (x,)), (aten.abs.default, (x,)), (aten.threshold_backward.default, (y, x, 0)),
                                (aten.clone.default, (x,)),
                                (aten._unsafe_view.default, (x, [8, 8])), (aten.select_backward.default, (x, [64, 3], 1, 2))):
            call, made = Call(function, given, {}), function(*given)
            self.assertTrue(self.is_proven(call, made), function)
            for place in (2, made.numel() - 1):
                off = made.clone()
                off.view(-1)[place] = torch.nextafter(off.view(-1)[place], torch.tensor(9.0))
                self.assertFalse(self.is_proven(call, off), function)

    def test_later_calls(self):
        """Calls that a proof decides are found where they are wrong."""
        a, b = torch.randn(16, 64), torch.randn(64, 32)

        def off(y):
            y[3, 7] += 0.001

        with Changed("mm", off, first=2), assay.watch() as w:
            for _ in range(4):
                a @ b
        self.assertEqual([node.failed for node in w.nodes], [False, False, True, True], str(w))
        self.assertIsNotNone(w.nodes[0].effective_bits)

    def test_weaker_arithmetic(self):
        """Operands in tf32 or bf16 are beyond what a proof takes, and are named."""
        a, b = torch.randn(16, 64), torch.randn(64, 32)

        def narrowed(y):
            y.copy_((a.bfloat16() @ b.bfloat16()).float())

        with Changed("mm", narrowed, first=1), assay.watch() as w:
            a @ b, a @ b
        self.assertEqual([node.failed for node in w.nodes], [False, True], str(w))


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Layers(unittest.TestCase):
    """Proofs of layers beside the whole judgement."""

    def convolutions(self):
        aten, draw = torch.ops.aten, torch.randn
        for x, w, stride, pad, dilation, groups in (((2, 16, 12, 12), (24, 16, 3, 3), 1, 1, 1, 1), ((2, 16, 13, 12), (24, 16, 3, 3), 2, 1, 1, 1),
                                                    ((2, 12, 16), (12, 1, 4), 1, 3, 1, 12), ((2, 8, 12, 12), (6, 4, 2, 3), 2, 0, 2, 2)):
            last = [stride], [pad], [dilation], False, [0], groups
            x, w = draw(x), draw(w)
            y = aten.convolution(x, w, None, *last)
            yield aten.convolution, (x, w, draw(w.shape[0]), *last)
            yield aten.convolution_backward, (draw(y.shape), x, w, [w.shape[0]], *last, [True] * 3)
            yield aten.convolution_backward, (draw(y.shape), x, w, None, *last, [True, False, False])

    def norms(self):
        aten, draw = torch.ops.aten, torch.randn
        for middle, size in ((0, 1), (2, 1), (0.1, 1e-1)):
            x = draw(4, 8, 6, 6) * size + middle
            yield aten.native_batch_norm, (x, draw(8), draw(8), torch.zeros(8), torch.ones(8), True, 0.1, 1e-5)
            mean, scale = x.mean((0, 2, 3)), 1 / (x.var((0, 2, 3), unbiased=False) + 1e-5).sqrt()
            yield aten.native_batch_norm_backward, (draw(x.shape), x, draw(8), torch.zeros(8), torch.ones(8), mean, scale, True, 1e-5, [True] * 3)
            for n in (32, 64, 512):
                x = draw(40, n) * size + middle
                yield aten.native_layer_norm, (x, [n], draw(n), draw(n), 1e-5)
                _, mean, scale = aten.native_layer_norm(x, [n], None, None, 1e-5)
                yield aten.native_layer_norm_backward, (draw(x.shape), x, [n], mean, scale, draw(n), draw(n), [True] * 3)

    def others(self):
        aten, draw = torch.ops.aten, torch.randn
        for causal, (length, size) in itertools.product((False, True), ((24, 32), (32, 64), (9, 16))):
            q, k, v = draw(3, 1, 2, length, size) / 2
            yield aten._scaled_dot_product_flash_attention_for_cpu, (q, k, v, 0.0, causal)
            yield aten._scaled_dot_product_flash_attention_for_cpu_backward, \
                (draw(q.shape), q, k, v, *aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal), 0.0, causal)
        for size in (0.01, 1):
            x, g = draw(999) * size, draw(999)
            for function in (aten.silu, aten.gelu, aten.softplus):
                yield function, (x,)
            for function, more in ((aten.silu_backward, ()), (aten.softplus_backward, (1, 20))):
                yield function, (g, x, *more)
            yield aten.sigmoid_backward, (g, x.sigmoid())
            yield aten.tanh_backward, (g, x.tanh())
        yield aten.embedding_dense_backward, (draw(40, 8), torch.randint(0, 6, (40,)), 7, -1, False)
        y, places = aten.max_pool2d_with_indices(draw(2, 3, 12, 12), [3, 3], [2, 2], [1, 1])
        yield aten.max_pool2d_with_indices_backward, (draw(y.shape), draw(2, 3, 12, 12), [3, 3], [2, 2], [1, 1], [1, 1], False, places)

    def small_norms(self):
        aten, draw = torch.ops.aten, torch.randn
        for rows, n in ((4, 16), (24, 32)):
            x = draw(rows, n)
            _, mean, scale = aten.native_layer_norm(x, [n], None, None, 1e-5)
            for mask in ([True] * 3, [False, True, True], [True, False, False]):
                yield aten.native_layer_norm_backward, (draw(x.shape), x, [n], mean, scale, draw(n), draw(n), mask)
            yield aten.native_layer_norm_backward, (draw(x.shape), x, [n], mean, scale, None, None, [True, False, False])

    def at(self, call, made, share, is_single=False):
        """Outputs that are so many allowances away from the values in f64, or of each the element alone that has the largest one."""
        proof = _proofs.proof_of(call)
        arrays = {name: _proofs._array(name, value, torch.float32) for name, value in _proofs.accepted(
            call.base, proof.function, call.arguments, call.arguments.defaults).items()}
        outputs = list(call.outputs(made))
        for place, found in zip([place for group in proof.groups for place in group], proof.function(**arrays)):
            if outputs[place] is not None:
                golden, allowed = map(torch.from_numpy, found)
                allowed = torch.where(allowed == allowed.max(), allowed, 0) if is_single else allowed
                outputs[place] = (golden + share * allowed).float()
        return tuple(outputs) if isinstance(made, (tuple, list)) else outputs[0]

    def test_layers(self):
        """PyTorch's results are proven. Results at the edge of a proof are proven and pass the whole judgement by what is left of the bound;
        one element beyond it is not proven."""
        torch.manual_seed(0)
        for function, given in itertools.chain(self.convolutions(), self.norms(), self.others(), self.small_norms()):
            with self.subTest(function=str(function), shape=tuple(given[0].shape)):
                call, made = Call(function.default, given, {}), function(*given)
                proof = _proofs.proof_of(call)
                is_near = function is torch.ops.aten.gelu  # whose own error is sometimes more than that
                self.assertTrue(is_near or _proofs.prove(proof, call, call.outputs(made)) is not None)
                y = self.at(call, made, 0.95)
                self.assertIsNotNone(_proofs.prove(proof, call, call.outputs(y)))
                for question in call.answers(y):
                    node = assay.watch(sample=None).judged(question)
                    self.assertEqual(node.verdict, "pass", node)
                    self.assertLess(node.margin, 0.7)
                self.assertIsNone(_proofs.prove(proof, call, call.outputs(self.at(call, made, 9.0, True))))

    def test_nodes(self):
        """A proven call has as many nodes as a judged one, and is found where it is wrong."""
        conv, x = torch.nn.Conv2d(4, 8, 3), torch.randn(2, 4, 9, 9, requires_grad=True)

        def off(made):
            made[1][3, 2, 1, 0] += 0.01

        with Changed("convolution_backward", off, first=2), assay.watch() as w:
            for _ in range(3):
                conv(x).square().sum().backward()
        nodes = [node for node in w.nodes if node.op == "aten::convolution_backward"]
        self.assertEqual([node.failed for node in nodes], [False] * 6 + [False, True, False], str(w))
        self.assertEqual([node.elements for node in nodes], [648, 288, 8] * 3)
        self.assertEqual([node.judged for node in nodes[3:6]], [648, 288, 8])

    def test_statistics(self):
        """The gradient of a batch_norm is right by wrong statistics: these are judged where they are made, in a proof as well."""
        norm, x = torch.nn.BatchNorm2d(4), torch.randn(2, 4, 5, 5)

        def off(made):
            made[2][1] *= 1.001

        for first, failed in ((0, [False, True, False] * 2), (1, [False] * 4 + [True, False])):
            with Changed("native_batch_norm", off, first=first), assay.watch() as w:
                norm(x), norm(x)
            nodes = [node for node in w.nodes if node.op == "aten::native_batch_norm"]
            self.assertEqual(([node.failed for node in nodes], [node.elements for node in nodes]), (failed, [200, 8, 8] * 2), str(w))

    def test_bounds_of_another_shape(self):
        """They are those of the same columns in all rows, also where rows are compared one after the other."""
        import numpy
        golden, bounds = numpy.ones((3, 9000)), numpy.full(9000, 1e-6)
        bounds[0], made = 10, numpy.ones((3, 9000), "f4")
        self.assertTrue(_proofs.is_allowed(made, golden, bounds))
        made[0, 7] = 1.5
        self.assertFalse(_proofs.is_allowed(made, golden, bounds))

    def test_zeros(self):
        """Where zeros would do as well, nothing is proven."""
        x = torch.full((4, 256), 1e4) + torch.randn(4, 256) * 1e-3
        call = Call(torch.ops.aten.native_layer_norm.default, (x, [256], None, None, 1e-5), {})
        made = torch.ops.aten.native_layer_norm(*call.arguments.values())
        self.assertIsNone(_proofs.prove(_proofs.proof_of(call), call, call.outputs(made)))


if __name__ == "__main__":
    unittest.main()
