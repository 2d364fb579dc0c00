# SPDX-License-Identifier: Apache-2.0
"""Queued calls, samples of large outputs and slices of large reductions: assay.watch finds in them what the whole judgement finds.
Without PyTorch nothing is tested."""
import contextlib
import gc
import importlib.util
import itertools
import random
import subprocess
import sys
import unittest
import unittest.mock

import assay

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    import watched_models
    from assay.models import _deviations, _layer_proofs, _plans, _proofs, _stacks  # noqa: F401  (it adds proofs)
    from assay.models._calls import Call
    from planted_changes import Changed, Fault, last_row_doubled


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
            model, given, fault = kind().train(), kind.example(), Fault()

            def step():
                fault.seen = 0
                model.zero_grad()
                model(*given).square().mean().backward()

            with fault, assay.watch() as w:
                step(), step()
                self.assertEqual(w.failures, [], str(w))
                calls = w.calls
                fault.place, fault.change = random.Random(kind.__name__).randrange(fault.seen), last_row_doubled
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


if __name__ == "__main__":
    unittest.main()
