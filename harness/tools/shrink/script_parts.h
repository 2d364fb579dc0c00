// SPDX-License-Identifier: Apache-2.0
// The parts of an exact script that are the same for all operators.
#pragma once

#include <string_view>

namespace assay {

inline constexpr std::string_view kScriptHead = R"py(import itertools
import json
import math
import pathlib
import struct
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np

getcontext().prec = 60  # digits of functions; sums, products and quotients are exact


def read(path):
    """The tensors of a safetensors file, each a flat list of fractions."""
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    plain = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1", "BOOL": "u1"}
    tensors = {}
    for name, info in json.loads(raw[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in info["data_offsets"])
        part, kind = raw[begin:end], info["dtype"]
        if kind == "BF16":
            values = (np.frombuffer(part, "<u2").astype("<u4") << 16).view("<f4")
        elif kind == "F8_E5M2":
            values = (np.frombuffer(part, "u1").astype("<u2") << 8).view("<f2")
        elif kind == "F8_E4M3":
            bits = np.frombuffer(part, "u1").astype(int)
            exponent, mantissa = bits >> 3 & 15, bits & 7
            size = np.where(exponent == 0, mantissa * 2.0 ** -9, (8 + mantissa) * 2.0 ** (exponent - 10.0))
            values = np.where(bits > 127, -size, size)
        else:
            values = np.frombuffer(part, "<" + plain[kind])
        tensors[name] = [Fraction(x) for x in values.tolist()]
    return tensors


data = read(pathlib.Path(__file__).with_name("inputs.safetensors"))
)py";

inline constexpr std::string_view kScriptFunctions = R"py(

def decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


def exp(x):
    return Fraction(decimal(x).exp())


def log(x):
    return Fraction(decimal(x).ln())


def sqrt(x):
    return Fraction(decimal(x).sqrt())


TINY = Fraction(1, 10 ** 20)  # of which the next term of a series is below 60 digits


def log1p(x):
    return x - x ** 2 / 2 + x ** 3 / 3 if abs(x) < TINY else log(1 + x)


def expm1(x):
    return x + x ** 2 / 2 + x ** 3 / 6 if abs(x) < TINY else exp(x) - 1


def tanh(x):
    if abs(x) < TINY:
        return x - x ** 3 / 3
    e = exp(-2 * abs(x))
    return (1 - e) / (1 + e) * (1 if x > 0 else -1)


def one_minus_tanh(x):
    e = exp(-2 * abs(x))
    return (2 * e if x > 0 else 2) / (1 + e)


def sigmoid(x):
    return 1 / (1 + exp(-x)) if x > 0 else exp(x) / (1 + exp(x))


def series(first, ratio):
    """first + first ratio(1) + first ratio(1) ratio(2) + ..., until nothing changes."""
    total, term, k = Decimal(0), Decimal(first), 1
    while total + term != total or k < 4:
        total, term, k = total + term, term * ratio(k), k + 1
    return total


def erf(x):
    if abs(x) > 28:
        return Fraction(1 if x > 0 else -1)
    getcontext().prec = 220 if abs(x) < 13 else 800  # its terms grow to e^(x x), and 1 - erf(x) falls to e^(-x x)
    square = decimal(x * x)
    total = decimal(x) * series(1, lambda k: 2 * square / (2 * k + 1)) * (-square).exp()
    result = Fraction(2 * total / pi().sqrt())
    getcontext().prec = 60
    return result


def pi():
    def arctan_inverse(n):
        power = Decimal(1) / n
        total, k = Decimal(0), 0
        while power != 0 and total + power / (2 * k + 1) != total:
            total, power, k = total + power / (2 * k + 1) * (-1) ** k, power / (n * n), k + 1
        return total
    return 4 * (4 * arctan_inverse(5) - arctan_inverse(239))


def atan(x):
    doubled = 1
    while abs(x) > Fraction(1, 100):
        x, doubled = x / (1 + sqrt(1 + x * x)), 2 * doubled
    square = -decimal(x * x)
    return doubled * Fraction(decimal(x) * series(1, lambda k: square * (2 * k - 1) / (2 * k + 1)))


def asin(x):
    if abs(x) == 1:
        return x * Fraction(pi()) / 2
    return atan(x / sqrt((1 - x) * (1 + x)))


def acos(x):
    return Fraction(pi()) if x == -1 else 2 * atan(sqrt((1 - x) / (1 + x)))


def asinh(x):
    size = log1p(abs(x) + x * x / (1 + sqrt(1 + x * x)))
    return size if x > 0 else -size


def acosh(x):
    return log1p(x - 1 + sqrt((x - 1) * (x + 1)))


def cbrt(x):
    return exp(log(abs(x)) / 3) * (1 if x > 0 else -1) if x != 0 else x


def sine(x, quarter):
    getcontext().prec = 100 + len(str(int(x)))  # turns take the digits before the point
    turn = 2 * pi()
    angle = decimal(x) + quarter * turn / 4
    angle -= turn * (angle / turn).to_integral_value()
    result = Fraction(angle * series(1, lambda k: -angle * angle / (2 * k * (2 * k + 1))))
    getcontext().prec = 60
    return result


def power(x, y):
    if y.denominator == 1 and abs(y) < 1000:
        return x ** int(y)
    return Fraction((decimal(y) * decimal(x).ln()).exp())


known = {}


def value(node, index):
    """A node of the formula at an index, which has a number for each axis."""
    key = node, tuple(index[axis] for axis in AXES[node])
    if key not in known:
        known[key] = Fraction(NODES[node](index))
    return known[key]


def put(index, axis, place):
    return index[:axis] + (place,) + index[axis + 1:]


def over(index, axes):
    """The indices along these axes."""
    for places in itertools.product(*(range(EXTENTS[axis]) for axis in axes)):
        moved = index
        for axis, place in zip(axes, places):
            moved = put(moved, axis, place)
        yield moved


def read_at(name, index, axes):
    flat = 0
    for axis in axes:
        flat = flat * EXTENTS[axis] + index[axis]
    return data[name][flat]


def moved(node, index, axis, from_axis, places):
    place = places[index[axis]]
    return 0 if place < 0 else value(node, put(put(index, axis, 0), from_axis, place))


def recurrence(factor, addend, index, axis):
    state = Fraction(0)
    for step in range(index[axis] + 1):
        at = put(index, axis, step)
        kept = state if factor is None or step == 0 else value(factor, at) * state
        state = kept + value(addend, at)
    return state
)py";

inline constexpr std::string_view kScriptTail = R"py(
print("exact    ", float(exact), f"= {exact}" if len(str(exact)) < 60 else "")
print("got      ", GOT)
if not math.isfinite(GOT):
    print("the exact value is a finite number, and the result is not")
    sys.exit(1)
error = abs(Fraction(GOT) - exact)
print("error    ", float(error), "of which", TOLERANCE, "may be")
sys.exit(1 if error > Fraction(TOLERANCE) else 0)
)py";

}  // namespace assay
