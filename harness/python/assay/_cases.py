# SPDX-License-Identifier: Apache-2.0
"""Cases of suites: the inputs that assay itself tests with, for a kernel that Python can call."""
from __future__ import annotations

import ctypes
import json
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Optional, Sequence, Union

from . import _library
from ._arrays import CArrays, GivenArray
from ._check import Arrays, demand_pass, positive_or_zero, take_all
from ._errors import UsageError
from ._types import BY_NAME
from ._verdict import Verdict, take_verdict

if TYPE_CHECKING:
    import numpy

Names = Union[None, str, Sequence[str]]
Operators = Union[Names, Callable[..., Any], Sequence[Union[str, Callable[..., Any]]]]

_HELD_IN_BITS = ("bf16", "f16", "e4m3", "e5m2")  # types whose bits unsigned integers may hold


def _listed(what: str, names: Names) -> Optional[str]:
    if names is None or isinstance(names, str):
        return names
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"{what}={names!r} is no text and no sequence of texts")
    return ",".join(names)


def _named(op: Operators) -> Names:
    """Names of operators. Definitions, and functions whose arrays are annotated with their axes, are made known first."""
    from ._define import Definition, operator

    def name_of(one: Any) -> Any:
        if not callable(one):
            return one
        return (one if isinstance(one, Definition) else operator(getattr(one, "__name__", "function"))(one)).register()
    return [name_of(one) for one in op] if isinstance(op, (list, tuple)) else name_of(op)


def _dtype(name: str) -> tuple[Any, bool]:
    """NumPy's type, and whether it only holds the bits, as ml_dtypes is not there."""
    import numpy
    one = BY_NAME[name]
    if one.is_numpys:
        return numpy.dtype(one.framework), False
    try:
        import ml_dtypes
    except ImportError:
        return numpy.dtype(f"uint{one.bits}"), True
    return numpy.dtype(getattr(ml_dtypes, one.framework)), False


