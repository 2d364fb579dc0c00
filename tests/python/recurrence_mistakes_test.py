# SPDX-License-Identifier: Apache-2.0
"""Mistakes of recurrences and of what goes with them: what is done, and what a failing check says of it."""
import pathlib
import unittest
from typing import Any, Callable, NamedTuple

import numpy as np

import assay
from full import FULL
from further_mistakes_test import TABLES, alibi, run
from mistakes import layer_norm, rope
from recurrence_mistakes import changed, delta_rule, late, not_carried, plain, stored_transposed, without_last

GUIDE = pathlib.Path(__file__).parents[2] / "harness/tools/explain/README.md"
RNG = np.random.default_rng(5)


def normals(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def units(*shape):
    return RNG.random(shape, np.float32)


class Mistake(NamedTuple):
    op: str
    done: str
    says: str  # a part of the cause
    operands: list[np.ndarray]
    wrong: Callable[..., Any]
    attrs: dict[str, Any] = {}


def scan(a, b, start=0.0, first=False):
    h, state = np.zeros(b.shape), start + 0 * b[:, 0]
    for t in range(b.shape[1]):
        before, state = state, a[:, t] * state + b[:, t]
        h[:, t] = before if first else state
    return h


def wrong_order(a, b):
    """The pair of steps is joined the other way round: a of the later one goes with b of the later one."""
    h, state = np.zeros(b.shape), 0 * b[:, 0]
    for t in range(b.shape[1]):
        state = a[:, t] * (state + b[:, t])
        h[:, t] = state
    return h


def in_blocks(x):
    return np.concatenate([np.cumsum(x[:, i:i + 32], 1) for i in range(0, x.shape[1], 32)], 1)


def mixed(x, a, b, scale_a, scale_b, outlier):
    return np.where(outlier, x, a * scale_a[:, None]) @ b * scale_b


def turned(x, base=1e4, first=0):
    angle = np.outer(np.arange(x.shape[1]) + first, base ** (-np.arange(x.shape[3] // 2) / (x.shape[3] // 2)))
    return rope(x, np.cos(angle), np.sin(angle))


DELTA = [normals(1, 2, 5, 6), normals(1, 2, 5, 6), normals(1, 2, 5, 6), units(1, 2, 5) / 2 + .5, units(1, 2, 5), normals(1, 2, 6, 6)]
SCAN = [units(4, 24), normals(4, 24)]
CODES = [RNG.integers(-127, 128, shape).astype(np.int8) for shape in ((16, 32), (32, 24))]
MIXED = [normals(16, 32), *CODES, units(16) / 50, units(24) / 50, np.arange(32) % 9 == 4]
QKV = [normals(1, 2, 16, 24) for _ in range(3)]
NORM = [normals(16, 48), normals(48), normals(48)]
TURNED = [normals(2, 16, 3, 8), *TABLES]
MISTAKES = [
    Mistake("gated_delta_rule", "the gate is left out", "gate all 1", DELTA, lambda q, k, v, g, b, s: delta_rule(q, k, v, 1 + 0 * g, b, s)),
    Mistake("gated_delta_rule", "beta is left out", "beta all 1", DELTA, lambda q, k, v, g, b, s: delta_rule(q, k, v, g, 1 + 0 * b, s)),
    Mistake("gated_delta_rule", "1 - beta in place of beta", "1 - beta", DELTA, lambda q, k, v, g, b, s: delta_rule(q, k, v, g, 1 - b, s)),
    Mistake("gated_delta_rule", "gate and beta are exchanged", "gate and beta exchanged", DELTA, lambda q, k, v, g, b, s: delta_rule(q, k, v, b, g, s)),
    Mistake("gated_delta_rule", "q and k are exchanged", "q and k exchanged", DELTA, lambda q, k, v, g, b, s: delta_rule(k, q, v, g, b, s)),
    Mistake("gated_delta_rule", "the gate is taken for its logarithm", "exponential of operand gate", DELTA, lambda q, k, v, g, b, s: delta_rule(q, k, v, np.exp(g), b, s)),
    Mistake("gated_delta_rule", "the gate of the position before", "gate shifted", DELTA, lambda q, k, v, g, b, s: delta_rule(q, k, v, np.roll(g, 1, 2), b, s)),
    Mistake("gated_delta_rule", "the gate is applied behind the update", "gate behind the update", DELTA, changed(step="gate behind the update")),
    Mistake("gated_delta_rule", "v is predicted before the gate", "before its gate", DELTA, changed(step="predicts before the gate")),
    Mistake("gated_delta_rule", "the gate is in the prediction alone", "prediction of v alone", DELTA, changed(step="gate of the prediction alone")),
    Mistake("gated_delta_rule", "the gate is applied twice", "gate of each position twice", DELTA, changed(step="gate twice")),
    Mistake("gated_delta_rule", "no prediction is subtracted", "v less its prediction", DELTA, changed(step="no prediction")),
    Mistake("gated_delta_rule", "the prediction is added", "prediction of v added", DELTA, changed(step="prediction added")),
    Mistake("gated_delta_rule", "beta is the factor of v alone", "factor of v alone", DELTA, changed(step="beta of v alone")),
    Mistake("gated_delta_rule", "beta is the factor of the prediction alone", "factor of the prediction alone", DELTA, changed(step="beta of the prediction alone")),
    Mistake("gated_delta_rule", "beta is applied twice", "beta of each position twice", DELTA, changed(step="beta twice")),
    Mistake("gated_delta_rule", "the key before predicts v", "predicted by the key of the position before", DELTA, changed(step="predicts by the key before")),
    Mistake("gated_delta_rule", "the key before is written", "key of the position before in the update", DELTA, changed(step="writes the key before")),
    Mistake("gated_delta_rule", "o is read before the state is written", "before its update", DELTA, changed(reads_before=True)),
    Mistake("gated_delta_rule", "the state is not carried on", "given state at each position", DELTA, not_carried),
    Mistake("gated_delta_rule", "the state is cleared at each position", "operand gate all 0", DELTA, changed(starts=lambda s: 0 * s)),
    Mistake("gated_delta_rule", "the given state is left out", "state all 0", DELTA, lambda q, k, v, g, b, s: delta_rule(q, k, v, g, b, 0 * s)),
    Mistake("gated_delta_rule", "the given state is transposed", "operand state exchanged", DELTA,
            lambda q, k, v, g, b, s: delta_rule(q, k, v, g, b, s.swapaxes(-1, -2))),
    Mistake("gated_delta_rule", "the new state is stored transposed", "output new_state", DELTA, stored_transposed),
    Mistake("gated_delta_rule", "the new state lacks the last position", "lacks the last position", DELTA, without_last),
    Mistake("gated_delta_rule", "k is not normalised", "k in place of k * rsqrt", DELTA, changed(of_k=plain)),
    Mistake("gated_delta_rule", "q is not normalised", "q in place of q * rsqrt", DELTA, changed(of_q=plain)),
    Mistake("gated_delta_rule", "neither is normalised", "norm=none", DELTA, changed(of_q=plain, of_k=plain)),
    Mistake("gated_delta_rule", "the scale is left out", "scale=1", DELTA, delta_rule, {"scale": 0.408}),
    Mistake("gated_delta_rule", "o is one position late", "output o shifted", DELTA, late),
    Mistake("associative_scan", "pairs are joined the other way round", "in place of", SCAN, wrong_order),
    Mistake("associative_scan", "it begins at 1, not at 0", "begins at 1", SCAN, lambda a, b: scan(a, b, 1.0)),
    Mistake("associative_scan", "it has not its own step", "of the step before", SCAN, lambda a, b: scan(a, b, first=True)),
    Mistake("associative_scan", "the scan runs from the end", "from the end", SCAN, lambda a, b: scan(a[:, ::-1], b[:, ::-1])[:, ::-1]),
    Mistake("associative_scan", "blocks of 8 have no carry", "anew every 8 steps", SCAN, lambda a, b: scan(a * (np.arange(24) % 8 > 0), b)),
    Mistake("cumsum", "blocks of 32 have no carry", "anew every 32 steps", [normals(8, 100)], in_blocks),
    Mistake("llm_int8_mm", "scale_b is left out", "scale_b all 1", MIXED, lambda x, a, b, s, t, o: mixed(x, a, b, s, 1 + 0 * t, o)),
    Mistake("llm_int8_mm", "outliers are taken from the codes", "is_outlier in place of all", MIXED, lambda x, a, b, s, t, o: mixed(x, a, b, s, t, False & o)),
    Mistake("alibi_attention", "slopes are scaled like scores", "in place of", [*QKV, units(2)], lambda q, k, v, s: alibi(q, k, v, s / 24 ** .5)),
    Mistake("layer_norm", "eps is 0.1", "eps=0.1", NORM, lambda x, g, b: layer_norm(x, g, b, 0.1)),
    Mistake("rope", "positions begin at 1", "begin at 1", TURNED, lambda x, c, s: turned(x, first=1)),
    Mistake("rope", "tables of base 500,000", "base 500000", TURNED, lambda x, c, s: turned(x, 5e5)),
]


class RecurrenceMistakes(unittest.TestCase):
    def test_each_stands_in_the_guide_with_what_is_said_of_it(self):
        rows = GUIDE.read_text(encoding="utf-8").splitlines()
        for mistake in MISTAKES if FULL else MISTAKES[1::4]:
            with self.subTest(f"{mistake.op}: {mistake.done}"):
                verdict = run(mistake.op, mistake.operands, mistake.wrong, **mistake.attrs)
                self.assertFalse(verdict.passed_strictly)
                self.assertIn(mistake.says, verdict.cause)
                self.assertIn(f"| `{mistake.op}` | {mistake.done} | {verdict.cause} |", rows)

    def test_right_results_and_others_have_no_such_name(self):
        self.assertTrue(run("gated_delta_rule", DELTA, delta_rule))
        few = DELTA if FULL else [*(x[:, :, :2] for x in DELTA[:5]), DELTA[5]]  # two of five positions are enough
        o, state = delta_rule(*(x.astype(float) for x in few))
        noise = RNG.standard_normal(o.shape) * 0.1
        for wrong in ([o * (1 + noise), state], [o, state + np.arange(6) * 0.01]):
            verdict = assay.check("gated_delta_rule", few, [y.astype(np.float32) for y in wrong])
            self.assertFalse(verdict)
            self.assertEqual(verdict.cause, "")

    def test_sixteen_positions_are_named_by_the_work_of_a_quick_search(self):
        n = 24 if FULL else 8
        operands = [*(normals(1, 1, 16, n) for _ in range(3)), units(1, 1, 16), units(1, 1, 16), normals(1, 1, n, n)]
        wrong = changed(step="gate behind the update")(*(x.astype(float) for x in operands))
        verdict = assay.check("gated_delta_rule", operands, [y.astype(np.float32) for y in wrong], explain="quick")
        self.assertEqual(verdict.cause, "the formula with the gate behind the update of the state")

    def test_a_mask_that_is_another_one_has_no_cause_of_its_wrong_places(self):
        x, mask = normals(1003), RNG.random(1003) < 0.75
        verdict = assay.check("dropout", [x], [np.where(mask, x / np.float32(0.75), 0), mask], keep=0.75, key=7)
        self.assertFalse(verdict)
        self.assertEqual(verdict.cause, "")


if __name__ == "__main__":
    unittest.main()
