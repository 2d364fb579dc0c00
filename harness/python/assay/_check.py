# SPDX-License-Identifier: Apache-2.0
"""Judging one set of tensors."""
from __future__ import annotations

import ctypes
import itertools
from numbers import Integral
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from . import _library
from ._arrays import CArrays, GivenArray, take
from ._declaration import not_a_type
from ._errors import InconclusiveWarning, Mismatch, SuspectWarning, UsageError
from ._operators import attribute_texts, operand_order
from ._verdict import Verdict, take_verdict

Arrays = Union[Mapping[str, Any], Sequence[Any], Any]
Given = list[tuple[Optional[str], GivenArray, Optional[str]]]


def take_all(arrays: Arrays, order: Sequence[str], what: str, dtypes: Mapping[str, str]) -> Given:
    """One array, several in the operator's order (None: one that is left out), or several by name."""
    __tracebackhide__ = True
    if isinstance(arrays, Mapping):
        named = list(arrays.items())
    else:
        several = list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]
        named = [(order[i] if i < len(order) else None, array) for i, array in enumerate(several)
                 if array is not None or not isinstance(arrays, (list, tuple))]
    for name, _ in named:
        if name is not None and not isinstance(name, str):
            raise UsageError(f"{what}: {name!r} is no name of an operand; they are {', '.join(order)}")
    return [(name, take(array, f"{what} {name}" if name else what), dtypes.get(name or "")) for name, array in named]


def positive_or_zero(number: Optional[int], what: str) -> int:
    """A positive integer for C, 0 for None."""
    if number is None:
        return 0
    if not isinstance(number, Integral) or isinstance(number, bool) or not 0 < number <= 2**62:
        raise UsageError(f"{what}={number!r} is no integer from 1 to 2^62; leave it out to judge all elements"
                         if what == "sample" else f"{what}={number!r} is no integer from 1 to 2^62")
    return int(number)


def check(op: Union[str, Callable[..., Any]], inputs: Arrays, outputs: Union[Arrays, Callable[..., Any]], *, contract: Optional[str] = None, require: Optional[str] = None,
          tier: Optional[str] = None, dtypes: Optional[Mapping[str, str]] = None, explain: str = "quick",
          sample: Optional[int] = None, sample_seed: Optional[int] = None, sample_at: Sequence[tuple[int, int]] = (), **attrs: Any) -> Verdict:
    """Judges `outputs` of an operator on `inputs` against golden values and the bounds of a contract.

    op: "matmul", "softmax", ...; ``assay.operators()`` has all, with shapes and attributes. Or a formula: what
        ``assay.operator`` made, or any function of arrays, which is traced for arrays of these shapes; it takes what it needs
        from ``assay.namespace(x)``, and `attrs` are its keyword arguments.
    inputs: arrays by name, in the operator's order (None: an optional one that is left out), or a single one.
    outputs: a single array, or several by name. Or a kernel: a function that is called with the inputs, and with the
        attributes that it has arguments for. Where several causes explain its result it is called again, with another
        value of a stated real or the inputs in another order, and those are named that explain all of its results.
    contract: the arithmetic to judge by, such as "f32acc" or "tf32; ftz=all"; None: that of the types, which permits
        intermediates in a 16-bit type of the inputs (`stricter` of the verdict: whether it holds without them).
    require: a contract that `contract` has to meet; else the verdict is "below_contract".
    tier: "auto", "fast" or "reproducible" golden values.
    dtypes: by name, what uint16 and uint8 arrays hold ("bf16", "e4m3", ...; uint8 is else u8), or the narrower type that
        the values of a float array are of.
    explain: of a failure, "quick": the causes that about a second of work finds, a quarter of one for large cases; "full": ten seconds, for large cases all; "no": the verdict and its figures alone, sooner: without
        weaker arithmetic, `weak` and `explanation`.
    sample: about how many elements of a large output are judged, at the cost of these alone; None: all. They lie on a grid:
        the ends of each axis, both sides of borders of blocks, slices at random, and the extreme and the first and last
        non-finite elements. `sample` of the verdict and its reason say how many they were. Causes are not looked for.
    sample_seed: what is drawn, as an earlier verdict has it; None: it follows from the inputs.
    sample_at: pairs of an output's number and an element's in row-major order, which are always in the sample.
    attrs: the operator's attributes, by their own names or NumPy's (axis, keepdims, transpose_a); those that follow from
        the shapes may be left out. A value of another kind is refused: axis=True, axis=None where there is one axis.

    Arrays may be of NumPy, PyTorch, JAX, CuPy, ...: anything with a buffer, __dlpack__ or __array_interface__, with any
    strides. What is on a device is copied to the host. Raises UsageError where something cannot be, and Error where the
    library is not there or memory is short. The call releases the GIL.
    """
    if callable(outputs):
        from ._experiment import check_kernel
        judged = {"contract": contract, "require": require, "tier": tier, "dtypes": dtypes, "explain": explain, "sample": sample,
                  "sample_seed": sample_seed, "sample_at": sample_at}
        return check_kernel(op, inputs, outputs, judged, attrs)
    if callable(op):
        from ._define import take_function
        op, attrs = take_function(op, inputs, outputs, attrs)
    if not isinstance(op, str):
        raise UsageError(f"op {op!r} is no text; name the operator, such as \"matmul\", or give a function of arrays")
    if dtypes is not None and not isinstance(dtypes, Mapping):
        raise UsageError(f"dtypes={dtypes!r} is no mapping from names of arrays to types, such as {{\"a\": \"bf16\"}}")
    dtypes = dtypes or {}
    for name, text in dtypes.items():
        if not isinstance(text, str):
            raise not_a_type(f"dtypes: the type of {name}={text!r}", text)
    given_inputs = take_all(inputs, operand_order(op, False), "input", dtypes)
    given_outputs = take_all(outputs, operand_order(op, True), "output", dtypes)
    for name in dtypes:
        if name not in [n for n, _, _ in given_inputs + given_outputs]:
            raise UsageError(f"dtypes has {name!r}, but there is no such array")
    rank = len(given_inputs[0][1].shape) if given_inputs else 0
    texts = attribute_texts(op, attrs, rank)
    c_inputs, c_outputs = CArrays(given_inputs), CArrays(given_outputs)
    question = _library.Question(
        ctypes.sizeof(_library.Question), _library.encoded(op), len(texts) // 2, _library.texts(texts), c_inputs.count,
        c_inputs.pointers, c_outputs.count, c_outputs.pointers, _library.encoded(contract, "contract"),
        _library.encoded(require, "require"), _library.encoded(tier, "tier"), _library.encoded(explain, "explain"), positive_or_zero(sample, "sample"),
        positive_or_zero(sample_seed, "sample_seed"), len(sample_at), (ctypes.c_uint64 * (2 * len(sample_at)))(*itertools.chain(*sample_at)))
    library = _library.load()
    return take_verdict(_library.made(library.assay_judge, ctypes.byref(question)))


