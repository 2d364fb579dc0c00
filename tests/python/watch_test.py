# SPDX-License-Identifier: Apache-2.0
"""assay.watch on small right networks in PyTorch, and what it costs them. Without PyTorch only the class Missing has something to test."""
import importlib.util
import itertools
import math
import threading
import unittest
import unittest.mock
import warnings

import assay

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    from planted_changes import Fault, made
    import watched_models


class Missing(unittest.TestCase):
    def test_arguments(self):
        for wrong in ({"sample": 0}, {"every": 0}, {"every": 1.5}, {"most_kept": -1}, {"sample": True}):
            with self.assertRaisesRegex(assay.UsageError, f"{next(iter(wrong))}=.* is no positive integer"):
                assay.watch(**wrong)
        with self.assertRaisesRegex(assay.UsageError, "on_node=3 is no function"):
            assay.watch(on_node=3)

    @unittest.skipIf(HAS_TORCH, "PyTorch is here")
    def test_without_pytorch(self):
        with self.assertRaisesRegex(assay.Error, "follows PyTorch"):
            with assay.watch():
                pass


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Clean(unittest.TestCase):
    """Right networks: nothing is named, nothing of them changes, and what is not judged is said."""

    def setUp(self):
        torch.backends.mha.set_fastpath_enabled(False)

    def test_forward(self):
        for kind, dtype in itertools.product(watched_models.MODELS, (torch.float32, torch.bfloat16)):
            with self.subTest(kind=kind.__name__, dtype=dtype), torch.no_grad():
                model, given = made(kind)
                model = model.to(dtype)
                given = [x.to(dtype) if x.is_floating_point() else x for x in given]
                plain = model(*given)
                with assay.watch() as w:
                    watched = model(*given)
                self.assertTrue(torch.equal(plain, watched))
                self.assertTrue(w, str(w))
                self.assertLessEqual(set(w.unjudged), {"new tensors", "random numbers"})
                self.assertIsNone(w.first_nonfinite)

    def test_operands_that_a_form_does_not_read(self):
        """A batch norm in training has running means among its operands, and its result does not depend on them."""
        norm, x = torch.nn.BatchNorm2d(8), torch.randn(4, 8, 6, 6, requires_grad=True)
        with assay.watch() as w:
            norm(x).square().sum().backward()
        self.assertEqual(set(w.unjudged), {"new tensors"}, str(w))
        self.assertEqual({"native_batch_norm", "native_batch_norm_backward"} - {node.op.split("::")[-1] for node in w.nodes}, set())

    def test_training(self):
        for kind in watched_models.MODELS:
            with self.subTest(kind=kind.__name__):
                gradients = []
                for watching in (False, True):
                    model, given = made(kind)
                    model.train()
                    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
                    with assay.watch() if watching else warnings.catch_warnings() as w:
                        model(*given).square().mean().backward()
                        optimiser.step()
                    gradients.append([p.detach().clone() for p in model.parameters()])
                self.assertTrue(all(map(torch.equal, *gradients)))
                # PyTorch's vectors of gelu's gradient are a little beyond their bound (harness/python/MODELS.md).
                wrong = [str(node) for node in w.failures if node.op != "aten::gelu_backward" or node.margin > 1.5]
                self.assertEqual(wrong, [])
                backward = [node for node in w.nodes if node.site.backward]
                self.assertTrue(any(node.site.module for node in backward))
                self.assertTrue(all("watch" in node.site.line for node in w.nodes if "optim" in node.op))

    def test_modes_of_pytorch(self):
        model, (x,) = made(watched_models.MambaTiny)
        with torch.inference_mode():
            plain = model(x)
            with assay.watch() as w:
                self.assertTrue(torch.equal(model(x), plain))
        self.assertTrue(w and w.nodes)
        with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
            plain = model(x)
            with assay.watch() as w:
                self.assertTrue(torch.equal(model(x), plain))
        self.assertTrue(w and w.nodes, str(w))

    def test_written_operands(self):
        x = torch.randn(64)
        with assay.watch() as w:
            y = x.clone()
            y.add_(1).mul_(y).relu_()
            torch.mul(y, 3, out=y)
            y[3:5] = 7
        self.assertTrue(w and len(w.nodes) >= 6, str(w))

    def test_counted(self):
        with assay.watch() as w:
            torch.randn(4)
            torch.fft.fft(torch.randn(8))
            torch.linalg.svd(torch.randn(4, 4))
            torch.zeros(3).to_sparse()
        self.assertEqual(w.failures, [])
        self.assertIn("no rule for aten::_fft_r2c", w.unjudged)
        self.assertIn("no rule for aten::_linalg_svd", w.unjudged)

    def test_rule_of_ones_own(self):
        from assay.models import formula

        @torch.library.custom_op("assay_test::scaled_tanh", mutates_args=())
        def scaled_tanh(x: torch.Tensor, factor: float) -> torch.Tensor:
            return factor * torch.tanh(x if factor < 2 else x.half().float())

        @formula("assay_test::scaled_tanh")
        def _scaled_tanh(x, factor):
            return factor * assay.namespace(x).tanh(x)

        for factor, is_right in ((1.5, True), (3.0, False)):
            with assay.watch() as w:
                scaled_tanh(torch.randn(64), factor)
            node = next(node for node in w.nodes if node.op == "assay_test::scaled_tanh")
            self.assertEqual(node.failed, not is_right)

    def test_whatever_a_call_takes(self):
        """Calls that cannot be judged are counted, and run as they are."""
        class Odd(torch.Tensor):
            pass

        dense = torch.ones(4, 3)
        sparse = dense.to_sparse()
        with assay.watch() as w:
            sparse.mul_(2)
            dense.add_(sparse)
            torch.ones(3).as_subclass(Odd).add_(1)
            dense.set_(torch.ones(2))
            torch.ones(300).to(torch.float8_e4m3fn).clone()
        self.assertTrue(torch.equal(dense, torch.ones(2)))
        self.assertTrue(any("sparse" in reason.lower() for reason in w.unjudged), w.unjudged)
        self.assertIn("float8_e4m3fn", {node.dtype for node in w.nodes})
        self.assertTrue(w)

    def test_rule_that_breaks(self):
        from assay.models import rule

        @torch.library.custom_op("assay_test::doubled", mutates_args=())
        def doubled(x: torch.Tensor) -> torch.Tensor:
            return x + x

        @rule("assay_test::doubled")
        def _doubled(outputs, x):
            return x.no_such_member

        with assay.watch() as w:
            doubled(torch.ones(4))
        self.assertTrue(any("AttributeError" in reason for reason in w.unjudged), w.unjudged)

    def test_nothing_judged_is_no_pass(self):
        with assay.watch(every=1000) as w:
            torch.ones(3) + 1
        self.assertEqual((bool(w), w.failures), (False, []))

    def test_ends_at_the_first(self):
        """on_node may raise, and nothing of the watch is left then."""
        from torch.nn.modules import module
        from torch.utils._python_dispatch import _get_current_dispatch_mode

        class Found(ValueError):
            pass

        def end(node):
            raise Found(node.op)

        with self.assertRaisesRegex(Found, "aten::add"):
            with assay.watch(on_node=end):
                torch.ones(3) + 1
        self.assertIsNone(_get_current_dispatch_mode())
        self.assertEqual((len(module._global_forward_pre_hooks), len(module._global_forward_hooks)), (0, 0))

    def test_watch_within_a_watch(self):
        """The outer one does not take what the inner one computes for calls of the model."""
        x = torch.randn(8, 8)
        with assay.watch() as alone:
            y = (x @ x).add_(1) * torch.tensor(2)
        with assay.watch() as outer, assay.watch() as inner:
            z = (x @ x).add_(1) * torch.tensor(2)
        self.assertTrue(torch.equal(y, z))
        for w in (outer, inner):
            self.assertEqual([node.op for node in w.nodes], [node.op for node in alone.nodes])

    def test_sites(self):
        """A call without a gradient is not the site of the backward call of the one before, and other threads have no modules here."""
        begun, ended = threading.Event(), threading.Event()

        class Elsewhere(torch.nn.Module):
            def forward(self):
                begun.set()
                ended.wait(60)

        class Cut(torch.nn.Module):
            def forward(self, x):
                return x[:, 1:]

        model, mask, other = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), Cut()), torch.ones(4), threading.Thread(target=Elsewhere())

        def disturb(*_):
            mask.mul(2)
            other.start()
            begun.wait(60)

        model[1].register_forward_pre_hook(disturb)
        with assay.watch() as w:
            y = model(torch.randn(2, 4))
            ended.set()
            other.join()
            y.sum().backward()
        sites = {(node.op.rpartition("::")[2], node.site.backward): node.site for node in w.nodes}
        self.assertEqual(sites["mm", True].module, "0 (Linear)")
        self.assertEqual(sites["tanh", False].module, "1 (Tanh)")
        self.assertEqual(sites["slice_backward", True].module, "2 (Cut)")

    def test_memory_of_sites(self):
        from assay.models import _sites
        weight, most = torch.ones(2, requires_grad=True), _sites._MOST_FORWARD
        _sites._MOST_FORWARD = 10
        try:
            with assay.watch() as w:
                for _ in range(20):
                    (weight * 2).sum().backward()
                self.assertEqual(len(w._sites._forward), 10)
        finally:
            _sites._MOST_FORWARD = most

    def test_arguments_that_convert(self):
        x, counts = torch.linspace(0.1, 300, 400), torch.arange(5)
        with assay.watch(sample=None) as w:
            x.sum(dtype=torch.int64)
            x.sum(dtype=torch.bfloat16)
            x.cumsum(0, dtype=torch.float64)
            torch.cat([counts, x])
            torch.cat([counts.to(torch.int8) - 3, counts])
            torch.ones(3).masked_fill_(torch.tensor([True, False, True]), float("-inf"))
            x[(counts > 2).to(torch.uint8).repeat(80)]
            torch.nn.functional.avg_pool2d(torch.randn(1, 1, 34, 34).bfloat16(), 17)
            torch.nn.functional.interpolate(torch.randn(1, 1, 5), scale_factor=2.1)
            torch._foreach_addcdiv([torch.ones(2), torch.ones(2)], [torch.ones(2)] * 2, [torch.ones(2)] * 2, torch.tensor([3.0, 5.0]))
        self.assertTrue(w, str(w))
        self.assertLessEqual({"aten::masked_fill", "aten::index", "aten::avg_pool2d", "aten::_foreach_addcdiv"}, {node.op for node in w.nodes})

    def test_sample_is_said(self):
        with assay.watch(sample=16) as w:
            torch.randn(64, 64) @ torch.randn(64, 64)
        self.assertIn("1 results by a sample of their elements", str(w))

    def test_every(self):
        x = torch.randn(64)
        with assay.watch(every=5) as w:
            for _ in range(50):
                x = x + 1
        self.assertEqual((w.calls, len(w.nodes)), (50, 10))


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Fast(unittest.TestCase):
    """Cheaper judging finds the same."""

    def test_traces_once(self):
        x, y = torch.randn(8, 16), torch.randn(16)
        with assay.watch(threads=0) as w:
            x.sum(0)
        with unittest.mock.patch("assay.models.watch.take_function", side_effect=AssertionError("traced")), w:
            (x + 1).sum(0)
        self.assertEqual(dict(w.unjudged), {})
        pool, pixels = torch.nn.functional.adaptive_avg_pool2d, torch.randn(1, 2, 8, 8)
        for changed in (lambda: x.sum(1), lambda: x.double().sum(0), lambda: x[:, :3].sum(0), lambda: x.sum(0, keepdim=True),
                        lambda: pool(pixels, 2), lambda: pool(pixels[..., :4, :4], 2), lambda: torch.logical_and(x, y), lambda: torch.logical_and(x > 0, y > 0)):
            with w:
                changed()
        self.assertTrue(w, str(w))
        self.assertEqual(dict(w.unjudged), {})
        with assay.watch(threads=0) as w:  # constants of a formula are not those of another
            for factor in (2, 2.0, True, 0.5, -0.0, 0.0):
                torch.lerp(y, y + 1, factor)
        self.assertTrue(w, str(w))

    def test_correctly_rounded(self):
        """Such a result needs no question; one unit in its last place further on, the question decides."""
        x, y = torch.randn(64), torch.randn(64)
        with unittest.mock.patch("assay.models.watch.check", side_effect=AssertionError("asked")), assay.watch() as w:
            for function, dtype in itertools.product((torch.add, torch.sub, torch.mul, torch.div), (torch.float32, torch.bfloat16, torch.float16)):
                function(x.to(dtype), y.to(dtype))
                function(x.to(dtype)[:, None], 3)
        self.assertEqual(len(w.nodes), 24, str(w))
        self.assertEqual({(node.verdict, node.class_) for node in w.nodes}, {("pass", "bit_exact")})
        for off in (1.0, 1.5):
            with Fault(0, lambda z: z[3].mul_(off).copy_(torch.nextafter(z[3], torch.tensor(math.inf)))), assay.watch() as w:
                x * y
            self.assertEqual([node.failed for node in w.nodes], [True] if off > 1 else [w.nodes[0].failed], str(w))
            self.assertNotEqual(w.nodes[0].class_, "bit_exact")

    def test_threads(self):
        """Threads judge what was there when the call was made, and results stand in their order."""
        found = []
        for threads in (0, 3):
            torch.manual_seed(3)
            weight, x = torch.randn(96, 96), torch.randn(96, 96)
            with assay.watch(threads=threads) as w:
                for step in range(6):
                    x = torch.nn.functional.gelu(x @ weight)
                    x.mul_(0.5)  # what the product's judge may not see
                    weight.add_(x, alpha=0.01)
                    torch.randn(3)
            found.append([(node.index, node.op, node.verdict, node.margin, node.effective_bits) for node in w.nodes])
            self.assertTrue(w, str(w))
            self.assertEqual(w.unjudged["random numbers"], 6)
        self.assertEqual(*found)
        self.assertEqual(found[0], sorted(found[0], key=lambda node: node[0]))

    def test_memory_of_threads(self):
        from assay.models import _background
        with unittest.mock.patch.object(_background, "_MOST_BYTES", 1 << 18), assay.watch(threads=2) as w:
            for n in (100, 200, 300):  # the last one is too large for a copy
                x = torch.randn(n, n)
                for _ in range(4):
                    torch.exp(x)
                    self.assertLessEqual(w._background._size, 1 << 18)
        self.assertEqual(len(w.nodes), 12)

    def test_modules_of_every(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4))
        seen = set()
        for skipped in range(2):
            with assay.watch(every=2) as w:
                torch.ones(1).add(1) if skipped else None
                model(torch.randn(2, 4)).sum().backward()
            seen |= {(node.op.rpartition("::")[2], node.site.module) for node in w.nodes if node.site.backward}
        self.assertLessEqual({("tanh_backward", "1 (Tanh)"), ("mm", "2 (Linear)"), ("sum", "0 (Linear)")}, seen)


if __name__ == "__main__":
    unittest.main()