class Case:
    """One case: its inputs, and judging what was made of them.

    id, op, dtype: as `assay list cases` has them. attrs: all attributes, as texts. requirement: the contract that the
    suite demands. outputs: name to (dtype, shape) of what is expected. note: what to know about the inputs; "".
    """

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle, self._library = handle, _library.load()
        self._lock = threading.Lock()  # the library takes one caller of a case at a time, and ctypes releases the GIL
        self._defaults: tuple[Optional[str], bool] = (None, False)
        self._sample: Optional[int] = None
        text = json.loads(self._library.assay_case_text(handle).decode())
        self.id: str = text["id"]
        self.op: str = text["op"]
        self.dtype: str = text["dtype"]
        self.attrs: dict[str, str] = text["attrs"]
        self.requirement: str = text["requirement"]
        self.outputs = {o["name"]: (o["dtype"], tuple(o["shape"])) for o in text["outputs"]}
        self.checked = 0  # how often `check` was asked
        self._operands = text["inputs"]
        self._inputs: Optional[dict[str, Any]] = None
        bits = [f"{o['name']} has the bits of {o['dtype']} as {_dtype(o['dtype'])[0]}" for o in self._operands
                if _dtype(o["dtype"])[1]]
        self.note = f"without the package ml_dtypes {' and '.join(bits)}, and no values" if bits else ""

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.assay_case_free(self._handle)

    def __repr__(self) -> str:
        return f"<assay.Case {self.id}>"

    @property
    def inputs(self) -> dict[str, numpy.ndarray]:
        """Arrays by name, in the operator's order, which are yours to change: judging has its own. bf16 and fp8 are types
        of ml_dtypes, where that is there, else their bits as uint16 and uint8."""
        if self._inputs is None:
            self._inputs = {o["name"]: self._copy(i, o) for i, o in enumerate(self._operands)}
        return self._inputs

    def _copy(self, index: int, operand: dict[str, Any]) -> numpy.ndarray:
        import numpy
        array = _library.Array(ctypes.sizeof(_library.Array))
        with self._lock:
            _library.demand(self._library.assay_case_input(self._handle, index, ctypes.byref(array)))
            size = int(numpy.prod(operand["shape"], dtype=numpy.int64)) * array.bits // 8
            raw = ctypes.string_at(array.data, size)
        return numpy.frombuffer(bytearray(raw), _dtype(operand["dtype"])[0]).reshape(operand["shape"])

    def judge(self, outputs: Arrays, contract: Optional[str] = None, *, sample: Optional[int] = None) -> Verdict:
        """The verdict on outputs for these inputs: a single array, or several by name. `contract`: the arithmetic to judge
        by; None: what the suite demands, else that of the types. uint16 and uint8 hold bits of the type expected.
        `sample`: as of ``check``."""
        __tracebackhide__ = True
        elements = positive_or_zero(self._sample if sample is None else sample, "sample")
        given = take_all(outputs, list(self.outputs), "output", {})
        arrays = CArrays([(name, array, self._bits_of(name, array)) for name, array, _ in given])
        text = _library.encoded(self._defaults[0] if contract is None else contract, "contract")
        with self._lock:
            made = _library.made(self._library.assay_case_judge_sample, self._handle, arrays.count, arrays.pointers, text,
                                 elements, 0)
        return take_verdict(made)

    def _bits_of(self, name: Optional[str], array: GivenArray) -> Optional[str]:
        """The type whose bits an array of unsigned integers holds: the one that is expected, where it is of that size."""
        expected = self.outputs.get(name or "", ("u8",))[0]
        if array.code != 1 or expected == "u8":
            return None
        if expected not in _HELD_IN_BITS or array.bits != BY_NAME[expected].bits:
            raise UsageError(f"{self.op}: {name} has dtype uint{array.bits}, expected {expected}; convert it, as NumPy's astype "
                             "does")
        return expected

    def check(self, outputs: Arrays, contract: Optional[str] = None, *, strict: Optional[bool] = None,
              sample: Optional[int] = None) -> Verdict:
        """Calls ``judge`` and raises Mismatch unless the result passed; see ``assert_close``."""
        __tracebackhide__ = True
        self.checked += 1
        verdict = self.judge(outputs, contract, sample=sample)
        demand_pass(verdict, self._defaults[1] if strict is None else strict, 3, self.note)
        return verdict


class Cases(Sequence[Case]):
    """Selected cases. ``ids`` costs nothing; an index makes the case, with its inputs, anew."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle, self._library = handle, _library.load()
        count = self._library.assay_cases_count(handle)
        self.ids: list[str] = [self._library.assay_cases_id(handle, i).decode() for i in range(count)]

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.assay_cases_free(self._handle)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: Any) -> Any:
        position = range(len(self.ids))[index]  # IndexError, and what negative ones mean
        if isinstance(position, range):
            return [self[i] for i in position]
        return Case(_library.made(self._library.assay_case_make, self._handle, position))

    def __iter__(self) -> Iterator[Case]:
        return (self[i] for i in range(len(self)))


def cases(suite: Union[None, str, os.PathLike[str]] = None, *, op: Operators = None, dtype: Names = None,
          filter: Optional[str] = None, ids: Sequence[str] = ()) -> Cases:
    """The cases of a suite, by name or path, that match everything given, as `assay list cases` selects them.

    op, dtype: one or several names; an operator may also be what ``assay.operator`` made, or a function whose arrays are
    annotated with their axes: the suite "default" has a few cases of each that no suite names. filter: globs on ids, "softmax/*:-*fill=special*". ids: cases by their ids, beside or
    instead of a suite. Without a suite and ids it is the suite "default". Raises UsageError where there is no such case.
    """
    if isinstance(ids, str):
        ids = [ids]
    if isinstance(suite, os.PathLike):
        suite = os.fspath(suite)
    selection = _library.Selection(
        ctypes.sizeof(_library.Selection), _library.encoded(suite, "suite"), _library.encoded(_listed("op", _named(op))),
        _library.encoded(_listed("dtype", dtype)), _library.encoded(filter, "filter"), len(ids),
        _library.texts(list(ids), "ids"))
    return Cases(_library.made(_library.load().assay_cases_select, ctypes.byref(selection)))
