# SPDX-License-Identifier: Apache-2.0
"""Random compositions, judged: assay explore --compose --framework numpy,jax --count 1000. Each is a function of 2 to 6
operations, which a framework computes one by one and compiled; its own formula judges the results, and a failing one is made
smaller and printed as a function. How far the compiled results are from the others is told at the end."""
from __future__ import annotations

import argparse
import functools
import json
import os
import random
import sys
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Sequence

UNARY = ("xp.exp({})", "xp.tanh({})", "xp.erf({})", "xp.sigmoid({})", "xp.silu({})", "xp.gelu({})", "xp.relu({})", "abs({})", "-{}",
         "xp.sin({})", "xp.cos({})", "{0} * {0}", "xp.sqrt(abs({}))", "xp.rsqrt(abs({}) + 0.5)", "xp.log(abs({}) + 0.5)",
         "xp.log1p(abs({}))", "0.25 * {}", "{} + 1.5", "1.0 - {}")
BINARY = ("{} + {}", "{} - {}", "{} * {}", "{} / (abs({}) + 0.5)", "xp.maximum({}, {})", "xp.minimum({}, {})",
          "xp.where({0} < {1}, {1}, 0.5 * {0})")
ALONG_ROWS = ("xp.softmax({}, axis=-1)", "xp.log_softmax({}, axis=-1)", "xp.cumulative_sum({}, axis=-1)", "xp.softmax({}, axis=0)",
              "{} @ w")
OF_ROWS = ("xp.sum({}, axis=-1, keepdims=True)", "xp.mean({}, axis=-1, keepdims=True)", "xp.max({}, axis=-1, keepdims=True)",
           "xp.min({}, axis=-1, keepdims=True)", "xp.var({}, axis=-1, keepdims=True)", "xp.logsumexp({}, axis=-1, keepdims=True)",
           "xp.mean({}, axis=0, keepdims=True)")
INPUTS = {"x": "rows n", "y": "rows n", "bias": "n", "w": "n n"}
SPECIAL = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-45, 3e38)  # one element of a fourth of the compositions
_KINDS = ((UNARY, 1, 6), (BINARY, 2, 6), (ALONG_ROWS, 1, 3), (OF_ROWS, 1, 3))  # forms, operands, weight


class Step(NamedTuple):
    form: str
    of: tuple[str, ...]

    def text(self) -> str:
        return self.form.format(*self.of)


def draw(chance: random.Random) -> list[Step]:
    """A composition whose last step has the shape of x. Most steps take what no step has taken yet, so that few are of no use."""
    steps: list[Step] = []
    for place in range(chance.randint(2, 6)):
        forms, count, _ = chance.choices(_KINDS, [weight for *_, weight in _KINDS])[0]
        form = chance.choice(forms)
        taken = {operand for step in steps for operand in step.of}
        values = ["x", "y", "bias", *(f"t{k}" for k in range(place))]
        if forms in (ALONG_ROWS, OF_ROWS):
            values = [value for value in values if is_whole(steps, value)]
        weights = [1 if value[0] != "t" or value in taken else 20 for value in values]
        operands: list[str] = []
        for _ in range(count):
            operands.append(chance.choices(values, weights)[0])
            weights[values.index(operands[-1])] = 1
        steps.append(Step(form, tuple(operands)))
    last = f"t{len(steps) - 1}"
    return steps if is_whole(steps, last) else [*steps, Step("{} - {}", ("x", last))]


def is_whole(steps: Sequence[Step], value: str) -> bool:
    """Whether a value has the shape of x, not that of a row or a column."""
    if value[0] != "t":
        return value in ("x", "y")
    step = steps[int(value[1:])]
    return step.form not in OF_ROWS and any(is_whole(steps, operand) for operand in step.of)


def source(steps: Sequence[Step]) -> str:
    """The function as text, without what its result does not need."""
    needed, lines = {f"t{len(steps) - 1}"}, []
    for place in reversed(range(len(steps))):
        if f"t{place}" in needed:
            needed |= set(steps[place].of) | ({"w"} if steps[place].form.endswith("@ w") else set())
            lines.append(f"    t{place} = {steps[place].text()}\n")
    taken = [name for name in INPUTS if name in needed] if "x" in needed or "y" in needed else ["x"]
    last = lines[0].replace(f"    t{len(steps) - 1} = ", "    return ", 1)
    return f"def composition({', '.join(taken)}):\n    xp = assay.namespace({taken[0]})\n{''.join(reversed(lines[1:]))}{last}"


