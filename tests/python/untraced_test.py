#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions that cannot be traced end with a message: untraced_test.py [CLASS]."""
import unittest

import numpy as np

import assay
from assay.models._rules import traced

RANDOM = np.random.default_rng(5)


def draw(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def _data_of(function, **axes):
    """The definition of the function as an operator whose arguments have these axes."""
    function.__annotations__ = axes
    return assay.operator(function.__name__)(function).data


class Untraced(unittest.TestCase):
    def test_what_cannot_be_traced_is_named_with_its_line_and_what_to_do(self):
        xp = assay.namespace
        x = draw(8, 32)
        held = draw(32)

        def branches(a):
            if a > 0:
                return a
            return -a

        def writes(a):
            a[0] = 1

        for function, words in (
                (branches, "in branches: a branch on the data .* xp.where"),
                (writes, "a write into the elements .* xp.where"),
                (lambda a: None, "untraced_test.py:[0-9]+, in function: the function returns nothing: end it with `return`"),
                (lambda a: [a * 2, 3], "untraced_test.py:[0-9]+, in function: the function returns int for y1"),
                (lambda a: np.exp(a), "a function of NumPy .* xp.exp"),
                (lambda a: a + held, "make what it holds an argument|a function of NumPy"),
                (lambda a: float(a), "a number of a traced array"),
                (lambda a: [v for v in a], "a loop over the elements"),
                (lambda a: a[[3, 1]], "an array as an index .* xp.take"),
                (lambda a: a[8], "index 8 of an axis of 8 elements"),
                (lambda a: a[None][1:], "a slice without elements of an axis of one element"),
                (lambda a: a.reshape(4), "reshape of 256 elements"),
                (lambda a: a.astype(np.int32), "types of floating-point numbers"),
                (lambda a: assay.namespace(a).fft(a), "there is no function fft; there are abs"),
                (lambda a: a + a.T, "axes of 8 and of 32 elements do not broadcast"),
                (lambda a: assay.namespace(a).sum(a, axis=2), "axis=2 of an array with 2 axes"),
                (lambda a: 3.0, "returns float"),
                (lambda a: a & (a > 0), "& \\| \\^ ~ of numbers"),
                (lambda a: ~a, "xp.logical_and"),
                (lambda a: assay.namespace(a).clip(a), "clip without limits"),
                (lambda a: a <= np.inf, "constants are finite"),
                (lambda a: (a > 0) + (a > 1), "arithmetic of conditions"),
                (lambda a: a << 2, "this operator is not there"),
                (lambda a: xp(a).tensordot(a, a, axes=([0, 1], [0])), "tensordot: axes=.* two lists of as many"),
                (lambda a: xp(a).tensordot(a, a, axes=3), "tensordot: axes=3 does not pair axes"),
                (lambda a: assay.namespace(a).where(a > 0, a, -np.inf), "constants are finite"),
                (lambda a: (a > 0) @ (a < 1).T, "matmul of conditions, .* xp.where"),
                (lambda a: a.reshape(-1, 0), "reshape of 256 elements"), (lambda a: a.reshape(2.5, 4), "extents are integers"),
                (lambda a: a.reshape(256, order="F"), "reshape: got an unexpected keyword argument 'order'"),
                (lambda a: a.astype(np.float32, copy=False), "unexpected keyword argument 'copy'; .* takes dtype"),
                (lambda a: (a > 0).astype("strange"), "astype\\(strange\\) of conditions"),
                (lambda a: a[0.5:], "its ends are integers"), (lambda a: a[::0], "its step is one that is not 0"),
                (lambda a: xp(a).split(a, 0), "split into 0"), (lambda a: xp(a).split(a, [1, 2]), "split into \\[1, 2\\]: .* slices"),
                (lambda a: xp(a).roll(a, 1), "axis=None; give one axis"), (lambda a: xp(a).roll(a, 1.5, axis=0), "shift=1.5"),
                (lambda a: xp(a).roll(a, (1, 2), axis=(0, 1)), "roll: axis=\\(0, 1\\); give one axis"),
                (lambda a: xp(a).cumulative_sum(a, axis=None), "cumulative_sum: axis=None; give one axis"),
                (lambda a: xp(a).sum(a, dtype=np.float32), "unexpected keyword argument 'dtype'; .* takes x, axis, "),
                (lambda a: xp(a).exp(a, out=a), "keyword argument 'out'"), (lambda a: xp(a).softmax(), "required argument: 'x'"),
                (lambda a: xp(a).concat([a, 1.0]), "take a list of arrays"), (lambda a: xp(a).concat(a), "take a list of arrays"),
                (lambda a: xp(a).concat([a, a[:, :1]]), "concat does not broadcast"), (lambda a: xp(a).tril(a[0]), "with two axes"),
                (lambda a: xp(a).stack([a, a[:1]]), "concat does not broadcast"), (lambda a: xp(a).concat([a, a[:, :8]]), "8 elements"),
                (lambda a: xp(a).expand_dims(a, (0, 1)), "give one axis"), (lambda a: xp(a).permute_dims(a, 1), "axes=1 are not"),
                (np.exp, "no function of Python"),
                (lambda a, b, c: a, "needs a, b, c, and gets 1 inputs")):
            with self.subTest(words), self.assertRaisesRegex(assay.UsageError, words):
                assay.check(function, [x], x)

    def test_fixed_axes_have_a_limit(self):
        x = np.zeros(2**20 + 3, np.float32)
        for function in (lambda a: a[1:] - a[:-1], lambda a: assay.namespace(a).flip(a), lambda a: a.reshape(-1, 1, 1)[::-1],
                         lambda a: assay.namespace(a).concat([a, a])):
            with self.assertRaisesRegex(assay.UsageError, "in <lambda>: an axis of [0-9]+ elements: .* at most 1048576 elements"):
                assay.check(function, [x], x)
        self.assertTrue(assay.check(lambda a: a[:2**20] * 2, [x], x[:2**20] * 2).passed)

    def test_a_loop_without_an_end_stops(self):
        def endless(a):
            while True:
                a = a + 1
        with self.assertRaisesRegex(assay.UsageError, "more than 10000 operations"):
            assay.check(endless, [draw(2)], draw(2))

    def test_a_recursion_without_an_end_names_its_line(self):
        def again(a):
            return again(a + 1)

        def three_times(a, left=3):
            return a if left == 0 else three_times(a * 2, left - 1)
        with self.assertRaisesRegex(assay.UsageError, r"untraced_test.py:\d+, in again: again calls itself too often: end the recursion by"):
            assay.check(again, [draw(2)], draw(2))
        x = draw(3)
        self.assertTrue(assay.check(three_times, [x], 8 * x).passed)

    def test_writes_into_arguments_are_refused(self):
        def adds(x):
            x += 1
            return x

        def scales(x):
            y = x
            y *= 2
            return x * y

        def sums(x):
            total = x * 0
            for k in range(3):
                total += k * x
            return total

        def squares(x):
            x **= 2
            return x
        for function, words in ((adds, r"in adds: x \+= ... writes into the argument x"), (scales, r"x \*= ... writes into the argument x"),
                                (squares, r"write x = x \*\* ...")):
            with self.subTest(words), self.assertRaisesRegex(assay.UsageError, words):
                assay.check(function, [draw(2)], draw(2))
        x = draw(3)
        self.assertTrue(assay.check(sums, [x], 3 * x).passed)

    def test_arguments_on_which_nothing_depends_and_mutable_defaults_are_refused(self):
        def leaves_out(x, y):
            return x * 2

        def keeps(x, seen=[]):
            return x * len(seen)
        with self.assertRaisesRegex(assay.UsageError, r"untraced_test.py:\d+, in leaves_out: no result depends on y: use it"):
            assay.check(leaves_out, [draw(2), draw(2)], draw(2))
        with self.assertRaisesRegex(assay.UsageError, "no result depends on y"):
            _data_of(leaves_out, x="n", y="n")
        with self.assertRaisesRegex(assay.UsageError, "in keeps: the default of seen is a list"):
            assay.check(keeps, [draw(2)], draw(2))

        def counts(x, places):  # by its extent alone
            return x * places.shape[0]
        x = draw(3)
        self.assertTrue(assay.check(counts, [x, draw(5)], 5 * x).passed)
        self.assertIn("extent", {node["f"] for node in _data_of(counts, x="n", places="m")["nodes"]})

    def test_calls_of_a_model_may_have_operands_that_are_not_read(self):
        """In training batch_norm does not read its running statistics, and no gradient of attention reads the operands of all three."""
        class Stored(np.ndarray):
            untyped_storage = None  # by which rules know a tensor
        x, y = (draw(3).view(Stored) for _ in range(2))
        question = traced(lambda x, y: x * 2, {"x": x, "y": y}, [2 * x])
        self.assertTrue(assay.check(question.op, question.inputs, question.outputs).passed)

    def test_arguments_and_results_without_names_or_arrays_are_refused(self):
        def takes_any(x, *rest): return x
        def takes_named(x, **rest): return x
        def numbers(x): return {"y": x, 3: x}
        for function, result, words in ((takes_any, draw(2), r"in takes_any: the argument \*rest stands for any number of arrays"),
                                        (takes_named, draw(2), r"in takes_named: the argument \*\*rest stands"),
                                        (numbers, [draw(2), draw(2)], "in numbers: the function names a result 3: names are texts"),
                                        (lambda x: (), (), "there is no result to judge")):
            with self.subTest(words), self.assertRaisesRegex(assay.UsageError, words):
                assay.check(function, [draw(2)], result)

    def test_annotations_say_what_is_wrong(self):
        with self.assertRaisesRegex(assay.UsageError, "annotate it with its axes"):
            assay.operator("one")(lambda x: x).data

        def strange(x: "n+1"): return x
        def default(x: "n", *, k=None): return x
        def different(x: "n", y: "m"): return x + y
        def shaped(x: "n"): return x * int(x.shape[0])
        for function, words in ((strange, "'n\\+1' is no axis"),
                                (shaped, "extents that differ from case to case, are not known"),
                                (default, "an attribute has a number as its default"),
                                (different, "axes 'n' and 'm' stand beside each other")):
            with self.subTest(words), self.assertRaisesRegex(assay.UsageError, words):
                assay.operator("one")(function).data
        with self.assertRaisesRegex(assay.UsageError, "no role 'heavy'"):
            assay.operator("one", roles={"x": "heavy"})(lambda x: x)


if __name__ == "__main__":
    unittest.main()
