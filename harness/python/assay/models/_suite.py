# SPDX-License-Identifier: Apache-2.0
"""``Watch.suite``: what a program called, as a suite."""
from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any, Sequence

from .. import _define
from .._errors import Error, UsageError


def _line(case: str) -> str:
    """The words of a suite that plan a case of this id, with the suite's own fill and seed."""
    op, types, shape, *_ = case.split("/")
    return " ".join([op, f"dtypes={types}", *shape.split(",")])


def _text(nodes: Sequence[Any], counts: Counter[str]) -> str:
    unwritten = Counter(node.op for node in nodes if not node.case)
    lines = [f"# {sum(counts.values())} calls that assay.watch has recorded, by their operators. The tag calls-N says how many of them a case stands for."]
    if unwritten:
        lines.append("# Not here, since they only move elements or count: " + ", ".join(f"{count} {op}" for op, count in unwritten.most_common()))
    for case, count in counts.most_common():
        lines += [f"tag calls-{count}", _line(case)]
    return "\n".join(lines) + "\n"


def write_suite(nodes: Sequence[Any], path: str) -> None:
    if not path.endswith(".suite"):
        raise UsageError(f"suite: {path!r} has another ending than .suite; `assay run --suite` knows files by it")
    counts = Counter(node.case for node in nodes if node.case)
    if not counts:
        raise Error("suite: no judged call of the recorded program has a case; w.unjudged says why calls were not judged")
    definitions = [json.loads(text)["operators"][0] for op in dict.fromkeys(case.partition("/")[0] for case in counts)
                   if (text := _define.registered_text(op))]
    if definitions:
        with open(os.path.splitext(path)[0] + ".json", "w", encoding="utf-8") as file:
            file.write(_define.as_text(definitions))
    with open(path, "w", encoding="utf-8") as file:
        file.write(_text(nodes, counts))
