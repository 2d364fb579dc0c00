# SPDX-License-Identifier: Apache-2.0
"""Random compositions, judged: python3 -m assay.compose --framework numpy,jax --count 1000. Each is a function of 2 to 6
operations, which a framework computes eagerly and compiled; its own formula judges the results, and a failing one is made
smaller and printed as a function."""
from __future__ import annotations

import argparse
import random
import sys
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence

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
    """How a framework computes a function: its contract, and a function of NumPy's arrays."""
    name: str
    contract: str
    compute: Callable[[Callable[..., Any], Sequence[Any]], Any]


def forms(framework: str) -> list[Form]:
    import numpy

    from .frameworks._columns import FLUSHES, demanded, joined
    contract = joined(demanded(("f32",), {}), FLUSHES.get(framework, ""))
    if framework == "numpy":
        return [Form("numpy", contract, lambda function, arrays: function(*arrays))]
    if framework == "jax":
        import jax
        eager = Form("jax", contract, lambda f, arrays: numpy.asarray(f(*map(jax.numpy.asarray, arrays))))
        return [eager, eager._replace(name="jax.jit", compute=lambda f, arrays: numpy.asarray(jax.jit(f)(*arrays)))]
    if framework == "torch":
        import torch

        from .frameworks.torch_compiled import compiled
        eager = Form("torch", contract, lambda f, arrays: f(*map(torch.from_numpy, arrays)).numpy())
        return [eager, eager._replace(name="torch.compile", compute=lambda f, arrays: eager.compute(compiled(f), arrays))]
    if framework == "onnxruntime":
        from .frameworks.onnxruntime_graphs import compiled as session
        return [Form(f"onnxruntime {level}", contract, lambda f, arrays, level=level: session(level)(f)(*arrays))
                for level in ("ORT_ENABLE_ALL", "ORT_DISABLE_ALL")]
    if framework == "openvino":
        from .frameworks.openvino_graphs import compiled as model
        return [Form("openvino", contract, lambda f, arrays: model(f)(*arrays))]
    raise SystemExit(f"--framework {framework}: there are numpy, jax, torch, onnxruntime, openvino")


def inputs_of(text: str, seed: int, rows: int, n: int) -> list[Any]:
    import numpy
    numbers = numpy.random.default_rng(seed)
    names = text[text.index("(") + 1:text.index(")")].split(", ")
    extents = {"rows": rows, "n": n}
    arrays = [numbers.standard_normal([extents[axis] for axis in INPUTS[name].split()], numpy.float32) for name in names]
    if seed % 4 == 3:
        arrays[numbers.integers(len(arrays))].reshape(-1)[:1] = numbers.choice(numpy.array(SPECIAL, numpy.float32))
    return arrays


def judge(text: str, form: Form, seed: int, rows: int, n: int) -> tuple[str, str]:
    """The verdict and its reason."""
    import numpy

    import assay
    from ._frameworks import Unsupported
    function, arrays = function_of(text), inputs_of(text, seed, rows, n)
    with numpy.errstate(all="ignore"):
        try:
            result = form.compute(function, arrays)
        except Unsupported as why:
            return "unsupported", str(why)
    if result.dtype != numpy.float32 or result.shape != (rows, n):
        return "error", f"it returned {result.dtype} of shape {result.shape}"
    verdict = assay.check(function, arrays, result, contract=form.contract)
    return verdict.verdict, verdict.reason


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


def explore(frameworks: Sequence[str], count: int, seed: int, rows: int, n: int, say: Callable[[str], Any]) -> dict[str, dict[str, int]]:
    """Counts of verdicts by form."""
    every = [form for framework in frameworks for form in forms(framework)]
    counts: dict[str, dict[str, int]] = {form.name: {} for form in every}
    for number in range(seed, seed + count):
        steps = draw(random.Random(number))
        for form in every:
            verdict, reason = _judged(source(steps), form, number, rows, n)
            counts[form.name][verdict] = counts[form.name].get(verdict, 0) + 1
            if verdict not in ALARMS:
                continue
            fails = lambda one, r, c: _judged(source(one), form, number, r, c)[0] == verdict  # noqa: E731
            least, r, c = shrink(steps, fails, rows, n)
            say(f"{form.name}, seed {number}, {r} x {c}: {_judged(source(least), form, number, r, c)}; at first: {reason}\n{source(least)}")
    return counts


def _judged(*arguments: Any) -> tuple[str, str]:
    try:
        return judge(*arguments)
    except Exception as error:  # of a framework, or of assay: either is looked at
        return "error", f"{type(error).__name__}: {error}"


def main(words: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m assay.compose", description=__doc__.split(":")[0])
    parser.add_argument("--framework", default="numpy", help="numpy, jax, torch, onnxruntime and openvino, comma separated")
    parser.add_argument("--count", type=int, default=100, help="compositions")
    parser.add_argument("--seed", type=int, default=0, help="of the first; each has the next one")
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--n", type=int, default=37)
    chosen = parser.parse_args(words)
    counts = explore(chosen.framework.split(","), chosen.count, chosen.seed, chosen.rows, chosen.n, print)
    for name, verdicts in counts.items():
        print(f"{name}: {', '.join(f'{number} {verdict}' for verdict, number in sorted(verdicts.items()))}")
    return int(any(verdict in ALARMS for verdicts in counts.values() for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
