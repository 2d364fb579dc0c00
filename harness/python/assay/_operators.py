# SPDX-License-Identifier: Apache-2.0
"""Operands and attributes of operators, under the names of the suites or of NumPy and PyTorch."""
from __future__ import annotations

import difflib
import numbers
from typing import Any, Iterable, Mapping, Optional, Sequence

from . import _library
from ._errors import UsageError

# Arguments of the calls themselves, which a misspelt one may be meant to be.
_ARGUMENTS = ("contract", "require", "tier", "dtypes", "strict")
# Tolerances of other libraries' checks, in lower case.
_TOLERANCES = ("rtol", "atol", "tol", "tolerance", "max_ulp")
_JOINTS = {"dims": "x", "axes": "+"}

_all: Optional[dict[str, dict[str, Any]]] = None
_is_old = False  # whether operators were added since
_traced: dict[str, dict[str, Any]] = {}  # of functions, which a program may have one of for each step that it trains


def operators() -> dict[str, dict[str, Any]]:
    """Operators by name: ``inputs``, ``optional_inputs``, ``outputs``, ``layouts`` and ``attrs``, each attribute with
    ``key``, ``type`` (int, float, name, dims, axes), ``default``, ``choices``, ``doc`` and ``other_names``, under which it
    may be given, too."""
    global _all, _is_old
    if _all is None or _is_old:
        import ctypes
        import json
        text = ctypes.c_char_p()
        _library.demand(_library.load().assay_operators(ctypes.byref(text)))
        _all = {entry["op"]: entry for entry in json.loads((text.value or b"").decode())}
        _is_old = False
    return _all


def expect_more() -> None:
    """After operators were added: what is not known is asked for again."""
    global _is_old
    _is_old = True


def expect_traced(op: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Knows a function that was added without asking for all operators, a text of which the library keeps forever."""
    _traced[op] = {"inputs": list(inputs), "outputs": list(outputs), "layouts": {}, "attrs": []}
    expect_more()


def _schema(op: str) -> Optional[dict[str, Any]]:
    """None of an operator that the library does not have."""
    known = _traced.get(op) or (_all or {}).get(op)
    return operators().get(op) if known is None else known


def operand_order(op: str, outputs: bool) -> list[str]:
    """Names of inputs or outputs in the operator's order, optional ones included; [] of an unknown operator."""
    schema = _schema(op)
    if schema is None:
        return []
    if outputs:
        return schema["outputs"]
    listed = [name for name in schema["layouts"] if name not in schema["outputs"]]
    return listed or schema["inputs"]


_WANTED = {"int": "an integer", "float": "a number", "dims": "an integer or a sequence of them",
           "axes": "an integer, a sequence of them, or None for all axes"}


def _wanted(attr: Mapping[str, Any]) -> str:
    """Values that the attribute takes, in words."""
    if attr["choices"] == ["0", "1"]:
        return "True or False"
    if attr["choices"]:
        return "one of " + ", ".join(map(repr, attr["choices"]))
    return _WANTED[attr["type"]]


def _scalar(value: Any) -> Any:
    """The Python number of a scalar or an array without axes, of NumPy or a framework; anything else as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def _one_text(attr: Mapping[str, Any], value: Any) -> Optional[str]:
    """A single value as the suites write it; None: the attribute takes no such value."""
    kind, value = attr["type"], _scalar(value)
    if isinstance(value, bool):
        return str(int(value)) if attr["choices"] == ["0", "1"] else None
    if isinstance(value, numbers.Integral) and (kind != "name" or str(int(value)) in attr["choices"]):
        return str(int(value))
    if kind == "float" and isinstance(value, numbers.Real):
        return repr(float(value))
    return None


def _value_text(op: str, name: str, attr: Mapping[str, Any], value: Any, rank: int) -> str:
    if isinstance(value, str):
        return value
    if value is None and attr["type"] == "axes":
        value = range(rank)
    text = _one_text(attr, value)
    if text is None and attr["type"] in _JOINTS and isinstance(value, Iterable):
        parts = [_one_text(attr, part) for part in value]
        text = None if None in parts or not parts else _JOINTS[attr["type"]].join(parts)  # type: ignore[arg-type]
    if text is not None:
        return text
    given = repr(value) if getattr(value, "ndim", 0) == 0 else f"<{type(value).__name__}>"
    advice = ""
    if attr["key"] in operand_order(op, False):
        advice = f"; the array {attr['key']} belongs to the inputs"
    elif value is None and attr["default"]:
        advice = f"; leave {name} out for its default, {attr['default']}"
    elif attr["type"] == "int" and isinstance(value, Iterable):
        advice = f"; {op} has one {attr['key']} alone: join axes, as x.reshape(...) does"
    raise UsageError(f"{op}: {name}={given} is not {_wanted(attr)}{advice}")


def _refuse_unknown(op: str, name: str) -> None:
    """Refuses what is no attribute but near to an argument of the call. The library refuses all others, with its hints."""
    if name.lower() in _TOLERANCES:
        raise UsageError(f"{op}: assay takes no {name}, because tolerances follow from the arithmetic: state that with "
                         "contract=, such as contract=\"bf16acc\"")
    # Two letters too many, too few or exchanged: any further off is rather a name of an operand.
    close = difflib.get_close_matches(name.lower(), _ARGUMENTS, 1, 0.84)
    if close:
        raise UsageError(f"{op} has no attribute '{name}'; assay list ops --verbose shows what it takes; did you mean "
                         f"'{close[0]}'?")


def attribute_texts(op: str, attrs: Mapping[str, Any], rank: int) -> list[str]:
    """Keys and values in turns, as the suites write them: ``axis=(0, 1)`` becomes ``axes``, ``0+1``. None is all `rank`
    axes of an operator that takes several, as in NumPy, and what is computed for a default "auto"."""
    schema = _schema(op)
    known = [] if schema is None else schema["attrs"]
    by_name = {other: attr for attr in known for other in attr["other_names"]} | {attr["key"]: attr for attr in known}
    result: dict[str, str] = {}
    for name, value in attrs.items():
        attr = by_name.get(name)
        if attr is None:
            _refuse_unknown(op, name)
            result[name] = "?"  # the library refuses the name, whatever the value
            continue
        if value is None and attr["default"] == "auto":
            continue
        key = attr["key"]
        if key in result:
            raise UsageError(f"{op}: {name} is another name of {key}, which is given too; give one of them")
        result[key] = _value_text(op, name, attr, value, rank)
    return [text for pair in result.items() for text in pair]
