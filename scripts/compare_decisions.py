#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often assay compare is right about speed on this machine: real runs of two builds in turns.

  compare_decisions.py ASSAY PLUGIN DELAYED_PLUGIN [--runs N] [--rounds N] [--percent P] [--filter GLOBS]

PLUGIN is a backend plugin, DELAYED_PLUGIN the test plugin libdelayed_plugin.so, which passes its calls on. Runs of two
equal builds count false alarms (runs with any SLOWER); runs whose new build is delayed count the results found. Nothing
else should run on the machine meanwhile.
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("plugin")
    parser.add_argument("delayed_plugin")
    parser.add_argument("--runs", type=int, default=20, help="of equal builds, and as many of delayed ones")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--percent", type=float, default=10, help="delay of each execution")
    parser.add_argument("--suite", default="smoke")
    parser.add_argument("--filter", default="matmul/f32/*")
    parser.add_argument("--perf-time", default="0.05")
    return parser.parse_args()


def run_once(options, folder, percent):
    """The comparison of one run of both builds, and the scatter of its rounds: one standard deviation per result."""
    for name in ("base", "new"):
        shutil.copy(options.delayed_plugin, folder / f"{name}.so")
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    env = dict(os.environ, ASSAY_DELAY_OF=str(pathlib.Path(options.plugin).resolve()), ASSAY_DELAY_FILE="new.so",
               ASSAY_DELAY_PERCENT=str(percent), ASSAY_PLUGIN_FILES="")
    subprocess.run([options.assay, "run", "--suite", options.suite, "--filter", options.filter, "--progress", "none",
                    "--relations", "none", "--plugin", f"base={folder}/base.so", "--plugin", f"new={folder}/new.so",
                    "--rounds", str(options.rounds), "--perf-time", options.perf_time, "--out", str(out)],
                   env=env, check=True, stdout=subprocess.DEVNULL)
    compared = subprocess.run([options.assay, "compare", str(out), "--columns", "base,new", "--json"], check=True,
                              capture_output=True, text=True)
    scatter = []
    for line in (out / "results.jsonl").read_text().splitlines():
        rounds = [math.log(float(x)) for x in json.loads(line)["round_medians_s"].split(",") if x]
        if len(rounds) > 2:
            scatter.append(statistics.stdev(rounds))
    return [r["time"] for r in json.loads(compared.stdout)["results"] if "time" in r], scatter


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        for percent in (0, options.percent):
            times, scatter, alarmed = [], [], 0
            for _ in range(options.runs):
                of_run, noise = run_once(options, pathlib.Path(folder), percent)
                times += of_run
                scatter += noise
                alarmed += any(t["verdict"] == "SLOWER" for t in of_run)
            counts = {v: sum(t["verdict"] == v for t in times) for v in ("SLOWER", "FASTER", "SAME", "UNSURE")}
            print(f"delay {percent:g} %: {alarmed} of {options.runs} runs report SLOWER; results {counts}; median ratio "
                  f"{statistics.median(t['ratio'] for t in times):.3f}; scatter of rounds: median "
                  f"{statistics.median(scatter):.1%}, 90th percentile {statistics.quantiles(scatter, n=10)[-1]:.1%}",
                  flush=True)


if __name__ == "__main__":
    main()
