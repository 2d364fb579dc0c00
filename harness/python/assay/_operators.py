# SPDX-License-Identifier: Apache-2.0
"""Operands and attributes of operators, with the attributes' names in NumPy and PyTorch."""
from __future__ import annotations

import numbers
from typing import Any, Mapping, Optional

from . import _library
from ._declaration import meant
from ._errors import UsageError

# Other names of attributes: the first of these that an operator has.
_ALIASES = {
    "axis": ("axes",), "axes": ("axis",), "dim": ("axis", "axes"), "keepdim": ("keepdims",),
    "transpose_a": ("transa",), "transpose_b": ("transb",), "padding": ("pad",), "is_causal": ("causal",),
    "epsilon": ("eps",), "approximate": ("approx",),
}
_JOINTS = {"dims": "x", "axes": "+"}

_all: Optional[dict[str, dict[str, Any]]] = None


def operators() -> dict[str, dict[str, Any]]:
    """Operators by name: ``inputs``, ``optional_inputs``, ``outputs``, ``layouts`` and ``attrs``, each attribute with
    ``key``, ``type`` (int, float, name, dims, axes), ``default``, ``choices`` and ``doc``."""
    global _all
    if _all is None:
        import ctypes
        import json
        text = ctypes.c_char_p()
        _library.demand(_library.load().assay_operators(ctypes.byref(text)))
        _all = {entry["op"]: entry for entry in json.loads((text.value or b"").decode())}
    return _all


def operand_order(op: str, outputs: bool) -> list[str]:
    """Names of inputs or outputs in the operator's order, optional ones included; [] of an unknown operator."""
    schema = operators().get(op)
    if schema is None:
        return []
    if outputs:
        return schema["outputs"]
    listed = [name for name in schema["layouts"] if name not in schema["outputs"]]
    return listed or schema["inputs"]


def _number_text(value: Any) -> Optional[str]:
    if isinstance(value, bool) or type(value).__name__ == "bool_" or type(value).__name__ == "bool":
        return "1" if value else "0"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    return None


def _value_text(key: str, kind: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    text = _number_text(value)
    if text is not None:
        return text
    try:
        parts = [_number_text(part) for part in value]
    except TypeError:
        parts = [None]
    if not parts or None in parts:
        raise UsageError(f"attribute {key}={value!r} is no number, text or sequence of numbers")
    return _JOINTS.get(kind, ",").join(parts)  # type: ignore[arg-type]


def attribute_texts(op: str, attrs: Mapping[str, Any], rank: int) -> list[str]:
    """Keys and values in turns, as the suites write them: ``axis=(0, 1)`` becomes ``axes``, ``0+1``. None is the
    default; of axes it is all `rank` of them, as in NumPy."""
    schema = operators().get(op)
    types = {} if schema is None else {attr["key"]: attr["type"] for attr in schema["attrs"]}
    result: dict[str, str] = {}
    for name, value in attrs.items():
        key = name if name in types else next((other for other in _ALIASES.get(name, ()) if other in types), name)
        if schema is not None and key not in types:
            others = [other for other, own in _ALIASES.items() if any(one in types for one in own)]
            raise UsageError(f"{op} has no attribute '{name}'; assay list ops --verbose shows what it takes"
                             + meant(name, [*types, *others, "contract", "strict"]))
        if value is None and types.get(key) != "axes":
            continue
        if key in result:
            raise UsageError(f"{op}: {name} is another name of {key}, which is given too; give one of them")
        result[key] = _value_text(name, types.get(key, ""), range(rank) if value is None else value)
    return [text for pair in result.items() for text in pair]
