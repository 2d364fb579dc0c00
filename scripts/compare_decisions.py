#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often assay compare is right about speed on this machine: real runs of two builds that take turns.

  compare_decisions.py [--aa N] [--planted N] [--percent P] [--rounds N] [--minutes M] [--filter GLOBS] ...

Needs a build with tests (preset release, targets product and delayed_plugin). Both builds are the test plugin
libdelayed_plugin.so around a backend's plugin. Of --aa runs the two are equal: any SLOWER is a false alarm. Of --planted
runs the new one spins after each execution for P percent of what that took. Both kinds are made in random order.
A run finds the slow-down when the decision over all of the backend's results is SLOWER; single results are counted
beside it. Intervals are Clopper and Pearson's, 95 %. Nothing else should run on the machine meanwhile.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile
import time

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build" / "release"
# Cases of three operators whose executions take 4 to 40 us on one core: a run takes seconds, most of them timing.
CASES = ("matmul/f32/m=17,n=33,k=65/*:matmul/f32/m=32,n=48,k=256/fill=ramp/*:"
         "reduce/f32/shape=64x100,axes=1,kind=prod/*:softmax/f32/shape=17x33x5,axis=1/*")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default=BUILD / "bin/assay")
    parser.add_argument("--plugin", default=BUILD / "lib/assay/plugins/libassay_cpu.so")
    parser.add_argument("--delayed-plugin", default=BUILD / "tests/integration/libdelayed_plugin.so")
    parser.add_argument("--aa", type=int, default=50, help="runs of equal builds")
    parser.add_argument("--planted", type=int, default=50, help="runs whose new build is slower")
    parser.add_argument("--percent", type=float, default=10, help="of each execution's time")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no run after this time")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--perf-time", default="0.01", help="seconds of timing per result and round")
    parser.add_argument("--suite", default="smoke")
    parser.add_argument("--filter", default=CASES)
    parser.add_argument("--impl", default="naive,blocked,sequential,strided,direct,online")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the records of all runs")
    options = parser.parse_args()
    for path in (options.assay, options.plugin, options.delayed_plugin):
        if not pathlib.Path(path).exists():
            parser.error(f"there is no {path}: cmake --preset release && ninja -C build/release product delayed_plugin")
    if options.aa + options.planted < 1 or options.minutes <= 0:
        parser.error("nothing to run: --aa and --planted are 0, or --minutes is not above 0")
    return options


def run_once(options, folder, percent):
    """Runs both builds once and returns the JSON of assay compare."""
    for name in ("base", "new"):
        shutil.copy(options.delayed_plugin, folder / f"{name}.so")
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    env = dict(os.environ, ASSAY_DELAY_OF=str(pathlib.Path(options.plugin).resolve()), ASSAY_DELAY_FILE="new.so",
               ASSAY_DELAY_PERCENT=str(percent), ASSAY_PLUGIN_FILES="", ASSAY_GOLDEN_STORE=str(folder / "store"))
    ran = subprocess.run([options.assay, "run", "--suite", options.suite, "--filter", options.filter,
                          "--impl", options.impl, "--progress", "none", "--relations", "none",
                          "--plugin", f"base={folder}/base.so", "--plugin", f"new={folder}/new.so",
                          "--rounds", str(options.rounds), "--perf-time", options.perf_time, "--out", str(out)],
                         env=env, stdout=subprocess.DEVNULL)
    if ran.returncode != 0:
        raise SystemExit(f"compare_decisions.py: assay run ended with {ran.returncode}: choose cases that run and pass")
    compared = subprocess.run([options.assay, "compare", str(out), "--builds", "base,new", "--json"], check=True,
                              capture_output=True, text=True)
    return json.loads(compared.stdout), out


def binomial_cdf(k, n, p):
    """P(at most k of n)."""
    if p <= 0 or k >= n:
        return 1.0
    if p >= 1:
        return 0.0
    logs = (math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p) +
            (n - i) * math.log1p(-p) for i in range(k + 1))
    return min(1.0, math.fsum(math.exp(x) for x in logs))


