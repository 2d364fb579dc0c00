#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of the profile that is a draft, ops/profiles/conformance-2.0.suite, anew: for who adds an operator.

usage: scripts/conformance_profile.py [--build DIR]      from any folder; --build stands for build/release, which has assay

Of the six operators with kernels by hand it takes the lines of suite conformance and the first cases of its designs, which bring
most in; of all others the cases of the suites formulas and integers, one of each operator and list of types after the other until
there are MOST. A profile that is no draft is frozen: nothing writes it.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "conformance-2.0"
PROFILE = ROOT / f"ops/profiles/{NAME}.toml"
CASES = ROOT / f"ops/profiles/{NAME}.suite"
MOST = 1500
MOST_OF_A_DESIGN = 40
LARGEST_GB = 0.015  # that a case takes; larger ones of formulas would take half of the time
LARGE = re.compile("(?!.*/f32/).*(n=1024,k=4096|s=4096|c=128,o=128)")  # of those by hand: a layer of a model, in f32 alone
# Operators whose twins take a second each: one case of each list of types.
SLOW = ("alibi_attention", "attention_lse", "gated_delta_rule", "paged_decode", "ragged_attention", "sink_attention")
# Results that are zeros or unbounded whatever the seed is, so that the case shows nothing.
LEFT_OUT = re.compile("dequantize/.*fill=extremes|(mul|div|log1p)/f32/n=2049/fill=subnormal")
HEADER = """# SPDX-License-Identifier: Apache-2.0
# The cases of the profile conformance-2.0, which scripts/conformance_profile.py has written. It is a draft: once it is
# frozen, other cases are another version. The seed of every case is drawn for each submission.
"""


def list_cases(assay, suite):
    """[(case id, the file of its line, the gigabytes that it takes)] of a suite."""
    listed = subprocess.run([assay, "list", "cases", "--suite", suite, "--verbose"], check=True, capture_output=True, text=True)
    rows = [line.split("\t") for line in listed.stdout.splitlines()]
    return [(row[0], row[4].rsplit(":", 1)[0], float(row[5].split()[0])) for row in rows]


def take_in_turn(cases, most):
    """The first of each operator and list of types, then the second of each, and so on, in the order of the cases. Lists that
    begin with f32, in which fills and attributes are varied, have two turns for each one of another type."""
    turns = {}
    ranked = []
    for at, case in enumerate(cases):
        group = tuple(case.split("/")[:2])
        turns[group] = turns.get(group, -1) + 1
        if turns[group] == 0 or group[0] not in SLOW:
            ranked.append((turns[group] * (1 if group[1].startswith("f32") else 2), at, case))
    return [case for _, at, case in sorted(sorted(ranked)[:most], key=lambda row: row[1])]


def suite_line(case):
    op, types, attributes, fill, _ = case.split("/")
    return " ".join([op, f"dtypes={types}", *filter(None, attributes.split(",")), fill])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    options = parser.parse_args()
    if not re.search(r"(?m)^draft = true$", PROFILE.read_text(encoding="utf-8")):
        sys.exit(f"{NAME} is no draft: its cases are frozen, and others are another version")
    assay = options.build / "bin/assay"
    by_hand, of_designs = [], {}
    for case, file, _ in list_cases(assay, "conformance"):
        (by_hand if file.endswith("/conformance.suite") else of_designs.setdefault(file, [])).append(case)
    by_hand += [case for cases in of_designs.values() for case in cases[:MOST_OF_A_DESIGN]]
    others = [case for suite in ("formulas", "integers") for case, _, gigabytes in list_cases(assay, suite)
              if gigabytes <= LARGEST_GB and not LEFT_OUT.search(case)]
    chosen = [case for case in dict.fromkeys(by_hand) if not LARGE.match(case)]
    chosen += take_in_turn([case for case in dict.fromkeys(others) if case not in set(by_hand)], MOST - len(chosen))
    lines = dict.fromkeys(suite_line(case) for case in chosen)  # seeds are drawn: cases that differ in them alone are one
    CASES.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} cases of {len({line.split()[0] for line in lines})} operators")


if __name__ == "__main__":
    main()