def function_of(text: str) -> Callable[..., Any]:
    import assay
    made: dict[str, Any] = {"assay": assay}
    exec(compile(text, "<composition>", "exec"), made)
    return made["composition"]


class Form(NamedTuple):
    """How a framework computes a function of one type: its contract, and a function of NumPy's arrays. The first form of a framework
    executes one operation after the other, the others compile them together."""
    name: str
    contract: str
    compute: Callable[[Callable[..., Any], Sequence[Any]], Any]
    dtype: str = "f32"
    scale: float = 1  # of the inputs


TYPES = {"numpy": ("f32", "f64"), "jax": ("f32", "f64", "bf16", "f16"), "torch": ("f32", "f64", "bf16", "f16"),
         "onnxruntime": ("f32", "f64", "f16"), "openvino": ("f32", "bf16", "f16")}


def _nodes_alone(graph: Callable[..., Any]) -> Callable[..., Any]:
    """Executes each node of the function's graph in a graph of its own."""
    from .frameworks._symbols import Symbol, node_by_node
    make = node_by_node(graph)
    return lambda f, arrays: f(*(Symbol(make(arrays[0].dtype.name), x, x.shape) for x in arrays)).value


def forms(framework: str, dtype: str) -> list[Form]:
    import numpy

    from .frameworks._columns import FLUSHES, demanded, joined
    from .frameworks._defined import stored_intermediates
    contract = joined(demanded((dtype,), {}), FLUSHES.get(framework, ""), stored_intermediates((dtype,)))

    def form(name: str, compute: Callable[..., Any]) -> Form:
        return Form(name, contract, compute, dtype)
    if framework == "numpy":
        return [form("numpy", lambda function, arrays: function(*arrays))]
    if framework == "jax":
        import jax
        jax.config.update("jax_enable_x64", True)
        return [form("jax", lambda f, arrays: numpy.asarray(f(*map(jax.numpy.asarray, arrays)))),
                form("jax.jit", lambda f, arrays: numpy.asarray(jax.jit(f)(*arrays)))]
    if framework == "torch":
        from .frameworks.torch_compiled import compiled, on_numpys
        return [form("torch", on_numpys), form("torch.compile", lambda f, arrays: on_numpys(compiled(f), arrays))]
    if framework == "onnxruntime":
        from .frameworks.onnxruntime_graphs import compiled as session
        return [form("onnxruntime node by node", _nodes_alone(session("ORT_DISABLE_ALL")))] + [
            form(f"onnxruntime {level}", lambda f, arrays, level=level: session(level)(f)(*arrays))
            for level in ("ORT_ENABLE_ALL", "ORT_DISABLE_ALL")]
    from .frameworks.openvino_graphs import compiled as model
    return [form("openvino node by node", _nodes_alone(model)), form("openvino", lambda f, arrays: model(f)(*arrays))]


def inputs_of(text: str, seed: int, rows: int, n: int, dtype: str = "f32", scale: float = 1) -> list[Any]:
    """The numbers of f32 times `scale`, rounded to the type."""
    import numpy

    from ._types import BY_NAME
    numbers = numpy.random.default_rng(seed)
    names = text[text.index("(") + 1:text.index(")")].split(", ")
    extents = {"rows": rows, "n": n}
    arrays = [numpy.float32(scale) * numbers.standard_normal([extents[axis] for axis in INPUTS[name].split()], numpy.float32)
              for name in names]
    if seed % 4 == 3:
        arrays[numbers.integers(len(arrays))].reshape(-1)[:1] = numbers.choice(numpy.array(SPECIAL, numpy.float32))
    if dtype == "bf16":
        import ml_dtypes
        return [x.astype(ml_dtypes.bfloat16) for x in arrays]
    with numpy.errstate(over="ignore"):
        return [x.astype(BY_NAME[dtype].framework) for x in arrays]