def clopper_pearson(k, n, tail=0.025):
    """The shares that k of n does not rule out."""
    def root(above):  # of a function that falls with p, by bisection
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if above(middle) else (low, middle)
        return low
    lower = 0.0 if k == 0 else root(lambda p: 1 - binomial_cdf(k - 1, n, p) < tail)
    upper = 1.0 if k == n else root(lambda p: binomial_cdf(k, n, p) > tail)
    return lower, upper


def share(k, n, what):
    if n == 0:
        return f"no {what}"
    low, high = clopper_pearson(k, n)
    return f"{k} of {n} {what} ({k / n:.1%}, interval {low:.1%} to {high:.1%})"


class Tally:
    """Counts over the runs of one kind."""

    def __init__(self):
        self.runs = self.any_slower = self.any_faster = self.found = self.all_results = 0
        self.results, self.groups = collections.Counter(), collections.Counter()
        self.ratios, self.whole = [], []

    def add(self, report):
        results = [r["time"] for r in report["results"] if "time" in r]
        groups = report["groups"]
        # The only operator of a backend is all that it has, and a single result is its own group.
        whole = next((g["time"] for g in groups if not g["op"]), groups[0]["time"] if groups else results[0])
        decisions = [t["verdict"] for t in results] + [g["time"]["verdict"] for g in groups]
        self.runs += 1
        self.any_slower += "SLOWER" in decisions
        self.any_faster += "FASTER" in decisions
        self.found += whole["verdict"] == "SLOWER"
        self.all_results += all(t["verdict"] == "SLOWER" for t in results)
        self.results.update(t["verdict"] for t in results)
        self.groups.update(g["time"]["verdict"] for g in groups)
        self.ratios += [t["ratio"] for t in results]
        self.whole.append(whole["ratio"])

    def text(self):
        count = lambda c: ", ".join(f"{c[v]} {v}" for v in ("SLOWER", "FASTER", "SAME", "UNSURE"))
        spread = statistics.quantiles(self.ratios, n=20) if len(self.ratios) > 1 else self.ratios
        return (f"  any SLOWER:            {share(self.any_slower, self.runs, 'runs')}\n"
                f"  any FASTER:            {share(self.any_faster, self.runs, 'runs')}\n"
                f"  the backend SLOWER:    {share(self.found, self.runs, 'runs')}\n"
                f"  every result SLOWER:   {share(self.all_results, self.runs, 'runs')}\n"
                f"  results:               {share(self.results['SLOWER'], self.results.total(), 'SLOWER')}; "
                f"{count(self.results)}\n"
                f"  groups:                {count(self.groups)}\n"
                f"  ratio of the backend:  {statistics.median(self.whole):.4f} in the median, {min(self.whole):.4f} to "
                f"{max(self.whole):.4f}; of results {statistics.median(self.ratios):.4f}, 5th to 95th percentile "
                f"{spread[0]:.4f} to {spread[-1]:.4f}")


def main():
    options = arguments()
    kinds = {"equal builds": (0, options.aa, Tally()),
             f"new build {options.percent:g} % slower": (options.percent, options.planted, Tally())}
    order = [name for name, (_, runs, _) in kinds.items() for _ in range(runs)]
    random.shuffle(order)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for done, name in enumerate(order):
            if time.monotonic() - begin > 60 * options.minutes:
                print(f"--minutes {options.minutes:g} are over after {done} of {len(order)} runs")
                break
            percent, _, tally = kinds[name]
            report, out = run_once(options, pathlib.Path(folder), percent)
            tally.add(report)
            if options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                shutil.copy(out / "results.jsonl", options.keep / f"{done:04}-{percent:g}.jsonl")
    seconds = time.monotonic() - begin
    runs = sum(tally.runs for _, _, tally in kinds.values())
    print(f"{runs} runs in {seconds:.0f} s on {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f} over five minutes; "
          f"{options.rounds} rounds of {options.perf_time} s, {pathlib.Path(options.plugin).name}, suite "
          f"{options.suite}, cases {options.filter}, implementations {options.impl}")
    for name, (_, _, tally) in kinds.items():
        if tally.runs > 0:
            print(f"{name}: {tally.runs} runs\n{tally.text()}")


if __name__ == "__main__":
    main()
