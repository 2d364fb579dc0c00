# SPDX-License-Identifier: Apache-2.0
"""Rules and proofs of assay.watch without PyTorch: calls as its dispatcher makes them, with each argument of their schemas, on arrays of NumPy in
place of tensors. A rule that does not take such a call leaves it unjudged, which no model's run would show as wrong."""
import unittest
import unittest.mock

import numpy as np

import assay
from assay.models import _layer_proofs, _stacks  # noqa: F401  (the former adds proofs)
from assay.models import _calls  # noqa: F401  (it adds rules)
from assay.models._proofs import PROOFS
from assay.models._rules import RULES, Defaults


class Tensor(np.ndarray):
    """An array that rules take for a tensor."""

    def untyped_storage(self):
        return self

    def numel(self):
        return self.size

    def to(self, dtype):
        return self.astype(dtype)


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4").view(Tensor)


def rounded(value):
    return np.asarray(value, "f4").view(Tensor)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def norm_gradient(dy, z, scale, weight, axes):
    g = dy * weight
    return scale * (g - g.mean(axes, keepdims=True) - z * (g * z).mean(axes, keepdims=True))


def calls():
    """Name, arguments in the order of the schema with the values that autograd passes, and the outputs in f64."""
    x, dy = draw(4, 6, 5), draw(4, 6, 5, seed=1)
    wide, dwide = x.astype("f8"), dy.astype("f8")
    w, b = draw(6, seed=2), draw(6, seed=3)
    mean, scale = wide.mean((0, 2)), 1 / np.sqrt(wide.var((0, 2)) + 1e-5)
    z = (wide - mean[:, None]) * scale[:, None]
    zeros, ones = np.zeros(6, "f4").view(Tensor), np.ones(6, "f4").view(Tensor)
    norm = {"input": x, "weight": w, "bias": b, "running_mean": zeros, "running_var": ones}
    yield "native_batch_norm", {**norm, "training": True, "momentum": 0.1, "eps": 1e-5}, [z * w[:, None] + b[:, None], mean, scale]
    # The weight's and the running statistics' gradients are not read by every part of the formula.
    yield ("native_batch_norm_backward", {"grad_out": dy, "input": x, "weight": w, "running_mean": zeros, "running_var": ones, "save_mean": rounded(mean),
                                          "save_invstd": rounded(scale), "train": True, "eps": 1e-5, "output_mask": [True] * 3},
           [norm_gradient(dwide, z, scale[:, None], w[:, None], (0, 2)), (dwide * z).sum((0, 2)), dwide.sum((0, 2))])
    yield ("native_batch_norm_backward", {"grad_out": dy, "input": x, "weight": w, "running_mean": zeros, "running_var": ones, "save_mean": rounded(mean),
                                          "save_invstd": rounded(scale), "train": False, "eps": 1e-5, "output_mask": [True] * 3},
           [dwide * w[:, None] / np.sqrt(1 + 1e-5), (dwide * wide).sum((0, 2)) / np.sqrt(1 + 1e-5), dwide.sum((0, 2))])
    part = {"grad_out": dy, "input": x, "weight": w, "running_mean": zeros, "running_var": ones, "save_mean": rounded(mean), "save_invstd": rounded(scale),
            "train": True, "eps": 1e-5, "output_mask": [False, True, True]}
    yield "native_batch_norm_backward", part, [None, (dwide * z).sum((0, 2)), dwide.sum((0, 2))]
    yield "native_batch_norm_backward", {**part, "weight": None, "output_mask": [True, False, False]}, \
        [norm_gradient(dwide, z, scale[:, None], 1, (0, 2)), None, None]
    yield "sum", {"self": x, "dim": [1], "keepdim": False, "dtype": None}, [wide.sum(1)]
    yield "mean", {"self": x, "dim": [0, -1], "keepdim": True, "dtype": None}, [wide.mean((0, 2), keepdims=True)]
    yield "var_mean", {"self": x, "dim": [2], "correction": None, "keepdim": False}, [wide.var(2, ddof=1), wide.mean(2)]
    p = np.exp(wide) / np.exp(wide).sum(-1, keepdims=True)
    yield ("_softmax_backward_data", {"grad_output": dy, "output": rounded(p), "dim": -1, "input_dtype": None},
           [(lambda q: q * (dwide - (dwide * q).sum(-1, keepdims=True)))(rounded(p).astype("f8"))])
    yield "silu", {"self": x}, [wide * sigmoid(wide)]
    yield "silu_backward", {"grad_output": dy, "self": x}, [dwide * sigmoid(wide) * (1 + wide * (1 - sigmoid(wide)))]
    yield "softplus", {"self": x, "beta": 1, "threshold": 20}, [np.log1p(np.exp(wide))]
    yield "threshold_backward", {"grad_output": dy, "self": x, "threshold": 0}, [np.where(x <= 0, 0, dy)]
    yield "leaky_relu", {"self": x, "negative_slope": 0.01}, [np.where(x > 0, wide, wide * 0.01)]
    yield "elu_backward", {"grad_output": dy, "alpha": 1, "scale": 1, "input_scale": 1, "is_result": False, "self_or_result": x}, \
        [np.where(x > 0, dwide, dwide * np.exp(np.minimum(wide, 0)))]
    yield "mse_loss", {"self": x, "target": dy, "reduction": 1}, [((wide - dwide) ** 2).mean()]
    target = np.arange(4).view(Tensor)
    rows = rounded(np.log(p[:, :, 0]))
    yield ("nll_loss_forward", {"self": rows, "target": target, "weight": None, "reduction": 1, "ignore_index": -100},
           [-rows.astype("f8")[np.arange(4), np.arange(4)].mean(), 4.0])


