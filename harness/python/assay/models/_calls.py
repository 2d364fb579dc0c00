# SPDX-License-Identifier: Apache-2.0
"""One executed overload of ATen: its arguments by the names of the schema, what it writes, and the questions it raises."""
from __future__ import annotations

import contextlib
import functools
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from . import _aten_elements, _aten_moves, _aten_norms, _aten_products, _aten_sums  # noqa: F401  (they add rules)
from . import _slices  # noqa: F401  (it changes some of them)
from ._background import on_host
from ._rules import RULES, Answer, Defaults, Unjudged, is_tensor, values_of

# Makers of tensors, which have no operands to be judged from.
_MAKERS = ("empty", "zeros", "ones", "full", "arange", "linspace", "eye", "scalar_tensor", "new_", "lift", "_efficientzerotensor", "tril_indices",
           "triu_indices")


@functools.cache
def is_view(function: Any) -> bool:
    """Whether all that it returns is memory of its operands, which nobody writes."""
    returned = function._schema.returns if hasattr(function, "_schema") else ()
    return bool(returned) and all(each.alias_info is not None and not each.alias_info.is_write for each in returned)


@functools.cache
def is_mark(function: Any) -> bool:
    """Whether it only tells a profiler where the program is."""
    return hasattr(function, "_schema") and str(function._schema.name).startswith("profiler::")


@functools.cache
def why_unjudgeable(function: Any) -> str:
    """The kind of a function that has no arithmetic of its own to judge, or ""."""
    import torch
    if not hasattr(function, "_schema"):
        return "functions of functions, and what they call"
    name = name_of(function)
    if torch.Tag.nondeterministic_seeded in function.tags and _base(name) not in RULES:  # attention draws for its dropout alone
        return "random numbers"
    if any(name == maker or name.startswith((maker + ".", maker + "_like", maker + "_")) or maker.endswith("_") and name.startswith(maker)
           for maker in _MAKERS) and not any(a.name in ("self", "input") and "Tensor" in str(a.type) and name.startswith("_") for a in function._schema.arguments):
        return "new tensors"
    return ""


@functools.cache
def kind_of(function: Any) -> tuple[bool, bool, str]:
    """Whether it is a mark, or a view, and else why nobody judges it."""
    return is_mark(function), is_view(function), "" if is_mark(function) or is_view(function) else why_unjudgeable(function)


def name_of(function: Any) -> str:
    """Without the namespace of PyTorch's own functions. Compiled regions have no schema."""
    return str(function._schema.name).removeprefix("aten::") if hasattr(function, "_schema") else "torch.compile::region"


_NO_MODES: Any = contextlib.nullcontext()


def without_modes() -> Any:
    """A block whose calls nobody else follows: another watch around this one would take them for those of the model."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes
    return _disable_current_modes() if torch._C._len_torch_dispatch_stack() else _NO_MODES


def _base(name: str) -> str:
    """The function's name without what says that it writes into an operand."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def full_name(name: str) -> str:
    return name if "::" in name else f"aten::{name}"


def is_known(name: str) -> bool:
    """Whether there is a rule for some overload of the function, or for its single tensors where it takes lists of them."""
    base = _base(name).removeprefix("_foreach_")
    return base in RULES or any(rule.startswith(base + ".") for rule in RULES)


def _apart(value: Any, memory: set[int]) -> Any:
    """Operands in memory of their own, where the call writes into theirs."""
    if isinstance(value, (list, tuple)):
        return [_apart(each, memory) for each in value]
    return value.clone() if is_tensor(value) and memory and value.untyped_storage()._cdata in memory else value


class _Form(NamedTuple):
    """The schema of an overload, read once."""
    name: str
    base: str  # the name without what says that it writes into an operand
    overload: str
    arguments: list[tuple[str, Any, bool, bool]]  # name, default, whether the call writes into it, whether it is only there for that
    defaults: dict[str, Any]


@functools.cache
def _form(function: Any) -> _Form:
    def is_written(argument: Any) -> bool:
        return argument.alias_info is not None and argument.alias_info.is_write

    listed = function._schema.arguments
    defaults = {a.name: a.default_value for a in listed if a.has_default_value()}
    return _Form(name_of(function), _base(name_of(function)), function._schema.overload_name, [(a.name, defaults.get(a.name), is_written(a), is_written(a) and a.is_out) for a in listed],
                 defaults)


STATISTICS = ("running_mean", "running_var")
KEEP_STATISTICS = ("native_batch_norm", "_native_batch_norm_legit")


