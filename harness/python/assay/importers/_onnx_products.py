# SPDX-License-Identifier: Apache-2.0
"""Products, convolutions, attention and rotations of ONNX."""
from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from ._cases import LARGEST_EXTENT, Case, demand, format_number, join_dims
from ._onnx_call import Call


class Place(NamedTuple):
    """A tensor of the node as an operand."""
    name: str  # of the operand
    position: int  # among the node's inputs or outputs
    shape: Sequence[int]  # of the operand


Mapped = tuple[Case, list[Place], list[Place]]


def map_matmul(call: Call) -> Mapped:
    """Batches of both operands that are equal, or rows of a that all meet one b."""
    a, b = call.inputs[0], call.inputs[1]
    demand(min(len(a.shape), len(b.shape)) >= 2, "a vector as an operand of a product")
    is_equal = a.shape[:-2] == b.shape[:-2]
    demand(is_equal or b.count(0, -2) == 1, "operands are repeated over the batch")
    k, n = a.shape[-1], b.shape[-1]
    batch, m = (a.count(0, -2), a.shape[-2]) if is_equal else (1, a.count(0, -1))
    batches = [batch] if batch > 1 else []
    return (Case("matmul", call.types(0, 1), {"m": m, "n": n, "k": k, "batch": batch}),
            [Place("a", 0, [*batches, m, k]), Place("b", 1, [*batches, k, n])], [Place("y", 0, [*batches, m, n])])


def map_gemm(call: Call) -> Mapped:
    a, b, y = call.inputs[0].shape, call.inputs[1].shape, call.outputs[0].shape
    demand(len(a) == len(b) == len(y) == 2, "the shapes of a product do not fit each other")
    transa, transb = call.integer("transA", 0) != 0, call.integer("transB", 0) != 0
    case = Case("matmul", call.types(0, 1), {
        "m": y[0], "n": y[1], "k": a[0] if transa else a[1], "transa": int(transa), "transb": int(transb),
        "alpha": format_number(call.real("alpha", 1))})
    inputs, outputs, beta = [Place("a", 0, a), Place("b", 1, b)], [Place("y", 0, y)], call.real("beta", 1)
    if not call.has(2) or beta == 0:
        return case, inputs, outputs
    c, n = call.inputs[2].shape, y[1]
    if c == y:
        case.attrs["beta"] = format_number(beta)
        return case, [*inputs, Place("c", 2, y)], outputs
    demand(c in ([n], [1, n]) and beta == 1, "C is repeated, other than as a bias along n")
    case.attrs["bias"] = 1
    return case, [*inputs, Place("bias", 2, [n])], outputs


def _per_axis(call: Call, name: str, axes: int) -> list[int]:
    values = call.integers(name) or [1] * axes
    demand(len(values) == axes and all(1 <= value <= LARGEST_EXTENT for value in values), f"{name}: not one for each axis")
    return values


