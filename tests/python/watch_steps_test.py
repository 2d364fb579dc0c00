# SPDX-License-Identifier: Apache-2.0
"""assay.watch on some steps of a training alone, and its end by an error. Without PyTorch nothing is tested."""
import contextlib
import importlib.util
import io
import json
import os
import tempfile
import unittest

import assay

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    from planted_changes import Changed
    from torch.utils._python_dispatch import _get_current_dispatch_mode
    from torch.nn.modules import module as modules


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
