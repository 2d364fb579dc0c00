# SPDX-License-Identifier: Apache-2.0
"""Checks harness/judge/README.md against the records of its runs: every quotation and every table of margins."""
import json
import math
import re

COLUMNS = {name: name + "_margin" for name in ("exact", "bound", "stat", "self", "exceptional", "metamorphic")}
COLUMNS.update(effective_bits="effective_bits", bias_z="bias_z")


def plain(text):
    return " ".join(text.replace("`", "").split())


def tables(section):
    """Each as a heading and rows of cells."""
    for block in re.findall(r"(?:^\|.*\n)+", section, re.M):
        heading, _, *rows = [[plain(cell) for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        yield heading, rows


def holds(cell, record, key):
    value = record[key] if record[key] is not None else record.get(key + "_nonfinite")
    if cell == "-" or value is None or isinstance(value, str):
        return cell == ("-" if value is None else value)
    return math.isclose(float(cell), value, rel_tol=6e-3, abs_tol=1e-12)  # it shows three digits


def table_problems(section, found):
    problems = []
    for heading, rows in tables(section):
        keys = {name: COLUMNS[name] for name in heading if name in COLUMNS}
        if not keys or "verdict" not in heading:
            continue
        for row in rows:
            cells = dict(zip(heading, row))
            wanted = [r for r in found if r["implementation"] == cells.get("implementation", r["implementation"])]
            for record in wanted[:1]:
                problems += [f"{record['implementation']}: {key} is {record[key]}, the page says {cells[name]}"
                             for name, key in keys.items() if not holds(cells[name], record, key)]
                if not cells["verdict"].startswith(record["verdict"]):
                    problems.append(f"{record['implementation']}: {record['verdict']}, the page says {cells['verdict']}")
            if not wanted:
                problems.append(f"no record of {cells}")
    return problems


def quotation_problems(section, found):
    reasons = [plain(r["reason"]) for r in found]
    quoted = re.findall(r"(?:^> .*\n)+", section, re.M)
    parts = [part for text in quoted for part in plain(text.replace("\n> ", " ")[2:]).split(" ... ")]
    return [f"no reason says: {part}" for part in parts if not any(part in reason for reason in reasons)]


def problems(page, runs):
    """`runs` has a folder per name that stands behind --out in a command."""
    found = []
    for section in page.split("\n## "):
        names = re.findall(r"--out out/verdicts/(\w+)", section)
        records = [json.loads(line) for name in names
                   for line in (runs / name / "results.jsonl").read_text(encoding="utf-8").splitlines()]
        if names:
            title = section.splitlines()[0]
            found += [f"{title}: {text}" for text in table_problems(section, records) + quotation_problems(section, records)]
    return found
