# SPDX-License-Identifier: Apache-2.0
"""Functions of --operators as kernels of a framework's column: the author's own function, called with its arrays."""
from __future__ import annotations

import functools
from typing import Any, Callable, Mapping, Sequence

from .._declaration import Knowledge
from .._define import Definition, definitions_in
from .._frameworks import Unsupported
from .._namespace import namespace
from ._columns import FLOATS, Column, joined


@functools.cache
def definitions() -> list[Definition]:
    """The definitions in the files of --operators. Files of data have no functions, and no operator of theirs is a kernel."""
    return [one for path in Knowledge.definitions if path.endswith(".py") for one in definitions_in(path)]


def results_of(result: Any) -> Any:
    """The outputs in their order: a tuple, or the only one."""
    results = tuple(result.values()) if isinstance(result, Mapping) else tuple(result) if isinstance(result, (tuple, list)) else (result,)
    return results[0] if len(results) == 1 else results


def _one_type(case: Any) -> Any:
    floats = {dtype for dtype in case.dtypes if dtype in FLOATS}
    return len(floats) == 1 or "operands of several types: what they are promoted to is each framework's own"


def _called(definition: Definition) -> Callable[..., Any]:
    """The author's function. Its results are cast to the types of the case's: what xp.where(condition, 1.0, 0.0) and a count of
    conditions are promoted to is each framework's own."""
    @functools.wraps(definition.function)
    def call(*operands: Any, result_types: Sequence[str], **attrs: Any) -> Any:
        results = results_of(definition.function(*operands, **attrs))
        if not isinstance(results, tuple):
            return namespace(results).astype(results, result_types[0])
        return tuple(namespace(one).astype(one, dtype) for one, dtype in zip(results, result_types))
    call.takes_result_types = True  # type: ignore[attr-defined]
    return call


def stored_intermediates(dtypes: Sequence[str]) -> str:
    """Each function of a composition stores its result in the floating-point type of the case."""
    return next((f"mid={dtype}" for dtype in dtypes if dtype in ("bf16", "f16")), "")


def defined(types: Sequence[str] = FLOATS, extra: str = "",
            of: Callable[[Definition], Callable[..., Any]] = _called) -> list[Column]:
    """Columns of the definitions. extra: fields of the contract. of: makes a function of arrays of a definition."""
    return [Column(one.name, of(one), types, extra=lambda dtypes, attrs: joined(extra, stored_intermediates(dtypes)), supports=_one_type)
            for one in definitions()]


def exported(definition: Definition, graph: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a graph that `graph` compiles: graph(body) is a function of arrays, and body one of the framework's
    symbols, whose results it casts to the types of the case's. What cannot be expressed makes the case unsupported."""
    @functools.wraps(definition.function)
    def body(*symbols: Any, result_types: Sequence[str] = (), **attrs: Any) -> Any:
        try:
            return results_of(definition.function(*symbols, **attrs))
        except (TypeError, AttributeError) as error:  # of what its arrays do not have
            raise Unsupported(f"the graph that is exported: {error}") from None
    made = graph(body)

    @functools.wraps(body)
    def call(*operands: Any, **attrs: Any) -> Any:
        return made(*operands, **attrs)
    call.compiles = call.may_refuse = call.takes_result_types = True  # type: ignore[attr-defined]
    return call
