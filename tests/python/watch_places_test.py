# SPDX-License-Identifier: Apache-2.0
"""Indices beside extremes and running statistics of norms, which assay.watch judges beside the results. Without PyTorch nothing is tested."""
import importlib.util
import unittest

import assay

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    from assay.models import _nodes
    from assay.models._sites import Site
    from planted_changes import Changed


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Places(unittest.TestCase):
    FUNCTIONS = {
        "max": lambda x: x.max(1), "min": lambda x: x.min(0, keepdim=True), "kthvalue": lambda x: x.kthvalue(3, 1), "median": lambda x: x.median(1),
        "topk": lambda x: x.topk(3, 1), "sort": lambda x: x.sort(1),
        "max_pool2d_with_indices": lambda x: torch.nn.functional.max_pool2d(x.reshape(1, 2, 6, 8), 3, 2, 1, return_indices=True)}

    def watched(self, name, x, off, calls=1):
        with Changed(name, off), assay.watch() as w:
            for _ in range(calls):
                self.FUNCTIONS[name](x)
        return w

    def test_a_wrong_index(self):
        """It is named in each call, as in those that NumPy proves; without it nothing is."""
        def off(made):
            place = made[1].view(-1)
            place[2] = place[2] - 1 if place[2] > 0 else 1

        for dtype in (torch.float32, torch.bfloat16, torch.float64):
            x = torch.randperm(96).reshape(12, 8).to(dtype)
            for name in self.FUNCTIONS:
                with self.subTest(function=name, dtype=dtype):
                    self.assertTrue(w := self.watched(name, x, lambda made: None, 4), str(w))
                    w = self.watched(name, x, off, 4)
                    self.assertEqual({node.index for node in w.failures}, {1, 2, 3, 4}, str(w))

    def test_beyond_the_ends(self):
        """Indices that are none of an element are wrong, and no error."""
        for value in (-1, 1 << 40):
            for name in ("max", "kthvalue", "max_pool2d_with_indices"):
                w = self.watched(name, torch.randperm(96).reshape(12, 8).float(), lambda made: made[1].view(-1)[:1].fill_(value), 3)
                self.assertEqual((len(w.failures), [reason for reason in w.unjudged if "Error" in reason]), (3, []), (name, str(w)))

    def test_equal_elements(self):
        """The first of them is the place of a maximum; in the window of a pool each of them will do, and none outside of it."""
        x, last = torch.ones(12, 8), lambda made: made[1].view(-1)[:1].fill_(7)
        self.assertEqual([node.reason for node in self.watched("max", x, last).failures],
                         ["1 of 12 indices are not those of the first element with the result, the first [0, 0]"])
        self.assertTrue(w := self.watched("max_pool2d_with_indices", x, lambda made: made[1].view(-1)[:1].fill_(9), 3), str(w))
        self.assertEqual(len(self.watched("max_pool2d_with_indices", x, last, 3).failures), 3)

    def test_between_taps(self):
        """The window of a dilated pool has every second element."""
        for place, failures in ((2, 0), (1, 3), (8, 3)):
            with Changed("max_pool2d_with_indices", lambda made: made[1].view(-1)[:1].fill_(place)), assay.watch() as w:
                for _ in range(3):
                    torch.nn.functional.max_pool2d(torch.ones(1, 2, 6, 8), 2, 1, dilation=2, return_indices=True)
            self.assertEqual(len(w.failures), failures, (place, str(w)))

    def test_numbers_that_are_none(self):
        x = torch.randn(12, 8)
        x[3, 4] = x[5, 1] = float("nan")
        for name in ("max", "min", "kthvalue", "max_pool2d_with_indices"):
            self.assertEqual(self.watched(name, x, lambda made: None, 3).failures, [], name)


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Running(unittest.TestCase):
    """Statistics of all batches so far, which a batch norm in training changes where they are."""

    def watched(self, shape, change, calls=4, dtype=None):
        norm, seen = torch.nn.BatchNorm2d(shape[1], momentum=0.3), []

        class Off(Changed):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                made = function(*args, **(kwargs or {}))
                if function._schema.name == "aten::native_batch_norm":
                    seen.append(made)
                    if len(seen) > 1:
                        change(args[3], args[4])
                return made

        with Off("", None), assay.watch() as w, torch.no_grad():
            for _ in range(calls):
                norm(torch.randn(shape).to(dtype or torch.float32))
        return [node for node in w.nodes if node.op == "aten::native_batch_norm"], w

    def test_right_ones(self):
        for shape in ((4, 8, 6, 6), (2, 3, 40, 40), (2, 1, 1, 1)):
            nodes, w = self.watched(shape, lambda mean, var: None)
            self.assertEqual([node.verdict for node in nodes if node.failed], [], str(w))
        self.assertEqual([node.judged for node in self.watched((4, 8, 6, 6), lambda mean, var: None)[0]][-3:], [4 * 8 * 36, 16, 16])

    def test_wrong_ones(self):
        """Not updated, of the biased variance, or off in one channel: named in each call from the second on."""
        def kept(mean, var): mean.copy_(mean * 0.99)

        def biased(mean, var): var.mul_(143 / 144)

        def one(mean, var): mean[3] += 4e-6

        for change in (kept, biased, one):
            nodes, w = self.watched((4, 8, 6, 6), change)
            self.assertEqual(sorted({node.index for node in nodes if node.failed}), sorted({node.index for node in nodes})[1:], (change.__name__, str(w)))


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Joined(unittest.TestCase):
    def test_the_worst_slice(self):
        """Slices that all pass have together the grade of the worst one."""
        node = _nodes.Node(0, "", Site("", ""), (), "", "pass", "bit_exact", "", 0.0, None, None, True, 1, 1)
        for grades, worst in ((("bit_exact", "within_class"), "within_class"), (("within_class", "suspect", "bit_exact"), "suspect")):
            self.assertEqual(_nodes.joined([node._replace(class_=grade) for grade in grades]).class_, worst)


if __name__ == "__main__":
    unittest.main()
