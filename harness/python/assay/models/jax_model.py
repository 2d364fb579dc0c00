# SPDX-License-Identifier: Apache-2.0
"""``assay.watch_jax``: each equation of a function's jaxpr, executed by JAX and judged from its own operands."""
from __future__ import annotations

import time
from typing import Any, Callable, Optional, Sequence

from .._errors import Error, UsageError
from . import _jax_rules
from ._nodes import Node, node_of_moves
from ._rules import Exact, Question, Unjudged
from ._sites import Site
from .watch import Watch

# Primitives that call a jaxpr once, and the parameter that it is.
_CALLS = {"pjit": "jaxpr", "jit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
          "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr", "remat": "jaxpr", "remat2": "jaxpr", "checkpoint": "jaxpr",
          "custom_lin": "jaxpr"}


class _Walk:
    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def closed(self, jaxpr: Any, arrays: Sequence[Any]) -> list[Any]:
        """The results of a jaxpr, or of one with its constants."""
        return self.run(getattr(jaxpr, "jaxpr", jaxpr), getattr(jaxpr, "consts", ()), arrays)

    def run(self, jaxpr: Any, constants: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        values: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *arrays)))

        def value(each: Any) -> Any:
            return each.val if hasattr(each, "val") else values[each]

        for equation in jaxpr.eqns:
            values.update(zip(equation.outvars, self._execute(equation, [value(each) for each in equation.invars])))
        return [value(each) for each in jaxpr.outvars]

    def _execute(self, equation: Any, given: Sequence[Any]) -> list[Any]:
        name, params = equation.primitive.name, equation.params
        if name in _CALLS and _CALLS[name] in params:
            return self.closed(params[_CALLS[name]], given)
        if name == "cond":
            return self.closed(params["branches"][int(given[0])], given[1:])
        if name == "while":
            return self._repeat(params, given)
        if name == "scan":
            return self._scan(params, given)
        return self._judge(equation, given, self._bind(equation, given))

    def _bind(self, equation: Any, given: Sequence[Any]) -> list[Any]:
        made = equation.primitive.bind(*given, **equation.params)
        return list(made) if equation.primitive.multiple_results else [made]

    def _repeat(self, params: Any, given: Sequence[Any]) -> list[Any]:
        of_condition, of_body = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        carried = list(given[of_body:])
        while bool(self.closed(params["cond_jaxpr"], [*given[:of_condition], *carried])[0]):
            carried = self.closed(params["body_jaxpr"], [*given[of_condition:of_body], *carried])
        return carried

    def _scan(self, params: Any, given: Sequence[Any]) -> list[Any]:
        import jax.numpy as jnp
        fixed, first = params["num_consts"], params["num_consts"] + params["num_carry"]
        carried, steps = list(given[fixed:first]), range(params["length"])
        rows: list[list[Any]] = [[] for _ in params["jaxpr"].out_avals[params["num_carry"]:]]
        for step in reversed(steps) if params["reverse"] else steps:
            made = self.closed(params["jaxpr"], [*given[:fixed], *carried, *(each[step] for each in given[first:])])
            carried = made[:params["num_carry"]]
            for row, value in zip(rows, made[params["num_carry"]:]):
                row.append(value)
        stacked = [jnp.stack(row[::-1] if params["reverse"] else row) if row else jnp.zeros(aval.shape, aval.dtype)
                   for row, aval in zip(rows, (each for each in params["jaxpr"].out_avals[params["num_carry"]:]))]
        return [*carried, *stacked]

    def _judge(self, equation: Any, given: Sequence[Any], made: list[Any]) -> list[Any]:
        import numpy
        watch, name = self.watch, equation.primitive.name
        watch.calls += 1
        index, begun = watch.calls, time.perf_counter()
        try:
            if not given:
                raise Unjudged("new tensors")
            if name.startswith("random_"):  # whose keys are no numbers
                raise Unjudged("random numbers")
            arrays, results = [numpy.asarray(each) for each in given], [numpy.asarray(each) for each in made]
            answer = _jax_rules.ask(name, equation.params, arrays, results)
            node = node_of_moves(answer) if isinstance(answer, Exact) else watch.judged(answer)
            finite = [all(numpy.isfinite(each).all() for each in several if _jax_rules.is_real(each)) for several in (arrays, results)]
            kept = answer if isinstance(answer, Question) and node.failed else None
            node = node._replace(index=index, op=name, site=_site(equation), shape=results[0].shape, dtype=results[0].dtype.name,
                                 finite=finite[1] or not finite[0], question=kept)
        except Unjudged as why:
            watch.unjudged[str(why)] += 1
            return made
        except Exception as error:  # rules and arrays of others raise anything
            watch.unjudged[f"{name}: {type(error).__name__}: {error}".split("\n")[0][:160]] += 1
            return made
        finally:
            watch.seconds += time.perf_counter() - begun
        watch.add(node)
        return made


def _site(equation: Any) -> Site:
    from jax._src import source_info_util
    stack = str(equation.source_info.name_stack)
    return Site(stack, source_info_util.summarize(equation.source_info).partition(" (")[0], "transpose(" in stack)


def watch_jax(function: Callable[..., Any], sample: Optional[int] = 4096, contract: Optional[str] = None,
              on_node: Optional[Callable[[Node], None]] = None) -> Callable[..., Watch]:
    """Makes a function that takes the arguments of a function of JAX, executes its jaxpr equation by equation, and judges each from
    the operands that it had. It returns the watch, whose member ``result`` is what the function returns.

    sample, contract, on_node: as those of ``watch``. What ``jax.jit`` would compile as one is judged by its parts, as JAX executes
    them alone; loops and branches are followed.
    """
    if not callable(function):
        raise UsageError(f"watch_jax: {function!r} is no function; write assay.watch_jax(function)(*arguments)")

    def watched(*arguments: Any, **named: Any) -> Watch:
        try:
            import jax
        except ImportError as error:
            raise Error(f"watch_jax: it follows JAX, which cannot be imported here: {error}") from None
        watch = Watch(sample, 1, contract, 20, on_node)
        closed, shape = jax.make_jaxpr(function, return_shape=True)(*arguments, **named)
        flat = jax.tree_util.tree_leaves((arguments, named))
        try:
            results = _Walk(watch).closed(closed, flat)
        except KeyboardInterrupt as interrupt:
            interrupt.watch = watch  # type: ignore[attr-defined]  # what was judged until then
            raise
        watch.result = jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shape), results)
        return watch
    return watched
