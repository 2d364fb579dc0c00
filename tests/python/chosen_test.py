#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions whose elements are chosen by places and by their order: chosen_test.py GROUP."""
import unittest

import numpy as np

import assay
import one_wrong_element

RANDOM = np.random.default_rng(8)
X, V, CUBE = RANDOM.standard_normal((6, 9)), RANDOM.standard_normal(9), RANDOM.standard_normal((3, 4, 5))
X[0, 0] = X[0, 1]  # equal numbers
PLACES, OF_ROWS, MATRIX = np.array([4, 0, 4, 2]), RANDOM.integers(0, 9, (6, 3)), RANDOM.integers(0, 4, (2, 3))


def xp(a):
    return assay.namespace(a)


def annotated(**axes):
    def made(function):
        function.__annotations__.update(axes)
        return function
    return made


class Chosen(unittest.TestCase):
    """Golden values are what NumPy computes, and with one other element they are not."""

    def judge(self, functions):
        for number, verdict in one_wrong_element.verdicts(self, functions):
            self.assertEqual(verdict.verdict, "mismatch", number)

    def test_by_places(self):
        self.judge([
            (lambda x, i: xp(x).take(x, i, axis=0), [X, PLACES]), (lambda x, i: xp(x).take(x, i, axis=1) * 2, [X, PLACES]),
            (lambda c, i: xp(c).take(c, i, axis=1), [CUBE, MATRIX]), (lambda v, i: xp(v).take(v, i), [V, PLACES]),
            (lambda x: xp(x).take(x, [3, 1, 1], axis=1), [X]), (lambda x: xp(x).take(x, 2, axis=0), [X]),
            (lambda x, i: xp(x).take(x, i // 2 + i % 2, axis=0), [X, PLACES]),
            (lambda x, i: xp(x).take_along_axis(x, i, axis=1), [X, OF_ROWS]),
            (lambda x, i: xp(x).take_along_axis(x, i[None], axis=-1), [X, PLACES]),
            (lambda x: xp(x).take_along_axis(x, xp(x).argsort(x, axis=1), axis=1), [X]),
            (lambda x, i: xp(x).scatter_add(x, i, xp(x).take(x, i, axis=0) * 0.5, axis=0), [X, PLACES]),
            (lambda x, i: xp(x).scatter_add(x, i, x[:, :4], axis=1), [X, PLACES]),
            (lambda x, i: xp(x).where(xp(x).one_hot(i, 6), 1.0, 0.0) @ x, [X, PLACES])])

    def test_by_order(self):
        self.judge([
            (lambda x: xp(x).sort(x), [X]), (lambda x: xp(x).sort(x, axis=0, descending=True) + x, [X]),
            (lambda x: xp(x).argsort(x), [X]), (lambda x: xp(x).argsort(x, descending=True), [X]),
            (lambda x: xp(x).argmax(x, axis=1), [X]), (lambda x: xp(x).argmin(x, axis=0), [X]), (lambda v: xp(v).argmax(v), [V]),
            (lambda x: xp(x).argmax(x, axis=1, keepdims=True), [X]), (lambda x: xp(x).topk(x, 4)[0], [X]),
            (lambda x: xp(x).topk(x, 2, axis=0, largest=False)[0] * 2, [X]), (lambda x: xp(x).topk(x, 1, axis=0)[0], [X]),
            (lambda x: xp(x).sort(-x), [X])])

    def test_integers_and_places_of_padding(self):
        self.judge([
            (lambda x: x * xp(x).arange(x.shape[1]) + x.shape[0], [X]),
            (lambda x: x * xp(x).arange(9)[None] + xp(x).arange(12, 0, -2)[:, None], [X]),
            (lambda x: xp(x).arange(1, 2) * x, [X]),
            (lambda x: xp(x).pad(x, ((1, 2), (0, 3))), [X]), (lambda x: xp(x).pad(x, ((1, 2), (0, 3)), 1.5), [X]),
            (lambda x: xp(x).pad(x[:1], ((1, 0), (0, 0)), -1), [X]),
            (lambda i: i // 3, [PLACES]), (lambda i: i % 3 + 7, [PLACES]), (lambda i: 9 // (i + 1) + 9 % (i + 2), [PLACES]),
            (lambda i: xp(i).remainder(i, 2) * 5, [PLACES]), (lambda i: xp(i).floor_divide(i - 7, 3), [PLACES]),
            (lambda x: xp(x).floor(x * 3) + xp(x).round(x * 2), [X]), (lambda x: xp(x).astype(xp(x).floor(x * 9), "int32"), [X])])

    def test_nan_is_larger_than_any_number(self):
        x = X.copy()
        x[1, 3] = x[2, 4] = np.nan
        for function in (lambda x: xp(x).sort(x), lambda x: xp(x).sort(x, descending=True), lambda x: xp(x).argmax(x, axis=1),
                         lambda x: xp(x).argmin(x, axis=1), lambda x: xp(x).topk(x, 3)[0]):
            self.assertTrue(assay.check(function, [x], function(x)).passed)

    def test_of_topk_equal_numbers_stand_in_any_order(self):
        def best(x):
            return xp(x).topk(x, 3)
        x = np.round(X * 2)
        values, places = best(x)
        for row in range(6):
            for k in range(2):
                swapped = places.copy()
                swapped[row, [k, k + 1]] = places[row, [k + 1, k]]
                is_tie = values[row, k] == values[row, k + 1]
                self.assertEqual(assay.check(best, [x], [values, swapped.astype(np.int32)]).passed, is_tie)
        twice = places.copy()
        twice[:, 1] = twice[:, 0]
        self.assertEqual(assay.check(best, [x], [values, twice]).verdict, "mismatch")

    def test_places_that_are_none_are_refused(self):
        with self.assertRaisesRegex(assay.UsageError, r"i\[0\] is -1, but places along x_0 are 0 to 5"):
            assay.check(lambda x, i: xp(x).take(x, i, axis=0), [X, PLACES * 0 - 1], X[PLACES])
        with self.assertRaisesRegex(assay.UsageError, r"places\[0,0\] is 4, but places are 0 to 3; give such$"):
            assay.check("sparse_mm", [X[:, :4].astype("f"), np.full((6, 4), 4, "u1"), np.ones((8, 2), "f")], np.ones((6, 2), "f"))

        @assay.operator("by_length", roles={"lengths": "lengths n"})
        @annotated(x="rows n", lengths="rows")
        def by_length(x, lengths):
            return xp(x).where(xp(x).arange(x.shape[1]) < lengths[:, None], x, 0.0)
        lengths = np.array([0, 9, 3, 1, 8, 9])
        right = by_length(X, lengths)
        self.assertTrue(assay.assert_close(by_length, [X, lengths], right))
        self.assertEqual(assay.check(by_length, [X, lengths], by_length(X, np.maximum(lengths - 1, 0))).verdict, "mismatch")
        with self.assertRaisesRegex(assay.UsageError, r"lengths\[1\] is 10, but lengths along n are 0 to 9"):
            assay.check(by_length, [X, lengths + lengths // 9], right)

    def test_an_operator_has_places_of_every_case(self):
        @assay.operator("routed")
        @annotated(x="rows d", w="d e", table="e d")
        def routed(x, w, table):
            score, best = xp(x).topk(x @ w, 3)
            return {"y": xp(x).sum(score[..., None] * xp(x).take(table, best, axis=0), axis=1), "best": best,
                    "half": xp(x).astype(best // 2, "int32")}
        self.assertEqual([one.get("type") for one in routed.data["outputs"]], [None, "i64", "i32"])
        self.assertEqual({one["name"]: one.get("at_least") for one in routed.data["axes"]}["e"], 3)
        arrays = [RANDOM.standard_normal(shape) for shape in ((5, 8), (8, 7), (7, 8))]
        right = routed(*arrays)
        right["half"] = right["half"].astype(np.int32)
        self.assertTrue(assay.assert_close(routed, arrays, right))
        self.assertEqual(assay.check(routed, arrays, dict(right, best=right["best"][:, ::-1])).verdict, "mismatch")
        self.assertEqual(assay.check(routed, arrays, dict(right, y=right["y"] + 1)).verdict, "mismatch")
        with self.assertRaisesRegex(assay.UsageError, "e=2 must be at least 3"):
            assay.check(routed, [arrays[0], arrays[1][:, :2], arrays[2][:2]], {k: v[..., :2] if k != "y" else v for k, v in right.items()})

        @assay.operator("embedding")
        @annotated(table="v d", ids="n")
        def embedding(table, ids):
            return xp(table).take(table, ids, axis=0)
        self.assertIn("bf16-i32-bf16", embedding.data["types"])
        self.assertEqual(embedding.data["inputs"][1], {"name": "ids", "axes": ["n"], "role": "places", "along": "v"})


class NotChosen(unittest.TestCase):
    """Messages name the line, what is wrong and what to do."""

    def test_mistakes(self):
        i = PLACES
        for function, arrays, words in (
                (lambda x, i: x[i], [X, i], "xp.take"), (lambda x: xp(x).take(x, [9], axis=1), [X], "take: 10 elements of an axis of 9"),
                (lambda x: xp(x).take(x, [-1], axis=1), [X], "places are integers from 0"),
                (lambda x: xp(x).take(x, [0.5], axis=1), [X], "places are integers from 0"),
                (lambda x: xp(x).take(x, [], axis=1), [X], "places are integers from 0"), (lambda x, i: xp(x).take(x, i), [X, i], "as axis=0"),
                (lambda x: xp(x).take(x, x[0], axis=0), [X], "in <lambda>: places that are real numbers"),
                (lambda x, i: xp(x).take(x, i / 2, axis=0), [X, i], "may be fractions: .* xp.floor"),
                (lambda x, i: xp(x).take(x[:1], i, axis=0), [X, i], "one element that broadcasts"),
                (lambda x, i: xp(x).take_along_axis(x, i, axis=0), [X, i], "with as many axes"),
                (lambda x, i: xp(x).take(x, i, axis=0) + xp(x).take(x.T, i, axis=0)[:, :6] @ x, [X, i], "i has places along two axes"),
                (lambda x: xp(x).topk(x, 10)[0], [X], "topk: 10 elements of an axis of 9"), (lambda x: xp(x).topk(x, 0)[0], [X], "k=0"),
                (lambda x: xp(x).argmax(x), [X], "one axis, as axis=-1"), (lambda x: xp(x).arange(0) + x, [X], "arange without elements"),
                (lambda x: xp(x).arange(2.5) + x, [X], "give integers"), (lambda x: xp(x).pad(x, 1), [X], "pad: pad_width=1"),
                (lambda x: xp(x).pad(x, ((0, -1), (0, 0))), [X], "before and behind each axis"),
                (lambda x, i: xp(x).scatter_add(x, i, x, axis=0), [X, i], "axes of 6 and of 4|do not broadcast"),
                (lambda x, i: xp(x).scatter_add(x, i, x[:1], axis=1), [X, i], "none broadcasts"),
                (lambda x: xp(x).astype(x, "int32"), [X], "of xp.floor"), (lambda x: x << 1, [X], "this operator is not there")):
            with self.subTest(words), self.assertRaisesRegex(assay.UsageError, words):
                assay.check(function, arrays, X)

    def test_extents_that_differ_are_no_numbers(self):
        for function, words in ((lambda x: x * len(x), "take x.shape\\[0\\]"), (lambda x: x * float(x.shape[0]), "extents that differ"),
                                (lambda x: xp(x).reshape(x, (x.shape[0],)), "extents are integers"),
                                (lambda x: xp(x).arange(x.shape[0] * 2) + x, "compute with what that returns"),
                                (lambda x: xp(x).pad(x, ((0, 1),)), "pad along axis n, whose extent differs")):
            with self.subTest(words), self.assertRaisesRegex(assay.UsageError, words):
                assay.operator("one")(annotated(x="n")(function)).data

    def test_roles_say_what_they_need(self):
        for role in ("places", "heavy", "data n", "heavy n"):
            with self.assertRaisesRegex(assay.UsageError, f"no role '{role}' of x; .* as \"places n\""):
                assay.operator("one", roles={"x": role})(lambda x: x)
        with self.assertRaisesRegex(assay.UsageError, "role of x: 'n\\+1' is no axis"):
            assay.operator("one", roles={"x": "places n+1"})(annotated(x="n")(lambda x: x)).data


if __name__ == "__main__":
    unittest.main()
