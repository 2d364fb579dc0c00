# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX that reduce: sums, products of matrices, norms."""
from __future__ import annotations

import math
import string
from typing import Any, Optional, Sequence

import numpy

from .._namespace import TRACED
from ._cases import demand
from ._onnx_arrays import Value, apply, einsum, known, move, reduce, reshape, roomy, traced, transpose
from ._onnx_elements import either, kept, round_to_f32
from ._onnx_steps import Step, operator, place_in
from ._onnx_types import quantized


def _reduce_kind(kind: str, x: Value, axes: Sequence[int]) -> Value:
    if kind == "L1":
        return reduce("sum", apply("abs", x), axes)
    if kind == "L2":
        return apply("sqrt", reduce("sum", x * x, axes))
    if kind == "LogSum":
        return apply("log", reduce("sum", x, axes))
    if kind == "SumSquare":
        return reduce("sum", x * x, axes)
    if kind == "LogSumExp" and not x.is_known:
        return reduce("logsumexp", x, axes)
    if kind == "LogSumExp":
        return apply("log", reduce("sum", apply("exp", x), axes))
    return reduce(kind.lower(), x, axes)


def _kept_of(kind: str, x: Value) -> Value: return x if kind in ("Max", "Min") else kept(x)


@operator(*(f"Reduce{kind}" for kind in ("Sum", "Mean", "Prod", "Max", "Min", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")))
def _reduce(s: Step) -> Value:
    axes = s.integers(1, "axes")
    if not axes and s.attr("noop_with_empty_axes", 0):
        return _kept_of(s.op[6:], _reduce_kind(s.op[6:], s[0], ()))
    axes = [place_in(axis, s[0].rank) for axis in axes or range(s[0].rank)]
    made = _kept_of(s.op[6:], _reduce_kind(s.op[6:], s[0], axes))
    return made if s.attr("keepdims", 1) else reshape(made, [e for k, e in enumerate(s[0].shape) if k not in axes])


@operator("CumSum", "CumProd")
def _cumulative(s: Step) -> Value:
    x = s[0]
    axis = place_in(int(s.array(1).reshape(-1)[0]), x.rank)
    backwards = numpy.arange(x.shape[axis])[::-1]
    if s.attr("reverse", 0):
        x = move(x, backwards, axis, 1)
    if s.attr("exclusive", 0):
        x = move(x, numpy.arange(-1, x.shape[axis] - 1), axis, 1, 0 if s.op == "CumSum" else 1)
    if s.op == "CumSum":
        x = known(x.x.cumsum(axis), x.type) if x.is_known else Value(TRACED.cumulative_sum(x.x, axis), x.type)
    else:
        roomy([x.shape[axis], x.shape[axis]])
        each = numpy.tile(numpy.arange(x.shape[axis]), (x.shape[axis], 1))
        x = reduce("prod", move(x, numpy.where(each <= each.T, each, -1), axis, 1, 1), [axis + 1], keepdims=False)
    x = kept(x)
    return move(x, backwards, axis, 1) if s.attr("reverse", 0) else x


@operator("Softmax", "LogSoftmax")
def _softmax(s: Step) -> Value:
    x, axis = s[0], s.axis(-1 if s.opset >= 13 else 1)
    axes = (axis,) if s.opset >= 13 else tuple(range(axis, x.rank))
    made = (TRACED.log_softmax if s.op == "LogSoftmax" else TRACED.softmax)(traced(s.trace, x), axes)
    return Value(made, x.type)


def matmul(a: Value, b: Value) -> Value:
    rows, columns = a.rank > 1, b.rank > 1
    a = a if rows else reshape(a, (1, *a.shape))
    b = b if columns else reshape(b, (*b.shape, 1))
    made = reduce("sum", reshape(a, (*a.shape, 1)) * reshape(b, (*b.shape[:-2], 1, *b.shape[-2:])), [-2], keepdims=False)
    shape = made.shape
    return reshape(made, (*shape[:-2], *(shape[-2:-1] if rows else ()), *(shape[-1:] if columns else ())))


@operator("MatMul")
def _matmul(s: Step) -> Value: return kept(matmul(s[0], s[1]))


@operator("Gemm")
def _gemm(s: Step) -> Value:
    a, b = (transpose(s[k], (1, 0)) if s.attr(name, 0) else s[k] for k, name in enumerate(("transA", "transB")))
    y = s.attr("alpha", 1.0) * matmul(a, b)
    return kept(y + s.attr("beta", 1.0) * s[2] if s.has(2) and s.attr("beta", 1.0) != 0 else y)


def centred(x: Value, zero: Optional[Value], axis: Optional[int] = None) -> Value:
    if zero is None:
        return Value(x.x, "i32")
    if axis is not None and zero.rank == 1 and zero.shape[0] > 1:
        zero = reshape(zero, [-1 if k == axis else 1 for k in range(x.rank)])
    elif zero.rank and math.prod(zero.shape) == 1:
        zero = reshape(zero, ())
    return Value((x - zero).x, "i32")


@operator("MatMulInteger")
def _matmul_integer(s: Step) -> Value:
    return matmul(centred(s[0], s.get(2), s[0].rank - 2), centred(s[1], s.get(3), s[1].rank - 1))


@operator("QLinearMatMul")
def _qlinear_matmul(s: Step) -> Value:
    """A list of scales or zero points has one for each row of a and y, or for each column of b."""
    def placed(x: Value, of_rows: bool) -> Value:
        if math.prod(x.shape) == 1:
            return reshape(x, ())
        return reshape(x, (*x.shape, 1)) if of_rows and x.rank == 1 else x
    total = matmul(centred(s[0], s[2], s[0].rank - 2), centred(s[3], s[5], s[3].rank - 1))
    product = Value((total * (placed(s[1], True) * placed(s[4], False))).x, "f32")
    return quantized(product, placed(s[6], True), placed(s[7], True), s[7].type)


@operator("Einsum")
def _einsum(s: Step) -> Value:
    values, (inputs, arrow, output) = s.values(), s.attr("equation").replace(" ", "").partition("->")
    terms = inputs.split(",")
    demand(len(terms) == len(values), f"Einsum has {len(values)} operands, and terms for {len(terms)}")
    counts = [one.rank - len(term.replace("...", "")) for one, term in zip(values, terms)]
    free = [one for one in string.ascii_letters if one not in inputs + output]
    demand(max(counts) <= len(free), "Einsum of more axes than there are letters")
    dots = "".join(free[:max(counts)])
    if not arrow:
        output = "..." * ("..." in inputs) + "".join(sorted(one for one in set(inputs) - set(".,") if inputs.count(one) == 1))
    output = output.replace("...", dots)
    terms = [term.replace("...", dots[len(dots) - count:]) for term, count in zip(terms, counts)]
    for k, term in enumerate(terms):
        for letter in set(term):
            while term.count(letter) > 1:  # a diagonal
                one, two = term.index(letter), term.rindex(letter)
                x = transpose(values[k], [*(j for j in range(len(term)) if j not in (one, two)), one, two])
                n = x.shape[-1]
                values[k] = move(x, numpy.arange(n) * (n + 1), x.rank - 2, 2)
                term = "".join(c for j, c in enumerate(term) if j not in (one, two)) + letter
        terms[k] = term
    return kept(einsum(",".join(terms) + "->" + output, *values))


def per_channel(x: Value, rank: int) -> Value:
    return reshape(x, (-1, *(1,) * (rank - 2)))


def _centre(x: Value, axes: Sequence[int]) -> tuple[Value, Value]:
    deviation = x - reduce("mean", x, axes)
    return deviation, reduce("mean", deviation * deviation, axes)


@operator("BatchNormalization")
def _batch_norm(s: Step) -> Any:
    x, mean, variance = s[0], s[3], s[4]
    scale, bias = per_channel(s[1], x.rank), per_channel(s[2], x.rank)
    eps, momentum = s.attr("epsilon", round_to_f32(1e-5)), s.attr("momentum", round_to_f32(0.9))
    if not s.attr("training_mode", 0):
        return (x - per_channel(mean, x.rank)) * apply("rsqrt", per_channel(variance, x.rank) + eps) * scale + bias
    axes = [0, *range(2, x.rank)]
    deviation, var = _centre(x, axes)
    y = deviation * apply("rsqrt", var + eps) * scale + bias
    of_batch = [reshape(one, mean.shape) for one in (reduce("mean", x, axes), var)]
    return [y, *(old * momentum + new * (1 - momentum) for old, new in zip((mean, variance), of_batch))]


@operator("InstanceNormalization")
def _instance_norm(s: Step) -> Value:
    x = s[0]
    deviation, variance = _centre(x, range(2, x.rank))
    eps = s.attr("epsilon", round_to_f32(1e-5))
    return deviation * apply("rsqrt", variance + eps) * per_channel(s[1], x.rank) + per_channel(s[2], x.rank)


@operator("LRN")
def _lrn(s: Step) -> Value:
    x, size = s[0], s.attr("size")
    roomy([x.shape[1], size])
    at = numpy.arange(x.shape[1])[:, None] + numpy.arange(size) - (size - 1) // 2
    around = move(x, numpy.where((at >= 0) & (at < x.shape[1]), at, -1), 1, 1)
    total = reduce("sum", around * around, [2], keepdims=False)
    alpha, beta = s.attr("alpha", round_to_f32(1e-4)), s.attr("beta", 0.75)
    return x / apply("pow", s.attr("bias", 1.0) + alpha / size * total, beta)


@operator("LpNormalization")
def _lp_norm(s: Step) -> Value:
    x, axis = s[0], s.axis(-1)
    size = _reduce_kind("L1" if s.attr("p", 2) == 1 else "L2", x, [axis])
    return either(x * 0, x / size, apply("equal", size, 0))


@operator("Det")
def _det(s: Step) -> Value:
    from itertools import permutations
    n = s[0].shape[-1]
    demand(n <= 4, "determinants of more than four rows")
    total: Any = 0
    for order in permutations(range(n)):
        sign = 1 - 2 * (sum(order[j] > order[k] for k in range(n) for j in range(k)) % 2)
        product: Any = sign
        for row, column in enumerate(order):
            product = product * reshape(move(s[0], [row * n + column], s[0].rank - 2, 2), s[0].shape[:-2])
        total = total + product
    return total