def _padding(call: Call, i: list[int], k: list[int], stride: list[int], dilation: list[int]) -> list[int]:
    """The padding of each axis, which has to be equal at both ends."""
    automatic, axes, pads = call.text("auto_pad", "NOTSET"), len(i), call.integers("pads")
    if automatic == "VALID" or not pads:
        pads = [0] * (2 * axes)
    demand(len(pads) == 2 * axes, "pads: not two for each axis")
    if automatic.startswith("SAME"):
        outputs = [-(-i[axis] // stride[axis]) for axis in range(axes)]
        whole = [max((outputs[axis] - 1) * stride[axis] + (k[axis] - 1) * dilation[axis] + 1 - i[axis], 0) for axis in range(axes)]
        pads = [pad // 2 for pad in whole] + [pad - pad // 2 for pad in whole]
    demand(pads[:axes] == pads[axes:] and all(0 <= pad <= LARGEST_EXTENT for pad in pads),
           "padding that differs between both ends")
    return pads[:axes]


def map_conv(call: Call) -> Mapped:
    x, w, has_bias = call.inputs[0].shape, call.inputs[1].shape, call.has(2)
    demand(3 <= len(x) <= 5 and len(w) == len(x), "an image of other than one to three axes")
    i, k = x[2:], w[2:]
    stride, dilation = _per_axis(call, "strides", len(i)), _per_axis(call, "dilations", len(i))
    pad = _padding(call, i, k, stride, dilation)
    case = Case("conv", call.types(0, 1), {
        "n": x[0], "c": x[1], "o": w[0], "i": join_dims(i), "k": join_dims(k), "stride": join_dims(stride),
        "pad": join_dims(pad), "dilation": join_dims(dilation), "groups": call.integer("group", 1), "bias": int(has_bias)})
    bias = [Place("bias", 2, [w[0]])] if has_bias else []
    return case, [Place("x", 0, x), Place("w", 1, w), *bias], [Place("y", 0, call.outputs[0].shape)]


def _add_mask(call: Call, attrs: dict[str, Any], inputs: list[Place]) -> None:
    q, k, mask = call.inputs[0].shape, call.inputs[1].shape, call.inputs[3]
    plain, per_head = [q[2], k[2]], [q[0], q[1], q[2], k[2]]
    is_plain = mask.size == q[2] * k[2] and len(mask.shape) >= 2 and mask.shape[-1] == k[2]
    demand(is_plain or mask.shape == per_head, "a mask that is repeated over heads or the batch")
    attrs["mask"] = "bool" if mask.is_bool else "add"
    if not is_plain:
        attrs["mask_per_head"] = 1
    inputs.append(Place("mask", 3, plain if is_plain else per_head))


def map_attention(call: Call) -> Mapped:
    import numpy
    demand(call.has(2), "it lacks one of its inputs")
    q, k, v = (call.inputs[i].shape for i in range(3))
    demand(len(q) == len(k) == len(v) == 4, "heads side by side in one axis")
    demand(not call.has(4) and not call.has(5), "past keys and values")
    demand(not call.has(6), "lengths of the keys of each of the batch")
    demand(not any(call.outputs[1:]), "further outputs: present keys and values, or scores")
    attrs = {"b": q[0], "h": q[1], "hkv": k[1], "l": q[2], "s": k[2], "d": q[3], "dv": v[3]}
    if call.integer("is_causal", 0) != 0:
        attrs |= {"causal": 1, "align": "tl"}
    if call.states("scale"):
        attrs["scale"] = format_number(numpy.float32(call.real("scale", 0)))
    attrs["softcap"] = format_number(call.real("softcap", 0))
    inputs = [Place("q", 0, q), Place("k", 1, k), Place("v", 2, v)]
    if call.has(3):
        _add_mask(call, attrs, inputs)
    return Case("attention", call.types(0, 1, 2), attrs), inputs, [Place("o", 0, call.outputs[0].shape)]


def map_rope(call: Call) -> Mapped:
    """x is [batch, heads, positions, d] or [batch, positions, heads d]. Tables are those of each batch, and have as many
    rows as batches and positions together: one may become the other where heads do not lie between them."""
    x, cos = call.inputs[0].shape, call.inputs[1].shape
    demand(not call.has(3), "positions that choose rows of the tables")
    demand(call.has(2) and len(cos) == 3, "tables without a row for each position")
    demand(call.integer("interleaved", 0) == 0, "pairs of neighbours; here of the halves of a head")
    demand(len(x) in (3, 4), "a tensor of other than three or four axes")
    heads_first, stated = len(x) == 4, call.integer("num_heads", 0)
    demand(heads_first or stated >= 1 and x[2] % stated == 0, "the heads do not divide the axis")
    heads, positions, d = x[1:] if heads_first else (stated, x[1], x[2] // stated)
    demand(call.integer("rotary_embedding_dim", 0) in (0, d), "a part of each head is turned")
    demand(cos == [x[0], positions, d // 2], "tables that do not fit the positions")
    demand(not heads_first or x[0] == 1 or heads == 1, "tables of each batch, where here all batches have one")
    # With the heads first, and one batch, each head is a batch.
    whole = [heads, positions, 1, d] if heads_first and heads != 1 else [1, x[0] * positions, heads, d]
    table = [whole[1], d // 2]
    return (Case("rope", call.types(0, 1, 2), dict(zip("blhd", whole))),
            [Place("x", 0, whole), Place("cos", 1, table), Place("sin", 2, table)], [Place("y", 0, whole)])
