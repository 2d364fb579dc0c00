# SPDX-License-Identifier: Apache-2.0
"""The findings of a watch, as text, data, a page, and folders of the nodes that failed."""
from __future__ import annotations

import functools
import html
import json
import os
import shlex
from collections import Counter
from typing import Any, Iterable, Mapping, Optional

from .._errors import UsageError
from ._rules import Question

_VERSION = 1


def make_folder(folder: Any) -> None:
    """Raises UsageError before anything is judged that could not be saved."""
    try:
        os.makedirs(folder, exist_ok=True)
    except (OSError, TypeError) as error:
        raise UsageError(f"watch: folder={folder!r} cannot be made: {error}; give another one") from None


def _headline(watch: Any) -> list[str]:
    judged = len({node.index for node in watch.nodes})
    samples = sum(node.judged < node.elements for node in watch.nodes)
    lines = [f"{judged} of {watch.calls} calls judged" + (f", {samples} results by a sample of their elements" if samples else "") +
             f", {watch.views} views, {len(watch.failures)} results failed; {watch.seconds:.2f} s of judging"]
    for what, node in (("first wrong result", watch.first_wrong), ("first weaker arithmetic", watch.first_weaker),
                       ("first NaN or infinity from finite operands", watch.first_nonfinite)):
        if node is not None:
            lines.append(f"{what}: {node}")
    return lines


def _rows(nodes: Iterable[Any]) -> list[dict[str, Any]]:
    """Nodes of one module and function together, in the order in which the first of each ran."""
    rows: dict[Any, dict[str, Any]] = {}
    for node in nodes:
        row = rows.setdefault((node.site.module, node.site.backward, node.op, node.dtype),
                              {"module": node.site.module, "backward": node.site.backward, "op": node.op, "dtype": node.dtype, "results": 0, "failed": 0,
                               "suspect": 0, "margin": None, "effective_bits": None, "bias": None, "line": node.site.line})
        row["results"] += 1
        row["failed"] += node.failed
        row["suspect"] += node.class_ == "suspect"
        for key, most in (("margin", max), ("effective_bits", min), ("bias", functools.partial(max, key=abs))):
            value = getattr(node, key)
            if value is not None:
                row[key] = value if row[key] is None else most(row[key], value)
    return list(rows.values())


def _number(value: Optional[float], form: str) -> str:
    return "" if value is None else format(value, form)


def as_text(watch: Any) -> str:
    """The headline, a line for each module and function, and why calls were not judged."""
    table = [("module", "function", "type", "results", "failed", "worst margin", "least bits", "bias")]
    for row in _rows(watch.nodes):
        table.append((row["module"] + (" backward" if row["backward"] else ""), row["op"].rpartition("::")[2], row["dtype"], str(row["results"]),
                      str(row["failed"] or ""), _number(row["margin"], ".3g"), _number(row["effective_bits"], ".1f"), _number(row["bias"], "+.1f")))
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(width) if k < 3 else cell.rjust(width) for k, (cell, width) in enumerate(zip(row, widths))).rstrip()
             for row in table] if len(table) > 1 else []
    return "\n".join([*_headline(watch), *lines, *_reasons(watch.unjudged)])


def _reasons(unjudged: Counter[str]) -> list[str]:
    return [f"not judged, {count}: {reason}" for reason, count in unjudged.most_common()]


def as_dict(watch: Any) -> dict[str, Any]:
    """The content of nodes.json."""
    def index(node: Any) -> Optional[int]:
        return None if node is None else node.index

    return {"assay_watch": _VERSION, "calls": watch.calls, "views": watch.views, "sample": watch.sample, "every": watch.every,
            "contract": watch.contract, "first_wrong": index(watch.first_wrong), "first_weaker": index(watch.first_weaker),
            "first_nonfinite": index(watch.first_nonfinite), "unjudged": dict(watch.unjudged.most_common()),
            "nodes": [{**{key: value for key, value in node._asdict().items() if key not in ("site", "question", "class_")}, "class": node.class_,
                       "shape": list(node.shape), **node.site._asdict()} for node in watch.nodes]}


def _tensors(path: str, tensors: Mapping[str, Any], types: Mapping[str, str]) -> None:
    """A file of https://huggingface.co/docs/safetensors, which holds bf16 too. `types`: of arrays that hold the bits of others."""
    from ._aten_moves import bits
    from ._rules import is_tensor
    header, parts, at = {}, [], 0
    for name, tensor in tensors.items():
        data = (bits(tensor) if is_tensor(tensor) else tensor).tobytes()
        header[name] = {"dtype": _TYPES[types.get(name, str(tensor.dtype).rpartition(".")[2])], "shape": list(tensor.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))


_TYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
          "uint8": "U8", "bool": "BOOL", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "bf16": "BF16", "e4m3": "F8_E4M3", "e5m2": "F8_E5M2"}