class Call:
    """Made before the function runs: operands that it writes into are copied then."""

    def __init__(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        form = _form(function)
        self.name, self.base, self.overload = form.name, form.base, form.overload
        arguments: dict[str, Any] = {}
        self.written: list[Any] = []
        for place, (name, default, is_written, is_out) in enumerate(form.arguments):
            value = args[place] if place < len(args) else kwargs.get(name, default)
            if is_written and value is not None:
                self.written += value if isinstance(value, (list, tuple)) else [value]
                if is_out:
                    continue
            arguments[name] = value
        if self.written:
            memory = {each.untyped_storage()._cdata for each in self.written}
            arguments = {name: _apart(value, memory) for name, value in arguments.items()}
        self.statistics: list[Any] = []  # of a batch norm, which it changes without saying so in its schema
        if form.base in KEEP_STATISTICS and arguments.get("training"):
            self.statistics = self.written or [arguments[name] for name in STATISTICS]
            arguments.update({name: value.clone() for name in STATISTICS if (value := arguments[name]) is not None})
        self.arguments = Defaults(arguments, form.defaults)

    def copied(self) -> Call:
        """The call with operands on the host that nobody writes into."""
        copy = object.__new__(Call)
        copy.name, copy.base, copy.overload, copy.written = self.name, self.base, self.overload, on_host(self.written)
        copy.statistics = on_host(self.statistics)
        copy.arguments = Defaults({name: on_host(value) for name, value in self.arguments.items()}, self.arguments.defaults)
        return copy

    def part(self, arguments: Defaults) -> Call:
        """A call with a part of the operands."""
        part = object.__new__(Call)
        part.name, part.base, part.overload, part.written, part.statistics, part.arguments = self.name, self.base, self.overload, [], [], arguments
        return part

    def outputs(self, result: Any) -> list[Any]:
        if is_tensor(result):
            return [result]
        flat = list(result) if isinstance(result, (list, tuple)) else [result]
        flat = [each for each in flat if is_tensor(each) or each is None]
        return [*flat, *self.statistics] if any(map(is_tensor, flat)) else self.written

    def answers(self, result: Any) -> Iterator[Answer]:
        """Raises Unjudged where there is no rule, or it does not take these arguments."""
        outputs = self.outputs(result)
        if self.base.startswith("_foreach_"):
            yield from self._of_each(outputs)
        else:
            yield from _ask(self.base, self.overload, self.arguments, outputs)

    def _of_each(self, outputs: Sequence[Any]) -> Iterator[Answer]:
        """A list of calls in one: the same function of the elements of each list."""
        base = self.base[len("_foreach_"):]
        for place, output in enumerate(outputs):
            arguments = {_SINGLE.get((base, name), _SINGLE.get(name, name)): value[place] if isinstance(value, (list, tuple)) or name == "scalars" else value
                         for name, value in self.arguments.items()}
            yield from _ask(base, "", Defaults(arguments, {}), [output])


# Arguments by the names that functions of lists have for them, and those of single tensors.
_SINGLE: Any = {"scalar": "other", "scalars": "other", "tensors1": "end", "tensors2": "weight", ("addcmul", "scalars"): "value",
                ("addcdiv", "scalars"): "value", ("addcmul", "scalar"): "value", ("addcdiv", "scalar"): "value",
                ("lerp", "scalar"): "weight", ("clamp_min", "scalar"): "min", ("clamp_max", "scalar"): "max", "exponents": "exponent"}


def _ask(base: str, overload: str, arguments: Defaults, outputs: Sequence[Any]) -> Iterator[Answer]:
    found = RULES.get(f"{base}.{overload}", RULES.get(base))
    if found is None:
        raise Unjudged(f"no rule for {full_name(base)}")
    for each in filter(is_tensor, (*values_of(arguments), *outputs)):
        if (kind := _unreadable(each)) is not None:
            raise Unjudged(kind)
    yield from found(arguments, outputs)


def _unreadable(tensor: Any) -> Any:
    import torch
    if tensor.layout is not torch.strided:
        return "sparse tensors"
    if tensor.device.type == "meta" or type(tensor).__name__ == "FakeTensor":
        return "tensors without elements"
    if tensor.dtype.is_complex:
        return "complex numbers"
    if tensor.is_quantized:
        return "PyTorch's own quantised tensors"
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.nn.Parameter)):
        return f"tensors of class {type(tensor).__name__}"
    return None