def failure_text(verdict: Verdict, note: str = "") -> str:
    """Describes a result that did not pass. `note`: what to know about its inputs."""
    record, arithmetic = verdict.to_dict(), verdict.arithmetic
    name = verdict.verdict if not verdict.passed else "suspect" if verdict.class_ == "suspect" else "weak"
    lines = [f"{name}: {record['op']} {record['dtype']} {record['shape']}, judged by {record['contract']}"]
    if note:
        lines.append(f"note: {note}")
    output = f" of {record['worst_output']}" if record["worst_output"] else ""
    if verdict.verdict == "mismatch" and verdict.worst and record["violations"] and not record["nonfinite_mismatch"]:
        lines.append(f"worst element{output}: {verdict.worst[0]}")
    else:
        lines.append(f"reason: {verdict.reason}")
    if verdict.cause:
        lines.append(f"cause: it is the right result of {verdict.cause}")
    if verdict.where:
        lines.append(f"where: {verdict.where}")
    if arithmetic or verdict.verdict == "mismatch":
        explained = f"behaves like {arithmetic.name} ({arithmetic.field})" if arithmetic else "no weaker one explains it"
        lines.append(f"arithmetic: {explained}")
    if record["advice"]:
        more = "; strict=False passes it with a warning" if verdict.class_ == "suspect" else ""
        lines.append(f"try: {record['advice']}{more}")
    return "\n  ".join(lines) + "\n" + verdict.explanation


def demand_pass(verdict: Verdict, strict: bool, stacklevel: int, note: str = "") -> None:
    """Raises Mismatch unless it passed; of an inconclusive or suspect one it warns, unless `strict`. What is weak fails
    strictly alone."""
    __tracebackhide__ = True
    if verdict.passed_strictly or (verdict.passed and verdict.class_ != "suspect" and not strict):
        return
    if not strict and (verdict.passed or verdict.verdict == "inconclusive"):
        import warnings
        kind = SuspectWarning if verdict.passed else InconclusiveWarning
        record = verdict.to_dict()
        attributes = (f"; attributes: judged with {record['default_attrs']} by default; an argument of that name states another"
                      if verdict.passed and record["default_attrs"] else "")
        warnings.warn(f"{record['op']}: {verdict.reason}{attributes}", kind, stacklevel=stacklevel)
        return
    raise Mismatch(failure_text(verdict, note), verdict)


def assert_close(op: Union[str, Callable[..., Any]], inputs: Arrays, output: Arrays, *, contract: Optional[str] = None, strict: bool = False,
                 **arguments: Any) -> Verdict:
    """Calls ``check`` and raises Mismatch, an AssertionError, unless the result is what the contract permits.

    An "inconclusive" result, whose data a tensor of zeros would pass as well without being the right result, warns
    (InconclusiveWarning). A "suspect" result, within its bound but with errors that random roundings hardly make, warns
    too (SuspectWarning). With `strict` both fail. A `weak` result fails with `strict` as well: it holds by the default
    contract's intermediates of 16 bits alone, by which most single faults would pass. Other arguments are those of
    ``check``. Returns the verdict.
    """
    __tracebackhide__ = True
    verdict = check(op, inputs, output, contract=contract, **arguments)
    demand_pass(verdict, strict, 3)
    return verdict
