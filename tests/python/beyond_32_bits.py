#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of a framework on arrays of more than 2^31 and 2^32 elements, judged at chosen places: the ends, both sides of
2^31 and 2^32, borders of blocks and drawn ones; and sums and places of integers along one axis of so many. Golden values are
those of these places alone, so that memory is the operands' own. No test runs it:
beyond_32_bits.py --max-memory 10Gi [--column numpy|torch] [CASE ...]."""
import argparse
import multiprocessing
import resource
import sys
import time

import numpy as np

import assay

ELEMENTS = 2**32
ROWS, COLUMNS = ELEMENTS // 512 + 1, 512
UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def ramp(count):
    """0, 1, ..., 126, 0, 1, ...: 127 divides no power of two, so that an element is another one 2^31 or 2^32 places before."""
    out = np.empty(count, np.int8)
    step = 127 * 2**20
    out[:step] = np.tile(np.arange(127, dtype=np.int8), min(count, step) // 127 + 1)[:min(count, step)]
    for at in range(step, count, step):
        out[at:at + step] = out[:min(step, count - at)]
    return out


def one_hot(rows, columns):
    """Rows of zeros with a single 1, in another place from row to row."""
    out = np.zeros((rows, columns), np.int8)
    out.ravel()[np.arange(rows) * columns + np.arange(rows) % 509] = 1
    return out


class Numpy:
    """The kernels under test; each writes its result into y where it is large."""
    def relu(self, x, y):
        return np.maximum(x, np.int8(0), out=y)

    def gather(self, table, places, y):
        return np.take(table, places, axis=0, out=y, mode="clip")

    def cumsum(self, x, y):
        return np.cumsum(x, axis=1, dtype=np.int8, out=y)

    def total(self, x):
        return x.sum(1, dtype=np.int64)

    def argmax(self, x):
        return x.argmax(1)


class Torch:
    def __init__(self):
        import torch
        self.torch = torch

    def relu(self, x, y):
        t = self.torch
        return t.clamp(t.from_numpy(x), min=0, out=t.from_numpy(y)).numpy()

    def gather(self, table, places, y):
        t = self.torch
        return t.index_select(t.from_numpy(table), 0, t.from_numpy(places), out=t.from_numpy(y)).numpy()

    def cumsum(self, x, y):
        t = self.torch
        return t.cumsum(t.from_numpy(x), 1, dtype=t.int8, out=t.from_numpy(y)).numpy()

    def total(self, x):
        # Modulo 2^8: to sum in i64 it would first copy x, to 32 GiB.
        return self.torch.from_numpy(x).sum(1, dtype=self.torch.int8).numpy()

    def argmax(self, x):
        return self.torch.from_numpy(x).argmax(1).numpy()

    def matmul(self, a, b):
        t = self.torch
        return (t.from_numpy(a).bfloat16() @ t.from_numpy(b).bfloat16()).view(t.int16).numpy().view(np.uint16)


def elementwise(column):
    x = ramp(ELEMENTS + 4099)
    return (lambda x: assay.namespace(x).maximum(x, 0)), [x], column.relu(x, np.empty_like(x)), {}


def gather(column):
    table = ramp(1009 * COLUMNS).reshape(1009, COLUMNS)
    places = (np.arange(ROWS) * 7 % 1009).astype(np.int64)
    return "gather", [table, places], column.gather(table, places, np.empty((ROWS, COLUMNS), np.int8)), {}


def cumsum(column):
    x = ramp(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    return "cumsum", [x], column.cumsum(x, np.empty_like(x)), {}


def total(column):
    x = ramp(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    return "reduce", [x], column.total(x), {"axes": 1}


def argmax(column):
    x = one_hot(ROWS, COLUMNS)
    return "reduce", [x], column.argmax(x), {"axes": 1, "kind": "argmax"}


def constant(column):
    x = np.full((ROWS, COLUMNS), 3, np.int8)
    return "reduce", [x], column.total(x), {"axes": 1}


def sum_of_ramp(column):
    x = ramp(ELEMENTS + 4099)
    return "reduce", [x], column.total(x[None]).reshape(()), {"axes": 0}


def sum_of_constant(column):
    x = np.full(ELEMENTS + 4099, 3, np.int8)
    return "reduce", [x], column.total(x[None]).reshape(()), {"axes": 0}


def place_of_one(column):
    x = one_hot(1, ELEMENTS + 4099)[0]
    x[0], x[2**31 + 5] = 0, 1
    return "reduce", [x], np.asarray(column.argmax(x[None])).reshape(()), {"axes": 0, "kind": "argmax"}


def matmul(column):
    a = np.random.default_rng(0).integers(-8, 9, (ELEMENTS // 2**15 + 1, 8)).astype(np.float32)
    b = np.random.default_rng(1).integers(-8, 9, (8, 2**15)).astype(np.float32)
    bits = {"a": "bf16", "b": "bf16", "y": "bf16"}
    return "matmul", [a, b], {"y": column.matmul(a, b)}, {"dtypes": bits}


# Bytes of operands and result; what judging takes beside them is less than a tenth.
CASES = {"elementwise": (elementwise, 2 * ELEMENTS), "gather": (gather, ELEMENTS), "cumsum": (cumsum, 2 * ELEMENTS),
         "total": (total, ELEMENTS), "argmax": (argmax, ELEMENTS), "constant": (constant, ELEMENTS),
         "sum_of_ramp": (sum_of_ramp, ELEMENTS), "sum_of_constant": (sum_of_constant, ELEMENTS),
         "place_of_one": (place_of_one, ELEMENTS), "matmul": (matmul, 2 * ELEMENTS)}


def damage(y):
    """Makes the last element wrong, and the one at 2^31, as indices of 32 bits leave them unwritten. How many it were."""
    places = [i for i in (2**31, y.size - 1) if i < y.size]
    for place in places:
        y.ravel()[place] ^= 1
    return len(places)


def judge(name, column, sample):
    began = time.time()
    op, inputs, output, words = CASES[name][0](column)
    made = time.time()
    verdict = assay.check(op, inputs, output, sample=sample, **words)
    judged = time.time()
    damaged = damage(output["y"] if isinstance(output, dict) else output)
    wrong = assay.check(op, inputs, output, sample=sample, **words)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name}: {verdict.verdict}: {verdict.reason}; computed in {made - began:.0f} s, judged in {judged - made:.1f} s, peak "
          f"{peak:.1f} GiB; damaged in {damaged}: {wrong.verdict}, {wrong.where}", flush=True)
    return 0 if verdict.passed and wrong.metrics["violations"] == damaged else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=[], help=", ".join(CASES))
    parser.add_argument("--max-memory", required=True, help="leave out what needs more: 10Gi")
    parser.add_argument("--column", default="numpy", choices=["numpy", "torch"])
    parser.add_argument("--sample", type=int, default=4096)
    options = parser.parse_args()
    most = float(options.max_memory[:-2]) * UNITS[options.max_memory[-2:]]
    column = {"numpy": Numpy, "torch": Torch}[options.column]()
    failed = 0
    for name in options.cases or CASES:
        need = 1.1 * CASES[name][1]
        if need > most or (name == "matmul" and options.column == "numpy"):
            print(f"{name}: left out: it needs {need / 2**30:.1f} GiB" if need > most else f"{name}: NumPy has no bf16")
            continue
        process = multiprocessing.Process(target=lambda: sys.exit(judge(name, column, options.sample)))
        process.start()
        process.join()
        failed += process.exitcode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
