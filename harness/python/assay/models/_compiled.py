# SPDX-License-Identifier: Apache-2.0
"""Regions that torch.compile has compiled: their outputs are judged from their operands by the graph that Inductor keeps of each as text, one
function of traced arrays for an output. Where it is no such function, the region is counted with the reason."""
from __future__ import annotations

import ast
import functools
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from .._namespace import TRACED as xp
from ._aten_elements import _FORMULAS
from ._rules import FORMULAS, Question, Unjudged, is_tensor, sign, traced

_MOST_BYTES = 1 << 27  # of operands, which the region may write into, so that they are copied
_MOST_STEPS = 64       # of one output: longer chains have bounds that say little


class Region(NamedTuple):
    text: str
    inputs: list[str]
    steps: Mapping[str, ast.expr]  # by the names of their results
    outputs: list[Any]  # expressions


@functools.lru_cache(256)
def region_of(text: str) -> Region:
    try:
        function = next(each for each in ast.walk(ast.parse(text.replace("class <lambda>", "class Region"))) if isinstance(each, ast.FunctionDef))
    except (SyntaxError, StopIteration):
        raise Unjudged("a compiled region whose graph cannot be read") from None
    inputs, steps, outputs = [each.arg for each in function.args.args if each.arg != "self"], {}, None
    for line in function.body:
        if isinstance(line, ast.Return):
            outputs = list(line.value.elts) if isinstance(line.value, (ast.Tuple, ast.List)) else [line.value]
        elif isinstance(line, (ast.Assign, ast.AnnAssign)) and not (isinstance(line.value, ast.Constant) and line.value.value is None):
            target = line.targets[0] if isinstance(line, ast.Assign) else line.target
            if not isinstance(target, ast.Name) or target.id in steps or line.value is None:
                raise Unjudged("a compiled region whose graph cannot be read")
            steps[target.id] = line.value
    return Region(text, inputs, steps, outputs or [])


class _Evaluation:
    """Values of a region's steps from those of arrays, which may be traced ones."""

    def __init__(self, region: Region, known: Mapping[str, Any]) -> None:
        self._region, self._values, self._count = region, dict(known), 0

    def of(self, node: Any) -> Any:
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.of(each) for each in node.elts]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.of(node.operand)
        if isinstance(node, ast.Subscript):
            return self.of(node.value)[self.of(node.slice)]
        if isinstance(node, ast.Attribute):
            return ast.unparse(node)  # torch.float32
        if isinstance(node, ast.Call):
            return self._called(node)
        raise Unjudged("a compiled region with arithmetic of extents")

    def _named(self, name: str) -> Any:
        if name not in self._values:
            self._count += 1
            if name not in self._region.steps or self._count > _MOST_STEPS:
                raise Unjudged("a compiled region of many steps")
            self._values[name] = self.of(self._region.steps[name])
        return self._values[name]

    def _called(self, node: ast.Call) -> Any:
        words = ast.unparse(node.func).removeprefix("torch.ops.").split(".")
        name = words[1] if len(words) > 1 else words[0]
        if words[0] not in ("aten", "prims"):
            raise Unjudged(f"a compiled region with {'::'.join(words[:2])}")
        function = _STEPS.get(name) or FORMULAS.get(".".join(words[1:])) or FORMULAS.get(name)
        if function is None:
            raise Unjudged(f"a compiled region with {'::'.join(words[:2])}")
        return function(*map(self.of, node.args), **{each.arg: self.of(each.value) for each in node.keywords if each.arg not in (None, "device")})


def _added(x: Any, y: Any, alpha: Any = 1) -> Any: return x + (y if alpha == 1 else alpha * y)


