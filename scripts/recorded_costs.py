#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes harness/engine/recorded_costs.cc from a run of suite `default` on all backends, by which later runs say how much
time is left. Only ratios of the costs count much, so that any machine will do; run it again when they have moved.

  recorded_costs.py RUN --seconds N    RUN: the folder of the run; N: seconds that it took
"""
import argparse
import json
import pathlib
import subprocess

from collections import defaultdict

HEAD = """// SPDX-License-Identifier: Apache-2.0
// scripts/recorded_costs.py has written this file.
#include "harness/engine/expected_cost.h"

#include <array>

namespace assay {
namespace {

constexpr std::array kCosts = {
"""
TAIL = """};

}  // namespace

std::span<const RecordedCost> RecordedCosts() {
  return kCosts;
}

}  // namespace assay
"""
SMALL_FLOPS = 1e5  # as in expected_cost.cc
BY_HAND = {"attention", "conv", "fft", "matmul", "reduce", "softmax"}


def cases_of(lines):
    """{(op, backend): {case: [seconds, of them in the timed loop]}}, the cases that were timed, {case: (flops, bytes)}."""
    costs, timed, work = defaultdict(lambda: defaultdict(lambda: [0.0, 0.0])), set(), {}
    host, keys = {}, defaultdict(set)
    for line in lines:
        record = json.loads(line)
        if record["outcome"] == "unavailable":
            continue
        case, key = record["case_id"], (record["op"] if record["op"] in BY_HAND else "", record["backend"])
        timing = (record["time_median_s"] or 0) * (record["samples"] or 0) + (record["prepare_cached_s"] or 0)
        parts = ("prepare_s", "execute_s", "compare_s", "relations_s")
        costs[key][case][0] += sum(record[part] or 0 for part in parts) + timing
        costs[key][case][1] += timing
        if timing > 0:
            timed.add(case)
        work[case] = record["flops"], record["bytes"]
        host[case] = max(host.get(case, 0), (record["input_s"] or 0) + (record["golden_s"] or 0))
        keys[case].add(key)
    for case, seconds in host.items():
        for key in keys[case]:
            costs[key][case][0] += seconds / len(keys[case])
    return costs, timed, work


def mean(values):
    return sum(values) / len(values) if values else 0.0


def fit(points):
    """[a, b, c], none below 0, with which a + b flops + c bytes is near the seconds of [(flops, bytes, seconds)]: least
    squares, each weighed by its seconds, by coordinate descent."""
    rows = [((1.0, flops / 1e9, size / 1e9), seconds, 1 / (seconds + 0.01)) for flops, size, seconds in points]
    found = [0.0, 0.0, 0.0]
    for _ in range(3000):
        for j in range(3):
            square = sum(weight * terms[j] ** 2 for terms, _, weight in rows)
            rest = sum(weight * terms[j] * (seconds - sum(t * x for i, (t, x) in enumerate(zip(terms, found)) if i != j))
                       for terms, seconds, weight in rows)
            found[j] = max(0.0, rest / square) if square else 0.0
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    costs, timed, work = cases_of((options.run / "results.jsonl").open())
    scale = options.seconds / sum(cost[0] for cases in costs.values() for cost in cases.values())
    rows = []
    for (op, backend), cases in sorted(costs.items()):
        small = mean([cost[0] for case, cost in cases.items() if case not in timed and work[case][0] <= SMALL_FLOPS])
        timing = mean([cost[1] for case, cost in cases.items() if case in timed])
        others = [(*work[case], cost[0]) for case, cost in cases.items() if case in timed]
        numbers = [scale * number for number in (small, *fit(others), timing)]
        rows.append(f'    RecordedCost{{"{op}", "{backend}", {", ".join(f"{number:.2g}" for number in numbers)}}},\n')
    file = pathlib.Path(__file__).resolve().parent.parent / "harness/engine/recorded_costs.cc"
    file.write_text(HEAD + "".join(rows) + TAIL)
    subprocess.run(["clang-format", "-i", file], check=False)


main()
