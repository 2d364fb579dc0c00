#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators that are Python functions: definitions_test.py GROUP. The program is $ASSAY_PROGRAM."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

import assay
import one_wrong_element
from assay import _define, _namespace

RANDOM = np.random.default_rng(5)
GUIDE = pathlib.Path(__file__).resolve().parents[2] / "harness/python/DEFINITIONS.md"


def draw(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def rms_norm(x, gamma):
    xp = assay.namespace(x)
    return x * xp.rsqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * gamma


def softmax_backward(y, dy):
    return y * (dy - assay.namespace(y).sum(y * dy, axis=-1, keepdims=True))


def attention(q, k, v):
    xp = assay.namespace(q)
    return xp.matmul(xp.softmax(q @ k.T * 0.125, axis=-1), v)


@assay.operator("gated", roles={"bias": "offset"})
def gated(x: "rows 2*n", bias: "n", *, slope: float = 1.5):
    """Halves of a row, one of which gates the other."""
    xp = assay.namespace(x)
    gate, up = xp.split(x, 2, axis=-1)
    return gate * xp.sigmoid(slope * gate) * up + bias


class Traced(unittest.TestCase):
    def test_the_bound_and_the_golden_value_are_those_of_the_operator_in_cpp(self):
        x, gamma, positive = draw(9, 70), draw(70), abs(draw(9, 70))
        cases = [("rms_norm", rms_norm, [x, gamma], rms_norm(x, gamma)),
                 ("softmax_backward", softmax_backward, [positive, x], softmax_backward(positive, x))]
        for name in ("exp", "tanh", "erf", "sin", "cos", "rsqrt", "log", "gelu"):
            flat = abs(draw(500)) + np.float32(0.1)
            function = getattr(assay.namespace(flat), name)
            cases.append((name, lambda x, name=name: getattr(assay.namespace(x), name)(x), [flat], function(flat)))
        for name, function, inputs, output in cases:
            with self.subTest(name):
                stated = assay.check(name, inputs, output).to_dict()
                traced = assay.check(function, inputs, output).to_dict()
                for key in ("verdict", "class", "worst_elements", "bound_margin", "stat_margin", "contract", "flops"):
                    self.assertEqual(stated[key], traced[key], key)

    def test_twenty_operations_are_traced_bound_and_judged_within_five_milliseconds(self):
        def chain(x, g):
            xp = assay.namespace(x)
            y = x * xp.rsqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * g
            a = xp.silu(y) + xp.tanh(y)
            b = xp.exp(a - xp.max(a, axis=-1, keepdims=True))
            c = b / xp.sum(b, axis=-1, keepdims=True)
            return xp.where(c > 0.1, xp.sqrt(c), c * c) + xp.maximum(y, 0.0) * 0.5 - xp.abs(x)
        x, g = draw(3, 4), draw(4)
        self.assertGreaterEqual(len(_define.trace_plain(chain, [("x", (3, 4)), ("g", (4,))], {}, None)["nodes"]), 20)
        y, times = chain(x, g), []
        for constant in range(40):  # which makes another operator
            began = time.process_time()
            verdict = assay.check(lambda x, g: chain(x, g) + constant, [x, g], y + np.float32(constant))
            times.append(time.process_time() - began)
            self.assertNotEqual(verdict.verdict, "mismatch")
        self.assertLess(min(times), 5e-3)

    def test_right_results_of_numpy_pass_and_wrong_ones_do_not(self):
        q, k, v = draw(10, 64), draw(20, 64), draw(20, 8)
        y = attention(q, k, v)
        self.assertTrue(assay.assert_close(attention, [q, k, v], y, strict=True).passed)
        self.assertTrue(assay.assert_close(lambda x: x @ x.T, [q], q @ q.T))
        self.assertTrue(assay.assert_close(lambda x, bias: assay.namespace(x).relu(x + bias), {"bias": draw(1, 64) * 0, "x": q},
                                           np.maximum(q, 0)))
        lost = attention(q, k[:-1], v[:-1])
        with self.assertRaisesRegex(assay.Mismatch, "mismatch: attention_[0-9a-f]{8} f32"):
            assay.assert_close(attention, [q, k, v], lost)
        with self.assertRaises(assay.Mismatch):
            assay.assert_close(rms_norm, [q, v[:, 0].repeat(4)[:64]], rms_norm(q, v[:, 0].repeat(4)[:64]) * np.float32(1.00001))

    def test_an_operator_has_attributes_and_axes_that_are_multiples(self):
        x, bias = draw(6, 32), draw(16)
        half = x[:, :16]
        y = half / (1 + np.exp(-2 * half)) * x[:, 16:] + bias
        self.assertTrue(assay.assert_close(gated, [x, bias], y, slope=2))
        with self.assertRaises(assay.Mismatch):
            assay.assert_close(gated, [x, bias], y)
        schema = assay.operators()["gated"]
        self.assertEqual((schema["doc"], schema["inputs"]), ("Halves of a row, one of which gates the other.", ["x", "bias"]))

    def test_outputs_may_be_several(self):
        def normalised(x):
            xp = assay.namespace(x)
            mean = xp.mean(x, axis=-1)
            return {"y": x - mean[:, None], "mean": mean}
        x = draw(4, 50)
        self.assertTrue(assay.assert_close(normalised, [x], {"y": x - x.mean(1, keepdims=True), "mean": x.mean(1)}))

    def test_logsumexp_of_infinities_is_that_of_the_operator(self):
        def summed(x):
            return assay.namespace(x).logsumexp(x, axis=-1)
        rows = np.array([[np.inf, 1, 2], [np.inf, -np.inf, 0], [-np.inf, 1, 2], [1, 2, 3], [-np.inf] * 3, [np.nan, 1, 2]], np.float32)
        with np.errstate(invalid="ignore"):
            right = summed(rows)
        for y, verdict in ((right, "pass"), (np.where(np.isinf(right), np.nan, right).astype(np.float32), "mismatch")):
            self.assertEqual(assay.check(summed, [rows], [y]).verdict, verdict, y)
            self.assertEqual(assay.check("reduce", [rows], [y], axis=1, kind="logsumexp").verdict, verdict, y)


class Chains(unittest.TestCase):
    """Errors of a number that two operands follow from are in both, and powers of integers may be products."""

    def test_squares_of_squares(self):
        for count in (4, 7, 9):
            def squares(x, count=count):
                for _ in range(count):
                    x = x * x
                return x
            for seed in range(4):
                x = np.random.default_rng(seed).uniform(0.95, 1.05, (30, 40)).astype(np.float32)
                chain = lambda x: squares(x, count)
                self.assertTrue(assay.check(chain, [x], squares(x, count)).passed_strictly, (count, seed))
                self.assertFalse(assay.check(chain, [x], squares(x, count) * np.float32(1 + 2.0**-10)).passed, (count, seed))

    def test_a_power_is_a_product(self):
        for n in (12, 16, 32):
            for seed in range(4):
                x = np.random.default_rng(seed).uniform(0.5, 1.5, (30, 40)).astype(np.float32)
                product = np.ones_like(x)
                for _ in range(n):
                    product = product * x
                self.assertTrue(assay.check(lambda x: x**n, [x], product).passed, (n, seed))
                self.assertFalse(assay.check(lambda x: x**n, [x], product * x).passed, (n, seed))

    def test_many_squares_take_no_memory(self):
        x = np.ones((2, 3), np.float32)

        def squares(x):
            for _ in range(60):
                x = x * x
            return x
        assay.check(squares, [x], x)


class SameNumbers(unittest.TestCase):
    """Golden values of traced functions are what NumPy computes in doubles."""

    def test_of_arrays_that_share_axes(self):
        u, v = RANDOM.standard_normal((2, 9))
        x, square, batch = RANDOM.standard_normal((4, 5)), RANDOM.standard_normal((5, 5)), RANDOM.standard_normal((4, 5, 6))
        column = RANDOM.standard_normal((7, 1)) * 1000

        def xp(a):
            return assay.namespace(a)
        functions = [
            (lambda u, v: xp(u).sum(u[:, None] * v[None, :], axis=1) + u * v, [u, v]),
            (lambda u, v: xp(u).sum(u[:, None] * v[None, :]) + u * v, [u, v]),
            (lambda u, v: u[:, None] * v + v[:, None] * u, [u, v]),
            (lambda x, w: x + x @ w, [x, square]),
            (lambda x, w: xp(x).sigmoid(x @ w) * x, [x, square]),
            (lambda w: w @ w @ w, [square]),
            (lambda w: w + w.T, [square]),
            (lambda w: w * w.T - w, [square]),
            (lambda w: xp(w).sum(w[:, None] * w.T[None], axis=-1) + w, [square]),
            (lambda x: xp(x).sum((x[:, None] - x[None])**2, axis=-1) @ x, [x]),
            (lambda u: u[:, None, None] * u[None, :, None] - u, [u]),
            (lambda x: xp(x).softmax(x @ x.T, axis=-1) @ x, [x]),
            (lambda y, x: (x @ x.T) @ y, [RANDOM.standard_normal((4, 3)), x]),
            (lambda x, y: (x @ x.T) + y[None, :], [x, RANDOM.standard_normal(4)]),
            (lambda x, y: xp(x).sum(x[:, None, :] @ (y * x[:, :, None]), axis=(0, 1)), [x, batch]),
            (lambda c: xp(c).logsumexp(c, axis=-1), [column]),
            (lambda c, y: xp(c).softmax(c, axis=-1) * y, [column, RANDOM.standard_normal((7, 3))]),
            (lambda c, y: xp(c).log_softmax(c, axis=-1) + y, [column, RANDOM.standard_normal((7, 3))]),
            (lambda x: xp(x).log_softmax(x, axis=-1), [x + 1000]),
            (lambda x: xp(x).cumulative_sum(x), [x]),
            (lambda x: xp(x).var(x, axis=(0, 1)) + x, [x]),
            (lambda x: xp(x).std(x, axis=-2, keepdims=True) * x, [x]),
            (lambda b, w: b @ w, [batch, RANDOM.standard_normal((6, 3))]),
            (lambda b, c: b @ c, [batch, RANDOM.standard_normal((4, 6, 2))]),
            (lambda w, v: w @ v, [x, RANDOM.standard_normal(5)]),
            (lambda x: np.float64(2) * x + np.sqrt(2) * x, [x]),
            (lambda t0: t0 * 2 + 1, [x]),
            (lambda x: 1 - x + 2 / x - x / 3, [x]),
            (lambda x: 2**x + abs(x)**1.5 + x**3, [x]),
            (lambda x, w: xp(x).where(x > 0.3, w, -x) + xp(x).where(x < 0, 2.0, x), [x, RANDOM.standard_normal(5)]),
            (lambda x: xp(x).maximum(x, 0.1) - xp(x).minimum(x, 0.2) * xp(x).where(xp(x).greater(x, 0), 2.0, 3.0), [x]),
            (lambda x: xp(x).max(x, axis=0) - xp(x).min(x, axis=0) + xp(x).prod(x, axis=0), [x]),
            (lambda x: xp(x).expand_dims(xp(x).mean(x, axis=1), 1) + xp(x).relu(x) + xp(x).silu(x) + xp(x).square(x), [x]),
            (lambda x: xp(x).gelu(x, approximate="tanh") + xp(x).log1p(abs(x)) + xp(x).sqrt(abs(x)), [x]),
            (lambda b: xp(b).permute_dims(b, (0, -1, 1)) * 3, [batch])]
        self.judge(functions)

    def judge(self, functions):
        """NumPy's result passes, and with one wrong element it does not."""
        for number, verdict in one_wrong_element.verdicts(self, functions):
            self.assertFalse(verdict.passed, number)

    def test_of_conditions(self):
        x = RANDOM.standard_normal((4, 5))
        x[0, 0], x[1, 1], x[2, 2], x[3, 3] = 0.5, np.nan, np.inf, 0
        y = np.where(x < 0.7, x, 1.0)
        mask = y > 0.1

        def xp(a):
            return assay.namespace(a)
        self.judge([
            (lambda x, y: x == y, [x, y]), (lambda x, y: x != y, [x, y]), (lambda x, y: x <= y, [x, y]),
            (lambda x, y: x >= y, [x, y]), (lambda x: 0.5 >= x, [x]), (lambda x: 0.5 != x, [x]),
            (lambda x, y: xp(x).less_equal(x, y) | xp(x).greater_equal(y, 2.0), [x, y]),
            (lambda x, y: xp(x).equal(x, y) ^ xp(x).not_equal(y, 1.0), [x, y]),
            (lambda x, y: xp(x).where((x >= y) & ~(x > 0) | (x == 0.5), x, y), [x, y]),
            (lambda x, y: xp(x).where(x > y, x > 0, y > 0) & (x < 2), [x, y]),
            (lambda x, y: xp(x).logical_and(x, y > 0), [x, y]),
            (lambda x, y: xp(x).logical_or(x > 0, xp(x).logical_not(y)), [x, y]),
            (lambda x: xp(x).where(xp(x).isnan(x), 0.0, x), [x]),
            (lambda x: xp(x).where(xp(x).isinf(x), 7.0, x), [x]),
            (lambda x: xp(x).where(xp(x).isfinite(x), x, 7.0), [x]),
            (lambda x: xp(x).clip(x, -0.5, 0.4), [x]), (lambda x: xp(x).clip(x, None, 0.4), [x]),
            (lambda x: xp(x).clip(x, min=-0.5) * xp(x).clip(x, max=0.4), [x]),
            (lambda x, y: xp(x).clip(x, -0.5 * y, None), [x, y]),
            (lambda x: xp(x).maximum(xp(x).minimum(x, 0.3), -0.3), [x]),
            (lambda x, y: xp(x).fmax(x, y) - xp(x).fmin(y, 0.5), [x, np.flip(y)]), (lambda x: xp(x).fmin(0.3, x), [x]),
            (lambda x: xp(x).any(x > 1, axis=1), [x]), (lambda x: xp(x).all(x < 1, axis=0), [x]),
            (lambda x: xp(x).sum(x > 0, axis=1), [x]),
            (lambda x: 18 - (xp(x).where(x < 1, 1, 0) + xp(x).where(x < 2, 1, 0)), [np.array([18, 0, 1, 255], np.uint8)]),
            (lambda m, x: xp(x).where(m, x, 0.0), [mask, x]),
            (lambda m, x: xp(x).where(~m & (x < 0.1), x, 0.0), [mask, x]),
            (lambda m: xp(m).sum(m, axis=0), [mask])])

    def test_nan_wins_in_maximum_and_loses_in_fmax(self):
        x = np.array([[1, np.nan, np.nan], [np.nan, -np.inf, 5]], np.float32)
        y = np.array([[2, 3, np.nan], [-7, np.nan, np.inf]], np.float32)
        for propagates, ignores in (("maximum", "fmax"), ("minimum", "fmin")):
            for stated, computed in ((propagates, ignores), (ignores, propagates)):
                stated_of = lambda x, y: getattr(assay.namespace(x), stated)(x, y)
                self.assertTrue(assay.check(stated_of, [x, y], getattr(np, stated)(x, y)).passed_strictly, stated)
                self.assertEqual(assay.check(stated_of, [x, y], getattr(np, computed)(x, y)).verdict, "mismatch", stated)
        scaled = lambda x, y: assay.namespace(x).fmax(x * 1.7, assay.namespace(x).exp(y))  # of numbers with errors of their own
        with np.errstate(all="ignore"):
            self.assertTrue(assay.check(scaled, [x, y], np.fmax(x * np.float32(1.7), np.exp(y))).passed)

    def test_operands_may_be_conditions(self):
        @assay.operator("masked", types=["f32-i8-f32"], roles={"mask": "condition"})
        def masked(x: "rows n", mask: "rows n"):
            xp = assay.namespace(x)
            return xp.where(mask, x, 0.0) + xp.sum(xp.logical_not(mask), axis=-1, keepdims=True)
        x, mask = draw(4, 6), draw(4, 6) > 0
        self.assertTrue(assay.assert_close(masked, [x, mask], masked(x, mask).astype(np.float32)))
        self.assertEqual(assay.check(masked, [x, ~mask], masked(x, mask).astype(np.float32)).verdict, "mismatch")

    def test_integers_are_exact_beyond_double_and_wrap_around(self):
        x = np.array([[2**60 + 1, 5, 2**60 + 3, -2**62], [2**62, 2**62, 1, 7]], np.int64)
        narrow = np.array([100, -100, 77], np.int8)
        for function, given, right in (
                (lambda x: assay.namespace(x).cumulative_sum(x, axis=-1), x, np.cumsum(x, -1)),
                (lambda x: assay.namespace(x).max(x, axis=-1), x, x.max(-1)), (lambda x: x * 3 - x, x, x * 3 - x),
                (lambda x: x * 3 - x, narrow, narrow * np.int8(3) - narrow),
                (lambda x: x * 3 - x, narrow.astype(np.int16), narrow.astype(np.int16) * np.int16(2))):
            self.assertEqual(assay.check(function, [given], right).class_, "bit_exact")
            wrong = right.copy()
            wrong.flat[0] += 1
            self.assertEqual(assay.check(function, [given], wrong).verdict, "mismatch")
        for function, result in ((lambda x: x * 2.5, x), (lambda x: assay.namespace(x).where(x == 5, 1.0, 0.0), x * 1.0)):
            with self.assertRaisesRegex(assay.UsageError, r"x\[0,0\] is 1152921504606846977, beyond 2\^53"):
                assay.check(function, [x], result)

    def test_constants_beyond_double_are_integers(self):
        x = np.array([5, -2**60, 2**60 + 1], np.int64)
        for function, right in ((lambda x: x + (2**60 + 1), x + (2**60 + 1)),
                                (lambda x: assay.namespace(x).where(x == 2**60 + 1, 1, 0), np.array([0, 0, 1]))):
            self.assertEqual(assay.check(function, [x], right).class_, "bit_exact")
            for off in (-100, -1, 1, 100):
                self.assertEqual(assay.check(function, [x], right + off).verdict, "mismatch")

    def test_integers_that_wrap_before_a_comparison_or_a_wider_type_are_open(self):
        def positive(a, b):
            return assay.namespace(a).maximum(a + b, 0)

        def products(a, b):
            return assay.namespace(a).sum(a * b, axis=-1, keepdims=True)
        a, b = np.array([[100, 5, -7]], np.int8), np.array([[100, 6, 7]], np.int8)
        wide = [a.astype(np.int32), b.astype(np.int32)]
        right = positive(a, b)
        self.assertEqual(right.tolist(), [[0, 11, 0]])
        self.assertTrue(assay.check(positive, [a, b], right).passed)
        self.assertTrue(assay.check(positive, [a, b], np.array([[-56, 11, 0]], np.int8)).passed)
        self.assertEqual(assay.check(positive, [a, b], np.array([[0, 12, 0]], np.int8)).verdict, "mismatch")
        self.assertEqual(assay.check(positive, wide, positive(*wide) * 0).verdict, "mismatch")
        self.assertTrue(assay.check(products, wide, products(*wide)).passed)
        nothing = assay.check(products, [a, b], products(a, b))
        self.assertEqual(nothing.verdict, "inconclusive")
        self.assertIn("promises nothing for 1 of 1 results", nothing.reason)
        self.assertEqual(assay.check(products, [a[:, 1:], b[:, 1:]], np.array([[-18]])).verdict, "mismatch")

    def test_of_elements_elsewhere(self):
        x, y, z = RANDOM.standard_normal((4, 6)), RANDOM.standard_normal((4, 3)), RANDOM.standard_normal((4, 6))
        cube, square = RANDOM.standard_normal((2, 3, 4)), RANDOM.standard_normal((5, 5))

        def xp(a):
            return assay.namespace(a)

        def interleaved_rope(x, c, s):
            a, b = x[:, ::2], x[:, 1::2]
            return xp(x).stack([a * c - b * s, a * s + b * c], axis=-1).reshape(4, 6)
        self.judge([
            (lambda x: x[:, 1:4] * 2, [x]), (lambda x: x[:, :3] * x[:, 3:], [x]), (lambda x: x[:, 1:] - x[:, :-1], [x]),
            (lambda x: x[1], [x]), (lambda x: x[-1, 2:] + x[0, :4], [x]), (lambda x: x[2, 3] + x, [x]),
            (lambda x: x[:, ::-1] + x, [x]), (lambda x: x[:, ::-2], [x]), (lambda x: x[1:2] * x, [x]),
            (lambda x: x[:, 2:3], [x]), (lambda x: x[..., None, 3], [x]), (lambda x: x[0, None, ..., 1:], [x]),
            (lambda x: ((x > 0)[:, 1:]) & (x[:, :-1] > 0), [x]),
            (lambda x: xp(x).flip(x, axis=0) - x, [x]), (lambda x: xp(x).flip(x), [x]),
            (lambda x: xp(x).roll(x, 2, axis=1) * x, [x]), (lambda x: xp(x).roll(x, -1, axis=0), [x]),
            (lambda x, y: xp(x).concat([x, y], axis=1), [x, y]), (lambda x, y: xp(x).concat([x, y, 2 * x], axis=-1), [x, y]),
            (lambda x, z: xp(x).concat([x, z], axis=0) @ xp(x).concat([x, z], axis=0).T, [x, z]),
            (lambda x, z: xp(x).concat([x, z[:1]], axis=0), [x, z]),
            (lambda x, z: xp(x).stack([x, z, x * z], axis=1), [x, z]), (interleaved_rope, [x, y, 2 * y]),
            (lambda x: x.reshape(2, 2, 6) * 1.0, [x]), (lambda x: x.reshape(-1), [x]), (lambda x: x.reshape((3, 8)) + 1, [x]),
            (lambda x: xp(x).sum(x.reshape(4, 2, 3), axis=-1), [x]), (lambda x: xp(x).reshape(x, (2, -1)) * 2, [x]),
            (lambda x: xp(x).softmax(x.reshape(4, 3, 2), axis=1).reshape(4, 6), [x]),
            (lambda c: xp(c).permute_dims(c, (1, 0, 2)).reshape(3, 8), [cube]), (lambda c: c.reshape(1, 6, 1, 4) * 2, [cube]),
            (lambda x: x + x.reshape(6, 4).T, [x]),
            (lambda x: xp(x).split(x, 3, axis=1)[1] + xp(x).split(x, 3, axis=1)[2], [x]),
            (lambda s: xp(s).tril(s) + xp(s).triu(s, 1) * 2, [square]), (lambda x: xp(x).tril(x, -1), [x]),
            (lambda x: xp(x).tril(x[:1]) + xp(x).triu(x[:, :1], 0), [x]), (lambda x: (x > 0).astype(bool) & (x < 1), [x]),
            (lambda x: xp(x).where(x.astype(bool), x, 1.0), [x * (x > 0)]), (lambda x: xp(x).astype(x > 0, np.float64) * x, [x]),
            (lambda x: (x > 0).astype(np.float64) * x, [x])])

    def test_of_elements_elsewhere_in_every_case(self):
        @assay.operator("elsewhere")
        def elsewhere(x: "rows 2*n", y: "rows n", w: "4 n"):
            xp = assay.namespace(x)
            even, odd = x[:, ::2], x[:, 1::2]
            both = xp.concat([even * y, odd], axis=1) + x[:, ::-1]
            return {"both": both, "part": (x[0] - x[-1]) * 2.0, "products": w[1] * w[3]}
        for rows, n in ((3, 5), (1, 1), (2, 7)):
            x, y, w = draw(rows, 2 * n), draw(rows, n), draw(4, n)
            right = elsewhere(x, y, w)
            self.assertTrue(assay.check(elsewhere, [x, y, w], right).passed, (rows, n))
            wrong = dict(right, both=right["both"] + np.float32(1))
            self.assertEqual(assay.check(elsewhere, [x, y, w], wrong).verdict, "mismatch")
        with self.assertRaisesRegex(assay.UsageError, "whose extent differs from case to case"):
            assay.operator("beyond")(self.annotated(lambda x: x[:, 1:])).data
        with self.assertRaisesRegex(assay.UsageError, "reshape along axis rows"):
            assay.operator("beyond")(self.annotated(lambda x: x.reshape(2, -1))).data

    @staticmethod
    def annotated(function):
        function.__annotations__["x"] = "rows n"
        return function

    def test_astype_may_round(self):
        def stored(x):
            return (x * 1.1).astype(np.float16).astype(np.float32) * 2
        x = draw(8, 16)
        for y in (stored(x), x * np.float32(2.2)):
            self.assertTrue(assay.check(stored, [x], y).passed)
        self.assertEqual(assay.check(stored, [x], x * np.float32(2.21)).verdict, "mismatch")

    def test_of_which_a_condition_may_be_either_way(self):
        def band(x, w):
            y = x @ w
            return assay.namespace(x).where((y > 0.3) & (y <= 2), y * y, -y)
        x, w = draw(64, 32), draw(32, 16)
        self.assertTrue(assay.assert_close(band, [x, w], band(x, w)))
        near = np.float32([0.1, 0.1, 0.1])
        for right in (5, 0.3):  # 0.1 + 0.2 < 0.3 in some arithmetic, and not in another
            result = np.float32([right, 0.3, 0.3])
            verdict = assay.check(lambda a, b: assay.namespace(a).where(a + b < 0.3, 5.0, a + b), [near, near * 2], result)
            self.assertNotEqual(verdict.verdict, "mismatch")

    def test_results_may_have_axes_of_one_element(self):
        x, column = RANDOM.standard_normal((4, 5)), RANDOM.standard_normal((4, 1))

        def xp(a):
            return assay.namespace(a)
        self.judge([
            (lambda x: xp(x).sum(x, axis=-1, keepdims=True), [x]), (lambda x: xp(x).mean(x, axis=0, keepdims=True), [x]),
            (lambda x: xp(x).max(x, axis=(0, 1), keepdims=True), [x]), (lambda x: x[:, None] * 2, [x]),
            (lambda x: x * 2, [x[:1]]), (lambda c: c * c, [column]), (lambda x: x[None, None], [x]),
            (lambda c, x: xp(c).sum(c * x, axis=0, keepdims=True).T, [column, x])])

        @assay.operator("kept")
        def kept(x: "rows 4 n", w: "4 1"):
            return {"y": xp(x).sum(x * w, axis=1, keepdims=True), "most": xp(x).max(x, axis=-1, keepdims=True)}
        x, w = draw(3, 4, 5), draw(4, 1)
        self.assertTrue(assay.assert_close(kept, [x, w], kept(x, w)))
        self.assertEqual(assay.check(kept, [x, w], {"y": kept(x, w)["y"] + 1, "most": x.max(-1, keepdims=True)}).verdict, "mismatch")
        with self.assertRaisesRegex(assay.UsageError, "expected 3x4x5"):
            assay.check(kept, [draw(3, 3, 5), w], {"y": draw(3, 1, 5), "most": draw(3, 3, 1)})

    def test_an_operator_may_have_square_matrices_and_attend_to_itself(self):
        @assay.operator("self_attention")
        def attend(x: "s d", wq: "d d", wk: "d d", wv: "d d"):
            q, k, v = x @ wq, x @ wk, x @ wv
            return assay.namespace(x).softmax(q @ k.T, axis=-1) @ v + x
        arrays = [draw(6, 8), *(draw(8, 8) / 8 for _ in range(3))]
        self.assertTrue(assay.assert_close(attend, arrays, attend(*arrays)))
        self.assertFalse(assay.check(attend, arrays, attend(*arrays) - arrays[0]).passed)

    def test_types_may_differ_and_a_definition_may_change(self):
        x, gamma = draw(8, 16), draw(16).astype(np.float64)
        self.assertTrue(assay.check(lambda x, g: x * g, [x, gamma], (x * gamma).astype(np.float32)).passed)
        for factor in (2.0, 3.0):
            edited = assay.operator("edited")(lambda x: x)
            edited.function.__annotations__["x"] = "rows n"
            edited.function = (lambda f: lambda x: x * f)(factor)
            edited.function.__annotations__["x"] = "rows n"
            self.assertTrue(assay.check(edited, [x], x * np.float32(factor)).passed)

    def test_threads_may_judge_formulas(self):
        from concurrent.futures import ThreadPoolExecutor
        x = draw(4, 8)

        def judge(number):
            return assay.check(lambda x: x * float(number), [x], x * np.float32(number)).passed and \
                assay.check("matmul", [x, x.T.copy()], x @ x.T).passed
        with ThreadPoolExecutor(4) as pool:
            self.assertTrue(all(pool.map(judge, range(40))))


class Masked(unittest.TestCase):
    def test_a_row_that_is_masked_altogether_is_judged(self):
        """By a constant that the arithmetic holds."""
        def masked(x):
            xp = assay.namespace(x)
            return xp.softmax(xp.where(x > 9, x, -2.0 ** 100), axis=-1)
        x = draw(128, 8)
        x[1:] += 20
        y = masked(x)
        self.assertTrue(assay.check(masked, [x], y).passed)
        y[0] = np.eye(8)[0]
        self.assertEqual(assay.check(masked, [x], y).verdict, "mismatch")

    def test_no_sign_of_a_computed_zero_is_promised(self):
        x = np.array([[-0.0, 1.0], [0.0, -0.0]], np.float32)
        with np.errstate(divide="ignore"):
            for function in (lambda x: 1 / x, lambda x: 1 / x[:, 0], lambda x: 1 / assay.namespace(x).roll(x, 1, axis=1),
                             lambda x: 1 / assay.namespace(x).cumulative_sum(x, axis=1), lambda x: 1 / (x - abs(x)),
                             lambda x: 1 / assay.namespace(x).max(x, axis=0), lambda x: 1 / assay.namespace(x).sqrt(x * x)):
                for y in (function(x), function(x.astype(np.float64))):
                    self.assertNotIn(assay.check(function, [x.astype(y.dtype)], y).verdict, ("mismatch", "below_contract"))
            self.assertEqual(assay.check(lambda x: 1 / x, [x], 1 / abs(x)).verdict, "mismatch")


class DefinedRuns(unittest.TestCase):
    """The guide's example as a stranger types it."""

    def test_the_guide_has_all_functions(self):
        listed = re.search(r"`(abs acos\s.*?)`", GUIDE.read_text(encoding="utf-8"), re.S).group(1).split()
        self.assertEqual(sorted(listed), _namespace.names())

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.dir = pathlib.Path(self.folder.name)
        for block in GUIDE.read_text(encoding="utf-8").split("```python\n")[1:]:
            code = block.split("```")[0]
            if code.startswith(("# my_", "# test_")):
                (self.dir / code.split()[1]).write_text(code, encoding="utf-8")

    def assay(self, code, *words):
        done = subprocess.run([os.environ["ASSAY_PROGRAM"], *words], cwd=self.dir, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_the_guides_kernels_are_judged_by_the_guides_definition(self):
        self.assertIn("swiglu_norm", self.assay(0, "define", "my_ops.py", "-o", "my_ops.json"))
        for number, file in enumerate(("my_ops.py", "my_ops.json")):
            self.assertIn("gamma", self.assay(0, "list", "ops", "swiglu_norm", "--verbose", "--operators", file))
            self.assay(1, "run", "--operators", file, "--kernels", "my_kernels.py", "--backend", "my_kernels", "--python",
                       sys.executable, "--case", "swiglu_norm/f32/rows=64,n=256,h=128/fill=normal/seed=0", "--no-perf",
                       "--out", f"out{number}")
            records = [json.loads(line) for line in (self.dir / f"out{number}/results.jsonl").read_text().splitlines()]
            verdicts = {r["implementation"]: r["verdict"] for r in records}
            self.assertEqual(verdicts["wrong_eps"], "mismatch")
            self.assertIn(verdicts["fused"], ("pass", "inconclusive"))
            self.assertIn("--operators", records[0]["reproduce"])

    def test_a_twin_leaves_open_what_the_bound_leaves_open(self):
        """Sums of tanh of numbers with random signs cancel to whatever the order of work makes of them, and they divide."""
        (self.dir / "open_ops.py").write_text(
            "import assay\n"
            "@assay.operator('normed', types=['f32'])\n"
            "def normed(q: 'n d', k: 'm d', v: 'm'):\n"
            "    xp = assay.namespace(q)\n"
            "    weights = xp.softmax(q @ xp.permute_dims(k, (1, 0)), axis=-1)\n"
            "    return xp.sum(weights * v, axis=-1) / xp.sum(xp.tanh(q), axis=-1)\n")
        (self.dir / "open_kernels.py").write_text(
            "import numpy as np\nimport assay\n"
            "def normed(q, k, v, terms):\n"
            "    scores = (q[:, None, :terms].astype(float) * k[:, :terms]).sum(-1)\n"
            "    weights = np.exp(scores - scores.max(-1, keepdims=True))\n"
            "    total = np.zeros(len(q), np.float32)\n"
            "    for i in range(q.shape[1])[::-1]: total += np.tanh(q[:, i])\n"
            "    with np.errstate(all='ignore'):\n"
            "        return (weights @ v.astype(float) / weights.sum(-1) / total).astype(np.float32)\n"
            "for name, terms in (('right', None), ('loses_a_term', -1)):\n"
            "    assay.kernel('normed', dtypes=['f32'], contract='f32acc;math=4', name=name)(\n"
            "        lambda q, k, v, terms=terms: normed(q, k, v, terms))\n")
        self.assay(1, "run", "--operators", "open_ops.py", "--kernels", "open_kernels.py", "--backend", "open_kernels", "--python",
                   sys.executable, "--case", "normed/f32/n=64,d=10,m=9/fill=normal/seed=0", "--no-perf", "--out", "open")
        records = [json.loads(line) for line in (self.dir / "open/results.jsonl").read_text().splitlines()]
        verdicts = {r["implementation"]: r["verdict"] for r in records}
        self.assertIn(verdicts["right"], ("pass", "inconclusive"), records[0]["reason"])
        self.assertEqual(verdicts["loses_a_term"], "mismatch")

    def test_the_guides_test_runs_in_pytest(self):
        import importlib.util
        if importlib.util.find_spec("pytest") is None:
            self.skipTest("pytest is not installed (Debian: python3-pytest)")
        for wrong in (False, True):
            test = (self.dir / "test_fused.py").read_text()
            (self.dir / "test_fused.py").write_text(test.replace('float(assay_case.attrs["eps"])', "1e-3") if wrong else test)
            done = subprocess.run([sys.executable, "-m", "pytest", "-p", "assay.pytest_plugin", "-p", "no:cacheprovider", "-v",
                                   "test_fused.py"], cwd=self.dir, capture_output=True, text=True, timeout=240)
            self.assertEqual(done.returncode, int(wrong), done.stdout + done.stderr)
            self.assertRegex(done.stdout, r"test_fused.py::test_fused\[swiglu_norm/f32/rows=")

    def test_a_definition_is_traced_by_the_interpreter_that_is_named(self):
        named = self.dir / "python"
        named.write_text(f"#!/bin/sh\ntouch {self.dir}/was_asked\nexec {sys.executable} \"$@\"\n")
        named.chmod(0o755)
        for number, words in enumerate((("list", "ops", "swiglu_norm"), ("list", "cases", "--op", "swiglu_norm"),
                                        ("run", "--case", "swiglu_norm/f32/rows=8,n=16,h=8/fill=normal/seed=0", "--backend", "cpu",
                                         "--no-perf", "--out", "named"),
                                        ("inputs", "--op", "swiglu_norm", "--out", "inputs"))):
            with self.subTest(words):  # the option may stand before the files and behind them
                options = [("--operators", "my_ops.py"), ("--python", str(named))][::1 if number % 2 else -1]
                self.assay(4 if words[0] == "run" else 0, *words, *options[0], *options[1])
                self.assertTrue((self.dir / "was_asked").exists())
                (self.dir / "was_asked").unlink()
        self.assertIn("absent", self.assay(2, "list", "ops", "--operators", "my_ops.py", "--python", "absent"))

    def test_bad_files_are_refused(self):
        for name, text, words in (("none.py", "x = 1\n", "defines no operator"),
                                  ("broken.py", "def f(:\n", "SyntaxError"),
                                  ("raises.py", "import nothing_of_this_name\n", "raises.py:1: ModuleNotFoundError"),
                                  ("bad.json", "{\"assay_definitions\": 1", "bad.json is no JSON"),
                                  ("later.json", "{\"assay_definitions\": 9, \"operators\": []}", "version 9")):
            (self.dir / name).write_text(text)
            with self.subTest(name):
                self.assertIn(words, self.assay(2, "list", "ops", "--operators", name))
        self.assertIn("missing.json", self.assay(2, "run", "--operators", "missing.json"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
