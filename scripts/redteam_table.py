#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every cheat of tests/redteam and writes the table of backends/redteam.md from what caught it.

usage: scripts/redteam_table.py [--build DIR] [--only WORD] [--honest [N]]      from the repository root

--build DIR stands for build/release; its target all has the plugins. --only WORD prints the rows of those cheats
whose names have the word, and leaves the page as it is. --honest makes N runs (300) of plugins that do not cheat
instead, each of one backend, case and seed, and writes into the page how many of them were flagged.
"""
import argparse
import datetime
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/redteam"))
from arena import Arena  # noqa: E402
from catalogue import GROUPS  # noqa: E402

PAGE = ROOT / "backends/redteam.md"
HONEST = ("redteam", "cpu", "onednn", "opencl", "vulkan")
CASES = ("matmul/f32/m=128,n=128,k=128/fill=normal", "matmul/f32/m=33,n=65,k=127/fill=uniform",
         "matmul/f32/m=64,n=48,k=1024/fill=outlier", "matmul/bf16/m=64,n=64,k=512/fill=normal",
         "softmax/f32/shape=64x300/fill=normal", "softmax/f32/shape=8x4096/fill=uniform",
         "reduce/f32/shape=64x500,axes=1,kind=sum/fill=normal", "reduce/f32/shape=64x500,axes=0,kind=mean/fill=normal",
         "reduce/f32/shape=16x5000,axes=1,kind=max/fill=normal",
         "conv/f32/n=1,c=16,i=14x14,o=16,k=3x3,pad=1x1/fill=normal", "fft/c64/kind=c2c,n=1024/fill=normal",
         "attention/f32/b=1,h=2,l=64,s=64,d=32/fill=normal")


def cell(text):
    return text.replace("|", "\\|")


def row(cheat, caught):
    what = caught or f"**not caught**: {cheat.gap}"
    known = ", ".join(f"[{title}]({address})" for title, address in cheat.known)
    return f"| `{cheat.name}` | {cell(cheat.does)} | {cell(what)} | {known} |"


def table(build, only):
    """The rows, and the names of those for which it is not as the catalogue says."""
    rows, surprises = [], []
    for cheat in itertools.chain(*GROUPS.values()):
        if only not in cheat.name:
            continue
        with tempfile.TemporaryDirectory(prefix="redteam-", ignore_cleanup_errors=True) as folder:
            arena = Arena(build / "bin/assay", build / "tests/redteam/plugins", folder)
            caught = cheat.caught_by(cheat.run(arena), arena)
            arena.clean()
        print(f"{cheat.name}: {caught or 'not caught'}", file=sys.stderr, flush=True)
        surprises += [cheat.name] if bool(caught) == bool(cheat.gap) and not cheat.by_chance else []
        rows.append(row(cheat, caught))
    return rows, surprises


def summary(rows):
    """How many ended in which way, by what their rows say."""
    nothing, less, unconfirmed, missed = (
        sum(f"| {words}" in r for r in rows) for words in ("gains nothing", "gains less", "no figure", "**not caught**"))
    found = len(rows) - nothing - less - unconfirmed - missed
    return (f"{found} found out, {nothing} gain nothing, {less} gain less than half, {unconfirmed} without a figure, "
            f"{missed} not caught")


def replace_part(name, text):
    """Replaces the part of the page between <!-- name --> and <!-- end of name -->."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{PAGE} has no part '{name}'")
    PAGE.write_text(f"{before}{begin}{text}\n{end}{after}", encoding="utf-8")


def flags_of(outcome):
    """Findings against an honest plugin. `unsupported` results and those that a rule explains are none."""
    found = [f"{r['case_id']} {r['implementation']}: {r['verdict']} {r['reason']} {r['timing_invalid']}"
             for r in outcome.records
             if r["timing_invalid"] or r["outcome"] not in ("pass", "unsupported", "inconclusive", "known_failure")]
    if "unnamed_libraries" in outcome.environment:
        found.append(outcome.environment["unnamed_libraries"])
    return found


def honest(build, most):
    runs = results = timed = flagged = 0
    for seed, case, backend in itertools.islice(itertools.product(range(10**6), CASES, HONEST), most):
        with tempfile.TemporaryDirectory(prefix="redteam-", ignore_cleanup_errors=True) as folder:
            arena = Arena(build / "bin/assay", build / "tests/redteam/plugins", folder)
            outcome = arena.run("honest" if backend == "redteam" else None, case=f"{case}/seed={seed}", backend=backend,
                                strict=False)
        runs += 1
        results += sum(r["verdict"] != "unsupported" for r in outcome.records)
        timed += sum(r["time_median_s"] is not None for r in outcome.records)
        found = flags_of(outcome)
        if outcome.code not in (0, 4) and not found:
            found = [outcome.text()]
        flagged += bool(found)
        for line in found:
            print(f"flagged: {backend} {line}", file=sys.stderr, flush=True)
    print(f"{runs} runs, {results} results, {timed} timed, {flagged} runs flagged", flush=True)
    backends = ", ".join(f"`{b}`" for b in HONEST)
    return (f"{flagged} of {runs} runs of plugins that do not cheat were flagged: one backend of {backends} "
            f"(`redteam`: the honest plugin), one case of {len(CASES)} and one seed each, with all implementations: "
            f"{results} results, {timed} of them timed ({conditions()}).")


def conditions():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    processors = subprocess.run(["nproc"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{datetime.date.today()}, {model.group(1) if model else 'unknown processor'}, {processors} processors"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    arguments.add_argument("--only", default="")
    arguments.add_argument("--honest", type=int, nargs="?", const=300)
    given = arguments.parse_args()
    if given.honest:
        replace_part("honest", honest(given.build, given.honest))
        return 0
    rows, surprises = table(given.build, given.only)
    head = ["| cheat | what it does | what catches it | described in |", "|---|---|---|---|"]
    if given.only:
        print("\n".join(rows))
    else:
        total = f"{len(rows)} cheats: {summary(rows)} ({conditions()})."
        replace_part("table", "\n".join([total, "", *head, *rows]))
    for name in surprises:
        print(f"{name}: not as the catalogue says", file=sys.stderr)
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
