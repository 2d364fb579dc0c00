#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how tight the bounds of formulas are, and what their twins show, and writes the tables of
ops/formula/README.md.

usage: scripts/formula_table.py [--build DIR] [--print]      from the repository root

--build DIR stands for build/release; its target formula_oracle_test has the measurements. --print shows the tables and
leaves the page as it is.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "ops/formula/README.md"
TESTS = ("FormulaRegistry.CorrectImplementationsAreAccepted", "FormulaRegistry.*TwinsShowMissingTerms",
         "FormulaOracle.ReductionsAreBoundedAsByHand", "FormulaOracle.BoundsByHandAreHardlyLargerThanOfFormulas")


def measure(build):
    """{words of the property: value} of what the tests record."""
    with tempfile.TemporaryDirectory(prefix="formula-") as folder:
        found = pathlib.Path(folder) / "found.json"
        program = build / "bin/formula_oracle_test"
        subprocess.run([program, f"--gtest_filter={':'.join(TESTS)}", f"--gtest_output=json:{found}"], check=True,
                       stdout=sys.stderr, env=dict(os.environ, ASSAY_TEST_FULL="1"))
        suites = json.loads(found.read_text(encoding="utf-8"))["testsuites"]
    properties = {}
    for test in (test for suite in suites for test in suite["testsuite"]):
        words = ("slack ", "twin ", "ratio ", "by_hand ")
        properties |= {tuple(key.split(" ")): value for key, value in test.items() if key.startswith(words)}
    return properties


def result_type(types):
    """The type by whose column a dtype list goes: that of its first output, which is its last entry."""
    return types.split("-")[-1]


def by_use(types):
    """Each type once, the one that most lists of types end in first."""
    return [name for name, _ in collections.Counter(types).most_common()]


def slack_table(properties):
    rows = {}
    for words, value in properties.items():
        if words[0] not in ("slack", "twin"):
            continue
        kind, op, *output, types = words
        row = rows.setdefault((op, " ".join(output)), {})
        if kind == "twin":
            row.setdefault("twin", []).append(value)
        else:
            column = result_type(types)
            row[column] = max(row.get(column, "0"), value)
    columns = by_use(result_type(words[-1]) for words in properties if words[0] == "slack")
    head = [f"| operator | output | {' | '.join(columns)} | missing terms that its twin shows |",
            f"|---|---|{'---|' * len(columns)}---|"]
    return head + [f"| `{op}` | {output} | {' | '.join(row.get(c, '') for c in columns)} | {shown(row.get('twin'))} |"
                   for (op, output), row in sorted(rows.items())]


def shown(counts):
    """Adds the counts of all types."""
    if not counts:
        return ""
    seen, all_of_them = (sum(int(count.split(" of ")[i]) for count in counts) for i in (0, 1))
    return f"{seen} of {all_of_them}"


def ratio_table(properties):
    rows = [(key[1], *value.split(" ")) for key, value in properties.items() if key[0] == "ratio"]
    return ["| operator | largest ratio | geometric mean |", "|---|---|---|"] + [
        f"| {name} | {worst} | {mean} |" for name, worst, mean in rows]


def by_hand_table(properties):
    rows = [(key[1].replace("{}", "..."), *value.split(" ")) for key, value in properties.items() if key[0] == "by_hand"]
    return ["| case | smallest ratio | largest ratio |", "|---|---|---|"] + [
        f"| `{name}` | {least} | {largest} |" for name, least, largest in rows]


def replaced(page, name, lines):
    """The page with other lines between <!-- name --> and <!-- end of name -->."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{PAGE} has no part '{name}'")
    text = "\n".join(lines)
    return f"{before}{begin}{text}\n{end}{after}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    arguments.add_argument("--print", action="store_true")
    given = arguments.parse_args()
    properties = measure(given.build.resolve())
    tables = {"ratios": ratio_table(properties), "by hand": by_hand_table(properties),
              "slack": slack_table(properties)}
    if given.print:
        print("\n\n".join("\n".join(lines) for lines in tables.values()))
        return 0
    page = PAGE.read_text(encoding="utf-8")
    for name, lines in tables.items():
        page = replaced(page, name, lines)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