def _product(c: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = a @ b if alpha == 1 else alpha * (a @ b)
    return product if beta == 0 else product + (c if beta == 1 else beta * c)


def _reduced(name: str) -> Callable[..., Any]:
    def function(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
        axes = None if dim is None or dim == [] else tuple(dim) if isinstance(dim, list) else dim
        return getattr(xp, name)(x, axis=axes, keepdims=keepdim)
    return function


def _variance_and_mean(x: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Any:
    return xp.var(x, axis=tuple(dim), correction=correction, keepdims=keepdim), xp.mean(x, axis=tuple(dim), keepdims=keepdim)


def _expanded(x: Any, shape: Sequence[int]) -> Any:
    """Along all axes: broadcasting alone would leave sums behind it without their terms."""
    given = (1,) * (len(shape) - x.ndim) + x.shape
    for place, (extent, n) in enumerate(zip(shape, given)):
        if extent not in (-1, n):
            x = xp.where(xp.arange(extent)[(slice(None), *[None] * (len(shape) - place - 1))] >= 0, x, 0)
    return x


def _converted(x: Any, dtype: str) -> Any:
    if dtype not in ("torch.float32", "torch.float64"):
        raise Unjudged(f"a compiled region with conversions to {dtype}")
    return x


_STEPS: dict[str, Callable[..., Any]] = {
    **_FORMULAS, "add": _added, "sub": lambda x, y, alpha=1: _added(x, -y if alpha == 1 else -alpha * y), "mm": lambda a, b: a @ b, "bmm": lambda a, b: a @ b,
    "addmm": _product, "baddbmm": _product, "fma": lambda a, b, c: a * b + c, "pow": lambda x, y: x ** y, "var_mean": _variance_and_mean,
    "permute": lambda x, dims: xp.permute_dims(x, dims), "view": lambda x, shape: xp.reshape(x, shape), "reshape": lambda x, shape: xp.reshape(x, shape),
    "unsqueeze": lambda x, dim: xp.expand_dims(x, dim), "expand": _expanded, "clone": lambda x, **_: x, "cat": lambda xs, dim=0: xp.concat(xs, axis=dim),
    "full": lambda shape, value, **_: value, "scalar_tensor": lambda value, **_: value, "convert_element_type": _converted, "alias": lambda x: x,
    **{name: (lambda function: lambda x: getattr(xp, function)(x))(name) for name in (
        "abs cos erf exp expm1 log log1p neg reciprocal relu rsqrt sigmoid sin sqrt tanh square".split())},
    "neg": lambda x: -x, "reciprocal": lambda x: 1 / x, "sum": _reduced("sum"), "mean": _reduced("mean"), "amax": _reduced("max"), "amin": _reduced("min"),
}


def copied_operands(graph: Any, given: Sequence[Any]) -> tuple[Region, dict[str, Any]]:
    """To be asked for before the call, which may write into them."""
    text = getattr(graph, "inductor_post_grad_graph_str", "")
    if not text:
        raise Unjudged("compiled regions of which this PyTorch keeps no graph")
    region = region_of(text)
    if getattr(graph, "mutated_inputs", None) or len(region.inputs) != len(given):
        raise Unjudged("compiled regions that write into their operands")
    if sum(each.numel() * each.dtype.itemsize for each in given if is_tensor(each)) > _MOST_BYTES:
        raise Unjudged("compiled regions with operands of more than 128 MB")
    return region, {name: each.detach().clone() if is_tensor(each) else each for name, each in zip(region.inputs, given)}


def judge_region(watch: Any, index: int, site: Any, region: Region, operands: Mapping[str, Any], results: Sequence[Any]) -> list[Any]:
    """Nodes of the region's outputs. Those that are not judged are counted, each by its reason, where others are."""
    from ._nodes import kept
    reasons, nodes = [], []
    for question in _questions(region, operands, results):
        if isinstance(question, str):
            reasons.append(question)
            continue
        node, output = watch.judged(question), question.outputs["y0"]
        is_finite = bool(output.isfinite().all()) or not all(bool(each.isfinite().all()) for each in question.inputs.values())
        nodes.append(node._replace(index=index, op="torch.compile::region", site=site, shape=tuple(output.shape), dtype=str(output.dtype)[6:],
                                   finite=is_finite, question=kept(question) if node.failed else None))
    if not nodes:
        raise Unjudged(reasons[0] if reasons else "compiled regions without results of floating-point numbers")
    watch.unjudged.update(f"an output of {reason}" for reason in reasons)
    return nodes


def _questions(region: Region, operands: Mapping[str, Any], results: Sequence[Any]) -> Iterator[Question | str]:
    """For each output a question, or why there is none. Other outputs that an output follows from are operands of its question, so that an
    error in them is theirs alone."""
    named = {each.id: result for each, result in zip(region.outputs, results) if isinstance(each, ast.Name) and is_tensor(result)}
    for name, result in named.items():
        if name in operands:
            continue
        known = {**operands, **{other: value for other, value in named.items() if other != name}}
        try:
            yield _question(region, name, {one: value for one, value in known.items() if one in _ancestors(region, name, known)}, result)
        except Unjudged as why:
            yield str(why)


def _ancestors(region: Region, name: str, known: Mapping[str, Any]) -> set[str]:
    """Values that the output follows from directly."""
    found: set[str] = set()
    open_ = [region.steps[name]] if name in region.steps else []
    while open_:
        for each in ast.walk(open_.pop()):
            if isinstance(each, ast.Name) and each.id not in found:
                found.add(each.id)
                if each.id not in known and each.id in region.steps:
                    open_.append(region.steps[each.id])
    return found


def _question(region: Region, name: str, known: Mapping[str, Any], result: Any) -> Question:
    if result.dtype.itemsize < 4 or not result.dtype.is_floating_point or any(is_tensor(each) and each.dtype != result.dtype for each in known.values()):
        raise Unjudged(f"a compiled region's results in {result.dtype} beside others")
    plan = region.text, name, tuple((one, sign(value)) for one, value in known.items()), sign(result)
    return traced(lambda **arrays: _Evaluation(region, arrays).of(ast.Name(name)), known, [result])._replace(plan=plan)
