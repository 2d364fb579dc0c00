# SPDX-License-Identifier: Apache-2.0
"""Recordings of watched programs: executed again, and the errors that roundings make at their ends. Without PyTorch nothing is tested."""
import importlib.util
import json
import math
import os
import statistics
import subprocess
import tempfile
import unittest

import assay

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    import watched_models


def trained(model, given):
    """A step of training, by an optimiser that writes in place."""
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    made = model(*given)
    loss = torch.nn.functional.dropout(made, 0.1).square().mean()
    loss.backward()
    optimiser.step()
    return made, loss


def another_order(function, args, kwargs):
    """Products of matrices by parts of their sums, cut and ordered at random: a legal execution."""
    name = function._schema.name
    if name not in ("aten::mm", "aten::addmm"):
        return function(*args, **kwargs)
    a, b = args[-2:]
    parts = torch.randperm(a.shape[1]).chunk(4)
    total = sum(function(*args[:-2], a[:, part], b[part]) if name == "aten::addmm" and place == 0 else a[:, part] @ b[part]
                for place, part in enumerate(parts))
    return total


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Recorded(unittest.TestCase):
    def setUp(self):
        torch.backends.mha.set_fastpath_enabled(False)
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        torch.manual_seed(0)

    def recorded(self, kind, step=trained):
        model = kind()
        with assay.watch(record=True, every=100) as w:
            made = step(model, kind.example())
        return w, made, model

    @staticmethod
    def played(tape, result):
        """The recorded result, executed once more."""
        playing = tape.start(torch.clone)
        with torch.no_grad():
            for step in tape.steps:
                args, kwargs = playing.arguments(step)
                playing.take(step, playing.redrawn(step, args) if step.drawn else step.function(*args, **kwargs))
        return playing.value(tape.number_of(result))

    def test_same_bits(self):
        """Views, writes in place, random numbers and backward calls are executed as they were, and nothing of the program changes."""
        for kind in (watched_models.BertTiny, watched_models.MambaTiny):
            with self.subTest(kind=kind.__name__):
                w, made, model = self.recorded(kind)
                before, state = [p.detach().clone() for p in model.parameters()], torch.get_rng_state()
                replay = w.replay()
                self.assertEqual(replay.differences, [], str(replay))
                self.assertTrue(replay, str(replay))
                self.assertEqual(replay.watch.calls, w.calls - w.unjudged["random numbers"])
                self.assertTrue(all(map(torch.equal, before, model.parameters())))
                for result in made:
                    self.assertTrue(torch.equal(self.played(w._tape, result), result))
                self.assertTrue(torch.equal(torch.get_rng_state(), state))

    def test_another_function(self):
        """A legal one differs in its bits and is right; a wrong one is named, in the module of the recorded call."""
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
        with assay.watch(record=True) as w:
            model(torch.randn(16, 64)).sum().backward()
        legal = w.replay(execute=another_order)
        self.assertEqual(legal.first_difference.op, "aten::addmm")
        self.assertEqual(legal.first_difference.site.module, "0 (Linear)")
        self.assertLess(legal.first_difference.largest, 1e-5)
        self.assertTrue(legal.watch, str(legal))

        def in_bf16(function, args, kwargs):
            if function._schema.name == "aten::mm":
                return function(*(x.bfloat16() for x in args)).float()
            return function(*args, **kwargs)

        wrong = w.replay(execute=in_bf16)
        self.assertFalse(wrong.watch)
        first = wrong.watch.failures[0]
        self.assertEqual((first.op, first.site.module, first.site.backward), ("aten::mm", "2 (Linear)", True))

    def test_refused(self):
        with assay.watch() as w:
            torch.ones(3) + 1
        for member in (w.replay, w.error_at_output):
            with self.assertRaisesRegex(assay.UsageError, r"record=True"):
                member()
        with assay.watch(record=True) as w:
            torch.ones(3) + 1
        with self.assertRaisesRegex(assay.UsageError, "trials=0 is no positive integer"):
            w.error_at_output(trials=0)
        with self.assertRaisesRegex(assay.UsageError, "execute gave 0 tensors for aten::ones, which has 1"):
            w.replay(execute=lambda function, args, kwargs: None)
        with self.assertRaisesRegex(assay.UsageError, "'y' is no tensor"):
            w.error_at_output("y")
        with self.assertRaisesRegex(assay.Error, "not made in the block"):
            w.error_at_output(torch.ones(3))

    def test_calls_that_cannot_be_held(self):
        """They end the recording with a word, and nothing of the program."""
        x = torch.eye(3)
        with assay.watch(record=True) as w:
            self.assertTrue(torch.equal((x.to_sparse() * 2).to_dense(), 2 * x))
            (x + 1).sum()
        self.assertIn("aten::sum", {node.op for node in w.nodes})
        with self.assertRaisesRegex(assay.Error, "replay: the recording ended at .*[sS]parse"):
            w.replay()

    def test_error_at_output(self):
        """Errors that were propagated are of the size of the real ones, in logits, loss and a gradient."""
        torch.set_num_threads(1)
        for kind in (watched_models.BertTiny, watched_models.MambaTiny):
            with self.subTest(kind=kind.__name__):
                w, (made, loss), model = self.recorded(kind)
                gradient = next(p.grad for p in reversed(list(model.parameters())) if p.dim() > 1)
                found = w.error_at_output(made, loss, gradient)
                self.assertEqual([each.shape for each in found], [tuple(made.shape), (), tuple(gradient.shape)])
                for each in (found[0], found[2]):
                    self.assertTrue(0.3 < each.real / each.expected < 3, str(each))
                    self.assertGreater(each.size, 1e4 * each.expected)

    def test_errors_that_are_no_rounding(self):
        """One that leans to a side adds up, and the real error is more than what random signs make of it."""
        x = torch.rand(64) + 1
        with assay.watch(record=True, every=100) as w:
            y = x
            for _ in range(64):
                y = y + 1e-9  # which is lost each time
        lost, = w.error_at_output(y)
        self.assertGreater(lost.real, 4 * lost.expected, str(lost))
        with assay.watch(record=True) as w:
            (y.view(torch.int32) + 1).view(torch.float32)
        with self.assertRaisesRegex(assay.Error, "aten::view.* cannot be executed in float64"):
            w.error_at_output()

    def test_noise_floor(self):
        """Pairs of random legal executions are as far apart as the floor says."""
        torch.set_num_threads(1)
        model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Tanh(), torch.nn.Linear(256, 256), torch.nn.Tanh(), torch.nn.Linear(256, 8))
        with assay.watch(record=True, every=100) as w:
            made = model(torch.randn(32, 256))
        floor = w.error_at_output(made)[0]
        ends = []
        for _ in range(6):
            seen = []

            def kept(function, args, kwargs):
                seen.append(another_order(function, args, kwargs))
                return seen[-1]

            w.replay(execute=kept)
            ends.append(seen[-1])
        apart = [float((a - b).double().square().mean().sqrt()) for a in ends for b in ends if a is not b]
        self.assertTrue(0.4 < statistics.median(apart) / floor.noise_floor < 2.5, (statistics.median(apart), str(floor)))
        self.assertLess(max(apart), 4 * floor.noise_floor)
        self.assertTrue(math.isfinite(floor.noise_floor))

    def test_suite(self):
        """`assay run` takes the suite, and each case says how often the program had it."""
        program = os.environ.get("ASSAY_PROGRAM")
        model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.GELU(), torch.nn.Linear(32, 32), torch.nn.LayerNorm(32))
        with assay.watch(record=True) as w:
            for _ in range(3):
                (model(torch.randn(4, 32)) * torch.ones(32)).sum(0)
        with self.assertRaisesRegex(assay.UsageError, "another ending"):
            w.suite("model.txt")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.suite")
            w.suite(path)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertIn("tag calls-6\nmatmul dtypes=f32 m=4 n=32 k=32 bias=1", text)
            self.assertIn("tag calls-3\nlayer_norm dtypes=f32 rows=4 n=32 stats=1", text)
            if program is None:
                return
            ended = subprocess.run([program, "run", "--suite", path, "--operators", path.replace(".suite", ".json"), "--backend", "cpu", "--no-perf", "--out",
                                    os.path.join(folder, "run")], capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
            with open(os.path.join(folder, "run", "results.jsonl"), encoding="utf-8") as file:
                records = [json.loads(line) for line in file]
            self.assertEqual({r["tags"] for r in records if r["op"] == "matmul"}, {"calls-6"})


if __name__ == "__main__":
    unittest.main()