def _save_case(folder: str, question: Question, contract: Optional[str]) -> list[str]:
    """Writes the tensors, and the definition of a formula. Returns what `assay check` and `assay explain` take to judge them again."""
    from .. import _define, _operators
    os.makedirs(folder, exist_ok=True)
    words, op, attrs = [], question.op, dict(question.attrs)
    types = attrs.pop("dtypes", {})
    if callable(op):
        op, attrs = _define.take_function(op, question.inputs, question.outputs, attrs)
    if _define.registered_text(op):
        with open(os.path.join(folder, "definition.json"), "w", encoding="utf-8") as file:
            file.write(_define.registered_text(op))
        words += ["--operators", "definition.json"]
    _tensors(os.path.join(folder, "tensors.safetensors"), {**question.inputs, **question.outputs}, types)
    words += ["--op", op]
    texts = _operators.attribute_texts(op, attrs, max((len(x.shape) for x in question.inputs.values()), default=0))
    for key, value in zip(texts[::2], texts[1::2]):
        words += ["--attr", f"{key}={value}"]
    for option, tensors in (("--input", question.inputs), ("--output", question.outputs)):
        for name in tensors:
            words += [option, f"{name}=tensors.safetensors:{name}"]
    words += [] if contract is None else ["--contract", contract]
    with open(os.path.join(folder, "command.txt"), "w", encoding="utf-8") as file:
        file.write(f"assay check {shlex.join(words)}\n")
    return words


def save(watch: Any, folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    kept = {}
    for node in watch.nodes:
        if node.question is not None:
            name = f"node{node.index}"
            _save_case(os.path.join(folder, name), node.question, watch.contract)
            kept[node.index] = name
    with open(os.path.join(folder, "nodes.json"), "w", encoding="utf-8") as file:
        json.dump(as_dict(watch), file, indent=1, allow_nan=False, default=str)
    with open(os.path.join(folder, "report.html"), "w", encoding="utf-8") as file:
        file.write(as_page(watch, kept))


def as_page(watch: Any, kept: Mapping[int, str]) -> str:
    """A page that needs nothing else: the headline, a bar of all nodes in the model's order, modules, failures, reasons."""
    def cell(value: Any) -> str:
        return f"<td>{html.escape(str(value))}</td>"

    def colour(node: Any) -> str:
        return "bad" if node.failed else "odd" if node.class_ == "suspect" or not node.finite else \
            "near" if (node.margin or 0) > 0.5 else "open" if node.verdict == "inconclusive" else "good"

    bar = "".join(f'<i class="{colour(node)}" title="{html.escape(str(node)[:300])}"></i>' for node in watch.nodes)
    rows = "".join("<tr" + (' class="bad"' if row["failed"] else "") + ">" + cell(row["module"] + (" backward" if row["backward"] else "")) + cell(row["op"]) +
                   cell(row["dtype"]) + cell(row["results"]) + cell(row["failed"] or "") + cell(_number(row["margin"], ".3g")) +
                   cell(_number(row["effective_bits"], ".1f")) + cell(_number(row["bias"], "+.1f")) + cell(os.path.basename(row["line"])) + "</tr>" for row in _rows(watch.nodes))
    failures = "".join(f"<li>{html.escape(str(node))}" + (f' <a href="{kept[node.index]}/command.txt">{kept[node.index]}</a>' if node.index in kept else "") +
                       "</li>" for node in watch.failures)
    reasons = "".join(f"<li>{html.escape(line)}</li>" for line in _reasons(watch.unjudged))
    return _PAGE.format(headline="".join(f"<p>{html.escape(line)}</p>" for line in _headline(watch)), bar=bar, rows=rows,
                        failures=f"<h2>Failed</h2><ul>{failures}</ul>" if failures else "", reasons=f"<h2>Not judged</h2><ul>{reasons}</ul>" if reasons else "")


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>assay watch</title>
<style>
:root {{ color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }}
body {{ max-width: 72rem; margin: auto; padding: 1rem; overflow-wrap: anywhere }}
h1, h2 {{ font-size: 1.2rem; font-weight: 600 }}
.bar {{ display: flex; flex-wrap: wrap; gap: 1px }}
.bar i {{ width: 9px; height: 18px; border-radius: 2px }}
.good {{ background: #2a9d6e }} .near {{ background: #9bb84a }} .odd {{ background: #e0a030 }} .open {{ background: #8c8c8c }} i.bad {{ background: #d0342c }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }}
th, td {{ text-align: left; padding: .15rem .7rem .15rem 0; border-bottom: 1px solid #8884; white-space: nowrap }}
tr.bad td {{ color: #d0342c; font-weight: 600 }}
</style>
<h1>assay watch</h1>{headline}
<p>Results in the order in which the model made them: <b style="color:#2a9d6e">pass</b>, <b style="color:#9bb84a">above half of the bound</b>,
<b style="color:#e0a030">suspect or not finite</b>, <b>inconclusive</b>, <b style="color:#d0342c">failed</b>. Each says more where a pointer rests on it.</p>
<div class="bar">{bar}</div>
{failures}<h2>Modules</h2><div class="wide"><table><tr><th>module<th>function<th>type<th>results<th>failed<th>worst margin<th>least bits<th>bias<th>line</tr>
{rows}</table></div>{reasons}
</html>
"""
