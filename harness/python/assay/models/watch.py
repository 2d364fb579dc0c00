# SPDX-License-Identifier: Apache-2.0
"""``assay.watch``: each operator that PyTorch executes, judged from the operands that it really had."""
from __future__ import annotations

import math
import time
from collections import Counter
from typing import Any, Callable, Iterator, NamedTuple, Optional

from .._check import check
from .._errors import Error, UsageError
from .._verdict import Verdict
from ._calls import Call, full_name, is_view, name_of, why_unjudgeable, without_modes
from ._rules import Exact, Question, Unjudged, values_of
from ._sites import Site, Sites


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


class Watch:
    """The results of a program's calls. Used with ``with``; it may be entered again, and then adds."""

    def __init__(self, sample: Optional[int] = 4096, every: int = 1, contract: Optional[str] = None, most_kept: int = 20,
                 on_node: Optional[Callable[[Node], None]] = None) -> None:
        for name, value in (("sample", sample), ("every", every), ("most_kept", most_kept)):
            if not (value is None and name == "sample") and (isinstance(value, bool) or not isinstance(value, int) or value < (name != "most_kept")):
                raise UsageError(f"watch: {name}={value!r} is no positive integer")
        if contract is not None:
            _demand_contract(contract)
        self.sample, self.every, self.contract, self.most_kept, self.on_node = sample, every, contract, most_kept, on_node
        self.nodes: list[Node] = []
        self.calls = 0  # that had arithmetic or moved elements
        self.views = 0
        self.unjudged: Counter[str] = Counter()  # by reason
        self.seconds = 0.0  # of judging
        self._kept = 0  # nodes whose tensors are kept
        self._sites, self._mode = Sites(), None

    def __enter__(self) -> Watch:
        if self._mode is not None:
            raise UsageError("watch: it is entered already; leave that block first, or make another one")
        try:
            from ._mode import Mode
        except ImportError as error:
            raise Error(f"watch: it follows PyTorch, which cannot be imported here: {error}") from None
        self._sites.start()
        self._mode = Mode(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        mode, self._mode = self._mode, None
        mode.__exit__(*error)  # type: ignore[attr-defined]
        self._sites.stop()

    @property
    def first_wrong(self) -> Optional[Node]:
        """The first node whose result its operands do not explain; None: there is none."""
        return next((node for node in self.nodes if node.verdict == "mismatch"), None)

    @property
    def first_weaker(self) -> Optional[Node]:
        """The first node whose arithmetic is weaker than the contract."""
        return next((node for node in self.nodes if node.verdict == "below_contract"), None)

    @property
    def first_nonfinite(self) -> Optional[Node]:
        """The first node that made NaN or infinities of finite operands."""
        return next((node for node in self.nodes if not node.finite), None)

    @property
    def failures(self) -> list[Node]:
        return [node for node in self.nodes if node.failed]

    def __bool__(self) -> bool:
        """Whether results were judged, and none of them failed."""
        return bool(self.nodes) and not self.failures

    def __str__(self) -> str:
        from ._report import as_text
        return as_text(self)

    def to_dict(self) -> dict[str, Any]:
        from ._report import as_dict
        return as_dict(self)

    def save(self, folder: str) -> None:
        """Writes report.html, nodes.json, and of each failing node a folder with its tensors and the line that judges it again."""
        from ._report import save
        save(self, folder)

    def execute(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Runs the call as it is, and judges it if it is its turn. Whatever goes wrong in judging is counted, not raised;
        only `on_node` may raise."""
        if is_view(function):
            self.views += 1
            self._sites.here()
            return function(*args, **kwargs)
        self.calls += 1
        index, reason, site = self.calls, why_unjudgeable(function), self._sites.here()
        if reason or index % self.every:
            self.unjudged.update([reason] if reason else [])
            return function(*args, **kwargs)
        begun = time.perf_counter()
        call = self._attempt(function, lambda: Call(function, args, kwargs))
        between = time.perf_counter()
        result = function(*args, **kwargs)
        self.seconds -= time.perf_counter() - between
        found: list[Node] = []
        if call is not None:
            self._attempt(function, lambda: found.extend(self._judge(index, site, call, result)))
        self.seconds += time.perf_counter() - begun
        for node in found:  # on_node may raise, to end the program
            self.add(node)
        return result

    def _attempt(self, function: Callable[..., Any], step: Callable[[], Any]) -> Any:
        """Returns what the step does; None where it fails, for whatever reason: tensors and rules of others raise anything."""
        try:
            with without_modes():
                return step()
        except Unjudged as why:
            self.unjudged[str(why)] += 1
        except Exception as error:
            self.unjudged[f"{full_name(name_of(function))}: {type(error).__name__}: {error}".split("\n")[0][:160]] += 1
        return None

    def _judge(self, index: int, site: Site, call: Call, result: Any) -> Iterator[Node]:
        for answer in call.answers(result):
            node = self._of_moves(answer) if isinstance(answer, Exact) else self.judged(answer)
            output = next(each for each in call.outputs(result) if each is not None)
            node = node._replace(index=index, op=full_name(call.base), site=site, shape=tuple(output.shape), dtype=str(output.dtype).partition(".")[2],
                                 finite=_stays_finite(call, result))
            yield node._replace(question=_kept(answer) if node.failed and self._kept < self.most_kept else None)

    def add(self, node: Node) -> None:
        node = node if self._kept < self.most_kept else node._replace(question=None)
        self._kept += node.question is not None
        self.nodes.append(node)
        if self.on_node is not None:
            self.on_node(node)

    def _of_moves(self, answer: Exact) -> Node:
        import numpy
        differ = numpy.flatnonzero(numpy.asarray(answer.expected != answer.got)) if answer.expected.shape == answer.got.shape else None
        reason = ""
        if differ is None:
            reason = f"its shape is {answer.got.shape} instead of {answer.expected.shape}"
        elif differ.size:
            place = [int(k) for k in numpy.unravel_index(differ[0], answer.got.shape)]
            reason = f"{differ.size} of {answer.got.size} elements are not those that were moved there, the first {place}"
        return Node(0, "", Site("", ""), (), "", "mismatch" if reason else "pass", "none" if reason else "bit_exact", reason, None, None, None, True,
                    answer.got.size, answer.got.size)

    def judged(self, question: Question) -> Node:
        """The verdict on it; what else a node has is not known here."""
        sizes = [math.prod(each.shape) for each in question.outputs.values()]
        sample = self.sample if max(sizes) > (1 if question.costly else 16) * (self.sample or 0) else None
        verdict: Verdict = check(question.op, dict(question.inputs), dict(question.outputs), contract=self.contract, sample=sample, **question.attrs)
        metrics = verdict.to_dict()
        elements = sum(sizes)
        judged = verdict.sample.judged if verdict.sample else elements
        return Node(0, "", Site("", ""), (), "", verdict.verdict, verdict.class_, verdict.reason, verdict.margins["bound"],
                    metrics.get("effective_bits"), metrics.get("bias_z"), True, elements, judged)


def _demand_contract(contract: str) -> None:
    """Raises UsageError unless it is a contract: else it would leave every call unjudged, and nothing wrong."""
    import numpy
    try:
        check("abs", numpy.zeros(1, "f4"), numpy.zeros(1, "f4"), contract=contract)
    except UsageError as error:
        if str(error).startswith("contract"):
            raise UsageError(f"watch: {error}") from None


def _stays_finite(call: Call, result: Any) -> bool:
    made = [each for each in call.outputs(result) if each is not None and each.dtype.is_floating_point]
    if all(map(_is_finite, made)):
        return True
    given = values_of(call.arguments)
    return not all(math.isfinite(each) if isinstance(each, float) else _is_finite(each) for each in given
                   if isinstance(each, float) or hasattr(each, "isfinite") and each.dtype.is_floating_point)


def _is_finite(tensor: Any) -> bool:
    """PyTorch has isfinite of no type of eight bits."""
    return bool((tensor if tensor.dtype.itemsize > 1 else tensor.float()).isfinite().all())


def _kept(answer: Any) -> Optional[Question]:
    """The question with copies of its tensors, which the program goes on to change."""
    if isinstance(answer, Exact):
        return None
    copies = [{name: each.detach().clone() for name, each in tensors.items()} for tensors in (answer.inputs, answer.outputs)]
    return Question(answer.op, copies[0], copies[1], answer.attrs)


def watch(sample: Optional[int] = 4096, every: int = 1, contract: Optional[str] = None, most_kept: int = 20,
          on_node: Optional[Callable[[Node], None]] = None) -> Watch:
    """Judges each operator that PyTorch executes in a ``with`` block, forward and backward, from the operands that it had.

    sample: about how many elements are judged of an output that has over 16 times as many, of gradients of attention one that
        has more; None: all of them.
    every: of so many calls one is judged.
    contract: the arithmetic to judge by, such as "f32acc" or "tf32"; None: that of each result's type.
    most_kept: of so many failing nodes the tensors are kept, for ``save``.
    on_node: called with each judged node, as soon as it is.

    The program computes what it would compute without: a call that cannot be judged is counted in ``unjudged``, with the reason.
    """
    return Watch(sample, every, contract, most_kept, on_node)
