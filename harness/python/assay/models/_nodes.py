# SPDX-License-Identifier: Apache-2.0
"""Judged calls, as a watch lists them."""
from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple, Optional, Sequence

from ._calls import Call
from ._proofs import Proof
from ._rules import Exact, Question, values_of
from ._sites import Site


class Node(NamedTuple):
    """A judged call, in the order in which the model made them."""
    index: int  # among all calls, judged or not
    op: str  # "aten::mm"
    site: Site
    shape: tuple[int, ...]  # of the first output
    dtype: str
    verdict: str  # "pass", "mismatch", "below_contract" or "inconclusive"
    class_: str
    reason: str
    margin: Optional[float]  # the largest error over what the arithmetic may cost
    effective_bits: Optional[float]
    bias: Optional[float]  # mean error, in standard deviations of what random roundings give
    finite: bool  # False: NaN or infinities came out of finite operands
    elements: int
    judged: int
    case: str = ""  # id of a case of the same operator, types and shapes; "" where it was not asked for
    question: Optional[Question] = None  # kept of nodes that fail

    @property
    def failed(self) -> bool:
        return self.verdict in ("mismatch", "below_contract")

    def __str__(self) -> str:
        where = f" in {self.site.module}" if self.site.module else ""
        way = ", backward" if self.site.backward else ""
        line = f" ({self.site.line})" if self.site.line else ""
        return f"node {self.index} {self.op} {self.dtype} {'x'.join(map(str, self.shape))}{where}{way}{line}: {self.verdict}" + \
            (f", {self.reason}" if self.reason else "")


def node_of_moves(answer: Exact) -> Node:
    import numpy
    differ = numpy.flatnonzero(numpy.asarray(answer.expected != answer.got)) if answer.expected.shape == answer.got.shape else None
    reason = ""
    if differ is None:
        reason = f"its shape is {answer.got.shape} instead of {answer.expected.shape}"
    elif differ.size:
        place = [int(k) for k in numpy.unravel_index(differ[0], answer.got.shape)]
        reason = f"{differ.size} of {answer.got.size} {answer.fault}, the first {place}"
    size = answer.got.size
    return _NOBODYS._replace(elements=size, judged=size, **({"verdict": "mismatch", "class_": "none", "reason": reason} if reason else {}))


_VERDICTS = ("mismatch", "below_contract", "inconclusive", "pass")
_GRADES = ("none", "suspect", "within_lower_class", "within_class", "bit_exact")


def joined(nodes: Sequence[Node]) -> Node:
    """The first of the worst verdict and grade, with the numbers of all."""
    worst = min(nodes, key=lambda node: (_VERDICTS.index(node.verdict), _GRADES.index(node.class_)))

    def most(name: str, function: Any) -> Any:
        return function((value for node in nodes if (value := getattr(node, name)) is not None), default=None)

    return worst._replace(margin=most("margin", max), effective_bits=most("effective_bits", min), bias=most("bias", functools.partial(max, key=abs)),
                          elements=sum(node.elements for node in nodes), judged=sum(node.judged for node in nodes))


# Equal to the bit; what calls it is not known here.
_NOBODYS = Node(0, "", Site("", ""), (), "", "pass", "bit_exact", "", None, None, None, True, 0, 0)


def node_of_slice(judged: int, proof: Optional[Proof], elements: int = 0) -> Node:
    """A part of a call, which is proven; without a proof nobody looks at it."""
    return _NOBODYS._replace(class_="bit_exact" if proof is not None and proof.is_exact else "within_class", elements=elements or judged, judged=judged)


def stays_finite(call: Call, result: Any) -> bool:
    made = [each for each in call.outputs(result) if each is not None and each.dtype.is_floating_point]
    if all(map(_is_finite, made)):
        return True
    given = values_of(call.arguments)
    return not all(math.isfinite(each) if isinstance(each, float) else _is_finite(each) for each in given
                   if isinstance(each, float) or hasattr(each, "isfinite") and each.dtype.is_floating_point)


def _is_finite(tensor: Any) -> bool:
    """By the sum, where that does not overflow. PyTorch has isfinite of no type of eight bits, nor sums of them."""
    tensor = tensor if tensor.dtype.itemsize > 1 else tensor.float()
    return math.isfinite(tensor.sum()) or bool(tensor.isfinite().all())


def kept(answer: Any) -> Optional[Question]:
    """The question with copies of its tensors, which the program goes on to change."""
    if isinstance(answer, Exact):
        return None
    copies = [{name: each.detach().clone() for name, each in tensors.items()} for tensors in (answer.inputs, answer.outputs)]
    return Question(answer.op, copies[0], copies[1], answer.attrs)