def computed(text: str, form: Form, seed: int, rows: int, n: int) -> tuple[Any, str, str]:
    """The result, its verdict and the reason; None is no result."""
    import numpy

    import assay
    from ._frameworks import Unsupported
    function, arrays = function_of(text), inputs_of(text, seed, rows, n, form.dtype, form.scale)
    with numpy.errstate(all="ignore"):
        try:
            result = form.compute(function, arrays)
        except Unsupported as why:
            return None, "unsupported", str(why)
    if result.dtype != arrays[0].dtype or result.shape != (rows, n):
        return None, "error", f"it returned {result.dtype} of shape {result.shape}"
    verdict = assay.check(function, arrays, result, contract=form.contract)
    return result, verdict.verdict, verdict.reason


class Distance:
    """How far the results of a compiled form are from those of the first form. Numbers in order are integers in order, so that their
    difference is the distance in units of the last place; NaN has no sign and no payload here."""

    def __init__(self) -> None:
        self.compositions = self.equal = self.elements = self.equal_elements = self.of_nan = 0
        self.farthest, self.seed = 0, None

    def add(self, eager: Any, compiled: Any, seed: int) -> None:
        import numpy
        of_nan = numpy.isnan(eager) != numpy.isnan(compiled)
        numbers = ~(numpy.isnan(eager) | numpy.isnan(compiled))
        codes = [self._ordered(x) for x in (eager[numbers], compiled[numbers])]
        differs = codes[0] != codes[1]
        self.compositions += 1
        self.equal += not differs.any() and not of_nan.any()
        self.elements += eager.size
        self.equal_elements += int(eager.size - differs.sum() - of_nan.sum())
        self.of_nan += int(of_nan.sum())
        farthest = max((abs(int(a) - int(b)) for a, b in zip(codes[0][differs], codes[1][differs])), default=0)
        if farthest > self.farthest:
            self.farthest, self.seed = farthest, seed

    @staticmethod
    def _ordered(x: Any) -> Any:
        """-0 is one below 0."""
        import numpy
        bits = x.view(f"int{8 * x.itemsize}").astype(numpy.int64)
        return numpy.where(bits < 0, -(bits & (2 ** (8 * x.itemsize - 1) - 1)) - 1, bits)

    def __str__(self) -> str:
        return (f"the same bits in {self.equal} of {self.compositions} compositions, {self.equal_elements} of {self.elements} elements; "
                f"at most {self.farthest} ulp apart" + (f" (seed {self.seed})" if self.farthest else "") +
                (f"; NaN on one side alone in {self.of_nan}" if self.of_nan else ""))


ALARMS = ("mismatch", "suspect", "error")


