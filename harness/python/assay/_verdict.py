# SPDX-License-Identifier: Apache-2.0
"""Result of a judgement."""
from __future__ import annotations

from ctypes import c_void_p
from typing import Any, NamedTuple, Optional

from . import _library

_MARGINS = ("bound", "exact", "exceptional", "stat")
_METRICS = ("max_abs_err", "max_rel_err", "max_ulp_err", "rms_err", "nmse", "effective_bits", "elements", "violations",
            "nonfinite_mismatch", "not_judged", "mutation_power")


class WorstElement:
    """An element of the output: ``index``, ``got``, ``golden``, ``error`` (got - golden) and ``tolerance``, which is
    absolute: how far it may lie from ``golden``, the rounding of the output included. ``part`` is "imag" of the imaginary
    part of a complex element, else ""."""

    __slots__ = ("index", "got", "golden", "error", "tolerance", "part")

    def __init__(self, index: tuple[int, ...], got: float, golden: float, error: float, tolerance: float,
                 part: str = "") -> None:
        self.index, self.got, self.golden = index, got, golden
        self.error, self.tolerance, self.part = error, tolerance, part

    def __repr__(self) -> str:
        return f"<assay.WorstElement {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorstElement) and all(getattr(self, k) == getattr(other, k) for k in self.__slots__)

    def __str__(self) -> str:
        place = "[" + ",".join(map(str, self.index)) + "]" + (" " + self.part if self.part else "")
        return (f"{place} got {self.got:.9g}, golden {self.golden:.9g}, error {self.error:.3g}, "
                f"tolerance {self.tolerance:.3g}")


class Arithmetic(NamedTuple):
    """A weaker arithmetic that explains a result: its name, the field of a contract that says so, and the contract that
    judges by it."""
    name: str
    field: str
    contract: str


class Stricter(NamedTuple):
    """The default contract without the intermediates of 16 bits that it permits: whether the result holds by it too, and
    why not."""
    contract: str
    holds: bool
    reason: str


class Sample(NamedTuple):
    """Which part of a large output was judged: how many elements, of how many, and the seed that they were drawn by."""
    judged: int
    elements: int
    seed: int


def _worst(record: dict[str, Any]) -> list[WorstElement]:
    elements = [text.split(":") for text in record["worst_elements"].split(";") if text]
    errors = [text.rsplit(":", 1) for text in record["worst_errors"].split(";") if text]
    worst = []
    for (_, got, golden, tolerance), (place, error) in zip(elements, errors):
        inside, _, part = place.partition("] ")
        index = tuple(int(i) for i in inside.strip("[]").split(",") if i)
        worst.append(WorstElement(index, float(got), float(golden), float(error), float(tolerance), part))
    return worst


class Verdict:
    """The verdict on one result; true when it passed.

    verdict: "pass", "mismatch", "below_contract" or "inconclusive".
    class_: "bit_exact", "within_class", "within_lower_class", "suspect" or "none".
    reason: one line, "" of a plain pass.
    explanation: what `assay check` prints: contract, channels, errors, worst elements.
    """

    __slots__ = ("verdict", "class_", "reason", "explanation", "_json", "_record")

    def __init__(self, verdict: str, class_: str, reason: str, explanation: str, record: str) -> None:
        self.verdict, self.class_, self.reason, self.explanation = verdict, class_, reason, explanation
        self._json = record
        self._record: Optional[dict[str, Any]] = None

    def __reduce__(self):
        return Verdict, (self.verdict, self.class_, self.reason, self.explanation, self._json)

    def _fields(self) -> dict[str, Any]:
        if self._record is None:
            import json
            self._record = dict(json.loads(self._json))
        return self._record

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.explanation

    def __repr__(self) -> str:
        return f"<assay.Verdict {self.verdict} ({self.class_}){': ' + self.reason if self.reason else ''}>"

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def passed_strictly(self) -> bool:
        """Whether it passed, and is neither suspect nor weak: what `assay check --strict` and `strict=True` demand."""
        return self.passed and self.class_ != "suspect" and not self.weak

    @property
    def cause(self) -> str:
        """The case of which a wrong result would be the right one: "causal=1", "the operand beta all 0", or several with ", or of "
        between them; "": no such mistake was found."""
        return self.reason.partition("; it is the right result of ")[2]

    @property
    def causes(self) -> tuple[str, ...]:
        """The texts of `cause`, each by itself."""
        return tuple(self._fields().get("causes") or ())

    @property
    def weak(self) -> bool:
        """Whether it passed by the default contract while most single faults would pass as well: by intermediates of
        16 bits alone, or in long rows."""
        return bool(self._fields().get("weak_pass"))

    @property
    def stricter(self) -> Optional[Stricter]:
        """Whether a result by the default contract that permits intermediates of 16 bits holds without them. None: the
        contract permits none, or somebody stated it."""
        record = self._fields()
        if record.get("stricter_holds") is None:
            return None
        return Stricter(record["stricter_contract"], record["stricter_holds"], record["stricter_reason"])

    @property
    def sample(self) -> Optional[Sample]:
        """Which part of a large output was judged where `sample=` asked for one; None: all."""
        record = self._fields()
        if record.get("sample_seed") is None:
            return None
        return Sample(record["sample_judged"], record["sample_elements"], record["sample_seed"])

    @property
    def margins(self) -> dict[str, Optional[float]]:
        """The worst value over what is permitted, by channel: bound, exact, exceptional, statistic. Above 1 it fails (by
        the statistic it is suspect; of random data it fails where an element is beyond 20 standard deviations). None: the channel does not apply; infinity: an exact demand is broken."""
        record = self._fields()
        return {"statistic" if name == "stat" else name: _number(record, name + "_margin") for name in _MARGINS}

    @property
    def metrics(self) -> dict[str, Optional[float]]:
        """Errors of the output, absolute, relative and in ulp of the golden value, and counts of elements."""
        record = self._fields()
        return {name: _number(record, name) for name in _METRICS}

    @property
    def worst(self) -> list[WorstElement]:
        """Up to eight elements, worst first. Of several outputs, those of the one that decides."""
        return _worst(self._fields())

    @property
    def where(self) -> str:
        """The elements that are wrong, as a place: "1 of 512 elements, [3,5]"; "" when none is."""
        return self._fields()["where"]

    @property
    def arithmetic(self) -> Optional[Arithmetic]:
        """The weaker arithmetic that explains the errors; None: none does, or none was looked for."""
        record = self._fields()
        if not record["lower_class"]:
            return None
        return Arithmetic(record["lower_class_name"], record["lower_class"], record["lower_class_contract"])

    def to_dict(self) -> dict[str, Any]:
        """The whole record, a line of results.jsonl; a number that is not finite is None beside <key>_nonfinite."""
        return dict(self._fields())


def _number(record: dict[str, Any], key: str) -> Optional[float]:
    other = record.get(key + "_nonfinite")
    return record.get(key) if other is None else float(other)


def take_verdict(handle: c_void_p) -> Verdict:
    """The texts of the library's verdict, which is freed."""
    library = _library.load()
    try:
        texts = [getattr(library, "assay_verdict_" + name)(handle).decode(errors="replace")
                 for name in ("name", "class", "reason", "text", "record")]
    finally:
        library.assay_verdict_free(handle)
    return Verdict(*texts)
