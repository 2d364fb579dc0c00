# SPDX-License-Identifier: Apache-2.0
"""The cheap ways of assay.watch find what the whole judgement finds: proofs in f64, the furthest elements, steps that nobody watches.
Without PyTorch nothing is tested."""
import contextlib
import gc
import importlib.util
import io
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import assay

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    import watch_test
    import watched_models
    from assay.models import _deviations, _layer_proofs, _plans, _proofs, _stacks  # noqa: F401  (it adds proofs)
    from assay.models._calls import Call
    from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode
    from torch.nn.modules import module as modules

    class Changed(TorchDispatchMode):
        """Below a watch: changes the results of one function, from the given call on."""

        def __init__(self, name, change, first=0):
            super().__init__()
            self.name, self.change, self.left = name, change, first

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            made = function(*args, **(kwargs or {}))
            if function._schema.name == f"aten::{self.name}":
                self.left -= 1
                if self.left < 0:
                    self.change(made)
            return made


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
class Queued(unittest.TestCase):
    """Small calls that are equal but for their elements wait, and are proven together."""

    FUNCTIONS = {  # of operands with 24 elements each, in every form that proofs stack
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b[:1], "mul": lambda a, b: a * b[:, :1], "div": lambda a, b: a / 3.0, "neg": lambda a, b: -a,
        "abs": lambda a, b: abs(a), "relu": lambda a, b: a.relu(), "exp": lambda a, b: a.exp(), "tanh": lambda a, b: a.tanh(),
        "pow": lambda a, b: a ** 3, "silu": lambda a, b: torch.nn.functional.silu(a), "gelu": lambda a, b: torch.nn.functional.gelu(a),
        "sum": lambda a, b: a.sum(1), "mean": lambda a, b: a.mean(0, keepdim=True), "mm": lambda a, b: a @ b.T, "bmm": lambda a, b: a[None] @ b.T[None],
        "addmm": lambda a, b: torch.addmm(b[0, :4], a, b.T), "cat": lambda a, b: torch.cat([a, b], 1), "stack": lambda a, b: torch.stack([a, b]),
        "clone": lambda a, b: a.clone(), "add_": lambda a, b: a.clone().add_(b), "argmax": lambda a, b: a.argmax(1)}

    def test_one_of_many(self):
        """Right results are proven together, and a wrong one among them is named alone, wherever it stands."""
        pairs = [(torch.randn(4, 6), torch.randn(4, 6)) for _ in range(12)]
        for name, function in self.FUNCTIONS.items():
            for wrong in (None, 2, 7, 11):
                seen = []

                def off(y):
                    seen.append(y)
                    if len(seen) - 1 == wrong:
                        y.view(-1)[2] += 1

                with self.subTest(function=name, wrong=wrong), Changed(name, off), assay.watch() as w:
                    for a, b in pairs:
                        function(a, b).zero_()  # which is none of its calls' business
                    failed = [node.index for node in w.nodes if node.failed]
                    self.assertEqual(len(failed), 0 if wrong is None else 1, str(w))
                    self.assertEqual([node.index for node in w.nodes], sorted(node.index for node in w.nodes))

    def test_together(self):
        """NumPy is called once for all of them."""
        a, b = torch.randn(4, 6), torch.randn(4, 6)
        with unittest.mock.patch.object(_plans, "are_proven", wraps=_plans.are_proven) as proven, assay.watch() as w:
            for _ in range(100):
                a * b
        self.assertEqual((proven.call_count, len(w.nodes), len(w.failures)), (1, 100, 0))

    def test_entered_again(self):
        """A watch that is entered once per step knows from the second step on what it learned in the first; its results have a few numbers each until
        they are asked for, which Python's garbage collector does not count."""
        a, w, found = torch.randn(4, 6), assay.watch(), []
        for _ in range(3):
            with unittest.mock.patch.object(_plans, "are_proven", wraps=_plans.are_proven) as proven, w:
                for _ in range(2):
                    a * 3
            found.append(proven.call_count)
        self.assertEqual((found, gc.collect() and sum(map(gc.is_tracked, w._records._found[2:]))), ([1, 1, 1], 0))
        self.assertEqual([(node.index, node.op, node.verdict, node.judged) for node in w.nodes], [(k, "aten::mul", "pass", 24) for k in range(1, 7)])

    def test_memory_of_other_kinds(self):
        """Operands that are no plain rows of numbers are copied by their elements: turned, negated when read, of no elements, parts of others."""
        a, b, c = torch.randn(6, 4), torch.complex(torch.randn(4, 6), torch.randn(4, 6)), torch.randn(4, 6)
        with assay.watch() as w:
            for _ in range(4):
                for x in (a.T, b.conj().imag, torch._neg_view(c), torch.randn(0, 6), torch.randn(8, 12)[::2, ::2], torch.randn(6).expand(4, 6)):
                    x * 2
                a.add_(1), b.add_(1)
        self.assertEqual([node.verdict for node in w.nodes if node.op == "aten::mul"], ["pass"] * 24, str(w))
        self.assertEqual(w.failures, [], str(w))  # PyTorch clones what is negated when read

    def test_changed_later(self):
        """Operands and results are as they were when the call was made, whatever is written into them before they are proven."""
        a, out = torch.randn(4, 6), []
        with assay.watch() as w:
            for _ in range(6):
                out.append(a * 2)
                a.add_(1), out[-1].zero_()
        self.assertEqual(([node.failed for node in w.nodes].count(True), len(w.nodes)), (0, 18), str(w))

    def test_finite_beside_infinities(self):
        """Calls that wait together: one has infinities from its operands, and the sum of another one's finite results overflows."""
        lowest = torch.finfo(torch.float32).min
        given = [torch.full((8,), lowest if k % 2 else float("inf")) for k in range(6)]
        with assay.watch() as w:
            for x in given:
                x * 1.0
        self.assertEqual([(node.failed, node.finite) for node in w.nodes], [(False, True)] * 6, str(w))

    def test_other_shapes(self):
        """A result with another shape than that of equal calls is wrong, though its elements would fill one that is right."""
        calls, x = itertools.count(), torch.zeros(4)

        def off(y):
            if next(calls) == 3:
                y.resize_(1)

        with Changed("exp", off), assay.watch() as w:
            for _ in range(5):
                x.exp()
        self.assertEqual([node.index for node in w.nodes if not node.failed], [1, 2, 3, 5], str(w))
        self.assertEqual(sum(w.unjudged.values()) + len(w.failures), 1, str(w))

    def test_later_steps(self):
        """A fault in the third step of networks in training, whose small calls wait for each other, is the first that is named; other steps have
        none."""
        for kind in watched_models.MODELS:
            torch.manual_seed(0)
            model, given, fault = kind().train(), kind.example(), watch_test.Fault()

            def step():
                fault.seen = 0
                model.zero_grad()
                model(*given).square().mean().backward()

            with fault, assay.watch() as w:
                step(), step()
                self.assertEqual(w.failures, [], str(w))
                calls = w.calls
                fault.place, fault.change = random.Random(kind.__name__).randrange(fault.seen), watch_test._last_row_doubled
                while not fault.changed:  # a row of zeros is none to change
                    step()
                    fault.place += 1
            with self.subTest(network=kind.__name__):
                self.assertEqual((w.first_wrong or w.first_weaker).op.rstrip("_"), fault.changed.rstrip("_"), str(w))
                self.assertGreater((w.first_wrong or w.first_weaker).index, calls)

    def test_one_of_many_at_a_root(self):
        """Where zeros would do as well for one call, nothing is proven of the calls that wait with it."""
        x, dy, proof = torch.rand(8, 16) + 1, torch.ones(8, 16), _proofs.PROOFS["silu_backward"]
        for at_root in (False, True):
            if at_root:
                x[3] = -1.27846456  # where the derivative of silu has its root
            y = torch.ops.aten.silu_backward(dy, x)
            self.assertEqual(_stacks.are_proven(proof, "silu_backward", {"grad_output": dy.numpy(), "self": x.numpy()}, y.numpy()), not at_root)

    def test_signs_of_zeros(self):
        """Constants that compare equal are no equal calls."""
        x = torch.ones(4)
        with assay.watch() as w:
            for divisor in (0.0, 0.0, 0.0, -0.0, -0.0, 0, False):
                x / divisor
        self.assertEqual(w.failures, [], str(w))


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


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Furthest(unittest.TestCase):
    def test_single_elements(self):
        """One wrong element among thousands, of which some hundreds are judged."""
        x = torch.randn(64, 512, requires_grad=True)
        functions = {"silu": lambda: torch.nn.functional.silu(x), "native_layer_norm": lambda: torch.nn.functional.layer_norm(x, (512,)),
                     "convolution": lambda: torch.nn.functional.conv2d(x.view(2, 32, 32, 16), weight, padding=1)}
        weight, bias = torch.randn(8, 32, 3, 3), torch.randn(384)
        functions.update(mm=lambda: x.view(128, 256) @ wide, addmm=lambda: torch.addmm(bias, x.view(128, 256), wide, beta=0.5, alpha=2))
        wide = torch.randn(256, 384)
        for name, function in functions.items():
            for seed in range(8):
                torch.manual_seed(seed)

                def off(made):
                    y = made[0] if isinstance(made, tuple) else made
                    place = tuple(int(torch.randint(n, ())) for n in y.shape)
                    y[place] += 0.05

                with self.subTest(name=name, seed=seed), Changed(name, off), assay.watch() as w:
                    function()
                self.assertEqual([node.op for node in w.failures], [f"aten::{name}"], str(w))
            with assay.watch() as w:
                function()
            self.assertTrue(w, str(w))
            self.assertTrue(all(node.judged < node.elements for node in w.nodes), str(w))

    def failures(self, name, off, function):
        with Changed(name, off), assay.watch() as w:
            function()
        return [node.op for node in w.failures]

    def test_large_outputs(self):
        """A single wrong element of a large output is in the second sample, too, with which the verdict is explained."""
        def off(y):
            y[300, 100] += 0.05

        a, b = torch.randn(512, 512), torch.randn(512, 512)
        self.assertEqual(self.failures("mm", off, lambda: a @ b), ["aten::mm"])
        self.assertEqual(self.failures("silu", off, lambda: torch.nn.functional.silu(a)), ["aten::silu"])

    def test_beside_infinities(self):
        """Infinities and NaN that are right hide no wrong element."""
        def off(y):
            y[40, 100] += 0.05

        for value in (float("nan"), float("inf")):
            x = torch.randn(64, 512)
            x[0, 0] = value
            self.assertEqual(self.failures("silu", off, lambda: torch.nn.functional.silu(x)), ["aten::silu"], value)
            wide = torch.randn(512, 512)
            self.assertEqual(self.failures("mm", off, lambda: x @ wide), ["aten::mm"], value)

    def test_tiny_results(self):
        """A wrong element is found by its own size, too, however small it is beside the others."""
        x = torch.randn(64, 512) * 5
        tiny = int(x.softmax(1).view(-1).sort().indices[200])

        def off(y):
            y.view(-1)[tiny] *= 2

        for dtype in (torch.float32, torch.bfloat16):
            self.assertEqual(self.failures("_softmax", off, lambda: x.to(dtype).softmax(1)), ["aten::_softmax"], dtype)

    def test_scattered(self):
        """Wrong elements of a product that share no row and no column: where the furthest row and column cross is none of them."""
        for seed in range(4):
            torch.manual_seed(seed)
            a, b = torch.randn(256, 256), torch.randn(256, 256)
            places = _deviations.Deviations(torch.ops.aten.mm.default, Call(torch.ops.aten.mm.default, (a, b), {}), y := (a @ b + 0.01 * torch.eye(256))).of(y)
            self.assertTrue(all(place // 256 == place % 256 for place in places), places)

    def test_memory_of_products(self):
        """Looking for the furthest elements of a large product takes no copy of it in f64."""
        program = """
import resource, torch
from assay.models import _deviations
from assay.models._calls import Call
a, b, function = torch.randn(1 << 16, 8), torch.randn(8, 1 << 10), torch.ops.aten.mm.default
y, peaks = a @ b, []
for given, y in (((a[:5000], b), y[:5000].clone()), ((a, b), y)):
    found = _deviations.Deviations(function, Call(function, given, {}), y).of(y)
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
print(len(found), peaks[1] - peaks[0])"""
        count, more = map(int, subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split())
        self.assertGreaterEqual(count, 2)
        self.assertLess(more, 300)  # MB; the product has 256 in f32

    def test_no_wide_types(self):
        """A function that has no f64 is judged without knowing where to look."""
        def refuse(value):
            raise RuntimeError("conversion is supported for Half type only")

        with unittest.mock.patch.object(_deviations, "_widened", refuse), assay.watch() as w:
            torch.nn.functional.silu(torch.randn(64, 64))
        self.assertEqual(([node.verdict for node in w.nodes], [node.judged for node in w.nodes]), (["pass"], [64 * 64]), str(w))

    def test_nothing_changes(self):
        """The second execution in f64 neither writes into buffers nor draws random numbers."""
        norm, dropout, x = torch.nn.BatchNorm2d(8), torch.nn.Dropout(0.5), torch.randn(4, 8, 16, 16)
        buffers = []
        for watching in (False, True):
            torch.manual_seed(0)
            norm.reset_running_stats()
            with assay.watch() if watching else contextlib.nullcontext():
                made = dropout(norm(x))
            buffers.append([made, *norm.buffers(), torch.rand(3)])
        self.assertTrue(all(map(torch.equal, *buffers)))


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Parts(unittest.TestCase):
    """Calls with several results of which some are there, or are parts of an operand."""

    def test_gradients(self):
        x, weights = torch.randn(4, 8, 5), torch.randn(4, 8, 5)
        for norm in (torch.nn.BatchNorm1d(8), torch.nn.GroupNorm(2, 8)):
            with assay.watch() as w:
                (norm(x) * weights).sum().backward()  # x has no gradient
            self.assertEqual([node.verdict for node in w.nodes if node.op.endswith("norm_backward")], ["pass"], str(w))

    def test_split(self):
        x = torch.randn(7, 4)

        def off(made):
            made[2] = made[2] + 1

        for wrong in (False, True):
            with Changed("unsafe_split", off) if wrong else contextlib.nullcontext(), assay.watch() as w:
                torch.ops.aten.unsafe_split(x, 3), torch.ops.aten.unsafe_split_with_sizes(x, [1, 3], 1)
            self.assertEqual([node.failed for node in w.nodes], [False, False, wrong, False, False], str(w))


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Reductions(unittest.TestCase):
    """Large ones are proven or judged in slices."""

    CALLS = {  # of 64 MB of f32 and more
        "sums": ("torch.randn(1 << 14, 1 << 10)", "x.sum(0)", "aten::sum"),
        "sums by a contract": ("torch.randn(1 << 14, 1 << 10)", "x.sum(1)", "aten::sum"),
        "a sum": ("torch.randn(1 << 24)", "x.sum()", "aten::sum"),
        "batch norm": ("torch.randn(256, 64, 32, 32)", "torch.nn.functional.batch_norm(x, None, None, torch.ones(64), torch.ones(64), True)", "aten::native_batch_norm"),
        "maxima": ("torch.randn(64, 64, 64, 64)", "torch.nn.functional.max_pool2d(x, 2)", "aten::max_pool2d_with_indices"),
        "means": ("torch.randn(64, 64, 64, 64)", "torch.nn.functional.avg_pool2d(x, 2)", "aten::avg_pool2d")}

    def test_memory(self):
        """Judging takes less than half of the operands and results and 300 MB; measured in a process of its own."""
        for name, (operand, expression, op) in self.CALLS.items():
            program = f"""
import resource, torch, assay
x, watch = {operand}, assay.watch(contract={"f32acc" if "contract" in name else None!r}, threads=0)
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
with torch.no_grad(), assay.watch():
    y = torch.zeros(3, 4, 2, 2) + 1
    y.sum(0), torch.nn.functional.max_pool2d(y, 2)
with torch.no_grad():
    y = {expression}
    before = peak()
    with watch: y = {expression}
found = [node for node in watch.nodes if node.op == "{op}"]
print(peak() - before, (x.nbytes + y.nbytes) >> 20, len(found), found[0].verdict)"""
            done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
            with self.subTest(function=name):
                more, size, count, verdict = *map(int, done[:3]), done[3]
                self.assertEqual((count, verdict), (1 + (name == "maxima"), "pass"))  # indices are a result of their own
                self.assertLess(more, 120 if name != "maxima" else size // 2 + 300)  # MB

    def test_a_wrong_element(self):
        """It is found though nothing about its value is special: elements of a slice that is not proven are compared in f64."""
        x = torch.randn(256, 64, 32, 32)

        def off(made):
            made[0][200, 37, 5, 6] = 0.25

        with Changed("native_batch_norm", off), assay.watch() as w, torch.no_grad():
            torch.nn.functional.batch_norm(x, None, None, torch.ones(64), torch.ones(64), True)
        self.assertEqual([node.op for node in w.failures], ["aten::native_batch_norm"], str(w))
        self.assertEqual(w.failures[0].elements, x.numel())

    def test_a_wrong_sum(self):
        """Sums that are judged in slices: one of all is wrong, and its node has the numbers of all."""
        x = torch.randn(1 << 10, 1 << 14)

        def off(y):
            y[77] += 1

        for wrong in (False, True):
            with Changed("sum", off) if wrong else contextlib.nullcontext(), assay.watch(contract="f32acc", threads=0) as w:
                x.sum(1)
            self.assertEqual([(node.failed, node.judged, node.elements) for node in w.nodes], [(wrong, 1 << 10, 1 << 10)], str(w))
            self.assertIsNotNone(w.nodes[0].margin)


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Steps(unittest.TestCase):
    def test_every_step(self):
        """Steps 1, 4 and 7 of nine are watched, forward, backward and the optimiser's; the others call nobody."""
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        optimiser = torch.optim.SGD(model.parameters(), 0.1)
        with assay.watch(every_step=3) as w:
            for step in range(9):
                optimiser.zero_grad()
                model(torch.randn(2, 4)).sum().backward()
                optimiser.step()
                is_on = step % 3 == 0
                self.assertEqual(_get_current_dispatch_mode() is not None, is_on)
                self.assertEqual(bool(modules._global_forward_pre_hooks), is_on)
        self.assertEqual([node.op for node in w.nodes].count("aten::tanh"), 3)
        self.assertEqual([node.op for node in w.nodes].count("aten::add"), 3 * 4)
        self.assertEqual({node.site.module for node in w.nodes if node.op == "aten::tanh"}, {"1 (Tanh)"})
        self.assertTrue(any(node.site.backward and node.site.module for node in w.nodes[-10:]))
        self.assertEqual((len(model._forward_pre_hooks), _get_current_dispatch_mode()), (0, None))

    def test_loss(self):
        """A loss that is a module begins no step of its own, which would leave its backward pass unwatched."""
        model, loss = torch.nn.Linear(4, 4), torch.nn.MSELoss()
        optimiser = torch.optim.SGD(model.parameters(), 0.1)
        with assay.watch(every_step=2) as w:
            for _ in range(6):
                optimiser.zero_grad()
                loss(model(torch.randn(2, 4)), torch.zeros(2, 4)).backward()
                optimiser.step()
        ops = [node.op for node in w.nodes]
        self.assertEqual([ops.count(f"aten::{name}") for name in ("addmm", "mse_loss", "mse_loss_backward")], [3, 3, 3], ops)

    def test_other_modes(self):
        """Another mode that is entered between steps is not taken away for the watch's own."""
        model, x = torch.nn.Linear(4, 4), torch.randn(2, 4)
        with assay.watch(every_step=2) as w:
            model(x)
            with Changed("addmm", lambda y: None) as mode:
                model(x)
                self.assertIs(_get_current_dispatch_mode(), mode)
            model(x)
        self.assertIsNone(_get_current_dispatch_mode())
        self.assertEqual(len(w.nodes), 3)

    def test_arguments(self):
        with self.assertRaisesRegex(assay.UsageError, "every_step=0 is no positive integer"):
            assay.watch(every_step=0)


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Ended(unittest.TestCase):
    def test_interrupt(self):
        """Results that were judged before an interrupt, or an error of the model, are in the folder and on the terminal."""
        for error in (KeyboardInterrupt, ZeroDivisionError):
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as said:
                with self.assertRaises(error):
                    with assay.watch(folder=folder) as w:
                        torch.exp(torch.randn(200, 200))
                        torch.randn(3) * 2
                        raise error
                with open(os.path.join(folder, "nodes.json"), encoding="utf-8") as file:
                    self.assertEqual([node["op"] for node in json.load(file)["nodes"]], ["aten::exp", "aten::mul"])
                self.assertTrue(os.path.getsize(os.path.join(folder, "report.html")) > 1000)
            self.assertIn("least bits  bias", said.getvalue())
            self.assertIn(f"ended by {error.__name__}", said.getvalue())
            self.assertEqual(len(w.nodes), 2)

    def test_whole(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as said:
            with assay.watch(folder=folder):
                torch.randn(3) * 2
            self.assertIn("nodes.json", os.listdir(folder))
        self.assertEqual(said.getvalue(), "")

    def test_folders_that_cannot_be(self):
        """Refused before anything is judged, so that no error of the model is lost behind it."""
        with tempfile.NamedTemporaryFile() as file:
            for folder in (file.name, os.path.join(file.name, "below"), "", 3):
                with self.assertRaisesRegex(assay.UsageError, "cannot be made.*give another one"):
                    assay.watch(folder=folder)


if __name__ == "__main__":
    unittest.main()
