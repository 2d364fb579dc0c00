# SPDX-License-Identifier: Apache-2.0
"""Imported cases with the data that assay draws for them, as arrays of f64, and the verdicts on results in these."""
import collections
import math
import random
import sys
import unittest

import numpy as np

import assay
from assay import _define
from imported import stated_id

MOST_WORK = 1 << 20
_KNOWN = set()


def case_of(imported):
    """The library's case, whose definition it learns first."""
    if imported.definition and imported.op not in _KNOWN:
        _define.register(imported.definition)
        _KNOWN.add(imported.op)
    return assay.cases(ids=[stated_id(imported)])[0]


def _e4m3(bits):
    sign, exponent, rest = bits >> 7, bits >> 3 & 15, bits & 7
    return (1 - 2.0 * sign) * np.where(exponent, (1 + rest / 8) * 2.0**(exponent.astype(int) - 7), rest * 2.0**-9)


def _e5m2(bits):
    return (bits.astype(np.uint16) << 8).view(np.float16).astype(float)


def wide(array, dtype):
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(float)
    if dtype in ("e4m3", "e5m2"):
        return (_e4m3 if dtype == "e4m3" else _e5m2)(array)
    return array.astype(float) if dtype[0] == "f" else array.astype(np.int64)


def narrow(array, dtype):
    if dtype == "bf16":
        bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    if dtype in ("e4m3", "e5m2"):
        table = wide(np.arange(0x7F if dtype == "e4m3" else 0x7C, dtype=np.uint8), dtype)
        at = np.clip(np.searchsorted(table, np.abs(array)), 1, len(table) - 1)
        lower = np.abs(array) - table[at - 1] < table[at] - np.abs(array)
        tie = np.abs(array) - table[at - 1] == table[at] - np.abs(array)
        at = np.where(lower | (tie & ((at - 1) % 2 == 0)), at - 1, at)
        return (at | np.where(array < 0, 0x80, 0)).astype(np.uint8)
    if dtype[0] in "iu":
        ends = np.iinfo(np.dtype(dtype[0] + str(int(dtype[1:]) // 8)))
        return np.clip(np.rint(array), ends.min, ends.max).astype(ends.dtype)
    return array.astype({"f64": np.float64, "f32": np.float32, "f16": np.float16}[dtype])


def inputs_of(case):
    types = {one["name"]: one["dtype"] for one in case._operands}
    return {name: wide(array, types[name]) for name, array in case.inputs.items()}


def outputs_of(case, values):
    values = values if isinstance(values, dict) else dict(zip(case.outputs, values if isinstance(values, tuple) else (values,)))
    return {name: narrow(np.asarray(values[name]).reshape(shape), dtype) for name, (dtype, shape) in case.outputs.items()}


def with_one_wrong(array, seed=0):
    """The array with one element that is far off."""
    wrong = array.copy()
    flat = wrong.reshape(-1)
    at = random.Random(seed).randrange(flat.size)
    if flat.dtype.kind == "f":
        largest = np.abs(flat[np.isfinite(flat)].astype(float)).max(initial=0.5)
        flat[at] = flat[at] * 2 + 2 * largest if np.isfinite(flat[at]) else 1
    else:
        flat[at] ^= {1: 0x41, 2: 0x4100}.get(flat.dtype.itemsize, 1 << 30)
    return wrong


def work_of(imported):
    """Elements of all operands together, of which the evaluation in NumPy makes many; infinite where the machine is too small."""
    try:
        case = case_of(imported)
    except assay.Error:
        return math.inf
    return sum(math.prod(one["shape"]) for one in case._operands) + sum(math.prod(shape) for _, shape in case.outputs.values())


def verdict_alone(case, outputs):
    """The verdict on outputs for a case's inputs, without a search for causes, which takes ten times as long."""
    types = {one["name"]: one["dtype"] for one in case._operands} | {name: dtype for name, (dtype, _) in case.outputs.items()}
    arrays = case.inputs | outputs
    bits = {name: dtype for name, dtype in types.items() if dtype not in ("b", "u8") and arrays[name].dtype.kind == "u"}
    return assay.check(case.op, case.inputs, outputs, dtypes=bits, explain="no", **case.attrs)


def expect_judged(test, case, right):
    """Right results pass, and with one wrong element they do not, whichever output has it."""
    verdict = case.judge(right)
    test.assertEqual(verdict.verdict, "pass", f"{case.id}: {verdict.reason}")
    for name in right:
        wrong = verdict_alone(case, right | {name: with_one_wrong(right[name])})
        test.assertFalse(wrong.passed, f"{case.id}: a wrong {name} passes")


def draw(found, results_of, count, seed):
    """Prints what goes wrong of so many of the cases, each definition in turn; of large ones a smaller one."""
    chance, groups = random.Random(seed), collections.defaultdict(list)
    for one in found:
        groups[one.case.op].append(one)
    verdicts, names = collections.Counter(), sorted(groups)
    chance.shuffle(names)
    for k in range(count):
        one = min((chance.choice(groups[names[k % len(names)]]) for _ in range(20)), key=lambda one: math.prod(map(int, filter(str.isdecimal, map(str, one.case.attrs.values())))))
        if work_of(one.case) > MOST_WORK:
            verdicts["too large to draw"] += 1
            continue
        case, right = results_of(one)
        wrong = {name: with_one_wrong(array) for name, array in right.items()}
        pair = case.judge(right), case.judge(wrong)
        verdicts[tuple(one.verdict for one in pair)] += 1
        if pair[0].verdict != "pass" or pair[1].passed:
            print(one.text, case.id, *(f"{one.verdict}: {one.reason}" for one in pair), sep="\n  ", flush=True)
    print(f"{count} cases of {len(names)} definitions: {dict(verdicts)}")


def main(found_in, results_of):
    """The tests of the script, or with --file FILE COUNT SEED cases that are drawn from a file of the other project."""
    if sys.argv[1:2] == ["--file"]:
        draw(found_in(sys.argv[2]), results_of, int(sys.argv[3]), int(sys.argv[4]))
    else:
        unittest.main(verbosity=2)
