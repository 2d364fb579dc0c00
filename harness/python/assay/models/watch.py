# SPDX-License-Identifier: Apache-2.0
"""``assay.watch``: each operator that PyTorch executes, judged from the operands that it really had."""
from __future__ import annotations

import functools
import math
import sys
import time
from collections import Counter
from typing import Any, Callable, Iterator, Optional, Sequence

from .._check import check
from .._define import take_function
from .._errors import Error, UsageError
from .._verdict import Verdict
from . import _layer_proofs  # noqa: F401  (it adds proofs)
from ._background import Background, count_threads, on_host, tensors_in
from ._compiled import copied_operands, judge_region
from ._calls import Call, full_name, kind_of, name_of, without_modes
from ._deviations import Deviations, furthest
from ._nodes import Node as Node, joined, kept as kept, node_of_moves, node_of_slice, stays_finite
from ._proofs import measure, proof_of, prove
from ._plans import Plan
from ._queue import MOST_FAILURES, Queue
from ._records import Records
from ._report import make_folder
from ._rules import Exact, Question, Unjudged
from ._sites import Site, Sites
from ._slices import Slices
from ._steps import Steps
from ._tape import Tape


class Watch:
    """The results of a program's calls. Used with ``with``; it may be entered again, and then adds."""

    def __init__(self, sample: Optional[int] = 4096, every: int = 1, contract: Optional[str] = None, most_kept: int = 20,
                 on_node: Optional[Callable[[Node], None]] = None, threads: Optional[int] = None, record: bool = False, every_step: int = 1,
                 folder: Optional[str] = None) -> None:
        for name, value in (("sample", sample), ("every", every), ("most_kept", most_kept), ("threads", threads), ("every_step", every_step)):
            least = 0 if name in ("most_kept", "threads") else 1
            if not (value is None and name in ("sample", "threads")) and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise UsageError(f"watch: {name}={value!r} is no positive integer")
        if on_node is not None and not callable(on_node):
            raise UsageError(f"watch: on_node={on_node!r} is no function of a node")
        if contract is not None:
            _demand_contract(contract)
        if folder is not None:
            make_folder(folder)
        self.sample, self.every, self.contract, self.most_kept, self.on_node = sample, every, contract, most_kept, on_node
        self._records = Records()
        self.calls = 0  # that had arithmetic or moved elements
        self.views = 0
        self.unjudged: Counter[str] = Counter()  # by reason
        self.seconds = 0.0  # of judging
        self.result: Any = None  # of a function that was executed for the watch
        self._kept = 0  # nodes whose tensors are kept
        self._kinds: dict[int, Any] = {}  # of functions, by their id()
        self._measured: set[Any] = set()  # functions and numbers of terms whose bits and bias are known
        self._steps = Steps(every_step, self._resume, self._pause, self._is_innermost)
        self._sites, self._mode, self._modes, self._folder = Sites(self._steps.begin), None, 0, folder
        self._threads = 0 if on_node is not None else count_threads(threads)
        self._background, self._queue = Background(0), None
        self._tape, self._unrecorded = Tape() if record else None, ""

    def __enter__(self) -> Watch:
        if self._mode is not None:
            raise UsageError("watch: it is entered already; leave that block first, or make another one")
        try:
            from ._mode import CompiledRegions, Mode
        except ImportError as error:
            raise Error(f"watch: it follows PyTorch, which cannot be imported here: {error}") from None
        import torch
        self._background = Background(self._threads)
        if self._queue is None and self._tape is None and self.on_node is None:
            self._queue = Queue(self.contract is not None, self._records, self._judged_later)
        self._compiled, self._mode, self._modes = CompiledRegions(self), Mode(self), torch._C._len_torch_dispatch_stack()
        self._steps.start()
        self._resume()
        return self

    def _resume(self, module: Any = None) -> None:
        self._sites.start()
        self._compiled.start()
        self._mode.__enter__()  # type: ignore[attr-defined]
        self._is_on = True
        if module is not None:
            self._sites.enter(module)

    def _pause(self) -> None:
        self._is_on = False
        self._mode.__exit__(None, None, None)  # type: ignore[attr-defined]
        self._compiled.stop()
        self._sites.stop()

    def _is_innermost(self) -> bool:
        """Whether no other mode has been entered since, which this one would be taken for."""
        import torch
        return torch._C._len_torch_dispatch_stack() == self._modes + self._is_on

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None) -> None:
        if self._is_on:
            self._pause()
        self._steps.end()
        self._mode = None
        try:
            self._take(True)
        finally:
            self._background.stop()
            if self._folder is not None:
                self.save(self._folder)
                if kind is not None:
                    print(f"{self}\nwatch: the block ended by {kind.__name__}; what was judged is in {self._folder}", file=sys.stderr)

    @property
    def nodes(self) -> list[Node]:
        """Results in the order in which they were made; asked for within the block, it waits for those that are being judged."""
        self._take(True)
        return self._records.nodes()

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

    def replay(self, device: Any = None, execute: Any = None) -> Any:
        """Executes the recorded calls once more from the same tensors, on another device, or by `execute`, a function of a call's
        function, its arguments and those by name; judges them, and compares each result. Needs record=True."""
        from ._replay import replay
        return replay(self._recorded("replay"), Watch(self.sample, self.every, self.contract, self.most_kept), device, execute)

    def error_at_output(self, *tensors: Any, trials: int = 4, seed: int = 0) -> list[Any]:
        """For each of these results, or all that nothing was made of: the error that roundings like those of all calls make there to
        first order, the real one, and how far two correct stacks may be apart. Needs record=True."""
        from ._output_error import errors_at
        return errors_at(self._recorded("error_at_output"), tensors, trials, seed)

    def suite(self, path: str) -> None:
        """Writes a suite that `assay run` takes: each operator with its types and shapes once, tagged with how many calls of the
        recorded program had it, and, beside it as .json, the functions among them. Needs record=True."""
        from ._suite import write_suite
        self._recorded("suite")
        write_suite(self.nodes, path)

    def _recorded(self, member: str) -> Tape:
        if self._unrecorded:
            raise Error(f"{member}: the recording ended at a call that it cannot hold: {self._unrecorded}")
        if self._tape is None:
            raise UsageError(f"{member}: nothing was recorded; write assay.watch(record=True)")
        return self._tape

    def execute(self, function: Callable[..., Any], args: Any, kwargs: Any, run: Optional[Callable[..., Any]] = None) -> Any:
        """Runs the call as it is, or by `run`, and judges it if it is its turn. Whatever goes wrong in judging is counted, not raised;
        only `on_node` may raise."""
        run = run or function
        kind = self._kinds.get(id(function))  # which the functions are kept for
        if kind is None:
            kind = self._kinds[id(function)] = (*kind_of(function), function)
        is_mark, is_view, reason, _ = kind
        if is_mark:
            return run(*args, **kwargs)
        if self._tape is not None:
            run = self._recording(function, run)
        if is_view:
            self.views += 1
        else:
            self.calls += 1
            if reason:
                self.unjudged[reason] += 1
        if is_view or reason or self.every > 1 and self.calls % self.every:
            if self.every == 1:  # else too few calls have a site to be worth the time
                self._sites.note()
            return run(*args, **kwargs)
        index, site, is_hopeless = self.calls, self._sites.here(), False
        if self._queue is not None and (queued := self._queue.plan(function, args, kwargs)) is not None:
            plan, arrays = queued
            if not (is_hopeless := plan.failures > MOST_FAILURES):
                result = run(*args, **kwargs)
                self._put(index, site, plan, arrays, args, kwargs, result)
                return result
        begun = time.perf_counter()
        made: list[Call] = []
        self._count(self._attempt(function, lambda: made.append(Call(function, args, kwargs))))
        between = time.perf_counter()
        result = run(*args, **kwargs)
        self.seconds -= time.perf_counter() - between
        if made:
            if not is_hopeless and (nodes := self._proven(index, site, made[0], result)):
                self._background.put_result((nodes, "", 0.0))
            else:
                self._judge_soon(function, index, site, made[0], result)
        self.seconds += time.perf_counter() - begun
        self._take(False)
        return result

    def _put(self, index: int, site: Site, plan: Plan, arrays: list[Any], args: Any, kwargs: Any, result: Any) -> None:
        """Proves a call that has a plan; a small one together with others like it."""
        begun, queue = time.perf_counter(), self._queue
        if not plan.is_small:
            if records := queue.prove(plan, index, site, arrays, result):  # type: ignore[union-attr]
                self._background.put_result((records, "", 0.0))
            else:
                self._count(self._attempt(plan.function, lambda: self._judge_soon(
                    plan.function, index, site, plan.call_of(arrays) if plan.changed else Call(plan.function, args, kwargs), result)))
            self._take(False)
        else:
            try:
                is_full = queue.put(plan, index, site, result)  # type: ignore[union-attr]
            except Exception:  # no tensor that NumPy can read, or of another shape than that of such calls
                self._count(self._attempt(plan.function, lambda: self._judge_soon(plan.function, index, site, plan.call(len(plan.waiting))[0], result)))
            else:
                self._background.put_later(plan)
                if is_full:
                    self._take(True)
        self.seconds += time.perf_counter() - begun

    def _judged_later(self, plan: Plan, row: int) -> tuple[list[Node], str, float]:
        found: list[Node] = []
        call, result = plan.call(row)
        reason = self._attempt(plan.function, lambda: found.extend(self._judge(plan.function, plan.waiting[row], self._records.kind(plan.sites[row]), call, result)))
        return found, reason, 0.0

    def execute_region(self, graph: Any, given: Sequence[Any], run: Callable[[], Any]) -> Any:
        """Runs a region that torch.compile has compiled, and judges its outputs by its graph."""
        self.calls += 1
        if self.calls % self.every:
            return run()
        index, site, begun = self.calls, self._sites.here(), time.perf_counter()
        made: list[Any] = []
        why = self._attempt(graph, lambda: made.append(copied_operands(graph, list(given))))
        between = time.perf_counter()
        result = run()
        self.seconds -= time.perf_counter() - between
        if not why:
            why = self._attempt(graph, lambda: self._background.put_result((judge_region(self, index, site, *made[0], result), "", 0.0)))
        self._count(why)
        self.seconds += time.perf_counter() - begun
        self._take(False)
        return result

    def _proven(self, index: int, site: Site, call: Call, result: Any) -> list[Node]:
        """Nodes of results that need no question. None: it needs one, as the first of each layer and of about so many terms does for its bits
        and bias, and all do for a suite."""
        proof = proof_of(call)
        if proof is None or self._tape is not None or not proof.is_exact and self.contract is not None:
            return []
        try:
            outputs = call.outputs(result)
            first = next(each for each in outputs if each is not None)
            if not proof.is_exact:
                sizes = [each.numel() for each in tensors_in(list(call.arguments.values()))]
                if max(sizes) <= _MOST_MEASURED and (seen := measure(proof, call.base, first.dtype, max(sizes), first.numel())) not in self._measured:
                    self._measured.add(seen)
                    return []
            with without_modes():
                if (is_finite := prove(proof, call, outputs)) is None:
                    return []
                sizes = [sum([outputs[place].numel() for place in group if place < len(outputs) and outputs[place] is not None]) for group in proof.groups]
                is_finite = is_finite or stays_finite(call, result)
                return [Node(index, full_name(call.base), site, tuple(first.shape), str(first.dtype)[6:], "pass", "bit_exact" if proof.is_exact else "within_class",
                             "", 0.0 if proof.is_exact else None, None, None, is_finite, size, size) for size in sizes if size]
        except Exception:  # tensors of others raise anything, and the rule says why they are not judged
            return []

    def _recording(self, function: Any, run: Callable[..., Any]) -> Callable[..., Any]:
        """Runs and records. A call that cannot be recorded ends the recording, not the program."""
        def recorded(*args: Any, **kwargs: Any) -> Any:
            arguments: list[Any] = []
            why = self._attempt(function, lambda: arguments.append(self._tape.arguments(function, args, kwargs)))  # type: ignore[union-attr]
            result = run(*args, **kwargs)
            if not why:
                why = self._attempt(function, lambda: self._tape.add(function, arguments[0], result, self._sites.here()))  # type: ignore[union-attr]
            if why:
                self._tape, self._unrecorded = None, why
            return result
        return recorded

    def _judge_soon(self, function: Callable[..., Any], index: int, site: Site, call: Call, result: Any) -> None:
        def judge(call: Call, result: Any) -> tuple[list[Node], str, float]:
            begun, found = time.perf_counter(), list[Node]()
            reason = self._attempt(function, lambda: found.extend(self._judge(function, index, site, call, result)))
            return found, reason, time.perf_counter() - begun

        copies: list[Any] = []

        def copy() -> None:
            tensors = list(tensors_in([*call.arguments.values(), result]))
            if self._background.takes(tensors):
                copies.extend((call.copied(), on_host(result), sum(each.numel() * each.dtype.itemsize for each in tensors)))

        self._attempt(function, copy)  # tensors that nobody can copy are judged, or refused, where they are
        if copies:
            self._background.put(lambda: judge(*copies[:2]), copies[2])
        else:
            found, reason, _ = judge(call, result)
            self._background.put_result((found, reason, 0.0))

    def _take(self, all_of_them: bool) -> None:
        """Adds what has been judged; on_node may raise, to end the program."""
        if self._queue is not None and (all_of_them or self._background.is_full()):
            begun = time.perf_counter()
            with without_modes():
                self._queue.flush()
            self.seconds += time.perf_counter() - begun
        for found in self._background.results(all_of_them):
            if len(found) == 4:
                self._records.add(found)
                continue
            nodes, reason, seconds = found
            self._count(reason)
            self.seconds += seconds
            for node in nodes:
                self.add(node)

    def _count(self, reason: str) -> None:
        if reason:
            self.unjudged[reason] += 1

    def _attempt(self, function: Callable[..., Any], step: Callable[[], Any]) -> str:
        """Takes the step. Returns why it fails, whatever the reason is: tensors and rules of others raise anything."""
        try:
            with without_modes():
                step()
        except Unjudged as why:
            return str(why)
        except Exception as error:
            return f"{full_name(name_of(function))}: {type(error).__name__}: {error}".split("\n")[0][:160]
        return ""

    def _judge(self, function: Any, index: int, site: Site, call: Call, result: Any) -> Iterator[Node]:
        deviations = functools.cache(lambda: Deviations(function, call, result))
        for answer in self._parts(call.answers(result), deviations):
            node = self._of_slices(function, call, answer) if isinstance(answer, Slices) else self._of_answer(answer, deviations)
            output = next(each for each in call.outputs(result) if each is not None)
            node = node._replace(index=index, op=full_name(call.base), site=site, shape=tuple(output.shape), dtype=str(output.dtype).partition(".")[2],
                                 finite=stays_finite(call, result))
            yield node

    def _of_answer(self, answer: Any, deviations: Callable[[], Deviations]) -> Node:
        node = node_of_moves(answer) if isinstance(answer, Exact) else self.judged(answer, deviations)
        return node._replace(question=kept(answer) if node.failed and self._kept < self.most_kept else None)

    def _of_slices(self, function: Any, call: Call, slices: Slices) -> Node:
        """One node of all slices, that of the worst one with the numbers of all. Those that are not proven are judged."""
        nodes, left, proof = list[Node](), [], proof_of(call) if self.contract is None else None
        for arguments, outputs in slices.pieces:
            part = call.part(arguments)
            if proof is not None and _is_proven(proof, part, outputs):
                nodes.append(node_of_slice(sum(outputs[place].numel() for place in proof.groups[0] if outputs[place] is not None), proof))
            else:
                left.append((arguments, outputs))
        places = slices.judged(len(left))
        nodes += [node_of_slice(0, None, outputs[0].numel()) for place, (_, outputs) in enumerate(left) if place not in places]
        for arguments, outputs in [left[place] for place in sorted(places)]:
            deviations = functools.cache(functools.partial(Deviations, function, call.part(arguments), outputs))
            nodes += [self._of_answer(answer, deviations) for answer in slices.ask(arguments, outputs)]
        return joined(nodes)

    def _parts(self, answers: Iterator[Any], deviations: Callable[[], Deviations]) -> Iterator[Any]:
        for answer in answers:
            parts = getattr(answer, "parts", None)
            yield from [answer] if parts is None or self.sample is None else parts(lambda output: deviations().of(output))

    def add(self, node: Any) -> None:
        """A node, or a record of a proven one."""
        if type(node) is tuple:
            self._records.add(node)
            return
        node = node if self._kept < self.most_kept else node._replace(question=None)
        self._kept += node.question is not None
        self._records.add(node)
        if self.on_node is not None:
            self.on_node(node)

    def judged(self, question: Question, deviations: Optional[Callable[[], Deviations]] = None) -> Node:
        """The verdict on it; what else a node has is not known here. Where it is no plain pass, it is judged again,
        with all that explains it."""
        sizes = [math.prod(each.shape) for each in question.outputs.values()]
        sample = self.sample if max(sizes) > 16 * (self.sample or 0) else None

        def judge(**more: Any) -> Verdict:
            return check(_planned(question), question.inputs, question.outputs, contract=self.contract, **more, **question.attrs)

        few = self._sampled(question, max(sizes), deviations)
        verdict = judge(explain="no", **(few or {"sample": sample}))
        is_final = verdict.verdict == "inconclusive" and not few and sample is None  # all elements were judged, and nothing is to be explained
        if (verdict.verdict != "pass" or verdict.class_ == "suspect") and not is_final:
            again = judge(**{**few, "sample": sample})
            if verdict.verdict == "pass" or again.verdict != "pass":  # another sample may lack what failed
                verdict = again
        metrics = verdict.to_dict()
        elements = sum(sizes)
        judged = verdict.sample.judged if verdict.sample else elements
        elements = question.elements or elements
        return Node(0, "", Site("", ""), (), "", verdict.verdict, verdict.class_, verdict.reason, verdict.margins["bound"],
                    metrics.get("effective_bits"), metrics.get("bias_z"), True, elements, judged, metrics["case_id"])

    def _sampled(self, question: Question, size: int, deviations: Optional[Callable[[], Deviations]]) -> dict[str, Any]:
        """Arguments that have the elements judged which are furthest from those in f64, and some beside them; empty: nobody knows them."""
        lanes = -(-(self.sample or 0) // 16)
        if deviations is None or not lanes or size <= lanes:
            return {}
        try:
            return {"sample": lanes, "sample_at": list(furthest(deviations(), question))}
        except LookupError:
            return {}


_MOST_OF_SLICE = 1 << 23  # elements of operands and results of a slice that is proven
_MOST_MEASURED = 1 << 23  # elements of an operand; larger ones are proven where they can be, even without bits and bias
_MOST_PLANS = 1 << 14
_plans: dict[Any, str] = {}  # operators of functions that were traced


def _is_proven(proof: Any, part: Call, outputs: list[Any]) -> bool:
    try:
        return prove(proof, part, outputs, _MOST_OF_SLICE) is not None
    except Exception:  # the proof does not take such operands; a judgement says more
        return False


def _planned(question: Question) -> Any:
    """The operator, traced once for all questions of one plan."""
    if question.plan is None:
        return question.op
    operator = _plans.get(question.plan)
    if operator is None:
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()  # other threads have what they have taken
        operator = _plans[question.plan] = take_function(question.op, question.inputs, question.outputs, {})[0]  # type: ignore[arg-type]
    return operator


def _demand_contract(contract: str) -> None:
    """Raises UsageError unless it is a contract: else it would leave every call unjudged, and nothing wrong."""
    import numpy
    try:
        check("abs", numpy.zeros(1, "f4"), numpy.zeros(1, "f4"), contract=contract)
    except UsageError as error:
        if str(error).startswith("contract"):
            raise UsageError(f"watch: {error}") from None


def watch(sample: Optional[int] = 4096, every: int = 1, contract: Optional[str] = None, most_kept: int = 20,
          on_node: Optional[Callable[[Node], None]] = None, threads: Optional[int] = None, record: bool = False, every_step: int = 1,
          folder: Optional[str] = None) -> Watch:
    """Judges each operator that PyTorch executes in a ``with`` block, forward and backward, from the operands that it had.

    sample: about how many elements are judged of an output that has over 16 times as many, and of gradients of attention one
        head; None: all of them.
    every: of so many calls one is judged.
    contract: the arithmetic to judge by, such as "f32acc" or "tf32"; None: that of each result's type.
    most_kept: of so many failing nodes the tensors are kept, for ``save``.
    on_node: called with each judged node, as soon as it is.
    threads: so many threads judge copies of larger operands, at most 256 MB of them, while the program goes on; 0: it waits for
        each judgement, as it does with on_node; None: one for each processor, at most four.
    record: keep all calls and the tensors that they began with, for ``replay`` and ``error_at_output``.
    every_step: of so many steps, which begin when an outermost module is called again, one is watched. The others run as without a watch.
    folder: ``save`` writes there when the block ends, also by an exception or an interrupt.

    The program computes what it would compute without: a call that cannot be judged is counted in ``unjudged``, with the reason.
    """
    return Watch(sample, every, contract, most_kept, on_node, threads, record, every_step, folder)
