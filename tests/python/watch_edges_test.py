# SPDX-License-Identifier: Apache-2.0
"""assay.watch where values, operands, rules or callbacks are unusual. Without PyTorch nothing is tested."""
import importlib.util
import math
import unittest
import unittest.mock

import assay

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    from planted_changes import Fault
    from torch.utils._python_dispatch import TorchDispatchMode


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Edges(unittest.TestCase):
    """Calls at the edges of what rules were written for."""

    def judged(self, function, *operands):
        with assay.watch() as w:
            function(*operands)
        self.assertTrue(w.nodes, str(w))
        return w

    def test_nan_and_infinities(self):
        x = torch.tensor([0.0, -0.0, 1.0, -2.0, 1e-45, 1e38, math.inf, -math.inf, math.nan])
        a, b = x[:, None].expand(9, 9), x.expand(9, 9)
        calls = [(getattr(torch, name), x) for name in "sign sgn relu tanh sigmoid exp log sqrt rsqrt abs isinf erf".split()]
        calls += [(getattr(torch.nn.functional, name), x) for name in "hardshrink softshrink hardtanh leaky_relu softplus logsigmoid".split()]
        calls += [(getattr(torch, name), a, b) for name in "hypot logaddexp maximum minimum add mul div eq".split()]
        calls += [(lambda x: torch.nn.functional.relu(x.clone().requires_grad_()).sum().backward(), x), (lambda x: x / -0.0, x),
                  (lambda x: x != math.inf, x), (lambda x: x.masked_fill(x > 0, -math.inf), x)]
        for function, *operands in calls:
            w = self.judged(function, *operands)
            self.assertTrue(w, str(w))
            self.assertLessEqual(set(w.unjudged), {"new tensors"}, str(w))

    def test_gradient_of_gelu(self):
        for seed in range(10):
            torch.manual_seed(seed)
            x = torch.linspace(-6, 6, 4097).requires_grad_()
            w = self.judged(lambda x: torch.nn.functional.gelu(x).backward(torch.randn(4097)), x)
            self.assertTrue(w, str(w))

    def test_planted(self):
        x, q = torch.randn(32), torch.randn(1, 2, 8, 4)
        for function in (lambda: (x * 5).long().float(), lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q), lambda: torch.dot(x, x), lambda: torch.vdot(x, x), lambda: x.masked_fill(x > 0, -math.inf), lambda: x[x > 0],
                         lambda: torch.max(x[None], 0, out=(torch.empty(32), torch.empty(32, dtype=torch.int64)))):
            class Off(TorchDispatchMode):
                def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                    made = function(*args, **(kwargs or {}))
                    if (first := made[0] if isinstance(made, tuple) else made).dtype in (torch.float32, torch.int64) and not assay.models._calls.is_view(function):
                        first.reshape(-1)[0] = 77
                    return made

            self.assertTrue(self.judged(function))
            with Off():
                self.assertFalse(self.judged(function))

    def test_attention(self):
        """Fused attention, which PyTorch marks as random because of the dropout that it may have."""
        attention = torch.nn.functional.scaled_dot_product_attention
        lengths = torch.arange(24) < torch.tensor([24, 7, 0])[:, None, None, None]  # the last one has no keys
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            q, few = torch.randn(3, 4, 40, 16, dtype=dtype), torch.randn(3, 2, 24, 16, dtype=dtype)
            k = few.repeat_interleave(2, 1)
            for arguments in ({}, {"is_causal": True}, {"scale": 0.5}, {"attn_mask": lengths}, {"attn_mask": torch.randn(40, 24, dtype=dtype)},
                              {"enable_gqa": True}):
                other = few if "enable_gqa" in arguments else k
                with self.subTest(dtype=dtype, **arguments):
                    w = self.judged(lambda: attention(q, other, other, **arguments))
                    self.assertTrue(w, str(w))
                    self.assertTrue(any("attention" in node.op for node in w.nodes) or dtype != torch.float32, str(w))

    def test_heads_of_gradients(self):
        """Few rows of each operand's gradient are judged, in two heads, those that are furthest off; without a sample, all."""
        def wrong(dq):
            dq[0, 1, 2, 3] += 0.05 * dq.abs().max()

        class OfGradients(Fault):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                made = function(*args, **(kwargs or {}))
                if "attention" in function._schema.name and "backward" in function._schema.name:
                    wrong(made[0])
                return made

        given = [torch.randn(1, 3, 4, 8, requires_grad=True) for _ in range(3)]
        given[0].data, given[1].data, given[2].data = (torch.randn(1, 3, 9, 8) for _ in range(3))
        for sample, calls in ((4096, 3), (None, 1)):
            with OfGradients(), assay.watch(sample=sample) as w:
                for _ in range(calls):
                    torch.nn.functional.scaled_dot_product_attention(*given).sum().backward()
            gradients = [node for node in w.nodes if "attention" in node.op and node.site.backward]
            self.assertEqual([node.failed for node in gradients].count(True), calls, str(w))
            self.assertEqual({node.judged < node.elements for node in gradients}, {sample is not None})
            self.assertEqual({node.judged for node in gradients if sample and node.verdict == "pass" and node.margin is not None}, {2 * 4 * 4} if sample else set())

    def test_nested(self):
        x = torch.randn(4, 4)
        with assay.watch() as outer:
            with assay.watch() as inner:
                x @ x
        for w in (outer, inner):
            self.assertEqual((w.calls, [node.op for node in w.nodes]), (1, ["aten::mm"]))

    def test_callback_may_raise(self):
        def stop(node):
            raise KeyError(node.op)

        with self.assertRaisesRegex(KeyError, "aten::add"):
            with assay.watch(on_node=stop):
                torch.ones(3) + 1

    def test_rule_that_raises(self):
        @assay.models.formula("special_bessel_j0")
        def _raises(self): return {}["nothing"]

        with assay.watch() as w:
            made = torch.special.bessel_j0(torch.zeros(3))
        self.assertEqual(made.tolist(), [1, 1, 1])
        self.assertIn("KeyError", str(w))

    def test_contract(self):
        with self.assertRaisesRegex(assay.UsageError, "contract: 'bf16' is not"):
            assay.watch(contract="bf16")
        self.assertEqual(assay.watch(contract="tf32").contract, "tf32")

    def test_steps(self):
        """Constants that differ from step to step neither make reasons of their own, nor have all operators listed anew."""
        loss, x, y = torch.nn.functional.cross_entropy, torch.randn(4, 5), torch.arange(4)
        with assay.watch() as w:
            x.mul(1.5)
        with unittest.mock.patch("assay._operators.operators", side_effect=AssertionError("listed")), w:
            for step in range(1, 21):
                x.mul(step / 128)
                loss(x, y, weight=torch.rand(5))
        self.assertEqual([reason for reason in w.unjudged if "weight" in reason], ["nll_loss_forward with weight"], str(w))
        self.assertEqual(sum(node.op == "aten::mul" for node in w.nodes), 21)


if __name__ == "__main__":
    unittest.main()