class Rules(unittest.TestCase):
    def judged(self, name, arguments, outputs, **words):
        questions = list(RULES[name](Defaults(arguments, {}), outputs))
        self.assertTrue(questions)
        return [assay.check(question.op, question.inputs, question.outputs, **question.attrs, **words).verdict for question in questions]

    def test_calls_are_judged(self):
        """Right results pass, and none of the rules stumbles over an argument that its formula does not read."""
        for name, arguments, values in calls():
            with self.subTest(function=name):
                self.assertEqual(set(self.judged(name, arguments, [value if value is None else rounded(value) for value in values])), {"pass"})

    def test_wrong_elements_fail(self):
        for name, arguments, values in calls():
            outputs = [value if value is None else rounded(value) for value in values]
            next(each for each in outputs if each is not None).reshape(-1)[-1] += 0.5
            with self.subTest(function=name):
                self.assertIn("mismatch", self.judged(name, arguments, outputs, explain="no"))

    def test_unread_arguments(self):
        """The mark on traced calls is what lets a formula leave operands alone: without it a batch norm in training is refused."""
        from assay._define import take_function
        arguments, values = next((arguments, values) for name, arguments, values in calls() if name == "native_batch_norm")
        question, *_ = RULES["native_batch_norm"](Defaults(arguments, {}), list(map(rounded, values)))
        take_function(question.op, question.inputs, question.outputs, {})
        question.op.may_leave_unread = False
        with self.assertRaises(assay.UsageError):
            take_function(question.op, question.inputs, question.outputs, {})


class Stacks(unittest.TestCase):
    """Proofs of several calls at once."""

    CALLS = {  # arguments of one call, and its result in f32, from two arrays of 4 x 6
        "add": lambda a, b: ({"self": a, "other": b[0]}, a + b[0]), "mul": lambda a, b: ({"self": a, "other": 2.5}, a * np.float32(2.5)),
        "sub": lambda a, b: ({"self": a[0], "other": b}, a[0] - b), "relu": lambda a, b: ({"self": a}, np.maximum(a, 0)),
        "exp": lambda a, b: ({"self": a}, np.exp(a.astype("f8"))), "silu": lambda a, b: ({"self": a}, a.astype("f8") * sigmoid(a.astype("f8"))),
        "sum": lambda a, b: ({"self": a, "dim": [0]}, a.sum(0, dtype="f8")), "mean": lambda a, b: ({"self": a, "dim": [-1], "keepdim": True}, a.mean(1, dtype="f8", keepdims=True)),
        "mm": lambda a, b: ({"self": a, "mat2": b.T}, a.astype("f8") @ b.T.astype("f8")),
        "addmm": lambda a, b: ({"self": b[0, :4], "mat1": a, "mat2": b.T}, a.astype("f8") @ b.T.astype("f8") + b[0, :4]),
        "cat": lambda a, b: ({"tensors": [a, b], "dim": 1}, np.concatenate([a, b], 1)), "stack": lambda a, b: ({"tensors": [a, b], "dim": 0}, np.stack([a, b])),
        "clone": lambda a, b: ({"self": a}, a), "_unsafe_view": lambda a, b: ({"self": a, "size": [3, 8]}, a.reshape(3, 8)),
        "select_backward": lambda a, b: ({"grad_output": a, "input_sizes": [4, 3, 6], "dim": 1, "index": 2}, np.stack([0 * a, 0 * a, a], 1) + 0.0)}

    def test_together_as_alone(self):
        for name, call in self.CALLS.items():
            made = [call(np.asarray(draw(4, 6, seed=k)), np.asarray(draw(4, 6, seed=k + 9))) for k in range(5)]
            outputs = np.stack([np.asarray(y, "f4") for _, y in made])

            def stacked(key):
                values = [arguments[key] for arguments, _ in made]
                if isinstance(values[0], list) and not np.isscalar(values[0][0]):
                    return [np.stack(each) for each in zip(*values)]
                return np.stack(values) if isinstance(values[0], np.ndarray) else values[0]

            given = {key: stacked(key) for key in made[0][0]}
            with self.subTest(function=name):
                self.assertTrue(_stacks.are_proven(PROOFS[name], name, given, outputs))
                for arguments, y in made:
                    self.assertTrue(PROOFS[name].is_right([np.asarray(y, "f4")], PROOFS[name].function(**arguments)))
                for row in range(5):
                    off = outputs.copy()
                    off[row].reshape(-1)[3] += 0.01
                    self.assertFalse(_stacks.are_proven(PROOFS[name], name, given, off))


if __name__ == "__main__":
    unittest.main()
