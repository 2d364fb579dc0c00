# SPDX-License-Identifier: Apache-2.0
"""Callables that a run judges: the decorator, and which cases a callable takes. Nothing here computes or judges."""
from __future__ import annotations

import inspect
import os
import re
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

from ._declaration import (checked_contract, checked_device, checked_dtypes, checked_framework, checked_operator,
                           known_operator)
from ._errors import UsageError
from ._signature import says_what_it_takes

_FLOATS = {"f64", "f32", "f16", "bf16", "e4m3", "e5m2", "c64", "c128"}
_NAME = re.compile(r"[a-z0-9_.-]+\Z")
_COLUMN = re.compile(r"[a-z0-9_-]+\Z")
# Attributes that functions have which torch.compile, numba.njit and jax.jit made: all of one of these.
_COMPILED = (("_torchdynamo_orig_callable",), ("py_func", "signatures"), ("lower", "trace"))
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class KernelCase(NamedTuple):
    """Properties of a case that are known before it is executed."""
    op: str
    dtypes: tuple[str, ...]  # of the inputs, then of the outputs
    shapes: dict[str, tuple[int, ...]]  # of each operand
    attrs: dict[str, Any]


class Kernel:
    """A callable with what was declared of it."""

    def __init__(self, function: Callable[..., Any], op: str, contract: Union[str, Callable[..., str]],
                 dtypes: Optional[Sequence[str]], name: str, framework: str, device: str,
                 supports: Optional[Callable[[KernelCase], Any]], backend: Optional[str], compiles: bool = False) -> None:
        is_known = any(all(hasattr(function, one) for one in names) for names in _COMPILED)
        self.compiles = compiles or getattr(function, "compiles", False) or is_known
        self.function, self.op, self.contract, self.dtypes, self.name = function, op, contract, dtypes, name
        self.framework, self.device, self.supports, self.backend = framework, device, supports, backend
        parameters = _parameters(function)
        self.takes_out = any(p.name == "out" and p.kind is not p.VAR_POSITIONAL for p in parameters)
        named = [p for p in parameters if p.name != "out"]
        self.positional = [p.name for p in named if p.kind in _POSITIONAL]
        self.needed = sum(p.kind in _POSITIONAL and p.default is p.empty for p in named)
        self.takes_any_operands = any(p.kind is p.VAR_POSITIONAL for p in named)
        self.keywords = [p.name for p in named if p.kind is p.KEYWORD_ONLY]
        self.needed_keywords = [p.name for p in named if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
        self.takes_any_attributes = any(p.kind is p.VAR_KEYWORD for p in named)
        schema = known_operator(op)
        if schema is not None:
            self._find_attributes([p for p in named if p.kind in _POSITIONAL], schema)
            self._check_parameters(schema["operands"], schema["attrs"])

    def _find_attributes(self, positional: Sequence[inspect.Parameter], schema: Mapping[str, Any]) -> None:
        """Takes the last parameters that are named as attributes for these, also where no * stands before them. A name alone
        does not make one: where an operand is due that every case has, as at the first places, it is that, whatever it is
        called, and that of an operand is an operand."""
        order, attrs = schema["operands"], schema["attrs"]
        may_be = [i >= schema["needed"] and p.kind is p.POSITIONAL_OR_KEYWORD and p.name in attrs and p.name not in order
                  for i, p in enumerate(positional)]
        if True not in may_be:
            return
        first = may_be.index(True)
        behind = [p.name for p, may in zip(positional[first:], may_be[first:]) if not may and p.default is p.empty]
        if behind or self.takes_any_operands:
            raise UsageError(f"{self.name}: its parameter {positional[first].name} is an attribute of {self.op}, and before "
                             f"{behind[0] if behind else 'the operands of *args'}; put it behind a *, as in "
                             f"def f({', '.join(order)}, *, {positional[first].name})")
        found = [p for p, may in zip(positional[first:], may_be[first:]) if may]
        self.positional = [p.name for p in positional[:first]]
        self.needed = sum(p.default is p.empty for p in positional[:first])
        self.keywords += [p.name for p in found]
        self.needed_keywords += [p.name for p in found if p.default is p.empty]

    def _check_parameters(self, order: Sequence[str], attrs: Mapping[str, Sequence[str]]) -> None:
        """Refuses what no case of the operator could give."""
        takes = f"{self.op} has the operands {', '.join(order)}, by position, and the attributes {', '.join(attrs)}, by name"
        surplus = self.positional[len(order):self.needed]
        unknown = [name for name in self.needed_keywords if name not in attrs]
        if surplus and not self.takes_any_operands:
            raise UsageError(f"{self.name}: its parameter {surplus[0]} is none; {takes}")
        if unknown:
            raise UsageError(f"{self.name}: it needs {unknown[0]}=; {takes}")

    def attributes(self, case: KernelCase) -> dict[str, Any]:
        """The case's attributes that the callable takes."""
        if self.takes_any_attributes:
            return {key: value for key, value in case.attrs.items() if key not in self.positional}
        return {key: case.attrs[key] for key in self.keywords if key in case.attrs}

    def operands(self, order: Sequence[str], given: Mapping[str, Any]) -> list[Any]:
        """The positional arguments in the operator's order, from `given` by name. Operands that the case does not have
        are None."""
        values = [given.get(name) for name in order]
        if not self.takes_any_operands:
            del values[len(self.positional):]
        return values

    def why_not(self, case: KernelCase, order: Sequence[str], defaults: Mapping[str, Sequence[str]]) -> str:
        """The reason why it does not take a case, "" when it does."""
        if self.dtypes is not None and not self._takes_types(case, order):
            asked = case.dtypes if len(set(case.dtypes)) > 1 else case.dtypes[:1]
            return f"it is declared for {', '.join(self.dtypes)}, not for {'-'.join(asked)}"
        problem = self._operand_problem(case, order) or self._attribute_problem(case, order, defaults)
        return problem or self._own_reason(case)

    def _takes_types(self, case: KernelCase, order: Sequence[str]) -> bool:
        inputs = sum(name in case.shapes for name in order)
        return any(_fits(text, case.dtypes, inputs) for text in self.dtypes or ())

    def _operand_problem(self, case: KernelCase, order: Sequence[str]) -> str:
        if self.takes_any_operands:
            return ""
        beyond = [name for name in order[len(self.positional):] if name in case.shapes]
        return f"it takes no operand {beyond[0]}" if beyond else ""

    def _attribute_problem(self, case: KernelCase, order: Sequence[str], defaults: Mapping[str, Sequence[str]]) -> str:
        if self.takes_any_attributes:
            return ""
        for key, value in case.attrs.items():
            if key in self.keywords or key in order:  # operands show themselves
                continue
            kind, default = defaults.get(key, ("int", ""))
            if not _is_implied(key, value, kind, default, case):
                return f"it does not take the attribute {key}, which is {value!r}"
        return ""

    def _own_reason(self, case: KernelCase) -> str:
        answer = True if self.supports is None else self.supports(case)
        if answer is True:
            return ""
        return answer if isinstance(answer, str) and answer else "its supports() says no"

    def contract_of(self, case: KernelCase) -> str:
        text = self.contract(case.dtypes, case.attrs) if callable(self.contract) else self.contract
        if not isinstance(text, str) or not text or set(text) & set("\n\t\0"):
            raise UsageError(f"{self.name}: the contract is {text!r}; give a text such as \"f32acc\"")
        return text


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of some that are written in C, such as numpy.exp: operands alone
        return [inspect.Parameter("operands", inspect.Parameter.VAR_POSITIONAL)]


def _fits(text: str, dtypes: Sequence[str], inputs: int) -> bool:
    """A single type fits if all floating-point operands have it, or where there are none the inputs and the first output. A list
    fits all operands, all but integers, or, as in case ids, the inputs and the first output."""
    listed = text.split("-")
    floats = [dtype for dtype in dtypes if dtype in _FLOATS]
    if len(listed) == 1:
        return all(dtype == text for dtype in floats or dtypes[:inputs + 1])
    return listed in (list(dtypes), floats, list(dtypes[:inputs + 1]))


def _is_implied(key: str, value: Any, kind: str, default: str, case: KernelCase) -> bool:
    """Whether a callable that does not see the attribute computes what is asked for: it is at its default, or follows
    from the shapes."""
    if default.startswith("=") or key == "batch" or (default == "" and kind in ("int", "dims")):
        return True
    if default == "auto":  # of attention's scale
        first = next(iter(case.shapes.values()))
        return bool(first) and value == first[-1] ** -0.5
    if kind == "name" or default == "":
        return value == default
    number = float(default)
    if kind in ("dims", "axes"):
        return all(part == number for part in value)
    rank = len(next(iter(case.shapes.values())))
    return value == number or (key == "axis" and value == number + rank)


_registered: list[Kernel] = []


def registered() -> list[Kernel]:
    return _registered


def column_of(path: str) -> str:
    """Default column name for the kernels of a file."""
    return re.sub(r"[^a-z0-9_-]", "-", os.path.splitext(os.path.basename(path))[0].lower()) or "kernels"


@says_what_it_takes("assay.kernel", "@assay.kernel(\"softmax\", contract=\"f32acc\")")
def kernel(op: str, *, contract: Union[str, Callable[..., str]], dtypes: Optional[Sequence[str]] = None,
           name: Optional[str] = None, framework: str = "numpy", device: str = "cpu",
           supports: Optional[Callable[[KernelCase], Any]] = None, backend: Optional[str] = None, compiles: bool = False
           ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks a callable as an implementation of an operator, for ``assay run --kernels FILE.py``. It is returned as it is.

    Operands come by position, in the operator's order; attributes by name, those that it takes; `out`, where it takes one,
    is the output (several: a tuple) to be written to. `contract`: a text, or a function of types and
    attributes. `supports`: a function of a KernelCase that returns True, or why it does not take the case. `compiles`: it
    is called once on zeros while a case is prepared, so that what it compiles then counts to no execution; functions of
    torch.compile, jax.jit and numba.njit are known."""
    checked_operator(op)
    checked_contract(contract)
    checked_framework(framework)
    types, place = checked_dtypes(dtypes), checked_device(device, framework)
    if not isinstance(compiles, bool):
        raise UsageError(f"compiles={compiles!r}: give True or False")
    if supports is not None and not callable(supports):
        raise UsageError(f"supports={supports!r}: give a function of an assay.KernelCase")
    for what, text, form in (("name", name, _NAME), ("backend", backend, _COLUMN)):
        if text is not None and not (isinstance(text, str) and form.match(text)):
            raise UsageError(f"{what}={text!r}: lower case letters, digits, '-' and '_' make a name")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        own = name or re.sub(r"[^a-z0-9_.-]", "-", getattr(function, "__name__", "kernel").lower())
        if any(k.op == op and k.name == own and k.device == place for k in _registered):
            raise UsageError(f"two kernels of {op} have the name {own}; give one of them another: name=\"...\"")
        made = Kernel(function, op, contract, types, own, framework, place, supports, backend, compiles)
        if made.takes_out and framework == "jax":
            raise UsageError("it takes out, but JAX writes to no array: return the result")
        _registered.append(made)
        return function
    return register
