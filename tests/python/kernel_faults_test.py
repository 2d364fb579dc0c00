# SPDX-License-Identifier: Apache-2.0
"""Sums handed on in few bits, paddings and tables that are off by one, tails, carries, means and labels: what a failing check says of each, and that
it says no such thing of other faults."""
import math
import unittest

import numpy as np

import assay
from full import FULL
from mistakes import attention, rope, softmax

RNG = np.random.default_rng(11)


def normals(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)


def narrow(x):
    return x.astype(np.float32) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x


def cause(op, operands, wrong, **attrs):
    verdict = assay.check(op, operands, narrow(wrong), **attrs)
    assert not verdict.passed_strictly, op
    return verdict.cause or ""


def convolved(x, w, pads, taken=lambda terms: terms.sum(-1)):
    """Sums of terms in the order of channels and taps; `pads`: before and behind each axis."""
    x = np.pad(x, ((0, 0), (0, 0), *pads))
    y = np.empty((1, w.shape[0], x.shape[2] - 2, x.shape[3] - 2))
    for i, j in np.ndindex(y.shape[2:]):
        y[0, :, i, j] = taken((x[0, :, i:i + 3, j:j + 3] * w).reshape(w.shape[0], -1))
    return y


def stored_after(counts, terms):
    """A running sum that is stored in bf16 behind so many terms."""
    total = np.zeros(terms.shape[:-1], np.float32)
    for count, term in enumerate(np.moveaxis(terms, -1, 0), 1):
        total = (total + term).astype(np.float32)
        total = bf16(total) if count in counts else total
    return total


def in_parts(size, terms):
    return sum(bf16(terms[:, i:i + size].sum(-1, dtype=np.float64)) for i in range(0, terms.shape[-1], size))


class Sums(unittest.TestCase):
    X, W, PADS = normals(1, 12, 6, 6), normals(8, 12, 3, 3), ((1, 1), (1, 1))

    def said(self, taken):
        return cause("conv", [self.X, self.W], convolved(self.X, self.W, self.PADS, taken), pad=1)

    def test_sums_that_are_handed_on(self):
        for taken, says in ((lambda t: stored_after({54}, t), "running sums sum(elements(x) * w) rounded to bf16 once, after 54 terms"),
                            (lambda t: stored_after({96}, t), "running sums sum(elements(x) * w) rounded to bf16 once, after 96 terms"),
                            (lambda t: stored_after({36, 72, 108}, t), "running sums sum(elements(x) * w) rounded to bf16 every 36 terms"),
                            (lambda t: in_parts(27, t), "sum(elements(x) * w) in blocks of 27 terms, each rounded to bf16")):
            self.assertEqual(self.said(taken), "the formula with " + says)

    def test_other_sums_are_not_called_so(self):
        for taken in (lambda t: stored_after({20}, t), lambda t: t.sum(-1) + RNG.standard_normal(8) / 100,
                      lambda t: stored_after({23, 91}, t))[:2 + FULL]:
            self.assertNotRegex(self.said(taken), "once|every|blocks")


class Paddings(unittest.TestCase):
    X, W = normals(1, 4, 8, 7), normals(6, 4, 3, 3)

    def test_one_zero_more_on_one_side(self):
        for pads, says in ((((2, 0), (1, 1)), "before images along axis 2, and one less behind"), (((1, 1), (0, 2)), "behind images along axis 3, and one less before"),
                           (((2, 0), (2, 0)), "before images along all axes")):
            self.assertIn(says, cause("conv", [self.X, self.W], convolved(self.X, self.W, pads), pad=1))

    def test_a_shifted_image_is_another_mistake(self):
        shifted = np.zeros_like(self.X)
        shifted[:, :, 1:] = self.X[:, :, :-1]  # whose last row is lost, not in the margin
        shifted[:, :, 0] = self.X[:, :, 0]
        self.assertNotIn("zero more", cause("conv", [self.X, self.W], convolved(shifted, self.W, ((1, 1), (1, 1))), pad=1))