def smaller(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Compositions with one step less: its operand in its place."""
    for place in reversed(range(len(steps))):
        for operand in dict.fromkeys([*steps[place].of, "x"]):
            replaced = {f"t{place}": operand, **{f"t{k}": f"t{k - 1}" for k in range(place + 1, len(steps))}}
            kept = [Step(s.form, tuple(replaced.get(v, v) for v in s.of)) for k, s in enumerate(steps) if k != place]
            if kept and is_whole(kept, f"t{len(kept) - 1}") and all(
                    is_whole(kept, s.of[0]) for s in kept if s.form in (*ALONG_ROWS, *OF_ROWS)):
                yield kept


def shrink(steps: Sequence[Step], fails: Callable[[Sequence[Step], int, int], bool], rows: int, n: int) -> tuple[list[Step], int, int]:
    steps, found = list(steps), True
    while found:
        found = next((one for one in smaller(steps) if fails(one, rows, n)), None)  # type: ignore[assignment]
        steps = found or steps
    for extents in ((2, 2), (2, 4), (rows, 8)):
        if extents != (rows, n) and fails(steps, *extents):
            return steps, *extents
    return steps, rows, n


class Found(NamedTuple):
    """counts: of verdicts, by form and type. distances: those of compiled forms from the first."""
    counts: dict[tuple[str, str], dict[str, int]]
    distances: dict[tuple[str, str], Distance]


def explore(frameworks: Sequence[str], count: int, seed: int, rows: int, n: int, say: Callable[[str], Any],
            dtypes: Sequence[str] = ("f32",), scale: float = 1, eager_only: bool = False) -> Found:
    groups = [[form._replace(scale=scale) for form in forms(framework, dtype)[:1 if eager_only else None]]
              for framework in frameworks for dtype in dtypes if dtype in TYPES.get(framework, dtypes)]
    found = Found({(form.name, form.dtype): {} for group in groups for form in group},
                  {(form.name, form.dtype): Distance() for group in groups for form in group[1:]})
    for number in range(seed, seed + count):
        steps = draw(random.Random(number))
        for group in groups:
            results = [_tell(form, steps, number, rows, n, found, say) for form in group]
            for form, result in zip(group[1:], results[1:]):
                if result is not None and results[0] is not None:
                    found.distances[form.name, form.dtype].add(results[0], result, number)
    return found


def _tell(form: Form, steps: list[Step], number: int, rows: int, n: int, found: Found, say: Callable[[str], Any]) -> Any:
    result, verdict, reason = _judged(source(steps), form, number, rows, n)
    counts = found.counts[form.name, form.dtype]
    counts[verdict] = counts.get(verdict, 0) + 1
    if verdict in ALARMS:
        fails = lambda one, r, c: _judged(source(one), form, number, r, c)[1] == verdict  # noqa: E731
        least, r, c = shrink(steps, fails, rows, n)
        say(f"{form.name} {form.dtype}, seed {number}, {r} x {c}: {_judged(source(least), form, number, r, c)[1:]}; at first: {reason}\n"
            f"{source(least)}")
    return result


def _judged(*arguments: Any) -> tuple[Any, str, str]:
    try:
        return computed(*arguments)
    except Exception as error:  # of a framework, or of assay: either is looked at
        return None, "error", f"{type(error).__name__}: {error}"


def _chosen(parser: argparse.ArgumentParser, text: str, known: Iterable[str], option: str) -> list[str]:
    chosen = text.split(",")
    for one in chosen:
        if one not in known:
            parser.error(f"{option} {one}: there are {', '.join(known)}")
    return chosen


def main(words: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="assay explore --compose", description=__doc__.split(":")[0])
    parser.add_argument("--framework", default="numpy", help="numpy, jax, torch, onnxruntime and openvino, comma separated")
    parser.add_argument("--dtype", default="f32", help="f32, f64, bf16 and f16, comma separated; each framework takes those it has")
    parser.add_argument("--count", type=int, default=100, help="compositions")
    parser.add_argument("--seed", type=int, default=0, help="of the first; each has the next one")
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--n", type=int, default=37)
    parser.add_argument("--scale", type=float, default=1, help="factor of the numbers")
    parser.add_argument("--eager-only", action="store_true", help="without the compiled forms")
    parser.add_argument("--out", help="folder for compositions.json, the counts and distances")
    chosen = parser.parse_args(words)
    frameworks = _chosen(parser, chosen.framework, TYPES, "--framework")
    dtypes = _chosen(parser, chosen.dtype, TYPES["jax"], "--dtype")
    if not any(dtype in TYPES[framework] for framework in frameworks for dtype in dtypes):
        parser.error(f"--dtype {chosen.dtype}: {chosen.framework} takes none of these")
    found = explore(frameworks, chosen.count, chosen.seed, chosen.rows, chosen.n, functools.partial(print, flush=True), dtypes,
                    chosen.scale, chosen.eager_only)
    for (name, dtype), verdicts in found.counts.items():
        print(f"{name} {dtype}: {', '.join(f'{number} {verdict}' for verdict, number in sorted(verdicts.items()))}")
    for (name, dtype), distance in found.distances.items():
        print(f"{name} {dtype} beside its operations one by one: {distance}")
    if chosen.out:
        os.makedirs(chosen.out, exist_ok=True)
        with open(os.path.join(chosen.out, "compositions.json"), "w", encoding="utf-8") as file:
            json.dump([{"form": name, "dtype": dtype, "first_seed": chosen.seed, "verdicts": verdicts,
                        **({"distance": vars(found.distances[name, dtype])} if (name, dtype) in found.distances else {})}
                       for (name, dtype), verdicts in found.counts.items()], file, indent=1)
    return int(any(verdict in ALARMS for verdicts in found.counts.values() for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