class Tables(unittest.TestCase):
    X, TURNS = normals(1, 8, 2, 16), RNG.uniform(0, 6, (8, 8))

    def said(self, turns):
        tables = [np.cos(self.TURNS).astype("f"), np.sin(self.TURNS).astype("f")]
        return cause("rope", [self.X, *tables], rope(self.X, np.cos(turns), np.sin(turns)))

    def test_angles_of_other_pairs_and_positions(self):
        i = np.arange(8)
        for places, says in ((2 * i % 8, "pair 2 i, round the end, in place of pair i"), (i // 2, "pair i / 2 in place of pair i"), (i % 4, "pair i of each half in place of pair i"),
                             (7 - i, "pair n - 1 - i in place of pair i"), (i - 1, "shifted by 1 along axis 1, round the end")):
            self.assertEqual(self.said(self.TURNS[:, places]), f"the operands cos and sin {'' if 'shifted' in says else 'with '}{says}")
        self.assertEqual(self.said(np.roll(self.TURNS, 1, 0)), "the operands cos and sin shifted by 1 along axis 0, round the end")

    def test_positions_in_bf16(self):
        place, step = np.arange(300), 1e4 ** -(np.arange(8) / 8)
        tables = [table(np.outer(place, step)).astype("f") for table in (np.cos, np.sin)]
        x, turns = normals(1, 300, 1, 16), np.outer(bf16(place), step)
        self.assertEqual(cause("rope", [x, *tables], rope(x, np.cos(turns), np.sin(turns))), "the operands cos and sin of positions in bf16")

    def test_tables_that_do_not_turn_evenly_have_no_later_positions(self):
        """The wrong angles have the mean step of these tables, one position later."""
        cos, sin = np.cos(self.TURNS).astype("f"), np.sin(self.TURNS).astype("f")
        angles, step = np.arctan2(sin.astype(float), cos.astype(float)), np.zeros(8)
        for p, i in np.ndindex(8, 8):
            if p > 0:
                step[i] += math.remainder(angles[p, i] - angles[0, i] - p * step[i], 2 * math.pi) / p
        self.assertEqual(self.said(angles[0] + np.outer(np.arange(8) + 1, step)), "")

    def test_other_angles_have_no_such_name(self):
        for places in (RNG.permutation(8), np.array([0, 2, 4, 6, 7, 7, 7, 6])):
            self.assertEqual(self.said(self.TURNS[:, places]), "")


class Terms(unittest.TestCase):
    def test_tails_that_are_read_elsewhere(self):
        a, b = normals(16, 44).astype(float), normals(44, 24)
        for place, says in ((0, "its first ones"), (12, "as many behind its first ones"), (20, "those before them")):
            wrong = a[:, :32] @ b[:32] + a[:, place:place + 12] @ b[place:place + 12]
            self.assertEqual(cause("matmul", [narrow(a), b], wrong), f"the formula with sum(a * b) with {says} in place of its last 12 terms")
        self.assertEqual(cause("matmul", [narrow(a), b], a[:, :32] @ b[:32] + a[:, 5:17] @ b[7:19]), "")

    def test_a_carry_that_is_lost_once(self):
        x = normals(8, 100)
        for place, says in ((48, "that begins anew at step 48 alone"), (50, None)):
            wrong = np.concatenate([np.cumsum(part.astype(float), 1) for part in (x[:, :place], x[:, place:])], 1)
            found = cause("cumsum", [x], wrong)
            self.assertEqual(found, f"the formula with cumsum(x) {says}") if says else self.assertNotIn("anew", found)

    def test_a_maximum_with_lanes_of_zeros(self):
        x = RNG.integers(-100, 4, (64, 18)).astype(np.int8)
        self.assertEqual(cause("reduce", [x], np.maximum(x.max(1), 0), kind="max", axes=1), "the formula with max(max(x), 0) in place of max(x)")
        other = x.max(1)
        other[[5, 9]] += 3
        self.assertEqual(cause("reduce", [x], other, kind="max", axes=1), "")

    def test_heads_of_larger_operands_are_named_by_a_quick_search(self):
        q, k, v = normals(1, 8, 24, 32), normals(1, 2, 40, 32), normals(1, 2, 40, 32)
        wide = [x.astype(np.float64) for x in (q, k, v)]
        self.assertIn("in turn, not in blocks", cause("attention", [q, k, v], attention(*wide, head_of=lambda head, _: head % 2)))
        self.assertEqual(cause("attention", [q, k, v], attention(*wide, 1.0)), "scale=1")


class FittedConstants(unittest.TestCase):
    def test_a_number_takes_eight_wrong_elements_and_a_hundredth(self):
        for wrong, alpha, says in ((8, 0.0437, "alpha=0.0437"), (7, 0.0437, ""), (8, 0.01005, "")):
            x = np.abs(normals(200))
            x[:7 * wrong:7] *= -1
            self.assertEqual(cause("leaky_relu", [x], np.where(x > 0, x, x * np.float64(alpha)), alpha=0.01), says)


class Means(unittest.TestCase):
    X, GAMMA, BETA = normals(2, 2, 4, 16), normals(2, 4), normals(2, 4)

    def said(self, x, axes):
        distance = x - x.mean(axes, keepdims=True)
        y = distance / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
        return cause("group_norm", [self.X, self.GAMMA, self.BETA], y.reshape(self.X.shape) * self.GAMMA[..., None] + self.BETA[..., None])

    def test_means_along_other_axes(self):
        x = self.X.astype(float)
        for axes, says in (((0, 2, 3), "along one axis more"), ((1, 3), "along another axis in place of one of theirs")):
            self.assertRegex(self.said(x, axes), f"means like it, {says}$")

    def test_the_other_axis_may_be_all_that_is_left(self):
        def centred(x):
            return x - assay.namespace(x).mean(x, axis=(1, 2), keepdims=True)
        x = normals(6, 5, 8)
        self.assertRegex(cause(centred, [x], x - x.mean((0, 2), keepdims=True)), "means like it, along another axis in place of one of theirs$")

    def test_other_groups_have_no_such_name(self):
        self.assertEqual(self.said(self.X.astype(float).reshape(2, 4, 2, 16), (1, 3)), "")


class Labels(unittest.TestCase):
    def test_what_smoothing_spreads(self):
        logits, labels = normals(24, 10), RNG.integers(0, 10, 24)
        labels[::4] = 3
        logs = -np.log(softmax(logits.astype(float)))
        own, total, kept = logs[np.arange(24), labels], logs.sum(1), labels != 3
        for wrong, says in (((0.9 * own + 0.1 * (total - own) / 9) * kept, "the formula with smoothing spread over the other classes alone"),
                            (0.9 * own * kept + 0.01 * total, "the formula with ignored rows in the part that is spread over all classes, too"),
                            ((0.9 * own + 0.1 * total / 7) * kept, None)):
            found = cause("cross_entropy", [logits, labels], wrong, ignore=3, smoothing=0.1, reduction="none")
            self.assertEqual(found, says) if says else self.assertNotRegex(found, "spread")


if __name__ == "__main__":
    unittest.main()
